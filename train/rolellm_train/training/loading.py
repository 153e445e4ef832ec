"""Opening the base model in transformers."""

from dataclasses import dataclass
from typing import Any

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.template import TEMPLATES, usual_template
from rolellm_agents.text import one_line
from rolellm_train.base.base import find_base
from rolellm_train.base.chat_form import marks_of
from rolellm_train.base.tuned import quiet
from rolellm_train.base.unpacking import unquantized
from rolellm_train.data import attention
from rolellm_train.data.encoding import Encoder, encoder_of
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe
from rolellm_train.training import processes
from rolellm_train.training.memory import out_of_memory
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
        TrainingError: the base model has no chat template, is quantized already or does not fit into the
            memory, or one process sees several GPUs.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise ModelError(
            f"Training needs the extra “train” ({error.name} is missing); "
            "“pip install 'rolellm-agents[train]'” installs it."
        ) from error
    processes.check_gpus()
    attention.register()
    # Ours reads packs; sampled answers are ordinary batches.
    kind = "sdpa" if recipe.objective == "grpo" else attention.NAME
    source, options = base_source(recipe.base)
    is_gguf = "gguf_file" in options
    quantization = in_4_bits(recipe, is_gguf=is_gguf) if recipe.tuning == "qlora" else {}
    # Small steps would be lost in weights of 16 bits. PEFT keeps the weights of an adapter in 32 bits.
    in_16_bits = torch.cuda.is_available() and recipe.tuning != "full"
    dtype = torch.bfloat16 if in_16_bits else torch.float32
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(source, **options)
            model = AutoModelForCausalLM.from_pretrained(
                source, dtype=dtype, attn_implementation=kind, **options, **quantization
            )
    except torch.OutOfMemoryError as error:
        raise out_of_memory(recipe) from error
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(
            f"The base {recipe.base} cannot be opened ({one_line(str(error), 200)}); "
            "name another folder, GGUF file, or model of the hub with --base."
        ) from error
    if is_gguf:
        unquantized(model)
    elif recipe.tuning != "qlora":
        _check_not_quantized(recipe, model)
    model.config.use_cache = recipe.objective == "grpo"
    encoder = encoder_for(recipe, tokenizer)
    tokenizer.chat_template = _template(recipe, tokenizer)
    return OpenBase(model, tokenizer, encoder)


def _check_not_quantized(recipe: Recipe, model: Any) -> None:
    if not getattr(model, "is_quantized", False):
        return
    found = getattr(model.config.quantization_config, "quant_method", "")
    method = str(getattr(found, "value", found))
    another = "name the model that it was made from with --base"
    if method == "bitsandbytes" and recipe.tuning == "lora":
        another = f"set “tuning: qlora” in the recipe, or {another}"
    raise TrainingError(f"{recipe.base} is quantized already ({method or 'by another tool'}); {another}.")


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
