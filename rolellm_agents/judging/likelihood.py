"""How much likelier replies are under a persona: arithmetic of log-probabilities, and what they follow.

The gain of a reply is its pointwise mutual information with the persona (Church and Hanks, 1990), a token
at a time: how much likelier the model finds each token when it has read who speaks than when nobody in
particular does. A sum over the tokens would make a reply better with every word added, and a plain mean the
shorter one better, since the first words gain most; so the mean is taken as if some tokens that anybody
would say stood behind every reply.
"""

import math
from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.judging.judged import ConversationTurn
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.prompting.strategies import get_strategy
from rolellm_agents.text.language import Language

_UNSAID = 20
"""Tokens that are thought behind every reply: what a few words gain says little."""
_OWN, _OTHERS = math.log(0.3), math.log(0.7)
"""The parts of a reply's words that follow the persona, and that anybody would say."""


def gain(persona: Sequence[float], nobody: Sequence[float]) -> float:
    """How much likelier a reply is under a persona, in nats a token; negative when it is less likely.

    It is 0 for what anybody would say as well, comes near to the mean of the tokens' gains in a long reply,
    and stays below it in a short one.

    Args:
        persona: the natural logarithm of each token's probability after the persona's prompt.
        nobody: the same after the prompt of nobody in particular.

    Raises:
        ValueError: there is no token, or one has more tokens than the other.
    """
    if not persona:
        raise ValueError("there is no token")
    return math.fsum(one - other for one, other in zip(persona, nobody, strict=True)) / (
        len(persona) + _UNSAID
    )


def evidence(persona: Sequence[float], nobody: Sequence[float]) -> float:
    """How much a reply speaks for a persona as its speaker, in nats a token.

    It is the gain of a model that follows the persona in some of its words only and nobody in particular in
    the others (Jelinek and Mercer, 1980), so that a single word that the persona would not have expected
    costs little. That holds better when replies come from elsewhere, such as another model's.

    Args:
        persona: as for `gain`.
        nobody: as for `gain`.

    Raises:
        ValueError: as for `gain`.
    """
    if not persona:
        raise ValueError("there is no token")
    mixed = (_log_sum_exp(_OWN + one - other, _OTHERS) for one, other in zip(persona, nobody, strict=True))
    return math.fsum(mixed) / len(persona)


def speaker_scores(
    evidence: Mapping[str, Sequence[float]], background: Mapping[str, Sequence[float]]
) -> dict[str, float]:
    """How much speaks for each candidate: what the replies say, less what anybody's would say.

    Some prompts make all that follows likelier: long ones, plain ones. What they do for replies of the same
    origin by anybody is taken off before candidates are compared.

    Args:
        evidence: for each candidate that of each reply, in the same order for all.
        background: for each candidate that of replies which are not to be judged; empty takes nothing off.

    Returns:
        For each candidate the sum over the replies; the highest is the likeliest speaker.
    """
    return {
        candidate: math.fsum(of_replies) - len(of_replies) * _mean(background.get(candidate, ()))
        for candidate, of_replies in evidence.items()
    }


def persona_prompt(persona: Persona, turns: Sequence[ConversationTurn]) -> list[BaseMessage]:
    """What a reply follows when the persona gives it: the instruction that answers, too, are made with."""
    return [*get_strategy("system")(persona, [], [], "")[:-1], *_messages(turns)]


def nobody_prompt(language: Language, turns: Sequence[ConversationTurn]) -> list[BaseMessage]:
    """What a reply follows when nobody in particular gives it."""
    return [SystemMessage(load_prompt("judge-likelihood-nobody", language).text), *_messages(turns)]


def open_question(language: Language) -> ConversationTurn:
    """A question that fits any reply, where it is not known what was asked or must not be told."""
    return ConversationTurn("user", load_prompt("judge-likelihood-question", language).text)


def prompts_used(language: Language) -> str:
    """Ids, languages and versions, for verdicts."""
    return " ".join(load_prompt(name, language).name for name in ("system", "judge-likelihood-nobody"))


def _messages(turns: Sequence[ConversationTurn]) -> list[BaseMessage]:
    return [AIMessage(one.text) if one.speaker == "persona" else HumanMessage(one.text) for one in turns]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _log_sum_exp(one: float, other: float) -> float:
    high, low = max(one, other), min(one, other)
    return high + math.log1p(math.exp(low - high))
