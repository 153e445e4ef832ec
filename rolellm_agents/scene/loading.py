"""Find and read scenes, and load the personas of their cast."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from rolellm_agents.config.foreign_files import ForeignFile, is_own
from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.errors import PersonaError, SceneError
from rolellm_agents.files.contained import contained_file
from rolellm_agents.files.yaml import line_of, read_text, read_yaml
from rolellm_agents.persona import Persona, load_persona, read_persona
from rolellm_agents.persona.from_card.conversion import char_name, with_macros
from rolellm_agents.persona.packs import bundled_pack, installed_packs
from rolellm_agents.scene.file_models import file_models, foreign_file
from rolellm_agents.scene.message_kinds import MessageKind
from rolellm_agents.scene.scene import NARRATOR, Scene, Seat
from rolellm_agents.text import did_you_mean, one_line
from rolellm_agents.transcript.message import USER, Kind

Origin = Literal["path", "user", "pack", "bundled"]
_Where = Callable[[Sequence[int | str]], str]
"""How a message names a place of the scene's file."""


@dataclass(frozen=True, kw_only=True)
class LoadedScene:
    """A scene with its cast: every seat has an id, a name and a persona that a model can play."""

    scene: Scene
    personas: Mapping[str, Persona]
    """By seat, with macros filled. A seat without a persona gets one from its name and `about`."""
    path: Path | None = None
    """The scene's file, if it names persona files in the same folder."""
    foreign: ForeignFile | None = None
    """The file from elsewhere that names models to which the user has not agreed; None if they count."""

    @cached_property
    def names(self) -> dict[str, str]:
        """Each seat's name."""
        return {seat.id: seat.name for seat in self.scene.cast}

    @cached_property
    def kinds(self) -> dict[Kind, MessageKind]:
        """The message kinds that the scene knows, by name."""
        return self.scene.message_kinds

    @cached_property
    def shown_forms(self) -> dict[Kind, str]:
        """For each of `kinds`, the form in which those who perceive a line read it."""
        return {name: kind.shown_form(self.scene.language) for name, kind in self.kinds.items()}

    @cached_property
    def seats(self) -> dict[str, Seat]:
        """The seats by their ids, in the order of the cast."""
        return {seat.id: seat for seat in self.scene.cast}

    def with_turn_kinds(self, turn_kinds: Sequence[str | MessageKind]) -> "LoadedScene":
        """The same scene with other turn kinds, each a name or a kind of one's own.

        Raises:
            SceneError: there is no turn kind of a name, or two of the kinds have the same name.
        """
        fields = {name: getattr(self.scene, name) for name in self.scene.model_fields_set}
        try:
            scene = Scene.model_validate({**fields, "turn_kinds": tuple(turn_kinds)})
        except ValidationError as error:
            fault = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            raise SceneError(f"{fault[:1].upper()}{fault[1:]}.") from error
        return replace(self, scene=scene)

    def check_seat(self, seat: str) -> str:
        """Return the id of a seat if the scene has it.

        Raises:
            SceneError: there is no such seat.
        """
        if seat not in self.seats:
            raise SceneError(f"There is no seat {seat!r}; seats are {', '.join(self.seats)}.")
        return seat


class SeatNameError(SceneError):
    """A scene names a seat that it does not have, or gives two seats the same name."""

    def __init__(self, sentence: str, location: Sequence[int | str]) -> None:
        """Create the error; `location` is the place of the name in the file's data."""
        super().__init__(sentence)
        self.location = tuple(location)


class SeatPersonaError(PersonaError):
    """The persona of a seat cannot be used."""

    def __init__(self, sentence: str, location: Sequence[int | str]) -> None:
        """Create the error; `location` is the place of the persona in the file's data."""
        super().__init__(sentence)
        self.location = tuple(location)


@dataclass(frozen=True)
class FoundScene:
    """A scene that was read from a file, without its personas."""

    scene: Scene
    path: Path
    origin: Origin


