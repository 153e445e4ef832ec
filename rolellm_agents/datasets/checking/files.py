"""Read a file for the check: violations of single rows, and the data that later checks need."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from rolellm_agents.datasets.checking.answers import Violation, check_answer
from rolellm_agents.datasets.checking.finding import Findings
from rolellm_agents.datasets.keys import question_key, role_key
from rolellm_agents.datasets.reading import describe_error, fields_of, file_defaults, numbered_lines, row_of
from rolellm_agents.datasets.sample import Kind, Sample
from rolellm_agents.datasets.sources import BASELINE, SourceFile
from rolellm_agents.text.language import Language


class ScannedRow(NamedTuple):
    """The data of a row that later checks need."""

    line: int
    role: str
    question: str
    """The question's key."""
    answers: frozenset[int]
    """Hashes of the answers."""
    number: int
    """Number of answers."""
    kind: Kind
    language: Language
    type_form: str
    """`list`, `text` or `none`."""


@dataclass
class ScannedFile:
    """A file with the scanned data of its rows."""

    source: SourceFile
    rows: list[ScannedRow] = field(default_factory=list)
    content: bytes = b""
    """Digest of all lines."""

    @property
    def name(self) -> str:
        """The file's path relative to the source."""
        return self.source.name


def scan_file(source: SourceFile, cast: Mapping[str, Language], findings: Findings) -> ScannedFile:
    """Read a file and check its rows one by one.

    `cast` has the language of known roles, by the key of the role's name.

    Raises:
        RoleBenchError: the file cannot be read.
    """
    scanned = ScannedFile(source)
    content = blake2b(digest_size=16)
    defaults = file_defaults(source.path)
    for number, line in numbered_lines(source.path):
        content.update(line + b"\n")
        try:
            fields = fields_of(line)
            row = row_of(fields)
        except (ValueError, RecursionError) as error:
            findings.add("unreadable-row", scanned.name, number, describe_error(error))
            continue
        sample = defaults.sample(row)
        speaks = cast.get(role_key(sample.role), sample.language)
        for violation in (*_check_fields(fields), *_check_sample(sample, source, speaks)):
            findings.add(violation.rule, scanned.name, number, violation.shown)
        scanned.rows.append(_kept(number, sample, fields))
    scanned.content = content.digest()
    return scanned


def _kept(number: int, sample: Sample, fields: Mapping[str, Any]) -> ScannedRow:
    return ScannedRow(
        number,
        sample.role,
        question_key(sample.question),
        frozenset(hash(text.strip()) for text in sample.references),
        len(sample.references),
        sample.kind,
        sample.language,
        _form(fields.get("type")),
    )


def _form(value: object) -> str:
    return "none" if value is None else "list" if isinstance(value, list) else "text"


def _check_fields(fields: Mapping[str, Any]) -> Iterator[Violation]:
    """Irregularities that our reader corrects and other programs may not."""
    question, answers = str(fields["question"]), [str(text) for text in fields["generated"]]
    if any(text != text.strip() for text in (question, *answers)):
        yield Violation("white-space", repr(question))
    if not answers or not all(map(str.strip, answers)):
        yield Violation("empty-answer", question)
    types = fields.get("type")
    if isinstance(types, list) and len(types) != len(answers):
        yield Violation("type-length", f"{len(types)} for {len(answers)}: {question}")


def _check_sample(sample: Sample, source: SourceFile, speaks: Language) -> Iterator[Violation]:
    for text, times in Counter(map(str.strip, sample.references)).items():
        if times > 1:
            yield Violation("repeated-answer", text)
    for reference in sample.references:
        yield from check_answer(reference, sample.role, speaks)
    if (
        sample.kind == "role_specific"
        and source.part != BASELINE
        and sample.question.startswith(sample.role)
    ):
        yield Violation("role-in-question", sample.question)
