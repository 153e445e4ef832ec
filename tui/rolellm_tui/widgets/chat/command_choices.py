"""The values from which arguments of commands are completed."""

from collections.abc import Sequence

from rolellm_agents.config.settings import Settings
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.catalog import PROVIDERS
from rolellm_agents.models.names import named_models
from rolellm_agents.persona import list_personas
from rolellm_agents.prompting.strategies import strategy_names
from rolellm_agents.text import one_line
from rolellm_graphs.chat.session import Session
from rolellm_tui.slash.commands import ALL, CLEAR, ChoiceSet
from rolellm_tui.slash.completion import Choice


class CommandChoices:
    """Reads the sets, each once while a command is typed."""

    def __init__(self, session: Session) -> None:
        """Create the choices for a session."""
        self._session = session
        self._read: dict[ChoiceSet, Sequence[Choice]] = {}

    def forget(self) -> None:
        """Read the sets again at the next use."""
        self._read.clear()

    def __call__(self, name: ChoiceSet) -> Sequence[Choice]:
        """The values of a set; none if it cannot be read, which the command itself reports."""
        if name not in self._read:
            try:
                self._read[name] = self._values(name)
            except RoleLLMError:
                self._read[name] = ()
        return self._read[name]

    def _values(self, name: ChoiceSet) -> Sequence[Choice]:
        match name:
            case "strategies":
                return [Choice(strategy) for strategy in strategy_names()]
            case "models":
                examples = [Choice(provider.example) for provider in PROVIDERS.values()]
                return [*(Choice(word, one.spec) for word, one in named_models().items()), *examples]
            case "personas":
                found = list_personas().found
                return [Choice(one.persona.id, one_line(one.persona.name)) for one in found]
            case "branches":
                return [Choice(str(number), one) for number, one in enumerate(self._session.branches(), 1)]
            case "directions":
                return [Choice("left", "the previous answer"), Choice("right", "the next answer")]
            case "note":
                return [Choice(CLEAR, "remove the note")]
            case "settings":
                return [Choice(setting) for setting in Settings.model_fields]
            case "why":
                return [Choice(ALL, "the complete prompt")]
