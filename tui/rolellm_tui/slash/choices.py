"""The values from which arguments of commands are completed."""

from collections.abc import Callable, Mapping, Sequence

from rolellm_agents.config.settings import Settings
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.catalog import PROVIDERS
from rolellm_agents.models.names import named_models
from rolellm_agents.persona import list_personas
from rolellm_agents.persona.user_persona import list_user_personas
from rolellm_agents.prompting.strategies import strategy_names
from rolellm_agents.scene import NARRATOR
from rolellm_agents.scene.directed import directors_to_choose
from rolellm_agents.text import one_line
from rolellm_graphs.chat.cursor import ConversationCursor
from rolellm_graphs.chat.session import Session
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.slash.arguments import ALL, CLEAR, ChoiceSet
from rolellm_tui.slash.completion import Choice

Readers = Mapping[ChoiceSet, Callable[[], Sequence[Choice]]]
"""A function for each set, which reads its values."""


class CommandChoices:
    """Reads the sets, each once while a command is typed."""

    def __init__(self, readers: Readers) -> None:
        """Create the choices of a chat or a scene."""
        self._readers = readers
        self._read: dict[ChoiceSet, Sequence[Choice]] = {}

    def forget(self) -> None:
        """Read the sets again at the next use."""
        self._read.clear()

    def __call__(self, name: ChoiceSet) -> Sequence[Choice]:
        """The values of a set; none if it cannot be read, which the command itself reports."""
        if name not in self._read:
            try:
                self._read[name] = self._readers[name]()
            except RoleLLMError:
                self._read[name] = ()
        return self._read[name]


def chat_choices(session: Session) -> Readers:
    """The sets of a chat's commands."""
    return {
        **_of_any_conversation(session),
        "strategies": lambda: [Choice(strategy) for strategy in strategy_names()],
        "models": _models,
        "personas": lambda: [
            Choice(one.persona.id, one_line(one.persona.name)) for one in list_personas().found
        ],
        "user personas": lambda: [Choice(one.id, one_line(one.name)) for one in list_user_personas()[0]],
        "note": lambda: [Choice(CLEAR, "remove the note")],
        "summary": lambda: [Choice(CLEAR, "remove the summary")],
        "settings": lambda: [Choice(setting) for setting in Settings.model_fields],
    }


def scene_choices(stage: Stage) -> Readers:
    """The sets of a scene's commands."""

    def seats() -> list[Choice]:
        return [Choice(seat, one_line(name)) for seat, name in stage.loaded.names.items()]

    return {
        **_of_any_conversation(stage),
        "seats": seats,
        "seats and narrator": lambda: [*seats(), Choice(NARRATOR)],
        "directors": lambda: [Choice(kind) for kind in directors_to_choose()],
    }


def _of_any_conversation(cursor: ConversationCursor) -> Readers:
    return {
        "branches": lambda: [Choice(str(number), one) for number, one in enumerate(cursor.branches(), 1)],
        "directions": lambda: [Choice("left", "the previous one"), Choice("right", "the next one")],
        "why": lambda: [Choice(ALL, "the complete prompt")],
    }


def _models() -> Sequence[Choice]:
    examples = [Choice(provider.example) for provider in PROVIDERS.values()]
    return [*(Choice(word, one.spec) for word, one in named_models().items()), *examples]
