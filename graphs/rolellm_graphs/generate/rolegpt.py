"""RoleGPT: general instructions answered in many voices. compose → answer, as often as there are samples.

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
from rolellm_agents.errors import SettingsError
from rolellm_agents.generation.answers import ROLEGPT_STRATEGIES, cleaned, ended, prompts_of
from rolellm_agents.generation.instructions import Instruction
from rolellm_agents.generation.samples import SampleRow, rolegpt_rows
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
"""The one of the three that the paper chose."""
_LOOKED_AT = 40
"""Prompts that are made to guess how long all are."""
_USUAL_ANSWER = 90
"""Tokens, about."""


@dataclass(frozen=True, kw_only=True)
class RoleGPTRequest:
    """Who answers what, and how often."""

    personas: tuple[Persona, ...]
    instructions: tuple[Instruction, ...]
    strategies: tuple[str, ...] = (STRATEGY,)
    """Of RoleGPT's three."""
    samples: int = SAMPLES
    limit: int | None = None
    """Instructions of each persona, from the first on; all when None."""
    seed: int = 0


class RowState(TypedDict, total=False):
    """What the graph keeps: one instruction and its answers."""

    instruction: str
    wanted: list[PlannedItem]
    prompt: list[dict[str, Any]]
    """What the model is sent, as plain values."""
    answers: Annotated[list[dict[str, Any]], operator.add]


class AnswerRequest(TypedDict):
    """What one answer needs."""

    instruction: str
    prompt: list[dict[str, Any]]
    wanted: PlannedItem


Answer = Callable[[AnswerRequest], Awaitable[dict[str, Any] | None]]
"""Gives the finished answer; None when there is none."""
RoleGPTGraph = CompiledStateGraph[RowState, None, RowState, RowState]


def voice_graph(
    persona: Persona, strategy: str, making: ItemMaker, *, model_name: str, seed: int = 0
) -> RoleGPTGraph:
    """Build the graph in which a model answers for one persona, as a run of RoleGPT has it.

    Args:
        persona: who answers.
        strategy: one of RoleGPT's three.
        making: where the answers are made.
        model_name: what the answers call the model.
        seed: of all chance.

    Raises:
        SettingsError: the strategy is none of the three.
    """
    _check_strategy(strategy)
    return _Voice(persona, strategy, making, seed, model_name).graph


def rolegpt_graph(prompting: Prompting, answer: Answer, *, seed: int = 0) -> RoleGPTGraph:
    """Build the graph in which one persona answers an `instruction` as often as is `wanted`.

    Args:
        prompting: the persona and the strategy.
        answer: asks a model; several may run at the same time.
        seed: of what chance there is in looking up.
    """

    async def compose(state: RowState) -> dict[str, Any]:
        found = prompting.look_up([], state["instruction"], {}, seed=seed)
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
        made = await answer(state)
        return {"answers": [] if made is None else [made]}

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
    """Have the personas answer the instructions, as far as they have not yet.

    Args:
        request: who answers what.
        model: who plays the personas.
        model_name: what the run calls it.
        folder: of the run, which goes on where it was stopped.
        limits: what this start may do.
        callbacks: whom to tell how far it is.

    Raises:
        SettingsError: a strategy is none of the three, no instruction for a persona, or no price for a
            greatest cost.
        StorageError: the folder cannot be written, or holds another run; what is finished is kept.
        ModelError: the model cannot be loaded.
    """
    rows = _Rows(request)
    plan = GenerationPlan(
        config=_config(request, model_name, model),
        item_keys=rows.keys,
        work=partial(_answer_all, rows, model_name),
        rows=partial(_file_rows, rows),
        parts=("samples", "left_out", "rolegpt_baseline"),
    )
    return await run_plan(plan, model, folder, limits or RunLimits(), callbacks or RunCallbacks())


