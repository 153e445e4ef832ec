"""Context-Instruct: from a character's profile to questions and answers. ask → answer, each for itself.

RoleLLM's third stage (arXiv 2310.00746, §3.3): the profile is cut into segments; for each a model writes
questions with its confidence and a reason, and answers them in the character's voice. Answers rest on the
line that the question names, and what is wrong with either is labelled.
"""

import operator
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from rolellm_agents.generation.characters import Character
from rolellm_agents.generation.context_prompts import ContextPrompts, context_prompts
from rolellm_agents.generation.guiding import guiding_prompts
from rolellm_agents.generation.questions import GeneratedQuestion
from rolellm_agents.generation.samples import SampleRow, context_rows
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of, seed_of
from rolellm_agents.text import estimated_tokens
from rolellm_graphs.generate.run import GenerationOutcome, GenerationPlan, run_plan
from rolellm_graphs.runs.items import Generation, ItemMaker, PlannedItem, RunCallbacks, RunLimits, made_by

QUESTIONS: Final = 3
"""That one request asks for."""
_QUESTION_TOKENS = 120
"""That one question may take with all that belongs to it."""
_USUAL_ANSWER = 90
"""Tokens, about."""
_LOOKED_AT = 5
"""Requests of each character whose prompts are made to guess how long all are."""


@dataclass(frozen=True, kw_only=True)
class ContextRequest:
    """Whom to ask, and how much."""

    characters: tuple[Character, ...]
    questions: int = QUESTIONS
    """That one request asks for, at most."""
    limit: int | None = None
    """Questions of each character, at most; all when None."""
    seed: int = 0
    guided: bool = False
    """Prescribe how questions begin and what they name, for models too small to find it."""


class PassState(TypedDict, total=False):
    """What the graph keeps: one request for questions, and the answers to them."""

    place: int
    """Of the request among the character's."""
    wanted: PlannedItem
    """The questions."""
    wanted_answers: list[PlannedItem]
    """One for each question that there may be."""
    questions: list[dict[str, Any]]
    answers: Annotated[list[dict[str, Any]], operator.add]


class Put(TypedDict):
    """One question that is put to the character."""

    place: int
    question: dict[str, Any]
    wanted: PlannedItem


Ask = Callable[[int, PlannedItem, int], Awaitable[list[dict[str, Any]]]]
"""From a request's place, what is wanted and how many at most to the questions."""
Answer = Callable[[Put], Awaitable[dict[str, Any] | None]]
"""Gives the finished answer; None when there is none."""
ContextGraph = CompiledStateGraph[PassState, None, PassState, PassState]


def pass_state(character: Character, place: int, *, first: int, most: int) -> PassState:
    """One request for questions, and as many answers as are wanted, as the graph takes it.

    Args:
        character: whom it is about.
        place: of the request among the character's.
        first: the request's number in the plan; its answers follow.
        most: questions to answer.
    """
    key = f"{character.persona.id}/{character.passes[place].key}"
    return PassState(
        place=place,
        wanted=PlannedItem(number=first, key=f"{key}/questions"),
        wanted_answers=[
            PlannedItem(number=first + 1 + number, key=f"{key}/{number}") for number in range(most)
        ],
        answers=[],
    )


def talk_graph(
    character: Character, making: ItemMaker, *, questions: int, guided: bool, model_name: str, seed: int = 0
) -> ContextGraph:
    """Build the graph in which a model asks a character and answers for it, as a run has it.

    Args:
        character: whom to ask.
        making: where questions and answers are made.
        questions: that one request asks for, at most.
        guided: see `ContextRequest`.
        model_name: what questions and answers call the model.
        seed: of all chance.
    """
    request = ContextRequest(characters=(character,), questions=questions, seed=seed, guided=guided)
    return _Talk(character, request, making, model_name).graph


