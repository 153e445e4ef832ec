"""A voice: one persona, played by one model under one strategy."""

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel

from rolellm_agents.cards import Lorebook
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.models.catalog import describe_model, get_model
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import Passage, RecallOptions
from rolellm_graphs.role.graph import prompted_role_graph


class Voice:
    """Generates a persona's answers; it has no state of any conversation."""

    def __init__(
        self,
        persona: Persona,
        *,
        model: BaseChatModel | str = DEFAULT_MODEL,
        model_name: str | None = None,
        strategy: str | Strategy | None = None,
        user: str = DEFAULT_USER,
        about_user: str = "",
        lorebooks: Sequence[Lorebook] = (),
        recall: RecallOptions | None = None,
        memories: Sequence[Passage] = (),
    ) -> None:
        """Prepare the prompt and the graph; the model is not loaded yet.

        The arguments are those of `Session`, where `user` is called `user_name`. `memories` are passages of
        other conversations.

        Raises:
            ModelError: there is no such model.
            SettingsError: there is no such strategy.
            PersonaError: the persona's lorebook cannot be used.
        """
        self.persona = with_macros(persona, user)
        self.user = user
        """The user's display name."""
        self.model = get_model(model) if isinstance(model, str) else model
        spec = model if isinstance(model, str) else describe_model(model)
        self.model_name = model_name or spec
        self.prompting = Prompting(
            self.persona,
            strategy or default_strategy(model),
            user=user,
            about_user=about_user,
            lorebooks=lorebooks,
            recall=recall,
            memories=memories,
        )
        self.strategy = self.prompting.strategy
        self.graph = prompted_role_graph(self.prompting, self.model)
