"""Changing of settings by `/set`."""

from collections.abc import Callable, Mapping

from rolellm_agents.config.settings import (
    check_setting,
    given_by_environment,
    load_settings,
    write_settings,
)
from rolellm_agents.errors import RoleLLMError, SettingsError
from rolellm_agents.models.presets.files import find_preset, set_by_preset
from rolellm_agents.persona.user_persona import find_user_persona
from rolellm_tui.slash.commands import DEFAULT


def setting_lines() -> list[str]:
    """One line for each setting.

    Raises:
        SettingsError: the settings cannot be read.
    """
    values = load_settings().model_dump()
    return [f"{name}: {DEFAULT if value in (None, '') else value}" for name, value in values.items()]


def read_change(text: str) -> tuple[str, object]:
    """The name of a setting and its new value; None resets it.

    Raises:
        SettingsError: there is no such setting, or its value is invalid.
    """
    name, given = text.split(maxsplit=1)
    value = check_setting(name, given) if given.casefold() != DEFAULT else None
    if name == "you" and value:
        find_user_persona(str(value))
    if name == "preset" and value:
        find_preset(str(value))
    return name, value


def change_setting(
    text: str, apply: Callable[[str], None], overridden: Mapping[str, str] | None = None
) -> None:
    """Save a setting, and restore the old value if it cannot be used.

    Args:
        text: the name of the setting and its value.
        apply: goes on with the new value of the setting with this name, or raises an error.
        overridden: the settings that options of the command override, with the options.

    Raises:
        SettingsError: there is no such setting, its value is invalid, or something overrides it.
        RoleLLMError: the new value cannot be used, for example because there is no such model.
    """
    name, value = read_change(text)
    if by := {**given_by_environment(), **(overridden or {})}.get(name):
        raise SettingsError(f"{by} overrides the setting {name}; leave it out and start again.")
    if set_here := set_by_preset(load_settings().preset).get(name):
        raise SettingsError(
            f"The preset {set_here[0]} overrides the setting {name}; change the preset, or choose none."
        )
    before = write_settings({name: value})
    try:
        apply(name)
    except RoleLLMError:
        write_settings(before)
        raise
