"""The strategy for a model when the user names none."""

from langchain_core.language_models import BaseChatModel

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import DEFAULT_STRATEGY
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.catalog import resolve_model
from rolellm_agents.prompting.strategies import get_strategy


def default_strategy(model: BaseChatModel | str) -> str:
    """The strategy that a model was tuned for, otherwise the general default.

    Args:
        model: a name, as for `get_model`, or a model object.

    Raises:
        ModelError: there is no model of this name.
        SettingsError: `models.toml` cannot be used, or names an unknown strategy.
    """
    from rolellm_agents.models.llamacpp.files.bundled import BUNDLED

    if not isinstance(model, str):
        adapter = getattr(model, "adapter_path", None)
        tuned = (one for one in BUNDLED.values() if one.adapter is not None and one.adapter == adapter)
        return next((one.strategy for one in tuned if one.strategy), DEFAULT_STRATEGY)
    spec = model
    if ":" not in model:
        named = resolve_model(model)
        if named.strategy is not None:
            return _checked(named.strategy, of=model)
        spec = named.spec
    provider, _, name = spec.partition(":")
    bundled = BUNDLED.get(name) if provider == "llamacpp" else None
    return (bundled and bundled.strategy) or DEFAULT_STRATEGY


def _checked(strategy: str, *, of: str) -> str:
    try:
        get_strategy(strategy)
    except SettingsError as error:
        raise SettingsError(f"{user_paths().models_file}, [models.{of}]: {error}") from error
    return strategy
