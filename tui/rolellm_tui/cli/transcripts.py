"""The user's transcript, opened for a command."""

from typing import TYPE_CHECKING

from rolellm_tui.output import complain

if TYPE_CHECKING:
    from rolellm_agents.transcript import Transcript


def open_transcript() -> "Transcript":
    """Open the transcript to write into it.

    Raises:
        StorageError: the file cannot be written, or is damaged.
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.transcript import Transcript

    return _with_notice(Transcript(user_paths().transcript))


def read_transcript() -> "Transcript":
    """Open the transcript to read it, which also works in a folder without write permission.

    Raises:
        StorageError: the file cannot be read, or is damaged.
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.transcript import Transcript

    return _with_notice(Transcript.for_reading(user_paths().transcript))


def _with_notice(transcript: "Transcript") -> "Transcript":
    if transcript.notice:
        complain(transcript.notice)
    return transcript
