"""What is wrong with a reply that can be seen without a judge, by name."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from rolellm_agents.persona import Persona
from rolellm_agents.reply_checks.catchphrases import piles_up_catchphrases
from rolellm_agents.reply_checks.labels import answer_labels
from rolellm_agents.reply_checks.user_turns import speaks_for_user

DETECTIONS: Final[Mapping[str, str]] = {
    "empty": "says nothing",
    "ai-talk": "says what an assistant would say",
    "out-of-role": "speaks of playing a part",
    "refusal": "refuses as an assistant does",
    "wrong-language": "speaks another language than the character",
    "wrong-person": "speaks of the character as of somebody else",
    "copied": "repeats a demonstration, the description or the question",
    "repetitive": "goes round in a loop",
    "leaked-template": "shows marks of the prompt",
    "speaks-for-user": "goes on with the user's turn, or tells what the user does",
    "catchphrases": "says catchphrases three times or more with little between",
}
"""What each name stands for; the subject is the reply."""

OUT_OF_ROLE: Final = frozenset({"ai-talk", "out-of-role", "refusal", "wrong-language"})
"""With any of these it is no longer the character who speaks."""


def detect(reply: str, persona: Persona, question: str, *, user: str = "") -> frozenset[str]:
    """Which of `DETECTIONS` are true of a reply.

    Args:
        reply: what the character said.
        persona: whose reply it should be.
        question: what it replies to.
        user: the user's name, if it is known.
    """
    labels = answer_labels(reply, persona, question=question, templates=())
    found: set[str] = DETECTIONS.keys() & labels
    if speaks_for_user(reply, user):
        found.add("speaks-for-user")
    if piles_up_catchphrases(reply, persona):
        found.add("catchphrases")
    return frozenset(found)


def is_in_role(detected: Collection[str]) -> bool:
    """Whether it is still the character who speaks: nothing of `OUT_OF_ROLE` was detected."""
    return OUT_OF_ROLE.isdisjoint(detected)


def detection_shares(detected: Iterable[Collection[str]]) -> dict[str, float]:
    """For each of `DETECTIONS` the share of replies it was found in, and of those `in_role`."""
    replies: Sequence[Collection[str]] = list(detected)
    count = len(replies) or 1
    shares = {name: sum(name in found for found in replies) / count for name in DETECTIONS}
    return {**shares, "in_role": sum(map(is_in_role, replies)) / count}
