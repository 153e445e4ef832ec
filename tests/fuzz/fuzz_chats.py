"""Read an input as a conversation's file, keep the conversations, and export them in all formats.

    python tests/fuzz/fuzz_chats.py -max_total_time=3600 CORPUS

Only errors for the user may come out.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.harness import fuzz, instrumented

with instrumented("rolellm_agents.chat_files"):
    from helpers.user_files import write_persona

    from rolellm_agents.chat_files import EXPORT_FORMATS, export_conversation
    from rolellm_agents.chat_files.recognising import conversations_in
    from rolellm_agents.chat_files.scenes import is_scene, render_message, scene_of, stored_here
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.errors import RoleLLMError
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.scene.stage import stored_scene
    from rolellm_tui.widgets.scene.scenes_found import names_in_scene

_WHEN = "2026-01-01T00:00:00Z"
_SCENE = {"id": "room", "title": "A room", "setting": "A room.", "cast": [{"id": "ada", "name": "Ada"}]}


def _own(persona: str, **extensions: object) -> bytes:
    message = {
        "number": 1,
        "parent": None,
        "speaker": "ada",
        "audience": ["ada", "user"],
        "kind": "say",
        "created": _WHEN,
        "status": "complete",
        "text": "Good day.",
        "made_by": {"model": "scripted:", "sillytavern": {"message": {"extra": {}}}},
        "usage": {"input_tokens": 1},
    }
    answer = {
        **message,
        "number": 2,
        "parent": 1,
        "speaker": "user",
        "kind": "act",
        "made_by": {"edited": 1},
    }
    document = {
        "format": "rolellm-conversation",
        "version": 1,
        "persona": persona,
        "title": "A talk",
        "archived": False,
        "created": _WHEN,
        "branch": "main",
        "branches": {"main": 2, "other": 1},
        "extensions": extensions,
        "messages": [message, answer],
    }
    return json.dumps(document, indent=1).encode()


def _lines(*values: object) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def seeds() -> dict[str, bytes]:
    """A conversation in each format."""
    swiped = {
        "name": "Ada",
        "is_user": False,
        "send_date": "July 4, 2025 1:02pm",
        "mes": "Two.",
        "swipes": ["One.", "Two."],
        "swipe_id": 1,
        "swipe_info": [{"send_date": "2025-07-04@13h02m00s", "extra": {"reasoning": "Hm."}}, {}],
        "extra": {"reasoning": "Hm."},
    }
    header = {"user_name": "Tom", "character_name": "Ada", "create_date": _WHEN, "chat_metadata": {}}
    turns = [
        {"from": "system", "value": "Be Ada."},
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "X"},
    ]
    return {
        "own": _own("ada"),
        "scene": _own("scene:room", scene=_SCENE, seed=3, path="/nowhere/room.yaml"),
        "sillytavern": _lines(header, {"name": "Tom", "is_user": True, "mes": "Hello."}, swiped),
        "sharegpt": _lines({"conversations": turns, "persona": "Ada"}, {"conversations": turns}),
    }


def one_input(content: bytes) -> None:
    """Read, keep and export."""
    try:
        text = content.decode("utf-8-sig")
        found = conversations_in(text, "fuzz")
        records = [one.read(one.persona if is_scene(one.persona) else "ada") for one in found]
    except (RoleLLMError, UnicodeDecodeError):
        return
    if not (user_paths().personas / "ada.yaml").exists():
        write_persona()  # a name that is not found is looked for in the whole library
    with Transcript(None) as transcript:
        for record in records[:20]:
            kept = stored_here(record, Path("fuzz.json")) if is_scene(record.persona) else record
            conversation = transcript.add_record(kept)
            _look(transcript, conversation)


def _look(transcript: Transcript, conversation: str) -> None:
    record = transcript.record(conversation)
    scene = scene_of(record.persona, record.extensions)
    for message in record.messages:
        render_message(scene, message)
    names_in_scene(transcript, conversation)
    for format_ in EXPORT_FORMATS:
        try:
            text = export_conversation(record, format_, user_name="Tom", everything=format_ == "json")
            if format_ != "markdown":
                conversations_in(text, "fuzz")
        except RoleLLMError:
            continue
    try:
        if scene is not None:
            stored_scene(transcript, conversation)
    except RoleLLMError:
        return


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="rolellm-fuzz-") as home:
        os.environ["ROLELLM_HOME"] = home
        fuzz(one_input)
