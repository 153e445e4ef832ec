"""Replacing the model inside a LangChain chain."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableBinding, RunnableParallel, RunnableSequence


def with_model(
    chain: Runnable[Any, Any], model: BaseChatModel, other: BaseChatModel
) -> Runnable[Any, Any] | None:
    """A chain with its model replaced, bound to the same options.

    The chain is the result of the model's `bind_tools` or `with_structured_output`; the model is compared
    by identity.

    Returns:
        A chain of the same form; None when the model cannot be found in it.
    """
    if chain is model:
        return other
    if isinstance(chain, RunnableBinding) and chain.bound is model:
        return other.bind(**chain.kwargs).with_config(chain.config)
    if isinstance(chain, RunnableSequence):
        steps = [with_model(step, model, other) for step in chain.steps]
        if any(steps):
            kept = [step or old for step, old in zip(steps, chain.steps, strict=True)]
            return RunnableSequence(*kept, name=chain.name)
    if isinstance(chain, RunnableParallel):
        branches = {key: with_model(step, model, other) for key, step in chain.steps__.items()}
        if any(branches.values()):
            return RunnableParallel({key: branches[key] or old for key, old in chain.steps__.items()})
    return None
