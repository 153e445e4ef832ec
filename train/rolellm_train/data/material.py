"""Training and held-out rows of a recipe: sampled, split and encoded."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rolellm_agents.datasets import Kind
from rolellm_agents.datasets.held_out import is_held_out
from rolellm_agents.persona import Persona
from rolellm_train.data.encoding import Encoded, Encoder
from rolellm_train.data.rows import Prompts, Source, TrainingRow, cast_rows, sample_rows, training_samples
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe

_KINDS: tuple[Kind, ...] = ("role_specific", "general")


@dataclass
class TrainingMaterial:
    """The rows of a training."""

    learned: list[TrainingRow] = field(default_factory=list)
    held_out: list[TrainingRow] = field(default_factory=list)
    """Held-out questions of learned roles."""
    unknown_roles: Counter[str] = field(default_factory=Counter)
    """Number of rows of each role without a persona."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of rows left out, by reason."""


def gather(recipe: Recipe, data: Sequence[Path], cast: Iterable[Persona]) -> TrainingMaterial:
    """Read the rows of a recipe.

    Args:
        recipe: the recipe of the training.
        data: folders of RoleBench or of generators' runs.
        cast: the personas of the data, whose demonstrations are learned, too.

    Raises:
        TrainingError: the data contains nothing to learn.
        RoleBenchError: a folder has no training rows, or a file is damaged.
    """
    personas = {persona.name: persona for persona in cast if persona.language == recipe.language}
    material = TrainingMaterial()
    rows: list[TrainingRow] = []
    kinds = [kind for kind in _KINDS if _weight(recipe, kind)]
    for folder in data:
        sampled = sample_rows(training_samples(folder, recipe.language, kinds), personas, recipe.answers)
        rows += sampled.rows
        material.unknown_roles.update(sampled.unknown_roles)
        material.left_out.update(sampled.left_out)
    if recipe.cast:
        rows += cast_rows(personas.values())
    allowed = [row for row in rows if _allowed(row, recipe)]
    if len(allowed) < len(rows):
        material.left_out["of a held-out role"] += len(rows) - len(allowed)
    learned, material.held_out = _split(allowed, recipe)
    material.learned = _weighted(learned, recipe)
    if not material.learned:
        raise TrainingError(
            f"The recipe {recipe.id} finds nothing to learn in "
            f"{', '.join(map(str, data)) or 'the cast'}; name RoleBench's folder with --data."
        )
    return material


def _allowed(row: TrainingRow, recipe: Recipe) -> bool:
    kind: Kind = "general" if row.source == "general" else "role_specific"
    return not recipe.keep_apart or not is_held_out(row.persona.name, kind)


def _split(rows: Sequence[TrainingRow], recipe: Recipe) -> tuple[list[TrainingRow], list[TrainingRow]]:
    """Split rows into training rows and held-out questions of each role."""
    questions: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        listed = questions[row.persona.id, row.source]
        if row.source != "cast":
            listed.append(row.question)
    held_out_texts = held_out_questions(questions, recipe)
    learned = [row for row in rows if row.question not in held_out_texts]
    held_out = [row for row in rows if row.question in held_out_texts]
    return learned, held_out


def held_out_questions(questions: Mapping[tuple[str, str], Sequence[str]], recipe: Recipe) -> set[str]:
    """Sample at most half of the questions of each role and source.

    Args:
        questions: the questions by role and source; they may repeat.
        recipe: determines the number of questions and the seed.
    """
    rng = random.Random(recipe.seed)  # noqa: S311  # no secret
    held_out: set[str] = set()
    for key in sorted(questions):
        distinct = [*dict.fromkeys(questions[key])]
        held_out.update(rng.sample(distinct, min(recipe.held_out_questions, len(distinct) // 2)))
    return held_out


def _weighted(rows: Sequence[TrainingRow], recipe: Recipe) -> list[TrainingRow]:
    """Repeat the rows of each source; the fractional part is sampled."""
    rng = random.Random(recipe.seed + 1)  # noqa: S311  # no secret
    weighted: list[TrainingRow] = []
    for source in ("role_specific", "general", "cast"):
        own = [row for row in rows if row.source == source]
        times, fraction = divmod(_weight(recipe, source), 1)
        weighted += own * int(times) + rng.sample(own, round(fraction * len(own)))
    if recipe.limit is not None and len(weighted) > recipe.limit:
        weighted = rng.sample(weighted, recipe.limit)
    return weighted


def _weight(recipe: Recipe, source: Source) -> float:
    weight: float = getattr(recipe, source)
    return weight


def encoded(
    conversations: Iterable[Sequence[TrainingRow]], encoder: Encoder, longest: int
) -> tuple[list[Encoded], int]:
    """Encode conversations; those that are too long are split into their rows.

    Returns:
        The encoded conversations of at most `longest` tokens, and the number of rows that are longer.
    """
    prompts = Prompts()

    def encode(rows: Sequence[TrainingRow]) -> Encoded:
        turns = [(prompts.of(row, rows[:before]), row.answer) for before, row in enumerate(rows)]
        return encoder.encode(rows[0].persona.id, turns)

    short: list[Encoded] = []
    too_long = 0
    for rows in conversations:
        for encoded_rows in _together_or_singly(rows, encode, longest):
            if len(encoded_rows.ids) <= longest:
                short.append(encoded_rows)
            else:
                too_long += 1
    return short, too_long


def _together_or_singly(
    rows: Sequence[TrainingRow], encode: Callable[[Sequence[TrainingRow]], Encoded], longest: int
) -> list[Encoded]:
    together = encode(rows)
    return [together] if len(rows) == 1 or len(together.ids) <= longest else [encode([row]) for row in rows]


def counted(rows: Iterable[TrainingRow]) -> Mapping[str, int]:
    """Count the rows of each source."""
    return dict(sorted(Counter(row.source for row in rows).items()))
