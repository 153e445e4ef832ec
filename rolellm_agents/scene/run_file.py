"""The run file of a played scene: JSON lines, first the scene, then one object for each line."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NotRequired

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from rolellm_agents.config.foreign_files import ForeignFile
from rolellm_agents.errors import SceneError
from rolellm_agents.plugins import qualified_name
from rolellm_agents.scene.directors import DirectorFunction
from rolellm_agents.scene.file_models import FileModel, file_models, foreign_file, with_reach
from rolellm_agents.scene.line import SceneLine, is_turn
from rolellm_agents.scene.loading import LoadedScene, cast_scene
from rolellm_agents.scene.message_kinds import MessageKind
from rolellm_agents.scene.scene import NARRATOR, Scene
from rolellm_agents.scene.witness import present_in
from rolellm_agents.text import json_escaped, one_line, replace_surrogates
from rolellm_agents.transcript.message import Kind, Message

_MOST_BYTES = 256 * 2**20
_KEPT = ("opening", "event", "person", "summary", "lore", "fault", "tries", "strategy", "seed")
_NO_MODEL: Mapping[str, Any] = {
    "input_tokens": 0,
    "output_tokens": 0,
    "input_token_details": {"cache_read": 0},
}


class RunCall(TypedDict):
    """One call of a model."""

    by: str
    """The caller."""
    prompt: str
    """A hash of the messages."""
    text: str


class RunLine(TypedDict):
    """One line of the file."""

    turn: int
    """The number of the turn that the line is or follows; 0 before the first turn."""
    speaker: str
    name: str
    kind: Kind
    audience: list[str]
    text: str
    prompt_tokens: int | None
    """As the model reported them; None where it did not, 0 where no model spoke."""
    reused_tokens: int | None
    """Prompt tokens that came from the prompt cache."""
    completion_tokens: int | None
    ms: int | None
    """Duration of the turn in milliseconds."""
    model: NotRequired[str]
    why: NotRequired[str]
    """Why the director chose this speaker."""
    calls: NotRequired[list[RunCall]]
    """The model calls of the turn, for a replay."""
    made_by: NotRequired[dict[str, Any]]
    """The provenance that is needed to continue the scene after this line."""
    scene: NotRequired[dict[str, Any]]
    """The scene's definition; only in the first line, with `seed` and `models`."""
    seed: NotRequired[int]
    models: NotRequired[dict[str, str | None]]
    """The model spec of each seat."""
    director: NotRequired[str]
    """`module.name` of the function that directs the run in place of the scene's director."""


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """The contents of a run file."""

    loaded: LoadedScene
    seed: int
    models: Mapping[str, str | None]
    director: str
    """`module.name` of the function that directed the run; empty when the scene's director did."""
    lines: list[SceneLine]
    """All lines except the first."""
    records: list[RunLine]
    """The same lines with tokens, times and calls."""
    note: str
    """A warning when the last line is incomplete; empty otherwise."""
    foreign: ForeignFile | None = None
    """The file, if it comes from elsewhere and names models to which the user has not agreed."""

    @property
    def named_models(self) -> tuple[FileModel, ...]:
        """The models that a live replay would use, and that do something outside this program."""
        return _models_of(self.loaded.scene, self.models)

    def agreed(self) -> "RunFile":
        """The same record with models that count, because the user or the program agrees to them."""
        return replace(self, loaded=replace(self.loaded, foreign=None), foreign=None)


def first_line(
    loaded: LoadedScene,
    seed: int,
    models: Mapping[str, str | None],
    *,
    director: DirectorFunction | None = None,
) -> RunLine:
    """The first line of a run file.

    Args:
        loaded: the scene.
        seed: the scene's seed.
        models: the model spec of each seat.
        director: the function that overrides the scene's director, if any.
    """
    line = RunLine(
        turn=0,
        speaker=NARRATOR,
        name="",
        kind="narrate",
        audience=list(present_in(loaded.scene, ())),
        text=loaded.scene.setting,
        prompt_tokens=0,
        reused_tokens=0,
        completion_tokens=0,
        ms=0,
        scene=loaded.scene.model_dump(mode="json", exclude_defaults=True),
        seed=seed,
        models=dict(models),
    )
    if director is not None:
        line["director"] = qualified_name(director)
    return line


def run_line(
    loaded: LoadedScene,
    message: Message,
    *,
    turn: int,
    ms: int | None = None,
    why: str = "",
    calls: Sequence[RunCall] = (),
) -> RunLine:
    """The line of a run file for one message.

    `turn` is the number of the turn that the message is or follows, `ms` its duration in milliseconds; the
    message's own when None. `why` says why the director chose this speaker.
    """
    by_model = "model" in message.made_by
    usage = message.usage or ({} if by_model else _NO_MODEL)
    seconds = message.made_by.get("seconds", None if by_model else 0)
    line = RunLine(
        turn=turn,
        speaker=message.speaker,
        name=loaded.names.get(message.speaker, ""),
        kind=message.kind,
        audience=list(message.audience),
        text=message.text,
        prompt_tokens=usage.get("input_tokens"),
        reused_tokens=reused_tokens(usage),
        completion_tokens=usage.get("output_tokens"),
        ms=round(seconds * 1000) if ms is None and isinstance(seconds, int | float) else ms,
    )
    if by_model:
        line["model"] = str(message.made_by["model"])
    if why := why or str(message.made_by.get("why", "")):
        line["why"] = why
    if made_by := {key: value for key, value in message.made_by.items() if key in _KEPT}:
        line["made_by"] = made_by
    if calls:
        line["calls"] = list(calls)
    return line


