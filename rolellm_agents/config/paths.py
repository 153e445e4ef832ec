"""The folders of the user's files: the platform's usual ones, or all of them under `ROLELLM_HOME`."""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from rolellm_agents.errors import StorageError

APP_NAME = "rolellm"


@dataclass(frozen=True)
class Paths:
    """The folders of one user, which need not exist yet."""

    config: Path
    """Settings that can be written by hand: `config.toml`, `models.toml` and `agreed.toml`."""
    data: Path
    """Data that must not be lost: conversations and the user's own personas."""
    cache: Path
    """Files that can be created again."""

    @property
    def settings_file(self) -> Path:
        """The user's default settings, `config.toml`."""
        return self.config / "config.toml"

    @property
    def models_file(self) -> Path:
        """The user's own model names, `models.toml`."""
        return self.config / "models.toml"

    @property
    def agreements_file(self) -> Path:
        """The files from elsewhere whose models the user has agreed to, `agreed.toml`."""
        return self.config / "agreed.toml"

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
        """The installed packs, one folder each."""
        return self.data / "packs"

    @property
    def runs(self) -> Path:
        """The runs of long commands, one folder each."""
        return self.data / "runs"

    @property
    def transcript(self) -> Path:
        """The database of all conversations."""
        return self.data / "transcript.db"


def user_paths() -> Paths:
    """The user's folders.

    Each call reads `ROLELLM_HOME`, because tests change it.
    """
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
    """Create `folder` and its parents.

    Raises:
        StorageError: the folder cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The folder {folder} cannot be created ({error.strerror}); "
            "check permissions and free space, or set ROLELLM_HOME to a folder you can write to."
        ) from error
    return folder
