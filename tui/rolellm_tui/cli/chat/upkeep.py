"""`rolellm history check`, `backup`, `restore` and `salvage`: look after the transcript's file."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import complain, counted_progress, print_json, print_text
from rolellm_tui.widgets.common.formatting import counted

if TYPE_CHECKING:
    from rolellm_agents.transcript.upkeep.checking import CheckReport
    from rolellm_agents.transcript.upkeep.copies import Backup
    from rolellm_agents.transcript.upkeep.restoring import Restored
    from rolellm_agents.transcript.upkeep.salvage import Salvage

FileArgument = Annotated[Path | None, typer.Argument(help="A transcript. Default: your own.")]
NewFileOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="New file; an existing one is refused.", metavar="FILE")
]


def check(file: FileArgument = None, as_json: JsonOption = False) -> None:
    """Check whether the file with all conversations is damaged. It is not changed.

    The exit code is 1 if something is wrong.

    \b
    Examples:
      rolellm history check
      rolellm history check transcript-backup-2026-11-25.db --json
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.transcript.upkeep.checking import check_transcript

    report = check_transcript(file or user_paths().transcript)
    if as_json:
        print_json({**asdict(report), "sound": report.is_sound})
    else:
        _print_report(report)
    if not report.is_sound:
        raise typer.Exit(1)


def _print_report(report: "CheckReport") -> None:
    from rolellm_agents.transcript.failures import upkeep_command

    if report.is_sound:
        print_text(f"{report.file} is sound: {_extent(report)}, format {report.format}.")
    if report.binned:
        print_text(f"{counted(report.binned, 'message')} more in the bin; see “rolellm history bin list”.")
    if report.missing:
        print_text(f"{counted(report.missing, 'message')} could not be saved by an earlier salvage.")
    for finding in report.findings:
        print_text(finding)
    if report.findings:
        salvaging = upkeep_command("salvage", str(report.file))
        print_text(f"{report.file} is damaged. Close the chats, and then run")
        print_text(f"  {salvaging}    to save what can be read in a new file, and")
        print_text("  rolellm history restore FILE    to put that file, or a backup, in place.")


def backup(out: NewFileOption = None, as_json: JsonOption = False) -> None:
    """Copy all conversations to one file, also while chats write into them.

    Without --out, the copy is put into the folder “backups” beside the conversations.

    \b
    Examples:
      rolellm history backup
      rolellm history backup --out /media/usb/conversations.db
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.transcript.upkeep.copies import back_up

    with counted_progress("Copying pages") as progress:
        made = back_up(user_paths().transcript, out and out.expanduser(), progress)
    if as_json:
        print_json(asdict(made))
        return
    print_text(made.file)
    complain(f"Copied {_extent(made)}.")


def restore(
    file: Annotated[Path, typer.Argument(help="A backup, or a file of “history salvage”.")],
    as_json: JsonOption = False,
) -> None:
    """Replace all conversations with a backup.

    Close all chats first. The present file is kept beside it under a dated name; if it is sound, restore it
    to undo.

    \b
    Examples:
      rolellm history restore ~/.local/share/rolellm/backups/transcript-backup-2026-11-25.db
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.transcript.upkeep.checking import check_transcript
    from rolellm_agents.transcript.upkeep.restoring import restore as put_in_place

    restored = put_in_place(file.expanduser(), user_paths().transcript)
    if as_json:
        print_json(asdict(restored))
        return
    print_text(f"{restored.file} now has {_extent(restored)}.")
    if restored.kept:
        print_text(f"The former file is kept as {restored.kept}.{_lost(restored)}")
        if check_transcript(Path(restored.kept)).is_sound:
            print_text(f"To undo this:  rolellm history restore {restored.kept}")
        else:
            print_text("It is damaged, so only “rolellm history salvage” can read it.")


def salvage(file: FileArgument = None, out: NewFileOption = None, as_json: JsonOption = False) -> None:
    """Recover the readable messages of a damaged file into a new file. The damaged file is not changed.

    Without --out, the new file is put beside the damaged one.

    \b
    Examples:
      rolellm history salvage
      rolellm history salvage broken.db --out saved.db --json
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.transcript.upkeep.salvage import salvage as save

    source = (file or user_paths().transcript).expanduser()
    with counted_progress("Reading pages") as progress:
        saved = save(source, out and out.expanduser(), progress)
    if as_json:
        print_json(asdict(saved))
        return
    print_text(f"Saved {_extent(saved)} in {saved.file}. {source} is unchanged.")
    if saved.binned:
        print_text(f"{counted(saved.binned, 'message')} more in the bin.")
    if saved.lost or saved.torn:
        print_text(f"Lost: {counted(saved.lost, 'message')}. Incomplete: {counted(saved.torn, 'message')}.")
    print_text(f"To go on with what was saved:  rolellm history restore {saved.file}")


def _extent(of: "CheckReport | Backup | Restored | Salvage") -> str:
    return f"{counted(of.messages or 0, 'message')} of {counted(of.conversations or 0, 'conversation')}"


def _lost(restored: "Restored") -> str:
    """A sentence about what only the former file has; empty if there is nothing, or nothing is known."""
    only = restored.only_in_kept
    if only is None or not (only.messages or only.conversations):
        return ""
    conversations = f", among them {counted(only.conversations, 'whole conversation')}"
    return f" Only it has {counted(only.messages, 'message')}{conversations if only.conversations else ''}."
