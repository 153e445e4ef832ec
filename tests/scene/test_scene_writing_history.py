"""Scenes in `rolellm history`: listed, shown, exported, and brought in again."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.here import rolellm_here
from helpers.played_scene import keep, play, tea_party

from rolellm_agents.chat_files import export_conversation
from rolellm_agents.config.paths import user_paths
from rolellm_agents.scene import LoadedScene, SceneLine
from rolellm_agents.scene.export import write_script
from rolellm_agents.transcript import Transcript

SAID = (
    ("narrator", "narrate", "Steam rises."),
    ("ada", "say", "Tea?"),
    ("baker", "whisper", "Not for him.", "ada"),
    ("cole", "think", "They whisper."),
    ("cole", "act", "stirs"),
    ("dora", "join", "Dora comes in."),
)


def kept(loaded: LoadedScene, lines: Sequence[SceneLine]) -> str:
    with Transcript(user_paths().transcript) as transcript:
        return keep(transcript, loaded, lines)


def a_scene() -> str:
    loaded = tea_party()
    return kept(loaded, play(loaded, *SAID))


def test_a_scene_is_listed_by_its_id_and_title() -> None:
    conversation = a_scene()

    (row,) = rolellm_here("history", "list", "--persona", "scene:tea").stdout.splitlines()[1:]

    assert row.split()[:2] == [conversation, "scene:tea"]
    assert "Tea & <Letters>" in row


def test_a_scene_is_shown_with_names_and_how_things_are_meant() -> None:
    shown = rolellm_here("history", "show", a_scene())

    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.split("\n\n")[:-1] == [
        "[Steam rises.]",
        "Ada Byron: Tea?",
        "The Baker: (whispers to Ada Byron) Not for him.",
        "Dr. Cole (thinking): They whisper.",
        "*Dr. Cole: stirs*",
        "[Dora comes in.]",
    ]


def test_what_was_cut_off_in_a_scene_is_marked() -> None:
    loaded = tea_party()
    with Transcript(user_paths().transcript) as transcript:
        conversation = keep(transcript, loaded, play(loaded, ("ada", "say", "Tea?")))
        head = transcript.path(conversation, "main")[-1].id
        cut = transcript.begin(conversation, head, speaker="cole", audience=["ada", "cole"])
        transcript.end(cut, "I sa", "stopped")

    shown = rolellm_here("history", "show", conversation).stdout
    script = rolellm_here("history", "export", conversation).stdout

    assert shown.endswith("Dr. Cole: I sa [cut off]\n\n")
    assert script.endswith("**DR. COLE**: I sa [cut off]\n")


def test_a_scene_is_exported_as_a_script_under_its_present_title() -> None:
    conversation = a_scene()
    loaded = tea_party(title="The missing spoon")
    rolellm_here("history", "rename", conversation, "The missing spoon")

    exported = rolellm_here("history", "export", conversation)

    assert exported.stdout == write_script(loaded, play(loaded, *SAID))


def test_a_scene_is_exported_as_a_group_chat_with_times() -> None:
    conversation = a_scene()

    exported = rolellm_here("history", "export", conversation, "--format", "sillytavern").stdout

    header, *messages = (json.loads(line) for line in exported.splitlines())
    with Transcript(user_paths().transcript) as transcript:
        path = transcript.path(conversation, "main")
    assert [one["send_date"] for one in messages] == [one.created for one in path]
    assert header["create_date"] == path[0].created
    assert messages[2]["name"] == "The Baker"


def test_a_scene_has_no_room_in_sharegpt() -> None:
    refused = rolellm_here("history", "export", a_scene(), "--format", "sharegpt")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "rolellm: ShareGPT supports only two speakers, and this is a scene; "
        "use --format markdown, sillytavern or json.\n"
    )


def test_json_keeps_all_of_a_scene_and_comes_in_again(tmp_path: Path) -> None:
    conversation = a_scene()
    with Transcript(user_paths().transcript) as transcript:
        head = transcript.path(conversation, "main")[0].id
        transcript.append(
            conversation, head, speaker="ada", audience=["ada"], text="Hm.", kind="think", branch="b"
        )
    file = tmp_path / "scene.json"
    rolellm_here("history", "export", conversation, "--format", "json", "--all", "--out", str(file))

    imported = rolellm_here("history", "import", str(file), "--json")

    (one,) = json.loads(imported.stdout)
    assert (one["persona"], one["title"], one["messages"]) == ("scene:tea", "Tea & <Letters>", 7)
    again = rolellm_here("history", "export", one["id"], "--format", "json", "--all").stdout
    assert again == file.read_text(encoding="utf-8")
    with Transcript(user_paths().transcript) as transcript:
        assert transcript.extensions(one["id"]) == transcript.extensions(conversation)
    assert (
        rolellm_here("history", "show", one["id"]).stdout
        == rolellm_here("history", "show", conversation).stdout
    )


def test_a_scene_that_comes_in_keeps_its_cast(tmp_path: Path) -> None:
    file = tmp_path / "scene.json"
    rolellm_here("history", "export", a_scene(), "--format", "json", "--out", str(file))

    refused = rolellm_here("history", "import", str(file), "--persona", "shrek")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"rolellm: {file} is a scene, which has its own cast; leave out --persona.\n"


@pytest.mark.parametrize("definition", [None, [], {"id": "tea"}, {"cast": "\x1b[31m"}])
def test_a_conversation_that_only_calls_itself_a_scene_reads_like_a_chat(definition: object) -> None:
    with Transcript(user_paths().transcript) as transcript:
        conversation = transcript.create_conversation("scene:tea", {"scene": definition})
        transcript.append(conversation, None, speaker="ada", audience=["ada"], text="Tea?")
        record = transcript.record(conversation)

    assert rolellm_here("history", "show", conversation).stdout == "ada: Tea?\n\n"
    for format_ in ("markdown", "sillytavern", "sharegpt", "json"):
        assert "Tea?" in export_conversation(record, format_, user_name="Ada")


def test_a_scene_whose_cast_is_gone_can_still_be_read() -> None:
    loaded = tea_party(cast=[{"id": "ada", "name": "Ada"}])
    cast = [{"persona": "nobody-has-her", "id": "ada", "name": "Ada"}, {"persona": "zoe-gone"}]
    scene = loaded.scene.model_dump(mode="json", exclude_defaults=True) | {"cast": cast}
    with Transcript(user_paths().transcript) as transcript:
        conversation = transcript.create_conversation("scene:tea", {"scene": scene})
        for speaker in ("ada", "zoe-gone"):
            head = transcript.path(conversation, "main")
            transcript.append(
                conversation, head[-1].id if head else None, speaker=speaker, audience=["ada"], text="Hm."
            )

    assert rolellm_here("history", "show", conversation).stdout == "Ada: Hm.\n\nzoe gone: Hm.\n\n"
