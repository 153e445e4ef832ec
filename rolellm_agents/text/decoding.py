"""Read text files of unknown encoding, up to a maximum size."""

from pathlib import Path

from charset_normalizer import from_bytes

from rolellm_agents.errors import ScriptError

MAX_BYTES = 20_000_000


def read_text(path: Path) -> str:
    """Read a text file, with line feeds as line ends and without a byte order mark.

    Raises:
        ScriptError: the file is missing, too large, empty, or not text.
    """
    try:
        if not path.is_file():
            raise ScriptError(f"There is no file {path}; name a script, a play, subtitles or a novel.")
        if path.stat().st_size > MAX_BYTES:
            raise ScriptError(
                f"{path} has {path.stat().st_size / 1e6:.0f} MB, and at most {MAX_BYTES / 1e6:.0f} are "
                "read; cut it into parts."
            )
        content = path.read_bytes()
    except OSError as error:
        raise ScriptError(f"{path} cannot be read: {error.strerror}.") from error
    text = decoded(content, path).replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if not text.strip():
        raise ScriptError(f"{path} is empty; name a script, a play, subtitles or a novel.")
    return text


def decoded(content: bytes, path: Path) -> str:
    """Decode a file's content, and detect its encoding; line ends and a byte order mark are kept.

    Raises:
        ScriptError: the content is not text.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        best = from_bytes(content).best()
        if best is None:
            raise ScriptError(f"{path} is not text; save the script as plain text.") from None
        # Single-byte encodings cannot be distinguished reliably; cp1252 is the usual one for English.
        text = content.decode("cp1252", "replace") if not best.multi_byte_usage else str(best)
    if "\0" in text or text.startswith(("%PDF", "PK\x03\x04", "{\\rtf")):
        raise ScriptError(f"{path} is not plain text; save the script as plain text (.txt) and try again.")
    return text
