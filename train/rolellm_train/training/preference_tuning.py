"""Learning to prefer some answers to others, as a run: DPO, SimPO or ORPO, by the recipe's objective.

DPO's reference is the model before training. Its log-probabilities are computed once, so that no second
model is loaded. A preferred answer and the rejected one share a pack and their common prefix.
"""

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rolellm_agents.persona import Persona
from rolellm_agents.runs.folder import Run
from rolellm_train.data.encoding import Encoded, Encoder
from rolellm_train.data.material import held_out_questions
from rolellm_train.data.packing import pack_together
from rolellm_train.data.preferences import Preference, Preferences, find_preferences
from rolellm_train.data.rows import Prompts
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe, recorded_recipe
from rolellm_train.training.loading import open_base
from rolellm_train.training.memory import largest_pack
from rolellm_train.training.processes import open_training
from rolellm_train.training.tuning import TrainingResult, keep, learn

if TYPE_CHECKING:
    from rolellm_train.training.trainer import Step

Pair = tuple[Encoded, Encoded]
"""The preferred and the rejected answer, each with its prompt."""


def train(
    recipe: Recipe,
    data: Sequence[Path],
    cast: Sequence[Persona],
    folder: Path,
    *,
    on_step: "Step" = lambda _step, _steps, _figures: None,
) -> TrainingResult:
    """Tune a model by preferences, or resume a stopped run.

    Args:
        recipe: the recipe of the training.
        data: sources of preferences, for `find_preferences`.
        cast: the personas whose answers are compared.
        folder: the run's folder.
        on_step: called after every step.

    Raises:
        TrainingError: there are no preferences or too little memory, or the base model cannot be tuned or
            exported.
        ModelError: there is no such base model, or the extra `train` is not installed.
        StorageError: the folder cannot be written, or contains another run; the last checkpoint is kept.
    """
    preferences = find_preferences(recipe, data, cast)
    with open_training(folder, _config(recipe, data, preferences)) as run:
        return _trained(recipe, preferences, run, on_step)


def _trained(recipe: Recipe, preferences: Preferences, run: Run, on_step: "Step") -> TrainingResult:
    from rolellm_train.training.pair_losses import pair_loss
    from rolellm_train.training.pair_trainer import PairTrainer
    from rolellm_train.training.trainer import trainer_of

    base = open_base(recipe)
    split = _split(preferences.pairs, recipe)
    short = _Encoded.of(split.learned, base.encoder, recipe)
    measured = _Encoded.of(split.held_out, base.encoder, recipe)
    if not short.pairs:
        raise TrainingError(
            f"All {short.too_long} pairs are longer than {recipe.longest} tokens; raise “longest” and "
            "“pack” in the recipe."
        )
    packs = pack_together(short.pairs, recipe.pack, seed=recipe.seed)
    held_out = pack_together(measured.pairs, recipe.pack, seed=0)
    kind = partial(PairTrainer, loss=pair_loss(recipe))
    trainer_for = partial(trainer_of, recipe=recipe, learned=packs, held_out=held_out, kind=kind)
    learned = learn(recipe, base, run, on_step, trainer_for, largest=largest_pack(packs))
    trainer = cast("PairTrainer", learned.trainer)
    too_long = {"too long": short.too_long} if short.too_long else {}
    figures = {
        "rows": dict(sorted(Counter(pair.source for pair in split.learned).items())),
        "held_out_rows": len(measured.pairs),
        "left_out": {**preferences.left_out, **too_long},
        "unknown_roles": dict(preferences.unknown_roles),
        "tokens_of_an_epoch": sum(map(len, packs)),
        "tokens_without_packing": sum(len(row.ids) for pair in short.pairs for row in pair),
        "preferred_learned": trainer.preferred(packs),
        "preferred_held_out": trainer.preferred(held_out),
    }
    return keep(learned, run, figures)


@dataclass(frozen=True)
class _Split:
    learned: list[Preference]
    held_out: list[Preference]


def _split(pairs: Sequence[Preference], recipe: Recipe) -> _Split:
    """Split pairs like rows: held-out questions occur in no learned pair."""
    questions: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for pair in pairs:
        questions[pair.persona.id, pair.source].append(pair.question)
    held_out = held_out_questions(questions, recipe)
    learned = [pair for pair in pairs if pair.question not in held_out]
    if recipe.limit is not None and len(learned) > recipe.limit:
        learned = random.Random(recipe.seed + 1).sample(learned, recipe.limit)  # noqa: S311  # no secret
    return _Split(learned, [pair for pair in pairs if pair.question in held_out])


@dataclass(frozen=True)
class _Encoded:
    pairs: list[Pair]
    too_long: int

    @classmethod
    def of(cls, pairs: Sequence[Preference], encoder: Encoder, recipe: Recipe) -> "_Encoded":
        """Encode pairs. Pairs with an answer that is too long are counted and left out."""
        prompts = Prompts()
        encoded = [_encode(pair, encoder, prompts) for pair in pairs]
        short = [
            (better, worse)
            for better, worse in encoded
            if max(len(better.ids), len(worse.ids)) <= recipe.longest
            and len(better.ids) + len(worse.answers[0]) <= recipe.pack
        ]
        return cls(short, len(encoded) - len(short))


def _encode(pair: Preference, encoder: Encoder, prompts: Prompts) -> Pair:
    prompt = prompts.after(pair.persona, pair.before, pair.question)
    better, worse = (
        encoder.encode(pair.persona.id, [(prompt, answer.strip())])
        for answer in (pair.chosen, pair.rejected)
    )
    return better, worse


def _config(recipe: Recipe, data: Sequence[Path], found: Preferences) -> Mapping[str, Any]:
    digest = hashlib.sha256()
    for pair in found.pairs:
        history = [message.text for message in pair.before]
        texts = (pair.persona.model_dump_json(), *history, pair.question, pair.chosen, pair.rejected)
        digest.update("".join(f"{text}\0" for text in texts).encode())
    return {
        "trainer": recipe.objective,
        "recipe": recorded_recipe(recipe),
        "base": recipe.base,
        "data": [str(folder.resolve()) for folder in data],
        "rows": digest.hexdigest()[:16],
    }
