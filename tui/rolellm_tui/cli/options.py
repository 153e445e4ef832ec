"""Options that several commands share, and the session that they open."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from rolellm_agents.config.settings import Settings
    from rolellm_agents.persona import Persona
    from rolellm_agents.recall import RecallOptions
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.chat.session import Session
    from rolellm_tui.sessions import OpenSession

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A model spec or a name from models.toml.",
        metavar="PROVIDER:NAME",
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option("--base-url", help="OpenAI-compatible server of an openai: model.", metavar="URL"),
]
StrategyOption = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        "-s",
        help="zero-shot, few-shot-prompt, few-shot-dialogue, system or retrieval. Default: the "
        "model's preferred strategy.",
        metavar="NAME",
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Sampling seed.")]
MaxTokensOption = Annotated[
    int | None, typer.Option("--max-tokens", min=1, help="Maximum length of an answer, in tokens.")
]
TemperatureOption = Annotated[
    float | None,
    typer.Option("--temperature", "-t", min=0, max=5, help="Sampling temperature; 0 decodes greedily."),
]
PresetOption = Annotated[
    str | None,
    typer.Option(
        "--preset",
        help="A sampler preset: a name from “rolellm preset list”, or a file.",
        metavar="NAME",
    ),
]
ThinkingOption = Annotated[
    Literal["off", "low", "medium", "high"] | None,
    typer.Option(
        "--thinking",
        help="How much a reasoning model thinks before it answers. Default: the model's own setting.",
    ),
]
LorebookOption = Annotated[
    list[str] | None,
    typer.Option(
        "--lorebook",
        help="A lorebook besides the persona's own: a file, or the name of an imported one. Repeatable.",
    ),
]
RecallOption = Annotated[
    str | None,
    typer.Option(
        "--recall",
        help="Retrieval method: bm25 (keywords), chroma (vectors) or hybrid.",
        metavar="METHOD",
    ),
]
EmbeddingsOption = Annotated[
    str | None,
    typer.Option(
        "--embeddings", help="Embedding model: lexical, minilm, huggingface:… or openai:….", metavar="NAME"
    ),
]
RememberOption = Annotated[
    bool | None,
    typer.Option("--remember/--no-remember", help="Recall what was said in earlier conversations."),
]
RowPersonaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--persona",
        "-p",
        help="Id, name or file of a persona of the rows, before those of the library. Repeatable.",
    ),
]
RunFolderOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder of the run. Default: a folder among your own runs."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses of options.

    Each parameter whose annotation is a dataclass is replaced by the fields of the dataclass, which Typer
    reads as options of the command itself.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type[Any]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation) and isinstance(parameter.annotation, type):
            groups[parameter.name] = parameter.annotation
            parameters += inspect.signature(parameter.annotation, eval_str=True).parameters.values()
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__annotations__ = {one.name: one.annotation for one in keywords}
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return run


@dataclass(frozen=True)
class SessionOptions:
    """Options of the commands that talk with one persona."""

    model: ModelOption = None
    base_url: BaseUrlOption = None
    strategy: StrategyOption = None
    seed: SeedOption = None
    max_tokens: MaxTokensOption = None
    temperature: TemperatureOption = None
    preset: PresetOption = None
    thinking: ThinkingOption = None
    lorebook: LorebookOption = None
    recall: RecallOption = None
    embeddings: EmbeddingsOption = None
    remember: RememberOption = None


def open_session(
    persona: "Persona",
    transcript: "Transcript",
    options: SessionOptions,
    *,
    conversation: str | None = None,
) -> "Session":
    """Open a session. Options that are not given default to the user's settings.

    Raises:
        RoleLLMError: an option names something that does not exist or cannot be used.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.presets.files import chosen_preset
    from rolellm_agents.models.presets.using import model_maker
    from rolellm_agents.persona.from_card.files import find_lorebook
    from rolellm_agents.persona.user_persona import current_user_persona
    from rolellm_agents.prompting.default_strategy import default_strategy
    from rolellm_graphs.chat.session import Session

    settings = load_settings()
    user = current_user_persona(settings)
    name = options.model or settings.model
    make = model_maker(
        settings,
        preset=chosen_preset(settings, options.preset),
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        base_url=options.base_url,
        thinking=options.thinking,
    )
    return Session(
        persona,
        transcript,
        model=make(name),
        model_name=name,
        strategy=options.strategy or settings.strategy or default_strategy(name),
        conversation=conversation,
        seed=options.seed,
        user_name=user.name,
        about_user=user.about,
        lorebooks=[find_lorebook(name) for name in options.lorebook or ()],
        recall=recall_options(settings, method=options.recall, embeddings=options.embeddings),
        remember=settings.remember if options.remember is None else options.remember,
    )


_OVERRIDING = {
    "model": ("model", "--model"),
    "strategy": ("strategy", "--strategy"),
    "preset": ("preset", "--preset"),
    "temperature": ("temperature", "--temperature"),
    "max_tokens": ("max_tokens", "--max-tokens"),
    "recall_method": ("recall", "--recall"),
    "embeddings": ("embeddings", "--embeddings"),
    "remember": ("remember", "--remember"),
}
"""Settings that an option overrides: the field of `SessionOptions` and the option's name."""


def overriding(options: SessionOptions) -> dict[str, tuple[str, object]]:
    """The settings that the command line overrides: each with the option and its value."""
    return {
        setting: (flag, value)
        for setting, (field, flag) in _OVERRIDING.items()
        if (value := getattr(options, field)) is not None
    }


def overriding_flags(options: SessionOptions) -> dict[str, str]:
    """The settings that the command line overrides, each with the option."""
    return {setting: flag for setting, (flag, _) in overriding(options).items()}


def session_opener(transcript: "Transcript", options: SessionOptions) -> "OpenSession":
    """A function that opens sessions, each with a strategy and a model of its own if they are given."""

    def open_with(
        persona: "Persona",
        conversation: str | None,
        *,
        strategy: str | None = None,
        model: str | None = None,
    ) -> "Session":
        given = replace(options, strategy=strategy or options.strategy, model=model or options.model)
        return open_session(persona, transcript, given, conversation=conversation)

    return open_with


def cast_with(named: list[str] | None) -> "list[Persona]":
    """The named personas, and after them those of the library with other ids.

    Raises:
        PersonaError: there is no such persona, or its file is invalid.
    """
    from rolellm_agents.persona import list_personas, load_persona

    first = [load_persona(name) for name in named or ()]
    taken = {persona.id for persona in first}
    return [*first, *(one.persona for one in list_personas().found if one.persona.id not in taken)]


def recall_options(
    settings: "Settings",
    *,
    method: str | None = None,
    embeddings: str | None = None,
    chroma_url: str | None = None,
    k: int | None = None,
) -> "RecallOptions":
    """The recall options of a command. What is not given defaults to the user's settings.

    Raises:
        SettingsError: the method is unknown.
    """
    from rolellm_agents.recall import RecallOptions, method_named

    return RecallOptions(
        method=method_named(method) if method else settings.recall_method,
        k=settings.recall_k if k is None else k,
        tokens=settings.recall_tokens,
        floor=settings.recall_floor,
        embeddings=embeddings or settings.embeddings,
        chroma_url=chroma_url or settings.chroma_url,
    )
