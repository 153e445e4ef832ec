"""`rolellm scene export`: export a played scene as a script, a novel, or a SillyTavern chat."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.transcripts import read_transcript
from rolellm_tui.output import complain, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.scene import LoadedScene, SceneLine


class SceneFormat(StrEnum):
    """Export formats of a scene."""

    script = "script"
    novel = "novel"
    sillytavern = "sillytavern"


def export(
    source: Annotated[
        str,
        typer.Argument(help="A run file (.jsonl), or the conversation id of a scene."),
    ],
    as_: Annotated[SceneFormat, typer.Option("--as", help="Output format.")] = SceneFormat.script,
    seen_by: Annotated[
        str | None, typer.Option("--seen-by", help="Only lines that this seat witnessed.", metavar="SEAT")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Output file. Default: standard output.", metavar="FILE"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Export a scene as a play's script, a page of a novel (HTML), or a SillyTavern group chat.

    \b
    Examples:
      rolellm scene export dinner.jsonl --as novel --out dinner.html
      rolellm scene export 3f2a --as script --seen-by james-bond
      rolellm scene export dinner.jsonl --as sillytavern --out dinner-group.jsonl
    """
    from rolellm_agents.errors import SceneError
    from rolellm_agents.files.atomic_write import write_atomically
    from rolellm_agents.files.pages import refuse_page
    from rolellm_agents.scene.export import SCENE_FORMATS, as_seen_by

    if out is not None and as_ != SceneFormat.novel:
        what = "A script" if as_ == SceneFormat.script else "A SillyTavern chat"
        refuse_page(out, f"{what} (--as {as_.value})", SceneError)
    if out is not None and out.exists() and not force:
        raise SceneError(f"{out} already exists; name another file, or overwrite it with --force.")
    loaded, lines = _read(source)
    if seen_by is not None:
        lines = as_seen_by(loaded, lines, seen_by)
    text = SCENE_FORMATS[as_.value](loaded, lines)
    if out is None:
        print_text(text, end="")
        return
    write_atomically(out, text, SceneError)
    complain(f"Wrote {len(lines)} lines to {out}.")


def _read(source: str) -> "tuple[LoadedScene, Sequence[SceneLine]]":
    """A scene and its lines, from a run file or the history. The personas are not needed."""
    from rolellm_agents.chat_files.scenes import scene_of
    from rolellm_agents.errors import SceneError
    from rolellm_agents.scene import line_of
    from rolellm_agents.scene.export import uncast
    from rolellm_agents.scene.run_file import read_run_file

    if source.endswith(".jsonl"):
        record = read_run_file(Path(source), uncast)
        if record.note:
            complain(record.note)
        return record.loaded, record.lines
    with read_transcript() as transcript:
        found = transcript.find_conversation(source)
        conversation = found.id
        loaded = scene_of(found.persona, transcript.extensions(conversation))
        if loaded is None:
            raise SceneError(f"The conversation {source} is not a scene; use “rolellm history export”.")
        path = transcript.path(conversation, transcript.latest_branch(conversation))
    return loaded, [line_of(message) for message in path]
