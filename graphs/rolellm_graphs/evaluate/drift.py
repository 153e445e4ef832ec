"""Measures persona drift over conversations of several turns.

The questions come from a fixed course, or a model asks them in reaction to the answers. The conversations
are recorded in a run and judged afterwards.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets.writing import json_line
from rolellm_agents.errors import ModelError, SettingsError, StorageError
from rolellm_agents.evaluation.drift import PlannedQuestion, load_course, planned_questions
from rolellm_agents.evaluation.drift.results import DriftConversation, DriftResult, scored_line
from rolellm_agents.files.atomic_write import write_atomically, writing_atomically
from rolellm_agents.generation.instructions import bundled_instructions
from rolellm_agents.judging import ConversationTurn, Judged, ReplyJudge
from rolellm_agents.judging.recorded import read_verdicts
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.prompting.strategies import Strategy, get_strategy, strategy_name, strategy_packages
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.folder import Run, open_run
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of, seed_of
from rolellm_graphs.evaluate.judging import FOLDER, NamedJudge
from rolellm_graphs.evaluate.predictions import SystemUnderTest
from rolellm_graphs.judge.graph import judge_replies
from rolellm_graphs.runs.items import Failures, Generation, RunCallbacks, RunLimits, prepared

TURNS: Final = 10
INTERVIEWS: Final = 7
"""Conversations of each persona: as many as the course rotates questions through all positions."""
RESULTS: Final = "results.json"
SCORED: Final = "interviews.jsonl"


@dataclass(frozen=True, kw_only=True)
class DriftRequest:
    """The settings of a drift evaluation."""

    personas: tuple[Persona, ...]
    strategy: str | Strategy = "system"
    """A strategy or its name."""
    turns: int = TURNS
    interviews: int = INTERVIEWS
    interviewer: SystemUnderTest | None = None
    """A model that asks the questions; the bundled course when None."""
    probes: tuple[int, ...] = ()
    """Turns at which the course's closing questions end; at the last turn when empty."""
    seed: int = 0


@dataclass(frozen=True)
class _PlannedConversation:
    """One planned conversation."""

    number: int
    """The index among all conversations of the run."""
    key: str
    model: str
    persona: Persona
    nth: int
    """The index among the persona's conversations."""


async def run_drift(
    request: DriftRequest,
    systems: Sequence[SystemUnderTest],
    *,
    folder: Path,
    judge: NamedJudge | None = None,
    limits: RunLimits | None = None,
    callbacks: RunCallbacks | None = None,
) -> DriftResult:
    """Run the missing conversations and judge their answers.

    The systems answer one after the other. A stopped run resumes in its folder; the judge of single replies
    may change between starts.

    Raises:
        SettingsError: no persona or model is given, or the strategy is unknown.
        JudgingError: the probes do not fit into the turns.
        ModelError: a model cannot be loaded; finished items are kept.
        StorageError: the folder cannot be written, or contains another run.
    """
    limits, callbacks = limits or RunLimits(), callbacks or RunCallbacks()
    systems = list({one.name: one for one in systems}.values())
    _check(request, systems)
    planned = [*_planned(request, systems)]
    config = _config(request, systems, limits)
    with open_run(folder, config, in_memory=False) as run:
        run.reopen()
        finished = FinishedItems(run, lambda: (one.key for one in planned))
        failures = Failures()
        for system in systems:
            failed = await _converse_all(request, system, planned, finished, limits, callbacks)
            failures.count += failed.count
            failures.first = failures.first or failed.first
        conversations = [
            _recorded(one, finished.get(one.number)) for one in planned if one.number in finished
        ]
        verdicts, judge_failure = await _judge(conversations, judge, folder, limits, callbacks)
        result = DriftResult(
            config=config,
            complete=len(conversations) == len(planned) and not judge_failure,
            failed=failures.count,
            first_failure=failures.first,
            interviews=[one.with_verdicts(verdicts) for one in conversations],
            notes=[judge_failure] if judge_failure else [],
        )
        _write(run, result, judge)
    return result


def run_name(request: DriftRequest, models: Sequence[str], at_once: int, max_tokens: int | None) -> str:
    """The default folder name of a run with these settings."""
    settings = json.dumps([_settings(request), list(models), at_once, max_tokens], sort_keys=True)
    return f"interviews-{digest_of(settings)[:8]}"


