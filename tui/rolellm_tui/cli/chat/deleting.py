"""`rolellm history delete` and `rolellm history bin`: delete, take back, and delete forever."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.transcripts import open_transcript, read_transcript
from rolellm_tui.output import complain, counted_progress, print_json, print_table, print_text
from rolellm_tui.widgets.common.deletions import about_entry, empty_bin, extent_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolellm_agents.transcript import DeletionExtent, Transcript

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DeletionArgument = Annotated[
    str, typer.Argument(help="Id in “history bin list”; its first characters are enough.")
]

bin_app = typer.Typer(
    name="bin",
    help="What was deleted in the last thirty days: list it, take it back, or delete it forever.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def delete(
    conversation: Annotated[
        str | None, typer.Argument(help="Conversation id; its first characters are enough.")
    ] = None,
    message: Annotated[
        str | None,
        typer.Option(
            "--message",
            help="Delete only this message and all that follow: its id, or its number on the last branch.",
        ),
    ] = None,
    branch: Annotated[
        str | None,
        typer.Option("--branch", help="Delete only this branch; messages of other branches stay."),
    ] = None,
    persona: Annotated[
        str | None,
        typer.Option(
            "--persona", help="Delete all conversations with this persona (an id), and its draft."
        ),
    ] = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a conversation, a part of one, or everything of a persona.

    It stays in the bin for thirty days, from which “history bin restore” takes it back. Scenes are
    conversations, too; --persona leaves them, because they belong to all of their characters.

    \b
    Examples:
      rolellm history delete 3f9a
      rolellm history delete 3f9a --message 12
      rolellm history delete 3f9a --branch branch-2 --yes
      rolellm history delete --persona shrek
    """
    _check_choice(conversation, message, branch, persona)
    with open_transcript() as transcript:
        what, extent, act = _planned(transcript, conversation, message, branch, persona)
        _ask(f"Delete {what} ({extent_of(extent)})? It stays in the bin for thirty days.", yes=yes)
        deletion = act()
    if as_json:
        print_json({"id": deletion, **asdict(extent)})
        return
    print_text(f"Deleted: {extent_of(extent)}. To undo this:  rolellm history bin restore {deletion}")


def _check_choice(
    conversation: str | None, message: str | None, branch: str | None, persona: str | None
) -> None:
    if (conversation is None) == (persona is None):
        raise typer.BadParameter("name either a conversation or --persona.")
    if [message, branch, persona].count(None) < 2:
        raise typer.BadParameter("--message, --branch and --persona exclude each other.")


def _planned(
    transcript: "Transcript",
    conversation: str | None,
    message: str | None,
    branch: str | None,
    persona: str | None,
) -> "tuple[str, DeletionExtent, Callable[[], str]]":
    """What is deleted, how much it is, and the act."""
    from rolellm_agents.errors import MessageError

    if persona is not None:
        extent = transcript.measure_persona(persona)
        if not extent.conversations and not transcript.draft(persona):
            raise MessageError(f"There is nothing of {persona!r}; “rolellm history list” shows all.")
        return f"everything of {persona}", extent, lambda: transcript.delete_persona(persona)
    found = transcript.find_conversation(conversation or "").id
    if message is not None:
        id_ = _message_id(transcript, found, message)
        what = f"message {message} and everything that follows it"
        return what, transcript.measure_message(id_), lambda: transcript.delete_message(id_)
    if branch is not None:
        extent = transcript.measure_branch(found, branch)
        return f"branch {branch}", extent, lambda: transcript.delete_branch(found, branch)
    extent = transcript.measure_conversations([found])
    return f"conversation {found}", extent, lambda: transcript.delete_conversations([found])


def _message_id(transcript: "Transcript", conversation: str, reference: str) -> str:
    """The id of a message that is named by its number on the latest branch, or by its id."""
    from rolellm_agents.errors import MessageError

    path = transcript.path(conversation, transcript.latest_branch(conversation))
    if reference.isdecimal() and 1 <= int(reference) <= len(path):
        return path[int(reference) - 1].id
    if any(one.id == reference for one in transcript.messages(conversation)):
        return reference
    raise MessageError(
        f"There is no message {reference!r} in this conversation; its latest branch has "
        f"{len(path):,}, and “rolellm history show {conversation} --all --json” shows the ids."
    )


@bin_app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List what was deleted, latest first.

    \b
    Examples:
      rolellm history bin list
      rolellm history bin list --json
    """
    with read_transcript() as transcript:
        entries = transcript.bin()
    if as_json:
        print_json([asdict(one) for one in entries])
        return
    print_table(
        ("ID", "PERSONA", "DELETED (UTC)", "DAYS LEFT", "MESSAGES", "WHAT"),
        (
            (
                one.id,
                one.persona,
                one.deleted[:16].replace("T", " "),
                str(one.days_left),
                str(one.messages),
                about_entry(one),
            )
            for one in entries
        ),
    )


@bin_app.command("restore")
def restore(deletion: DeletionArgument, as_json: JsonOption = False) -> None:
    """Take back what was deleted.

    \b
    Examples:
      rolellm history bin restore 5be1
    """
    with open_transcript() as transcript:
        entry = transcript.take_back(deletion)
    if as_json:
        print_json(asdict(entry))
        return
    print_text(f"Taken back: {about_entry(entry)}, {extent_of(entry)}.")


@bin_app.command("empty")
def empty(
    deletion: Annotated[
        str | None,
        typer.Argument(help="Id of one deletion, with those that rest on it. Default: all."),
    ] = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete forever what is in the bin. It cannot be taken back.

    Backups, exports and copies of the transcript keep what they have; the command names those that are
    beside the transcript.

    \b
    Examples:
      rolellm history bin empty
      rolellm history bin empty 5be1 --yes
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.transcript.upkeep.files import copies_beside

    with open_transcript() as transcript:
        entries = transcript.bin() if deletion is None else [transcript.find_in_bin(deletion)]
        count = sum(one.messages for one in entries)
        if entries:
            _ask(f"Delete {_messages(count)} forever? This cannot be undone.", yes=yes)
        with counted_progress("Deleting messages") as progress:
            wiped = empty_bin(transcript, deletion, progress)
    copies = [str(copy) for copy in copies_beside(user_paths().transcript)]
    if as_json:
        print_json({"messages": count, "wiped": wiped, "copies": copies})
        return
    print_text(f"Deleted forever: {_messages(count)}.")
    if not wiped:
        complain(
            "Another program reads the conversations, so the text is still in their log; it is removed "
            "when you start rolellm the next time."
        )
    if copies:
        complain("Copies of the conversations can still contain it: " + ", ".join(copies) + ".")


def _messages(count: int) -> str:
    from rolellm_tui.widgets.common.formatting import counted

    return counted(count, "message")


def _ask(question: str, *, yes: bool) -> None:
    """Ask once; `--yes` is the answer of scripts.

    Raises:
        MessageError: nobody can be asked.
        typer.Abort: the user declined.
    """
    from rolellm_agents.errors import MessageError

    if yes:
        return
    if not sys.stdin.isatty():
        raise MessageError("Nobody can be asked here; add --yes to delete without a question.")
    typer.confirm(question, default=False, abort=True, err=True)
