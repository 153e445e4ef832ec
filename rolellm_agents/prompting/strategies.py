"""How a persona becomes messages: one pure function for each strategy.

`zero-shot`, `few-shot-prompt` and `few-shot-dialogue` are RoleGPT's three ways of prompting a general
chat model (arXiv 2310.00746, §3.2); `system` is the short instruction of RoCIT (§3.4), shared by
chat, generation, training and evaluation; `retrieval` is that instruction with recalled items beside it
(§4, "reaug"). `docs/design/strategies.md` gives the reasons.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.errors import SettingsError
from rolellm_agents.models.message_marks import DEMONSTRATION_MARK, RECALL_MARK
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.plugins import load_plugin, plugin_names, plugin_version, qualified_name
from rolellm_agents.prompting.description import moment_of
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.recall.passages import Kind
from rolellm_agents.recall.recalled import RecalledDemonstration, RecalledItem
from rolellm_agents.recall.recaller import IndexFactory
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import Language

Strategy = Callable[[Persona, Sequence[BaseMessage], Sequence[RecalledItem], str], list[BaseMessage]]
"""`(persona, history, recalled, user) -> messages`, a pure function or a callable object.

The first message is the instruction, the last is the user's line. An attribute `recalls`, one of `Recalls`,
defines what is looked up for each line; without it nothing is looked up.
"""


def system(
    persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
) -> list[BaseMessage]:
    """RoCIT's instruction: description and catchphrases, no examples."""
    return [_instruction("system", persona), *history, *_user_turn(persona, recalled, user)]


def zero_shot(
    persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
) -> list[BaseMessage]:
    """RoleGPT's custom instruction alone."""
    return [_instruction("custom-instruction", persona), *history, *_user_turn(persona, recalled, user)]


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
    return [_instruction("custom-instruction", persona), *history, *_user_turn(persona, recalled, text)]


def few_shot_dialogue(
    persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
) -> list[BaseMessage]:
    """RoleGPT's few-shot dialogue engineering: the recalled pairs as real turns before the history."""
    mark = {DEMONSTRATION_MARK: True}
    turns: list[BaseMessage] = []
    for pair in _pairs(persona, recalled):
        turns.append(HumanMessage(pair.user, additional_kwargs=mark))
        turns.append(AIMessage(pair.reply, additional_kwargs=mark))
    return [
        _instruction("custom-instruction", persona),
        *turns,
        *history,
        *_user_turn(persona, recalled, user),
    ]


def retrieval(
    persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
) -> list[BaseMessage]:
    """RoCIT's instruction, and the recalled lines and knowledge before the user's words."""
    said = load_prompt("recalled-demonstration", persona.language)
    lines = [
        said.fill(name=persona.name, user=pair.user, reply=pair.reply) for pair in _pairs(persona, recalled)
    ]
    return [_instruction("system", persona), *history, *_user_turn(persona, recalled, user, lines)]


STRATEGIES: dict[str, Strategy] = {
    "zero-shot": zero_shot,
    "few-shot-prompt": few_shot_prompt,
    "few-shot-dialogue": few_shot_dialogue,
    "system": system,
    "retrieval": retrieval,
}
"""Our own strategies, by name."""


class Recalls(NamedTuple):
    """The kinds of passages that a strategy looks up for the user's line, and the method."""

    kinds: tuple[Kind, ...]
    method: str | IndexFactory
    floor: float | None
    """The closeness below which a passage is left out; the method's own when None."""
    of_first_line: bool = False
    """Whether the conversation's first line is looked up instead of each line.

    Then the examples stay the same, and prompts of a conversation only grow at their end.
    """


RECALLS: dict[str, Recalls] = {
    # BM25 as in the paper. Floor 0, because demonstrations without a shared word still show the voice.
    "few-shot-prompt": Recalls(("demonstration",), "bm25", 0.0),
    "few-shot-dialogue": Recalls(("demonstration",), "bm25", 0.0, of_first_line=True),
    "retrieval": Recalls(("demonstration", "knowledge", "lore"), "hybrid", None),
}
"""What our strategies look up, by name; the others look nothing up."""


def get_strategy(strategy: str | Strategy) -> Strategy:
    """Look a strategy up by its name, one of `STRATEGIES` or an entry point of `rolellm.strategies`.

    A strategy function is returned unchanged.

    Raises:
        SettingsError: there is no such strategy.
        PluginError: the package that provides it cannot be used.
    """
    if not isinstance(strategy, str):
        return strategy
    found = STRATEGIES.get(strategy) or load_plugin("rolellm.strategies", strategy)
    if found is None:
        known = strategy_names()
        raise SettingsError(
            f"There is no strategy {strategy!r}{did_you_mean(strategy, known)}; "
            f"known are {', '.join(known)}."
        )
    return found


