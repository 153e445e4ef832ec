"""The form of a scene: its seats, its opening, its events, and who directs it."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from rolellm_agents.editing.form import Data, FormField, FormRow, ItemList, Path, value_at, with_value
from rolellm_agents.scene.message_kinds import TURN_KINDS
from rolellm_agents.scene.scene import NARRATOR, Director, Narrator, Scene, Stop, director_kinds

ABOUT: Path = ("title",)
"""The row of the short fields."""
CAST: Path = ("cast",)
_LANGUAGES = (("English", "en"), ("Chinese", "zh"))
_KINDS = tuple(kind.name for kind in TURN_KINDS)
_SETTING = "The place; all characters read it"
_PRIVATE = {
    "goals": "Goals, one on each line; only this character reads them",
    "secrets": "Secrets, one on each line; only this character reads them",
    "knows": "What the character knows on entering, one on each line",
}


def scene_rows(data: Data) -> list[FormRow]:
    """The rows of a scene's form, from top to bottom."""
    seats = seat_ids(data)
    return [
        FormRow(ABOUT, "About", tuple(_about(data))),
        FormRow(
            ("setting",), "Setting", (_top(data, "setting", "The place; all characters read it", "text"),)
        ),
        *ItemList(CAST, "Seats", lambda one: [*_seat(seats, one)], lambda _: {"persona": ""}).rows(data),
        *ItemList(("opening",), "Opening", lambda one: [*_opening(seats, one)], _new_line).rows(data),
        *ItemList(("events",), "Events", lambda one: [*_event(seats, one)], _new_event).rows(data),
        FormRow(("director",), "Director", tuple(_director(data))),
        FormRow(("narrator",), "Narrator", tuple(_narrator(data))),
        FormRow((_manners(data),), "Manners", (_manners_field(data),)),
        FormRow(("stop",), "End", tuple(_stop(data))),
        FormRow(("model",), "Models", tuple(_models(data))),
    ]


def seat_ids(data: Data) -> list[str]:
    """The ids of the seats, as far as the file says them."""
    cast = data.get("cast")
    return [_seat_id(seat) for seat in cast if _seat_id(seat)] if isinstance(cast, list) else []


def _seat_id(seat: Any) -> str:
    if isinstance(seat, str):
        return seat
    return str(seat.get("id") or seat.get("persona") or "") if isinstance(seat, dict) else ""


def _top(data: Data, key: str, label: str, kind: Any = "line") -> FormField:
    return FormField((key,), label, kind, data.get(key))


def _about(data: Data) -> Iterator[FormField]:
    yield _top(data, "title", "Title")
    yield FormField(("language",), "Language", "choice", data.get("language", "en"), _LANGUAGES)
    yield _top(data, "time", "Time; all characters read it")
    yield _top(data, "tags", "Tags, one on each line", "words")


def _seat(seats: list[str], seat: Any) -> Iterator[FormField]:
    given: Mapping[str, Any] = seat if isinstance(seat, dict) else {"persona": seat}
    yield _of_seat(given, "persona", "Persona: an id, a name or a file; empty for a person's own part")
    yield _of_seat(given, "id", "Id of the seat; empty for the persona's")
    yield _of_seat(given, "name", "Name in the scene; empty for the persona's")
    yield _of_seat(given, "about", "Part in the scene; only this character reads it", "text")
    yield _flag("person", "A person plays it", given.get("person", False), is_default=False)
    yield _flag("present", "Present from the start", given.get("present", True), is_default=True)
    for key, label in _PRIVATE.items():
        yield _of_seat(given, key, label, "words")
    relations = given.get("relations")
    known: Mapping[str, Any] = relations if isinstance(relations, dict) else {}
    for other in dict.fromkeys([*seats, *known]):
        if other != _seat_id(seat):
            text = known.get(other)
            yield FormField(("relations", other), f"To {other}", "line", text, written=_with_relation)
    yield _of_seat(given, "talkativeness", "Talkativeness, from 0 to 1; 0.5 is usual", "number")
    yield _of_seat(given, "model", "Model; empty for the scene's")
    yield _of_seat(given, "strategy", "Strategy; empty for the scene's")


def _of_seat(given: Mapping[str, Any], key: str, label: str, kind: Any = "line") -> FormField:
    return FormField((key,), label, kind, given.get(key), written=_with_seat)


def _flag(key: str, label: str, value: Any, *, is_default: bool) -> FormField:
    def written(data: Data, path: Path, wanted: Any) -> Data:
        return _with_seat(data, path, None if wanted == is_default else wanted)

    return FormField((key,), label, "flag", value, written=written)


def _with_seat(data: Data, path: Path, value: Any) -> Data:
    """The data with a value of a seat, which may be written as the name of its persona alone."""
    changed = copy.deepcopy(data)
    seats, index = changed["cast"], int(path[1])
    if isinstance(seats[index], str):
        seats[index] = {"persona": seats[index]}
    if value in (None, "", []):
        value_at(changed, path[:-1]).pop(path[-1], None)
        return changed
    return with_value(changed, path, value)


def _with_relation(data: Data, path: Path, value: Any) -> Data:
    changed = copy.deepcopy(data)
    seats, index = changed["cast"], int(path[1])
    if isinstance(seats[index], str):
        seats[index] = {"persona": seats[index]}
    relations = seats[index].setdefault("relations", {})
    relations[path[-1]] = value
    if not value:
        del relations[path[-1]]
    if not relations:
        del seats[index]["relations"]
    return changed


