"""Files that came from elsewhere, and the user's agreement to what they name: `agreed.toml`.

```toml
["/home/ada/Downloads/dinner.yaml"]
sha256 = "0d1f…"
models = ["butler: openai:gpt-4o"]
```

`docs/design/trust.md` has the rule.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.toml import read_toml, write_toml


@dataclass(frozen=True)
class ForeignFile:
    """A file from elsewhere, with the content that was read from it."""

    path: Path
    sha256: str
    """The hexadecimal digest of the content, so that a changed file is another one."""

    @classmethod
    def of(cls, path: Path, content: Any) -> "ForeignFile":
        """The file at `path`, whose content is a JSON value."""
        text = json.dumps(content, ensure_ascii=True, sort_keys=True)
        return cls(_place(path), hashlib.sha256(text.encode()).hexdigest())


def is_own(path: Path) -> bool:
    """Whether a file is in the user's own folders of scenes, personas or runs."""
    paths = user_paths()
    own = (paths.scenes, paths.personas, paths.runs)
    return any(_place(path).is_relative_to(folder.resolve()) for folder in own)


def _place(path: Path) -> Path:
    """The absolute path without links on the way; the file may be one, which its folder's owner made."""
    return path.parent.resolve() / path.name


def has_agreed(file: ForeignFile) -> bool:
    """Whether the user has agreed to the models of this file with this content.

    Raises:
        SettingsError: `agreed.toml` cannot be read.
    """
    entry = read_toml(user_paths().agreements_file, SettingsError).unwrap().get(str(file.path))
    return isinstance(entry, dict) and entry.get("sha256") == file.sha256


def keep_agreement(file: ForeignFile, models: Sequence[str]) -> None:
    """Record that the user agrees to the models of a file; it replaces the file's earlier entry.

    Args:
        file: the file.
        models: the seats with their models, for people who read `agreed.toml`.

    Raises:
        SettingsError: `agreed.toml` cannot be read or written.
    """
    import tomlkit

    place = user_paths().agreements_file
    document = read_toml(place, SettingsError)
    entry = tomlkit.table()
    entry["sha256"] = file.sha256
    entry["models"] = list(models)
    document[str(file.path)] = entry
    write_toml(place, document, SettingsError)
