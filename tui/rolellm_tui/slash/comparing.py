"""The voices that `/compare` names."""

from rolellm_agents.config.settings import load_settings
from rolellm_agents.models.presets.files import chosen_preset
from rolellm_agents.models.presets.using import model_maker
from rolellm_agents.prompting.strategies import strategy_names
from rolellm_graphs.chat.session import Session
from rolellm_graphs.chat.voice import Voice


def named_voices(session: Session, names: str) -> list[tuple[str, str]]:
    """A strategy and a model for each name; what a name does not give is the session's own.

    Args:
        session: the conversation.
        names: names of strategies or models, separated by blanks.
    """
    known = strategy_names()
    return [
        (name, session.model_name) if name in known else (session.strategy, name) for name in names.split()
    ]


def voices_to_compare(session: Session, names: str) -> list[Voice]:
    """Open the voice of each name.

    Raises:
        RoleLLMError: there is no such model, or it cannot be opened.
    """
    settings = load_settings()
    make = model_maker(settings, preset=chosen_preset(settings))

    def opened(strategy: str, model: str) -> Voice:
        if model == session.model_name:
            return session.another_voice(strategy=strategy)
        other = make(model)
        return session.another_voice(strategy=strategy, model=other, model_name=model)

    return [opened(strategy, model) for strategy, model in named_voices(session, names)]
