"""The user's own commands, which `commands.yaml` defines."""

import re
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from rolellm_agents.cards.macros import MacroScope, substitute
from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import MessageError, SettingsError
from rolellm_agents.files.yaml import parse_yaml, read_text
from rolellm_agents.persona.from_card.conversion import char_name, kept_card
from rolellm_agents.text import did_you_mean, one_line
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_tui.slash.commands import FORMS, OPENING, Command, parse
from rolellm_tui.slash.completion import Offered

_INPUT = re.compile(r"\{\{input\}\}", re.IGNORECASE)
_INPUT_MARK = "\ufdd0"
"""Stands for the input while macros are filled; it is no character of any text."""
_ABOUT = 60


RUN_REST = "/rest"
NO_REST = "No command of your own has stopped, so there is no rest to run."


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
        if word.casefold() == "rest":
            raise ValueError(f"{RUN_REST} cannot be a step")
        if "{{" not in step:
            _check_arguments(step)
    return step


def _check_arguments(step: str) -> None:
    try:
        parse(step)
    except MessageError as error:
        raise ValueError(str(error).removesuffix(" See /help.").removesuffix(".")) from None


def _opens_at_most_at_the_end(steps: tuple[str, ...]) -> tuple[str, ...]:
    for step in steps[:-1]:
        word = step[1:].split(maxsplit=1)[0].casefold() if step.startswith("/") else ""
        if word in OPENING:
            raise ValueError(f"/{word} opens another chat, so it can only be the last step")
    return steps


def _no_list_is_empty(given: object) -> object:
    return () if given is None else given


def _distinct(commands: "tuple[OwnCommand, ...]") -> "tuple[OwnCommand, ...]":
    names = [one.name for one in commands]
    for place, name in enumerate(names):
        if name in names[:place]:
            problem = PydanticCustomError(
                "value_error", "{error}", {"error": f"two commands have the name {name}"}
            )
            # With its place, so that the message names the line of the second one.
            raise ValidationError.from_exception_data(
                "commands", [InitErrorDetails(type=problem, loc=(place, "name"), input=name)]
            )
    return commands


class OwnCommand(BaseModel):
    """A command that the user has defined."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(_checked_name)]
    about: str = ""
    """Shown in the list of commands."""
    steps: Annotated[
        tuple[Annotated[str, AfterValidator(_checked_step)], ...],
        AfterValidator(_opens_at_most_at_the_end),
    ] = ()
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

    commands: Annotated[
        tuple[OwnCommand, ...], BeforeValidator(_no_list_is_empty), AfterValidator(_distinct)
    ] = ()


def own_commands(path: Path | None = None) -> tuple[OwnCommand, ...]:
    """The user's own commands; none without a file.

    Raises:
        SettingsError: the file is invalid; the message names its line.
    """
    path = path or user_paths().commands_file
    return parse_own_commands(read_text(path, SettingsError), path) if path.exists() else ()


def parse_own_commands(text: str, path: Path) -> tuple[OwnCommand, ...]:
    """The own commands of a text; `path` names it in messages.

    Raises:
        SettingsError: the text is invalid; the message names its line.
    """
    if not has_content(text):
        return ()
    return parse_yaml(text, path, _File, SettingsError).commands


def has_content(text: str) -> bool:
    """Whether a YAML text has more than comments and blank lines."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


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
    # A mark instead of splitting the text there, because another macro may enclose the input.
    return substitute(_INPUT.sub(_INPUT_MARK, template), scope).replace(_INPUT_MARK, given)


def step_command(step: str, scope: MacroScope, given: str) -> Command:
    """The command of a step. A macro's value never turns a text into a command.

    Raises:
        MessageError: the arguments are invalid after the macros were filled.
    """
    is_line = not step.startswith("/")
    filled = expanded(step, scope, given)
    return Command("say", filled.strip()) if is_line else parse(filled)


def macro_scope(session: Session, variables: MutableMapping[str, str]) -> MacroScope:
    """The values of macros in own commands; all steps of a command share the variables."""
    messages = session.messages
    persona = session.persona
    mine = [message.text for message in messages if message.speaker == USER]
    others = [message.text for message in messages if message.speaker != USER]
    scope = MacroScope(
        char=char_name(persona),
        user=session.user_name,
        persona=session.about_user,
        description=persona.description,
        last_message=messages[-1].text if messages else "",
        last_user_message=mine[-1] if mine else "",
        last_char_message=others[-1] if others else "",
        seed=len(messages),
        variables=variables,
    )
    card = kept_card(persona)
    if card is None:
        return scope
    # The texts of the card have macros themselves, and macros in values are not replaced.
    return replace(
        scope,
        personality=substitute(card.personality, scope),
        scenario=substitute(card.scenario, scope),
        mes_examples=substitute(card.examples, scope),
    )


def offered_own(own: Sequence[OwnCommand]) -> list[Offered]:
    """The own commands as completion offers them."""
    return [Offered(one.name, "[TEXT]" if one.takes_input else "", one.meaning) for one in own]


def own_help_lines(own: Sequence[OwnCommand]) -> list[str]:
    """One line for each own command."""
    return [f"/{one.name}{' [TEXT]' if one.takes_input else ''}: {one.meaning}" for one in own]


@dataclass
class OwnRun:
    """A run of an own command, which goes on where it stopped."""

    own: OwnCommand
    given: str
    """The text after the command."""
    done: int = 0
    """The number of steps that were run."""
    variables: dict[str, str] = field(default_factory=dict)

    def text_to_put(self, session: Session) -> str:
        """The text for the prompt."""
        return expanded(self.own.put, macro_scope(session, self.variables), self.given)

    @property
    def is_over(self) -> bool:
        """Whether all steps were run."""
        return self.done == len(self.own.steps)

    @property
    def says_next(self) -> bool:
        """Whether the next step is a line, not a command."""
        step = self.own.steps[self.done]
        return not step.startswith("/") or step.startswith("//")

    def next_command(self, session: Session) -> Command:
        """The command of the next step.

        Raises:
            MessageError: the arguments are invalid after the macros were filled.
        """
        scope = macro_scope(session, self.variables)
        return step_command(self.own.steps[self.done], scope, self.given)

    def stopped(self, reason: str = "") -> MessageError:
        """The error that says at which step the command stopped.

        Args:
            reason: why the step was not run; empty if it was run and its answer is incomplete.
        """
        number = self.done + 1
        step = one_line(self.own.steps[self.done], _ABOUT)
        if not reason:
            self.done += 1
        rest = "" if self.is_over else f" {RUN_REST} runs the rest."
        where = f"/{self.own.name} stopped at step {number} of {len(self.own.steps)}, “{step}”."
        return MessageError(f"{where}{f' {reason}' if reason else ''}{rest}")
