"""The models that have a name of their own: in the box, or one extra away."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from rolellm_agents.models.llamacpp.files.gguf import EMBEDDED, GEMMA

_HERE: Final = Path(__file__).parent


class Bundled(NamedTuple):
    """A model that needs no path."""

    name: str
    base: str
    """Whose file it is computed with, by `known_gguf`'s name."""
    adapter: Path | None
    """Weights that were tuned to speak in role and lie over the base's (`docs/design/training.md`)."""
    about: str
    """For a list."""
    strategy: str | None = None
    """How personas reach it when nobody says otherwise, where the usual one does not suit it."""


BUNDLED: Final[Mapping[str, Bundled]] = MappingProxyType(
    {
        model.name: model
        for model in (
            Bundled(
                "rolesmol",
                EMBEDDED,
                _HERE / "rolesmol.gguf",
                "SmolLM2-135M tuned to speak in role, in the box",
            ),
            Bundled(EMBEDDED, EMBEDDED, None, "its base, as it was before"),
            # Its notice and the terms it is under lie beside it.
            Bundled(
                "rolegemma",
                GEMMA,
                _HERE / "rolegemma.gguf",
                "Gemma 3 270M tuned to speak in role in Chinese; extra “gemma”",
                # Under the usual one it loops (docs/experiments.md): it was tuned by this one.
                strategy="system",
            ),
            Bundled(GEMMA, GEMMA, None, "its base, which was never taught to answer; the same extra"),
        )
    }
)
"""By name."""