def context_graph(ask: Ask, answer: Answer) -> ContextGraph:
    """Build the graph that asks for questions and has each of them answered.

    Args:
        ask: asks a model for the questions.
        answer: asks a model for one answer; several may run at the same time.
    """

    async def ask_once(state: PassState) -> dict[str, Any]:
        return {"questions": await ask(state["place"], state["wanted"], len(state["wanted_answers"]))}

    def fan_out(state: PassState) -> list[Send] | str:
        return [
            Send("answer", Put(place=state["place"], question=question, wanted=wanted))
            for question, wanted in zip(state["questions"], state["wanted_answers"], strict=False)
        ] or END

    async def answer_once(state: Put) -> dict[str, Any]:
        made = await answer(state)
        return {"answers": [] if made is None else [made]}

    builder = StateGraph(PassState)
    builder.add_node("ask", ask_once)
    builder.add_node("answer", answer_once)
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", fan_out, ["answer", END])
    builder.add_edge("answer", END)
    return builder.compile(name="context_instruct")


async def context_instruct(
    request: ContextRequest,
    model: BaseChatModel,
    *,
    model_name: str,
    folder: Path,
    limits: RunLimits | None = None,
    callbacks: RunCallbacks | None = None,
) -> GenerationOutcome:
    """Make questions and answers out of the characters' profiles, as far as they are not made yet.

    Args:
        request: whom to ask, and how much.
        model: writes the questions and plays the characters.
        model_name: what the run calls it.
        folder: of the run, which goes on where it was stopped.
        limits: what this start may do.
        callbacks: whom to tell how far it is.

    Raises:
        SettingsError: a greatest cost without prices.
        StorageError: the folder cannot be written, or holds another run; what is finished is kept.
        ModelError: the model cannot be loaded.
    """
    works = _Works(request)
    plan = GenerationPlan(
        config=_config(request, model_name, model),
        item_keys=works.keys,
        work=partial(_ask_all, works, model_name),
        rows=partial(_file_rows, works),
        parts=("samples", "left_out"),
    )
    return await run_plan(plan, model, folder, limits or RunLimits(), callbacks or RunCallbacks())


def context_guess(request: ContextRequest) -> tuple[Callable[[], Iterator[str]], Tokens]:
    """The keys of all items, and what one of them may take, by the first prompts of each character."""
    works = _Works(request)
    read: list[int] = []
    for character in works.characters:
        interview = ContextPrompts(character.persona, guided=request.guided)
        for asked in character.passes[:_LOOKED_AT]:
            read.append(_tokens_of(interview.asking(asked, request.questions)))
            question = GeneratedQuestion(character.persona.name, "high", "", 1)
            read += [_tokens_of(interview.answering(asked, question, 0))] * request.questions
    return works.keys, Tokens(round(sum(read) / max(1, len(read))), _USUAL_ANSWER)


def _tokens_of(messages: Sequence[BaseMessage]) -> int:
    return sum(estimated_tokens(message.text) for message in messages)


@dataclass(frozen=True)
class _Work:
    """One request and the questions that come of it."""

    first: int
    """The number of the request in the plan; its questions follow."""
    character: Character
    place: int
    """Of the request among the character's."""
    most: int
    """Questions to answer."""

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + 1 + self.most)

    @property
    def state(self) -> PassState:
        return pass_state(self.character, self.place, first=self.first, most=self.most)

    def item_keys(self) -> list[str]:
        state = self.state
        return [wanted["key"] for wanted in (state["wanted"], *state["wanted_answers"])]


class _Works:
    """All that a request asks for, in its order."""

    def __init__(self, request: ContextRequest) -> None:
        characters = {one.persona.id: one for one in request.characters}
        self.request = request
        self.characters = tuple(characters.values())

    def __iter__(self) -> Iterator[_Work]:
        """Character by character; of each no more questions than the limit."""
        first = 0
        for character in self.characters:
            left = self.request.limit
            for place in range(len(character.passes)):
                most = self.request.questions if left is None else min(left, self.request.questions)
                if most == 0:
                    break
                yield _Work(first, character, place, most)
                first += 1 + most
                left = None if left is None else left - most

    def keys(self) -> Iterator[str]:
        return (key for work in self for key in work.item_keys())


