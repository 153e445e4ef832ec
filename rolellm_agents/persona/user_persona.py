"""User personas: who you are to the characters, kept in `you.toml`.

```toml
[you.captain-flint]
name = "Captain Flint"
about = "An old sailor with a limp, kind to cabin boys."
```
"""

from collections.abc import Container, MutableMapping
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import Settings, load_settings, write_settings
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.toml import read_toml, write_toml
from rolellm_agents.persona import id_of
from rolellm_agents.text import did_you_mean, one_line, plain

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

LONGEST_NAME = 80
LONGEST_ABOUT = 4_000
"""Most characters; the text is in every prompt."""
_KEYS = ("name", "about")


@dataclass(frozen=True)
class UserPersona:
    """One user persona."""

    id: str
    """Empty for a user persona that is not in the file."""
    name: str
    """Your name for the characters, and the value of `{{user}}` in cards."""
    about: str = ""
    """Who you are, for the model."""


def current_user_persona(settings: Settings) -> UserPersona:
    """The user persona that the settings name; otherwise one with the name from the settings only.

    Raises:
        SettingsError: the settings name one that is not in `you.toml`, or that file is invalid.
    """
    return find_user_persona(settings.you) if settings.you else UserPersona("", settings.user_name)


def list_user_personas() -> tuple[list[UserPersona], list[str]]:
    """All user personas in the order of the file, and an error message for each invalid one.

    There are none when there is not a file.

    Raises:
        SettingsError: the file cannot be read.
    """
    found: list[UserPersona] = []
    notes: list[str] = []
    for id_, table in _plain_tables().items():
        try:
            found.append(_read(id_, table))
        except SettingsError as error:
            notes.append(str(error))
    return found, notes


def find_user_persona(id_: str) -> UserPersona:
    """Find a user persona by id.

    Raises:
        SettingsError: there is none with this id, it is invalid, or the file cannot be read.
    """
    known = _plain_tables()
    if id_ in known:
        return _read(id_, known[id_])
    raise SettingsError(
        f"There is no user persona {one_line(id_, 40)!r} in {_file()}"
        f"{did_you_mean(id_, list(known))}; choose another in the settings."
    )


def add_user_persona(name: str, about: str = "") -> UserPersona:
    """Add a user persona to the file, with an id derived from its name.

    Raises:
        SettingsError: the name is empty, something is too long, or the file cannot be read or written.
    """
    checked = checked_user_persona(UserPersona("", name, about))
    added = UserPersona(_free_id(id_of(checked.name), _plain_tables()), checked.name, checked.about)
    keep_user_persona(added)
    return added


def keep_user_persona(persona: UserPersona) -> None:
    """Write a user persona to the file, replacing one of the same id; comments and order stay.

    Raises:
        SettingsError: the name is empty, something is too long, or the file cannot be read or written.
    """
    import tomlkit

    checked = checked_user_persona(persona)
    document = _document()
    tables = _tables(document)
    table = tables.setdefault(checked.id, tomlkit.table())
    table["name"] = checked.name
    if checked.about:
        table["about"] = tomlkit.string(checked.about, multiline="\n" in checked.about)
    else:
        table.pop("about", None)
    document["you"] = tables
    write_toml(_file(), document, SettingsError)


def remove_user_persona(id_: str) -> UserPersona:
    """Remove a user persona from the file, and from the settings if it is the current one.

    Returns:
        The removed user persona; `keep_user_persona` restores it.

    Raises:
        SettingsError: there is none with this id, or a file cannot be read or written.
    """
    removed = find_user_persona(id_)
    document = _document()
    tables = _tables(document)
    del tables[id_]
    if tables:
        document["you"] = tables
    else:
        document.pop("you", None)
    # The settings first, so that they never name a missing persona.
    before = write_settings({"you": None}) if load_settings().you == id_ else {}
    try:
        write_toml(_file(), document, SettingsError)
    except SettingsError:
        write_settings(before)
        raise
    return removed


def checked_user_persona(persona: UserPersona) -> UserPersona:
    """Trim the texts of a user persona and check them.

    Raises:
        SettingsError: the name is empty, or a text is too long.
    """
    name, about = one_line(persona.name), plain(persona.about).strip()
    if not name:
        raise SettingsError("A name is required; characters call you by it.")
    if len(name) > LONGEST_NAME:
        raise SettingsError(f"The name must have at most {LONGEST_NAME} characters.")
    if len(about) > LONGEST_ABOUT:
        raise SettingsError(
            f"Your description has {len(about):,} characters; at most {LONGEST_ABOUT:,} are allowed."
        )
    return UserPersona(persona.id, name, about)


def _file() -> Path:
    return user_paths().config / "you.toml"


def _document() -> "TOMLDocument":
    return read_toml(_file(), SettingsError)


def _tables(document: "TOMLDocument") -> MutableMapping[str, Any]:
    """The tables of the document; a new empty table, not yet part of it, when there are none."""
    import tomlkit
    from tomlkit.items import InlineTable

    tables: object = document.get("you", tomlkit.table(is_super_table=True))
    if isinstance(tables, InlineTable):
        # An inline table cannot be extended.
        del document["you"]
        tables = tomlkit.item(tables.unwrap())
    if not isinstance(tables, MutableMapping):
        raise SettingsError(
            f"{_file()} must define each user persona as a table, as in [you.captain-flint]."
        )
    return tables


def _plain_tables() -> dict[str, Any]:
    document = _document()
    document["you"] = _tables(document)
    tables: dict[str, Any] = document.unwrap()["you"]
    return tables


def _read(id_: str, table: object) -> UserPersona:
    place = f"{_file()}: [you.{one_line(id_, 40)}]"
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise SettingsError(f'{place} must hold texts, as in name = "Captain Flint".')
    for key in table:
        if key not in _KEYS:
            raise SettingsError(
                f"{place} has an unknown key {key!r}{did_you_mean(key, _KEYS)}; known are name and about."
            )
    try:
        return checked_user_persona(UserPersona(id_, table.get("name", ""), table.get("about", "")))
    except SettingsError as error:
        raise SettingsError(f"{place}: {error}") from error


def _free_id(wanted: str, taken: Container[str]) -> str:
    numbered = (f"{wanted}-{number}" for number in count(2))
    return next(id_ for id_ in chain([wanted], numbered) if id_ not in taken)
