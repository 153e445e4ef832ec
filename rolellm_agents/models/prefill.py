"""How far a model in this process is with the prompt that it reads before its answer."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, NamedTuple


class PrefillProgress(NamedTuple):
    """The prefill of one prompt, in tokens."""

    computed: int
    """Tokens that are computed, or were kept from earlier prompts."""
    total: int


ON_PREFILL: Final[ContextVar[Callable[[PrefillProgress], object] | None]] = ContextVar(
    "on_prefill", default=None
)
"""Called while a prompt is read, if that takes longer than half a second. It is set around the call of a
model, runs in the model's thread, and must not block."""
