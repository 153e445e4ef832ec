"""No character ever reads what it has not witnessed: over thousands of random scenes, in any prompt.

Each private thing has a word that stands nowhere else (`helpers.canaries`). Ten thousand scenes are played
by the graph's own nodes without LangGraph and without models, which is quick; some hundred more by the
whole graph and by stages.
"""

import os
import random
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from helpers.canaries import (
    CANARY,
    DIRECTOR,
    Canaries,
    Planted,
    leaked,
    meant_for,
    planted_scene,
    there_after,
    words,
    words_in,
)
from langchain_core.messages import AIMessage, BaseMessage

from rolellm_agents.errors import MessageError
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.recall import RecallOptions
from rolellm_agents.scene import NARRATOR, LoadedScene, SceneLine
from rolellm_agents.scene import events as happenings_module
from rolellm_agents.scene import summaries as summaries_module
from rolellm_agents.scene import view as view_module
from rolellm_agents.scene.events import ScheduledEvent, due_lines, event_line, join_event, leave_event
from rolellm_agents.scene.line import Summary
from rolellm_agents.scene.view import instruction_for
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.message import Kind
from rolellm_graphs.events import SceneEvent, TurnFailed
from rolellm_graphs.role.context import RoleContext
from rolellm_graphs.scene import directing as directing_module
from rolellm_graphs.scene import narrating as narrating_module
from rolellm_graphs.scene import speaking as speaking_module
from rolellm_graphs.scene.directing import director_node
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.graph import staged_scene_graph
from rolellm_graphs.scene.narrating import narrator_node
from rolellm_graphs.scene.speaking import remember_node, speak_node
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine, SceneContext, SceneInput

TURNS: tuple[Kind, ...] = ("say", "say", "act", "whisper", "think", "sign", "pray", "shout")
TOLD: tuple[Kind, ...] = ("narrate", "say", "whisper", "sign")
KINDS = (*TURNS, "narrate", "join", "leave")
SCENES = int(os.environ.get("ROLELLM_TEST_SCENES", "10000"))
ROOM = 60
"""Words that a seat's model can hold of a scene: little, so that there are summaries."""


class Ear:
    """In place of a model: tells the play what it was sent, and answers at once."""

    def __init__(self, told: Callable[[str, Sequence[BaseMessage]], str], reader: str) -> None:
        self._told = told
        self._reader = reader

    def invoke(self, messages: Sequence[BaseMessage], config: object = None, **options: Any) -> AIMessage:
        return AIMessage(self._told(self._reader, messages))

    def with_structured_output(self, form: object) -> None:
        raise NotImplementedError


class Voice:
    """In place of a voice: its role graph composes the prompt and asks an ear."""

    model_name, strategy = "ear", "system"

    def __init__(self, prompting: Prompting, ear: Ear) -> None:
        self.prompting = prompting
        self.model = ear
        self.graph = self

    def invoke(
        self, said: Mapping[str, Any], context: RoleContext, output_keys: Sequence[str]
    ) -> dict[str, Any]:
        *history, last = said["messages"]
        found = self.prompting.look_up(history, last.text, said["lore"], seed=context.seed)
        prompt = self.prompting.compose(history, found.recalled, last.text, scene=context.scene)
        return {"messages": [self.model.invoke(prompt)], "recalled": found.recalled, "lore": found.lore}


