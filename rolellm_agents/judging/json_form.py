"""Verdicts and what is judged as JSON values, as runs and graphs keep them."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from rolellm_agents.judging.judged import ConversationTurn, Judged
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.persona import Persona

_VERDICT: Final = TypeAdapter(Verdict)


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict with all that it says; `verdict_from_json` gives it back."""
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
    """A verdict that `verdict_to_json` wrote.

    Raises:
        ValueError: it is none.
    """
    return _VERDICT.validate_python(value)


def judged_to_json(judged: Judged) -> dict[str, Any]:
    """What is judged, with its persona; `judged_from_json` gives it back."""
    return {
        "key": judged.key,
        "persona": judged.persona.model_dump(mode="json", exclude_defaults=True),
        "turns": [[turn.speaker, turn.text] for turn in judged.turns],
        "reply": judged.reply,
        "references": list(judged.references),
    }


def judged_from_json(value: Mapping[str, Any]) -> Judged:
    """What `judged_to_json` wrote.

    Raises:
        ValueError: its persona is none.
        KeyError: a part of it is missing.
    """
    return Judged(
        key=value["key"],
        persona=Persona.model_validate(value["persona"]),
        turns=tuple(ConversationTurn(speaker, text) for speaker, text in value["turns"]),
        reply=value["reply"],
        references=tuple(value["references"]),
    )
