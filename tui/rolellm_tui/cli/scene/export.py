"""`rolellm scene export`: a scene that was played as something to read, or for SillyTavern."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.output import complain, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.scene import LoadedScene, SceneLine


class SceneFormat(StrEnum):
    """What a scene can be written as."""

    script = "script"
    novel = "novel"
    sillytavern = "sillytavern"


def export(
    source: Annotated[
        str,
        typer.Argument(help="A run file (.jsonl), or the id of a scene in “rolellm history list”."),
    ],
    as_: Annotated[SceneFormat, typer.Option("--as", help="What to write.")] = SceneFormat.script,
    seen_by: Annotated[
        str | None, typer.Option("--seen-by", help="Only what this seat saw and heard.", metavar="SEAT")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file; else it is printed.", metavar="FILE")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a scene as a play's script, as a page of a novel (HTML), or as SillyTavern's group chat.

    \b
    Examples:
      rolellm scene export dinner.jsonl --as novel --out dinner.html
      rolellm scene export 3f2a --as script --seen-by james-bond
      rolellm scene export dinner.jsonl --as sillytavern --out dinner-group.jsonl
    """
    from rolellm_agents.errors import SceneError
    from rolellm_agents.files.atomic_write import write_atomically
    from rolellm_agents.scene.export import SCENE_FORMATS, as_seen_by

    if out is not None and out.exists() and not force:
        raise SceneError(f"{out} is there already; name another file, or use --force to replace it.")
    loaded, lines = _read(source)
    if seen_by is not None:
        lines = as_seen_by(loaded, lines, seen_by)
    text = SCENE_FORMATS[as_.value](loaded, lines)
    if out is None:
        print_text(text, end="")
        return
    write_atomically(out, text, SceneError)
    complain(f"{len(lines)} lines are in {out}.")


def _read(source: str) -> "tuple[LoadedScene, Sequence[SceneLine]]":
    """What happened, from a run file or from the history; nobody of the cast is needed for it."""
    from rolellm_agents.chat_files.scenes import scene_of
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.errors import SceneError
    from rolellm_agents.scene import line_of
    from rolellm_agents.scene.export import uncast
    from rolellm_agents.scene.run_file import read_run_file
    from rolellm_agents.transcript import Transcript

    if source.endswith(".jsonl"):
        record = read_run_file(Path(source), uncast)
        if record.note:
            complain(record.note)
        return record.loaded, record.lines
    with Transcript(user_paths().transcript) as transcript:
        found = transcript.find_conversation(source)
        conversation = found.id
        loaded = scene_of(found.persona, transcript.extensions(conversation))
        if loaded is None:
            raise SceneError(f"The conversation {source} is no scene; “rolellm history export” writes it.")
        path = transcript.path(conversation, transcript.latest_branch(conversation))
    return loaded, [line_of(message) for message in path]
