"""What the commands that judge share: options, models, sources, the run's folder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rolellm_tui.output import complain

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.persona import Persona
    from rolellm_agents.transcript import Message

JudgeModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        help="Who judges: a model spec or a name from models.toml; several are a panel.",
        metavar="PROVIDER:NAME",
    ),
]
JudgeOutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="The run's folder; one of your own otherwise.")
]
JudgeLimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="The first so many alone.")]
JudgeAtOnceOption = Annotated[
    int, typer.Option("--at-once", min=1, max=256, help="Questions to each model at the same time.")
]
JudgeSeedOption = Annotated[int, typer.Option("--seed", help="Of the judge's answers.")]
JudgePersonaOption = Annotated[
    str | None,
    typer.Option("--persona", help="Whom a chat in a file is with; by the name in it when left out."),
]


class OpenModel(NamedTuple):
    """A model that judges, and what it is called."""

    name: str
    model: "BaseChatModel"


class ReadChat(NamedTuple):
    """A conversation of two as it stands."""

    persona: "Persona"
    path: "Sequence[Message]"
    key: str


def open_models(
    names: Sequence[str] | None, *, base_url: str | None, temperature: float | None
) -> list[OpenModel]:
    """The models that judge, the settings' one if none is named.

    Judges take the likeliest answer unless they are told otherwise.

    Raises:
        RoleLLMError: there is no such model.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import get_model

    chosen = list(dict.fromkeys(names or [load_settings().model]))
    heat = 0.0 if temperature is None else temperature
    return [OpenModel(name, get_model(name, temperature=heat, base_url=base_url)) for name in chosen]


def warn_of_small(models: Sequence[OpenModel]) -> None:
    """One sentence when a model that is to judge in words is too small for it."""
    for one in models:
        if _is_embedded(one.model):
            complain(f"{one.name} is so small that it judges poorly; --model names a better one.")


def run_folder(config: Mapping[str, Any], *sources: str) -> Path:
    """Where a run of these settings is kept when nobody names a folder."""
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.runs.seeds import digest_of

    told = json.dumps([config, *sources], sort_keys=True, ensure_ascii=True)
    return user_paths().runs / f"judge-{config['judge']}-{digest_of(told)[:8]}"


def source_name(source: str) -> str:
    """What a source is, wherever the command is called from."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source


def read_chats(source: str, persona: str | None) -> list[ReadChat]:
    """The conversations of a file, or the one of the history.

    Raises:
        RoleLLMError: there is none, it is a scene, or it is with nobody we know.
    """
    from rolellm_agents.chat_files import import_chat_file
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.transcript import Transcript

    path = Path(source).expanduser()
    if not path.is_file() and not source.endswith((".json", ".jsonl")):
        with Transcript(user_paths().transcript) as transcript:
            return [_read_chat(transcript, source, source, persona)]
    with Transcript(None) as aside:
        found = import_chat_file(path, aside, persona)
        keys = [path.name] if len(found) == 1 else [f"{path.name}:{n}" for n in range(1, len(found) + 1)]
        return [_read_chat(aside, one.id, key, None) for one, key in zip(found, keys, strict=True)]


def your_name() -> str:
    """What characters call the person at the keyboard."""
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.persona.user_persona import current_user_persona

    return current_user_persona(load_settings()).name


def _read_chat(transcript: Any, conversation: str, key: str, persona: str | None) -> ReadChat:
    from rolellm_agents.chat_files.scenes import is_scene
    from rolellm_agents.judging import JudgingError
    from rolellm_agents.persona import load_persona

    found = transcript.find_conversation(conversation)
    if is_scene(found.persona):
        raise JudgingError(f"The conversation {key} is a scene; “rolellm judge scene” judges it.")
    path = transcript.path(found.id, transcript.latest_branch(found.id))
    # An id may be told by its beginning alone, and the run is the same.
    key = found.id if key == conversation and found.id.startswith(key) else key
    return ReadChat(load_persona(persona or found.persona), path, key)


def _is_embedded(model: "BaseChatModel") -> bool:
    path = getattr(model, "model_path", None)
    if not isinstance(path, Path):
        return False
    from rolellm_agents.models.llamacpp.files.gguf import is_embedded

    return is_embedded(path)
