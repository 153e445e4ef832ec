"""Recipes: everything that a tuned model depends on, besides the data, as one flat YAML file."""

from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rolellm_agents.errors import SettingsError
from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import Language

_BUNDLED = "recipes"


class Recipe(BaseModel):
    """How a model is tuned. Defaults are RoCIT's where the paper tells them, else what measured best."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
    about: str
    """What it is for, what it needs and how long it takes, for a person."""
    cites: str = ""
    """Where the method is from."""
    base: str
    """A GGUF (`llamacpp:smollm2`, a path), a folder for transformers, or a name at a model hub."""
    chat_template: Literal["own", "chatml", "gemma"] = "own"
    """For a base that brings none; Gemma's needs Gemma's vocabulary."""
    language: Language = "en"

    objective: Literal["rocit", "dpo"] = "rocit"
    """Answers are learned as they are (RoCIT), or to be preferred to others (DPO, arXiv 2305.18290)."""
    beta: float = Field(default=0.1, gt=0, le=10)
    """Of DPO: how dearly a departure from the base is paid for."""

    # What is learned
    role_specific: float = Field(default=1.0, ge=0, le=100)
    """How often each of RoleBench's role-specific rows is seen in an epoch; a fraction draws some."""
    general: float = Field(default=1.0, ge=0, le=100)
    cast: float = Field(default=1.0, ge=0, le=100)
    """The same for the cast's demonstrations."""
    answers: int = Field(default=1, ge=1, le=20)
    """Of a row's references, each learned as a row of its own."""
    keep_apart: bool = True
    """Leave out the roles that the paper keeps for its role generalization."""
    conversations: float = Field(default=0.0, ge=0, le=1)
    """The part of the rows that is asked in conversations of several questions, not each alone."""
    held_out_questions: int = Field(default=2, ge=0)
    """Of each role, for the loss that training is stopped by."""
    limit: int | None = Field(default=None, ge=1)
    """Rows at most, drawn; for trying out."""

    # How
    start: str = ""
    """PEFT's folder of an adapter that is learned on (`--from`); a new one when empty."""
    rank: int = Field(default=8, ge=1, le=512)
    alpha: float = Field(default=16, gt=0)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    learning_rate: float = Field(default=2e-4, gt=0, lt=1)
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """The part of all steps in which the rate rises."""
    epochs: float = Field(default=2, gt=0)
    longest: int = Field(default=1024, ge=32)
    """Tokens of a row; longer rows are left out and counted."""
    pack: int = Field(default=1024, ge=64)
    """Tokens of a sequence that several rows share."""
    packs_per_batch: int = Field(default=1, ge=1)
    """Computed at a time."""
    packs_per_step: int = Field(default=8, ge=1)
    """Between two changes of the weights."""
    checkpointing: bool = False
    """Compute activations twice rather than keep them: a third slower, a fraction of the memory."""
    evaluations: int = Field(default=2, ge=0)
    """Of the held-out loss, in each epoch."""
    patience: int = Field(default=2, ge=1)
    """So many evaluations without a better loss end it."""
    seed: int = 0


def bundled_recipes() -> list[str]:
    """The ids of the recipes that come along."""
    folder = files("rolellm_train") / _BUNDLED
    return sorted(
        file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")
    )


def load_recipe(name: str) -> Recipe:
    """A recipe by its id, or by a path that ends in `.yaml`.

    Raises:
        SettingsError: there is none, or its file cannot be used, with the key and the line.
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
