"""Context-Instruct: questions and answers from a character's profile. Graph: ask → answer each question.

RoleLLM's third stage (arXiv 2310.00746, §3.3): the profile is cut into segments. For each segment a model
writes questions with its confidence and a reason, and answers them in the character's voice. Answers are
based on the line that the question cites; faults of questions and answers are labelled.
"""

import asyncio
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

from rolellm_agents.generation.attributes import Attributes, Drawn
from rolellm_agents.generation.characters import Character
from rolellm_agents.generation.context_prompts import ATTRIBUTES, ContextPrompts, context_prompts
from rolellm_agents.generation.guiding import guiding_prompts
from rolellm_agents.generation.questions import GeneratedQuestion
from rolellm_agents.generation.samples import SampleRow, context_rows
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of, seed_of
from rolellm_agents.text import estimated_tokens
from rolellm_graphs.generate.run import GenerationOutcome, GenerationPlan, run_plan
from rolellm_graphs.runs.items import Generation, ItemMaker, PlannedItem, RunCallbacks, RunLimits, made_by

QUESTIONS: Final = 3
"""Questions of one request."""
_QUESTION_TOKENS = 120
"""Limit of one question with its confidence and reason, in tokens."""
_USUAL_ANSWER = 90
"""Approximate number of an answer's tokens."""
_SAMPLED_PROMPTS = 5
"""Number of each character's requests that are built to estimate the length of all prompts."""


@dataclass(frozen=True, kw_only=True)
class ContextRequest:
    """The settings of a Context-Instruct run."""

    characters: tuple[Character, ...]
    questions: int = QUESTIONS
    """The most questions of one request."""
    limit: int | None = None
    """The most questions of each character; None for no limit."""
    seed: int = 0
    guided: bool = False
    """Whether to prescribe the beginning and the subject of questions, for small models."""
    attributes: Attributes | None = None
    """Attributes of the visitors who ask; one value of each is drawn for each request."""


class PassState(TypedDict, total=False):
    """The graph's state: one request for questions, and the answers to them."""

    place: int
    """Index of the request among the character's requests."""
    wanted: PlannedItem
    """The item of the questions."""
    wanted_answers: list[PlannedItem]
    """One item for each possible question."""
    questions: list[dict[str, Any]]
    answers: Annotated[list[dict[str, Any]], operator.add]


class AnswerTask(TypedDict):
    """One question to the character."""

    place: int
    question: dict[str, Any]
    wanted: PlannedItem


Ask = Callable[[int, PlannedItem, int], Awaitable[list[dict[str, Any]]]]
"""Takes a request's index, its item and a limit; returns the questions."""
Answer = Callable[[AnswerTask], Awaitable[dict[str, Any] | None]]
"""Returns the finished answer; None if there is none."""
ContextGraph = CompiledStateGraph[PassState, None, PassState, PassState]


def pass_state(character: Character, place: int, *, first: int, most: int) -> PassState:
    """The graph's input for one request for questions.

    `first` is the request's number in the plan; at most `most` answers follow.
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


def character_graph(
    character: Character, maker: ItemMaker, *, questions: int, guided: bool, model_name: str, seed: int = 0
) -> ContextGraph:
    """Build the graph in which a model asks a character questions and answers for it."""
    request = ContextRequest(characters=(character,), questions=questions, seed=seed, guided=guided)
    return _CharacterQuestions(character, request, maker, model_name).graph


def context_graph(ask: Ask, answer: Answer) -> ContextGraph:
    """Build the graph that generates questions and answers each of them.

    `answer` is called concurrently.
    """

    async def ask_once(state: PassState) -> dict[str, Any]:
        return {"questions": await ask(state["place"], state["wanted"], len(state["wanted_answers"]))}

    def fan_out(state: PassState) -> list[Send] | str:
        return [
            Send("answer", AnswerTask(place=state["place"], question=question, wanted=wanted))
            for question, wanted in zip(state["questions"], state["wanted_answers"], strict=False)
        ] or END

    async def answer_once(state: AnswerTask) -> dict[str, Any]:
        item = await answer(state)
        return {"answers": [] if item is None else [item]}

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
    """Generate the missing questions and answers of a run from the characters' profiles.

    The model writes the questions and plays the characters. A stopped run resumes in its folder.

    Raises:
        SettingsError: a cost limit without prices.
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: the model cannot be loaded.
    """
    works = _ContextPlan(request)
    plan = GenerationPlan(
        config=_config(request, model_name, model),
        item_keys=works.keys,
        work=partial(_run_all, works, model_name),
        rows=partial(_file_rows, works),
        parts=("samples", "left_out"),
    )
    return await run_plan(plan, model, folder, limits or RunLimits(), callbacks or RunCallbacks())


def context_guess(request: ContextRequest) -> tuple[Callable[[], Iterator[str]], Tokens]:
    """The keys of all items, and the estimated tokens of one item."""
    works = _ContextPlan(request)
    read: list[int] = []
    for character in works.characters:
        prompts = ContextPrompts(character.persona, guided=request.guided)
        for asked in character.passes[:_SAMPLED_PROMPTS]:
            read.append(_tokens_of(prompts.asking(asked, request.questions)))
            question = GeneratedQuestion(character.persona.name, "high", "", 1)
            read += [_tokens_of(prompts.answering(asked, question, 0))] * request.questions
    return works.keys, Tokens(round(sum(read) / max(1, len(read))), _USUAL_ANSWER)


def _tokens_of(messages: Sequence[BaseMessage]) -> int:
    return sum(estimated_tokens(message.text) for message in messages)


@dataclass(frozen=True)
class _PassWork:
    """One request and its questions."""

    first: int
    """The request's number in the plan; its questions follow."""
    character: Character
    place: int
    """Index of the request among the character's requests."""
    most: int
    """The most questions to answer."""

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + 1 + self.most)

    @property
    def state(self) -> PassState:
        return pass_state(self.character, self.place, first=self.first, most=self.most)

    def item_keys(self) -> list[str]:
        state = self.state
        return [wanted["key"] for wanted in (state["wanted"], *state["wanted_answers"])]