class Play:
    """One random scene, played by the graph's nodes; it notes what was read by whom."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)
        self.canaries = Canaries()
        self.planted: Planted = planted_scene(self.chance, self.canaries)
        self.loaded = self.planted.loaded
        self.scene = self.loaded.scene
        self.lines: list[SceneLine] = []
        self.heard: list[dict[str, frozenset[str]]] = []
        """Who may read the words of each line, by the line."""
        self.leaks: list[tuple[str, str]] = []
        self.seen: Counter[str] = Counter()
        self._asked_of: list[str] = []
        self._found: set[str] = set()
        ensemble = cast(Ensemble, self._players())
        seed_of = lambda: 1  # noqa: E731
        persons = frozenset(seat for seat in self.loaded.seats if self.chance.random() < 0.2)
        self._direct = director_node(ensemble, seed_of=seed_of, persons_of=lambda: persons)
        self._narrate = narrator_node(ensemble, seed_of=seed_of, persons_of=lambda: persons)
        self._remember = remember_node(ensemble, seed_of=seed_of)
        self._speak = speak_node(ensemble, seed_of=seed_of)

    def _players(self) -> SimpleNamespace:
        voices = {seat: self._voice(seat) for seat in self.loaded.seats}
        return SimpleNamespace(
            loaded=self.loaded,
            voices=voices,
            director_kind=self.scene.director.kind,
            director=Ear(self._told, DIRECTOR),
            narrator=Ear(self._told, NARRATOR),
            room=lambda seat: ROOM,
            count=lambda seat, text: len(text.split()) + len(text) // 8,
        )

    def _voice(self, seat: str) -> Voice:
        prompting = Prompting(
            self.loaded.personas[seat],
            self.loaded.seats[seat].strategy or "system",
            user="You",
            lorebooks=[self.planted.world],
            recall=RecallOptions(method="bm25"),
            memories=self.planted.memories.get(seat, ()),
        )
        return Voice(prompting, Ear(self._told, seat))

    @property
    def there(self) -> set[str]:
        return there_after(self.scene, self.lines)

    def _told(self, reader: str, messages: Sequence[BaseMessage]) -> str:
        """A model was asked. It answers with all that it may know, and a word of its own."""
        found = words_in(messages)
        heard = {word: readers for line in self.heard for word, readers in line.items()}
        there = self.there
        self.leaks += [
            (reader, word) for word in leaked(found, reader, self.canaries.readers, heard, there)
        ]
        self.seen[f"prompts of the {reader}" if reader in (DIRECTOR, NARRATOR) else "prompts"] += 1
        self._found = set(found)
        if reader == DIRECTOR:
            return f'{{"next": "{self.loaded.names[self.chance.choice(sorted(there))]}"}}'
        return '{"want": 5} ' + " ".join([*found, self.canaries.new()])

    # What can happen

    def play(self, steps: int) -> None:
        self.unfold()
        for _ in range(steps):
            step = self.chance.choices(
                (self.turn, self.come, self.go, self.tell, self.go_back), (12, 1, 1, 1, 1.5)
            )[0]
            step()
            self.unfold()

    def unfold(self) -> None:
        for line in due_lines(self.loaded, self.lines):
            to = ()
            if (number := line["made_by"].get("opening")) is not None:
                to = self.scene.opening[number].to
            self._add(line, to)

    def turn(self) -> None:
        """Somebody is chosen, remembers, is asked, and says something."""
        there = sorted(self.there)
        if not there:
            self.come()
            return
        passed = [seat for seat in there if self.chance.random() < 0.1]
        chosen = self._direct.invoke({"lines": self.lines, "passed": passed})["speaker"]
        speaker = chosen or self.chance.choice(there)
        state: dict[str, Any] = {"lines": self.lines, "speaker": speaker, "attempts": []}
        state |= self._remember.invoke(state)
        summary: Summary | None = state["summary"]
        remembered = {}
        if summary:
            self.seen["summaries"] += 1
            remembered = {summary["text"].split()[-1]: frozenset({speaker})}
            self.heard.append(remembered)
        self._speak.invoke(state)
        self._check_all_is_there(speaker, summary)
        if summary:
            self.heard.pop()
        made_by = {"model": "ear", **({"summary": dict(summary)} if summary else {})}
        kind = self.chance.choice(TURNS)
        to = self.chance.sample(list(self.loaded.seats), self.chance.randint(1, 2))
        self._happen(ScheduledEvent(speaker, kind, tuple(to), self._text(), made_by))
        self.heard[-1] |= remembered
        narrated = self._narrate.invoke({"lines": self.lines})
        for line in narrated.get("lines", ()):
            # What it would say of all it read is of no interest: it is a fault of a model's, if any.
            self._happen(ScheduledEvent(NARRATOR, "narrate", (), self._text(), line["made_by"]))

    def come(self) -> None:
        self._happen(join_event(self.loaded, self.chance.choice(list(self.loaded.seats)), self._text()))

    def go(self) -> None:
        if self.there:
            self._happen(leave_event(self.loaded, self.chance.choice(sorted(self.there)), self._text()))

    def tell(self) -> None:
        kind = self.chance.choice(TOLD)
        to = tuple(self.chance.sample(list(self.loaded.seats), 1))
        self._happen(ScheduledEvent(NARRATOR, kind, to, self._text(), {"person": True}))

    def go_back(self) -> None:
        """Go on from an earlier line: nobody has said what came after it."""
        place = self.chance.randint(0, len(self.lines))
        self.seen["branches"] += place < len(self.lines)
        del self.lines[place:], self.heard[place:]

    def _text(self) -> str:
        return f"{words(self.chance, self.scene.language)} {self.canaries.new()}"

    def _happen(self, happening: ScheduledEvent) -> None:
        self._add(event_line(self.loaded, self.lines, happening), happening.to)

    def _add(self, line: SceneLine, to: Sequence[str]) -> None:
        there = self.there
        said = line["text"].split()[-1]
        self.heard.append({said: meant_for(line["kind"], line["speaker"], to, there)})
        self.lines.append(line)
        self.seen[line["kind"]] += 1

    def _check_all_is_there(self, seat: str, summary: Summary | None) -> None:
        """What is a speaker's own is in its prompt, and all that it witnessed and does not sum up."""
        private = self.loaded.seats[seat]
        own = [private.about, *private.goals, *private.secrets, *private.knows, *private.relations.values()]
        assert {text.split()[-1] for text in own} <= self._found
        kept = summary or self._latest_summary(seat)
        past = kept["lines"] if kept else 0
        witnessed = [
            line["text"].split()[-1]
            for line, heard in zip(self.lines, self.heard, strict=False)
            if seat in heard[line["text"].split()[-1]]
        ]
        assert set(witnessed[past:]) <= self._found
        assert not kept or kept["text"].split()[-1] in self._found
        for what in ("lorebook", "memories"):
            self.seen[what] += self._has_own(seat, what)

    def _latest_summary(self, seat: str) -> Summary | None:
        own = [line["made_by"].get("summary") for line in self.lines if line["speaker"] == seat]
        return next((one for one in reversed(own) if one), None)

    def _has_own(self, seat: str, what: str) -> bool:
        book = self.loaded.personas[seat].lorebook
        if what == "lorebook":
            return bool(book) and cast(Any, book)["entries"][1]["content"] in self._found
        return any(one.text.split()[-1] in self._found for one in self.planted.memories.get(seat, ()))


