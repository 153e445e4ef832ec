"""The folders of the user's files: the platform's usual ones, or all of them under `ROLELLM_HOME`.

Other users of the machine cannot enter them: conversations, drafts, keys and cached prompts are private.
"""

import contextlib
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
    """Settings that are written by hand: `config.toml`, `models.toml`, `commands.yaml`, `agreed.toml`."""
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
    def commands_file(self) -> Path:
        """The user's own commands, `commands.yaml`."""
        return self.config / "commands.yaml"

    @property
    def prices_file(self) -> Path:
        """The user's list of models' prices, `prices.toml`."""
        return self.config / "prices.toml"

    @property
    def agreements_file(self) -> Path:
        """The files from elsewhere whose models the user has agreed to, `agreed.toml`."""
        return self.config / "agreed.toml"

    @property
    def themes(self) -> Path:
        """The user's own theme files for the app."""
        return self.config / "themes"

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
    def presets(self) -> Path:
        """The user's own sampler presets."""
        return self.data / "presets"

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


def close_to_others(place: Path) -> None:
    """Take the permissions of other users away from a file or a folder, if it exists and is ours."""
    with contextlib.suppress(OSError):  # it does not exist, is on a read-only disk, or is somebody else's
        if place.stat().st_mode & 0o077:
            place.chmod(0o700 if place.is_dir() else 0o600)


def close_home_to_others() -> None:
    """Close the user's folders and settings files to other users, which earlier versions left open."""
    paths = user_paths()
    for place in (paths.config, paths.data, paths.cache, *paths.config.glob("*.toml")):
        close_to_others(place)


def make_folder(folder: Path) -> Path:
    """Create `folder` and its parents; the user's own folders are closed to other users.

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
    paths = user_paths()
    for ours in (paths.config, paths.data, paths.cache):
        if ours == folder or ours in folder.parents:
            close_to_others(ours)
    return folder
