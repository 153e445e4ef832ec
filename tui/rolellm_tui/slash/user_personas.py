"""User personas, as `/you` lists, chooses, adds and changes them."""

from rolellm_agents.config.settings import load_settings
from rolellm_agents.persona.user_persona import (
    UserPersona,
    add_user_persona,
    keep_user_persona,
    list_user_personas,
)
from rolellm_agents.text import one_line

_SHORT = 60


def user_persona_lines() -> list[str]:
    """One line for each user persona, and each problem of the file.

    Raises:
        SettingsError: the file or the settings cannot be read.
    """
    found, notes = list_user_personas()
    here = load_settings().you
    lines = [
        f"{one.id}: {one_line(one.name)}"
        + (f", {one_line(one.about, _SHORT)}" if one.about else "")
        + (" (you)" if one.id == here else "")
        for one in found
    ]
    return [*(lines or ["There are no user personas; /you NAME: DESCRIPTION adds one."]), *notes]


def setting_of(text: str) -> str:
    """The change of the setting `you` for the argument of `/you`, as `/set` takes it.

    A user persona that is given as `NAME: DESCRIPTION` is added, or changed if there is one of this name.

    Raises:
        SettingsError: the name is empty, something is too long, or the file cannot be read or written.
    """
    name, colon, about = text.partition(":")
    return f"you {_described(name, about).id if colon else text}"


def _described(name: str, about: str) -> UserPersona:
    wanted = one_line(name).casefold()
    listed = list_user_personas()[0]
    known = next((one for one in listed if wanted in (one.id, one.name.casefold())), None)
    if known is None:
        return add_user_persona(name, about)
    changed = UserPersona(known.id, known.name, about)
    keep_user_persona(changed)
    return changed