def reused_tokens(usage: Mapping[str, Any] | None) -> int | None:
    """Prompt tokens that came from the prompt cache; None where the model does not report them."""
    details = (usage or {}).get("input_token_details")
    found = details.get("cache_read") if isinstance(details, Mapping) else None
    return int(found) if found is not None else None


def as_text(line: RunLine) -> str:
    """A line as JSON with a line break; control characters are escaped, so a terminal can show it."""
    return json_escaped(json.dumps(line, ensure_ascii=False)) + "\n"


def read_run_file(
    path: Path,
    cast: Callable[[Scene], LoadedScene] = cast_scene,
    *,
    turn_kinds: Sequence[MessageKind] = (),
) -> RunFile:
    """Read a run file; an incomplete last line is left out.

    Args:
        path: the file.
        cast: loads the personas; `uncast` when the scene is not going to be played.
        turn_kinds: the turn kinds of the scene that neither we nor a package provide.

    Raises:
        SceneError: the file cannot be read, or one of its lines is invalid.
        PersonaError: a persona of the cast cannot be found.
        SettingsError: `models.toml` or `agreed.toml` cannot be used.
    """
    lines, torn = _lines_of(path)
    head = _parsed(lines[0], path, 1)
    loaded = cast(_scene_of(head, path, turn_kinds))
    records: list[RunLine] = []
    for number, line in enumerate(lines[1:], 2):
        record = _parsed(line, path, number)
        _check(record, records[-1]["turn"] if records else 0, loaded, _place(path, number))
        records.append(record)
    content = {"scene": head["scene"], "models": dict(head["models"])}
    return RunFile(
        loaded=loaded,
        foreign=foreign_file(path, content, _models_of(loaded.scene, head["models"])),
        seed=head["seed"],
        models=head["models"],
        director=head.get("director", ""),
        lines=[_scene_line(record, number) for number, record in enumerate(records)],
        records=records,
        note=f"{path} is truncated in line {len(lines) + 1}; it was read up to there." if torn else "",
    )


def _models_of(scene: Scene, models: Mapping[str, str | None]) -> tuple[FileModel, ...]:
    recorded = ((seat, spec) for seat, spec in models.items() if spec)
    return (*with_reach(recorded), *file_models(scene, except_seats=models))


def _lines_of(path: Path) -> tuple[list[bytes], bool]:
    """The complete lines of a file, and whether an incomplete one follows them."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SceneError(f"{path} cannot be read ({error.strerror}); name another file.") from error
    if len(content) > _MOST_BYTES:
        raise SceneError(f"{path} is larger than {_MOST_BYTES >> 20} MiB; name a run file.")
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    last = lines.pop()
    torn = bool(last.strip()) and not _is_json(last)
    if last.strip() and not torn:
        lines.append(last)
    if not lines:
        raise SceneError(f"{path} has no complete line; write it with “rolellm scene run --out”.")
    return lines, torn


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


_LINE = TypeAdapter(RunLine)


def _parsed(line: bytes, path: Path, number: int) -> RunLine:
    try:
        return _LINE.validate_python(json.loads(replace_surrogates(line.decode())), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        fault = one_line(f"{key}: {first['msg']}" if key else first["msg"], 120)
    except (ValueError, RecursionError):
        fault = "it is not JSON"
    raise _damaged(_place(path, number), fault)


def _scene_of(head: RunLine, path: Path, turn_kinds: Sequence[MessageKind]) -> Scene:
    missing = [key for key in ("scene", "seed", "models") if key not in head]
    if missing:
        raise _damaged(_place(path, 1), f"it has no {' and '.join(missing)}")
    try:
        return Scene.model_validate(head["scene"], context={"turn_kinds": turn_kinds})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(["scene", *map(str, first["loc"])])
        raise _damaged(_place(path, 1), one_line(f"{key}: {first['msg']}", 120)) from None


def _check(record: RunLine, turn: int, loaded: LoadedScene, place: str) -> None:
    if record["turn"] < turn:
        raise _damaged(place, f"it is of turn {record['turn']}, and a line of turn {turn} stands before it")
    named = [*record["audience"], *([] if record["speaker"] == NARRATOR else [record["speaker"]])]
    if record["kind"] not in loaded.scene.message_kinds:
        raise _damaged(
            place, f"its kind is {one_line(record['kind'], 60)!r}, which the scene does not have"
        )
    stranger = next((seat for seat in named if seat not in loaded.seats), None)
    if stranger is not None:
        raise _damaged(place, f"it names {one_line(stranger, 60)!r}, which is not a seat")


def _place(path: Path, number: int) -> str:
    return f"{path}, line {number}"


def _damaged(place: str, fault: str) -> SceneError:
    return SceneError(
        f"{place}: {fault}; remove the line, or write the file again with “rolellm scene run”."
    )


def _scene_line(record: RunLine, number: int) -> SceneLine:
    line = SceneLine(
        id=f"line-{number + 1}",
        speaker=record["speaker"],
        kind=record["kind"],
        audience=record["audience"],
        text=record["text"],
        made_by={
            **{key: value for key, value in record.items() if key in ("model", "why")},
            **record.get("made_by", {}),
        },
    )
    if record["turn"] == 0 and is_turn(line):
        # Opening lines come first, in their order.
        line["made_by"].setdefault("opening", number)
    return line
