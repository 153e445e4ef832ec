"""Random scenes in which every private thing has a word that stands nowhere else, and who may read it.

The rules of who hears what are told here once more, in the plainest way, so that the product's own are
not checked by themselves.
"""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from langchain_core.messages import BaseMessage

from helpers.own_kinds import OWN_KINDS
from rolellm_agents.cards import Lorebook, read_lorebook
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.recall import Passage
from rolellm_agents.scene import NARRATOR, LoadedScene, Scene, SceneLine, Seat
from rolellm_agents.scene.directors import DIRECTORS
from rolellm_agents.scene.message_kinds import TURN_KINDS
from rolellm_agents.scene.scene import Director, Event, Narrator, OpeningLine, Stop
from rolellm_agents.text.language import Language

DIRECTOR = "director"
"""As a reader of prompts, beside the seats and `NARRATOR`."""

CANARY = re.compile(r"zq\d+x")
_NAMES: dict[Language, tuple[str, ...]] = {
    "en": ("Ada", "Benedict", "Cleo", "Dmitri", "Esther", "Farouk"),
    "zh": ("阿芙拉", "贝南", "柯丽", "杜望", "叶眉", "方远"),
}
_IDS = ("ada", "ben", "cleo", "dmitri", "esther", "farouk")
_TEXT = """
amber anchor apron basket beacon bellows bramble bridge bucket cabin candle cellar chimney cliff
clover compass copper cradle curtain dagger drizzle drum feather fiddle flagon fog furnace gable
garland glacier gravel hammer harbour harvest hinge hollow honey iron ivory jar kettle ladder lantern
ledger linen locket lumber marble marsh meadow mill mirror mitten mortar nettle nutmeg oar orchard
parcel pebble pepper pillow pitcher plough pulley quarry quilt raft raven ribbon rudder saddle salt
scarf shutter sickle silver skillet slate sleigh spindle spoon stable steeple sulphur tallow thicket
thimble timber tinder trellis tunnel turnip velvet vinegar wagon walnut whistle willow window wool
"""
_WORDS = _TEXT.split()
_HAN = (
    "山川湖海风云雷电松竹梅兰春夏秋冬金木水火土石田路桥船车马牛羊鱼鸟花草瓜果米面盐茶酒灯笔墨纸砚琴棋书画"
)


@dataclass(frozen=True)
class Planted:
    """A scene, and the words in it that few may read."""

    loaded: LoadedScene
    memories: Mapping[str, Sequence[Passage]]
    world: Lorebook
    """Lore that all characters may read, and nobody else."""
    readers: Mapping[str, frozenset[str]]
    """Of each word that stands in the scene itself."""


@dataclass
class Canaries:
    """Words that stand nowhere else."""

    readers: dict[str, frozenset[str]] = field(default_factory=dict)
    _numbers: Iterable[int] = field(default_factory=count)

    def new(self) -> str:
        return f"zq{next(iter(self._numbers))}x"

    def of(self, *readers: str) -> str:
        word = self.new()
        self.readers[word] = frozenset(readers)
        return word


def words(chance: random.Random, language: Language = "en", least: int = 6) -> str:
    """Some words that make no sense, and hardly come twice."""
    if language == "zh":
        return "".join(chance.choices(_HAN, k=2 * least + chance.randrange(6)))
    return " ".join(chance.choices(_WORDS, k=least + chance.randrange(5)))


def planted_scene(chance: random.Random, canaries: Canaries, director: str | None = None) -> Planted:
    """A scene of two to six seats; what is private in it has its word."""
    language: Language = chance.choice(("en", "en", "zh"))
    ids = _IDS[: chance.randint(2, 6)]
    there = chance.sample(ids, max(2, len(ids) - chance.randrange(3)))
    seats = tuple(_seat(chance, canaries, one, ids, language, present=one in there) for one in ids)
    kind = director or chance.choice((*DIRECTORS, *DIRECTORS, "bidding", "model", "model"))
    order = tuple(chance.choices(ids, k=8)) if kind == "scripted" else ()
    scene = Scene(
        id="planted",
        title="Planted",
        language=language,
        setting=words(chance, language),
        time="",
        cast=seats,
        opening=tuple(_opening(chance, canaries, there) for _ in range(chance.randrange(4))),
        events=tuple(_event(chance, canaries, ids) for _ in range(chance.randrange(3))),
        director=Director(kind=kind, order=order),  # one of the known
        narrator=_narrator(chance, canaries),
        turn_kinds=(*TURN_KINDS, *OWN_KINDS),
        stop=Stop(turns=50, silent=50),
    )
    personas = {seat.id: _persona(chance, canaries, seat, language) for seat in seats}
    memories = {
        seat: [Passage("memory", f"{words(chance, language, 40)} {canaries.of(seat)}", "earlier")]
        for seat in ids
        if chance.random() < 0.05
    }
    world = [_entry(0, canaries.of(*ids), constant=True)] if chance.random() < 0.05 else []
    lore = read_lorebook({"entries": world})
    return Planted(LoadedScene(scene=scene, personas=personas), memories, lore, canaries.readers)


