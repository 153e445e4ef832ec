"""The replies of an evaluation: each model under each strategy answers the same questions, concurrently."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets import Sample
from rolellm_agents.datasets.keys import question_key, role_key
from rolellm_agents.evaluation import System
from rolellm_agents.evaluation.speakers import RolePersonas
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import RecallOptions
from rolellm_agents.runs.items import FinishedItems
from rolellm_graphs.runs.items import Failures, Generation, RunCallbacks, RunLimits, prepared
from rolellm_graphs.runs.model_calls import ModelReply


@dataclass(frozen=True)
class SystemUnderTest:
    """A model and its name in the run."""

    name: str
    model: BaseChatModel


@dataclass(frozen=True)
class PlannedReply:
    """One reply of the plan."""

    number: int
    """The reply's index in the plan."""
    key: str
    system: System
    sample: Sample
    persona: Persona


class ReplyPlan:
    """All replies of a run, in the order of generation.

    They are sorted by model, so that only one is in memory, then by persona and strategy, so that
    consecutive prompts share a prefix.
    """

    def __init__(
        self,
        models: Sequence[str],
        strategies: Mapping[str, str | Strategy],
        asked: Sequence[Sample],
        speakers: RolePersonas,
    ) -> None:
        """Plan the replies.

        Args:
            models: unique names.
            strategies: by the names in records.
            asked: the questions; duplicates are asked once.
            speakers: a persona for each role.
        """
        self.models = models
        self.systems = [System(model, strategy) for model in models for strategy in strategies]
        self.speakers = speakers
        self.strategies = strategies
        different = list({_question(sample): sample for sample in asked}.values())
        roles = {key: place for place, key in enumerate(dict.fromkeys(role_key(one.role) for one in asked))}
        self._samples = sorted(different, key=lambda sample: roles[role_key(sample.role)])
        self.size = sum(1 for _ in self.keys())

    def replies(self) -> Iterator[PlannedReply]:
        """All replies."""
        number = 0
        for model in self.models:
            for _, group in groupby(self._samples, key=lambda sample: role_key(sample.role)):
                samples = list(group)
                for strategy in self.strategies:
                    system = System(model, strategy)
                    for sample in samples:
                        persona = self.speakers.of(sample)
                        if persona is not None:
                            yield PlannedReply(number, reply_key(system, sample), system, sample, persona)
                            number += 1

    def keys(self) -> Iterator[str]:
        """The keys of all replies."""
        return (planned.key for planned in self.replies())


def reply_key(system: System, sample: Sample) -> str:
    """The key of a system's reply to a question in a run."""
    return "/".join((*system, *_question(sample)))


def _question(sample: Sample) -> tuple[str, str, str]:
    return sample.kind, sample.role, question_key(sample.question)


class ReplyMaker:
    """Makes a run's replies."""

    def __init__(
        self,
        plan: ReplyPlan,
        finished: FinishedItems,
        *,
        recall: RecallOptions,
        own_store: Path,
        seed: int,
    ) -> None:
        """Prepare the calls.

        `own_store` is a Chroma folder for personas that differ from those of the user's chats.
        """
        self._plan = plan
        self._finished = finished
        self._recall = recall
        self._own_recall = replace(recall, chroma_folder=own_store)
        self._seed = seed

    async def run(self, system: SystemUnderTest, limits: RunLimits, callbacks: RunCallbacks) -> Failures:
        """Make the missing replies of one model.

        Raises:
            StorageError: the disk is full or read-only; finished items are kept.
            ModelError: the model cannot be loaded.
        """
        # A copy, so that its weights are freed afterwards: the next model may need the memory.
        model = prepared(system.model, limits.at_once).model_copy()
        generation = Generation(self._finished, model, limits, callbacks)
        generation.expect(self._plan.size)
        await generation.work_through(
            self._missing(system.name), lambda work: self._make(generation, *work)
        )
        return generation.failures

    def _missing(self, model: str) -> Iterator[tuple[PlannedReply, Prompting]]:
        """The missing replies of a model; those of one persona and strategy share a `Prompting`."""
        open_items = (
            planned
            for planned in self._plan.replies()
            if planned.system.model == model and planned.number not in self._finished
        )
        for _, group in groupby(open_items, key=lambda one: (role_key(one.sample.role), one.system)):
            first, *others = group
            prompting = self._prompting(first)
            for planned in (first, *others):
                yield planned, prompting

    def _prompting(self, planned: PlannedReply) -> Prompting:
        known = self._plan.speakers.is_as_it_was(planned.sample.role)
        return Prompting(
            with_macros(planned.persona, DEFAULT_USER),
            self._plan.strategies[planned.system.strategy],
            user=DEFAULT_USER,
            recall=self._recall if known else self._own_recall,
        )

    async def _make(self, generation: Generation, planned: PlannedReply, prompting: Prompting) -> None:
        async def make() -> dict[str, Any]:
            started = time.perf_counter()
            found = await prompting.look_up_async([], planned.sample.question, {}, seed=self._seed)
            messages = prompting.compose([], found.recalled, planned.sample.question)
            reply = await generation.calls.say(messages, seed=self._seed)
            return _item(planned, reply, [one["why"] for one in found.recalled], started)

        await generation.item(planned.number, planned.key, make)


def _item(
    planned: PlannedReply, reply: ModelReply, recalled: Sequence[str], started: float
) -> dict[str, Any]:
    """The recorded item of a reply."""
    return {
        "model": planned.system.model,
        "strategy": planned.system.strategy,
        "kind": planned.sample.kind,
        "role": planned.sample.role,
        "persona": planned.persona.id,
        "question": planned.sample.question,
        "recalled": list(recalled),
        "reply": reply.text.strip(),
        "cut": reply.unfinished,
        "tokens": {"read": reply.tokens.read, "written": reply.tokens.written},
        "reused": reply.reused,
        "seconds": round(time.perf_counter() - started, 3),
        "ended": round(time.time(), 3),
    }
