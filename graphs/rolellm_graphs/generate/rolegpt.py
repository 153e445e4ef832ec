"""RoleGPT: general instructions answered by personas. Graph: compose → answer for each sample.

RoleLLM's second stage (arXiv 2310.00746, §3.2): every role answers every instruction six times; five of the
answers become references, one is the baseline that models are compared with.
"""

import operator
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import messages_from_dict, messages_to_dict
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets.row_personas import persona_fields
from rolellm_agents.errors import SettingsError
from rolellm_agents.generation.instructions import Instruction
from rolellm_agents.generation.samples import SampleRow, rolegpt_rows
from rolellm_agents.generation.trimming import (
    ROLEGPT_STRATEGIES,
    cleaned,
    prompts_of,
    trim_to_last_sentence,
)
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.reply_checks.labels import answer_labels
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of, seed_of
from rolellm_agents.text import did_you_mean, estimated_tokens
from rolellm_graphs.generate.run import GenerationOutcome, GenerationPlan, run_plan
from rolellm_graphs.runs.items import Generation, ItemMaker, PlannedItem, RunCallbacks, RunLimits, made_by
from rolellm_graphs.runs.model_calls import ModelReply

SAMPLES: Final = 6
"""Answers to each instruction, as in the paper: five references and a baseline."""
STRATEGY: Final = "few-shot-dialogue"
"""The strategy that the paper selected from RoleGPT's three."""
_SAMPLED_PROMPTS = 40
"""Number of prompts that are built to estimate the length of all prompts."""
_USUAL_ANSWER = 90
"""Approximate number of an answer's tokens."""


@dataclass(frozen=True, kw_only=True)
class RoleGPTRequest:
    """The settings of a RoleGPT run."""

    personas: tuple[Persona, ...]
    instructions: tuple[Instruction, ...]
    strategies: tuple[str, ...] = (STRATEGY,)
    """Names of strategies; each is one of RoleGPT's three."""
    samples: int = SAMPLES
    limit: int | None = None
    """The number of instructions of each persona; None for all."""
    seed: int = 0


class RowState(TypedDict, total=False):
    """The graph's state: one instruction and its answers."""

    instruction: str
    wanted: list[PlannedItem]
    prompt: list[dict[str, Any]]
    """The messages, as `messages_to_dict` returns them."""
    answers: Annotated[list[dict[str, Any]], operator.add]


class AnswerRequest(TypedDict):
    """The input of one answer."""

    instruction: str
    prompt: list[dict[str, Any]]
    wanted: PlannedItem


Answer = Callable[[AnswerRequest], Awaitable[dict[str, Any] | None]]
"""Returns the finished answer; None if there is none."""
RoleGPTGraph = CompiledStateGraph[RowState, None, RowState, RowState]


def persona_answer_graph(
    persona: Persona, strategy: str, maker: ItemMaker, *, model_name: str, seed: int = 0
) -> RoleGPTGraph:
    """Build the graph in which a model answers for one persona.

    Raises:
        SettingsError: the strategy is not one of the three.
    """
    _check_strategy(strategy)
    return _PersonaAnswers(persona, strategy, maker, seed, model_name).graph


def rolegpt_graph(prompting: Prompting, answer: Answer, *, seed: int = 0) -> RoleGPTGraph:
    """Build the graph in which one persona answers an `instruction` once for each item of `wanted`.

    `answer` is called concurrently; the seed is that of the recall.
    """

    async def compose(state: RowState) -> dict[str, Any]:
        found = await prompting.look_up_async([], state["instruction"], {}, seed=seed)
        messages = prompting.compose([], found.recalled, state["instruction"])
        return {"prompt": messages_to_dict(messages)}

    def fan_out(state: RowState) -> list[Send]:
        return [
            Send(
                "answer",
                AnswerRequest(instruction=state["instruction"], prompt=state["prompt"], wanted=wanted),
            )
            for wanted in state["wanted"]
        ]

    async def answer_once(state: AnswerRequest) -> dict[str, Any]:
        item = await answer(state)
        return {"answers": [] if item is None else [item]}

    builder = StateGraph(RowState)
    builder.add_node("compose", compose)
    builder.add_node("answer", answer_once)
    builder.add_edge(START, "compose")
    builder.add_conditional_edges("compose", fan_out, ["answer"])
    builder.add_edge("answer", END)
    return builder.compile(name="rolegpt")


