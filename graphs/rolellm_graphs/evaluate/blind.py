"""Answers for a blind reading: each system answers the same turns of conversations."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.errors import ModelError
from rolellm_agents.evaluation.blind.questions import OpenQuestion
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.runs.folder import open_run
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of, seed_of
from rolellm_graphs.evaluate.answering import AnsweringSystem
from rolellm_graphs.runs.items import Generation, RunCallbacks, RunLimits, prepared


async def collect_answers(
    systems: Sequence[AnsweringSystem],
    questions: Sequence[OpenQuestion],
    *,
    folder: Path,
    seed: int = 0,
    limits: RunLimits | None = None,
    callbacks: RunCallbacks | None = None,
) -> dict[str, dict[str, str]]:
    """Let every system answer every question. A stopped run resumes in its folder.

    Returns:
        For each system the answers by the questions' keys.

    Raises:
        ModelError: a model cannot be loaded or fails; finished answers are kept.
        StorageError: the folder cannot be written, or contains another run.
    """
    limits, callbacks = limits or RunLimits(), callbacks or RunCallbacks()
    keys = [f"{system.name}/{question.key}" for system in systems for question in questions]
    with open_run(folder, _config(systems, questions, seed), in_memory=False) as run:
        finished = FinishedItems(run, lambda: keys)
        for place, system in enumerate(systems):
            model = prepared(system.model, limits.at_once).model_copy()
            generation = Generation(finished, model, limits, callbacks)
            generation.expect(len(keys))
            numbered = enumerate(questions, place * len(questions))
            open_works = ((number, one) for number, one in numbered if number not in finished)
            await generation.work_through(open_works, _maker(generation, system, keys, seed))
            if generation.failures.count:
                raise ModelError(
                    f"{generation.failures.count} answers of {system.name} failed; run the command again "
                    f"to try them once more. The first failure: {generation.failures.first}"
                )
        answers = {
            system.name: {
                question.key: finished.get(place * len(questions) + number)["reply"]
                for number, question in enumerate(questions)
            }
            for place, system in enumerate(systems)
        }
        run.finish({"answers": len(keys)})
    return answers


Work = tuple[int, OpenQuestion]


def _maker(
    generation: Generation, system: AnsweringSystem, keys: Sequence[str], seed: int
) -> Callable[[Work], Awaitable[None]]:
    async def make(work: Work) -> None:
        number, question = work

        async def reply() -> dict[str, Any]:
            messages = await asyncio.to_thread(_prompt, question, system.strategy)
            said = await generation.calls.say(messages, seed=seed_of(seed, question.key))
            return {
                "reply": said.text.strip(),
                "tokens": {"read": said.tokens.read, "written": said.tokens.written},
                "seconds": said.seconds,
            }

        await generation.item(number, keys[number], reply)

    return make


def _prompt(question: OpenQuestion, strategy: str) -> list[BaseMessage]:
    prompting = Prompting(with_macros(question.persona, DEFAULT_USER), strategy, user=DEFAULT_USER)
    history: list[BaseMessage] = [
        HumanMessage(turn.text) if turn.speaker == "user" else AIMessage(turn.text)
        for turn in question.turns[:-1]
    ]
    line = question.turns[-1].text
    recalled = prompting.look_up(history, line, {}, seed=0).recalled
    return prompting.compose(history, recalled, line)


def _config(
    systems: Sequence[AnsweringSystem], questions: Sequence[OpenQuestion], seed: int
) -> dict[str, Any]:
    asked = "\n".join(f"{one.key} {one.turns} {one.persona.model_dump_json()}" for one in questions)
    return {
        "evaluation": "reading",
        "systems": {
            one.name: {"strategy": one.strategy, **describe_sampling(one.model)} for one in systems
        },
        "questions": digest_of(asked),
        "seed": seed,
    }