async def _ask_all(works: _Works, model_name: str, generation: Generation) -> None:
    """Every request that is not finished, each through the graph of its character."""

    async def hold(work: tuple[_Talk, _Work]) -> None:
        talk, asked = work
        await talk.graph.ainvoke(asked.state)

    def open_works() -> Iterator[tuple[_Talk, _Work]]:
        talk: _Talk | None = None
        for work in works:
            if all(number in generation.finished for number in work.numbers):
                continue
            # Works of one character follow each other, so no more than one is made ready.
            if talk is None or talk.character is not work.character:
                talk = _Talk(work.character, works.request, generation, model_name)
            yield talk, work

    await generation.work_through(open_works(), hold)


class _Talk:
    """One character's interview with a model."""

    def __init__(
        self, character: Character, request: ContextRequest, making: ItemMaker, model_name: str
    ) -> None:
        self.character = character
        self._count = request.questions
        self._seed = request.seed
        self._interview = ContextPrompts(character.persona, guided=request.guided)
        self._making = making
        self._model_name = model_name
        self.graph = context_graph(self._ask, self._answer)

    async def _ask(self, place: int, wanted: PlannedItem, most: int) -> list[dict[str, Any]]:
        asked = self.character.passes[place]

        async def make() -> dict[str, Any]:
            seed = seed_of(self._seed, wanted["key"])
            messages = self._interview.asking(asked, self._count)
            form = self._interview.form(asked, self._count)
            most = _QUESTION_TOKENS * self._count
            reply = await self._making.calls.fill(messages, form, seed=seed, at_least=most)
            return {
                **self._interview.questions_of(asked, reply.text, self._count),
                **made_by(self._model_name, self._interview.asking_prompts(asked), reply, seed),
            }

        item = await self._making.item(wanted["number"], wanted["key"], make)
        if item is None:
            return []
        questions: list[dict[str, Any]] = item["questions"][:most]
        self._making.expect(len(questions) - most)
        return questions

    async def _answer(self, put: Put) -> dict[str, Any] | None:
        asked, wanted = self.character.passes[put["place"]], put["wanted"]
        question = GeneratedQuestion(**put["question"])

        async def make() -> dict[str, Any]:
            seed = seed_of(self._seed, wanted["key"])
            messages = self._interview.answering(asked, question, seed)
            reply = await self._making.calls.say(messages, seed=seed)
            return {
                **self._interview.answer_of(asked, question, reply.text, unfinished=reply.unfinished),
                **made_by(self._model_name, self._interview.answering_prompts(asked), reply, seed),
            }

        made: dict[str, Any] | None = await self._making.item(wanted["number"], wanted["key"], make)
        return made


def _file_rows(works: _Works, finished: FinishedItems) -> Iterator[SampleRow]:
    """Character by character, since no question is a copy of another character's."""
    for _, held in groupby(works, key=lambda work: work.character.persona.id):
        items = (finished.get(number) for work in held for number in work.numbers)
        yield from context_rows([item for item in items if item is not None])


def _config(request: ContextRequest, model_name: str, model: BaseChatModel) -> Mapping[str, Any]:
    personas = [one.persona for one in request.characters]
    prompts = [prompt for persona in personas for prompt in context_prompts(persona)]
    if request.guided:
        prompts += [prompt for persona in personas for prompt in guiding_prompts(persona.language)]
    return {
        "generator": "context_instruct",
        "personas": {persona.id: digest_of(persona.model_dump_json()) for persona in personas},
        "segments": {
            one.persona.id: digest_of(
                "\n\n".join(f"{asked.key}\n{asked.theme}\n{asked.segment.text}" for asked in one.passes)
            )
            for one in request.characters
        },
        "questions": request.questions,
        "guided": request.guided,
        "seed": request.seed,
        "model": model_name,
        "sampling": describe_sampling(model),
        "prompts": sorted({prompt.name for prompt in prompts}),
    }
