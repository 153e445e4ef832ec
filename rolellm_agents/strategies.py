"""How a persona becomes messages: one pure function for each strategy.

`zero-shot`, `few-shot-prompt` and `few-shot-dialogue` are RoleGPT's three ways of prompting a general
chat model (arXiv 2310.00746, §3.2); `system` is the short instruction of RoCIT (§3.4), shared by
chat, generation, training and benchmark. `docs/design/strategies.md` says why each is as it is.
"""

from collections.abc import Callable, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.errors import SettingsError
from rolellm_agents.persona import Demonstration, Language, Persona
from rolellm_agents.prompts import load_prompt
from rolellm_agents.recall.recalled import RecalledDemonstration, RecalledItem
from rolellm_agents.text import did_you_mean

Strategy = Callable[[Persona, Sequence[BaseMessage], Sequence[RecalledItem], str], list[BaseMessage]]
"""`(persona, history, recalled, user) -> messages`; the last message is the user's line."""

DEMONSTRATIONS = 5
"""How many demonstrations the few-shot strategies are given, as in the paper."""

DEMONSTRATION_MARK = "demonstration"
"""In `additional_kwargs` of the turns that are examples and not part of the conversation."""


def system(
    persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
) -> list[BaseMessage]:
    """RoCIT's instruction: description and catchphrases, no examples."""
    return [_instruction("system", persona), *history, HumanMessage(user)]


def zero_shot(
    persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
) -> list[BaseMessage]:
    """RoleGPT's custom instruction alone."""
    return [_instruction("custom-instruction", persona), *history, HumanMessage(user)]


def few_shot_prompt(
    persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
) -> list[BaseMessage]:
    """RoleGPT's few-shot prompt engineering: the recalled pairs as text in the user's message."""
    pairs = _pairs(persona, recalled)
    if not pairs:
        return zero_shot(persona, history, recalled, user)
    example = load_prompt("example", persona.language)
    examples = "\n\n".join(example.fill(user=pair.user, reply=pair.reply) for pair in pairs)
    text = load_prompt("examples", persona.language).fill(name=persona.name, examples=examples, user=user)
    return [_instruction("custom-instruction", persona), *history, HumanMessage(text)]


def few_shot_dialogue(
    persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
) -> list[BaseMessage]:
    """RoleGPT's few-shot dialogue engineering: the recalled pairs as real turns before the history."""
    mark = {DEMONSTRATION_MARK: True}
    turns: list[BaseMessage] = []
    for pair in _pairs(persona, recalled):
        turns.append(HumanMessage(pair.user, additional_kwargs=mark))
        turns.append(AIMessage(pair.reply, additional_kwargs=mark))
    return [_instruction("custom-instruction", persona), *turns, *history, HumanMessage(user)]


STRATEGIES: dict[str, Strategy] = {
    "zero-shot": zero_shot,
    "few-shot-prompt": few_shot_prompt,
    "few-shot-dialogue": few_shot_dialogue,
    "system": system,
}


def get_strategy(name: str) -> Strategy:
    """Look a strategy up by name.

    Raises:
        SettingsError: there is no such strategy.
    """
    if name not in STRATEGIES:
        raise SettingsError(
            f"There is no strategy {name!r}{did_you_mean(name, STRATEGIES)}; "
            f"known are {', '.join(STRATEGIES)}."
        )
    return STRATEGIES[name]


def foreseen(name: str, persona: Persona, history: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages that the next prompt begins with, whatever the user will say.

    Raises:
        SettingsError: there is no strategy of this name.
    """
    strategy = get_strategy(name)
    bare = strategy(persona, history, [], "")[:-1]
    if not persona.demonstrations:
        return bare
    recalled = RecalledDemonstration(kind="demonstration", index=0, score=0)
    shown = strategy(persona, history, [recalled], "")[:-1]
    return [message for message, other in zip(bare, shown, strict=False) if message == other]


def uses_demonstrations(name: str) -> bool:
    """Whether a strategy puts recalled demonstrations into its messages."""
    return name in ("few-shot-prompt", "few-shot-dialogue")


def _instruction(prompt_id: str, persona: Persona) -> SystemMessage:
    prompt = load_prompt(prompt_id, persona.language)
    return SystemMessage(prompt.fill(name=persona.name, profile=_profile(persona)))


def _profile(persona: Persona) -> str:
    if not persona.catchphrases:
        return persona.description
    phrases = _BETWEEN[persona.language].join(
        _QUOTED[persona.language].format(phrase) for phrase in persona.catchphrases
    )
    known_for = load_prompt("catchphrases", persona.language).fill(name=persona.name, catchphrases=phrases)
    return f"{persona.description}\n{known_for}"


_QUOTED: dict[Language, str] = {"en": '"{}"', "zh": "“{}”"}
_BETWEEN: dict[Language, str] = {"en": " ", "zh": ""}


def _pairs(persona: Persona, recalled: Sequence[RecalledItem]) -> list[Demonstration]:
    """The recalled demonstrations, the nearest last: what stands closest to the question weighs most."""
    return [
        persona.demonstrations[found["index"]]
        for found in reversed(recalled)
        if found["kind"] == "demonstration"
    ]
