"""Training and held-out rows of a recipe: sampled, split and encoded."""

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rolellm_agents.corpus.location import corpus_folder, read_corpus, read_scenes
from rolellm_agents.corpus.splits import SplitConversation, split_conversations, split_of_scene
from rolellm_agents.datasets import Kind
from rolellm_agents.datasets.held_out import is_held_out
from rolellm_agents.datasets.row_personas import RowPersonas
from rolellm_agents.persona import Persona
from rolellm_train.data.encoding import Encoded, Encoder
from rolellm_train.data.rows import Prompts, Source, TrainingRow, cast_rows, sample_rows, training_samples
from rolellm_train.data.written import WrittenConversation, scene_conversations, written_conversations
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe

Item = TypeVar("Item")

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
    written: list[WrittenConversation] = field(default_factory=list)
    """Conversations and scenes of the cast's corpus."""
    written_held_out: list[WrittenConversation] = field(default_factory=list)
    """Held-out conversations of learned roles."""


def gather(recipe: Recipe, data: Sequence[Path], cast: Iterable[Persona]) -> TrainingMaterial:
    """Read the rows and conversations of a recipe.

    Args:
        recipe: the recipe of the training.
        data: folders of RoleBench or of generators' runs.
        cast: the personas of the data and of the corpus, whose demonstrations are learned, too.

    Raises:
        TrainingError: there is nothing to learn.
        RoleBenchError: a folder has no training rows, or a file is damaged.
        PersonaError: rows were written for another persona than the one with their id.
        CorpusError: the recipe learns from the cast's corpus, which is not installed or damaged.
    """
    personas = {persona.id: persona for persona in cast if persona.language == recipe.language}
    of_rows = RowPersonas(personas.values())
    material = TrainingMaterial()
    rows: list[TrainingRow] = []
    kinds = [kind for kind in _KINDS if _weight(recipe, kind)]
    for folder in data:
        sampled = sample_rows(training_samples(folder, recipe.language, kinds), of_rows, recipe.answers)
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
    if recipe.corpus or recipe.scenes:
        _gather_written(material, recipe, personas)
    if not material.learned and not material.written:
        raise TrainingError(
            f"The recipe {recipe.id} finds nothing to learn in "
            f"{', '.join(map(str, data)) or 'the cast'}; name RoleBench's folder with --data."
        )
    return material


def _gather_written(material: TrainingMaterial, recipe: Recipe, personas: Mapping[str, Persona]) -> None:
    """Add the training split of the cast's corpus."""
    folder = corpus_folder()
    rng = random.Random(recipe.seed + 2)  # noqa: S311  # no secret
    corpora = [corpus for corpus in read_corpus(folder) if corpus.persona in personas]
    conversations = [one for one in split_conversations(corpora, personas) if one.split == "train"]
    learned, held_out = _hold_out(conversations, recipe.held_out_questions, rng)
    scenes = [
        scene
        for scene in read_scenes(folder)
        if scene.loaded.scene.language == recipe.language and split_of_scene(scene) == "train"
    ]
    material.written = [
        *written_conversations(_times(learned, recipe.corpus, rng), recipe.forms, seed=recipe.seed),
        *_times([*scene_conversations(scenes)], recipe.scenes, rng),
    ]
    material.written_held_out = [*written_conversations(held_out, {"system": 1.0}, seed=recipe.seed)]


def _hold_out(
    conversations: Sequence[SplitConversation], count: int, rng: random.Random
) -> tuple[list[SplitConversation], list[SplitConversation]]:
    """Learned conversations, and `count` of each persona, at most half of them, that are held out."""
    of_persona: defaultdict[str, list[SplitConversation]] = defaultdict(list)
    for one in conversations:
        of_persona[one.persona.id].append(one)
    learned: list[SplitConversation] = []
    held_out: list[SplitConversation] = []
    for own in of_persona.values():
        rng.shuffle(own)
        kept = min(count, len(own) // 2)
        held_out += own[:kept]
        learned += own[kept:]
    return learned, held_out


def _times(items: Sequence[Item], weight: float, rng: random.Random) -> list[Item]:
    """Repeat items by a weight; the fractional part is sampled."""
    times, fraction = divmod(weight, 1)
    return [*items] * int(times) + rng.sample(items, round(fraction * len(items)))


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
        weighted += _times([row for row in rows if row.source == source], _weight(recipe, source), rng)
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


def counted(material: TrainingMaterial) -> Mapping[str, int]:
    """Number of rows and conversations to learn, by source."""
    sources = Counter[str](row.source for row in material.learned)
    sources.update(one.source for one in material.written)
    return dict(sorted(sources.items()))


def fingerprint(material: TrainingMaterial) -> str:
    """A digest of everything that is learned, by which a run recognizes its own data."""
    digest = hashlib.sha256()
    for row in (*material.learned, *material.held_out):
        digest.update(f"{row.persona.model_dump_json()}\0{row.question}\0{row.answer}\0".encode())
    for conversation in (*material.written, *material.written_held_out):
        for prompt, answer in conversation.turns:
            digest.update("\0".join([*(message.text for message in prompt), answer, ""]).encode())
    return digest.hexdigest()[:16]
