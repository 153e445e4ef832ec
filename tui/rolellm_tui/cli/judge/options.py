"""Options, models, sources and run folders that the commands of `rolellm judge` share."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rolellm_tui.cli.options import BaseUrlOption, JsonOption, RunFolderOption, TemperatureOption
from rolellm_tui.cli.transcripts import read_transcript
from rolellm_tui.output import complain

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.persona import Persona
    from rolellm_agents.transcript import Message

JudgeAtOnceOption = Annotated[
    int, typer.Option("--at-once", min=1, max=256, help="Concurrent requests to each model.")
]


@dataclass(frozen=True)
class JudgeOptions:
    """Options of the commands that judge chats, pairs and scenes."""

    persona: Annotated[
        str | None,
        typer.Option("--persona", help="Persona of a chat in a file. Default: by the name in the file."),
    ] = None
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Maximum number of items.")] = None
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="The judge: a model spec or a name from models.toml. Repeat for a panel of judges.",
            metavar="PROVIDER:NAME",
        ),
    ] = None
    base_url: BaseUrlOption = None
    temperature: TemperatureOption = None
    seed: Annotated[int, typer.Option("--seed", help="Sampling seed of the judge.")] = 0
    at_once: JudgeAtOnceOption = 8
    out: RunFolderOption = None
    as_json: JsonOption = False


class OpenModel(NamedTuple):
    """A judging model and its name."""

    name: str
    model: "BaseChatModel"


class ReadChat(NamedTuple):
    """A conversation with one persona, along its latest branch."""

    persona: "Persona"
    path: "Sequence[Message]"
    key: str


def open_models(
    names: Sequence[str] | None, *, base_url: str | None, temperature: float | None
) -> list[OpenModel]:
    """Open the judging models; the settings' model if none is named.

    Judges decode greedily unless a temperature is given.

    Raises:
        RoleLLMError: there is no such model.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import get_model

    chosen = list(dict.fromkeys(names or [load_settings().model]))
    temperature = 0.0 if temperature is None else temperature
    return [OpenModel(name, get_model(name, temperature=temperature, base_url=base_url)) for name in chosen]


def warn_about_small_models(models: Sequence[OpenModel]) -> None:
    """Warn about models that are too small to judge in words."""
    for one in models:
        if _is_embedded(one.model):
            complain(f"{one.name} is so small that it judges poorly; --model names a better one.")


def run_folder(config: Mapping[str, Any], *sources: str) -> Path:
    """The default folder of a run with these settings."""
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.runs.seeds import digest_of

    settings = json.dumps([config, *sources], sort_keys=True, ensure_ascii=True)
    return user_paths().runs / f"judge-{config['judge']}-{digest_of(settings)[:8]}"


def source_name(source: str) -> str:
    """A source's name, independent of the working directory."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source


def read_chats(source: str, persona: str | None) -> list[ReadChat]:
    """The conversations of a file, or one conversation of the history.

    Raises:
        RoleLLMError: there is no such conversation, it is a scene, or its persona is unknown.
    """
    from rolellm_agents.chat_files import import_chat_file
    from rolellm_agents.transcript import Transcript

    path = Path(source).expanduser()
    if not path.is_file() and not source.endswith((".json", ".jsonl")):
        with read_transcript() as transcript:
            return [_read_chat(transcript, source, source, persona)]
    with Transcript(None) as aside:
        found = import_chat_file(path, aside, persona)
        keys = [path.name] if len(found) == 1 else [f"{path.name}:{n}" for n in range(1, len(found) + 1)]
        return [_read_chat(aside, one.id, key, None) for one, key in zip(found, keys, strict=True)]


def your_name() -> str:
    """The user's name, as characters use it."""
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
    # A shortened id must lead to the same run as the full one.
    key = found.id if key == conversation and found.id.startswith(key) else key
    return ReadChat(load_persona(persona or found.persona), path, key)


def _is_embedded(model: "BaseChatModel") -> bool:
    path = getattr(model, "model_path", None)
    if not isinstance(path, Path):
        return False
    from rolellm_agents.models.llamacpp.files.gguf import is_embedded

    return is_embedded(path)
