"""The base that is tuned, in transformers: found, opened, and given the weights that learn."""

import contextlib
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.gguf import EMBEDDED, embedded_gguf
from rolellm_agents.models.llamacpp.template import CHATML, ChatTemplate
from rolellm_agents.text import one_line
from rolellm_train import attention
from rolellm_train.encoding import Encoder
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe


@dataclass(frozen=True)
class Base:
    """An opened base."""

    model: Any
    """A causal model of transformers, with our attention."""
    tokenizer: Any
    template: str
    encoder: Encoder


def base_source(name: str) -> tuple[str, dict[str, Any]]:
    """Where transformers finds a base: a folder or a name at a hub, and how to open it.

    Raises:
        ModelError: there is no such file.
    """
    spec = name.removeprefix("huggingface:")
    if spec.startswith("llamacpp:"):
        file = spec.removeprefix("llamacpp:")
        path = embedded_gguf() if file == EMBEDDED else Path(file).expanduser()
        return _gguf_source(path)
    path = Path(spec).expanduser()
    if path.suffix == ".gguf":
        return _gguf_source(path)
    return (str(path), {"local_files_only": True}) if path.is_dir() else (spec, {})


def _gguf_source(path: Path) -> tuple[str, dict[str, Any]]:
    from rolellm_agents.models.llamacpp.gguf import check_gguf

    check_gguf(path)
    return str(path.parent), {"gguf_file": path.name, "local_files_only": True}


def open_base(recipe: Recipe) -> Base:
    """Open a recipe's base.

    Raises:
        ModelError: it is not there, cannot be read, or the extra `train` is not installed.
        TrainingError: it has no chat template and the recipe gives none.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise ModelError(
            f"Training needs the extra “train” ({error.name} is missing); "
            "“pip install 'rolellm-agents[train]'” brings it."
        ) from error
    attention.register()
    source, how = base_source(recipe.base)
    dtype = torch.bfloat16 if torch.cuda.is_available() else torch.float32
    try:
        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(source, **how)
            model = AutoModelForCausalLM.from_pretrained(
                source, dtype=dtype, attn_implementation=attention.NAME, **how
            )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(
            f"The base {recipe.base} cannot be opened ({one_line(str(error), 200)}); "
            "name a folder, a GGUF file, or a model that is on this machine already."
        ) from error
    _unquantized(model)
    model.config.use_cache = False
    template = _template(recipe, tokenizer)
    return Base(model, tokenizer, template, _encoder(tokenizer, template))


def _unquantized(model: Any) -> None:
    """What came from a GGUF is no longer quantized, and the converters ask for its architecture."""
    for place, mark in (
        (model, "hf_quantizer"),
        (model, "is_quantized"),
        (model.config, "quantization_config"),
    ):
        with contextlib.suppress(AttributeError):
            delattr(place, mark)
    model.config.architectures = [type(model).__name__]


def _template(recipe: Recipe, tokenizer: Any) -> str:
    if recipe.chat_template == "chatml":
        return CHATML
    if not tokenizer.chat_template:
        raise TrainingError(
            f"The base {recipe.base} has no chat template; "
            "give it one with “chat_template: chatml” in the recipe."
        )
    template: str = tokenizer.chat_template
    return template


def _encoder(tokenizer: Any, template: str) -> Encoder:
    bos, eos = tokenizer.bos_token or "", tokenizer.eos_token or ""
    compiled = ChatTemplate(template, bos=bos, eos=eos)
    return Encoder(tokenizer, compiled, _end(tokenizer, compiled), bos=None)


def _end(tokenizer: Any, template: ChatTemplate) -> int:
    """The token that the template puts behind an answer: where the model must learn to stop."""
    asked = [{"role": "user", "content": "a"}]
    begun = template.render(asked)
    whole = template.render([*asked, {"role": "assistant", "content": "b"}], answer_follows=False)
    behind: list[int] = tokenizer.encode(whole.removeprefix(begun).lstrip("b"), add_special_tokens=False)
    return behind[0] if behind else int(tokenizer.eos_token_id)


def with_adapter(model: Any, recipe: Recipe) -> Any:
    """The model with low-rank weights in all linear layers; only they learn (LoRA, arXiv 2106.09685)."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    # What the adapter's own file says of its base.
    model.name_or_path = recipe.base
    with warnings.catch_warnings():
        # PEFT asks for what transformers has renamed.
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(model, config)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the bars that transformers draws on the screen."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    # Reading a GGUF draws a bar of its own, whatever is said.
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stderr(nowhere):
        try:
            yield
        finally:
            if shown:
                logging.enable_progress_bar()
