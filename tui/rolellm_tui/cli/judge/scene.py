"""`rolellm judge scene`: the flaws of a played scene, line by line."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.judge.options import (
    JudgeAtOnceOption,
    JudgeLimitOption,
    JudgeModelsOption,
    JudgeOutOption,
    JudgePersonaOption,
    JudgeSeedOption,
)
from rolellm_tui.cli.options import BaseUrlOption, JsonOption, TemperatureOption
from rolellm_tui.output import complain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.judging.flaws import JudgedScene
    from rolellm_graphs.judge.panel import SceneJudging
    from rolellm_tui.cli.judge.options import OpenModel

_ITEMS = "items.jsonl"
"""What a lab keeps beside the scenes it played."""


def scene(
    run: Annotated[
        str,
        typer.Argument(
            help="A file of “rolellm scene run”, a folder of them, an id of “rolellm history list”, or a "
            "chat's file.",
        ),
    ],
    persona: JudgePersonaOption = None,
    limit: JudgeLimitOption = None,
    model: JudgeModelsOption = None,
    base_url: BaseUrlOption = None,
    temperature: TemperatureOption = None,
    seed: JudgeSeedOption = 0,
    at_once: JudgeAtOnceOption = 8,
    out: JudgeOutOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the flaws of a played scene, or of a chat, with the line and how severe each is, and score it.

    Anthropomorphism, fidelity, the story's quality and its consistency each have a score from 0 to 100.

    \b
    Examples:
      rolellm judge scene dinner.jsonl --model openai:gpt-4o-mini
      rolellm judge scene runs/booth --limit 5 --json
      rolellm judge scene 3f9a
    """
    from rolellm_agents.judging.recorded import about_scene
    from rolellm_graphs.judge.graph import judge_scenes
    from rolellm_graphs.judge.judges import judge_config
    from rolellm_tui.cli.judge.options import open_models, run_folder, source_name, warn_of_small
    from rolellm_tui.cli.judge.printing import judging_progress, of_items, tell

    scenes = _scenes(run, persona)[:limit]
    models = open_models(model, base_url=base_url, temperature=temperature)
    warn_of_small(models)
    config = judge_config("scene", models, seed=seed)
    folder = out or run_folder(config, source_name(run))
    with judging_progress(folder) as progress:
        verdicts = asyncio.run(
            judge_scenes(
                _judge(models, at_once, seed),
                scenes,
                folder=folder,
                config=config,
                at_once=at_once,
                progress=progress,
            )
        )
    abouts = [about_scene(one) for one in scenes]
    tell(of_items("scenes", config, abouts, verdicts), folder, as_json=as_json)


def _scenes(source: str, persona: str | None) -> "list[JudgedScene]":
    """What is judged of a source.

    Raises:
        RoleLLMError: there is nothing of the kind.
    """
    from rolellm_agents.judging import JudgingError

    path = Path(source).expanduser()
    if path.is_dir():
        files = sorted(file for file in path.glob("*.jsonl") if file.name != _ITEMS)
        if not files:
            raise JudgingError(
                f"{source} holds no scene that was played; “rolellm scene run --out” writes one."
            )
        return [_of_file(file) for file in files]
    if path.is_file() and _is_run(path):
        return [_of_file(path)]
    return _of_conversation(source, persona)


def _of_file(file: Path) -> "JudgedScene":
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


def _of_conversation(source: str, persona: str | None) -> "list[JudgedScene]":
    from rolellm_agents.chat_files.scenes import scene_of
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.judging.chats import played_scene, scene_of_chat
    from rolellm_agents.scene import line_of
    from rolellm_agents.transcript import Transcript
    from rolellm_tui.cli.judge.options import read_chats, your_name

    if not Path(source).expanduser().is_file() and not source.endswith((".json", ".jsonl")):
        with Transcript(user_paths().transcript) as transcript:
            found = transcript.find_conversation(source)
            loaded = scene_of(found.persona, transcript.extensions(found.id))
            if loaded is not None:
                path = transcript.path(found.id, transcript.latest_branch(found.id))
                return [played_scene(loaded, [line_of(message) for message in path], found.id)]
    user = your_name()
    return [
        scene_of_chat(one.persona, one.path, user=user, key=one.key) for one in read_chats(source, persona)
    ]


def _judge(models: "Sequence[OpenModel]", at_once: int, seed: int) -> "SceneJudging":
    """One judge, or a panel of several."""
    from rolellm_graphs.judge.model import JudgingModel
    from rolellm_graphs.judge.panel import ScenePanel
    from rolellm_graphs.judge.scene import SceneJudge

    judges = [
        SceneJudge(JudgingModel(one.model, model_name=one.name, at_once=at_once, seed=seed))
        for one in models
    ]
    return judges[0] if len(judges) == 1 else ScenePanel(judges)
