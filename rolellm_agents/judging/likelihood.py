"""How much likelier a reply is under a persona: arithmetic of log-probabilities, and the prompts for them.

The gain of a reply is its pointwise mutual information with the persona (Church and Hanks, 1990), computed
per token: how much likelier each token is after the persona's prompt than after a neutral prompt. A sum
over the tokens would favour long replies. A plain mean would favour short ones, since the first words gain
most. The mean is therefore smoothed: every reply counts `_UNSAID` additional tokens with no gain.
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
"""Additional tokens without gain, since the gain of a few words says little."""
_OWN, _OTHERS = math.log(0.3), math.log(0.7)
"""Log of the share of a reply's words that follow the persona, and of the share that do not."""


def gain(persona: Sequence[float], neutral: Sequence[float]) -> float:
    """How much likelier a reply is under a persona, in nats per token; negative when it is less likely.

    The gain is 0 for a reply that is as likely without the persona. It approaches the mean of the tokens'
    gains for a long reply, and is smaller for a short one.

    Args:
        persona: natural logarithm of each token's probability after the persona's prompt.
        neutral: the log-probabilities of the same tokens after the neutral prompt.

    Raises:
        ValueError: there are no tokens, or the two differ in length.
    """
    if not persona:
        raise ValueError("there is no token")
    return math.fsum(one - other for one, other in zip(persona, neutral, strict=True)) / (
        len(persona) + _UNSAID
    )


def evidence(persona: Sequence[float], neutral: Sequence[float]) -> float:
    """The evidence of a reply for a persona as its speaker, in nats per token.

    This is the gain of a mixture of the persona's and the neutral model (Jelinek and Mercer, 1980), so that
    a single word that is unlikely under the persona costs little. It is more robust for replies from
    another source, such as another model.

    Args:
        persona: as for `gain`.
        neutral: as for `gain`.

    Raises:
        ValueError: as for `gain`.
    """
    if not persona:
        raise ValueError("there is no token")
    mixed = (_log_sum_exp(_OWN + one - other, _OTHERS) for one, other in zip(persona, neutral, strict=True))
    return math.fsum(mixed) / len(persona)


def speaker_scores(
    evidence: Mapping[str, Sequence[float]], background: Mapping[str, Sequence[float]]
) -> dict[str, float]:
    """The score of each candidate: the evidence of the replies minus the mean background evidence.

    Some prompts, such as long or plain ones, make any reply likelier. Subtracting the mean over background
    replies of the same origin removes that effect before candidates are compared.

    Args:
        evidence: for each candidate, the evidence of each reply, in the same order for all.
        background: for each candidate, the evidence of replies that are not judged; subtracts nothing when
            empty.

    Returns:
        For each candidate the sum over the replies; the highest belongs to the likeliest speaker.
    """
    return {
        candidate: math.fsum(of_replies) - len(of_replies) * _mean(background.get(candidate, ()))
        for candidate, of_replies in evidence.items()
    }


def persona_prompt(persona: Persona, turns: Sequence[ConversationTurn]) -> list[BaseMessage]:
    """The messages before a reply under the persona: the same instruction as for generating answers."""
    return [*get_strategy("system")(persona, [], [], "")[:-1], *_messages(turns)]


def neutral_prompt(language: Language, turns: Sequence[ConversationTurn]) -> list[BaseMessage]:
    """The messages before a reply under the neutral prompt, without a persona."""
    return [SystemMessage(load_prompt("judge-likelihood-nobody", language).text), *_messages(turns)]


def open_question(language: Language) -> ConversationTurn:
    """A question that fits any reply, for when the actual question is unknown or must stay hidden."""
    return ConversationTurn("user", load_prompt("judge-likelihood-question", language).text)


def prompts_used(language: Language) -> str:
    """Ids, languages and versions of the prompts, for verdicts."""
    return " ".join(load_prompt(name, language).name for name in ("system", "judge-likelihood-nobody"))


def _messages(turns: Sequence[ConversationTurn]) -> list[BaseMessage]:
    return [AIMessage(one.text) if one.speaker == "persona" else HumanMessage(one.text) for one in turns]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _log_sum_exp(one: float, other: float) -> float:
    high, low = max(one, other), min(one, other)
    return high + math.log1p(math.exp(low - high))
