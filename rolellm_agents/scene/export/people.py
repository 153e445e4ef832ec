"""Who occurs in lines, and what a writer calls them."""

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
    """Whether a person sits there: as the lines tell, or as the scene does where no model spoke."""
    made_by = [line["made_by"] for line in lines if line["speaker"] == seat.id and is_turn(line)]
    if any(one.get("person") for one in made_by):
        return True
    return seat.person and not any("model" in one for one in made_by)


def name_of(loaded: LoadedScene, seat: str) -> str:
    """A seat's name in one line; that of the narrator is empty."""
    return "" if seat == NARRATOR else one_line(loaded.names.get(seat, seat))


def hearers_of(loaded: LoadedScene, line: SceneLine) -> list[str]:
    """The names of those who witnessed something, its speaker left out."""
    return [name_of(loaded, seat) for seat in line["audience"] if seat not in (line["speaker"], NARRATOR)]


def inside(name: str) -> str:
    """A name as it stands inside an English sentence: “the Fox”."""
    return _THE.sub("the ", name, count=1)


class English:
    """What English prose calls people: in full first, then as the others in the scene call them most."""

    def __init__(self, loaded: LoadedScene, lines: Sequence[SceneLine]) -> None:
        """Prepare names for the seats that occur in the lines; nothing else is looked at."""
        self._full = {seat.id: name_of(loaded, seat.id) for seat in cast_of(loaded, lines)}
        text = "\n".join([loaded.scene.setting, *(line["text"] for line in lines)])
        self._short = {seat: self._shortened(seat, text) for seat in self._full}
        self._told: set[str] = set()

    def call(self, seat: str) -> str:
        """What somebody is called here, inside a sentence."""
        full = self._full.get(seat, seat)
        name = self._short.get(seat, full) if seat in self._told else full
        self._told.add(seat)
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
