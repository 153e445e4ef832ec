"""The API keys of a server: given at the start, or in a file that is read again when it changes.

The file holds no key, only hashes:

```toml
[keys.phone]
sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
requests_per_minute = 60
expires = 2027-12-31
```

A key that `new_key` makes has 256 random bits, so its hash needs no salt and no slow function.
"""

import hashlib
import logging
import re
import secrets
import time
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from rolellm_agents.errors import SettingsError

_log = logging.getLogger(__name__)
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,59}", re.ASCII)
_HASH: Final = re.compile(r"[0-9A-Fa-f]{64}", re.ASCII)
_OPTIONS: Final = ("sha256", "requests_per_minute", "expires")
_LARGEST: Final = 2**20
"""The largest file of keys, in bytes."""
_LOOK_EVERY: Final = 1.0
"""Seconds between two looks at the file."""


@dataclass(frozen=True)
class ApiKey:
    """What is known about a key."""

    name: str
    """How metrics and logs name it."""
    sha256: bytes
    requests_per_minute: int | None = None
    """The key's own limit; the server's when None."""
    expires: date | None = None
    """The last day on which it is valid, in UTC."""


def given_keys(keys: Iterable[str]) -> tuple[ApiKey, ...]:
    """Keys that were given as they are, named by their number.

    Raises:
        SettingsError: a key is empty, or has characters that no header can carry.
    """
    found = []
    for number, key in enumerate(keys, 1):
        if not key.strip() or not key.isprintable():
            raise SettingsError(
                f"API key {number} is empty or contains control characters, which no request can send; "
                "choose another."
            )
        found.append(ApiKey(f"key-{number}", hash_of(key.strip().encode())))
    return tuple(found)


def new_key() -> str:
    """Make a key."""
    return f"rolellm-{secrets.token_urlsafe(32)}"


def entry_of(name: str, key: str) -> str:
    """The entry of a key in the file.

    Raises:
        SettingsError: the name cannot be used.
    """
    _check_name(name)
    quoted = f'"{name}"' if "." in name else name
    return f'[keys.{quoted}]\nsha256 = "{hash_of(key.encode()).hex()}"\n'


def hash_of(key: bytes) -> bytes:
    """The hash of a key."""
    return hashlib.sha256(key).digest()


def read_keys(file: Path) -> tuple[ApiKey, ...]:
    """Read a file of keys.

    Raises:
        SettingsError: the file cannot be read, or an entry is wrong.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise SettingsError(f"{file} is larger than {_LARGEST:,} bytes; a file of keys is smaller.")
        document = tomllib.loads(content.decode())
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(
            f"{file} is not valid TOML: {error}; correct it. Each key needs a name of its own."
        ) from error
    tables = document.pop("keys", {})
    if document or not isinstance(tables, dict):
        raise SettingsError(f"{file} must have its keys as tables, as in [keys.phone], and nothing else.")
    keys = tuple(_key(f"{file}: [keys.{name}]", name, table) for name, table in tables.items())
    if len({key.sha256 for key in keys}) < len(keys):
        raise SettingsError(f"{file} has the same sha256 under two names; remove one of them.")
    return keys


def _key(where: str, name: str, table: Any) -> ApiKey:
    _check_name(name)
    options = table if isinstance(table, dict) else {}
    digest, rate, expires = map(options.get, _OPTIONS)
    if not isinstance(digest, str) or not _HASH.fullmatch(digest):
        raise SettingsError(
            f"{where} needs a sha256 of 64 hexadecimal digits; “rolellm serve new-key {name}” makes one."
        )
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise SettingsError(f"{where} has no option {unknown[0]!r}; there are {', '.join(_OPTIONS)}.")
    if rate is not None and (type(rate) is not int or rate < 1):
        raise SettingsError(f"{where} needs a whole number from 1 as requests_per_minute.")
    if expires is not None and type(expires) is not date:
        raise SettingsError(f"{where} needs a date as expires, as in expires = 2027-12-31.")
    return ApiKey(name, bytes.fromhex(digest), rate, expires)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} is not a valid name for a key; use at most 60 letters, digits, dots, dashes and "
            "underscores."
        )


def today() -> date:
    """The date in UTC."""
    return datetime.now(UTC).date()


class KeyRing:
    """The keys that are valid now."""

    def __init__(
        self,
        given: Iterable[ApiKey] = (),
        file: Path | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], date] = today,
    ) -> None:
        """Read the file.

        Args:
            given: keys that are valid as long as the server runs.
            file: a file of further keys. When it changes, it is read again; while it is damaged, the keys
                that were read before stay valid.
            clock: monotonic seconds.
            today: the date in UTC.

        Raises:
            SettingsError: the file cannot be used.
        """
        self._given = tuple(given)
        self._file = file
        self._clock = clock
        self._today = today
        self._looked = clock()
        self._version = _version_of(file) if file else None
        self._read = read_keys(file) if file else ()

    def find(self, offered: bytes) -> ApiKey | None:
        """The valid key with these bytes."""
        self._look_at_file()
        digest = hash_of(offered)
        # All keys are compared, so that the time reveals nothing about which key was similar.
        keys = [*self._given, *self._read]
        found = [key for key in keys if secrets.compare_digest(digest, key.sha256)]
        today = self._today()
        return next((key for key in found if key.expires is None or today <= key.expires), None)

    def _look_at_file(self) -> None:
        now = self._clock()
        if self._file is None or now - self._looked < _LOOK_EVERY:
            return
        self._looked = now
        version = _version_of(self._file)
        if version == self._version:
            return
        self._version = version
        try:
            self._read = read_keys(self._file)
        except SettingsError as error:
            _log.error("%s The keys that were read before stay valid.", error)
        else:
            _log.warning("%s has changed; it was read again, with %d keys.", self._file, len(self._read))


def _version_of(file: Path) -> tuple[int, ...] | None:
    """What changes when a file is written; None if there is no file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
