"""The questions of an evaluation: a split's test and training rows, and RoleGPT's published answers."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import Final

from rolellm_agents.datasets import Kind, Part, Sample, Split, find_file, read_samples
from rolellm_agents.datasets.held_out import is_held_out
from rolellm_agents.datasets.keys import question_key, role_key
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text.language import Language

KINDS: Final[tuple[Kind, ...]] = ("role_specific", "general")
_SEEN_ROLES: Final[Split] = "instruction-generalization"
_NEW_ROLES: Final[Split] = "role-generalization"


@dataclass(frozen=True, kw_only=True)
class Questions:
    """A test set, with its training rows and published answers."""

    asked: tuple[Sample, ...]
    """The test rows, kind by kind, in the order of the files; duplicates are kept."""
    training: tuple[Sample, ...]
    """The training rows of the split, always of both kinds."""
    published: tuple[Sample, ...]
    """RoleGPT's answers, including answers to other questions."""
    made_from: str = ""
    """One sentence on how the test set was built when the split has no files of its own; else empty."""
    notes: tuple[str, ...] = ()
    """Notes on what is missing or was left out, one sentence each."""


def read_questions(data: Path, split: Split, kinds: Sequence[Kind], language: Language) -> Questions:
    """Read a split's test set, training rows and published answers.

    When there are no files for role generalization, its test set is built from the files for instruction
    generalization: the test and training rows of the held-out roles become its test set, and the training
    rows of the other roles its training rows.

    Missing kinds are noted and left out, unless all are missing. Rows in another language are noted and
    left out, too.

    Raises:
        RoleBenchError: there is no test set, or a file is damaged.
    """
    files = _SplitFiles(data, split, language)
    made = split == _NEW_ROLES and not any(files.has("test", kind) for kind in kinds)
    read = _made_of_seen_roles(replace(files, split=_SEEN_ROLES), kinds) if made else _read(files, kinds)
    return _in_one_language(read, language)


def draw_sample(samples: Sequence[Sample], limit: int | None, *, seed: int) -> list[Sample]:
    """Draw at most `limit` samples of each kind at random, stratified by type and role.

    The shares of `script_based` and `script_agnostic` questions, and of the roles within each type, are
    those of all samples, to within one sample. Every sample is drawn with the same probability, so averages
    over the sample estimate those over all samples without bias. (Systematic sampling from an ordered list:
    Cochran, Sampling Techniques, 3rd ed., chapter 8.)

    Args:
        samples: the samples.
        limit: the size of the sample for each kind; None takes all samples.
        seed: the same seed draws the same sample.

    Returns:
        The drawn samples, in their original order.
    """
    if limit is None:
        return list(samples)
    random = Random(seed)  # noqa: S311 (a sample, no secret)
    by_kind: dict[Kind, list[int]] = defaultdict(list)
    for place, sample in enumerate(samples):
        by_kind[sample.kind].append(place)
    drawn: list[int] = []
    for places in by_kind.values():
        random.shuffle(places)
        roles = list(dict.fromkeys(role_key(samples[place].role) for place in places))
        order = {role: number for number, role in enumerate(roles)}
        places.sort(key=lambda place: (samples[place].types[:1], order[role_key(samples[place].role)]))
        drawn += _every_nth(places, limit, random.random())
    return [samples[place] for place in sorted(drawn)]


def _every_nth(places: Sequence[int], limit: int, start: float) -> Sequence[int]:
    """`limit` of the places at equal distances; `start` is the first one's, as a share of the distance."""
    if limit >= len(places):
        return places
    return [places[int((number + start) * len(places) / limit)] for number in range(limit)]


def published_replies(asked: Sequence[Sample], published: Iterable[Sample]) -> list[str | None]:
    """RoleGPT's published answer to each question; None when there is none.

    A question that occurs twice gets two different answers if two were published.

    RoleGPT's answers may include answers to other questions.
    """
    answers: dict[tuple[Kind, str, str], list[str]] = defaultdict(list)
    for sample in published:
        answers[_key(sample)].append(sample.references[0])
    times: Counter[tuple[Kind, str, str]] = Counter()
    replies: list[str | None] = []
    for sample in asked:
        known, number = answers.get(_key(sample), []), times[_key(sample)]
        times[_key(sample)] += 1
        replies.append(known[min(number, len(known) - 1)] if known else None)
    return replies


def _key(sample: Sample) -> tuple[Kind, str, str]:
    return sample.kind, role_key(sample.role), question_key(sample.question)


@dataclass(frozen=True)
class _SplitFiles:
    """A split's files in one language."""

    data: Path
    split: Split
    language: Language

    def path(self, part: Part, kind: Kind) -> Path:
        return find_file(self.data, part, kind=kind, language=self.language, split=self.split)

    def has(self, part: Part, kind: Kind) -> bool:
        try:
            self.path(part, kind)
        except RoleBenchError:
            return False
        return True

    def rows(self, part: Part, kinds: Iterable[Kind]) -> tuple[Sample, ...]:
        """The rows of the kinds whose files exist."""
        return tuple(
            chain.from_iterable(
                read_samples(self.path(part, kind)) for kind in kinds if self.has(part, kind)
            )
        )


def _read(files: _SplitFiles, kinds: Sequence[Kind]) -> Questions:
    there = [kind for kind in kinds if files.has("test", kind)]
    if not there:
        files.path("test", kinds[0])  # raises an error that names the missing file
    missing = [kind for kind in kinds if kind not in there]
    return Questions(
        asked=files.rows("test", there),
        training=files.rows("train", KINDS),
        published=files.rows("rolegpt_baseline", there),
        notes=tuple(f"{files.data} holds no {kind} questions of {files.split}." for kind in missing),
    )


def _made_of_seen_roles(files: _SplitFiles, kinds: Sequence[Kind]) -> Questions:
    read = _read(files, kinds)
    there = {sample.kind for sample in read.asked}
    asked = tuple(
        sample
        for kind in kinds
        for sample in (*read.asked, *read.training)
        if sample.kind == kind and kind in there and is_held_out(sample.role, kind)
    )
    if not asked:
        raise RoleBenchError(
            f"{files.data} holds no files of {_NEW_ROLES} and none of its held-out roles; "
            f"name the folder that holds them, or ask for {_SEEN_ROLES}."
        )
    roles = len({role_key(sample.role) for sample in asked})
    return replace(
        read,
        asked=asked,
        training=tuple(sample for sample in read.training if not is_held_out(sample.role, sample.kind)),
        made_from=(
            f"{files.data} has no files of {_NEW_ROLES}; the test is made of the rows of {roles} held-out "
            f"roles in the files of {_SEEN_ROLES}."
        ),
    )


def _in_one_language(read: Questions, language: Language) -> Questions:
    asked = tuple(sample for sample in read.asked if sample.language == language)
    foreign = len(read.asked) - len(asked)
    if not foreign:
        return read
    note = f"{foreign} questions are in another language than {language!r} and were left out."
    if not asked:
        raise RoleBenchError(f"No question is in {language!r}; {note}")
    return replace(read, asked=asked, notes=(*read.notes, note))