def _seat(
    chance: random.Random,
    canaries: Canaries,
    seat: str,
    ids: Sequence[str],
    language: Language,
    *,
    present: bool,
) -> Seat:
    other = chance.choice([one for one in ids if one != seat])
    return Seat(
        id=seat,
        name=_NAMES[language][_IDS.index(seat)],
        persona=seat,
        present=present,
        person=chance.random() < 0.15,
        about=f"about {canaries.of(seat)}",
        goals=(f"goal {canaries.of(seat)}",),
        secrets=(f"secret {canaries.of(seat)}", f"{words(chance, language)} {canaries.of(seat)}"),
        knows=(f"knows {canaries.of(seat)}",),
        relations={other: f"relation {canaries.of(seat)}"},
        strategy=chance.choices(("system", "zero-shot", "few-shot-dialogue"), (16, 1, 1))[0],
    )


def _persona(chance: random.Random, canaries: Canaries, seat: Seat, language: Language) -> Persona:
    entries = [_entry(0, canaries.of(seat.id), constant=True), _entry(1, canaries.of(seat.id))]
    return Persona(
        id=seat.id,
        name=seat.name,
        language=language,
        description=f"{seat.name}: {canaries.of(seat.id)}",
        catchphrases=(canaries.of(seat.id),),
        greeting=canaries.of(seat.id),
        demonstrations=(Demonstration(user="lantern?", reply=canaries.of(seat.id)),),
        knowledge=(Knowledge(title="lantern", text=canaries.of(seat.id)),),
        lorebook={"entries": entries} if chance.random() < 0.1 else None,
    )


def _entry(number: int, content: str, *, constant: bool = False) -> dict[str, Any]:
    keys = ["a", "的", "lantern"]
    return {"id": number, "keys": keys, "content": content, "enabled": True, "constant": constant}


def _opening(chance: random.Random, canaries: Canaries, there: Sequence[str]) -> OpeningLine:
    if chance.random() < 0.3:
        return OpeningLine(text=f"opening {canaries.new()}")
    kind = chance.choice(("say", "act", "whisper", "think", "sign", "pray", "shout"))
    to = tuple(chance.sample(_IDS[:2], chance.randint(1, 2)))
    return OpeningLine(speaker=chance.choice(there), kind=kind, to=to, text=f"opening {canaries.new()}")


def _event(chance: random.Random, canaries: Canaries, ids: Sequence[str]) -> Event:
    text, after = f"event {canaries.new()}", chance.randrange(5)
    what = chance.choice(("join", "leave", "tell"))
    if what == "tell":
        return Event(after=after, text=text)
    return Event(after=after, text=text, **{what: chance.choice(ids)})


def _narrator(chance: random.Random, canaries: Canaries) -> Narrator | None:
    if chance.random() < 0.5:
        return None
    return Narrator(about=f"about {canaries.of(NARRATOR)}", every=chance.randrange(4))


# Who may read what


def there_after(scene: Scene, lines: Iterable[SceneLine]) -> set[str]:
    """Who is there, told once more."""
    there = {seat.id for seat in scene.cast if seat.present}
    for line in lines:
        if line["kind"] == "join":
            there = there | {line["speaker"]}
        if line["kind"] == "leave":
            there = there - {line["speaker"]}
    return there


def meant_for(kind: str, speaker: str, to: Iterable[str], there: AbstractSet[str]) -> frozenset[str]:
    """Who is to witness something, told once more."""
    match kind:
        case "think" | "pray":
            heard = {speaker}
        case "whisper" | "sign":
            heard = {speaker} | (set(to) & there)
        case _:
            heard = {speaker} | there
    return frozenset(heard - {NARRATOR})


def words_in(messages: Iterable[BaseMessage]) -> list[str]:
    """All such words in what a model is sent, wherever in it they stand."""
    told = [(one.content, one.name, one.additional_kwargs, one.response_metadata) for one in messages]
    return CANARY.findall(str(told))


def leaked(
    found: Iterable[str],
    reader: str,
    readers: Mapping[str, frozenset[str]],
    heard: Mapping[str, frozenset[str]],
    there: AbstractSet[str],
) -> list[str]:
    """The words that somebody should not have read.

    Args:
        found: what stood in a prompt.
        reader: whose prompt it was.
        readers: of the words of the scene itself.
        heard: who witnessed the words that were said, on this branch.
        there: the seats that are there; the narrator and the director may read what all of them witnessed.
    """

    def may_read(word: str) -> bool:
        if word in readers:
            return reader in readers[word]
        if reader in (DIRECTOR, NARRATOR):
            return word in heard and there <= heard[word]
        return reader in heard.get(word, ())

    return [word for word in found if not may_read(word)]
