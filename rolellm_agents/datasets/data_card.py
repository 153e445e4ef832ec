"""Write a Hugging Face data card: a YAML head and Markdown."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

from rolellm_agents.datasets.checking import DatasetFinding, check_source
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.provenance import (
    DatasetProvenance,
    SampleOrigin,
    dataset_provenance_of,
    origins_of,
)
from rolellm_agents.datasets.sources import source_files, source_samples
from rolellm_agents.datasets.statistics import Group, count_samples
from rolellm_agents.persona import Persona
from rolellm_agents.text import one_line

_SIZES: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_NAMES: Final = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
_VALUE: Final = 300

_LIMITS: Final = (
    "A language model wrote the answers, and nobody has read them all: what they say of a character may be "
    "wrong.",
    "Each sample is one question and its answers. There is no conversation of several turns.",
    "Questions count as near when they share four fifths of their words; the same asked in other words is "
    "not noticed.",
    "Characters belong to the authors of the works they come from, and the model's terms may bind what is "
    "made with its words. A licence of this data set cannot change either.",
)


@dataclass(frozen=True)
class CardFacts:
    """The contents of a card."""

    name: str
    licence: str
    files: Sequence[str]
    """Paths relative to the card's folder."""
    groups: Sequence[Group]
    origins: Sequence[SampleOrigin]
    provenance: Sequence[DatasetProvenance]
    works: Sequence[str]
    findings: Sequence[DatasetFinding]


def card_facts(source: Path, cast: Iterable[Persona], *, name: str | None, licence: str) -> CardFacts:
    """Collect the contents of a card: statistics, findings, and recorded provenance.

    The source is a file, a folder in RoleBench's layout or the folder of a run. The card names the works
    that the roles of the cast come from; the data set's name defaults to that of its file or folder. The
    licence is an identifier of Hugging Face.

    Raises:
        RoleBenchError: the source cannot be read.
    """
    personas = {role_key(persona.name): persona for persona in cast}
    roles: set[str] = set()

    def counted() -> Iterator[Any]:
        for file, sample in source_samples(source):
            roles.add(role_key(sample.role))
            yield file.part, sample

    groups = count_samples(counted())
    languages = {persona.name: persona.language for persona in personas.values()}
    return CardFacts(
        name or source.resolve().stem,
        licence,
        [file.name for file in source_files(source)],
        groups,
        origins_of(source),
        dataset_provenance_of(source),
        sorted({_work(personas[role]) for role in roles if role in personas} - {""}),
        check_source(source, languages).findings,
    )


def data_card(facts: CardFacts) -> str:
    """The card as Markdown."""
    head = yaml.safe_dump(_head(facts), allow_unicode=True, sort_keys=False)
    sections = [
        f"# {_plain(facts.name)}\n\nQuestions to characters, and answers in their voices, in the form of "
        "RoleBench (arXiv 2310.00746).",
        _statistics(facts.groups),
        *map(_origin, facts.origins),
        _provenance(facts.provenance),
        _works(facts.works),
        _findings(facts.findings),
        "## Limits\n\n" + "\n".join(f"- {limit}" for limit in _LIMITS),
    ]
    return f"---\n{head}---\n\n" + "\n\n".join(filter(None, sections)) + "\n"


def _head(facts: CardFacts) -> dict[str, Any]:
    samples = sum(group.samples for group in facts.groups)
    return {
        "pretty_name": one_line(facts.name),
        "language": sorted({group.language for group in facts.groups}),
        "license": facts.licence,
        "task_categories": ["text-generation"],
        "tags": ["role-playing", "rolellm", "rolebench", "synthetic"],
        "size_categories": [_NAMES[sum(samples >= size for size in _SIZES)]],
        "configs": _configs(facts.files),
    }


def _configs(files: Sequence[str]) -> list[dict[str, Any]]:
    """Configurations for the viewer: files of one schema belong together."""
    configs: dict[str, list[dict[str, str]]] = {}
    for file in files:
        path = PurePosixPath(file)
        name = "-".join(path.parent.parts).replace("rolebench-", "").replace("_", "-") or "default"
        split = path.stem if len(files) > 1 else "train"
        configs.setdefault(name, []).append({"split": split, "path": file})
    return [{"config_name": name, "data_files": data} for name, data in configs.items()]


def _statistics(groups: Sequence[Group]) -> str:
    rows = [
        (
            group.language,
            group.kind.replace("_", "-"),
            f"{group.roles:,}",
            f"{group.samples:,}",
            f"{group.instructions:,}",
            f"{group.answers:,}",
            f"{group.instruction_lengths.mean:.2f}",
            f"{group.answer_lengths.mean:.2f}",
            ", ".join(f"{name} {number:,}" for name, number in sorted(group.parts.items())),
        )
        for group in groups
    ]
    columns = (
        *("Language", "Kind", "Roles", "Samples", "Instructions", "Answers"),
        *("Words per instruction", "Words per answer", "Rows by part"),
    )
    return (
        "## Statistics\n\n"
        + _table(columns, rows)
        + "\n\nA sample is a question to a role with all its answers. In Chinese, characters are counted."
    )


def _origin(origin: SampleOrigin) -> str:
    about = [(key, _value(value)) for key, value in origin.config.items()]
    about += [("begun", origin.begun)] if origin.begun else []
    about += [(f"version of {name}", version) for name, version in origin.versions.items()]
    table = _table(("Setting", "Value"), about) if about else "Nothing beside it tells how it was made."
    text = f"## Source: {_plain(origin.name)}\n\n{table}"
    if origin.filters:
        counts = [(label, f"{number:,}") for label, number in origin.filters.items()]
        text += "\n\nWhat the filters found:\n\n" + _table(("Label", "Items"), counts)
    return text


def _provenance(provenance: Sequence[DatasetProvenance]) -> str:
    rows = [(step.made_by, _value(step.settings)) for step in provenance]
    return "## Making\n\n" + _table(("Command", "Settings"), rows) if rows else ""


def _works(works: Sequence[str]) -> str:
    return "## Works\n\n" + "\n".join(f"- {_plain(work)}" for work in works) if works else ""


def _findings(findings: Sequence[DatasetFinding]) -> str:
    if not findings:
        return "## Check\n\n`rolellm data check` finds nothing."
    rows = [
        (finding.severity, finding.rule, finding.description, finding.file, f"{finding.count:,}")
        for finding in findings
    ]
    return "## Check\n\nWhat `rolellm data check` finds:\n\n" + _table(
        ("Severity", "Rule", "Counted", "File", "Count"), rows
    )


def _work(persona: Persona) -> str:
    if persona.source is None:
        return ""
    year = persona.source.year
    return f"{persona.source.work} ({year if year > 0 else f'{-year} BCE'}): {persona.name}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """One line with Markdown's special characters escaped."""
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", escape(one_line(text, _VALUE), quote=False))
