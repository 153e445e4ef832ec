"""`rolellm judge scene`: find the flaws of a played scene, line by line."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.judge.options import JudgeOptions
from rolellm_tui.cli.options import with_option_groups
from rolellm_tui.cli.transcripts import read_transcript
from rolellm_tui.output import complain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.judging.flaws import JudgedScene
    from rolellm_graphs.judge.panel import SceneJudging
    from rolellm_tui.cli.judge.options import OpenModel

_ITEMS = "items.jsonl"
"""The record of a scene lab, in the same folder as its scenes."""


@with_option_groups
def scene(
    *,
    run: Annotated[
        str,
        typer.Argument(
            help="A run file of “rolellm scene run”, a folder of run files, a conversation id, or the file "
            "of an exported chat.",
        ),
    ],
    options: JudgeOptions,
) -> None:
    """List the flaws of a played scene or a chat, with line and severity, and score it.

    Anthropomorphism, fidelity, story quality and consistency are scored from 0 to 100.

    \b
    Examples:
      rolellm judge scene dinner.jsonl --model openai:gpt-4o-mini
      rolellm judge scene runs/booth --limit 5 --json
      rolellm judge scene 3f9a
    """
    from rolellm_agents.judging.recorded import about_scene
    from rolellm_graphs.judge.graph import judge_scenes
    from rolellm_graphs.judge.judges import judge_config
    from rolellm_tui.cli.judge.options import open_models, run_folder, source_name, warn_about_small_models
    from rolellm_tui.cli.judge.printing import judging_progress, of_items, print_verdicts

    scenes = _scenes(run, options.persona)[: options.limit]
    models = open_models(options.model, base_url=options.base_url, temperature=options.temperature)
    warn_about_small_models(models)
    config = judge_config("scene", models, seed=options.seed)
    folder = options.out or run_folder(config, source_name(run))
    with judging_progress(folder) as progress:
        verdicts = asyncio.run(
            judge_scenes(
                _judge(models, options),
                scenes,
                folder=folder,
                config=config,
                at_once=options.at_once,
                progress=progress,
            )
        )
    abouts = [about_scene(one) for one in scenes]
    print_verdicts(of_items("scenes", config, abouts, verdicts), folder, as_json=options.as_json)


def _scenes(source: str, persona: str | None) -> "list[JudgedScene]":
    """The scenes of a source.

    Raises:
        RoleLLMError: the source contains no scenes.
    """
    from rolellm_agents.judging import JudgingError

    path = Path(source).expanduser()
    if path.is_dir():
        files = sorted(file for file in path.glob("*.jsonl") if file.name != _ITEMS)
        if not files:
            raise JudgingError(f"{source} has no run files; “rolellm scene run --out” writes one.")
        return [_scene_of_file(file) for file in files]
    if path.is_file() and _is_run(path):
        return [_scene_of_file(path)]
    return _scenes_of_chat(source, persona)


def _scene_of_file(file: Path) -> "JudgedScene":
    from rolellm_agents.judging.chats import played_scene
    from rolellm_agents.scene.export import uncast
    from rolellm_agents.scene.run_file import read_run_file

    record = read_run_file(file, uncast)
    if record.note:
        complain(record.note)
    return played_scene(record.loaded, record.lines, file.name)


def _is_run(file: Path) -> bool:
    """Whether a file's first line is a scene."""
    import json

    try:
        with file.open(encoding="utf-8-sig") as lines:
            head = json.loads(lines.readline())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(head, dict) and "scene" in head and "turn" in head


def _scenes_of_chat(source: str, persona: str | None) -> "list[JudgedScene]":
    from rolellm_agents.chat_files.scenes import scene_of
    from rolellm_agents.judging.chats import played_scene, scene_of_chat
    from rolellm_agents.scene import line_of
    from rolellm_tui.cli.judge.options import read_chats, your_name

    if not Path(source).expanduser().is_file() and not source.endswith((".json", ".jsonl")):
        with read_transcript() as transcript:
            found = transcript.find_conversation(source)
            loaded = scene_of(found.persona, transcript.extensions(found.id))
            if loaded is not None:
                path = transcript.path(found.id, transcript.latest_branch(found.id))
                return [played_scene(loaded, [line_of(message) for message in path], found.id)]
    user = your_name()
    return [
        scene_of_chat(one.persona, one.path, user=user, key=one.key) for one in read_chats(source, persona)
    ]


def _judge(models: "Sequence[OpenModel]", options: JudgeOptions) -> "SceneJudging":
    """A single judge, or a panel."""
    from rolellm_graphs.judge.model import JudgingModel
    from rolellm_graphs.judge.panel import ScenePanel
    from rolellm_graphs.judge.scene import SceneJudge

    judges = [
        SceneJudge(JudgingModel(one.model, model_name=one.name, at_once=options.at_once, seed=options.seed))
        for one in models
    ]
    return judges[0] if len(judges) == 1 else ScenePanel(judges)
