"""Recipes: everything that a tuned model depends on besides the data, in one flat YAML file."""

from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from rolellm_agents.errors import SettingsError
from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import Language

_BUNDLED = "recipes"

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

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
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

    objective: Literal["rocit", "dpo"] = "rocit"
    """Learn answers (RoCIT), or preferences between answers (DPO, arXiv 2305.18290)."""
    beta: float = Field(default=0.1, gt=0, le=10)
    """Beta of DPO: the weight of staying close to the base."""

    # Data
    role_specific: float = Field(default=1.0, ge=0, le=100)
    """Repetitions of each role-specific row of RoleBench per epoch; a fraction samples rows."""
    general: float = Field(default=1.0, ge=0, le=100)
    cast: float = Field(default=1.0, ge=0, le=100)
    """The same for the cast's demonstrations."""
    corpus: float = Field(default=0.0, ge=0, le=100)
    """The same for conversations of the cast's corpus."""
    scenes: float = Field(default=0.0, ge=0, le=100)
    """The same for scenes of the cast's corpus, once for each character."""
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
    """Maximum number of rows, sampled at random."""

    # Training
    start: str = ""
    """Folder of a PEFT adapter, or an adapter in GGUF, to continue (`--from`); empty for a new adapter."""
    rank: int = Field(default=8, ge=1, le=512)
    alpha: float = Field(default=16, gt=0)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    learning_rate: float = Field(default=2e-4, gt=0, lt=1)
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of steps for the warm-up of the learning rate."""
    epochs: float = Field(default=2, gt=0)
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


def bundled_recipes() -> list[str]:
    """The ids of the bundled recipes."""
    folder = files("rolellm_train") / _BUNDLED
    return sorted(
        file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")
    )


def load_recipe(name: str) -> Recipe:
    """Load a recipe by its id, or by a path that ends in `.yaml`.

    Raises:
        SettingsError: there is no such recipe, or its file is invalid; the message names key and line.
    """
    if name.endswith((".yaml", ".yml")):
        return read_yaml(Path(name).expanduser(), Recipe, SettingsError)
    known = bundled_recipes()
    if name not in known:
        raise SettingsError(
            f"There is no recipe {name!r}{did_you_mean(name, known)}; known are {', '.join(known)}, "
            "and a file of your own ends in .yaml."
        )
    with as_file(files("rolellm_train") / _BUNDLED / f"{name}.yaml") as file:
        return read_yaml(file, Recipe, SettingsError)
