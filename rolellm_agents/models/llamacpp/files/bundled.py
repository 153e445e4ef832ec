"""Models with names of their own, which come with the package or with an extra."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from rolellm_agents.models.llamacpp.files.gguf import EMBEDDED, GEMMA

_HERE: Final = Path(__file__).parent


class Bundled(NamedTuple):
    """A model that is named without a path."""

    name: str
    base: str
    """The base model, by its name for `known_gguf`."""
    adapter: Path | None
    """LoRA weights over the base, tuned to speak in role (`docs/design/training.md`)."""
    about: str
    """A short description for lists."""
    strategy: str | None = None
    """The default strategy for the model; the general default when None."""
    temperature: float = 0.5
    """The default sampling temperature; models this small lose the thread at higher ones."""


BUNDLED: Final[Mapping[str, Bundled]] = MappingProxyType(
    {
        model.name: model
        for model in (
            Bundled(
                "rolesmol",
                EMBEDDED,
                _HERE / "rolesmol.gguf",
                "SmolLM2-135M tuned to speak in role; installed with the package",
                # Both were preferred in blind readings (docs/experiments.md).
                strategy="system",
                temperature=0.3,
            ),
            Bundled(EMBEDDED, EMBEDDED, None, "its base model, before tuning"),
            # Its notice and its license terms are in the same folder.
            Bundled(
                "rolegemma",
                GEMMA,
                _HERE / "rolegemma.gguf",
                "Gemma 3 270M tuned to speak in role in Chinese; extra “gemma”",
                # It was tuned with this strategy, and loops with the general default (docs/experiments.md).
                strategy="system",
            ),
            Bundled(GEMMA, GEMMA, None, "its base model, not tuned for chats; extra “gemma”"),
        )
    }
)
"""The models by name."""
