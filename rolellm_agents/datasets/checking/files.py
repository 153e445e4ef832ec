"""Read a file for the check: what each row breaks by itself, and what later checks need of it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from rolellm_agents.datasets.checking.answers import Wrong, check_answer
from rolellm_agents.datasets.checking.finding import Findings
from rolellm_agents.datasets.keys import question_key, role_key
from rolellm_agents.datasets.reading import fields_of, given_of, numbered_lines, row_of, what_is_wrong
from rolellm_agents.datasets.sample import Kind, Sample
from rolellm_agents.datasets.sources import BASELINE, SourceFile
from rolellm_agents.text.language import Language


class SeenRow(NamedTuple):
    """What is kept of a row."""

    line: int
    role: str
    question: str
    """Its key."""
    answers: frozenset[int]
    """Their hashes."""
    number: int
    """Of answers."""
    kind: Kind
    language: Language
    type_form: str
    """`list`, `text` or `none`."""


@dataclass
class SeenFile:
    """A file, and what is kept of it."""

    source: SourceFile
    rows: list[SeenRow] = field(default_factory=list)
    content: bytes = b""
    """Stands for all its lines."""

    @property
    def name(self) -> str:
        """From the folder that was named."""
        return self.source.name


def see_file(source: SourceFile, cast: Mapping[str, Language], findings: Findings) -> SeenFile:
    """Read a file, and find what its rows break each by itself.

    Args:
        source: the file.
        cast: the language that a role speaks, by the key of its name, where it is known.
        findings: gets what is found.

    Raises:
        RoleBenchError: the file cannot be read.
    """
    seen = SeenFile(source)
    content = blake2b(digest_size=16)
    given = given_of(source.path)
    for number, line in numbered_lines(source.path):
        content.update(line + b"\n")
        try:
            fields = fields_of(line)
            row = row_of(fields)
        except (ValueError, RecursionError) as error:
            findings.add("unreadable-row", seen.name, number, what_is_wrong(error))
            continue
        sample = given.sample(row)
        speaks = cast.get(role_key(sample.role), sample.language)
        for wrong in (*_check_fields(fields), *_check_sample(sample, source, speaks)):
            findings.add(wrong.rule, seen.name, number, wrong.shown)
        seen.rows.append(_kept(number, sample, fields))
    seen.content = content.digest()
    return seen


def _kept(number: int, sample: Sample, fields: Mapping[str, Any]) -> SeenRow:
    return SeenRow(
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


def _check_fields(fields: Mapping[str, Any]) -> Iterator[Wrong]:
    """What reading puts right, and others stumble over."""
    question, answers = str(fields["question"]), [str(text) for text in fields["generated"]]
    if any(text != text.strip() for text in (question, *answers)):
        yield Wrong("white-space", repr(question))
    if not answers or not all(map(str.strip, answers)):
        yield Wrong("empty-answer", question)
    types = fields.get("type")
    if isinstance(types, list) and len(types) != len(answers):
        yield Wrong("type-length", f"{len(types)} for {len(answers)}: {question}")


def _check_sample(sample: Sample, source: SourceFile, speaks: Language) -> Iterator[Wrong]:
    for text, times in Counter(map(str.strip, sample.references)).items():
        if times > 1:
            yield Wrong("repeated-answer", text)
    for reference in sample.references:
        yield from check_answer(reference, sample.role, speaks)
    if (
        sample.kind == "role_specific"
        and source.part != BASELINE
        and sample.question.startswith(sample.role)
    ):
        yield Wrong("role-in-question", sample.question)
