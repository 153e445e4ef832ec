"""`rolellm recall`: what a persona retrieves for a line."""

from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import EmbeddingsOption, JsonOption, recall_options
from rolellm_tui.cli.transcripts import read_transcript
from rolellm_tui.output import complain, print_json, print_table

if TYPE_CHECKING:
    from rolellm_agents.persona import Persona
    from rolellm_agents.recall import Hit, Passage

_TEXT_WIDTH = 70


def recall(
    persona: Annotated[str, typer.Argument(help="Persona id, name or file.")],
    text: Annotated[str, typer.Argument(help="The user's line; - reads standard input.")],
    method: Annotated[
        str | None,
        typer.Option(
            "--method", metavar="METHOD", help="bm25, chroma or hybrid. Default: as in your settings."
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", min=1, help="Maximum number of passages. Default: as in your settings."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", help="Only this kind: demonstration, knowledge, lore or memory. Repeatable."
        ),
    ] = None,
    embeddings: EmbeddingsOption = None,
    chroma_url: Annotated[
        str | None, typer.Option("--chroma-url", help="URL of a Chroma server.", metavar="URL")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show which demonstrations, knowledge, lore and memories a persona retrieves, with scores and reasons.

    Passages marked “far” are below the relevance floor and would not enter a prompt.

    \b
    Examples:
      rolellm recall sherlock-holmes "How did you first meet Watson?"
      rolellm recall sherlock-holmes "Any brothers?" --method bm25 --k 3 --json
      rolellm recall 李白 "今晚喝什么？" --kind knowledge
      rolellm recall shrek "Do you live alone?" --embeddings minilm
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.persona import load_persona
    from rolellm_agents.persona.user_persona import current_user_persona
    from rolellm_agents.recall import Recaller
    from rolellm_tui.cli.chat.say import read_input

    settings = load_settings()
    options = recall_options(settings, method=method, embeddings=embeddings, chroma_url=chroma_url, k=k)
    found = load_persona(persona)
    line = read_input() if text == "-" else text
    passages = _passages(found, current_user_persona(settings).name, _kinds(kind or ()))
    if not passages:
        complain(
            f"{found.name} has nothing to recall; add demonstrations or knowledge to the persona, "
            "or name another --kind."
        )
    _print(Recaller(passages, found, "hybrid", options).search(line), as_json=as_json)


def _passages(persona: "Persona", user: str, kinds: list[str]) -> "list[Passage]":
    from rolellm_agents.persona.from_card.conversion import with_macros
    from rolellm_agents.recall import LoreRecall, demonstrations_of, knowledge_of, lore_of, memories_of

    played = with_macros(persona, user)
    passages = [
        *demonstrations_of(played),
        *knowledge_of(played),
        *lore_of(LoreRecall(played, user=user).books, played, user),
    ]
    if "memory" in kinds:
        with read_transcript() as transcript:
            passages += memories_of(transcript, played, user=user)
    return [passage for passage in passages if passage.kind in kinds]


def _kinds(names: "list[str] | tuple[str, ...]") -> list[str]:
    """The kinds to search. Memories are private to conversations, so they must be named."""
    from rolellm_agents.errors import SettingsError
    from rolellm_agents.recall.passages import KINDS
    from rolellm_agents.text import did_you_mean

    for kind in names:
        if kind not in KINDS:
            raise SettingsError(
                f"There is no kind {kind!r}{did_you_mean(kind, KINDS)}; known are {', '.join(KINDS)}."
            )
    return list(names) or [kind for kind in KINDS if kind != "memory"]


def _print(hits: "list[Hit]", *, as_json: bool) -> None:
    from rolellm_agents.text import one_line

    if as_json:
        print_json(
            [
                {
                    "text": hit.passage.text,
                    "kind": hit.passage.kind,
                    "score": hit.score,
                    "source": hit.passage.source,
                    "closeness": hit.closeness,
                    "near": hit.is_near,
                    "why": hit.why,
                }
                for hit in hits
            ]
        )
    elif hits:
        print_table(
            ("SCORE", "NEAR", "SOURCE", "TEXT", "WHY"),
            (
                (
                    f"{hit.score:.4g}",
                    f"{hit.closeness:.2f}" if hit.is_near else f"{hit.closeness:.2f} far",
                    hit.passage.source,
                    one_line(hit.passage.text, _TEXT_WIDTH),
                    hit.why,
                )
                for hit in hits
            ),
        )