def _choices(present: Any, *names: str) -> tuple[tuple[str, Any], ...]:
    """Names to choose from, with the present one if it is another."""
    more = [present] if isinstance(present, str) and present not in names else []
    return tuple((name, name) for name in [*names, *more])


def _optional(key: str, label: str, present: Any, seats: list[str]) -> FormField:
    return FormField((key,), label, "choice", present, (("nobody", None), *_choices(present, *seats)))


def _new_line(_: str | int) -> dict[str, Any]:
    return {"speaker": NARRATOR, "text": ""}


def _new_event(_: str | int) -> dict[str, Any]:
    return {"after": 0, "text": ""}


def _opening(seats: list[str], line: Any) -> Iterator[FormField]:
    given: Mapping[str, Any] = line if isinstance(line, dict) else {}
    speaker = given.get("speaker", NARRATOR)
    kind = given.get("kind", "narrate" if speaker == NARRATOR else "say")
    yield FormField(("speaker",), "Speaker", "choice", speaker, _choices(speaker, NARRATOR, *seats))
    yield FormField(("kind",), "Kind", "choice", kind, _choices(kind, *_KINDS, "narrate"))
    yield FormField(("to",), "Addressees of a whisper, one on each line", "words", given.get("to"))
    yield FormField(("text",), "Line", "text", given.get("text"))


def _event(seats: list[str], event: Any) -> Iterator[FormField]:
    given: Mapping[str, Any] = event if isinstance(event, dict) else {}
    yield FormField(("after",), "After so many turns", "number", given.get("after"))
    yield _optional("join", "Who comes in", given.get("join"), seats)
    yield _optional("leave", "Who leaves", given.get("leave"), seats)
    yield FormField(("text",), "What those who are present witness", "text", given.get("text"))


def _director(data: Data) -> Iterator[FormField]:
    given = data.get("director")
    parts: Mapping[str, Any] = given if isinstance(given, dict) else {"kind": given} if given else {}
    kind = parts.get("kind", Director().kind)
    kinds = _choices(kind, *director_kinds())
    yield FormField(("director", "kind"), "Who speaks next", "choice", kind, kinds, _with_director)
    order = parts.get("order")
    label = "Speakers in order, for scripted, one on each line"
    yield FormField(("director", "order"), label, "words", order, written=_with_director)
    model = parts.get("model")
    yield FormField(("director", "model"), "Model of the director", "line", model, written=_with_director)


def _with_director(data: Data, path: Path, value: Any) -> Data:
    """The data with a value of the director, who is written as its kind alone if that is all."""
    given = data.get("director")
    parts = dict(given) if isinstance(given, dict) else {"kind": given} if given else {}
    parts.setdefault("kind", Director().kind)
    parts[str(path[-1])] = value
    kept = {key: one for key, one in parts.items() if one not in (None, "", [])}
    is_short = set(kept) == {"kind"} and not isinstance(given, dict)
    return {**data, "director": kept["kind"] if is_short else kept}


def _narrator(data: Data) -> Iterator[FormField]:
    given = data.get("narrator")
    parts: Mapping[str, Any] = given if isinstance(given, dict) else {}
    defaults = Narrator()
    has = "narrator" in data and given is not None
    yield FormField(("narrator",), "A model narrates", "flag", has, written=_with_narrator)
    if not has:
        return
    yield FormField(("narrator", "about"), "Directions for the narrator", "text", parts.get("about"))
    answers = parts.get("answers", defaults.answers)
    yield FormField(("narrator", "answers"), "Tells the outcome of each act", "flag", answers)
    every = parts.get("every", defaults.every)
    label = "Moves the scene on after so many turns; 0 for never"
    yield FormField(("narrator", "every"), label, "number", every)
    yield FormField(("narrator", "model"), "Model of the narrator", "line", parts.get("model"))


def _with_narrator(data: Data, _: Path, value: Any) -> Data:
    rest = {key: one for key, one in data.items() if key != "narrator"}
    # Not empty: `with_value` would remove the narrator with its last value.
    return {**rest, "narrator": {"answers": Narrator().answers}} if value else rest


def _manners(data: Data) -> str:
    return "turn_kinds" if "turn_kinds" in data else "manners"


def _manners_field(data: Data) -> FormField:
    usual = [kind.name for kind in Scene.model_fields["turn_kinds"].default]
    label = f"Kinds of turns, one on each line: {', '.join(_KINDS)}"
    return FormField((_manners(data),), label, "words", data.get(_manners(data), usual))


def _stop(data: Data) -> Iterator[FormField]:
    given = data.get("stop")
    parts: Mapping[str, Any] = given if isinstance(given, dict) else {}
    turns, silent = parts.get("turns", Stop().turns), parts.get("silent", Stop().silent)
    yield FormField(("stop", "turns"), "After so many turns", "number", turns)
    yield FormField(
        ("stop", "said"), "When somebody says one of these, one on each line", "words", parts.get("said")
    )
    yield FormField(("stop", "silent"), "After so many turns without new words", "number", silent)


def _models(data: Data) -> Iterator[FormField]:
    yield _top(data, "model", "Model of all seats without their own")
    yield _top(data, "strategy", "Strategy; empty for system")
    yield _top(data, "seed", "Seed", "number")
