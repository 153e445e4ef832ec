"""Training rows: questions and answers from RoleBench, generators and demonstrations.

The `system` strategy composes rows with the same functions as prompts of conversations, so that training
and inference use one format.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets import Kind, Sample, find_file, read_samples
from rolellm_agents.datasets.row_personas import RowPersonas
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.text.language import Language

STRATEGY = "system"
"""RoCIT's (arXiv 2310.00746, §3.4)."""

Source = Literal["role_specific", "general", "cast"]
"""Source of a row: a kind of RoleBench, or demonstrations."""


@dataclass(frozen=True)
class TrainingRow:
    """A question to a persona, and an answer."""

    persona: Persona
    question: str
    answer: str
    source: Source


@dataclass
class TrainingRows:
    """Rows, and counts of unusable samples."""

    rows: list[TrainingRow] = field(default_factory=list)
    unknown_roles: dict[str, int] = field(default_factory=dict)
    """Number of rows of each role without a persona."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of rows left out, by reason."""


def cast_rows(personas: Iterable[Persona]) -> Iterator[TrainingRow]:
    """Yield the demonstrations of personas as rows."""
    for persona in personas:
        for pair in with_macros(persona, DEFAULT_USER).demonstrations:
            yield TrainingRow(persona, pair.user, pair.reply, "cast")


def sample_rows(samples: Iterable[Sample], personas: RowPersonas, answers: int) -> TrainingRows:
    """Convert samples in RoleBench's form to rows.

    Args:
        samples: samples in one language.
        personas: the personas of the samples.
        answers: the number of references of each sample that are learned, each as a separate row.

    Raises:
        PersonaError: a sample was written for another persona than the one with its id.
    """
    sampled = TrainingRows()
    for sample in samples:
        persona = personas.of(sample)
        if persona is None:
            sampled.unknown_roles[sample.role] = sampled.unknown_roles.get(sample.role, 0) + 1
            continue
        references = list(dict.fromkeys(answer.strip() for answer in sample.references if answer.strip()))
        if not references:
            sampled.left_out["without an answer"] = sampled.left_out.get("without an answer", 0) + 1
        for answer in references[:answers]:
            sampled.rows.append(TrainingRow(persona, sample.question.strip(), answer, sample.kind))
    return sampled


def training_samples(folder: Path, language: Language, kinds: Sequence[Kind]) -> list[Sample]:
    """Read the training samples of a RoleBench folder, of a generator's run, or of a JSONL file.

    Raises:
        RoleBenchError: there are no training samples, or a file is damaged.
    """
    if folder.is_file():
        # People who write a file for a character rarely know RoleBench's `type`.
        return _in_language(read_samples(folder, untyped="role_specific"), language)
    if (folder / "samples.jsonl").is_file():
        return _in_language(read_samples(folder / "samples.jsonl"), language)
    return [
        sample
        for kind in kinds
        for sample in read_samples(find_file(folder, "train", kind=kind, language=language))
    ]


def _in_language(samples: Iterable[Sample], language: Language) -> list[Sample]:
    return [sample for sample in samples if sample.language == language]


class Prompts:
    """Composes the prompts of rows, with a cache for personas."""

    def __init__(self) -> None:
        """Create the composer with an empty cache."""
        self._ready: dict[str, Prompting] = {}

    def of(self, row: TrainingRow, before: Sequence[TrainingRow] = ()) -> list[BaseMessage]:
        """The prompt of a row.

        Args:
            row: the row with the question and the persona.
            before: the earlier rows of the same conversation.
        """
        history: list[BaseMessage] = []
        for said in before:
            history += (HumanMessage(said.question), AIMessage(said.answer))
        return self.after(row.persona, history, row.question)

    def after(self, persona: Persona, history: Sequence[BaseMessage], question: str) -> list[BaseMessage]:
        """The prompt of a question in a conversation."""
        prompting = self._ready.get(persona.id)
        if prompting is None:
            prompting = Prompting(with_macros(persona, DEFAULT_USER), STRATEGY, user=DEFAULT_USER)
            self._ready[persona.id] = prompting
        return prompting.compose(history, [], question)