async def rolegpt(
    request: RoleGPTRequest,
    model: BaseChatModel,
    *,
    model_name: str,
    folder: Path,
    limits: RunLimits | None = None,
    callbacks: RunCallbacks | None = None,
) -> GenerationOutcome:
    """Generate the missing answers of a run.

    The model plays the personas. A stopped run resumes in its folder.

    Raises:
        SettingsError: a strategy is not one of the three, there is no instruction for a persona, or a cost
            limit has no prices.
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: the model cannot be loaded.
    """
    rows = _InstructionRows(request)
    plan = GenerationPlan(
        config=_config(request, model_name, model),
        item_keys=rows.keys,
        work=partial(_answer_all, rows, model_name),
        rows=partial(_file_rows, rows),
        parts=("samples", "left_out", "rolegpt_baseline"),
    )
    return await run_plan(plan, model, folder, limits or RunLimits(), callbacks or RunCallbacks())


def rolegpt_guess(request: RoleGPTRequest) -> tuple[Callable[[], Iterator[str]], Tokens]:
    """The keys of all items, and the estimated tokens of one item.

    Raises:
        SettingsError: a strategy is not one of the three, or there is no instruction for a persona.
    """
    rows = _InstructionRows(request)
    every = max(1, sum(1 for _ in rows) // _SAMPLED_PROMPTS)
    read = [_prompt_tokens(row, request.seed) for row in islice(rows, 0, None, every)]
    return rows.keys, Tokens(round(sum(read) / max(1, len(read))), _USUAL_ANSWER)


def _prompt_tokens(row: "_InstructionRow", seed: int) -> int:
    prompting = _prompting(row.persona, row.strategy)
    found = prompting.look_up([], row.instruction.text, {}, seed=seed)
    messages = prompting.compose([], found.recalled, row.instruction.text)
    return sum(estimated_tokens(message.text) for message in messages)


@dataclass(frozen=True)
class _InstructionRow:
    """One persona's answers to one instruction under one strategy."""

    first: int
    """The number of its first answer in the plan."""
    persona: Persona
    strategy: str
    instruction: Instruction

    def key(self, sample: int) -> str:
        return f"{self.persona.id}/{self.strategy}/{self.instruction.id}/{sample}"


class _InstructionRows:
    """All rows of a run in their order, generated lazily."""

    def __init__(self, request: RoleGPTRequest) -> None:
        personas = {persona.id: persona for persona in request.personas}
        self.request = replace(request, personas=tuple(personas.values()))
        self._by_language = {
            language: [one for one in request.instructions if one.language == language][: request.limit]
            for language in ("en", "zh")
        }
        _check(request)

    def __iter__(self) -> Iterator[_InstructionRow]:
        """Rows by persona, then by strategy."""
        first = 0
        for persona in self.request.personas:
            for strategy in self.request.strategies:
                for instruction in self._by_language[persona.language]:
                    yield _InstructionRow(first, persona, strategy, instruction)
                    first += self.request.samples

    def keys(self) -> Iterator[str]:
        return (row.key(sample) for row in self for sample in range(self.request.samples))


def _check(request: RoleGPTRequest) -> None:
    for strategy in request.strategies:
        _check_strategy(strategy)
    languages = {instruction.language for instruction in request.instructions}
    for persona in request.personas:
        if persona.language not in languages:
            raise SettingsError(
                f"There is no instruction in {persona.language!r} for {persona.name}; "
                "add some, or leave the persona out."
            )


def _check_strategy(strategy: str) -> None:
    if strategy not in ROLEGPT_STRATEGIES:
        raise SettingsError(
            f"RoleGPT does not support the strategy "
            f"{strategy!r}{did_you_mean(strategy, ROLEGPT_STRATEGIES)}; "
            f"it knows {', '.join(ROLEGPT_STRATEGIES)}."
        )


async def _answer_all(rows: _InstructionRows, model_name: str, generation: Generation) -> None:
    """Process every unfinished row through its persona's graph."""
    request = rows.request

    async def answer_row(work: tuple[_PersonaAnswers, RowState]) -> None:
        answers, state = work
        await answers.graph.ainvoke(state)

    def pending_rows() -> Iterator[tuple[_PersonaAnswers, RowState]]:
        answers: _PersonaAnswers | None = None
        for row in rows:
            wanted = [
                PlannedItem(number=row.first + sample, key=row.key(sample))
                for sample in range(request.samples)
                if row.first + sample not in generation.finished
            ]
            if not wanted:
                continue
            # Rows of one persona and strategy are consecutive, so only one is in memory.
            if answers is None or not answers.is_for(row):
                answers = _PersonaAnswers(row.persona, row.strategy, generation, request.seed, model_name)
            yield answers, RowState(instruction=row.instruction.text, wanted=wanted, answers=[])

    await generation.work_through(pending_rows(), answer_row)


class _PersonaAnswers:
    """Answers of one persona under one strategy."""

    def __init__(
        self, persona: Persona, strategy: str, maker: ItemMaker, seed: int, model_name: str
    ) -> None:
        self._persona = persona
        self._strategy = strategy
        self._maker = maker
        self._seed = seed
        self._model_name = model_name
        texts = prompts_of(strategy, persona.language)
        self._prompts = [text.name for text in texts]
        self._templates = [text.text.replace("{name}", persona.name) for text in texts]
        self.graph = rolegpt_graph(_prompting(persona, strategy), self._answer, seed=seed)

    def is_for(self, row: _InstructionRow) -> bool:
        """Whether a row has this persona and strategy."""
        return (row.persona.id, row.strategy) == (self._persona.id, self._strategy)

    async def _answer(self, asked: AnswerRequest) -> dict[str, Any] | None:
        wanted = asked["wanted"]

        async def make() -> dict[str, Any]:
            seed = seed_of(self._seed, wanted["key"])
            reply = await self._maker.calls.say(messages_from_dict(asked["prompt"]), seed=seed)
            return self._item(asked["instruction"], reply, seed)

        item: dict[str, Any] | None = await self._maker.item(wanted["number"], wanted["key"], make)
        return item

    def _item(self, instruction: str, reply: ModelReply, seed: int) -> dict[str, Any]:
        persona = self._persona
        answer = trim_to_last_sentence(cleaned(reply.text, persona), at_limit=reply.unfinished)
        labels = answer_labels(answer.text, persona, question=instruction, templates=self._templates)
        return {
            "role": persona.name,
            **persona_fields(persona),
            "language": persona.language,
            "strategy": self._strategy,
            "question": instruction,
            "answer": answer.text,
            "taken": answer.taken,
            "labels": [*([answer.label] if answer.label else []), *labels],
            **made_by(self._model_name, self._prompts, reply, seed),
        }


def _prompting(persona: Persona, strategy: str) -> Prompting:
    return Prompting(with_macros(persona, DEFAULT_USER), strategy, user=DEFAULT_USER)


def _file_rows(rows: _InstructionRows, finished: FinishedItems) -> Iterator[SampleRow]:
    for row in rows:
        numbers = range(row.first, row.first + rows.request.samples)
        yield from rolegpt_rows([finished.get(number) for number in numbers])


def _config(request: RoleGPTRequest, model_name: str, model: BaseChatModel) -> Mapping[str, Any]:
    instructions = "\n".join(f"{one.id} {one.text}" for one in request.instructions)
    return {
        "generator": "rolegpt",
        "personas": {persona.id: digest_of(persona.model_dump_json()) for persona in request.personas},
        "instructions": digest_of(instructions),
        "strategies": list(request.strategies),
        "samples": request.samples,
        "seed": request.seed,
        "model": model_name,
        "sampling": describe_sampling(model),
        "prompts": sorted(
            {
                prompt.name
                for persona in request.personas
                for strategy in request.strategies
                for prompt in prompts_of(strategy, persona.language)
            }
        ),
    }
