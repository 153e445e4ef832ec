"""Recipes: everything that a tuned model depends on besides the data, in one flat YAML file."""

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rolellm_agents.errors import SettingsError
from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import Language
from rolellm_train.objectives import Objective, unused_field, uses

_BUNDLED = "recipes"

Reporter = Literal["tensorboard", "trackio", "wandb"]
Optimizer = Literal["adamw_torch_fused", "adafactor", "adamw_8bit", "paged_adamw_8bit"]

Form = Literal["system", "few-shot-dialogue", "retrieval", "card"]
"""How a persona is described: a strategy, or `card` for a description in another shape under `system`."""
DEFAULT_FORMS: Final[Mapping[Form, float]] = {
    "system": 0.5,
    "few-shot-dialogue": 0.2,
    "retrieval": 0.15,
    "card": 0.15,
}


class Recipe(BaseModel):
    """The settings of a training. The defaults are the paper's for RoCIT, or the best that we measured."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
    """Name of the recipe."""
    about: str
    """Purpose, requirements and duration."""
    cites: str = ""
    """Source of the method."""
    base: str
    """A GGUF (`llamacpp:smollm2`, a path), a folder for transformers, or a name at a model hub."""
    chat_template: Literal["own", "chatml", "gemma", "vicuna"] = "own"
    """For a base without one. ChatML and Gemma's need their control tokens in the vocabulary; Vicuna's
    suits any base."""
    language: Language = "en"
    """Language of the data and the personas; others are left out."""

    objective: Objective = "rocit"
    """Learn answers (RoCIT), preferences between answers (DPO, arXiv 2305.18290; SimPO, arXiv 2405.14734;
    ORPO, arXiv 2403.07691), or from the rewards of sampled answers (GRPO, arXiv 2402.03300)."""
    beta: float = Field(default=0.1, gt=0, le=10)
    """DPO: how strongly the model is kept close to the model before training. SimPO: the scale of the
    difference between two answers (2 to 10 in its paper). ORPO: the weight of the preference relative to
    the loss on the preferred answer (lambda in its paper, 0.1)."""
    margin: float = Field(default=0.0, ge=0, le=10)
    """SimPO's target margin, gamma in the paper, which takes 0.3 to 1.6."""

    # Data
    role_specific: float = Field(default=1.0, ge=0, le=100)
    """Repetitions of each role-specific row of RoleBench per epoch; a fraction samples rows."""
    general: float = Field(default=1.0, ge=0, le=100)
    """Repetitions of each general row of RoleBench per epoch."""
    cast: float = Field(default=1.0, ge=0, le=100)
    """Repetitions of each demonstration of the personas per epoch."""
    corpus: float = Field(default=0.0, ge=0, le=100)
    """Repetitions of each conversation of the cast's corpus per epoch."""
    scenes: float = Field(default=0.0, ge=0, le=100)
    """Repetitions of each scene of the cast's corpus per epoch, once for each of its characters."""
    forms: Mapping[Form, float] = DEFAULT_FORMS
    """Weights of the forms of prompts in which conversations of the corpus are learned."""
    answers: int = Field(default=1, ge=1, le=20)
    """Number of references per row, each learned as a row of its own."""
    keep_apart: bool = True
    """Leave out the held-out roles of the paper's role generalization."""
    conversations: float = Field(default=0.0, ge=0, le=1)
    """Share of rows that are combined into conversations of several questions."""
    held_out_questions: int = Field(default=2, ge=0)
    """Held-out questions per role, for early stopping."""
    limit: int | None = Field(default=None, ge=1)
    """Maximum number of rows, questions or pairs, sampled at random. Conversations and scenes of the corpus
    are not limited."""

    # GRPO
    rewards: Mapping[str, Annotated[float, Field(gt=0)]] = {}
    """The weight of each reward: `references` (ROUGE-L F1), `detections` (faults that need no judge), or
    the name of a judge of replies, such as `rubric` or `likelihood`."""
    judge_model: str = ""
    """The model of the judges among the rewards."""
    samples: int = Field(default=8, ge=2, le=256)
    """Sampled answers per question; an answer is compared with the others to its question."""
    questions_per_step: int = Field(default=4, ge=1)
    """Questions per optimizer step."""
    longest_answer: int = Field(default=160, ge=1)
    """Maximum length of a sampled answer, in tokens."""
    temperature: float = Field(default=1.0, gt=0, le=5)
    """Temperature at which answers are sampled."""

    # Training
    start: str = ""
    """Folder of a PEFT adapter, or an adapter in GGUF, to continue (`--from`); empty for a new adapter.
    A continued adapter keeps its `rank`, `alpha`, `dropout` and `target_modules`."""
    tuning: Literal["lora", "qlora", "full"] = "lora"
    """The weights that are trained: low-rank ones (LoRA, arXiv 2106.09685), the same over a base model in 4
    bits (QLoRA, arXiv 2305.14314; extra `qlora`), or all weights of the base model."""
    target_modules: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    """The layers with low-rank weights, by the ends of their names, such as `[q_proj, v_proj]`."""
    rank: int = Field(default=8, ge=1, le=512)
    """Rank of the low-rank weights."""
    alpha: float = Field(default=16, gt=0)
    """Scale of the low-rank weights; they are multiplied by alpha / rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the inputs of low-rank weights that a step ignores."""
    learning_rate: float = Field(default=2e-4, gt=0, lt=1)
    """Highest learning rate."""
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of steps for the warm-up of the learning rate."""
    scheduler: Literal["cosine", "linear", "constant_with_warmup", "polynomial", "inverse_sqrt"] = "cosine"
    """The course of the learning rate after the warm-up, by transformers' names."""
    optimizer: Optimizer = "adamw_torch_fused"
    """By transformers' names. Those with 8 bits need the extra `qlora`."""
    weight_decay: float = Field(default=0.0, ge=0, lt=1)
    """Decoupled weight decay (AdamW, arXiv 1711.05101)."""
    max_grad_norm: float = Field(default=1.0, ge=0)
    """The norm to which larger gradients are scaled down; 0 leaves them as they are."""
    epochs: float = Field(default=2, gt=0)
    """Number of passes over the data."""
    longest: int = Field(default=1024, ge=32)
    """Maximum length of a row, in tokens; longer rows are left out and counted."""
    pack: int = Field(default=1024, ge=64)
    """Length of a packed sequence, in tokens."""
    packs_per_step: int = Field(default=8, ge=1)
    """Packs per optimizer step."""
    checkpointing: bool = False
    """Gradient checkpointing: a third slower, with a fraction of the memory."""
    evaluations: int = Field(default=2, ge=0)
    """Evaluations of the held-out loss per epoch."""
    patience: int = Field(default=2, ge=1)
    """Evaluations without improvement before training stops."""
    seed: int = 0
    """Seed of everything that is sampled or shuffled."""
    report_to: tuple[Reporter, ...] = ()
    """Experiment trackers that show the course of the training. They do not change the result."""

    @model_validator(mode="after")
    def _rows_fit_into_packs(self) -> "Recipe":
        if uses(self.objective, "pack") and self.pack < self.longest:
            raise ValueError(f"pack={self.pack} is shorter than longest={self.longest}; set both")
        return self


