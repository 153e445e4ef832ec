"""`rolellm history`."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from helpers.here import rolellm_here

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session


def converse(persona: str, *said: str, replies: list[str | Exception], again: bool = False) -> str:
    """Hold a conversation, with a second answer to the last line if `again`; returns its id."""

    async def talk(session: Session) -> None:
        for line in said:
            async for _ in session.send(line):
                pass
        if again:
            async for _ in session.regenerate():
                pass

    with Transcript(user_paths().transcript) as transcript:
        session = Session(
            load_persona(persona), transcript, model=ScriptedChatModel(replies=replies), model_name="script"
        )
        asyncio.run(talk(session))
        assert session.conversation is not None
        return session.conversation


def test_an_empty_history_is_an_empty_list() -> None:
    listed = rolellm_here("history", "list", "--json")

    assert (listed.returncode, listed.stdout, listed.stderr) == (0, "[]\n", "")


def test_the_list_tells_of_each_conversation_the_latest_first_and_can_be_narrowed() -> None:
    first = converse("shrek", "Hi", "Bye", replies=["One.", "Two."])
    second = converse("li-bai", "今晚喝什么？", replies=["酒，\n还是酒。"], again=True)

    listed = json.loads(rolellm_here("history", "list", "--json").stdout)
    narrowed = rolellm_here("history", "list", "--persona", "shrek").stdout.splitlines()

    with Transcript(user_paths().transcript) as transcript:
        assert listed == [asdict(one) for one in transcript.conversations()]
    assert [(one["id"], one["persona"], one["messages"], one["last"]) for one in listed] == [
        (second, "li-bai", 3, "酒， 还是酒。"),
        (first, "shrek", 4, "Two."),
    ]
    assert [row.split()[0] for row in narrowed] == ["ID", first]


def test_show_prints_the_conversation_as_it_stands_found_by_the_beginning_of_its_id() -> None:
    shown_id = converse("shrek", "Hi", replies=["\x1b[2JOne.", "Two [b]."], again=True)

    shown = rolellm_here("history", "show", shown_id[:7])
    everything = rolellm_here("history", "show", shown_id, "--all")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == "user: Hi\n\nshrek: Two [b].\n\n"
    assert everything.stdout == "user: Hi\n\nshrek: One.\n\nshrek: Two [b].\n\n"


def test_show_marks_what_was_cut_off() -> None:
    with Transcript(user_paths().transcript) as transcript:
        cut = transcript.create_conversation("shrek")
        parent = None
        for status in ("stopped", "failed"):
            parent = transcript.begin(cut, parent, speaker="shrek", audience=["shrek"])
            transcript.end(parent, "Well", status)
        unfinished = transcript.begin(cut, parent, speaker="shrek", audience=["shrek"])
        transcript.add_piece(unfinished, "Well")

    shown = rolellm_here("history", "show", cut)

    assert shown.stdout == (
        "shrek: Well [cut off]\n\nshrek: Well [cut off by an error]\n\nshrek: Well [cut off]\n\n"
    )


def test_show_as_json_is_all_that_the_transcript_knows() -> None:
    shown_id = converse("shrek", "Hi", replies=["One.", "Two."], again=True)

    shown = json.loads(rolellm_here("history", "show", shown_id, "--json").stdout)
    everything = json.loads(rolellm_here("history", "show", shown_id, "--all", "--json").stdout)

    with Transcript(user_paths().transcript) as transcript:
        path, tree = transcript.path(shown_id), transcript.messages(shown_id)
    as_json = [{**asdict(message), "audience": list(message.audience)} for message in tree]
    assert {key: shown[key] for key in ("id", "persona", "branch")} == {
        "id": shown_id,
        "persona": "shrek",
        "branch": "main",
    }
    assert shown["created"] <= shown["updated"] == path[-1].created
    assert shown["messages"] == [as_json[0], as_json[2]]
    assert everything["messages"] == as_json
    assert shown["messages"][1]["made_by"]["model"] == "script"


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        ("zzzz", "There is no conversation 'zzzz'; “rolellm history list” shows all."),
        ("", "2 conversations begin with ''; “rolellm history list” shows all."),
    ],
)
def test_a_reference_that_names_none_or_several_is_refused(reference: str, complaint: str) -> None:
    for _ in range(2):
        converse("shrek", "Hi", replies=["One."])

    shown = rolellm_here("history", "show", reference)

    assert (shown.returncode, shown.stdout, shown.stderr) == (2, "", f"rolellm: {complaint}\n")


# Found, named, put away


def test_search_prints_where_the_words_stand_and_can_be_narrowed() -> None:
    first = converse("shrek", "Is that a swamp?", replies=["My [b]swamp[/b]!\x1b[2J"])
    second = converse("li-bai", "月亮在哪里？", replies=["swamp"])

    shown = rolellm_here("history", "search", "swamp")
    as_json = json.loads(rolellm_here("history", "search", "SWA*", "--json").stdout)
    narrowed = json.loads(
        rolellm_here("history", "search", "swamp", "--persona", "shrek", "--limit", "1", "--json").stdout
    )

    assert (shown.returncode, shown.stderr) == (0, "")
    rows = shown.stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == [second, first, first]
    assert rows[1].endswith("My [b][swamp][/b]!")
    assert "\x1b" not in shown.stdout
    assert [(one["conversation"], one["speaker"], one["hits"]) for one in as_json] == [
        (second, "li-bai", [[0, 5]]),
        (first, "shrek", [[6, 11]]),
        (first, "user", [[10, 15]]),
    ]
    assert narrowed == [as_json[1]]
    assert (
        json.loads(rolellm_here("history", "search", "月亮", "--json").stdout)[0]["conversation"] == second
    )


def test_a_search_that_finds_nothing_or_asks_for_nothing_is_an_empty_list() -> None:
    for query in ("zzz", "!?", ""):
        searched = rolellm_here("history", "search", query, "--json")
        assert (searched.returncode, searched.stdout, searched.stderr) == (0, "[]\n", "")

    too_long = rolellm_here("history", "search", "x" * 100_000)
    assert too_long.returncode == 2
    assert "too long" in too_long.stderr


def test_a_title_is_shown_and_can_be_taken_away() -> None:
    named = converse("shrek", "Hi", replies=["One."])

    assert rolellm_here("history", "rename", named[:6], "In the [swamp]").returncode == 0
    (row,) = rolellm_here("history", "list").stdout.splitlines()[1:]
    assert "In the [swamp]" in row
    assert json.loads(rolellm_here("history", "show", named, "--json").stdout)["title"] == "In the [swamp]"

    rolellm_here("history", "rename", named, "")
    assert json.loads(rolellm_here("history", "list", "--json").stdout)[0]["title"] == ""


def test_what_is_put_away_is_in_the_other_list_until_it_is_taken_out() -> None:
    away = converse("shrek", "Hi", replies=["One."])
    here = converse("shrek", "Hi", replies=["One."])

    def listed(*options: str) -> list[str]:
        return [one["id"] for one in json.loads(rolellm_here("history", "list", "--json", *options).stdout)]

    assert rolellm_here("history", "archive", away).returncode == 0
    assert (listed(), listed("--archived")) == ([here], [away])
    assert rolellm_here("history", "show", away).returncode == 0
    assert rolellm_here("history", "unarchive", away).returncode == 0
    assert (listed(), listed("--archived")) == ([here, away], [])


@pytest.mark.parametrize("command", [("rename", "zzzz", "Title"), ("archive", "zzzz"), ("export", "zzzz")])
def test_a_conversation_that_is_not_there_is_refused_everywhere(command: tuple[str, ...]) -> None:
    refused = rolellm_here("history", *command)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("rolellm: There is no conversation 'zzzz'")


# Files


def test_a_conversation_is_exported_to_stdout_as_markdown_and_to_a_file_in_other_formats(
    tmp_path: Path,
) -> None:
    exported = converse("shrek", "Hi", replies=["\x1b[2JOne.", "Two."], again=True)
    out = tmp_path / "new" / "chat.jsonl"

    printed = rolellm_here("history", "export", exported[:7])
    written = rolellm_here("history", "export", exported, "--format", "sillytavern", "--out", str(out))

    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout.endswith("**User**:\n\nHi\n\n**Shrek**:\n\nTwo.\n")
    assert (written.returncode, written.stdout, written.stderr) == (0, f"{out}\n", "")
    answer = json.loads(out.read_text(encoding="utf-8").splitlines()[2])
    assert (answer["mes"], answer["swipes"]) == ("Two.", ["\x1b[2JOne.", "Two."])


def test_a_file_called_json_is_json_unless_another_format_is_named(tmp_path: Path) -> None:
    exported = converse("shrek", "Hi", replies=["One."])

    rolellm_here("history", "export", exported, "--out", str(tmp_path / "chat.json"))
    rolellm_here("history", "export", exported, "--out", str(tmp_path / "chat.md"))
    rolellm_here("history", "export", exported, "--format", "markdown", "--out", str(tmp_path / "odd.json"))

    stored = json.loads((tmp_path / "chat.json").read_text(encoding="utf-8"))
    assert "One." in json.dumps(stored)
    assert (tmp_path / "chat.md").read_text(encoding="utf-8") == (tmp_path / "odd.json").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("ending", ["html", "HTM", "svg", "xhtml"])
def test_what_is_no_web_page_is_not_written_as_one(tmp_path: Path, ending: str) -> None:
    hostile = converse("shrek", "<script>alert(1)</script>", replies=["<img src=x onerror=alert(1)>"])
    out = tmp_path / f"chat.{ending}"
    for format_ in ("markdown", "json", "sillytavern", "sharegpt"):
        refused = rolellm_here("history", "export", hostile, "--format", format_, "--out", str(out))
        assert (refused.returncode, refused.stderr) == (
            2,
            f"rolellm: A conversation is no web page, and a browser would open {out} as one; name a file "
            "with another ending.\n",
        )
    assert not out.exists()


def test_a_file_that_is_there_is_replaced_only_on_demand(tmp_path: Path) -> None:
    exported = converse("shrek", "Hi", replies=["One."])
    out = tmp_path / "chat.md"
    out.write_text("mine")

    refused = rolellm_here("history", "export", exported, "--out", str(out))
    assert (refused.returncode, out.read_text()) == (2, "mine")
    assert refused.stderr == (
        f"rolellm: {out} already exists; name another file, or overwrite it with --force.\n"
    )
    assert rolellm_here("history", "export", exported, "--out", str(out), "--force").returncode == 0
    assert out.read_text().startswith("# A conversation with Shrek")


def test_a_backup_of_everything_comes_back_as_it_was(tmp_path: Path) -> None:
    saved = converse("shrek", "Hi", replies=["One.\x9b1m", "Two."], again=True)
    whole = rolellm_here("history", "export", saved, "--format", "json", "--all")
    file = tmp_path / "backup.json"
    file.write_text(whole.stdout, encoding="utf-8")

    imported = rolellm_here("history", "import", str(file))
    as_json = rolellm_here("history", "import", str(file), "--persona", "li-bai", "--json")

    assert (imported.returncode, imported.stderr) == (0, "")
    again = imported.stdout.split(":")[0]
    assert imported.stdout == f"{again}: 3 messages with shrek (json)\n"
    assert rolellm_here("history", "export", again, "--format", "json", "--all").stdout == whole.stdout
    (given,) = json.loads(as_json.stdout)
    assert (given["persona"], given["messages"], given["format"]) == ("li-bai", 3, "json")
    assert "\x9b" not in whole.stdout


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot be read (No such file or directory); name another file."),
        (
            "Dear diary",
            "is not a conversation in the format of rolellm, SillyTavern or ShareGPT; export it in "
            "one of these.",
        ),
        (
            '{"conversations": [{"from": "human", "value": "Hi"}]}',
            "does not name its persona; name it with --persona.",
        ),
    ],
)
def test_a_file_that_cannot_be_imported_is_told_in_one_sentence(
    tmp_path: Path, content: str | None, complaint: str
) -> None:
    file = tmp_path / "chat.json"
    if content is not None:
        file.write_text(content)

    refused = rolellm_here("history", "import", str(file))

    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"rolellm: {file} {complaint}\n"
    assert rolellm_here("history", "list", "--json").stdout == "[]\n"


def test_only_our_json_can_hold_everything() -> None:
    exported = converse("shrek", "Hi", replies=["One."])

    refused = rolellm_here("history", "export", exported, "--all")

    assert refused.returncode == 2
    assert refused.stderr == (
        "rolellm: markdown cannot hold every branch; leave out --all, or use --format json.\n"
    )
