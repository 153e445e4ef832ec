"""The models that a scene's file names, and whether they count.

A file from elsewhere must not decide where prompts and keys are sent. Its models count only after the
user's agreement (`docs/design/trust.md`).
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolellm_agents.config.foreign_files import ForeignFile, has_agreed, is_own
from rolellm_agents.errors import TrustError
from rolellm_agents.models.reach import reach_of
from rolellm_agents.scene.scene import Scene
from rolellm_agents.text import one_line

if TYPE_CHECKING:
    from rolellm_agents.scene.loading import LoadedScene


@dataclass(frozen=True)
class FileModel:
    """A model that a file names, and that does something outside this program."""

    place: str
    """The seat, `the director`, `the narrator` or `all seats`, none of which is a seat's id."""
    spec: str
    reach: str
    """What using the model does, as a predicate."""


def file_models(
    scene: Scene, *, except_seats: Collection[str] = (), base_url: str | None = None
) -> tuple[FileModel, ...]:
    """The models that a scene names; without bundled and scripted ones, which do nothing outside.

    Args:
        scene: the scene.
        except_seats: the seats whose models the user has named.
        base_url: the server that the command line names for `openai:` models.

    Raises:
        SettingsError: `models.toml` cannot be used.
    """
    specs = ((place, spec) for place, spec in _specs(scene) if spec and place not in except_seats)
    return with_reach(specs, base_url=base_url)


def with_reach(specs: Iterable[tuple[str, str]], *, base_url: str | None = None) -> tuple[FileModel, ...]:
    """Those of the models, each after its place, that do something outside this program.

    Raises:
        SettingsError: `models.toml` cannot be used.
    """
    found = (FileModel(place, spec, reach_of(spec, base_url=base_url)) for place, spec in specs)
    return tuple(one for one in found if one.reach)


def _specs(scene: Scene) -> Iterator[tuple[str, str | None]]:
    yield from ((seat.id or seat.name or str(seat.persona), seat.model) for seat in scene.cast)
    if scene.director.kind == "model":
        yield "the director", scene.director.model
    yield "the narrator", scene.narrator.model if scene.narrator else None
    yield "all seats", scene.model


def foreign_file(path: Path | None, content: Any, models: Collection[FileModel]) -> ForeignFile | None:
    """The file of a scene whose models do not count; None when they count.

    Args:
        path: the file; None for a scene that a program has built.
        content: what was read, as a JSON value.
        models: the models that it names.

    Raises:
        SettingsError: `agreed.toml` cannot be read.
    """
    if path is None or not models or is_own(path):
        return None
    file = ForeignFile.of(path, content)
    return None if has_agreed(file) else file


def agreed(loaded: "LoadedScene") -> "LoadedScene":
    """The scene with the models that its file names, because the user or the program agrees to them."""
    return replace(loaded, foreign=None)


def without_models(loaded: "LoadedScene") -> "LoadedScene":
    """The scene without the models that its file names."""
    scene = loaded.scene
    changed: dict[str, Any] = {
        "model": None,
        "cast": tuple(seat.model_copy(update={"model": None}) for seat in scene.cast),
        "director": scene.director.model_copy(update={"model": None}),
        "narrator": scene.narrator and scene.narrator.model_copy(update={"model": None}),
    }
    return replace(loaded, scene=scene.model_copy(update=changed), foreign=None)


def with_models_that_count(
    loaded: "LoadedScene", *, has_model: bool, seats: Collection[str]
) -> "LoadedScene":
    """The scene as it may be played: a model that the caller names replaces those of a foreign file.

    Args:
        loaded: the scene.
        has_model: whether the caller names a model for all seats.
        seats: the seats for which the caller names a model.

    Raises:
        TrustError: models of a foreign file would be used, and nobody has agreed to them.
        SettingsError: `models.toml` cannot be used.
    """
    if loaded.foreign is None:
        return loaded
    if has_model:
        return without_models(loaded)
    if models := file_models(loaded.scene, except_seats=seats):
        raise TrustError(
            f"{loaded.foreign.path} comes from elsewhere and names models to which you have not agreed "
            f"({shown_models(models)}); name a model yourself, or agree to them, in a program with "
            "rolellm_agents.scene.agreed(…)."
        )
    # Kept with the conversation, they would count when it continues without the caller's models.
    return without_models(loaded)


def shown_models(models: Collection[FileModel]) -> str:
    """The models in one line."""
    return one_line(", ".join(f"{one.place}: {one.spec}" for one in models), 300)