def load_scene(reference: str | Path) -> LoadedScene:
    """Find a scene by path or id, read it and load its personas.

    Args:
        reference: a path that ends in `.yaml` or `.yml`; or an id, looked up in the user's folder, in
            the installed packs and then in the bundled one.

    Raises:
        SceneError: there is no such scene, or its file is invalid.
        PersonaError: a persona of the cast cannot be found or read.
    """
    found = find_scene(reference)
    return cast_scene(found.scene, found.path, text=read_text(found.path, SceneError))


def find_scene(reference: str | Path) -> FoundScene:
    """Find and read a scene's file by path or id.

    Raises:
        SceneError: there is no such scene, or its file is invalid.
    """
    if isinstance(reference, Path) or reference.endswith((".yaml", ".yml")):
        path = Path(reference)
        return FoundScene(read_scene(path), path, "path")
    for path, origin in _files():
        if path.stem == reference:
            return FoundScene(read_scene(path), path, origin)
    # A file's name may differ from its scene's id.
    known = {found.scene.id: found for found in list_scenes()[0]}
    if reference in known:
        return known[reference]
    raise SceneError(
        f"There is no scene {reference!r}{did_you_mean(reference, known)}; “rolellm scene list” shows all."
    )


def list_scenes() -> tuple[list[FoundScene], list[str]]:
    """All scenes that can be named by id, and an error message for each invalid file or pack."""
    found: dict[str, FoundScene] = {}
    notes = [*installed_packs()[1].values()]
    for path, origin in _files():
        try:
            scene = read_scene(path)
        except SceneError as error:
            notes.append(str(error))
            continue
        found.setdefault(scene.id, FoundScene(scene, path, origin))
    return sorted(found.values(), key=lambda found: (found.scene.language, found.scene.id)), notes


def read_scene(path: Path) -> Scene:
    """Read one scene file.

    Raises:
        SceneError: the file cannot be read or is invalid; the message names key and line.
    """
    return read_yaml(path, Scene, SceneError)


def cast_scene(scene: Scene, path: Path | None = None, *, text: str = "") -> LoadedScene:
    """Load the personas of a scene's cast.

    Args:
        scene: the scene as read from its file.
        path: the scene's file. The models of a file from elsewhere do not count until somebody agrees to
            them, and its persona files must be in its folder or that of its pack. None for a scene that the
            caller has built, which may name any model and file.
        text: what the file holds; messages name lines of it.

    Raises:
        SceneError: two seats have the same name, or the scene refers to an unknown seat.
        PersonaError: a persona of the cast cannot be found or read, or its file may not be named.
        SettingsError: `models.toml` or `agreed.toml` cannot be used.
    """
    where = partial(_place, path or scene.id, text)
    loaded = [
        _load(seat, path, ("cast", number, "persona"), where) for number, seat in enumerate(scene.cast)
    ]
    seats = [
        _named(seat, persona, ("cast", number), where)
        for number, (seat, persona) in enumerate(zip(scene.cast, loaded, strict=True))
    ]
    complete = scene.model_copy(update={"cast": tuple(seats)})
    _check_names(seats, where)
    _check_references(complete, where)
    addressed = _addressed(seats)
    personas = {
        seat.id: with_macros(persona or _persona_of(seat, scene), addressed).model_copy(
            update={"name": seat.name}
        )
        for seat, persona in zip(seats, loaded, strict=True)
    }
    beside = any(names_file(seat.persona or "") for seat in scene.cast)
    content = scene.model_dump(mode="json", exclude_unset=True)
    return LoadedScene(
        scene=complete,
        personas=personas,
        path=path if beside else None,
        foreign=foreign_file(path, content, file_models(scene)),
    )


def _files() -> Iterator[tuple[Path, Origin]]:
    folder = user_paths().scenes
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        yield path, "user"
    for pack in installed_packs()[0]:
        yield from ((path, "pack") for path in pack.scenes)
    yield from ((path, "bundled") for path in bundled_pack().scenes)


def _top_folder(path: Path) -> Path:
    """The folder of a scene from elsewhere; that of its pack, if it belongs to one."""
    packs = user_paths().packs.resolve()
    folder = path.resolve().parent
    if folder != packs and folder.is_relative_to(packs):
        return packs / folder.relative_to(packs).parts[0]
    return folder


