"""`rolellm scene run`: run a scene to its end, and print or write it line by line."""

import asyncio
from contextlib import aclosing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import JsonOption, SeedOption, with_option_groups
from rolellm_tui.cli.scene.options import (
    SceneArgument,
    SceneOptions,
    default_model,
    head_of_file,
    open_ensemble,
    scene_to_play,
    unattended,
    without_replay_fields,
)
from rolellm_tui.cli.transcripts import open_transcript
from rolellm_tui.output import complain, print_text
from rolellm_tui.widgets.common.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from rolellm_agents.scene.run_file import RunFile, RunLine
    from rolellm_graphs.scene.stage import Stage


@with_option_groups
def run(
    *,
    scene: SceneArgument,
    turns: Annotated[
        int | None,
        typer.Option("--turns", min=1, help="Maximum number of turns. Default: until the scene ends."),
    ] = None,
    seed: SeedOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Also write a run file. An incomplete one is continued.",
            metavar="FILE",
        ),
    ] = None,
    options: SceneOptions,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite an existing file instead of continuing it.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Save the scene in the history.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Run a scene to its end and print each line. Models also play the seats of people.

    --json prints an object per line: turn, speaker, kind, audience, text, prompt_tokens, reused_tokens, ms.

    \b
    Examples:
      rolellm scene run last-booth --turns 8
      rolellm scene run dinner-for-four --seed 7 --out dinner.jsonl --json
      rolellm scene run four-men-and-a-vault --model openai:gpt-4o-mini
    """
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.scene.stage import Stage

    loaded = unattended(scene_to_play(scene, options), options.director)
    ensemble = open_ensemble(loaded, options)
    with (
        _written_alone(out),
        open_transcript() if keep else Transcript(None) as transcript,
    ):
        stage = Stage(ensemble, transcript, seed=seed, persons=())
        if stage.notice:
            complain(stage.notice)
        if out is not None:
            _open_file(
                out, stage, head_of_file(stage, default_model(loaded, options.model)), overwrite=force
            )
        asyncio.run(_play(stage, turns, out, as_json=as_json))


def _written_alone(out: Path | None) -> "AbstractContextManager[None]":
    """Let nobody else write a run file meanwhile."""
    from rolellm_agents.errors import SceneError
    from rolellm_agents.files.one_writer import lock_beside, one_writer

    if out is None:
        return nullcontext()
    return one_writer(lock_beside(out), out, SceneError, "wait for it, or name another file with --out")


def _open_file(out: Path, stage: "Stage", head: str, *, overwrite: bool) -> None:
    """Start a run file, or restore the stage from an existing one.

    Raises:
        SceneError: the file is of another scene, cannot be read, or cannot be written.
    """
    from rolellm_agents.errors import SceneError
    from rolellm_agents.files.atomic_write import write_atomically
    from rolellm_agents.scene.export import uncast
    from rolellm_agents.scene.run_file import read_run_file

    if overwrite or not _has_content(out, head):
        write_atomically(out, head, SceneError)
        return
    record = read_run_file(out, uncast)
    if record.loaded.scene != stage.loaded.scene or record.seed != stage.seed:
        raise SceneError(
            f"{out} is of another scene or another seed; name another file, or overwrite it with --force."
        )
    if record.note:
        complain(record.note)
    _repair(out, torn=bool(record.note))
    _restore(out, stage, record)


def _has_content(out: Path, head: str) -> bool:
    """Whether the file contains more than a part of its first line."""
    beginning = head.encode()
    try:
        with out.open("rb") as file:
            return not beginning.startswith(file.read(len(beginning) + 1))
    except FileNotFoundError:
        return False
    except OSError:
        return True  # reading it reports the error


def _repair(out: Path, *, torn: bool) -> None:
    """Remove a torn last line, and end the file with a line break."""
    from rolellm_agents.files.appending import cut_torn_line, mend_last_line

    with _write_errors(out):
        (cut_torn_line if torn else mend_last_line)(out)


def _restore(out: Path, stage: "Stage", record: "RunFile") -> None:
    from rolellm_agents.scene.run_file import run_line
    from rolellm_graphs.scene.run import missing_narration

    owed = missing_narration(record)
    stage.take_over([*record.lines, owed] if owed else record.lines)
    if owed:
        _append(out, run_line(stage.loaded, stage.messages[-1], turn=record.records[-1]["turn"]))


async def _play(stage: "Stage", turns: int | None, out: Path | None, *, as_json: bool) -> None:
    from rolellm_agents.scene import line_of
    from rolellm_agents.scene.run_file import as_text, run_line
    from rolellm_agents.scene.view import render_line
    from rolellm_graphs.events import MessageDone, Waiting
    from rolellm_graphs.scene.run import Played, play

    async with aclosing(play(stage, None if turns is None else max(0, turns - stage.turns))) as events:
        async for event in events:
            if isinstance(event, Waiting):
                complain(str(event))
            if isinstance(event, MessageDone) and not as_json:
                print_text(render_line(stage.loaded, line_of(event.message)))
            if isinstance(event, Played):
                line = run_line(stage.loaded, event.message, turn=event.turn, calls=event.calls)
                if out is not None:
                    _append(out, line)
                if as_json:
                    print_text(as_text(without_replay_fields(line)), end="")
    if not as_json:
        print_text(f"\n{stage.ended}" if stage.ended else f"\n{counted(stage.turns, 'turn')}.")


def _append(out: Path, line: "RunLine") -> None:
    from rolellm_agents.files.appending import append_durably
    from rolellm_agents.scene.run_file import as_text

    with _write_errors(out):
        append_durably(out, as_text(line).encode())


@contextmanager
def _write_errors(out: Path) -> "Iterator[None]":
    from rolellm_agents.errors import StorageError

    try:
        yield
    except OSError as error:
        raise StorageError(f"{out} cannot be written ({error.strerror}); name another file.") from error
