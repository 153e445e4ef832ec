"""The replies of a benchmark: each model under each strategy is asked the same questions, many at once."""

import time
from collections.abc import Iterator, Sequence
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
from rolellm_agents.recall import RecallOptions
from rolellm_agents.runs.items import FinishedItems
from rolellm_graphs.runs.items import Failures, Generation, RunCallbacks, RunLimits, prepared
from rolellm_graphs.runs.model_calls import ModelReply


@dataclass(frozen=True)
class SystemUnderTest:
    """A model that takes part, and what the run calls it."""

    name: str
    model: BaseChatModel


@dataclass(frozen=True)
class PlannedReply:
    """One reply that is to be made."""

    number: int
    """Among all of the run."""
    key: str
    system: System
    sample: Sample
    persona: Persona


class ReplyPlan:
    """All replies of a run, in the order in which they are made.

    One model after the other, so that only one is in memory; of each, persona by persona and strategy by
    strategy, so that prompts begin as the one before did.
    """

    def __init__(
        self,
        models: Sequence[str],
        strategies: Sequence[str],
        asked: Sequence[Sample],
        speakers: RolePersonas,
    ) -> None:
        """Know who answers what.

        Args:
            models: their names, each once.
            strategies: each once.
            asked: the questions; one that stands twice is asked once.
            speakers: a persona for each role that is asked.
        """
        self.models = models
        self.systems = [System(model, strategy) for model in models for strategy in strategies]
        self.speakers = speakers
        self._strategies = strategies
        different = list({_question(sample): sample for sample in asked}.values())
        roles = {key: place for place, key in enumerate(dict.fromkeys(role_key(one.role) for one in asked))}
        self._samples = sorted(different, key=lambda sample: roles[role_key(sample.role)])
        self.size = sum(1 for _ in self.keys())

    def wanted(self) -> Iterator[PlannedReply]:
        """Every reply."""
        number = 0
        for model in self.models:
            for _, group in groupby(self._samples, key=lambda sample: role_key(sample.role)):
                samples = list(group)
                for strategy in self._strategies:
                    system = System(model, strategy)
                    for sample in samples:
                        persona = self.speakers.of(sample)
                        if persona is not None:
                            yield PlannedReply(number, reply_key(system, sample), system, sample, persona)
                            number += 1

    def keys(self) -> Iterator[str]:
        """Of every reply."""
        return (wanted.key for wanted in self.wanted())


def reply_key(system: System, sample: Sample) -> str:
    """By which a run keeps a system's reply to a question."""
    return "/".join((*system, *_question(sample)))


def _question(sample: Sample) -> tuple[str, str, str]:
    return sample.kind, sample.role, question_key(sample.question)


class Answering:
    """The making of a run's replies."""

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

        Args:
            plan: what is to be made.
            finished: what is there already.
            recall: how passages are looked up.
            own_store: where vectors of personas go that are not as the user's own chats know them.
            seed: sampling seed.
        """
        self._plan = plan
        self._finished = finished
        self._recall = recall
        self._own_recall = replace(recall, chroma_folder=own_store)
        self._seed = seed

    async def run(self, system: SystemUnderTest, limits: RunLimits, callbacks: RunCallbacks) -> Failures:
        """Make those replies of one model that are missing.

        Raises:
            StorageError: the disk is full or read-only; finished items are kept.
            ModelError: the model cannot be loaded.
        """
        # What a copy loads goes with it: the next model may need the memory.
        model = prepared(system.model, limits.at_once).model_copy()
        generation = Generation(self._finished, model, limits, callbacks)
        generation.expect(self._plan.size)
        await generation.work_through(
            self._missing(system.name), lambda work: self._make(generation, *work)
        )
        return generation.failures

    def _missing(self, model: str) -> Iterator[tuple[PlannedReply, Prompting]]:
        """What is left of a model's replies; one persona under one strategy looks up in one place."""
        open_items = (
            wanted
            for wanted in self._plan.wanted()
            if wanted.system.model == model and wanted.number not in self._finished
        )
        for _, group in groupby(open_items, key=lambda one: (role_key(one.sample.role), one.system)):
            first, *others = group
            prompting = self._prompting(first)
            for wanted in (first, *others):
                yield wanted, prompting

    def _prompting(self, wanted: PlannedReply) -> Prompting:
        known = self._plan.speakers.is_as_it_was(wanted.sample.role)
        return Prompting(
            with_macros(wanted.persona, DEFAULT_USER),
            wanted.system.strategy,
            user=DEFAULT_USER,
            recall=self._recall if known else self._own_recall,
        )

    async def _make(self, generation: Generation, wanted: PlannedReply, prompting: Prompting) -> None:
        async def make() -> dict[str, Any]:
            began = time.perf_counter()
            found = prompting.look_up([], wanted.sample.question, {}, seed=self._seed)
            messages = prompting.compose([], found.recalled, wanted.sample.question)
            reply = await generation.calls.say(messages, seed=self._seed)
            return _item(wanted, reply, [one["why"] for one in found.recalled], began)

        await generation.item(wanted.number, wanted.key, make)


def _item(wanted: PlannedReply, reply: ModelReply, recalled: Sequence[str], began: float) -> dict[str, Any]:
    """What the run keeps of a reply."""
    return {
        "model": wanted.system.model,
        "strategy": wanted.system.strategy,
        "kind": wanted.sample.kind,
        "role": wanted.sample.role,
        "persona": wanted.persona.id,
        "question": wanted.sample.question,
        "recalled": list(recalled),
        "reply": reply.text.strip(),
        "cut": reply.unfinished,
        "tokens": {"read": reply.tokens.read, "written": reply.tokens.written},
        "reused": reply.reused,
        "seconds": round(time.perf_counter() - began, 3),
        "ended": round(time.time(), 3),
    }
