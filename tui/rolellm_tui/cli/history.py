"""`rolellm history`: what was said."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.transcript import Message, Transcript

app = typer.Typer(
    name="history",
    help="List and show conversations.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_(
    persona: Annotated[
        str | None, typer.Option("--persona", help="Only conversations with this one (an id).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List conversations, the latest first.

    \b
    Examples:
      rolellm history list --persona shrek
      rolellm history list --json
    """
    with _open() as transcript:
        conversations = transcript.conversations(persona)
    if as_json:
        print_json([asdict(one) for one in conversations])
        return
    print_table(
        ("ID", "PERSONA", "UPDATED (UTC)", "MESSAGES", "LAST"),
        (
            (one.id, one.persona, one.updated[:16].replace("T", " "), str(one.messages), one.last)
            for one in conversations
        ),
    )


@app.command("show")
def show(
    conversation: Annotated[str, typer.Argument(help="An id, or its beginning.")],
    everything: Annotated[
        bool, typer.Option("--all", help="With every swipe and branch, in the order written.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a conversation as it stands, or all that was ever written in it.

    \b
    Examples:
      rolellm history show 3f9a
      rolellm history show 3f9a --all --json
    """
    with _open() as transcript:
        found = transcript.find_conversation(conversation)
        branch = transcript.latest_branch(found.id)
        messages = transcript.messages(found.id) if everything else transcript.path(found.id, branch)
    if as_json:
        print_json(
            {
                "id": found.id,
                "persona": found.persona,
                "created": found.created,
                "updated": found.updated,
                "branch": branch,
                "messages": [_as_json(message) for message in messages],
            }
        )
        return
    for message in messages:
        ending = f" [{message.ending}]" if message.ending else ""
        print_text(f"{message.speaker}: {message.text}{ending}\n")


def _open() -> "Transcript":
    from rolellm_agents.paths import user_paths
    from rolellm_agents.transcript import Transcript

    return Transcript(user_paths().transcript)


def _as_json(message: "Message") -> dict[str, Any]:
    return {**asdict(message), "audience": list(message.audience)}
