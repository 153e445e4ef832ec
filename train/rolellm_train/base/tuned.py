"""A base model with its adapter in transformers, for the parity check and for merging."""

import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.template import usual_template
from rolellm_agents.text import one_line
from rolellm_train.base.chat_form import marks_of


@dataclass(frozen=True)
class TunedModel:
    """A tuned model in memory."""

    model: Any
    """The PEFT model, or the complete one."""
    tokenizer: Any
    dtype: str
    """Of its weights, as torch names it."""

    @property
    def template(self) -> str:
        """The chat template."""
        return str(self.tokenizer.chat_template)


def load_tuned(base: Path, adapter: Path | None, *, template: str | None, weights: int) -> TunedModel:
    """Load a tuned model, in 32 bits if there is enough memory.

    Args:
        base: the folder of the base model, or of the complete tuned model.
        adapter: the folder of the PEFT adapter; None for a complete model.
        template: the chat template of the training. None uses the base model's own or, if it has none,
            the one that conversations use.
        weights: the number of the base model's weights.

    Raises:
        ModelError: base model and adapter do not fit together, or transformers cannot load them.
    """
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    fits_in_f32 = 4 * weights * 1.3 < psutil.virtual_memory().available
    dtype = torch.float32 if fits_in_f32 else torch.bfloat16
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
            model = AutoModelForCausalLM.from_pretrained(base, dtype=dtype, local_files_only=True)
            tuned = PeftModel.from_pretrained(model, str(adapter)) if adapter else model
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(
            f"transformers cannot load {f'the adapter {adapter} over its base model' if adapter else base} "
            f"({one_line(str(error), 160)}); name its base model with --base."
        ) from error
    tokenizer.chat_template = template or tokenizer.chat_template or usual_template(marks_of(tokenizer))
    return TunedModel(tuned.eval(), tokenizer, str(dtype).removeprefix("torch."))


def save_merged(tuned: TunedModel, folder: Path) -> None:
    """Merge the adapter into the base model's weights and write the result; `tuned` is unusable afterwards.

    Args:
        tuned: the loaded model.
        folder: the folder to write, for transformers and the converters.

    Raises:
        ModelError: the adapter contains NaN.
        OSError: the disk is full.
    """
    try:
        merged = tuned.model.merge_and_unload(safe_merge=True)
    except ValueError as error:
        raise ModelError(
            f"The adapter cannot be merged ({one_line(str(error), 120)}); train it again."
        ) from error
    merged.config.architectures = [type(merged).__name__]
    with quiet():
        merged.save_pretrained(folder)
        tuned.tokenizer.save_pretrained(folder)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence progress bars and warnings of transformers."""
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
