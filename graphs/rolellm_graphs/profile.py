"""The profile graph: from a script to a role's persona. read → note, a segment each → describe.

RoleLLM's first stage, role profile construction (arXiv 2310.00746, §3.1). What needs no model (the lines,
the habits, the long speeches) is found by reading and counting; a model, if there is one, adds knowledge
and a description, and each of its notes must name the line it rests on and share words with it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NotRequired

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.channels import Topic
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ScriptError
from rolellm_agents.models.forms import fill_form
from rolellm_agents.persona import Knowledge, Persona, id_of
from rolellm_agents.persona.from_script.assemble import draft_persona, with_notes
from rolellm_agents.persona.from_script.notes import (
    Description,
    Note,
    Notes,
    distinct_notes,
    is_grounded,
    is_usable,
)
from rolellm_agents.persona.from_script.role import names_of
from rolellm_agents.persona.from_script.segments import choose_segments, cut_segments
from rolellm_agents.persona.from_script.wording import length
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.runs.folder import Run, open_run
from rolellm_agents.scripts.reading import read_script
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.decoding import read_text
from rolellm_agents.text.near_copies import near_copies

AT_ONCE = 4
"""Segments that are read at the same time; a local model reads them in one batch."""
_SEGMENT_CHARACTERS = 4_000
_FEWEST_WORDS = 20
"""Of a description that is worth having."""
_COPIED = 0.4
"""The share of runs of words from which on a description repeats what it was given."""


class FoundNote(TypedDict):
    """A note with its place."""

    note: dict[str, Any]
    place: str
    segment: int


class NoteRequest(TypedDict):
    """What one note-taking needs."""

    segment: dict[str, Any]
    total: int
    title: str
    draft: dict[str, Any]


class ProfileRequestValues(TypedDict):
    """A `ProfileRequest` as plain values."""

    script: str
    """The path of a file."""
    role: str
    aliases: NotRequired[list[str]]
    demonstrations: NotRequired[int]
    segments: NotRequired[int]


class ProfileInput(TypedDict, total=False):
    """What the graph takes."""

    request: ProfileRequestValues
    """Nothing, when the graph was built for one request."""


class ProfileState(ProfileInput, total=False):
    """What the graph keeps, as plain values."""

    draft: dict[str, Any]
    """The persona from reading and counting alone."""
    title: str
    segments: list[dict[str, Any]]
    notes: Annotated[list[FoundNote], Topic(FoundNote)]
    """Of all segments; gone when the persona is described, so that another call on a thread has its own."""
    persona: dict[str, Any]


@dataclass(frozen=True)
class ProfileRequest:
    """What to make a profile of."""

    script: Path
    role: str
    aliases: tuple[str, ...] = ()
    demonstrations: int = 12
    """How many to choose, at most."""
    segments: int = 16
    """How many segments a model reads, at most."""


@dataclass(frozen=True)
class SegmentNoted:
    """Progress: a segment was read by the model, or was found in the run's folder."""

    done: int
    total: int
    kept: int
    """Notes that rest on a line of the segment and are usable."""
    dropped: int
    """Notes that do not."""


class ProfileOutput(TypedDict):
    """What the graph gives back."""

    persona: dict[str, Any]
    title: str


ProfileGraph = CompiledStateGraph[ProfileState, None, ProfileInput, ProfileOutput]


def profile_graph(
    request: ProfileRequest | None = None,
    *,
    model: BaseChatModel | None = None,
    run: Run | None = None,
    on_progress: Callable[[SegmentNoted], None] = lambda _: None,
) -> ProfileGraph:
    """Build the graph that makes a persona out of a script.

    Args:
        request: the script and the role; None takes them from the `request` of each call.
        model: writes knowledge and description; without one they are what can be counted and quoted.
        run: where finished segments are recorded and found again.
        on_progress: told of each segment.
    """
    done: list[int] = []

    def read(state: ProfileState) -> dict[str, Any]:
        wanted = request or _request_of(state)
        script = read_script(wanted.script)
        names = names_of(script, wanted.role, wanted.aliases)
        draft = draft_persona(script, names, wanted.role, demonstrations=wanted.demonstrations)
        segments = cut_segments(script, names, most=_SEGMENT_CHARACTERS) if model else []
        return {
            "draft": draft.model_dump(mode="json"),
            "title": script.title,
            "segments": [asdict(segment) for segment in choose_segments(segments, wanted.segments)],
        }

    def fan_out(state: ProfileState) -> list[Send] | str:
        segments = state["segments"]
        return [
            Send(
                "note",
                NoteRequest(
                    segment=segment, total=len(segments), title=state["title"], draft=state["draft"]
                ),
            )
            for segment in segments
        ] or "describe"

    def note(state: NoteRequest) -> dict[str, Any]:
        number = state["segment"]["number"]
        taken: dict[str, Any] | None = run.items.get(f"segment {number}") if run else None
        if taken is None and model is not None:
            taken = _take_notes(
                model, state["segment"], state["title"], Persona.model_validate(state["draft"])
            )
            if run:
                run.append(f"segment {number}", taken)
        found = taken or {"kept": [], "dropped": 0}
        done.append(number)
        on_progress(SegmentNoted(len(done), state["total"], len(found["kept"]), found["dropped"]))
        return {"notes": found["kept"]}

    def describe(state: ProfileState) -> dict[str, Any]:
        draft = Persona.model_validate(state["draft"])
        if model is None:
            return {"persona": state["draft"]}
        found = sorted(state.get("notes", []), key=lambda item: item["segment"])
        description = _describe(model, draft, state["title"], found)
        return {"persona": with_notes(draft, description, _knowledge(found)).model_dump(mode="json")}

    builder = StateGraph(ProfileState, input_schema=ProfileInput, output_schema=ProfileOutput)
    builder.add_node("read", read)
    builder.add_node("note", note)
    builder.add_node("describe", describe)
    builder.add_edge(START, "read")
    builder.add_conditional_edges("read", fan_out, ["note", "describe"])
    builder.add_edge("note", "describe")
    builder.add_edge("describe", END)
    return builder.compile(name="profile")


