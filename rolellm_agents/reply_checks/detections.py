"""Detections: named faults of a reply that can be found without a judge."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from rolellm_agents.persona import Persona
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.reply_checks.catchphrases import piles_up_catchphrases
from rolellm_agents.reply_checks.labels import answer_labels
from rolellm_agents.reply_checks.user_turns import speaks_for_user

DETECTIONS: Final[Mapping[str, str]] = {
    "empty": "says nothing",
    "ai-talk": "uses phrases of an assistant",
    "out-of-role": "speaks of playing a part",
    "refusal": "refuses like an assistant",
    "wrong-language": "speaks another language than the character",
    "wrong-person": "speaks of the character in the third person",
    "copied": "repeats a demonstration, the description or the question",
    "repetitive": "goes round in a loop",
    "leaked-template": "contains marks of the prompt, or speaks its instruction aloud",
    "speaks-for-user": "continues with the user's turn, or narrates the user's actions",
    "catchphrases": "contains three or more catchphrases close together",
}
"""The meaning of each detection; the subject is the reply."""

OUT_OF_ROLE: Final = frozenset({"ai-talk", "out-of-role", "refusal", "wrong-language"})
"""Detections with which a reply is out of role."""


def detect(reply: str, persona: Persona, question: str, *, user: str = "") -> frozenset[str]:
    """Find which of `DETECTIONS` apply to a reply."""
    labels = answer_labels(reply, persona, question=question, templates=_instructions(persona))
    found: set[str] = DETECTIONS.keys() & labels
    if speaks_for_user(reply, user):
        found.add("speaks-for-user")
    if piles_up_catchphrases(reply, persona):
        found.add("catchphrases")
    return frozenset(found)


_INSTRUCTIONS: Final = ("system", "custom-instruction", "catchphrases", "examples", "recalled")
"""The prompts that frame a persona's conversations."""


def _instructions(persona: Persona) -> list[str]:
    prompts = (load_prompt(name, persona.language) for name in _INSTRUCTIONS)
    return [prompt.text.replace("{name}", persona.name) for prompt in prompts]


def is_in_role(detected: Collection[str]) -> bool:
    """Whether a reply is in role: none of `OUT_OF_ROLE` was detected."""
    return OUT_OF_ROLE.isdisjoint(detected)


def detection_shares(detected: Iterable[Collection[str]]) -> dict[str, float]:
    """The share of replies with each of `DETECTIONS`, and the share that is `in_role`."""
    replies: Sequence[Collection[str]] = list(detected)
    count = len(replies) or 1
    shares = {name: sum(name in found for found in replies) / count for name in DETECTIONS}
    return {**shares, "in_role": sum(map(is_in_role, replies)) / count}
