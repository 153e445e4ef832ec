"""Put a backup in the place of a transcript; the present file is kept under a dated name."""

import contextlib
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from rolellm_agents.config.paths import make_folder
from rolellm_agents.errors import StorageError
from rolellm_agents.files.one_writer import holders
from rolellm_agents.transcript.failures import upkeep_command
from rolellm_agents.transcript.presence import alone
from rolellm_agents.transcript.upkeep.checking import CheckReport, check_transcript
from rolellm_agents.transcript.upkeep.copies import copy_database, reading
from rolellm_agents.transcript.upkeep.differences import Missing, missing_from
from rolellm_agents.transcript.upkeep.files import COMPANIONS, dated_file, new_file, put_on_disk
from rolellm_agents.transcript.upkeep.pages import open_log


@dataclass(frozen=True, kw_only=True)
class Restored:
    """A transcript that was put in place."""

    file: str
    kept: str | None
    """Where the former file is; None if there was none."""
    conversations: int | None
    messages: int | None
    only_in_kept: Missing | None = None
    """What only the former file has; None if there was none, or it cannot be read."""


def restore(backup: Path, file: Path) -> Restored:
    """Replace a transcript by a copy of a sound one.

    Args:
        backup: the file to copy, which stays where it is.
        file: the transcript, which is kept under a dated name beside the new one.

    Raises:
        StorageError: the backup is damaged or cannot be read, another process has the transcript open, or
            the disk is full. The transcript is then unchanged.
    """
    report = _sound(backup)
    if file.exists() and backup.samefile(file):
        raise StorageError(f"{backup} is the transcript itself; name a backup of it.")
    make_folder(file.parent)
    with alone(file):
        if file.exists() and (users := holders(file)):
            raise StorageError(f"{file} is open in another program{users}; close it, and try again.")
        fresh = file.with_name(f".{file.name}.restored")
        fresh.unlink(missing_ok=True)  # left by a killed process
        with reading(backup) as source, new_file(fresh) as (part, _):
            copy_database(source, part)
        try:
            kept = missing = None
            if file.exists():
                kept = _keep_aside(file)
                _merge_log(file)
                missing = missing_from(fresh, file)
            # A log that belongs to another file must not be applied to the new one.
            for end in COMPANIONS:
                file.with_name(file.name + end).unlink(missing_ok=True)
            fresh.replace(file)
            with contextlib.suppress(OSError):  # both files are complete, whichever name is on the disk
                put_on_disk(file.parent)
        except OSError as error:
            raise StorageError(f"{file} cannot be replaced ({error.strerror}); try again.") from error
        finally:
            fresh.unlink(missing_ok=True)
    return Restored(
        file=str(file),
        kept=None if kept is None else str(kept),
        conversations=report.conversations,
        messages=report.messages,
        only_in_kept=missing,
    )


def _sound(backup: Path) -> CheckReport:
    report = check_transcript(backup)
    if report.messages is None and report.is_sound:
        raise StorageError(f"{backup} is not a transcript; name a backup.")
    if not report.is_sound:
        raise StorageError(
            f"{backup} is damaged ({report.findings[0].rstrip('.')}); "
            f"“{upkeep_command('salvage', str(backup))}” saves what can be read of it."
        )
    return report


def _merge_log(file: Path) -> None:
    """Let SQLite write the log into the file, so that a kill before the rename leaves both together.

    A damaged file, which SQLite refuses, has been kept aside.
    """
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _keep_aside(file: Path) -> Path:
    """Copy a transcript, with its log if there is one, to a dated name."""
    kept = dated_file(file, "replaced")
    log = open_log(file)
    if log is not None:
        with new_file(kept.with_name(f"{kept.name}-wal")) as (part, _):
            shutil.copyfile(log, part)
    with new_file(kept) as (part, _):
        shutil.copyfile(file, part)
    return kept
