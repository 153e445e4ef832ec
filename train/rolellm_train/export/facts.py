"""The source of an export: a training run or an adapter, with its known history."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Final

from rolellm_agents.config.settings import DEFAULT_USER, load_settings
from rolellm_agents.errors import ModelError
from rolellm_agents.text import one_line
from rolellm_train.base.peft_adapter import CONFIG as ADAPTER_CONFIG

_ADAPTER: Final = "adapter"
_MODEL: Final = "model"
_UNKNOWN: Final = "unknown"
_ROCIT: Final = "RoCIT (Wang et al., RoleLLM, arXiv 2310.00746)"
PREFERENCE_METHODS: Final[Mapping[str, str]] = {
    "dpo": "DPO, Rafailov et al., arXiv 2305.18290",
    "simpo": "SimPO, Meng et al., arXiv 2405.14734",
    "orpo": "ORPO, Hong et al., arXiv 2403.07691",
}
"""The methods of learning from preferred answers, by the objective of a recipe."""


@dataclass(frozen=True)
class ExportSource:
    """A tuned model and its known history."""

    weights: Path
    """The folder of the PEFT adapter, or of the complete model if all weights were tuned."""
    base: str
    """The base model of the run; empty for an adapter without a run."""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    data: Sequence[str] = ()
    """The names of the training data sets."""
    author: str = ""
    licence: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether all weights were tuned, so that there is no adapter."""
        return self.recipe.get("tuning") == "full"

    @property
    def objective(self) -> str:
        """The objective of the last training."""
        return str(self.recipe.get("objective", "rocit"))

    @property
    def method(self) -> str:
        """How the model was tuned, with the source of the method."""
        preferences = PREFERENCE_METHODS.get(self.objective)
        return f"{_ROCIT}, and by preferred answers ({preferences})" if preferences else _ROCIT

    @property
    def template(self) -> str:
        """The kind of chat template of the training; `own` is the base model's template."""
        return str(self.recipe.get("chat_template", "own"))


def read_source(folder: Path) -> ExportSource:
    """Read the folder of a run or of an adapter.

    Raises:
        ModelError: the folder is neither, or the run has no adapter yet.
        SettingsError: the user's settings cannot be used.
    """
    settings = load_settings()
    author = settings.user_name if settings.user_name != DEFAULT_USER else ""
    if (folder / ADAPTER_CONFIG).is_file():
        return ExportSource(folder, "", author=author)
    if not (folder / "config.json").is_file():
        raise ModelError(
            f"There is no run and no adapter in {folder}; name a folder that “rolellm train” made."
        )
    config = _read(folder / "config.json").get("config")
    if not isinstance(config, dict) or not isinstance(config.get("base"), str):
        raise ModelError(f"The run in {folder} is not a training; name a folder that “rolellm train” made.")
    recipe = _recipe(config.get("recipe"))
    weights = folder / (_MODEL if recipe.get("tuning") == "full" else _ADAPTER)
    if not ((weights / ADAPTER_CONFIG).is_file() or (weights / "config.json").is_file()):
        raise ModelError(
            f"The training in {folder} is not finished; finish it with the same “rolellm train”."
        )
    manifest = _read(folder / "manifest.json") if (folder / "manifest.json").is_file() else {}
    return ExportSource(
        weights,
        config["base"],
        recipe=recipe,
        data=[*dict.fromkeys([*_data_before(config.get("recipe")), *_names(config.get("data"))])],
        author=str(config.get("author") or author),
        licence=str(config.get("licence") or ""),
        scores=_scores(manifest),
    )


def metadata_of(
    source: ExportSource, *, name: str, base: str, base_facts: Mapping[str, str]
) -> dict[str, str | Sequence[str]]:
    """The metadata for the GGUF files.

    Args:
        source: the source of the export.
        name: the model's name.
        base: the base model's name.
        base_facts: the base model's metadata, as `read_metadata` returns it.
    """
    recipe = str(source.recipe.get("id", ""))
    description = f"{base} tuned to speak in role by {source.method}"
    facts: dict[str, str | Sequence[str]] = {
        "general.name": name,
        "general.author": source.author,
        "general.license": licence_of(source, base_facts),
        "general.description": f"{description} with the recipe {recipe}" if recipe else description,
        "general.basename": base_facts.get("basename", base),
        "general.finetune": source.objective,
        "general.tags": ["role-playing", "rolellm", "text-generation"],
        "general.base_model.0.name": base_facts.get("name", base),
        "general.base_model.0.organization": base_facts.get("organization", ""),
        "rolellm.base": base,
        "rolellm.recipe": json.dumps(dict(source.recipe), ensure_ascii=False) if source.recipe else "",
        "rolellm.data": list(source.data),
    }
    for index, data in enumerate(source.data):
        facts[f"general.dataset.{index}.name"] = data
    return {key: fact for key, fact in facts.items() if fact}


def licence_of(source: ExportSource, base_facts: Mapping[str, str]) -> str:
    """The licence that the run names, or else that of the base model."""
    return source.licence or base_facts.get("license", "") or _UNKNOWN


def _read(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read ({error}); train again into another folder.") from error
    return data if isinstance(data, dict) else {}


def _recipe(recorded: object) -> Mapping[str, Any]:
    """The recipe with the name instead of the folder of the run that it continued."""
    if not isinstance(recorded, dict):
        return {"id": str(recorded)} if recorded else {}
    if not (start := recorded.get("start")):
        return recorded
    path = PurePath(str(start))
    return {**recorded, "start": one_line(path.parent.name if path.name == _ADAPTER else path.name, 120)}


def _data_before(recipe: object) -> Sequence[str]:
    """Data of the run that this adapter continued, if it still exists."""
    start = str(recipe.get("start") or "") if isinstance(recipe, dict) else ""
    run = Path(start).parent
    return read_source(run).data if start and (run / "config.json").is_file() else ()


def _names(data: object) -> list[str]:
    """The last part of each path, as full paths are private."""
    listed = data if isinstance(data, list) else [data] if data else []
    return [one_line(PurePath(str(path)).name, 120) for path in listed]


def _scores(manifest: Mapping[str, Any]) -> dict[str, float]:
    """Scores of a run, and its held-out loss."""
    held = manifest.get("scores")
    scores = dict(held) if isinstance(held, dict) else {}
    scores.setdefault("held_out_loss", manifest.get("held_out_loss"))
    return {
        one_line(str(name), 60): float(value)
        for name, value in scores.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