def played(seed: int, steps: int = 5) -> Play:
    play = Play(f"canaries {seed}")
    play.play(steps)
    return play


@pytest.mark.parametrize("scenes", [SCENES // 20, pytest.param(SCENES, marks=pytest.mark.slow)])
def test_in_thousands_of_scenes_nobody_reads_what_is_not_for_them(scenes: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(scenes):
        play = played(seed)
        assert not play.leaks, f"scene {seed}: {play.leaks[0][0]} read {play.leaks[0][1]}"
        seen += play.seen
    prompts = ("prompts", f"prompts of the {DIRECTOR}", f"prompts of the {NARRATOR}")
    for what in (*KINDS, *prompts, "branches", "summaries", "lorebook", "memories"):
        assert seen[what] * 100 > scenes, what


def _everything(lines: Sequence[SceneLine], seat: str) -> list[SceneLine]:
    return list(lines)


def _all_hear(kind: str, speaker: str, to: Sequence[str], present: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted({speaker, *present} - {NARRATOR}))


def _anybodys_summary(lines: Sequence[SceneLine], seat: str) -> Any:
    kept = (line["made_by"].get("summary") for line in reversed(lines))
    return next((one for one in kept if one), None)


def _anothers_instruction(loaded: Any, seat: str, lines: Sequence[SceneLine]) -> str:
    other = next(one for one in loaded.seats if one != seat)
    return instruction_for(loaded, other, lines) + instruction_for(loaded, seat, lines)


def _nobody(scene: Any, lines: Any) -> tuple[str, ...]:
    return ()


@pytest.mark.parametrize(
    ("place", "name", "broken"),
    [
        (view_module, "witnessed", _everything),
        (summaries_module, "witnessed", _everything),
        (happenings_module, "audience_of", _all_hear),
        (speaking_module, "latest_summary", _anybodys_summary),
        (directing_module, "latest_summary", _anybodys_summary),
        (speaking_module, "instruction_for", _anothers_instruction),
        (directing_module, "instruction_for", _anothers_instruction),
        (narrating_module, "present_in", _nobody),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)).rpartition(".")[2],
)
def test_what_is_broken_on_purpose_is_found(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, broken: Any
) -> None:
    monkeypatch.setattr(place, name, broken)
    assert any(_leaks(seed) for seed in range(400))


def _leaks(seed: int) -> bool:
    play = Play(f"canaries {seed}")
    with suppress(AssertionError):  # something may be missing, too
        play.play(5)
    return bool(play.leaks)


# The whole graph

SUMMARY = re.compile("^(?:Below is what|下面是)")


class Company:
    """Models for all who take part in a scene; what each was sent is known, and who was to hear what."""

    def __init__(self, chance: random.Random, canaries: Canaries, planted: Planted) -> None:
        self._chance, self._canaries, self._loaded = chance, canaries, planted.loaded
        self.meant: dict[str, frozenset[str]] = {}
        """Of words that were not for all: whom they were for."""
        self.remembered: dict[str, frozenset[str]] = {}
        """The words of summaries."""
        seats = {
            seat: FunctionModel(function=partial(self._answer, seat), n_ctx=600, max_tokens=80)
            for seat in planted.loaded.seats
        }
        self.models: dict[str, FunctionModel] = {
            **seats,
            DIRECTOR: FunctionModel(function=self._directs),
            NARRATOR: FunctionModel(function=lambda _: self.said()),
        }
        self.ensemble = Ensemble(
            _with_models(planted.loaded),
            models=seats,
            lorebooks=[planted.world],
            recall=RecallOptions(method="bm25"),
            memories=planted.memories,
            make=lambda spec, **_: self.models[spec.partition(":")[2]],
        )
        self._read = dict.fromkeys(self.models, 0)
        self.seen: Counter[str] = Counter()

    def check(self, lines: Sequence[SceneLine], *there: set[str]) -> None:
        """Look at all that the models were sent since the last time.

        Args:
            lines: what stands on the branch now.
            there: the seats that were there before and after.
        """
        heard = {
            word: frozenset(line["audience"]) for line in lines for word in CANARY.findall(line["text"])
        }
        for word in heard:
            assert heard[word] <= self.meant.get(word, heard[word]), f"{word} was heard by too many"
        told = {word for line in lines for word in CANARY.findall(str(line["made_by"].get("summary")))}
        heard |= {word: readers for word, readers in self.remembered.items() if word in told}
        for reader, model in self.models.items():
            for prompt in model.calls[self._read[reader] :]:
                found = words_in(prompt)
                readers = self._canaries.readers
                assert any(not leaked(found, reader, readers, heard, one) for one in there), reader
                self.seen[reader if reader in (NARRATOR, DIRECTOR) else "seats"] += 1
            self._read[reader] = len(model.calls)

    def _directs(self, messages: Sequence[BaseMessage]) -> str:
        return f'{{"next": "{self._chance.choice([*self._loaded.names.values(), "nobody"])}"}}'

    def _answer(self, seat: str, messages: Sequence[BaseMessage]) -> str:
        if '{"want"' in messages[-1].text:
            self.seen["bids"] += 1
            return f'{{"want": {self._chance.randrange(10)}}}'
        if SUMMARY.match(messages[0].text):
            self.seen["summaries"] += 1
            word = self._canaries.new()
            self.remembered[word] = frozenset({seat})
            return " ".join([*words_in(messages), word])
        return self._line(seat)

    def _line(self, seat: str) -> str:
        others = {one: name for one, name in self._loaded.names.items() if one != seat}
        other = self._chance.choice(sorted(others))
        said = self.said()
        word = said.split()[-1]
        zh = self._loaded.scene.language == "zh"
        match self._chance.randrange(14):
            case 0 | 1:
                self.meant[word] = frozenset({seat, other})
                return (
                    f"（对{others[other]}低声说）{said}" if zh else f"(whispers to {others[other]}) {said}"
                )
            case 2:
                self.meant[word] = frozenset({seat})
                return f"（心想）{said}" if zh else f"(thinks) {said}"
            case 3:
                return f"*{said}*"
            case 4:
                return f"{others[other]}: {said}"
            case 5 | 6:
                self.meant[word] = frozenset({seat, other})
                return f"（对{others[other]}打手语）{said}" if zh else f"(signs to {others[other]}) {said}"
            case 7:
                self.meant[word] = frozenset({seat})
                return f"（默祷）{said}" if zh else f"*prays quietly* {said}"
            case 8:
                return f"（大喊）{said}" if zh else f"(shouts) {said}"
            case _:
                return said

    def said(self) -> str:
        return f"{words(self._chance, self._loaded.scene.language, 25)} {self._canaries.new()}"


def _with_models(loaded: LoadedScene) -> LoadedScene:
    scene = loaded.scene
    director = scene.director.model_copy(update={"model": f"scripted:{DIRECTOR}"})
    narrator = scene.narrator and scene.narrator.model_copy(update={"model": f"scripted:{NARRATOR}"})
    return replace(loaded, scene=scene.model_copy(update={"director": director, "narrator": narrator}))


def company_for(seed: str) -> tuple[random.Random, Company]:
    chance, canaries = random.Random(seed), Canaries()
    return chance, Company(chance, canaries, planted_scene(chance, canaries))


def play_by_graph(seed: int) -> Counter[str]:
    """Play a scene call by call and look at each prompt; says what has happened."""
    chance, company = company_for(f"graph {seed}")
    scene = company.ensemble.loaded.scene
    graph = staged_scene_graph(company.ensemble)
    lines: list[SceneLine] = []
    for _ in range(6):
        before = there_after(scene, lines)
        given = SceneInput(lines=lines)
        if before and chance.random() < 0.3:
            given["said"] = persons_line(chance, company, sorted(before))
        elif before and scene.director.kind == "manual":
            given["next"] = chance.choice(sorted(before))
        with suppress(MessageError):  # an event may have made them leave
            context = SceneContext(turns=1, seed=seed, persons=())
            lines = graph.invoke(given, context=context)["lines"]
        company.check(lines, before, there_after(scene, lines))
    return company.seen + Counter(line["kind"] for line in lines)


def test_the_whole_graph_keeps_whispers_thoughts_and_secrets_from_all_others() -> None:
    seen: Counter[str] = Counter()
    for seed in range(120):
        seen += play_by_graph(seed)
    for what in (*KINDS, "seats", DIRECTOR, NARRATOR, "bids", "summaries"):
        assert seen[what] > 10, what


def test_a_graph_that_is_broken_on_purpose_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "witnessed", _everything)
    with pytest.raises(AssertionError):
        list(map(play_by_graph, range(20)))


def persons_line(chance: random.Random, company: Company, there: Sequence[str]) -> PersonsLine:
    """Something that a person in a seat does."""
    seat, to = chance.choice(there), chance.choice(there)
    kind = chance.choice([one for one in TURNS if seat != to or one not in ("whisper", "sign")])
    text = company.said()
    if kind in ("whisper", "sign", "think", "pray"):
        company.meant[text.split()[-1]] = frozenset({seat, to} if kind in ("whisper", "sign") else {seat})
    return PersonsLine(seat=seat, kind=kind, to=[to], text=text)


async def test_nothing_that_can_be_done_on_a_stage_gives_a_secret_away() -> None:
    seen: Counter[str] = Counter()
    for seed in range(50):
        chance, company = company_for(f"stage {seed}")
        with Transcript(None) as transcript:
            stage = Stage(company.ensemble, transcript, seed=seed)
            for _ in range(8):
                before = set(stage.present)
                with suppress(MessageError):
                    seen[await do_something(chance, company, stage)] += 1
                company.check(stage.lines, before, set(stage.present))
                check_what_is_kept(company, stage)
        seen += company.seen
    for what in ("step", "say", "again", "let_in", "let_out", "undo", "branch", "choose", "sit", "seats"):
        assert seen[what] > 5, what


async def do_something(chance: random.Random, company: Company, stage: Stage) -> str:
    """One of all the things that can be done; says which."""
    seat = chance.choice(list(stage.loaded.seats))
    manual = stage.loaded.scene.director.kind == "manual"
    spoken = [message.id for message in stage.messages]
    told = [message.id for message in stage.tree()]
    turns: dict[str, Callable[[], AsyncGenerator[SceneEvent, None]]] = {
        "step": lambda: stage.step(speaker=seat if manual else None),
        "say": lambda: stage.say(persons_line(chance, company, stage.present or [seat])),
        "again": stage.again,
    }
    moves: dict[str, Callable[[], Any]] = {
        "let_in": lambda: stage.let_in(seat, company.said()),
        "let_out": lambda: stage.let_out(seat, company.said()),
        "undo": stage.undo,
        "redo": stage.redo,
        "branch": lambda: stage.branch(chance.choice(spoken)) if spoken else None,
        "choose": lambda: stage.choose(chance.choice(told)) if told else None,
        "sit": lambda: (stage.give_back if seat in stage.persons else stage.take_seat)(seat),
    }
    what = chance.choices([*turns, *moves], (10, 3, 2, 1, 1, 1, 1, 1, 1, 2))[0]
    if what in moves:
        moves[what]()
        return what
    async with aclosing(turns[what]()) as events:
        async for event in events:
            if isinstance(event, TurnFailed):
                raise event.error
    return what


def check_what_is_kept(company: Company, stage: Stage) -> None:
    """Nothing that was for few stands anywhere in the transcript as if more had heard it."""
    for message in stage.tree():
        for word in CANARY.findall(message.text):
            if company.meant.get(word):
                assert set(message.audience) <= company.meant[word]