def rolegpt_guess(request: RoleGPTRequest) -> tuple[Callable[[], Iterator[str]], Tokens]:
    """The keys of all items, and what one of them may take, by the prompts of some.

    Raises:
        SettingsError: a strategy is none of the three, or no instruction for a persona.
    """
    rows = _Rows(request)
    every = max(1, sum(1 for _ in rows) // _LOOKED_AT)
    read = [_prompt_tokens(row, request.seed) for row in islice(rows, 0, None, every)]
    return rows.keys, Tokens(round(sum(read) / max(1, len(read))), _USUAL_ANSWER)


def _prompt_tokens(row: "_InstructionRow", seed: int) -> int:
    prompting = _prompting(row.persona, row.strategy)
    found = prompting.look_up([], row.instruction.text, {}, seed=seed)
    messages = prompting.compose([], found.recalled, row.instruction.text)
    return sum(estimated_tokens(message.text) for message in messages)


@dataclass(frozen=True)
class _InstructionRow:
    """One persona's answers to one instruction by one strategy."""

    first: int
    """The number of its first answer in the plan."""
    persona: Persona
    strategy: str
    instruction: Instruction

    def key(self, sample: int) -> str:
        return f"{self.persona.id}/{self.strategy}/{self.instruction.id}/{sample}"


class _Rows:
    """All that a request asks for, in its order; none of it is held in memory."""

    def __init__(self, request: RoleGPTRequest) -> None:
        personas = {persona.id: persona for persona in request.personas}
        self.request = replace(request, personas=tuple(personas.values()))
        self._by_language = {
            language: [one for one in request.instructions if one.language == language][: request.limit]
            for language in ("en", "zh")
        }
        _check(request)

    def __iter__(self) -> Iterator[_InstructionRow]:
        """Persona by persona, and in each one strategy by strategy."""
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
            f"RoleGPT does not answer by {strategy!r}{did_you_mean(strategy, ROLEGPT_STRATEGIES)}; "
            f"it knows {', '.join(ROLEGPT_STRATEGIES)}."
        )


async def _answer_all(rows: _Rows, model_name: str, generation: Generation) -> None:
    """Every row that is not finished, each through the graph of its voice."""
    request = rows.request

    async def answer_row(work: tuple[_Voice, RowState]) -> None:
        voice, state = work
        await voice.graph.ainvoke(state)

    def open_rows() -> Iterator[tuple[_Voice, RowState]]:
        voice: _Voice | None = None
        for row in rows:
            wanted = [
                PlannedItem(number=row.first + sample, key=row.key(sample))
                for sample in range(request.samples)
                if row.first + sample not in generation.finished
            ]
            if not wanted:
                continue
            # Rows of one voice follow each other, so no more than one is made ready.
            if voice is None or not voice.speaks(row):
                voice = _Voice(row.persona, row.strategy, generation, request.seed, model_name)
            yield voice, RowState(instruction=row.instruction.text, wanted=wanted, answers=[])

    await generation.work_through(open_rows(), answer_row)


class _Voice:
    """One persona by one strategy, ready to answer."""

    def __init__(
        self, persona: Persona, strategy: str, making: ItemMaker, seed: int, model_name: str
    ) -> None:
        self._persona = persona
        self._strategy = strategy
        self._making = making
        self._seed = seed
        self._model_name = model_name
        texts = prompts_of(strategy, persona.language)
        self._prompts = [text.name for text in texts]
        self._templates = [text.text.replace("{name}", persona.name) for text in texts]
        self.graph = rolegpt_graph(_prompting(persona, strategy), self._answer, seed=seed)

    def speaks(self, row: _InstructionRow) -> bool:
        """Whether a row is this voice's, too."""
        return (row.persona.id, row.strategy) == (self._persona.id, self._strategy)

    async def _answer(self, asked: AnswerRequest) -> dict[str, Any] | None:
        wanted = asked["wanted"]

        async def make() -> dict[str, Any]:
            seed = seed_of(self._seed, wanted["key"])
            reply = await self._making.calls.say(messages_from_dict(asked["prompt"]), seed=seed)
            return self._item(asked["instruction"], reply, seed)

        made: dict[str, Any] | None = await self._making.item(wanted["number"], wanted["key"], make)
        return made

    def _item(self, instruction: str, reply: ModelReply, seed: int) -> dict[str, Any]:
        persona = self._persona
        answer = ended(cleaned(reply.text, persona), at_limit=reply.unfinished)
        labels = answer_labels(answer.text, persona, question=instruction, templates=self._templates)
        return {
            "role": persona.name,
            "persona": persona.id,
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


def _file_rows(rows: _Rows, finished: FinishedItems) -> Iterator[SampleRow]:
    for row in rows:
        numbers = range(row.first, row.first + rows.request.samples)
        yield from rolegpt_rows([finished.get(number) for number in numbers])


def _config(request: RoleGPTRequest, model_name: str, model: BaseChatModel) -> Mapping[str, Any]:
    told = "\n".join(f"{one.id} {one.text}" for one in request.instructions)
    return {
        "generator": "rolegpt",
        "personas": {persona.id: digest_of(persona.model_dump_json()) for persona in request.personas},
        "instructions": digest_of(told),
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
