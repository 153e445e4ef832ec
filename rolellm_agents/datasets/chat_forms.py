"""Trainers' formats for single turns: ShareGPT, ChatML messages and Alpaca, with one row for each answer.

The other fields of a sample (`id`, `role`, `language`, `kind`, `type`, `extra`) are written next to the
turns, where trainers ignore them, so that the rows can be read back. Rows of other programs lack these
fields; then the caller passes the role, and the language is detected from the texts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, NamedTuple

from rolellm_agents.chat_files.sharegpt import ROLES
from rolellm_agents.datasets.reading import FileDefaults, row_of
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.datasets.writing import clean
from rolellm_agents.text.language import language_of

SYSTEM: Final = "system"
"""The key of `Sample.extra` for a row's instruction, where it differs from the persona's."""


class Turns(NamedTuple):
    """A question, its answer, and the instruction before them; the instruction may be empty."""

    system: str
    question: str
    answer: str


class ChatForm(NamedTuple):
    """Conversion between turns and the fields of a row."""

    pack: Callable[[Turns], dict[str, Any]]
    unpack: Callable[[Mapping[str, Any]], Turns | None]
    """None for a row that is not a single turn."""
    keys: frozenset[str]
    """The keys by which rows of this form are recognised."""


def rows_of(sample: Sample, number: int, instruction: str, form: ChatForm) -> Iterator[dict[str, Any]]:
    """Write a sample as one row for each answer.

    The sample's number joins its rows when they are read. The sample's own instruction replaces that of the
    persona, which may be empty.
    """
    sample = clean(sample)
    system = str(sample.extra.get(SYSTEM, instruction))
    extra = {key: value for key, value in sample.extra.items() if key != SYSTEM}
    for place, reference in enumerate(sample.references):
        row = form.pack(Turns(system, sample.question, reference)) | {
            "id": f"{number}.{place}",
            "role": sample.role,
            "language": sample.language,
            "kind": sample.kind,
        }
        if sample.types:
            row["type"] = sample.types[place]
        yield row | ({"extra": extra} if extra else {})


def samples_of(
    rows: Iterable[Mapping[str, Any]],
    form: ChatForm,
    *,
    role: str | None = None,
    instruction: Callable[[Sample], str],
) -> Iterator[Sample | None]:
    """Read rows as samples; None for each row that is not a single turn.

    `role` is that of rows that have none. A row's instruction is kept if it differs from `instruction`,
    that of the sample's persona.

    Raises:
        ValueError: a row has no role or an invalid field.
    """
    numbered = ((_number(row, place), row) for place, row in enumerate(rows))
    for _, group in groupby(numbered, key=lambda pair: pair[0]):
        read = [_sample(row, form, role) for _, row in group]
        yield from (None for sample in read if sample is None)
        if samples := [sample for sample in read if sample is not None]:
            yield _without_instruction(_joined(samples), instruction)


def _number(row: Mapping[str, Any], place: int) -> tuple[str, ...]:
    """A key that is equal for the rows of one sample; each row from elsewhere is its own sample."""
    number, _, answer = str(row.get("id", "")).partition(".")
    is_ours = "kind" in row and number.isdecimal() and answer.isdecimal()
    return (number,) if is_ours else ("", str(place))


def _sample(row: Mapping[str, Any], form: ChatForm, role: str | None) -> Sample | None:
    turns = form.unpack(row)
    if turns is None or not turns.question.strip() or not turns.answer.strip():
        return None
    fields = {
        **_object(row.get("extra")),
        "role": row.get("role") or role,
        "question": turns.question,
        "generated": [turns.answer],
        "type": row.get("type"),
        "kind": row.get("kind"),
        "language": row.get("language"),
    }
    if turns.system:
        fields[SYSTEM] = turns.system
    if not fields["role"]:
        raise ValueError("it does not name the role of the answer")
    return FileDefaults(None, language_of(f"{turns.question}\n{turns.answer}")).sample(row_of(fields))


def _joined(samples: list[Sample]) -> Sample:
    return replace(
        samples[0],
        references=tuple(text for sample in samples for text in sample.references),
        types=tuple(name for sample in samples for name in sample.types),
    )


def _without_instruction(sample: Sample, instruction: Callable[[Sample], str]) -> Sample:
    if sample.extra.get(SYSTEM) != instruction(sample):
        return sample
    return replace(sample, extra={key: value for key, value in sample.extra.items() if key != SYSTEM})


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _pack_list(
    key: str, who: str, what: str, names: Mapping[str, str]
) -> Callable[[Turns], dict[str, Any]]:
    def pack(turns: Turns) -> dict[str, Any]:
        texts = {"system": turns.system, "human": turns.question, "gpt": turns.answer}
        return {key: [{who: names[name], what: text} for name, text in texts.items() if text]}

    return pack


def _unpack_list(key: str, who: str, what: str) -> Callable[[Mapping[str, Any]], Turns | None]:
    def unpack(row: Mapping[str, Any]) -> Turns | None:
        turns = row.get(key)
        if not isinstance(turns, list):
            return None
        roles = [
            (ROLES.get(_text(turn.get(who)).lower()), _text(turn.get(what)))
            for turn in turns
            if isinstance(turn, dict)
        ]
        match roles:
            case [("human", question), ("gpt", answer)]:
                return Turns("", question, answer)
            case [("system", system), ("human", question), ("gpt", answer)]:
                return Turns(system, question, answer)
        return None

    return unpack


def _pack_alpaca(turns: Turns) -> dict[str, Any]:
    system = {"system": turns.system} if turns.system else {}
    return {"instruction": turns.question, "input": "", "output": turns.answer, **system}


def _unpack_alpaca(row: Mapping[str, Any]) -> Turns | None:
    if row.get("history"):
        return None
    question = [text for key in ("instruction", "input") if (text := _text(row.get(key)))]
    return Turns(_text(row.get("system")), "\n".join(question), _text(row.get("output")))


_OWN: Final = {"system": "system", "human": "human", "gpt": "gpt"}
_CHATML: Final = {"system": "system", "human": "user", "gpt": "assistant"}

FORMS: Final[Mapping[str, ChatForm]] = {
    "sharegpt": ChatForm(
        _pack_list("conversations", "from", "value", _OWN),
        _unpack_list("conversations", "from", "value"),
        frozenset({"conversations"}),
    ),
    "chatml": ChatForm(
        _pack_list("messages", "role", "content", _CHATML),
        _unpack_list("messages", "role", "content"),
        frozenset({"messages"}),
    ),
    "alpaca": ChatForm(_pack_alpaca, _unpack_alpaca, frozenset({"instruction", "output"})),
}
"""Forms by name; `chatml` is the list of messages that a chat template turns into ChatML."""
