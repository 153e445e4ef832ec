"""Preferred answers: by the user, by judges, or by similarity to references."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.datasets import Kind, Sample, read_samples
from rolellm_agents.datasets.held_out import is_held_out
from rolellm_agents.datasets.row_personas import RowPersonas
from rolellm_agents.judging.recorded import RecordedItem, read_verdicts
from rolellm_agents.metrics import ReferencedReply, score_many
from rolellm_agents.persona import Persona
from rolellm_agents.text import one_line
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe

_JUDGES: Final = "judges"
"""The subfolder of an evaluation's run that contains a run for each judge."""
_DRAWN: Final = "samples.jsonl"
"""The file of answers in a run of `rolellm data rejection-sampling`."""
_REFERENCES: Final = "references"
_MARGIN: Final = 0.03
"""Minimum difference in ROUGE-L F1; closer answers count as equal."""


@dataclass(frozen=True)
class Preference:
    """A preferred and a rejected answer to one question."""

    persona: Persona
    before: tuple[BaseMessage, ...]
    """Messages before the question."""
    question: str
    chosen: str
    rejected: str
    source: str
    """`swipes`, `verdicts` or `draws`."""
    kind: Kind = "role_specific"
    """Kind of the question, if known."""


@dataclass
class Preferences:
    """Usable pairs, and counts of unusable ones."""

    pairs: list[Preference] = field(default_factory=list)
    unknown_roles: Counter[str] = field(default_factory=Counter)
    """Number of pairs for each unknown persona id."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of pairs left out, by reason."""


def find_preferences(recipe: Recipe, data: Sequence[Path], cast: Iterable[Persona]) -> Preferences:
    """Read all preferences of the data.

    Args:
        recipe: determines the language and the held-out roles.
        data: transcripts (`.db` files), runs of `rolellm judge pair`, evaluations with judges of pairs,
            and runs of `rolellm data rejection-sampling`.
        cast: the personas that gave the answers.

    Raises:
        TrainingError: the data, or one of its sources, contains no preferences.
        StorageError: a file cannot be read.
    """
    personas = {persona_.id: persona_ for persona_ in cast}
    preferences = Preferences()
    for source in data:
        for persona, pair in _pairs_in(source, personas):
            _keep(preferences, recipe, persona, pair)
    if not preferences.pairs:
        raise TrainingError(
            f"The recipe {recipe.id} finds no preferred answers in "
            f"{', '.join(map(str, data)) or 'what was said here'}; swipe in conversations, or name a run "
            "of “rolellm judge pair” or “rolellm data rejection-sampling” with --data."
        )
    return preferences


def swipes_of(
    transcript: Transcript, personas: Mapping[str, Persona]
) -> Iterator[tuple[str, Preference | None]]:
    """Yield pairs of an answer with which a conversation continued, and one of its rejected swipes.

    Answers on other branches were not rejected, so they are ignored, like incomplete answers.

    Args:
        transcript: the conversations.
        personas: the personas by id.

    Yields:
        The persona's id, with the pair if there is such a persona.
    """
    for summary in (*transcript.conversations(), *transcript.conversations(archived=True)):
        tree = transcript.messages(summary.id)
        by_id = {message.id: message for message in tree}
        children: defaultdict[str | None, list[Message]] = defaultdict(list)
        for message in tree:
            children[message.parent].append(message)
        heads = transcript.branches(summary.id)
        kept_ids = {id_ for head in heads.values() for id_ in _path_to(head, by_id)}
        path = [by_id[id_] for id_ in _path_to(heads[transcript.latest_branch(summary.id)], by_id)]
        for number, (question, chosen) in enumerate(pairwise(path)):
            if not _is_answer(chosen, question):
                continue
            for sibling in children[question.id]:
                if sibling.id not in kept_ids and _is_like(sibling, chosen):
                    persona = personas.get(chosen.speaker)
                    before = tuple(map(_as_message, path[:number]))
                    texts = (question.text, chosen.text, sibling.text, "swipes")
                    yield chosen.speaker, Preference(persona, before, *texts) if persona else None


def verdict_pairs(run: Path, personas: Mapping[str, Persona]) -> Iterator[tuple[str, Preference | None]]:
    """Yield pairs from a judge's run in which one answer won in both orders.

    Such a run contains the question of each pair without earlier messages.

    Args:
        run: the folder of the run.
        personas: the personas by id.

    Yields:
        The persona's id, with the pair if there is such a persona.

    Raises:
        JudgingError: the folder contains no run of a judge.
        TrainingError: the judge judged no pairs.
    """
    recorded = read_verdicts(run)
    if recorded.judging != "pairs":
        raise TrainingError(f"The judge of {run} judged no pairs; name a run of “rolellm judge pair”.")
    for item in recorded.items:
        about = item.about
        better, worse = _in_order(item)
        if better.strip() and worse.strip() and better != worse:
            persona = personas.get(str(about["persona"]))
            question = str(about["question"])
            texts = (question, better, worse, "verdicts")
            yield str(about["persona"]), Preference(persona, (), *texts) if persona else None


