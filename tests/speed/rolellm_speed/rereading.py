"""Measures how many tokens of a growing chat a model reads anew at each turn (`rolellm bench reread`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import httpx
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.template import turns_of
from rolellm_agents.persona import Persona, list_personas, load_persona
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.strategies import RECALLS, STRATEGIES, Recalls, Strategy, few_shot_dialogue
from rolellm_agents.recall.recalled import RecalledItem
from rolellm_speed.server.processes import llama_server

_SPEC = "llamacpp:smollm2"
_CONTEXT = 8192
_WORDS = 16
"""Tokens of an answer."""


class _EachLine:
    """`few-shot-dialogue` with examples that are chosen anew for each line, as in version 0.1."""

    recalls = Recalls(**{**RECALLS["few-shot-dialogue"]._asdict(), "of_first_line": False})

    def __call__(
        self, persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
    ) -> list[BaseMessage]:
        """See `few_shot_dialogue`."""
        return few_shot_dialogue(persona, history, recalled, user)


_MEASURED: dict[str, str | Strategy] = {
    **{name: name for name in STRATEGIES},
    "few-shot-dialogue, examples for each line": _EachLine(),
}

Ask = Callable[[list[BaseMessage]], tuple[str, int, int]]
"""Returns the answer, and how many tokens of the prompt there were and how many were read anew."""


@dataclass(frozen=True)
class Reread:
    """The mean of one chat."""

    engine: str
    strategy: str
    prompt_tokens: float
    """Tokens of a prompt."""
    read_tokens: float
    """Tokens of a prompt that were read anew."""


def measure_rereading(turns: int, progress: Callable[[str], None]) -> list[Reread]:
    """Chat with each strategy, in our engine and with llama.cpp's own server.

    The first turn is left out, because everything is new in it.

    Args:
        turns: the number of the user's lines.
        progress: receives the name of each chat.
    """
    model = get_model(_SPEC, n_ctx=_CONTEXT, max_tokens=_WORDS, temperature=0.0)
    assert isinstance(model, ChatLlamaCpp)
    rows = [_measure("rolellm", name, _asks(model), turns, progress) for name in _MEASURED]
    weights = model.load().model.path
    with llama_server(weights, slots=1, clients=1, context=_CONTEXT, threads=2) as (url, _):
        rows += [
            _measure("llama.cpp's server", name, _requests(url), turns, progress) for name in _MEASURED
        ]
    return rows


def _measure(engine: str, name: str, ask: Ask, turns: int, progress: Callable[[str], None]) -> Reread:
    progress(f"{engine}, {name}")
    prompting = Prompting(load_persona("sherlock-holmes"), _MEASURED[name], user="User")
    lines = [found.persona.demonstrations[0].user for found in list_personas().found]
    history: list[BaseMessage] = []
    counts: list[tuple[int, int]] = []
    for turn in range(turns):
        line = lines[turn % len(lines)]
        recalled = prompting.look_up(history, line, {}, seed=0).recalled
        answer, prompt, read = ask(prompting.compose(history, recalled, line))
        counts.append((prompt, read))
        history += [HumanMessage(line), AIMessage(answer)]
    later = counts[1:]
    return Reread(engine, name, mean(prompt for prompt, _ in later), mean(read for _, read in later))


def _asks(model: ChatLlamaCpp) -> Ask:
    def ask(messages: list[BaseMessage]) -> tuple[str, int, int]:
        answer = model.invoke(messages)
        usage: Any = answer.usage_metadata
        return (
            answer.text,
            usage["input_tokens"],
            usage["input_tokens"] - usage["input_token_details"]["cache_read"],
        )

    return ask


def _requests(url: str) -> Ask:
    def ask(messages: list[BaseMessage]) -> tuple[str, int, int]:
        turns = [{"role": turn["role"], "content": turn["content"]} for turn in turns_of(messages)]
        body = {"messages": turns, "max_tokens": _WORDS, "temperature": 0, "cache_prompt": True}
        answer = httpx.post(f"{url}/chat/completions", json=body, timeout=300).raise_for_status().json()
        timings = answer["timings"]
        text = answer["choices"][0]["message"]["content"]
        return text, timings["prompt_n"] + timings["cache_n"], timings["prompt_n"]

    return ask