def strategy_names() -> list[str]:
    """The names of all strategies: the built-in ones, then those of installed packages."""
    return [*STRATEGIES, *plugin_names("rolellm.strategies")]


def strategy_name(strategy: str | Strategy) -> str:
    """The name in records: as given, or `module.name` of a function or class."""
    if isinstance(strategy, str):
        return strategy
    ours = (name for name, function in STRATEGIES.items() if function is strategy)
    return next(ours, None) or qualified_name(strategy)


def named_strategies(strategies: Iterable[str | Strategy]) -> dict[str, str | Strategy]:
    """The strategies by the names under which a run records them, each once, in the order given.

    Raises:
        SettingsError: there is no strategy of a name, or two different strategies have the same name.
        PluginError: the package that provides one cannot be used.
    """
    named: dict[str, str | Strategy] = {}
    for strategy in strategies:
        name, function = strategy_name(strategy), get_strategy(strategy)
        if get_strategy(named.setdefault(name, strategy)) is not function:
            raise SettingsError(
                f"Two strategies have the name {name!r}; write each as a function or a class of its own."
            )
    return named


def strategy_packages(names: Iterable[str]) -> dict[str, str]:
    """The package of each strategy that a package provides, with its version, by the strategy's name."""
    versions = {
        name: plugin_version("rolellm.strategies", name) for name in names if name not in STRATEGIES
    }
    return {name: version for name, version in versions.items() if version}


def recalls_of(strategy: str | Strategy) -> Recalls | None:
    """The passages that a strategy looks up; None if it looks up nothing.

    Raises:
        SettingsError: there is no such strategy.
        PluginError: the package that provides it cannot be used.
    """
    return RECALLS.get(strategy_name(strategy)) or getattr(get_strategy(strategy), "recalls", None)


def stable_prefix(
    strategy: str | Strategy, persona: Persona, history: Sequence[BaseMessage]
) -> list[BaseMessage]:
    """The messages that the next prompt begins with, whatever the user says.

    Raises:
        SettingsError: there is no strategy of this name.
        PluginError: the package that provides it cannot be used.
    """
    strategy = get_strategy(strategy)
    bare = strategy(persona, history, [], "")[:-1]
    if not persona.demonstrations:
        return bare
    recalled = RecalledDemonstration(kind="demonstration", index=0, score=0, why="")
    shown = strategy(persona, history, [recalled], "")[:-1]
    return [message for message, other in zip(bare, shown, strict=False) if message == other]


def _instruction(prompt_id: str, persona: Persona) -> SystemMessage:
    prompt = load_prompt(prompt_id, persona.language)
    return SystemMessage(prompt.fill(name=persona.name, profile=_profile(persona)))


def _user_turn(
    persona: Persona, recalled: Sequence[RecalledItem], user: str, lines: Sequence[str] = ()
) -> list[BaseMessage]:
    """The user's line, and before it the recalled passages, the nearest last."""
    known = [_PASSAGE.format(item["text"]) for item in recalled if item["kind"] == "passage"]
    found = [*lines, *reversed(known)]
    if not found:
        return [HumanMessage(user)]
    frame = load_prompt("recalled", persona.language)
    text = frame.fill(name=persona.name, recalled="\n".join(found))
    return [SystemMessage(text, additional_kwargs={RECALL_MARK: True}), HumanMessage(user)]


_PASSAGE = "- {}"


def _profile(persona: Persona) -> str:
    parts = [persona.description]
    if persona.moment:
        parts.append(moment_of(persona))
    if persona.catchphrases:
        phrases = _BETWEEN[persona.language].join(
            _QUOTED[persona.language].format(phrase) for phrase in persona.catchphrases
        )
        frame = load_prompt("catchphrases", persona.language)
        parts.append(frame.fill(name=persona.name, catchphrases=phrases))
    return "\n".join(parts)


_QUOTED: dict[Language, str] = {"en": '"{}"', "zh": "“{}”"}
_BETWEEN: dict[Language, str] = {"en": " ", "zh": ""}


def _pairs(persona: Persona, recalled: Sequence[RecalledItem]) -> list[Demonstration]:
    """The recalled demonstrations, the nearest last: models weigh text near the question most."""
    return [
        persona.demonstrations[found["index"]]
        for found in reversed(recalled)
        if found["kind"] == "demonstration"
    ]