def _place(file: Path | str, text: str, location: Sequence[int | str]) -> str:
    """How a message names a place of a scene's file."""
    return f"{file}, line {line_of(text, location)}" if text else str(file)


def _load(seat: Seat, path: Path | None, location: Sequence[int | str], where: _Where) -> Persona | None:
    if seat.persona is None:
        return None
    try:
        if path is None or not names_file(seat.persona):
            return load_persona(seat.persona)
        return read_persona(_persona_file(path, seat.persona))
    except PersonaError as error:
        told = where(location) if path else "The scene"
        raise SeatPersonaError(f"{told}: {error}", location) from error


def _persona_file(path: Path, named: str) -> Path:
    """The persona file that a scene's file names; one from elsewhere reaches only its own folder."""
    if is_own(path):
        return path.parent / named
    top = _top_folder(path)
    inside = str(path.resolve().parent.relative_to(top) / named)
    return contained_file(top, inside, f"The persona {one_line(named, 80)}", PersonaError)


def names_file(persona: str) -> bool:
    """Whether a seat's persona is a file, and not an id or a name."""
    return persona.endswith((".yaml", ".yml"))


def _named(seat: Seat, persona: Persona | None, location: Sequence[int | str], where: _Where) -> Seat:
    if persona is None and not (seat.id and seat.name):
        named = repr(seat.id or seat.name or "?")
        raise SeatNameError(
            f"{where(location)}: the seat {named} has no persona; give it a persona, or an id and a name "
            "of its own.",
            location,
        )
    if persona is None:
        return seat
    return seat.model_copy(update={"id": seat.id or persona.id, "name": seat.name or char_name(persona)})


def _persona_of(seat: Seat, scene: Scene) -> Persona:
    """A persona for a seat without one, so that a model can take over from a person."""
    about = seat.about.strip() or f"{seat.name}."
    return Persona(id=seat.id, name=seat.name, language=scene.language, description=about)


def _check_names(seats: Sequence[Seat], where: _Where) -> None:
    ids, names = [seat.id for seat in seats], [seat.name.casefold() for seat in seats]
    for label, values in (("id", ids), ("name", names)):
        for number, value in enumerate(values):
            if value in values[:number]:
                location = ("cast", number, label)
                raise SeatNameError(
                    f"{where(location)}: two seats have the {label} {value!r}; give one of them another.",
                    location,
                )
    for number, seat in enumerate(seats):
        if seat.id in (NARRATOR, USER):
            location = ("cast", number, "id")
            raise SeatNameError(
                f"{where(location)}: no seat can have the id {seat.id!r}; give it another.", location
            )


def _check_references(scene: Scene, where: _Where) -> None:
    known = {seat.id for seat in scene.cast}
    for location, seat_id in _references(scene):
        if seat_id not in known:
            named = {"cast": "relations", "director": "director.order"}.get(str(location[0]), location[0])
            near = did_you_mean(seat_id, known)
            raise SeatNameError(
                f"{where(location)}: {named} names {seat_id!r}{near}, which is not a seat; seats are "
                f"{', '.join(sorted(known))}.",
                location,
            )


def _references(scene: Scene) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """The seats that a scene names outside of their own places, with the place of each name."""
    for number, line in enumerate(scene.opening):
        if line.speaker != NARRATOR:
            yield ("opening", number, "speaker"), line.speaker
        yield from ((("opening", number, "to", place), seat) for place, seat in enumerate(line.to))
    for number, event in enumerate(scene.events):
        if event.join:
            yield ("events", number, "join"), event.join
        if event.leave:
            yield ("events", number, "leave"), event.leave
    yield from ((("director", "order", place), seat) for place, seat in enumerate(scene.director.order))
    for number, seat in enumerate(scene.cast):
        yield from ((("cast", number, "relations", other), other) for other in seat.relations)


def _addressed(seats: Sequence[Seat]) -> str:
    """The value of a card's `{{user}}`: the name of the first seat that a person has."""
    return next((seat.name for seat in seats if seat.person), DEFAULT_USER)
