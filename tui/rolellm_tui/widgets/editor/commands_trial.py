"""Own commands tried: their findings, and what each would send."""

from collections.abc import Iterator, Sequence

from textual.content import Content

from rolellm_agents.cards.macros import MacroScope
from rolellm_agents.editing.form import Data
from rolellm_agents.editing.places import place_of_error
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.errors import SettingsError
from rolellm_agents.text import plain
from rolellm_tui.slash.editing import edited_commands
from rolellm_tui.slash.own import OwnCommand, expanded, own_help_lines
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.editor.trial import FoundPlace, Trial, not_yet, without_path


def try_commands(document: YamlDocument, data: Data, scope: MacroScope, given: str) -> Trial:
    """Check own commands, and fill their macros.

    Args:
        document: `commands.yaml`.
        data: changed data.
        scope: the values of macros.
        given: the text after a command, for `{{input}}`.
    """
    try:
        commands = edited_commands(document, data)
    except SettingsError as error:
        problem = FoundPlace(without_path(error, document), place_of_error(str(error)), True)
        return Trial((problem,), not_yet("list of commands"))
    shown = Content.assemble(*_lines(commands, scope, given))
    buttons = sum(one.button for one in commands)
    return Trial((), shown, f"{counted(len(commands), 'command')}, {counted(buttons, 'button')}")


def _lines(
    commands: Sequence[OwnCommand], scope: MacroScope, given: str
) -> Iterator[str | tuple[str, str]]:
    for one, head in zip(commands, own_help_lines(commands), strict=True):
        yield (f"{plain(head)}\n", "bold $text-accent")
        for text in one.steps or (one.put,):
            yield f"{plain(expanded(text, scope, given))}\n"
        yield "\n"
