"""TimeChara (Ahn et al., Findings of ACL 2024; arXiv 2405.18027): does a character know its point in time?

The files are those of the data set ahnpersie/timechara, as JSON or JSONL (`load_dataset(…).to_json`). It is
for non-commercial research only. A row has a character at a moment of its story, a question, and what a
right reply knows of the time (`temporal_label`) and of the place (`spatial_label`, `-` if nothing).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.benchmarks.json_files import PublishedRow, json_files, read_published

TITLE: Final = "TimeChara"
_NOTHING: Final = "-"


@dataclass(frozen=True, kw_only=True)
class TimeCharaItem:
    """A question to a character at a moment of its story."""

    number: int
    """The row's number in its file, from 1."""
    data_type: str
    """`future`, `past-absence`, `past-presence` or `past-only`."""
    series: str
    character: str
    moment: str
    """Such as `4th-year / on halloween`."""
    question: str
    facts: tuple[str, ...]
    """What a right reply must agree with: about the place, if anything, and about the time."""


class _Row(PublishedRow):
    data_type: str
    series: str
    character: str
    character_period: str
    question: str
    temporal_label: str
    spatial_label: str = _NOTHING


def read_timechara(path: Path) -> list[TimeCharaItem]:
    """Read one file, or all files of a folder.

    Raises:
        BenchmarkError: a file cannot be read.
    """
    return [
        TimeCharaItem(
            number=number,
            data_type=row.data_type,
            series=row.series.replace("_", " ").title(),
            character=row.character.strip(),
            moment=row.character_period.strip(),
            question=row.question.strip(),
            facts=tuple(
                one.strip() for one in (row.spatial_label, row.temporal_label) if one.strip() != _NOTHING
            ),
        )
        for file in json_files(path)
        for number, row in enumerate(read_published(file, _Row, TITLE), 1)
    ]