def _check(request: DriftRequest, systems: Sequence[SystemUnderTest]) -> None:
    get_strategy(request.strategy)
    for given, what in ((systems, "model"), (request.personas, "persona")):
        if not given:
            raise SettingsError(f"No {what} is named; name at least one.")
    course = load_course(request.personas[0].language)
    more = [one.text for one in bundled_instructions().of(request.personas[0].language)]
    planned_questions(course, turns=request.turns, number=0, persona="", more=more, probes=request.probes)


def _planned(request: DriftRequest, systems: Sequence[SystemUnderTest]) -> Iterator[_PlannedConversation]:
    personas = {one.id: one for one in request.personas}.values()
    number = 0
    for system in systems:
        for persona in personas:
            for nth in range(request.interviews):
                key = f"{system.name}/{persona.id}/{nth}"
                yield _PlannedConversation(
                    number, key, system.name, with_macros(persona, DEFAULT_USER), nth
                )
                number += 1


async def _converse_all(
    request: DriftRequest,
    system: SystemUnderTest,
    planned: Sequence[_PlannedConversation],
    finished: FinishedItems,
    limits: RunLimits,
    callbacks: RunCallbacks,
) -> Failures:
    """Run the missing conversations of one model."""
    model = prepared(system.model, limits.at_once).model_copy()
    generation = Generation(finished, model, limits, callbacks)
    interviewer = generation
    if request.interviewer is not None:
        asks = prepared(request.interviewer.model, limits.at_once).model_copy()
        interviewer = Generation(finished, asks, limits, RunCallbacks())
    generation.expect(len(planned))

    async def converse(one: _PlannedConversation) -> None:
        async def make() -> dict[str, Any]:
            return await _Conversation(request, one, generation, interviewer).converse()

        await generation.item(one.number, one.key, make)

    await generation.work_through((one for one in planned if one.model == system.name), converse)
    return generation.failures


class _Conversation:
    """One running conversation."""

    def __init__(
        self,
        request: DriftRequest,
        one: _PlannedConversation,
        generation: Generation,
        interviewer: Generation,
    ) -> None:
        self._request = request
        self._one = one
        self._calls, self._interviewer_calls = generation.calls, interviewer.calls
        self._seed = seed_of(request.seed, one.key)
        self._prompting = Prompting(one.persona, request.strategy, user=DEFAULT_USER)
        self._history: list[BaseMessage] = []
        self._tokens = Tokens()

    async def converse(self) -> dict[str, Any]:
        """The complete conversation as the item that the run records."""
        started = time.perf_counter()
        turns = [await self._turn(turn) for turn in range(self._request.turns)]
        return {
            "model": self._one.model,
            "strategy": self._prompting.strategy,
            "persona": self._one.persona.id,
            "name": self._one.persona.name,
            "language": self._one.persona.language,
            "nth": self._one.nth,
            "turns": turns,
            "tokens": {"read": self._tokens.read, "written": self._tokens.written},
            "seconds": round(time.perf_counter() - started, 3),
        }

    async def _turn(self, turn: int) -> dict[str, Any]:
        asked = await self._question(turn)
        found = await self._prompting.look_up_async(self._history, asked.text, {}, seed=self._seed)
        messages = self._prompting.compose(self._history, found.recalled, asked.text)
        reply = await self._calls.say(messages, seed=self._seed)
        self._tokens += reply.tokens
        said = reply.text.strip()
        self._history += [HumanMessage(asked.text), AIMessage(said or "…")]
        return {**asked.model_dump(mode="json"), "reply": said, "cut": reply.unfinished}

    async def _question(self, turn: int) -> PlannedQuestion:
        course = self._course()
        if self._request.interviewer is None or turn == 0:
            return course[turn]
        reply = await self._interviewer_calls.say(self._interviewer_view(), seed=self._seed + turn)
        self._tokens += reply.tokens
        # An empty question is replaced by the course's.
        text = " ".join(reply.text.split())
        return PlannedQuestion(id=f"asked-{turn}", text=text) if text else course[turn]

    def _course(self) -> list[PlannedQuestion]:
        persona = self._one.persona
        return planned_questions(
            load_course(persona.language),
            turns=self._request.turns,
            number=self._one.nth,
            persona=persona.id,
            seed=self._request.seed,
            more=[one.text for one in bundled_instructions().of(persona.language)],
            probes=self._request.probes,
        )

    def _interviewer_view(self) -> list[BaseMessage]:
        """The conversation with swapped roles, in which the interviewer is the assistant."""
        persona = self._one.persona
        prompt = load_prompt("interviewer-asks", persona.language).fill(
            visitor=load_prompt("interviewer-name", persona.language).text,
            about=load_prompt("interviewer-about", persona.language).text,
            goal=load_prompt("interviewer-goal", persona.language).fill(name=persona.name),
            name=persona.name,
        )
        turned = [
            HumanMessage(one.text) if isinstance(one, AIMessage) else AIMessage(one.text)
            for one in self._history
        ]
        # Chat templates require the user's turn first.
        return [SystemMessage(prompt), HumanMessage(persona.name), *turned]


