"""Read recorded verdicts from a run's folder; no model is needed."""

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
"""The configuration key that holds the kind of a judging run."""


@dataclass(frozen=True)
class RecordedItem:
    """A judged item and its verdicts."""

    about: Mapping[str, Any]
    """The result of `about_reply`, `about_pair` or `about_scene`."""
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class RecordedVerdicts:
    """The recorded verdicts of a run."""

    judging: Judging
    config: Mapping[str, Any]
    """The run's configuration, on which the verdicts depend."""
    items: tuple[RecordedItem, ...]
    """The items in their original order; for items that were judged again, the latest verdicts."""

    @property
    def verdicts(self) -> list[Verdict]:
        """All verdicts of all items."""
        return [verdict for item in self.items for verdict in item.verdicts]


def about_reply(judged: Judged) -> dict[str, Any]:
    """Describe a reply as reports show it beside its verdicts."""
    return {**_about(judged), "reply": judged.reply}


def about_pair(first: Judged, second: Judged) -> dict[str, Any]:
    """Describe two replies as reports show them beside the verdict."""
    return {**_about(first), "first": first.reply, "second": second.reply}


def about_scene(scene: JudgedScene) -> dict[str, Any]:
    """Describe a scene as reports show it beside its verdicts: everything that the critic saw."""
    return {
        "key": scene.key,
        "title": scene.title,
        "setting": scene.setting,
        "language": scene.language,
        "people": dict(scene.people),
        "lines": [[line.speaker, line.text] for line in scene.lines],
    }


def item_to_json(place: int, about: Mapping[str, Any], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Convert an item to the JSON values that a run stores; `place` is its index among all items."""
    return {
        "place": place,
        "about": dict(about),
        "verdicts": [verdict_to_json(one) for one in verdicts],
    }


def read_verdicts(folder: Path) -> RecordedVerdicts:
    """Read the verdicts of a run, complete or not.

    Raises:
        JudgingError: the folder contains no run of a judge.
        StorageError: a line of the run is damaged.
    """
    config = {**_config(folder)}
    judging = config.pop(JUDGING, None)
    if judging not in get_args(Judging):
        raise JudgingError(f"{folder} is not a run of a judge; name a run of “rolellm judge”.")
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
    about = {"persona": persona.id, "name": persona.name, "language": persona.language}
    return {"key": judged.key, **about, "question": judged.question}


def _config(folder: Path) -> Mapping[str, Any]:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["config"]
    except FileNotFoundError:
        raise JudgingError(
            f"{folder} holds no run; “rolellm judge” writes one and prints its folder."
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise JudgingError(f"{folder / 'config.json'} cannot be read; name another run.") from error
    if not isinstance(config, Mapping):
        raise JudgingError(f"{folder / 'config.json'} cannot be read; name another run.")
    return config
