"""`rolellm history`: list, search, rename, archive, delete, export, import and look after conversations."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.chat import deleting, upkeep
from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.transcripts import open_transcript, read_transcript
from rolellm_tui.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.transcript import FoundMessage, Message


class ChatFormat(StrEnum):
    """Export formats of a conversation."""

    markdown = "markdown"
    json = "json"
    sillytavern = "sillytavern"
    sharegpt = "sharegpt"


ConversationArgument = Annotated[
    str, typer.Argument(help="Conversation id; its first characters are enough.")
]
PersonaFilter = Annotated[
    str | None, typer.Option("--persona", help="Only conversations with this persona (an id).")
]

app = typer.Typer(
    name="history",
    help="List, search, rename, delete, export, import, back up and repair conversations.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_(
    persona: PersonaFilter = None,
    archived: Annotated[
        bool, typer.Option("--archived", help="List archived conversations instead.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List conversations, latest first.

    \b
    Examples:
      rolellm history list --persona shrek
      rolellm history list --archived
      rolellm history list --json
    """
    with read_transcript() as transcript:
        conversations = transcript.conversations(persona, archived=archived)
    if as_json:
        print_json([asdict(one) for one in conversations])
        return
    print_table(
        ("ID", "PERSONA", "UPDATED (UTC)", "MESSAGES", "TITLE", "LAST"),
        (
            (one.id, one.persona, _minute(one.updated), str(one.messages), one.title, one.last)
            for one in conversations
        ),
    )


@app.command("show")
def show(
    conversation: ConversationArgument,
    everything: Annotated[
        bool, typer.Option("--all", help="Include every swipe and branch, in the order of creation.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the latest branch of a conversation, or all of its messages.

    In a scene, stage directions mark whispers, thoughts and actions.

    \b
    Examples:
      rolellm history show 3f9a
      rolellm history show 3f9a --all --json
    """
    from rolellm_agents.chat_files.scenes import render_message, scene_of

    with read_transcript() as transcript:
        found = transcript.find_conversation(conversation)
        scene = scene_of(found.persona, transcript.extensions(found.id))
        branch = transcript.latest_branch(found.id)
        messages = transcript.messages(found.id) if everything else transcript.path(found.id, branch)
    if as_json:
        print_json(
            {
                "id": found.id,
                "persona": found.persona,
                "title": found.title,
                "archived": found.archived,
                "created": found.created,
                "updated": found.updated,
                "branch": branch,
                "messages": [_as_json(message) for message in messages],
            }
        )
        return
    for message in messages:
        print_text(f"{render_message(scene, message)}\n")


@app.command("search")
def search(
    text: Annotated[str, typer.Argument(help="Words, a “quoted phrase”, or a prefix*.")],
    persona: PersonaFilter = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of messages.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """Find messages that contain all the words, newest first. Archived conversations are included.

    \b
    Examples:
      rolellm history search moonlight
      rolellm history search '"the speckled band" snake*' --persona sherlock-holmes
      rolellm history search 月亮 --limit 5 --json
    """
    with read_transcript() as transcript:
        found = transcript.search(text, persona=persona, limit=limit)
    if as_json:
        print_json([asdict(one) for one in found])
        return
    print_table(
        ("ID", "PERSONA", "SAID (UTC)", "SPEAKER", "FOUND"),
        ((one.conversation, one.persona, _minute(one.created), one.speaker, _marked(one)) for one in found),
    )


@app.command("rename")
def rename(
    conversation: ConversationArgument,
    title: Annotated[str, typer.Argument(help="New title; '' removes it.")],
) -> None:
    """Set the title of a conversation.

    \b
    Examples:
      rolellm history rename 3f9a 'The missing pipe'
    """
    with open_transcript() as transcript:
        transcript.rename(transcript.find_conversation(conversation).id, title)


@app.command("archive")
def archive(conversation: ConversationArgument) -> None:
    """Archive a conversation. It is no longer listed; nothing is deleted.

    \b
    Examples:
      rolellm history archive 3f9a
    """
    with open_transcript() as transcript:
        transcript.archive(transcript.find_conversation(conversation).id)


@app.command("unarchive")
def unarchive(conversation: ConversationArgument) -> None:
    """Restore an archived conversation.

    \b
    Examples:
      rolellm history unarchive 3f9a
    """
    with open_transcript() as transcript:
        transcript.unarchive(transcript.find_conversation(conversation).id)


@app.command("export")
def export(
    conversation: ConversationArgument,
    format_: Annotated[
        ChatFormat | None,
        typer.Option(
            "--format",
            help="File format. Markdown is for reading; the others can be imported. Default: JSON for a "
            ".json file, else Markdown.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output file. Default: standard output.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Include every swipe and branch (json only).")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Export a conversation.

    The export holds the latest branch; SillyTavern's format adds its swipes, and JSON with --all adds every
    branch. A scene becomes a play's script, or in SillyTavern's format a group chat without swipes.

    \b
    Examples:
      rolellm history export 3f9a
      rolellm history export 3f9a --out conversation.md
      rolellm history export 3f9a --format json --all --out backup.json
      rolellm history export 3f9a --format sillytavern --out chat.jsonl
    """
    from rolellm_agents.chat_files import export_conversation
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.errors import ChatFileError
    from rolellm_agents.files.atomic_write import write_atomically
    from rolellm_agents.files.pages import refuse_page
    from rolellm_agents.persona.user_persona import current_user_persona

    if out is not None:
        refuse_page(out, "A conversation", ChatFileError)
    if out is not None and out.exists() and not force:
        raise ChatFileError(f"{out} already exists; name another file, or overwrite it with --force.")
    with read_transcript() as transcript:
        record = transcript.record(conversation)
    by_name = ChatFormat.json if out and out.suffix.lower() == ".json" else ChatFormat.markdown
    text = export_conversation(
        record,
        (format_ or by_name).value,
        user_name=current_user_persona(load_settings()).name,
        everything=everything,
    )
    if out is None:
        print_text(text, end="")
    else:
        write_atomically(out, text, ChatFileError)
        print_text(str(out))


@app.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(help="JSON of “history export”, a SillyTavern chat, or ShareGPT.")
    ],
    persona: Annotated[
        str | None,
        typer.Option("--persona", help="Persona of the conversations. Default: by the name in the file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import conversations. The format is detected from the content.

    \b
    Examples:
      rolellm history import backup.json
      rolellm history import 'Seraphina - 2024-05-01.jsonl' --persona seraphina
    """
    from rolellm_agents.chat_files import import_chat_file

    with open_transcript() as transcript:
        imported = import_chat_file(file.expanduser(), transcript, persona)
    if as_json:
        print_json([asdict(one) for one in imported])
        return
    for one in imported:
        print_text(f"{one.id}: {one.messages} messages with {one.persona} ({one.format})")


def _as_json(message: "Message") -> dict[str, Any]:
    return {**asdict(message), "audience": list(message.audience)}


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _marked(found: "FoundMessage") -> str:
    """The snippet with its hits in square brackets."""
    marked, at = "", 0
    for start, end in found.hits:
        marked += f"{found.snippet[at:start]}[{found.snippet[start:end]}]"
        at = end
    return marked + found.snippet[at:]


app.command("delete")(deleting.delete)
app.add_typer(deleting.bin_app)
app.command("check")(upkeep.check)
app.command("backup")(upkeep.backup)
app.command("restore")(upkeep.restore)
app.command("salvage")(upkeep.salvage)
