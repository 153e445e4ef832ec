"""Builds a persona from a script. Graph: read → note for each segment → describe.

RoleLLM's first stage, role profile construction (arXiv 2310.00746, §3.1). Lines, habits and long speeches
are extracted without a model. A model, if there is one, adds knowledge and a description; each of its notes
must cite a line and share words with it.
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
from rolellm_agents.runs.seeds import digest_of
from rolellm_agents.scripts.reading import read_script
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.decoding import read_text
from rolellm_agents.text.near_copies import near_copies

AT_ONCE = 4
"""Number of segments that are processed concurrently; a local model processes them in one batch."""
_SEGMENT_CHARACTERS = 4_000
_FEWEST_WORDS = 20
"""The shortest useful description, in words."""
_COPIED = 0.4
"""The share of n-grams above which a description counts as a copy of its input."""


class FoundNote(TypedDict):
    """A note with its position in the script."""

    note: dict[str, Any]
    place: str
    segment: int


class NoteRequest(TypedDict):
    """The input of the `note` node."""

    segment: dict[str, Any]
    total: int
    title: str
    draft: dict[str, Any]


class ProfileRequestValues(TypedDict):
    """A `ProfileRequest` as JSON values."""

    script: str
    """The path of a file."""
    role: str
    aliases: NotRequired[list[str]]
    demonstrations: NotRequired[int]
    segments: NotRequired[int]


class ProfileInput(TypedDict, total=False):
    """The graph's input."""

    request: ProfileRequestValues
    """Absent when the graph was built for one request."""


class ProfileState(ProfileInput, total=False):
    """The graph's state, as JSON values."""

    draft: dict[str, Any]
    """The persona without a model's additions."""
    title: str
    segments: list[dict[str, Any]]
    notes: Annotated[list[FoundNote], Topic(FoundNote)]
    """Notes of all segments; cleared at the end, so that another call on the thread starts without them."""
    persona: dict[str, Any]


@dataclass(frozen=True)
class ProfileRequest:
    """The script and role of a profile, and its limits."""

    script: Path
    role: str
    aliases: tuple[str, ...] = ()
    demonstrations: int = 12
    """The most demonstrations of the persona."""
    segments: int = 16
    """The most segments that a model reads."""


@dataclass(frozen=True)
class SegmentNoted:
    """Progress event: the notes of a segment were taken, or loaded from the run."""

    done: int
    total: int
    kept: int
    """The number of usable notes, which are based on a line of the segment."""
    dropped: int
    """The number of unusable notes."""


class ProfileOutput(TypedDict):
    """The graph's output."""

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
    """Build the graph that turns a script into a persona.

    Args:
        request: the script and the role; None takes them from the `request` of each call.
        model: writes knowledge and description; without one these are extracted.
        run: records the notes of finished segments.
        on_progress: called for each segment.
    """
    done: list[int] = []

    def read(state: ProfileState) -> dict[str, Any]:
        chosen = request or _request_of(state)
        script = read_script(chosen.script)
        names = names_of(script, chosen.role, chosen.aliases)
        draft = draft_persona(script, names, chosen.role, demonstrations=chosen.demonstrations)
        segments = cut_segments(script, names, most=_SEGMENT_CHARACTERS) if model else []
        return {
            "draft": draft.model_dump(mode="json"),
            "title": script.title,
            "segments": [asdict(segment) for segment in choose_segments(segments, chosen.segments)],
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
    """Build a persona from a script.

    Args:
        request: the script and the role.
        model: see `profile_graph`.
        model_name: the model's name in the run.
        folder: the run's folder, where notes of finished segments are recorded; None records nothing.
        on_progress: called for each segment.

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
        request = TypeAdapter(ProfileRequest).validate_python(state.get("request"))
    except ValidationError as error:
        raise ScriptError(
            'The request names no script; pass {"request": {"script": "PATH", "role": "NAME"}} in.'
        ) from error
    return replace(request, script=request.script.expanduser())


def _run_graph(graph: ProfileGraph) -> tuple[Persona, str]:
    output = graph.invoke({}, {"max_concurrency": AT_ONCE})
    return Persona.model_validate(output["persona"]), output["title"]


def run_folder(request: ProfileRequest, model_name: str) -> Path:
    """The default folder of a run with these settings.

    Raises:
        ScriptError: there is no such script.
    """
    settings = json.dumps(_config(request, model_name), sort_keys=True)
    return user_paths().runs / f"profile-{id_of(request.role)}-{digest_of(settings)[:8]}"


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
    """The usable notes of one segment, and the number of unusable ones."""
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
    """The model's description; empty if it is not usable."""
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
    """Whether the description names the role, contains no AI talk, and is not a copy of the given facts."""
    if draft.name not in description or ai_talk(description):
        return False
    is_copy = any(near_copies([draft.description, description], at_least=_COPIED))
    return not is_copy and length(description, draft.language) >= _FEWEST_WORDS


def _knowledge(found: Sequence[FoundNote]) -> list[Knowledge]:
    """Notes of knowledge without duplicates."""
    placed = [
        (Note(**item["note"]), item["place"]) for item in found if item["note"]["kind"] == "knowledge"
    ]
    kept = (placed[number] for number in distinct_notes([note for note, _ in placed]))
    return [Knowledge(title=note.title, text=note.text, place=place) for note, place in kept]
