"""Conversion of verdicts and judged replies to and from the JSON values that runs and graphs store."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from rolellm_agents.judging.judged import ConversationTurn, Judged
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.persona import Persona

_VERDICT: Final = TypeAdapter(Verdict)


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """Convert a verdict to JSON values; `verdict_from_json` is the inverse."""
    return {
        "subject": verdict.subject,
        "measure": verdict.measure,
        "value": verdict.value,
        "status": verdict.status,
        "reason": verdict.reason,
        "model": verdict.model,
        "prompt": verdict.prompt,
        "details": dict(verdict.details),
    }


def verdict_from_json(value: Any) -> Verdict:
    """Convert the JSON values of `verdict_to_json` to a verdict.

    Raises:
        ValueError: the value is no verdict.
    """
    return _VERDICT.validate_python(value)


def judged_to_json(judged: Judged) -> dict[str, Any]:
    """Convert a judged reply with its persona to JSON values; `judged_from_json` is the inverse."""
    return {
        "key": judged.key,
        "persona": judged.persona.model_dump(mode="json", exclude_defaults=True),
        "turns": [[turn.speaker, turn.text] for turn in judged.turns],
        "reply": judged.reply,
        "references": list(judged.references),
    }


def judged_from_json(value: Mapping[str, Any]) -> Judged:
    """Convert the JSON values of `judged_to_json` to a judged reply.

    Raises:
        ValueError: the persona is invalid.
        KeyError: a key is missing.
    """
    return Judged(
        key=value["key"],
        persona=Persona.model_validate(value["persona"]),
        turns=tuple(ConversationTurn(speaker, text) for speaker, text in value["turns"]),
        reply=value["reply"],
        references=tuple(value["references"]),
    )
