"""Options that several commands share, and how they become a session."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rolellm_agents.config.settings import Settings
    from rolellm_agents.persona import Persona
    from rolellm_agents.recall import RecallOptions
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.chat.session import Session

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
    typer.Option("--base-url", help="The OpenAI-compatible server of an openai: model.", metavar="URL"),
]
StrategyOption = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        "-s",
        help="zero-shot, few-shot-prompt, few-shot-dialogue, system or retrieval; what suits the model, "
        "if none.",
        metavar="NAME",
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Makes the answer repeatable.")]
MaxTokensOption = Annotated[
    int | None, typer.Option("--max-tokens", min=1, help="The longest answer, in tokens.")
]
TemperatureOption = Annotated[
    float | None,
    typer.Option("--temperature", "-t", min=0, max=5, help="0 always takes the likeliest word."),
]
LorebookOption = Annotated[
    list[str] | None,
    typer.Option(
        "--lorebook",
        help="A lorebook beside the persona's own: a file or an imported one; several may be given.",
    ),
]
RecallOption = Annotated[
    str | None,
    typer.Option(
        "--recall",
        help="How passages are looked up: bm25 (by words), chroma (by vectors) or hybrid.",
        metavar="METHOD",
    ),
]
EmbeddingsOption = Annotated[
    str | None,
    typer.Option(
        "--embeddings", help="For vectors: lexical, minilm, huggingface:… or openai:….", metavar="NAME"
    ),
]
RememberOption = Annotated[
    bool | None,
    typer.Option("--remember/--no-remember", help="Recall what was said in other conversations."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def open_session(
    persona: "Persona",
    transcript: "Transcript",
    *,
    model: str | None,
    base_url: str | None,
    strategy: str | None,
    seed: int | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    conversation: str | None = None,
    lorebooks: list[str] | None = None,
    recall: str | None = None,
    embeddings: str | None = None,
    remember: bool | None = None,
) -> "Session":
    """A session with these options, and the user's defaults for those not given.

    Raises:
        RoleLLMError: an option names something that does not exist or cannot be used.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.persona.from_card.files import find_lorebook
    from rolellm_agents.persona.user_persona import current_user_persona
    from rolellm_agents.prompting.default_strategy import default_strategy
    from rolellm_graphs.chat.session import Session

    settings = load_settings()
    you = current_user_persona(settings)
    name = model or settings.model
    chat_model = get_model(
        name,
        temperature=settings.temperature if temperature is None else temperature,
        max_tokens=max_tokens or settings.max_tokens,
        base_url=base_url,
    )
    return Session(
        persona,
        transcript,
        model=chat_model,
        model_name=name,
        strategy=strategy or settings.strategy or default_strategy(name),
        conversation=conversation,
        seed=seed,
        user_name=you.name,
        about_user=you.about,
        lorebooks=[find_lorebook(name) for name in lorebooks or ()],
        recall=recall_options(settings, method=recall, embeddings=embeddings),
        remember=settings.remember if remember is None else remember,
    )


def recall_options(
    settings: "Settings",
    *,
    method: str | None = None,
    embeddings: str | None = None,
    chroma_url: str | None = None,
    k: int | None = None,
) -> "RecallOptions":
    """What a command was told of recall, and the user's defaults for the rest.

    Raises:
        SettingsError: there is no such method.
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
