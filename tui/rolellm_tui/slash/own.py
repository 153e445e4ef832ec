"""The user's own commands, which `commands.yaml` defines."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from rolellm_agents.cards.macros import MacroScope, substitute
from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.yaml import parse_yaml, read_yaml
from rolellm_agents.persona.from_card.conversion import char_name
from rolellm_agents.text import did_you_mean, one_line
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_tui.slash.commands import FORMS, Command, parse

_INPUT = re.compile(r"\{\{input\}\}", re.IGNORECASE)
_ABOUT = 60


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"[\w-]+", name):
        raise ValueError("a name consists of letters, digits, - and _, without a slash")
    if name.casefold() in FORMS:
        raise ValueError(f"/{name} is a command already; choose another name")
    return name.casefold()


def _checked_step(step: str) -> str:
    if not step.strip():
        raise ValueError("a step is empty")
    if step.startswith("/") and not step.startswith("//"):
        if "\n" in step.strip():
            raise ValueError("a command is one line; write further lines as further steps")
        word = step[1:].split(maxsplit=1)[0] if step[1:].strip() else ""
        if word.casefold() not in FORMS:
            raise ValueError(
                f"there is no command /{one_line(word, 40)}{did_you_mean(word, FORMS)} for a step"
            )
    return step


def _distinct(commands: "tuple[OwnCommand, ...]") -> "tuple[OwnCommand, ...]":
    names = [one.name for one in commands]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two commands have the name {twice}")
    return commands


class OwnCommand(BaseModel):
    """A command that the user has defined."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(_checked_name)]
    about: str = ""
    """Shown in the list of commands."""
    steps: tuple[Annotated[str, AfterValidator(_checked_step)], ...] = ()
    """Lines and built-in commands, which run one after another."""
    put: str = ""
    """A text for the prompt, which is not sent."""
    button: bool = False
    """Whether the app shows a button for it."""

    @model_validator(mode="after")
    def _check_content(self) -> "OwnCommand":
        if bool(self.steps) == bool(self.put):
            raise ValueError("a command has either steps or a text to put")
        return self

    @property
    def takes_input(self) -> bool:
        """Whether the text after the command is used."""
        return any(_INPUT.search(text) for text in (self.put, *self.steps))

    @property
    def meaning(self) -> str:
        """What the command does, in one line."""
        return one_line(self.about or self.put or " | ".join(self.steps), _ABOUT)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    commands: Annotated[tuple[OwnCommand, ...], AfterValidator(_distinct)] = ()


def own_commands(path: Path | None = None) -> tuple[OwnCommand, ...]:
    """The user's own commands; none without a file.

    Raises:
        SettingsError: the file is invalid; the message names its line.
    """
    path = path or user_paths().commands_file
    return read_yaml(path, _File, SettingsError).commands if path.exists() else ()


def parse_own_commands(text: str, path: Path) -> tuple[OwnCommand, ...]:
    """The own commands of a text; `path` names it in messages.

    Raises:
        SettingsError: the text is invalid; the message names its line.
    """
    return parse_yaml(text, path, _File, SettingsError).commands


def called(text: str, own: Sequence[OwnCommand]) -> tuple[OwnCommand, str] | None:
    """The own command that a line calls, with the text after it; None if it calls none."""
    typed = text.strip()
    if not typed.startswith("/") or "\n" in typed:
        return None
    word, rest = [*typed[1:].split(maxsplit=1), "", ""][:2]
    found = next((one for one in own if one.name == word.casefold()), None)
    return (found, rest) if found else None


def expanded(template: str, scope: MacroScope, given: str) -> str:
    """Fill the macros of a text. `{{input}}` is `given`, in which macros are not replaced."""
    return given.join(substitute(part, scope) for part in _INPUT.split(template))


def step_command(step: str, scope: MacroScope, given: str) -> Command:
    """The command of a step. A macro's value never turns a text into a command.

    Raises:
        MessageError: the arguments are invalid after the macros were filled.
    """
    is_line = not step.startswith("/")
    filled = expanded(step, scope, given)
    return Command("say", filled.strip()) if is_line else parse(filled)


def macro_scope(session: Session) -> MacroScope:
    """The values of macros in own commands."""
    messages = session.messages
    persona = session.persona
    mine = [message.text for message in messages if message.speaker == USER]
    others = [message.text for message in messages if message.speaker != USER]
    return MacroScope(
        char=char_name(persona),
        user=session.user_name,
        description=persona.description,
        last_message=messages[-1].text if messages else "",
        last_user_message=mine[-1] if mine else "",
        last_char_message=others[-1] if others else "",
        seed=len(messages),
    )


def own_help_lines(own: Sequence[OwnCommand]) -> list[str]:
    """One line for each own command."""
    return [f"/{one.name}{' [TEXT]' if one.takes_input else ''}: {one.meaning}" for one in own]


def stopped(own: OwnCommand, number: int) -> str:
    """A sentence about the step at which a command stopped."""
    step = one_line(own.steps[number - 1], _ABOUT)
    return f"/{own.name} stopped at step {number} of {len(own.steps)}, “{step}”."
