"""Whether an answer agrees with the lines that it is based on: by a model's judgement, or by likelihood."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents.judging.asking import JudgeQuestion, form_of, reason_form, shortened
from rolellm_agents.judging.judged import ConversationTurn
from rolellm_agents.judging.likelihood import persona_prompt
from rolellm_agents.judging.showing import fenced, profile_of
from rolellm_agents.models.loose_json import values_in
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.text.language import Language

SupportVerdict = Literal["supported", "invented", "contradicted", "off-question"]
"""Whether an answer's facts are in its lines; `off-question` if it is no answer to the question."""
_VERDICTS: Final = get_args(SupportVerdict)
_NO_LINES: Final[Mapping[Language, str]] = {"en": "(none)", "zh": "（没有）"}


@dataclass(frozen=True)
class Support:
    """A model's judgement of an answer."""

    verdict: SupportVerdict
    reason: str


def support_question(persona: Persona, lines: str, question: str, answer: str) -> JudgeQuestion[Support]:
    """The question whether a character's answer agrees with the lines and with the profile."""
    prompt = load_prompt("verify-support", persona.language)
    text = prompt.fill(
        name=persona.name,
        profile=profile_of(persona),
        lines=lines or _NO_LINES[persona.language],
        question=question,
        answer=fenced(answer),
    )
    members: dict[str, Any] = {
        "reason": reason_form(),
        "verdict": {"type": "string", "enum": [*_VERDICTS]},
    }
    form = form_of("support", "A reason and the verdict that follows from it.", members)
    return JudgeQuestion(prompt=prompt.name, text=text, form=form, read=read_support)


def read_support(text: str) -> Support | None:
    """Parse the answer to `support_question`; None when it has no verdict."""
    for held in values_in(text):
        if isinstance(held, dict) and held.get("verdict") in _VERDICTS:
            return Support(cast("SupportVerdict", held["verdict"]), shortened(held.get("reason")))
    return None


def line_prompts(
    persona: Persona, lines: str, question: str
) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Two prompts for a character's answer: with the lines before the question, and without them."""
    without = persona_prompt(persona, [ConversationTurn("user", question)])
    return [*without[:-1], HumanMessage(f"{lines}\n\n{question}")], without
