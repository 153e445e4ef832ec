"""All conversations: found, gone on with, named, put away, and exchanged as files."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.piloting import keys_offered, type_fast, until
from helpers.screen_app import ScreenApp, hold_still, name_of_screen, text_of
from helpers.user_files import write_config, write_persona
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from rolellm_agents.config.paths import user_paths
from rolellm_agents.transcript import ConversationRecord, Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_tui.screens.conversations import ConversationsScreen
from rolellm_tui.widgets.conversations.list import ConversationList, RowTarget

NARROW, WIDE = (80, 24), (120, 40)


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


def talk(
    transcript: Transcript,
    persona: str,
    *lines: str,
    title: str = "",
    day: str = "2024-03-03",
    archived: bool = False,
) -> str:
    """Keep a conversation of long ago; the persona begins and the person answers."""
    messages = [
        Message(
            id=str(number),
            conversation="",
            parent=str(number - 1) if number else None,
            speaker=USER if number % 2 else persona,
            audience=(USER, persona),
            kind="say",
            text=text,
            status="complete",
            created=f"{day}T12:{number:02}:00.000Z",
        )
        for number, text in enumerate(lines)
    ]
    return transcript.add_record(
        ConversationRecord(
            persona=persona,
            created=f"{day}T12:00:00.000Z",
            title=title,
            archived=archived,
            messages=tuple(messages),
            branches={"main": messages[-1].id},
            branch="main",
        )
    )


@pytest.fixture
def three(transcript: Transcript) -> dict[str, str]:
    """Three conversations, the oldest first, by how they are called here; and one that is put away."""
    return {
        "rain": talk(transcript, "gregory-house", "Everybody lies.", "My knee hurts when it rains."),
        "pipe": talk(
            transcript,
            "sherlock-holmes",
            "Come in.",
            "I lost my pipe.",
            "*He smiles.* There was moonlight on a table.",
            title="The missing pipe",
            day="2024-05-01",
        ),
        "moon": talk(
            transcript, "li-bai", "你好。", "你在看什么？", "看月亮。", title="月下独酌", day="2024-06-02"
        ),
        "old": talk(transcript, "shrek", "Oi.", "Old plans.", title="Swamp", archived=True),
    }


class Conversations(ScreenApp):
    def __init__(self, transcript: Transcript) -> None:
        super().__init__(ConversationsScreen(transcript), transcript)


def rows(pilot: Pilot[Any]) -> ConversationList:
    return pilot.app.screen_stack[1].query_one(ConversationList)


def listed(pilot: Pilot[Any]) -> list[str]:
    """The conversations that are listed; messages that were found have their id behind a colon."""
    if not pilot.app.screen_stack[1].query(ConversationList):
        return []
    places = [rows(pilot)._places[option.id or ""] for option in rows(pilot).options]
    return [
        f"{place.conversation}:{place.message}" if place.message else place.conversation
        for place in places
        if place.conversation
    ]


def drawn(pilot: Pilot[Any]) -> str:
    return text_of(pilot, "#conversations")


def find(pilot: Pilot[Any]) -> Input:
    return pilot.app.screen.query_one("#find", Input)


def message_with(transcript: Transcript, conversation: str, words: str) -> str:
    return next(one.id for one in transcript.messages(conversation) if words in one.text)


async def to_list(pilot: Pilot[Any], count: int) -> None:
    """Wait for the list and go there."""
    await until(pilot, lambda: len(listed(pilot)) == count)
    await pilot.press("down")
    await until(pilot, lambda: rows(pilot).has_focus)


# What is listed


@pytest.mark.core
async def test_the_latest_come_first_with_all_that_is_known(
    transcript: Transcript, three: dict[str, str]
) -> None:
    write_config("")
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: listed(pilot) == [three["moon"], three["pipe"], three["rain"]])
        await until(pilot, lambda: "李白" in drawn(pilot) and "My knee" in drawn(pilot))
        assert drawn(pilot) == (
            "月下独酌 2 Jun 2024 李白 看月亮。 3 messages "
            "The missing pipe 1 May 2024 "
            "Sherlock Holmes *He smiles.* There was moonlight on a table. 3 messages "
            "My knee hurts when it rains. 3 Mar 2024 "
            "Gregory House My knee hurts when it rains. 2 messages"
        )
        assert find(pilot).border_subtitle == "3 conversations"


async def test_words_from_outside_are_plain_text(transcript: Transcript) -> None:
    write_persona("id: eve\nname: '[red]Eve[/red]'\ndescription: x\n", "eve.yaml")
    talk(transcript, "eve", "[@click=app.quit]x[/]", "\x1b[31m[b]hi[/b]", title="[link=x]T[/link]")
    async with Conversations(transcript).run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "[red]Eve[/red] [b]hi[/b]" in drawn(pilot))
        assert "[link=x]T[/link]" in drawn(pilot)
        await until(pilot, lambda: "[@click=app.quit]x[/]" in text_of(pilot, "#preview Static"))


async def test_a_persona_that_is_gone_is_called_by_its_id(transcript: Transcript) -> None:
    talk(transcript, "old-friend", "Hello.")
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: drawn(pilot).startswith("Old Friend 3 Mar 2024"))


async def test_without_conversations_one_is_told_what_to_do(transcript: Transcript) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: text_of(pilot, "#nothing").startswith("No conversations yet. Pick"))
        await until(pilot, lambda: rows(pilot).has_focus)
        await pilot.press("r", "a", "x", "enter")
        await pilot.pause()
        assert (name_of_screen(pilot), drawn(pilot)) == ("ConversationsScreen", "")
        await pilot.press("i")
        await until(pilot, lambda: name_of_screen(pilot) == "ImportConversationScreen")


async def test_what_was_said_meanwhile_is_there_when_one_comes_back(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: listed(pilot))
        await pilot.press("f1")
        await until(pilot, lambda: name_of_screen(pilot) == "KeysScreen")
        new = talk(transcript, "shrek", "Oi.")
        await pilot.press("escape")
        await until(pilot, lambda: listed(pilot)[:1] == [new])


async def test_five_hundred_conversations_are_listed_at_once_and_keep_their_place(
    transcript: Transcript,
) -> None:
    ids = [talk(transcript, "shrek", "Oi.", f"Line {number}.") for number in range(500)]
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 500)
        await pilot.press("end", "up")
        assert rows(pilot).place == RowTarget(ids[1])
        await until(pilot, lambda: "Line 0. 3 Mar 2024" in drawn(pilot))
        assert rows(pilot).place == RowTarget(ids[1])


# Finding


async def test_typing_narrows_by_title_and_persona(transcript: Transcript, three: dict[str, str]) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: "李白" in drawn(pilot))
        for typed, expected in {
            "PIPE": ["pipe"],
            "holmes missing": ["pipe"],
            "李白": ["moon"],
            "li-bai": ["moon"],
            "knee": ["rain"],
        }.items():
            find(pilot).value = typed
            await pilot.pause()
            conversations = [one for one in listed(pilot) if ":" not in one]
            assert conversations == [three[one] for one in expected], typed
        find(pilot).value = ""
        await until(pilot, lambda: len(listed(pilot)) == 3)


@pytest.mark.core
async def test_typing_finds_what_was_said_in_any_conversation(
    transcript: Transcript, three: dict[str, str]
) -> None:
    hit = f"{three['pipe']}:{message_with(transcript, three['pipe'], 'moonlight')}"
    old = f"{three['old']}:{message_with(transcript, three['old'], 'plans')}"
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: "李白" in drawn(pilot))
        await pilot.press(*"moonl")
        await until(pilot, lambda: listed(pilot) == [hit])
        assert drawn(pilot) == (
            "Messages " + "─" * 65 + " "
            "*He smiles.* There was moonlight on a table. 1 May 2024 "
            "Sherlock Holmes in The missing pipe"
        )
        assert find(pilot).border_subtitle == "0 of 3 conversations · 1 message"
        find(pilot).value = "月"
        await until(pilot, lambda: len(listed(pilot)) == 2)
        assert listed(pilot)[0] == three["moon"]
        find(pilot).value = '"old plans"'
        await until(pilot, lambda: listed(pilot) == [old])
        find(pilot).value = "zythum"
        await until(pilot, lambda: text_of(pilot, "#nothing") == "No matches.")
        find(pilot).value = ""
        await until(pilot, lambda: len(listed(pilot)) == 3)
        assert text_of(pilot, "#nothing") == ""


async def test_found_words_stand_out(transcript: Transcript, three: dict[str, str]) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: "李白" in drawn(pilot))
        find(pilot).value = "moonlight TAB"
        await until(pilot, lambda: "Messages" in drawn(pilot))
        lines = [rows(pilot).render_line(number) for number in range(rows(pilot).size.height)]
        underlined = [
            segment.text
            for line in lines
            for segment in line
            if segment.style is not None and segment.style.underline
        ]
        assert underlined == ["moonlight", "table"]


async def test_the_first_found_word_is_seen_however_narrow_the_list_is(transcript: Transcript) -> None:
    talk(transcript, "shrek", f"{'word ' * 30} zythum {'word ' * 30}")
    talk(transcript, "li-bai", f"{'月' * 60} zythum {'月' * 60}")
    async with Conversations(transcript).run_test(size=(44, 24)) as pilot:
        await pilot.press(*"zythum")
        await until(pilot, lambda: drawn(pilot).count("zythum ") == 2)


async def test_a_search_that_is_too_long_is_told(transcript: Transcript, three: dict[str, str]) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: listed(pilot))
        find(pilot).value = "x" * 2_000
        await until(pilot, lambda: "is too long; use at most 1,000" in text_of(pilot, "#status"))
        find(pilot).value = "pipe"
        await until(pilot, lambda: text_of(pilot, "#status") == "")


# Going on


@pytest.mark.core
async def test_enter_goes_on_with_the_highlighted_conversation(
    transcript: Transcript, three: dict[str, str]
) -> None:
    app = Conversations(transcript)
    async with app.run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.asked == [("open", three["pipe"], None)])
        assert not app.left


async def test_enter_opens_a_found_message_from_the_search_line(
    transcript: Transcript, three: dict[str, str]
) -> None:
    app = Conversations(transcript)
    message = message_with(transcript, three["pipe"], "moonlight")
    async with app.run_test(size=NARROW) as pilot:
        await pilot.press(*"moonl")
        await until(pilot, lambda: "Messages" in drawn(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: app.asked == [("open", three["pipe"], message)])


async def test_the_arrow_keys_go_between_the_search_line_and_the_list(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        await pilot.press("down", "up", "up")
        await until(pilot, lambda: find(pilot).has_focus)
        await pilot.press("down", "slash")
        await until(pilot, lambda: find(pilot).has_focus)
        assert find(pilot).value == ""


async def test_letters_are_typed_in_the_search_line_and_act_in_the_list(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: len(listed(pilot)) == 3)
        assert {"List", "Back"} <= keys_offered(pilot)
        assert "Rename" not in keys_offered(pilot)
        await pilot.press(*"raxiv")
        assert find(pilot).value == "raxiv"
        assert (name_of_screen(pilot), len(transcript.conversations())) == ("ConversationsScreen", 3)
        find(pilot).value = ""
        await to_list(pilot, 3)
        assert {"Rename", "Archive", "Export", "Import", "Archived", "Back"} <= keys_offered(pilot)
        assert not {"List", "Restore", "Undo"} & keys_offered(pilot)


@pytest.mark.parametrize("keys", [["escape"], ["down", "escape"]])
async def test_escape_leaves(transcript: Transcript, three: dict[str, str], keys: list[str]) -> None:
    app = Conversations(transcript)
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: len(listed(pilot)) == 3)
        await pilot.press(*keys)
        await until(pilot, lambda: app.left)
        assert app.asked == []


# Changing


@pytest.mark.core
async def test_a_conversation_is_renamed_and_the_old_title_comes_back(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        await pilot.press("down", "r")
        await until(pilot, lambda: name_of_screen(pilot) == "TitleScreen")
        await pilot.press(*" [b]!", "enter")
        await until(pilot, lambda: "The missing pipe [b]! 1 May 2024" in drawn(pilot))
        assert transcript.find_conversation(three["pipe"]).title == "The missing pipe [b]!"
        assert rows(pilot).place == RowTarget(three["pipe"])
        assert text_of(pilot, "#status") == "Renamed to “The missing pipe [b]!”."
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "The missing pipe 1 May 2024" in drawn(pilot))
        await until(pilot, lambda: "Undo" not in keys_offered(pilot))


@pytest.mark.parametrize("end", [["enter"], ["ctrl+s"], ["enter", "enter"]])
async def test_a_title_that_is_typed_fast_is_kept_whole(
    transcript: Transcript, three: dict[str, str], end: list[str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        await pilot.press("down", "r")
        await until(pilot, lambda: name_of_screen(pilot) == "TitleScreen")
        await type_fast(pilot, *" of Baker Street", *end)
        await until(pilot, lambda: text_of(pilot, "#status").startswith("Renamed to"))
        assert transcript.find_conversation(three["pipe"]).title == "The missing pipe of Baker Street"


@pytest.mark.parametrize("keys", [["escape"], ["enter"], ["ctrl+s"]])
async def test_a_title_that_stays_changes_nothing(
    transcript: Transcript, three: dict[str, str], keys: list[str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        await pilot.press("r")
        await until(pilot, lambda: name_of_screen(pilot) == "TitleScreen")
        await pilot.press(*keys)
        await until(pilot, lambda: name_of_screen(pilot) == "ConversationsScreen")
        await pilot.pause()
        assert transcript.titles(three["moon"]) == ["月下独酌"]
        assert "Undo" not in keys_offered(pilot)


@pytest.mark.core
async def test_what_is_put_away_is_found_among_the_archived_and_comes_back(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        await pilot.press("down", "a")
        await until(pilot, lambda: listed(pilot) == [three["moon"], three["rain"]])
        assert rows(pilot).place == RowTarget(three["rain"])
        assert text_of(pilot, "#status").startswith("Archived. Ctrl+Z undoes it")
        await pilot.press("v")
        await until(pilot, lambda: sorted(listed(pilot)) == sorted([three["pipe"], three["old"]]))
        assert find(pilot).border_subtitle == "2 archived"
        await until(pilot, lambda: {"Restore", "Undo"} <= keys_offered(pilot))
        rows(pilot).go_to(three["old"])
        await pilot.press("a")
        await until(pilot, lambda: listed(pilot) == [three["pipe"]])
        assert not transcript.find_conversation(three["old"]).archived
        await pilot.press("ctrl+z", "ctrl+z")
        await until(pilot, lambda: listed(pilot) == [three["old"]])
        assert not transcript.find_conversation(three["pipe"]).archived
        await pilot.press("v")
        await until(pilot, lambda: len(listed(pilot)) == 3)


async def test_keys_pressed_in_haste_act_one_after_the_other(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        await pilot.press("a", "a")
        await until(pilot, lambda: listed(pilot) == [three["rain"]])
        await pilot.press("ctrl+z", "ctrl+z", "ctrl+z")
        await until(pilot, lambda: len(listed(pilot)) == 3)
        assert text_of(pilot, "#status") == "Restored."


async def test_without_archived_ones_one_is_told_how_to_go_back(
    transcript: Transcript, three: dict[str, str]
) -> None:
    transcript.unarchive(three["old"])
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 4)
        await pilot.press("v")
        await until(
            pilot, lambda: text_of(pilot, "#nothing").startswith("No archived conversations. Press v")
        )


async def test_that_nothing_is_deleted_is_said_where_one_would_look_for_it(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        assert "The search still finds it." in pilot.app.screen.active_bindings["a"].tooltip


async def test_a_change_that_cannot_be_written_is_told(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        await until(pilot, lambda: "My knee" in drawn(pilot))
        transcript.close()
        await pilot.press("a")
        await until(pilot, lambda: "cannot be used: " in text_of(pilot, "#status"))
        assert pilot.app.screen.query_one("#status").has_class("error")
        assert len(listed(pilot)) == 3


# Files


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def names_in(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


async def ask_for_export(pilot: Pilot[Any]) -> None:
    await to_list(pilot, 3)
    await pilot.press("down", "x")
    await until(pilot, lambda: name_of_screen(pilot) == "ExportScreen")


def path(pilot: Pilot[Any]) -> Input:
    return pilot.app.screen.query_one("#path", Input)


@pytest.mark.core
async def test_enter_writes_the_conversation_into_the_current_folder(
    transcript: Transcript, three: dict[str, str], here: Path
) -> None:
    write_config('user_name = "Eve"\n')
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await ask_for_export(pilot)
        assert path(pilot).value == "the-missing-pipe.md"
        await pilot.press("enter")
        await until(pilot, lambda: text_of(pilot, "#status").startswith("Written to"))
    text = (here / "the-missing-pipe.md").read_text(encoding="utf-8")
    assert text.startswith("# The missing pipe\n")
    assert "**Eve**:\n\nI lost my pipe." in text


async def test_a_file_name_that_is_typed_fast_is_taken_whole(
    transcript: Transcript, three: dict[str, str], here: Path
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await ask_for_export(pilot)
        path(pilot).focus()
        path(pilot).value = ""
        await pilot.pause()
        await type_fast(pilot, *"pipe.text", "enter")
        await until(pilot, lambda: name_of_screen(pilot) == "ConversationsScreen")
    assert names_in(here) == ["pipe.text"]


@pytest.mark.parametrize(
    ("steps", "ending", "sign"),
    [(1, "json", "rolellm-conversation"), (2, "jsonl", "user_name"), (3, "json", "conversations")],
)
async def test_the_file_ends_as_its_format_does(
    transcript: Transcript, three: dict[str, str], here: Path, steps: int, ending: str, sign: str
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await ask_for_export(pilot)
        await pilot.press(*["down"] * steps)
        await until(pilot, lambda: path(pilot).value == f"the-missing-pipe.{ending}")
        await pilot.press("enter")
        await until(pilot, lambda: name_of_screen(pilot) == "ConversationsScreen")
    text = (here / f"the-missing-pipe.{ending}").read_text(encoding="utf-8")
    assert sign in text
    json.loads(text.split("\n")[0] if ending == "jsonl" else text)


async def test_json_holds_every_branch(transcript: Transcript, three: dict[str, str], here: Path) -> None:
    first = transcript.messages(three["pipe"])[0]
    transcript.append(
        three["pipe"], first.id, speaker=USER, audience=[USER], text="Another line.", branch="other"
    )
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        rows(pilot).go_to(three["pipe"])
        await pilot.press("x")
        await until(pilot, lambda: name_of_screen(pilot) == "ExportScreen")
        await pilot.press("down", "enter")
        await until(pilot, lambda: name_of_screen(pilot) == "ConversationsScreen")
    document = json.loads((here / "the-missing-pipe.json").read_text(encoding="utf-8"))
    assert set(document["branches"]) == {"main", "other"}


async def test_a_file_that_is_there_is_replaced_only_when_one_says_so_twice(
    transcript: Transcript, three: dict[str, str], here: Path
) -> None:
    for name in ("a.md", "b.md"):
        (here / name).write_text("mine", encoding="utf-8")
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await ask_for_export(pilot)
        path(pilot).value = "a.md"
        await pilot.press("enter")
        await until(
            pilot,
            lambda: (
                text_of(pilot, "#complaint") == "a.md already exists; press Enter again to overwrite it."
            ),
        )
        path(pilot).value = "b.md"
        await until(pilot, lambda: text_of(pilot, "#complaint") == "")
        await pilot.press("enter")
        await until(pilot, lambda: text_of(pilot, "#complaint").startswith("b.md already exists"))
        assert [(here / name).read_text() for name in ("a.md", "b.md")] == ["mine", "mine"]
        await pilot.press("enter")
        await until(pilot, lambda: name_of_screen(pilot) == "ConversationsScreen")
    assert (here / "a.md").read_text(encoding="utf-8") == "mine"
    assert (here / "b.md").read_text(encoding="utf-8").startswith("# The missing pipe")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "Enter a file name first."),
        ("folder", "is a folder; enter a file name."),
        ("file/x.md", "x.md cannot be written ("),
    ],
)
async def test_a_file_that_cannot_be_written_is_told(
    transcript: Transcript, three: dict[str, str], here: Path, name: str, said: str
) -> None:
    (here / "folder").mkdir()
    (here / "file").touch()
    async with Conversations(transcript).run_test(size=WIDE) as pilot:
        await ask_for_export(pilot)
        path(pilot).value = name
        await pilot.press("enter")
        await until(pilot, lambda: said in text_of(pilot, "#complaint"))
        await pilot.press("escape")
        await until(pilot, lambda: name_of_screen(pilot) == "ConversationsScreen")
    assert names_in(here) == ["file", "folder"]


async def test_a_title_of_signs_alone_still_makes_a_file_name(transcript: Transcript, here: Path) -> None:
    id_ = talk(transcript, "shrek", "Oi.", title="../..")
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 1)
        await pilot.press("x")
        await until(pilot, lambda: name_of_screen(pilot) == "ExportScreen")
        assert path(pilot).value == f"{id_}.md"


async def bring_in(pilot: Pilot[Any], file: str, persona: str = "") -> None:
    await until(pilot, lambda: pilot.app.screen.query(ConversationList))
    rows(pilot).focus()
    await pilot.press("i")
    await until(pilot, lambda: name_of_screen(pilot) == "ImportConversationScreen")
    path(pilot).value = file
    pilot.app.screen.query_one("#persona", Input).value = persona
    await pilot.press("enter")


@pytest.mark.core
async def test_what_is_brought_in_is_highlighted(
    transcript: Transcript, three: dict[str, str], here: Path
) -> None:
    turns = [{"from": "human", "value": "Who goes?"}, {"from": "gpt", "value": "Me."}]
    (here / "chat.json").write_text(json.dumps({"conversations": turns}), encoding="utf-8")
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: len(listed(pilot)) == 3)
        find(pilot).value = "pipe"
        await bring_in(pilot, "chat.json", "shrek")
        await until(pilot, lambda: len(listed(pilot)) == 4)
        new = transcript.conversations("shrek")[0].id
        await until(pilot, lambda: rows(pilot).place == RowTarget(new))
        assert text_of(pilot, "#status") == "One conversation was imported."
        await until(pilot, lambda: "Who goes?" in drawn(pilot))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("", "Enter a file name first."),
        ("missing.json", "missing.json cannot be read (No such file or directory)"),
        ("nobody.json", "does not name its persona"),
    ],
)
async def test_what_cannot_be_brought_in_is_told_and_stays_to_be_put_right(
    transcript: Transcript, here: Path, file: str, said: str
) -> None:
    turns = [{"from": "human", "value": "Who goes?"}]
    (here / "nobody.json").write_text(json.dumps({"conversations": turns}), encoding="utf-8")
    app = Conversations(transcript)
    async with app.run_test(size=WIDE) as pilot:
        await bring_in(pilot, file)
        await until(pilot, lambda: said in text_of(pilot, "#complaint"))
        assert path(pilot).value == file
        await pilot.press("escape")
        await until(pilot, lambda: name_of_screen(pilot) == "ConversationsScreen")
        assert transcript.conversations() == []


async def test_a_path_is_completed_with_the_right_arrow(transcript: Transcript, here: Path) -> None:
    (here / "chats").mkdir()
    (here / "chats" / "seraphina.jsonl").touch()
    (here / "chats" / "a.png").touch()
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await until(pilot, lambda: rows(pilot).has_focus)
        await pilot.press("i")
        await until(pilot, lambda: name_of_screen(pilot) == "ImportConversationScreen")
        await pilot.press(*"ch")
        await until(pilot, lambda: path(pilot)._suggestion == "chats/")
        await pilot.press("right", "s")
        await until(pilot, lambda: path(pilot)._suggestion == "chats/seraphina.jsonl")
        await pilot.press("right")
        assert path(pilot).value == "chats/seraphina.jsonl"
        path(pilot).value = "chats/a"
        await pilot.pause()
        assert path(pilot)._suggestion == ""


# A look into one


async def test_where_there_is_room_the_highlighted_conversation_is_shown(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=WIDE) as pilot:
        await to_list(pilot, 3)
        await pilot.press("down")
        await until(
            pilot,
            lambda: (
                text_of(pilot, "#preview Static") == "Sherlock Holmes Come in. You I lost my pipe. "
                "Sherlock Holmes He smiles. There was moonlight on a table."
            ),
        )
        await pilot.press("slash", *"moonl")
        await until(pilot, lambda: "Messages" in drawn(pilot))
        await until(pilot, lambda: text_of(pilot, "#preview Static").startswith("You I lost my pipe."))


async def test_where_there_is_no_room_the_list_has_it_all(
    transcript: Transcript, three: dict[str, str]
) -> None:
    async with Conversations(transcript).run_test(size=NARROW) as pilot:
        await to_list(pilot, 3)
        assert pilot.app.screen.query_one("#preview").size.height == 0
        assert rows(pilot).size.width == 76


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.core
@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_the_conversations_look_as_they_did(
    transcript: Transcript, three: dict[str, str], snap_compare: SnapCompare, size: tuple[int, int]
) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await to_list(pilot, 3)
        await until(pilot, lambda: "My knee" in drawn(pilot) and "李白" in drawn(pilot))
        await pilot.press("down")
        if size == WIDE:
            await until(pilot, lambda: "I lost my pipe." in text_of(pilot, "#preview Static"))

    assert snap_compare(Conversations(transcript), run_before=look, terminal_size=size)


def test_found_messages_look_as_they_did(
    transcript: Transcript, three: dict[str, str], snap_compare: SnapCompare
) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "李白" in drawn(pilot))
        hold_still(pilot)
        await pilot.press(*"pipe")
        await until(pilot, lambda: "Messages" in drawn(pilot))

    assert snap_compare(Conversations(transcript), run_before=look, terminal_size=NARROW)


def test_the_window_for_exports_looks_as_it_did(
    transcript: Transcript,
    three: dict[str, str],
    snap_compare: SnapCompare,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir("/")

    async def look(pilot: Pilot[Any]) -> None:
        await ask_for_export(pilot)
        hold_still(pilot)
        await pilot.press("down")
        await until(pilot, lambda: path(pilot).value.endswith(".json"))
        assert pilot.app.screen.query_one("#formats", OptionList).has_focus

    assert snap_compare(Conversations(transcript), run_before=look, terminal_size=NARROW)
