"""Conversations and scenes as they are kept in the database, and as every kind of file."""

import json
import re
import sqlite3
from pathlib import Path

from helpers.played_scene import keep

from golden.program import INPUTS, Files, Plain, as_json, command, recorded_prompts, write_cast
from golden.prompts import played
from rolellm_agents.chat_files import EXPORT_FORMATS
from rolellm_agents.config.paths import user_paths
from rolellm_agents.scene import load_scene
from rolellm_agents.scene.export import SCENE_FORMATS
from rolellm_agents.scene.run_file import as_text, first_line, run_line
from rolellm_agents.transcript import Transcript

_SAY = ("--model", "scripted:By the lamp, no.|Herring.", "--seed", "7", "--json")
_VOLATILE = ("created", "updated", "ms", "took", "seconds", "tokens_per_second", "first_token_ms")
_REPLIES = (
    "Well, {0}.|(whispers to {0}) Not here.|*looks at the sky*|(thinks) He knows.|"
    "Who took it?|I was in bed.|So were we all.|That is no answer.|And yet it is one."
)


def conversation(place: Path) -> Files:
    """Two exchanges by command, as rows and in every format of export."""
    write_cast()
    files: Files = {}
    with recorded_prompts() as prompts:
        first = command("say", "ada", "Is the lamp lit?", *_SAY, "--strategy", "system")
        id_ = json.loads(command("history", "list", "--json"))[0]["id"]
        second = command(
            "say", "ada", "What burns?", *_SAY, "--conversation", id_, "--strategy", "few-shot-prompt"
        )
    command("history", "rename", id_, "The lamp")
    plain = Plain(place, _ids())
    files["say-prompts.json"] = as_json(prompts)
    files["say.json"] = plain(_without_times(first) + _without_times(second))
    files["chat-rows.json"] = plain(as_json(_rows()))
    files["chat-list.json"] = plain(_without_times(command("history", "list", "--json")))
    files["chat-shown.json"] = plain(_without_times(command("history", "show", id_, "--all", "--json")))
    files["chat-shown.txt"] = plain(command("history", "show", id_))
    for format_ in EXPORT_FORMATS:
        text = command("history", "export", id_, "--format", format_)
        files[f"chat-as-{format_}.txt"] = plain(text)
    files["chat-as-json-all.txt"] = plain(command("history", "export", id_, "--format", "json", "--all"))
    return files


def scenes(place: Path) -> Files:
    """A scene of given lines, as rows, run file, script, novel and group chat, by everyone and by one."""
    write_cast()
    files: Files = {}
    for name, seat in (("market", "cy"), ("teahouse", "dian")):
        loaded = load_scene(INPUTS / f"{name}.yaml")
        with Transcript(user_paths().transcript) as transcript:
            id_ = keep(transcript, loaded, played(loaded))
            told = transcript.path(id_, transcript.latest_branch(id_))
        plain = Plain(place, _ids())
        lines = [
            first_line(loaded, 7, {}),
            *(run_line(loaded, one, turn=n) for n, one in enumerate(told, 1)),
        ]
        files[f"{name}-run.jsonl"] = plain("".join(map(as_text, lines)))
        for format_ in SCENE_FORMATS:
            export = ("scene", "export", id_, "--as", format_)
            files[f"{name}-as-{format_}.txt"] = plain(command(*export))
            files[f"{name}-as-{format_}-by-{seat}.txt"] = plain(command(*export, "--seen-by", seat))
        for kind in EXPORT_FORMATS:
            if kind != "sharegpt":
                text = command("history", "export", id_, "--format", kind)
                files[f"{name}-export-{kind}.txt"] = plain(text)
    files["scene-rows.json"] = Plain(place, _ids())(as_json(_rows()))
    return files


def played_scenes(place: Path) -> Files:
    """Scenes that play themselves with scripted models: each prompt, and the run file."""
    write_cast()
    files: Files = {}
    for name, other in (("market", "Ben"), ("teahouse", "张飞")):
        out = place / f"{name}.jsonl"
        model = ("--model", f"scripted:{_REPLIES.format(other)}", "--seed", "7")
        with recorded_prompts() as prompts:
            command("scene", "run", str(INPUTS / f"{name}.yaml"), *model, "--out", str(out), "--json")
        plain = Plain(place, _ids())
        files[f"{name}-prompts.json"] = as_json(prompts)
        lines = [_without_times(line) for line in out.read_text(encoding="utf-8").splitlines()]
        files[f"{name}-played.jsonl"] = plain("".join(lines))
        files[f"{name}-played.md"] = plain(command("scene", "export", str(out)))
    return files


def _without_times(text: str) -> str:
    return as_json(_left_out(json.loads(text)))


def _left_out(value: object) -> object:
    """Times stay told as being there."""
    if isinstance(value, dict):
        return {key: "<time>" if key in _VOLATILE else _left_out(one) for key, one in value.items()}
    return [_left_out(one) for one in value] if isinstance(value, list) else value


def _ids() -> list[str]:
    """Ids of all conversations and messages, as they came."""
    with Transcript(user_paths().transcript) as transcript:
        ids: list[str] = []
        for one in reversed(transcript.conversations()):
            ids += (one.id, *(message.id for message in transcript.messages(one.id)))
    return ids


def _rows() -> dict[str, object]:
    """Every table's rows as they lie in the file; of packed values only that they are there."""
    database = sqlite3.connect(user_paths().transcript)
    try:
        database.row_factory = sqlite3.Row
        # A virtual table cannot be read as a whole, and its shadows are SQLite's own.
        names = [row[1] for row in database.execute("PRAGMA table_list") if row[2] == "table"]
        schema = [
            re.sub(r"\s*--[^\n]*", "", row[0])  # comments may be reworded
            for row in database.execute("SELECT sql FROM sqlite_master WHERE sql NOTNULL ORDER BY name")
        ]
        tables = {
            name: [
                {key: _cell(key, row[key]) for key in row.keys()}  # noqa: SIM118
                for row in database.execute(f'SELECT * FROM "{name}"')  # noqa: S608  # our own names
            ]
            for name in sorted(names)
            if not name.startswith("sqlite_")
        }
    finally:
        database.close()
    return {"schema": schema, **tables}


_TIMES = ("created", "given", "decided", "written", "moved", "kept", "took")


def _cell(column: str, value: object) -> object:
    if value is not None and column in _TIMES:
        return "<time>"
    if isinstance(value, bytes):
        return f"<{value.hex()}>" if column == "id" else "<bytes>"
    return value