class _ContextPlan:
    """All works of a run, in their order."""

    def __init__(self, request: ContextRequest) -> None:
        characters = {one.persona.id: one for one in request.characters}
        self.request = request
        self.characters = tuple(characters.values())

    def __iter__(self) -> Iterator[_PassWork]:
        """Works of one character after another, within the limit of questions."""
        first = 0
        for character in self.characters:
            left = self.request.limit
            for place in range(len(character.passes)):
                most = self.request.questions if left is None else min(left, self.request.questions)
                if most == 0:
                    break
                yield _PassWork(first, character, place, most)
                first += 1 + most
                left = None if left is None else left - most

    def keys(self) -> Iterator[str]:
        return (key for work in self for key in work.item_keys())


async def _run_all(works: _ContextPlan, model_name: str, generation: Generation) -> None:
    """Process every unfinished work through its character's graph."""

    async def run_pass(work: tuple[_CharacterQuestions, _PassWork]) -> None:
        generator, asked = work
        await generator.graph.ainvoke(asked.state)

    def pending_works() -> Iterator[tuple[_CharacterQuestions, _PassWork]]:
        generator: _CharacterQuestions | None = None
        for work in works:
            if all(number in generation.finished for number in work.numbers):
                continue
            # Works of one character are consecutive, so only one generator is in memory.
            if generator is None or generator.character is not work.character:
                generator = _CharacterQuestions(work.character, works.request, generation, model_name)
            yield generator, work

    await generation.work_through(pending_works(), run_pass)


class _CharacterQuestions:
    """Asks one character and answers for it."""

    def __init__(
        self, character: Character, request: ContextRequest, maker: ItemMaker, model_name: str
    ) -> None:
        self.character = character
        self._count = request.questions
        self._attributes = request.attributes
        self._seed = request.seed
        self._prompts = ContextPrompts(character.persona, guided=request.guided)
        self._maker = maker
        self._model_name = model_name
        self.graph = context_graph(self._ask, self._answer)

    def _drawn(self, place: int) -> Drawn | None:
        """The attributes of the visitor of one request."""
        if self._attributes is None:
            return None
        persona, asked = self.character.persona, self.character.passes[place]
        return self._attributes.draw(persona.language, f"{persona.id}/{asked.key}", seed=self._seed)

    async def _ask(self, place: int, wanted: PlannedItem, most: int) -> list[dict[str, Any]]:
        asked = self.character.passes[place]
        attributes = self._drawn(place)
        await asyncio.to_thread(self._prompts.prepare)

        async def make() -> dict[str, Any]:
            seed = seed_of(self._seed, wanted["key"])
            messages = self._prompts.asking(asked, self._count, attributes)
            used = self._prompts.asking_prompts(asked, with_attributes=attributes is not None)
            form = self._prompts.form(asked, self._count)
            most = _QUESTION_TOKENS * self._count
            reply = await self._maker.calls.fill(messages, form, seed=seed, at_least=most)
            return {
                **self._prompts.questions_of(asked, reply.text, self._count, attributes),
                **made_by(self._model_name, used, reply, seed),
            }

        item = await self._maker.item(wanted["number"], wanted["key"], make)
        if item is None:
            return []
        questions: list[dict[str, Any]] = item["questions"][:most]
        self._maker.expect(len(questions) - most)
        return questions

    async def _answer(self, task: AnswerTask) -> dict[str, Any] | None:
        asked, wanted = self.character.passes[task["place"]], task["wanted"]
        question = GeneratedQuestion(**task["question"])

        async def make() -> dict[str, Any]:
            seed = seed_of(self._seed, wanted["key"])
            messages = self._prompts.answering(asked, question, seed)
            reply = await self._maker.calls.say(messages, seed=seed)
            return {
                **self._prompts.answer_of(
                    asked,
                    question,
                    reply.text,
                    unfinished=reply.unfinished,
                    attributes=self._drawn(task["place"]),
                ),
                **made_by(self._model_name, self._prompts.answering_prompts(asked), reply, seed),
            }

        item: dict[str, Any] | None = await self._maker.item(wanted["number"], wanted["key"], make)
        return item


def _file_rows(works: _ContextPlan, finished: FinishedItems) -> Iterator[SampleRow]:
    """The rows of the files by character, because duplicates are detected among one character's rows."""
    for _, held in groupby(works, key=lambda work: work.character.persona.id):
        items = (finished.get(number) for work in held for number in work.numbers)
        yield from context_rows([item for item in items if item is not None])


def _config(request: ContextRequest, model_name: str, model: BaseChatModel) -> Mapping[str, Any]:
    personas = [one.persona for one in request.characters]
    prompts = [prompt for persona in personas for prompt in context_prompts(persona)]
    if request.guided:
        prompts += [prompt for persona in personas for prompt in guiding_prompts(persona.language)]
    if request.attributes:
        prompts += [load_prompt(ATTRIBUTES, persona.language) for persona in personas]
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
        # Earlier versions had none, and their runs can be resumed.
        **({"attributes": digest_of(request.attributes.model_dump_json())} if request.attributes else {}),
        "seed": request.seed,
        "model": model_name,
        "sampling": describe_sampling(model),
        "prompts": sorted({prompt.name for prompt in prompts}),
    }