def drawn_pairs(file: Path, personas: Mapping[str, Persona]) -> Iterator[tuple[str, Preference | None]]:
    """Yield pairs of the answers that are most and least similar to the references.

    Similarity is ROUGE-L F1, which does not reward longer or shorter answers as such. Learning from sampled
    answers by their score is minimum-risk training (Shen et al., arXiv 1512.02433), here with pairs.

    Args:
        file: samples in RoleBench's form with the answers in `generated`, and with `references`.
        personas: the personas by id.

    Yields:
        The role's name, with the pair if there is such a persona.

    Raises:
        RoleBenchError: the file has no samples, or a line is damaged.
        TrainingError: a sample has no references.
        PersonaError: a sample was written for another persona than the one with its id.
    """
    of_rows = RowPersonas(personas.values())
    for sample in read_samples(file):
        best, worst = _best_and_worst(file, sample)
        if best != worst:
            persona = of_rows.of(sample)
            fields = (sample.question.strip(), best, worst, "draws", sample.kind)
            yield sample.role, Preference(persona, (), *fields) if persona else None


def _best_and_worst(file: Path, sample: Sample) -> tuple[str, str]:
    """The best and the worst answer; the same one twice if all are equal."""
    references = sample.extra.get(_REFERENCES)
    if (
        not isinstance(references, list)
        or not all(isinstance(reference, str) for reference in references)
        or not references
    ):
        raise TrainingError(
            f"{file} has no references for “{one_line(sample.question, 60)}”, so its answers cannot be "
            "ranked; name a run of “rolellm data rejection-sampling”."
        )
    answers = [ReferencedReply(answer, references, sample.language) for answer in sample.references]
    (scores,) = score_many(answers, ["rouge-l-f1"]).values()
    ranked = sorted(zip(scores, sample.references, strict=True))
    (lowest, worst), (highest, best) = ranked[0], ranked[-1]
    return (best, worst) if highest - lowest >= _MARGIN else (best, best)


def _pairs_in(source: Path, personas: Mapping[str, Persona]) -> Iterator[tuple[str, Preference | None]]:
    if source.is_file() and source.suffix == ".db":
        with Transcript.for_reading(source) as transcript:
            yield from swipes_of(transcript, personas)
    elif (source / _JUDGES).is_dir():
        runs = [run for run in sorted((source / _JUDGES).iterdir()) if (run / "config.json").is_file()]
        for run in runs:
            if read_verdicts(run).judging == "pairs":
                yield from verdict_pairs(run, personas)
    elif (source / _DRAWN).is_file():
        yield from drawn_pairs(source / _DRAWN, personas)
    else:
        yield from verdict_pairs(source, personas)


def _keep(preferences: Preferences, recipe: Recipe, persona: str, pair: Preference | None) -> None:
    if pair is None:
        preferences.unknown_roles[persona] += 1
    elif pair.persona.language != recipe.language:
        preferences.left_out["of another language"] += 1
    elif recipe.keep_apart and is_held_out(pair.persona.name, pair.kind):
        preferences.left_out["of a held-out role"] += 1
    else:
        preferences.pairs.append(pair)


def _path_to(head: str | None, by_id: Mapping[str, Message]) -> list[str]:
    path: list[str] = []
    while head is not None:
        path.append(head)
        head = by_id[head].parent
    return path[::-1]


def _is_answer(message: Message, before: Message) -> bool:
    return message.speaker != USER and before.speaker == USER and _is_complete(message)


def _is_complete(message: Message) -> bool:
    return message.kind == "say" and message.status == "complete" and bool(message.text.strip())


def _is_like(sibling: Message, chosen: Message) -> bool:
    """Whether a message is another answer of the same speaker."""
    return sibling.speaker == chosen.speaker and _is_complete(sibling) and sibling.text != chosen.text


def _as_message(message: Message) -> BaseMessage:
    return HumanMessage(message.text) if message.speaker == USER else AIMessage(message.text)


def _in_order(item: RecordedItem) -> tuple[str, str]:
    """The better and the worse answer; empty for a tie."""
    values = [verdict.value for verdict in item.verdicts if verdict.value is not None]
    first, second = str(item.about["first"]), str(item.about["second"])
    if not values or sum(values) == len(values) / 2:
        return "", ""
    return (first, second) if sum(values) > len(values) / 2 else (second, first)
