"""Read a script of any kind from a file."""

from dataclasses import replace
from pathlib import Path

from rolellm_agents.errors import ScriptError
from rolellm_agents.scripts.novel import read_novel
from rolellm_agents.scripts.play import read_play
from rolellm_agents.scripts.script import Script, add_addressees
from rolellm_agents.scripts.subtitles import is_subtitles, read_subtitles
from rolellm_agents.scripts.tagged import is_tagged, read_tagged
from rolellm_agents.text.decoding import read_text
from rolellm_agents.text.language import language_of


def read_script(path: Path) -> Script:
    """Read a tagged or plain play, a screenplay, subtitles or a novel; the content decides which.

    Raises:
        ScriptError: the file cannot be read, is damaged, or has no speeches.
    """
    text = read_text(path)
    script = _read(text, path)
    return replace(script, passages=tuple(add_addressees(script.passages)))


def _read(text: str, path: Path) -> Script:
    if is_tagged(text):
        return read_tagged(text, path.name)
    if is_subtitles(text):
        return read_subtitles(text, path.name)
    language = language_of(text)
    script = read_play(text, path.stem, language) or read_novel(text, path.stem, language)
    if script is None:
        raise ScriptError(
            f"{path} is not a script: neither names before speeches (a play, a screenplay) nor quotations "
            "(a novel) were found in it; use a text in which people speak."
        )
    return script