# fmt: off
_FIRST_FIELDS: Final = frozenset({
    "id", "about", "cites", "base", "chat_template", "language", "objective", "beta",
    "role_specific", "general", "cast", "corpus", "scenes", "forms", "answers", "keep_apart",
    "conversations", "held_out_questions", "limit", "start", "rank", "alpha", "dropout",
    "learning_rate", "warmup", "epochs", "longest", "pack", "packs_per_step", "checkpointing",
    "evaluations", "patience", "seed",
})
# fmt: on
"""The fields of version 0.1."""


def recorded_recipe(recipe: Recipe) -> dict[str, Any]:
    """The recipe for a run's configuration: every field that determines the result.

    Fields that version 0.1 did not have are left out at their default, so that its runs can be resumed.
    """
    unused = {
        name
        for name, field in Recipe.model_fields.items()
        if name not in _FIRST_FIELDS and getattr(recipe, name) == field.default
    }
    return recipe.model_dump(mode="json", exclude={*unused, "report_to"})


def with_settings(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """Change fields of a recipe.

    Args:
        recipe: the recipe to change.
        settings: `field=value` each; a value is written as in the recipe's YAML file.

    Raises:
        SettingsError: there is no such field, its value is invalid, or the objective does not use it.
    """
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        known = [*Recipe.model_fields]
        if not equals or name not in known:
            raise SettingsError(
                f"{setting!r} sets no field of a recipe{did_you_mean(name, known)}; write FIELD=VALUE, "
                f"with a field of {', '.join(known)}."
            )
        changes[name] = _yaml_value(setting, value)
    try:
        changed = Recipe.model_validate({**recipe.model_dump(exclude_unset=True), **changes})
    except ValidationError as error:
        raise SettingsError(_invalid(error, changes)) from None
    if unused := unused_field(changed.objective, changes):
        raise SettingsError(unused)
    return changed


def _invalid(error: ValidationError, changes: Mapping[str, Any]) -> str:
    first = error.errors()[0]
    if not first["loc"]:
        return f"{first['ctx']['error']}."
    name = str(first["loc"][0])
    return f"{name}={changes[name]!r} is invalid: {first['msg']}."


def _yaml_value(setting: str, value: str) -> object:
    try:
        # pydantic reads a number like 1e-4, which is a text in YAML 1.1.
        return yaml.safe_load(value)
    except yaml.YAMLError:
        raise SettingsError(f"The value of {setting!r} is not valid YAML; quote it.") from None


def bundled_recipes() -> list[str]:
    """The ids of the bundled recipes."""
    folder = files("rolellm_train") / _BUNDLED
    return sorted(
        file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")
    )


def load_recipe(name: str) -> Recipe:
    """Load a recipe by its id, or by a path that ends in `.yaml`.

    Raises:
        SettingsError: there is no such recipe, its file is invalid, or its objective does not use one of
            its fields; the message names key and line.
    """
    if name.endswith((".yaml", ".yml")):
        return _read(Path(name).expanduser())
    known = bundled_recipes()
    if name not in known:
        raise SettingsError(
            f"There is no recipe {name!r}{did_you_mean(name, known)}; known are {', '.join(known)}, "
            "and a file of your own ends in .yaml."
        )
    with as_file(files("rolellm_train") / _BUNDLED / f"{name}.yaml") as file:
        return _read(file)


def _read(file: Path) -> Recipe:
    recipe = read_yaml(file, Recipe, SettingsError)
    # A complete recipe, such as a run's, has all fields.
    fields = [name for name, field in Recipe.model_fields.items() if getattr(recipe, name) != field.default]
    if unused := unused_field(recipe.objective, fields):
        raise SettingsError(f"{file}: {unused}")
    return recipe
