"""Opening the base model in transformers, and adding LoRA weights."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.template import TEMPLATES, usual_template
from rolellm_agents.text import one_line
from rolellm_train.base.base import find_base
from rolellm_train.base.chat_form import marks_of
from rolellm_train.base.gguf_adapter import load_into, read_gguf_adapter
from rolellm_train.base.tuned import quiet
from rolellm_train.base.unpacking import unquantized
from rolellm_train.data import attention
from rolellm_train.data.encoding import Encoder, encoder_of
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe
from rolellm_train.training.qlora import in_4_bits


@dataclass(frozen=True)
class OpenBase:
    """An opened base."""

    model: Any
    """A causal model of transformers."""
    tokenizer: Any
    encoder: Encoder


def base_source(name: str) -> tuple[str, dict[str, Any]]:
    """The folder or file, and the arguments, with which transformers opens a base model.

    Raises:
        ModelError: there is no such base model.
        SettingsError: `models.toml` cannot be used.
    """
    found = find_base(name)
    options: dict[str, Any] = {"local_files_only": True}
    if found.gguf is not None:
        return str(found.gguf.parent), {"gguf_file": found.gguf.name, **options}
    return str(found.folder), options


def open_base(recipe: Recipe) -> OpenBase:
    """Open a recipe's base model.

    Raises:
        ModelError: the base model is missing or damaged, or the extra `train` is not installed.
        TrainingError: neither the base model nor the recipe has a chat template.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise ModelError(
            f"Training needs the extra “train” ({error.name} is missing); "
            "“pip install 'rolellm-agents[train]'” installs it."
        ) from error
    attention.register()
    # Ours reads packs; sampled answers are ordinary batches.
    kind = "sdpa" if recipe.objective == "grpo" else attention.NAME
    source, options = base_source(recipe.base)
    quantization = in_4_bits(recipe, is_gguf="gguf_file" in options) if recipe.tuning == "qlora" else {}
    # Steps of a small learning rate would be lost in weights of 16 bits; adapters always have 32.
    in_16_bits = torch.cuda.is_available() and recipe.tuning != "full"
    dtype = torch.bfloat16 if in_16_bits else torch.float32
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(source, **options)
            model = AutoModelForCausalLM.from_pretrained(
                source, dtype=dtype, attn_implementation=kind, **options, **quantization
            )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(
            f"The base {recipe.base} cannot be opened ({one_line(str(error), 200)}); "
            "name a folder, a GGUF file, or a model that is on this machine already."
        ) from error
    if recipe.tuning != "qlora":
        unquantized(model)
    model.config.use_cache = recipe.objective == "grpo"
    encoder = encoder_for(recipe, tokenizer)
    tokenizer.chat_template = _template(recipe, tokenizer)
    return OpenBase(model, tokenizer, encoder)


def encoder_for(recipe: Recipe, tokenizer: Any) -> Encoder:
    """Create the encoder for a base model, with the chat template that its conversations use.

    Raises:
        TrainingError: the base model has no chat template, or an answer's end is none of its tokens.
    """
    return encoder_of(tokenizer, _template(recipe, tokenizer))


def _template(recipe: Recipe, tokenizer: Any) -> str:
    if recipe.chat_template == "gemma" and usual_template(marks_of(tokenizer)) != TEMPLATES["gemma"]:
        raise TrainingError(
            f"The base {recipe.base} does not have the control tokens of Gemma's chat template; "
            "set “chat_template: own” or “chat_template: chatml” in the recipe."
        )
    if recipe.chat_template != "own":
        return TEMPLATES[recipe.chat_template]
    if not tokenizer.chat_template:
        raise TrainingError(
            f"The base {recipe.base} has no chat template; "
            "give it one with “chat_template: chatml” in the recipe "
            "(“gemma” for Gemma, “vicuna” for LLaMA)."
        )
    template: str = tokenizer.chat_template
    return template


def trainable(model: Any, recipe: Recipe) -> Any:
    """Prepare a base model so that only the weights that the recipe trains are trainable.

    These are new LoRA weights (arXiv 2106.09685), those of the run to continue, or all weights.

    Raises:
        ModelError: the adapter to continue is missing or has another base model.
        TrainingError: the base model has no layers of the names in `target_modules`.
    """
    from peft import PeftModel

    # The base as named in the adapter's file.
    model.name_or_path = recipe.base
    if recipe.tuning == "full":
        return model.train()
    if recipe.start.endswith(".gguf"):
        adapter = read_gguf_adapter(Path(recipe.start))
        tuned = _with_new_adapter(model, recipe)
        load_into(tuned, adapter)
        return tuned
    if recipe.start:
        try:
            with quiet():
                return PeftModel.from_pretrained(model, recipe.start, is_trainable=True)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelError(
                f"The adapter {recipe.start} cannot be continued ({one_line(str(error), 160)}); "
                "name one of the same base model with --from."
            ) from error
    return _with_new_adapter(model, recipe)


def _with_new_adapter(model: Any, recipe: Recipe) -> Any:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules="all-linear" if recipe.target_modules == "all-linear" else [*recipe.target_modules],
        task_type="CAUSAL_LM",
    )
    try:
        with quiet():
            return get_peft_model(model, config)
    except ValueError as error:
        layers = sorted({name.rpartition(".")[2] for name, _ in linear_layers(model)})
        raise TrainingError(
            f"{recipe.base} has no layers {', '.join(recipe.target_modules)}; set “target_modules” in the "
            f"recipe to some of {', '.join(layers)}."
        ) from error


def has_adapter(model: Any) -> bool:
    """Whether only an adapter of this model is trained."""
    from peft import PeftModel

    return isinstance(model, PeftModel)


def linear_layers(model: Any) -> list[tuple[str, tuple[int, int]]]:
    """The linear layers of a model without its output layer: names, inputs and outputs."""
    from transformers.pytorch_utils import Conv1D

    output = model.get_output_embeddings()
    layers: list[tuple[str, tuple[int, int]]] = []
    for name, layer in model.named_modules():
        if isinstance(layer, Conv1D):  # GPT-2's
            layers.append((name, (layer.nx, layer.nf)))
        elif hasattr(layer, "in_features") and layer is not output:
            layers.append((name, (layer.in_features, layer.out_features)))
    return layers
