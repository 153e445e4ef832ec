"""Verdicts that a run recorded, read back from its folder without any model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from rolellm_agents.errors import StorageError
from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.flaws import JudgedScene
from rolellm_agents.judging.json_form import verdict_from_json, verdict_to_json
from rolellm_agents.judging.judged import Judged
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.runs.folder import Run

Judging = Literal["replies", "pairs", "scenes"]
"""What a run judges."""
JUDGING: Final = "judging"
"""Where a run's config says it."""


@dataclass(frozen=True)
class RecordedItem:
    """What was judged, and the verdicts on it."""

    about: Mapping[str, Any]
    """As `about_reply`, `about_pair` or `about_scene` tells it."""
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class RecordedVerdicts:
    """A run of a judge."""

    judging: Judging
    config: Mapping[str, Any]
    """What the verdicts depend on."""
    items: tuple[RecordedItem, ...]
    """In their own order, whatever was judged first; of what was judged again the latest."""

    @property
    def verdicts(self) -> list[Verdict]:
        """All of them."""
        return [verdict for item in self.items for verdict in item.verdicts]


def about_reply(judged: Judged) -> dict[str, Any]:
    """What a reader is shown of a reply beside its verdicts."""
    return {**_about(judged), "reply": judged.reply}


def about_pair(first: Judged, second: Judged) -> dict[str, Any]:
    """What a reader is shown of two replies beside the verdict."""
    return {**_about(first), "first": first.reply, "second": second.reply}


def about_scene(scene: JudgedScene) -> dict[str, Any]:
    """What a reader is shown of a scene beside its verdicts: all that its critic was shown."""
    return {
        "key": scene.key,
        "title": scene.title,
        "setting": scene.setting,
        "language": scene.language,
        "people": dict(scene.people),
        "lines": [[line.speaker, line.text] for line in scene.lines],
    }


def item_to_json(place: int, about: Mapping[str, Any], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """An item as a run keeps it; its place is that among all that are judged."""
    return {
        "place": place,
        "about": dict(about),
        "verdicts": [verdict_to_json(one) for one in verdicts],
    }


def read_verdicts(folder: Path) -> RecordedVerdicts:
    """Read a run of a judge, be it complete or not.

    Raises:
        JudgingError: the folder holds none.
        StorageError: a line of the run is damaged.
    """
    config = {**_config(folder)}
    judging = config.pop(JUDGING, None)
    if judging not in get_args(Judging):
        raise JudgingError(f"{folder} is a run of something else; name one of “rolellm judge”.")
    run = Run(folder)
    items: dict[str, tuple[int, RecordedItem]] = {}
    for _, key, value in run.stored():
        try:
            verdicts = tuple(verdict_from_json(one) for one in value["verdicts"])
            about = dict(value["about"])
            items[str(about["key"])] = (int(value["place"]), RecordedItem(about, verdicts))
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"{folder / 'items.jsonl'} is damaged at {key!r}; remove that line."
            ) from error
    in_order = sorted(items.values(), key=lambda placed: placed[0])
    return RecordedVerdicts(cast(Judging, judging), config, tuple(item for _, item in in_order))


def _about(judged: Judged) -> dict[str, Any]:
    persona = judged.persona
    told = {"persona": persona.id, "name": persona.name, "language": persona.language}
    return {"key": judged.key, **told, "question": judged.question}


def _config(folder: Path) -> Mapping[str, Any]:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["config"]
    except FileNotFoundError:
        raise JudgingError(f"{folder} holds no run; “rolellm judge” writes one and names it.") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise JudgingError(f"{folder / 'config.json'} cannot be read; name another run.") from error
    if not isinstance(config, Mapping):
        raise JudgingError(f"{folder / 'config.json'} cannot be read; name another run.")
    return config