def build_profile(
    request: ProfileRequest,
    *,
    model: BaseChatModel | None = None,
    model_name: str = "",
    folder: Path | None = None,
    on_progress: Callable[[SegmentNoted], None] = lambda _: None,
) -> tuple[Persona, str]:
    """Make a persona out of a script.

    Args:
        request: the script and the role.
        model: see `profile_graph`.
        model_name: how the run's record calls the model.
        folder: the run's; segments that were read before are found in it. Without one nothing is kept.
        on_progress: told of each segment.

    Returns:
        The persona, and the title of the work as the script gives it.

    Raises:
        ScriptError: the script cannot be read, or the role does not speak in it.
        StorageError: the folder cannot be used, or holds another run.
        ModelError: the model cannot be reached.
    """
    if folder is None or model is None:
        return _run_graph(profile_graph(request, model=model, on_progress=on_progress))
    with open_run(folder, _config(request, model_name)) as run:
        persona, title = _run_graph(profile_graph(request, model=model, run=run, on_progress=on_progress))
        run.finish({"persona": persona.model_dump(mode="json")})
        return persona, title


def _request_of(state: ProfileState) -> ProfileRequest:
    try:
        told = TypeAdapter(ProfileRequest).validate_python(state.get("request"))
    except ValidationError as error:
        raise ScriptError(
            'No script to read is told; put {"request": {"script": "PATH", "role": "NAME"}} in.'
        ) from error
    return replace(told, script=told.script.expanduser())


def _run_graph(graph: ProfileGraph) -> tuple[Persona, str]:
    output = graph.invoke({}, {"max_concurrency": AT_ONCE})
    return Persona.model_validate(output["persona"]), output["title"]


def run_folder(request: ProfileRequest, model_name: str) -> Path:
    """Where a run of these settings is recorded when nobody names a folder.

    Raises:
        ScriptError: there is no such script.
    """
    settings = json.dumps(_config(request, model_name), sort_keys=True)
    name = f"profile-{id_of(request.role)}-{hashlib.sha256(settings.encode()).hexdigest()[:8]}"
    return user_paths().runs / name


def _config(request: ProfileRequest, model_name: str) -> Mapping[str, Any]:
    prompts = [load_prompt(name, "en").version for name in ("profile-notes", "profile-description")]
    return {
        "script": hashlib.sha256(read_text(request.script).encode()).hexdigest(),
        "role": request.role,
        "aliases": list(request.aliases),
        "segments": request.segments,
        "model": model_name,
        "prompts": prompts,
    }


def _take_notes(
    model: BaseChatModel, segment: Mapping[str, Any], title: str, draft: Persona
) -> dict[str, Any]:
    """The notes of one segment that hold, and how many do not."""
    prompt = load_prompt("profile-notes", draft.language)
    lines = segment["lines"]
    passage = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    answer = fill_form(
        model, Notes, [HumanMessage(prompt.fill(title=title, name=draft.name, passage=passage))]
    )
    notes = answer.notes if answer else []
    kept = [note for note in notes if is_grounded(note, lines) and is_usable(note, draft.language)]
    found = [
        FoundNote(note=note.model_dump(), place=segment["places"][note.line - 1], segment=segment["number"])
        for note in kept
    ]
    return {"kept": found, "dropped": len(notes) - len(kept)}


def _describe(model: BaseChatModel, draft: Persona, title: str, found: Sequence[FoundNote]) -> str:
    """The model's description, or nothing when it is of no use."""
    prompt = load_prompt("profile-description", draft.language)
    noted = [note for item in found if (note := Note(**item["note"])).kind == "trait"]
    traits = [noted[number] for number in distinct_notes(noted)]
    asked = prompt.fill(
        name=draft.name,
        title=title,
        facts=draft.description,
        traits="\n".join(f"{note.title}: {note.text}" for note in traits),
    )
    answer = fill_form(model, Description, [HumanMessage(asked)])
    text = answer.description if answer else ""
    return text if _is_worth_having(text, draft) else ""


def _is_worth_having(description: str, draft: Persona) -> bool:
    """Whether it speaks of the role, as no assistant would, and says more than the facts it was given."""
    if draft.name not in description or ai_talk(description):
        return False
    is_copy = any(near_copies([draft.description, description], at_least=_COPIED))
    return not is_copy and length(description, draft.language) >= _FEWEST_WORDS


def _knowledge(found: Sequence[FoundNote]) -> list[Knowledge]:
    """Notes of knowledge, without those that say the same."""
    placed = [
        (Note(**item["note"]), item["place"]) for item in found if item["note"]["kind"] == "knowledge"
    ]
    kept = (placed[number] for number in distinct_notes([note for note, _ in placed]))
    return [Knowledge(title=note.title, text=note.text, place=place) for note, place in kept]
