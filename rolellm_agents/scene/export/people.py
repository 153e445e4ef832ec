"""Which seats occur in lines, and the names that a writer uses for them."""

import re
from collections.abc import Sequence

from rolellm_agents.scene.line import SceneLine, is_turn
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.names import forms_of, pattern_of
from rolellm_agents.scene.scene import NARRATOR, Seat
from rolellm_agents.scripts.people import TITLES
from rolellm_agents.text import one_line

_THE = re.compile(r"\Athe (?=\S)", re.IGNORECASE)
_TITLE = re.compile(r"(\w+)\.? ")


def cast_of(loaded: LoadedScene, lines: Sequence[SceneLine]) -> list[Seat]:
    """The seats that occur in these lines, as speakers or as witnesses, in the order of the cast."""
    there = {seat for line in lines for seat in (line["speaker"], *line["audience"])}
    return [seat for seat in loaded.scene.cast if seat.id in there]


def is_persons(seat: Seat, lines: Sequence[SceneLine]) -> bool:
    """Whether a person has the seat, according to its lines, or to the scene where no model spoke."""
    sources = [line["made_by"] for line in lines if line["speaker"] == seat.id and is_turn(line)]
    if any(source.get("person") for source in sources):
        return True
    return seat.person and not any("model" in source for source in sources)


def name_of(loaded: LoadedScene, seat: str) -> str:
    """A seat's name on one line; empty for the narrator."""
    return "" if seat == NARRATOR else one_line(loaded.names.get(seat, seat))


def listeners_of(loaded: LoadedScene, line: SceneLine) -> list[str]:
    """The names of the seats that witnessed a line, without its speaker."""
    return [name_of(loaded, seat) for seat in line["audience"] if seat not in (line["speaker"], NARRATOR)]


def inside(name: str) -> str:
    """A name inside an English sentence: “The Fox” becomes “the Fox”."""
    return _THE.sub("the ", name, count=1)


class EnglishNames:
    """Names in English prose: the full name first, then the form that the lines use most."""

    def __init__(self, loaded: LoadedScene, lines: Sequence[SceneLine]) -> None:
        """Collect the names of the seats that occur in the lines."""
        self._full = {seat.id: name_of(loaded, seat.id) for seat in cast_of(loaded, lines)}
        text = "\n".join([loaded.scene.setting, *(line["text"] for line in lines)])
        self._short = {seat: self._shortened(seat, text) for seat in self._full}
        self._introduced: set[str] = set()

    def call(self, seat: str) -> str:
        """A seat's name as it is written inside a sentence."""
        full = self._full.get(seat, seat)
        name = self._short.get(seat, full) if seat in self._introduced else full
        self._introduced.add(seat)
        return inside(name)

    def _shortened(self, seat: str, text: str) -> str:
        full = self._full[seat]
        title = _TITLE.match(full)
        titled = bool(title and title[1].capitalize() in TITLES)
        if _THE.match(full) or len(full.split()) == 1 or (titled and len(full.split()) == 2):
            return full
        parts = [part for part in forms_of(full)[1:] if not self._is_shared(part, seat)]
        if not parts:
            return full
        said = {part: len(re.findall(pattern_of(part), text)) for part in parts}
        most = max(said.values())
        if titled and title:
            return f"{title.group()}{parts[-1]}"
        return next(part for part in parts if said[part] == most)

    def _is_shared(self, part: str, seat: str) -> bool:
        return any(part in forms_of(name) for other, name in self._full.items() if other != seat)
