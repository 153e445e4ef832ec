"""Download a model and name it: what `rolellm models pull` and the app's list of models do."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.errors import ModelError, SettingsError
from rolellm_agents.models.llamacpp.files.hub_models import PREFIX, download, hub_model
from rolellm_agents.models.llamacpp.files.resumable import OnProgress
from rolellm_agents.models.llamacpp.files.url_models import download_from, is_address, place_of
from rolellm_agents.models.names import check_name, forget_name, keep_name, named_models
from rolellm_agents.models.recommended import recommended_models
from rolellm_agents.text import did_you_mean

_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9.]+")


class PullStopped(BaseException):  # no error, like KeyboardInterrupt
    """Raised by a progress function to stop a download; what was received is kept."""


@dataclass(frozen=True)
class Pull:
    """A download to do."""

    name: str
    """The name in `models.toml`."""
    spec: str
    fetch: Callable[[OnProgress], list[Path]]

    @property
    def is_named(self) -> bool:
        """Whether `models.toml` has this name for this model."""
        known = named_models().get(self.name)
        return known is not None and known.spec == self.spec


def planned_pull(source: str, *, name: str | None = None) -> Pull:
    """The download of a model.

    Args:
        source: a recommended model, `hf:ORG/REPO[:QUANT]`, or the address of a GGUF file.
        name: the name in `models.toml`; derived from the source when None.

    Raises:
        ModelError: there is no such model.
    """
    recommended = {one.name: one.source for one in recommended_models()}
    chosen = recommended.get(source, source)
    if is_address(chosen):
        file = place_of(chosen)
        short = name or _short_name(file.name)
        return Pull(short, f"llamacpp:{file}", lambda progress: [download_from(chosen, progress)])
    if not chosen.startswith(PREFIX):
        raise ModelError(
            f"There is no recommended model {chosen!r}{did_you_mean(chosen, recommended)}; there are "
            f"{', '.join(recommended)}, and hf:ORG/REPO names any other."
        )
    short = name or (source if source in recommended else _short_name(chosen))
    model = hub_model(chosen)
    return Pull(short, f"llamacpp:{model.name}", lambda progress: download(model, progress))


def pulled(pull: Pull, progress: OnProgress, *, replace: bool = False) -> list[Path]:
    """Download a model, and give it its name.

    Args:
        pull: the download.
        progress: called after each received block.
        replace: replace another model of this name.

    Returns:
        The file, or its parts in order.

    Raises:
        SettingsError: the name is invalid or another model's, before anything is downloaded.
        ModelError: the model cannot be downloaded.
        StorageError: the disk is too small.
    """
    check_name(pull.name, replace=replace or pull.is_named)
    files = pull.fetch(progress)
    if not pull.is_named:
        if replace:
            forget_name(pull.name)  # with its options, which are another model's
        try:
            keep_name(pull.name, pull.spec, replace=replace)
        except SettingsError:
            if not pull.is_named:  # else another process has named it meanwhile
                raise
    return files


def _short_name(source: str) -> str:
    """A name for models.toml, such as `meta-llama-3.1-8b-instruct`."""
    last = source.rpartition("/")[2].removesuffix(".gguf")
    repository = last.partition(":")[0].removesuffix("-GGUF")
    return _UNUSUAL.sub("-", repository).strip("-.").lower()[:60] or "model"
