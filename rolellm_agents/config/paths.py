"""Where files live: where the platform puts them, or all under `ROLELLM_HOME`."""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from rolellm_agents.errors import StorageError

APP_NAME = "rolellm"


@dataclass(frozen=True)
class Paths:
    """The folders of one user; none of them need exist yet."""

    config: Path
    """Settings written by hand: `config.toml` and `models.toml`."""
    data: Path
    """What must not be lost: conversations and the user's own personas."""
    cache: Path
    """What can be made again."""

    @property
    def settings_file(self) -> Path:
        """The user's defaults."""
        return self.config / "config.toml"

    @property
    def models_file(self) -> Path:
        """The user's own model names."""
        return self.config / "models.toml"

    @property
    def personas(self) -> Path:
        """The user's own persona files."""
        return self.data / "personas"

    @property
    def scenes(self) -> Path:
        """The user's own scene files."""
        return self.data / "scenes"

    @property
    def lorebooks(self) -> Path:
        """Lorebooks that belong to no character."""
        return self.data / "lorebooks"

    @property
    def packs(self) -> Path:
        """The installed packs, a folder each."""
        return self.data / "packs"

    @property
    def runs(self) -> Path:
        """The record of long commands' work, a folder each."""
        return self.data / "runs"

    @property
    def transcript(self) -> Path:
        """The database of all conversations."""
        return self.data / "transcript.db"


def user_paths() -> Paths:
    """Look up the folders now: `ROLELLM_HOME` may differ from one call to the next (in tests)."""
    home = os.environ.get("ROLELLM_HOME")
    if home:
        root = Path(home).expanduser().absolute()
        return Paths(config=root / "config", data=root / "data", cache=root / "cache")
    return Paths(
        config=platformdirs.user_config_path(APP_NAME, appauthor=False),
        data=platformdirs.user_data_path(APP_NAME, appauthor=False),
        cache=platformdirs.user_cache_path(APP_NAME, appauthor=False),
    )


def make_folder(folder: Path) -> Path:
    """Make `folder` and its parents.

    Raises:
        StorageError: the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The folder {folder} cannot be made ({error.strerror}); "
            "free it, or set ROLELLM_HOME to a folder you can write to."
        ) from error
    return folder