def _recorded(one: _PlannedConversation, item: Mapping[str, Any]) -> DriftConversation:
    return DriftConversation.of(one.key, one.persona, item)


async def _judge(
    conversations: Sequence[DriftConversation],
    judge: NamedJudge | None,
    folder: Path,
    limits: RunLimits,
    callbacks: RunCallbacks,
) -> tuple[Sequence[Any], str]:
    """All verdicts, and the reason why the judge stopped early; empty if it did not."""
    if judge is None or not conversations:
        return [], ""
    if not hasattr(judge.judge, "judge"):
        raise SettingsError(f"The judge {judge.name!r} compares replies; likelihood or rubric judge one.")
    back = 1 if judge.name == "likelihood" else None
    items = [
        Judged(key=key, persona=one.persona, turns=turns, reply=reply)
        for one in conversations
        for key, turns, reply in _judged_turns(one, back)
    ]
    own = folder / FOLDER / judge.name
    callbacks.notice(f"The judge {judge.name} is running.")
    try:
        return await judge_replies(
            [cast(ReplyJudge, judge.judge)],
            items,
            folder=own,
            config={**judge.config, "turns_before": back},
            at_once=limits.at_once,
            progress=callbacks.progress,
        ), ""
    except ModelError as error:
        return read_verdicts(own).verdicts, f"The judge {judge.name} stopped: {error}"


def _judged_turns(
    one: DriftConversation, back: int | None
) -> Iterator[tuple[str, tuple[ConversationTurn, ...], str]]:
    """Each answer's key, the turns before it for the judge, and the answer.

    Args:
        one: the conversation.
        back: the number of turns before the answer that the judge reads; None for all. The likelihood judge
            reads only the question: earlier answers would also reveal the speaker to its unconditional
            prompt, and lower the gain of every answer.
    """
    said: list[ConversationTurn] = []
    for turn, answer in enumerate(one.answers, 1):
        said.append(ConversationTurn("user", answer.question))
        yield one.turn_key(turn), tuple(said[-back:] if back else said), answer.reply
        said.append(ConversationTurn("persona", answer.reply))


def _settings(request: DriftRequest) -> dict[str, Any]:
    languages = sorted({one.language for one in request.personas})
    packages = strategy_packages([strategy_name(request.strategy)])
    return {
        "personas": {
            one.id: digest_of(one.model_dump_json())
            for one in sorted(request.personas, key=lambda persona: persona.id)
        },
        "strategy": strategy_name(request.strategy),
        **({"packages": packages} if packages else {}),
        "turns": request.turns,
        **({"probes": list(request.probes)} if request.probes else {}),
        "interviews": request.interviews,
        "interviewer": request.interviewer.name if request.interviewer else None,
        "asked": [load_course(language).name for language in languages]
        + [load_prompt("interviewer-asks", language).name for language in languages if request.interviewer],
        "seed": request.seed,
    }


def _config(request: DriftRequest, systems: Sequence[SystemUnderTest], limits: RunLimits) -> dict[str, Any]:
    asks = request.interviewer
    return {
        "benchmark": "interviews",
        **_settings(request),
        "models": {one.name: describe_sampling(one.model) for one in systems},
        "interviewer_sampling": describe_sampling(asks.model) if asks else None,
        "at_once": limits.at_once,
    }


def _write(run: Run, result: DriftResult, judge: NamedJudge | None) -> None:
    with writing_atomically(run.folder / SCORED, StorageError) as out:
        for one in result.interviews:
            out.write(json_line(scored_line(one)))
    files = {
        "replies": "items.jsonl",
        "scored": SCORED,
        "judges": {judge.name: f"{FOLDER}/{judge.name}"} if judge else {},
    }
    content = json.dumps({**result.to_json(), "files": files}, ensure_ascii=False, indent=2)
    write_atomically(run.folder / RESULTS, f"{content}\n", StorageError)
    if result.complete:
        run.finish({"interviews": len(result.interviews)})
