"""CharacterEval (Tu et al., ACL 2024; arXiv 2401.01275): Chinese dialogues, judged in thirteen metrics.

The files are in the folder `data` of the repository morecry/CharacterEval, which states no license:
`test_data.jsonl` (dialogues), `character_profiles.json` and `id2metric.jsonl` (the metrics by which each
reply is judged). The authors' judge, a reward model of 13B, is not part of this project.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rolellm_agents.benchmarks.errors import BenchmarkError
from rolellm_agents.benchmarks.json_files import PublishedRow, read_json, read_published

TITLE: Final = "CharacterEval"
_COLON: Final = "："


@dataclass(frozen=True, kw_only=True)
class CharacterEvalItem:
    """A dialogue whose next turn is the role's."""

    id: str
    role: str
    profile: str
    dialogue: tuple[tuple[str, str], ...]
    """Speakers and texts."""
    metrics: tuple[str, ...]
    """The English names of the metrics, such as `Hallucination`."""


class _Row(PublishedRow):
    id: int | str
    role: str
    context: str


def read_charactereval(folder: Path) -> list[CharacterEvalItem]:
    """Read the folder `data`.

    Rows whose role has no profile or whose dialogue ends with the role's own turn are left out.

    Raises:
        BenchmarkError: a file cannot be read.
    """
    rows = read_published(folder / "test_data.jsonl", _Row, TITLE)
    profiles = _object(folder / "character_profiles.json")
    metrics = _object(folder / "id2metric.jsonl")
    items = [
        CharacterEvalItem(
            id=str(row.id),
            role=row.role,
            profile=_profile(profiles[row.role]),
            dialogue=dialogue,
            metrics=tuple(dict.fromkeys(str(metric[0]) for metric in metrics.get(str(row.id), ()))),
        )
        for row in rows
        if row.role in profiles and (dialogue := _dialogue(row.context)) and dialogue[-1][0] != row.role
    ]
    if not items:
        raise BenchmarkError(f"{folder} has no dialogue of a role with a profile.")
    return items


def _object(file: Path) -> Mapping[str, Any]:
    found = read_json(file)
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if not isinstance(found, dict):
        raise BenchmarkError(f"{file} is not a JSON object; name the folder data of {TITLE}.")
    return found


def _profile(profile: Any) -> str:
    return profile if isinstance(profile, str) else json.dumps(profile, ensure_ascii=False)


def _dialogue(context: str) -> tuple[tuple[str, str], ...]:
    """The turns of a context, `NAME：TEXT` in each line; other lines continue the turn before."""
    turns: list[tuple[str, str]] = []
    for line in filter(None, map(str.strip, context.split("\n"))):
        speaker, colon, text = line.partition(_COLON)
        if colon:
            turns.append((speaker.strip(), text.strip()))
        elif turns:
            turns[-1] = (turns[-1][0], f"{turns[-1][1]}\n{line}")
    return tuple(turns)
