"""The tree of a conversation, driven by its keys."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.one_screen import OneScreen, screen
from helpers.piloting import keys_offered, shown, until
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Input, Static

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER, ConversationRecord
from rolellm_graphs import Session
from rolellm_tui.screens import two_branches
from rolellm_tui.screens.tree import TreeScreen
from rolellm_tui.widgets.common.search_bar import SearchBar
from rolellm_tui.widgets.tree.line import TreeStyle, draw_line
from rolellm_tui.widgets.tree.message_preview import MessagePreview
from rolellm_tui.widgets.tree.rows import TreeRow
from rolellm_tui.widgets.tree.view import TreeView

ADA = Persona(id="ada", name="Ada", description="Ada counts everything.")
STAIRS = [
    # id, follows, who, words, made by
    ("hello", None, "user", "Hello.", {}),
    ("day", "hello", "ada", "Good day.", {}),
    *(
        (
            f"s{number}",
            f"s{number - 1}" if number else "day",
            "ada" if number % 2 else "user",
            f"Step {number}.",
            {},
        )
        for number in range(10)
    ),
    ("why", "s9", "user", "Why do you count them?", {}),
    ("one", "why", "ada", "They are there.", {"model": "llamacpp:smollm2", "strategy": "system"}),
    ("one more", "one", "user", "Are they?", {}),
    (
        "two",
        "why",
        "ada",
        "*smiles* Somebody must.",
        {"model": "llamacpp:smollm2", "strategy": "zero-shot"},
    ),
    ("so", "two", "user", "So it is you.", {}),
    ("end", "so", "ada", "It is the *moonlight*, and I.", {}),
]
"""A line of ten steps, and an answer given twice; the second goes on."""
BRANCHES = {"main": "end", "branch-2": "one more"}


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


Lines = list[tuple[str, str | None, str, str, dict[str, Any]]]


def session_of(transcript: Transcript, lines: Lines, branches: dict[str, str] = BRANCHES) -> Session:
    """A session in which this was said; the first branch is the one shown."""
    messages = tuple(
        Message(
            id=id_,
            conversation="",
            parent=parent,
            speaker=speaker,
            audience=("user", "ada"),
            kind="say",
            text=text,
            status="complete",
            made_by=made_by,
            created="2026-03-01T12:30:00.000Z",
        )
        for id_, parent, speaker, text, made_by in lines
    )
    record = ConversationRecord(
        persona="ada",
        created="2026-03-01T12:00:00.000Z",
        messages=messages,
        branches=branches,
        branch=next(iter(branches)),
    )
    return Session(ADA, transcript, model=ScriptedChatModel(), conversation=transcript.add_record(record))


@pytest.fixture
def session(transcript: Transcript) -> Session:
    return session_of(transcript, list(STAIRS))


def app_of(session: Session) -> OneScreen:
    names = {USER: session.user_name, "ada": "Ada"}
    return OneScreen(lambda: TreeScreen(session, title="Ada", names=names))


def view(pilot: Pilot[Any]) -> TreeView:
    return pilot.app.screen.query_one(TreeView)


async def opened(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: pilot.app.screen.query(TreeView) and view(pilot).rows)


def drawn(pilot: Pilot[Any]) -> list[str]:
    return shown(view(pilot)).splitlines()


def words_at_cursor(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one(MessagePreview).query_one(".words", Static))


def hint(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one("#tree-hint", Static))


def hits(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one(SearchBar).query_one(".count", Static))


def said_so_far(session: Session) -> list[str]:
    return [message.text for message in session.messages]


# What is drawn


@pytest.mark.core
async def test_the_tree_shows_who_said_what_where_it_forks_and_where_branches_point(
    session: Session,
) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        lines = [" ".join(line.split()) for line in drawn(pilot)]
    assert lines == [
        "● User Hello.",
        "┊ … 11 messages",
        "● User Why do you count them?",
        "├─○ Ada They are there. 1/2 · system",
        "│ ○ User Are they? branch-2",
        "● Ada smiles Somebody must. 2/2 · zero-shot",
        "● User So it is you.",
        "◉ Ada It is the moonlight, and I. main",
    ]


async def test_the_head_counts_and_the_cursor_begins_where_the_chat_stands(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "moonlight" in words_at_cursor(pilot))
        title = shown(pilot.app.screen.query_one("#tree-title", Static))
        assert title == "Ada · 18 messages · 2 branches"


@pytest.mark.parametrize(
    ("made_by", "told"),
    [
        (({"model": "a", "strategy": "system"}, {"model": "b", "strategy": "system"}), "1/2 · a"),
        (({"model": "x:/m/a.gguf"}, {"model": "x:/m/b.gguf"}), "1/2 · a.gguf"),
        (({"model": "a", "strategy": "system"}, {"model": "a", "strategy": "system"}), "1/2"),
        (({"edited": "x"}, {}), "1/2 · edited"),
    ],
)
async def test_siblings_are_told_apart_by_what_differs(
    transcript: Transcript, made_by: tuple[dict[str, Any], dict[str, Any]], told: str
) -> None:
    lines: Lines = [
        ("q", None, "user", "Hm?", {}),
        ("a", "q", "ada", "Yes.", made_by[0]),
        ("b", "q", "ada", "No.", made_by[1]),
    ]
    async with app_of(session_of(transcript, lines, {"main": "b"})).run_test(size=(100, 24)) as pilot:
        await opened(pilot)
        (line,) = [line for line in drawn(pilot) if "Yes." in line]
        assert line.rstrip().endswith(f"  {told}")


async def test_words_from_outside_are_shown_as_they_are(transcript: Transcript) -> None:
    lines: Lines = [("q", None, "user", "[red]x[/red]\n\x1b[31my\x1b[0m [@click=app.quit]z[/]", {})]
    async with app_of(session_of(transcript, lines, {"[b]main[/b]": "q"})).run_test(
        size=(100, 24)
    ) as pilot:
        await opened(pilot)
        (line,) = drawn(pilot)
        assert "[red]x[/red] y [@click=app.quit]z[/]" in line
        assert "[b]main[/b]" in line


async def test_nothing_said_yet_says_what_to_do(transcript: Transcript) -> None:
    async with app_of(Session(ADA, transcript, model=ScriptedChatModel())).run_test() as pilot:
        await until(pilot, lambda: "Write something" in words_at_cursor(pilot))
        await pilot.press("slash", "c", "space", "enter", "f", "up", "right", "end", "pagedown")
        assert screen(pilot) == "TreeScreen"


async def test_a_transcript_that_cannot_be_read_is_told(session: Session, transcript: Transcript) -> None:
    transcript.close()
    async with app_of(session).run_test(size=(200, 24)) as pilot:
        await until(pilot, lambda: str(user_paths().transcript) in words_at_cursor(pilot).replace("\n", ""))


# Walking


async def test_up_and_down_go_along_the_branch_and_left_and_right_between_siblings(
    session: Session,
) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        for key, words in [
            ("up", "So it is you."),
            ("up", "smiles Somebody must."),
            ("left", "They are there."),
            ("left", "They are there."),
            ("down", "Are they?"),
            ("right", "smiles Somebody must."),  # of the nearest fork above
            ("right", "smiles Somebody must."),
            ("up", "Why do you count them?"),
            ("up", "Ada: Good day.\n…\nAda: Step 9."),
            ("home", "Hello."),
            ("end", "It is the moonlight, and I."),
        ]:
            await pilot.press(key)
            assert words_at_cursor(pilot).split() == words.split(), key


async def test_where_a_branch_ends_down_goes_to_the_next_row(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("up", "up", "left", "down", "down")
        assert words_at_cursor(pilot) == "smiles Somebody must."
        await pilot.press("home", "up")
        assert words_at_cursor(pilot) == "Hello."


async def test_enter_opens_a_fold_and_f_opens_and_folds_all(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 40)) as pilot:
        await opened(pilot)
        folded = drawn(pilot)
        await pilot.press("home", "down", "enter")
        assert len(drawn(pilot)) == 18
        assert "Step 4." in shown(view(pilot))
        await pilot.press("f")
        assert [line.split() for line in drawn(pilot)] == [line.split() for line in folded]
        await pilot.press("f")
        assert len(drawn(pilot)) == 18
        assert not app_of(session).dismissed


@pytest.mark.core
async def test_enter_goes_to_the_message_and_the_chat_goes_on_from_there(session: Session) -> None:
    app = app_of(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("up", "up", "left", "enter")
        await until(pilot, lambda: app.dismissed)
    (id_,) = app.dismissed
    session.choose(id_)
    assert said_so_far(session)[-2:] == ["They are there.", "Are they?"]


async def test_escape_goes_nowhere(session: Session) -> None:
    app = app_of(session)
    async with app.run_test() as pilot:
        await opened(pilot)
        await pilot.press("up", "escape")
        await until(pilot, lambda: app.dismissed == [None])


async def test_a_click_moves_the_cursor_and_a_second_one_goes_there(session: Session) -> None:
    app = app_of(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.click(TreeView, offset=(20, 3))
        assert words_at_cursor(pilot) == "They are there."
        assert not app.dismissed
        await pilot.click(TreeView, offset=(20, 2), times=2)
        await until(pilot, lambda: app.dismissed)
    session.choose(app.dismissed[0])
    assert session.messages[-1].text == "It is the *moonlight*, and I."


async def test_pages_go_as_far_as_the_view_is_high(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 20)) as pilot:
        await opened(pilot)
        await pilot.press("f", "home")
        height = view(pilot).size.height
        page = height - 1
        for key, at in [
            ("pagedown", page),
            ("pagedown", 2 * page),
            ("pageup", page),
            ("pageup", 0),
            ("pageup", 0),
        ]:
            await pilot.press(key)
            row = view(pilot).row
            assert row is not None
            assert row.at == at
            assert words_at_cursor(pilot) in shown(view(pilot))


# Searching


async def test_a_search_shows_its_hits_wherever_they_were_folded_and_goes_round(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "Next" not in keys_offered(pilot)
        await pilot.press("home", "slash", *"STEP")
        await until(pilot, lambda: hits(pilot) == "1 of 10")
        assert words_at_cursor(pilot) == "Step 0."
        await pilot.press(*" 7")
        await until(pilot, lambda: hits(pilot) == "1 of 1")
        assert [line.split("  ")[-1].strip() for line in drawn(pilot)[:5]] == [
            "Hello.",
            "┊ … 8 messages",
            "Step 7.",
            "Step 8.",
            "Step 9.",
        ]
        await pilot.press("backspace", "backspace", "enter")
        await until(pilot, lambda: hits(pilot) == "9 of 10")
        await pilot.press("down", "down")
        await until(pilot, lambda: hits(pilot) == "1 of 10")
        await pilot.press("up")
        await until(pilot, lambda: hits(pilot) == "10 of 10")

        await pilot.press("escape")
        assert view(pilot).has_focus
        assert "Next" in keys_offered(pilot)
        await pilot.press("n", "n", "N")
        assert words_at_cursor(pilot) == "Step 0."


async def test_a_search_that_finds_nothing_says_so_and_the_cursor_stays(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("up", "slash", *"sun")
        await until(pilot, lambda: hits(pilot) == "not found")
        await pilot.press("enter")
        assert words_at_cursor(pilot) == "So it is you."
        await pilot.press(*["backspace"] * 3)
        await until(pilot, lambda: hits(pilot) == "")
        await pilot.press("escape")
        assert "Next" not in keys_offered(pilot)


async def test_a_hit_far_behind_the_first_words_is_seen(transcript: Transcript) -> None:
    far = " ".join(f"word{number}" for number in range(50))
    lines: Lines = [("q", None, "user", f"{far} The Needle is here.", {})]
    async with app_of(session_of(transcript, lines, {"main": "q"})).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("slash", *"needle is")
        await until(pilot, lambda: "word49 The Needle is here." in shown(view(pilot)))


# Two branches


async def test_two_marked_branches_stand_side_by_side_from_where_they_part(session: Session) -> None:
    async with app_of(session).run_test(size=(100, 24)) as pilot:
        await opened(pilot)
        assert "Compare" not in keys_offered(pilot)
        await pilot.press("space")
        await until(pilot, lambda: hint(pilot) == "1 marked; mark another")
        await pilot.press("up", "up", "left", "space")
        await until(pilot, lambda: hint(pilot) == "2 marked; c compares them")
        assert [line[0] for line in drawn(pilot)] == [*"●┊●├│●●◆"]
        assert "Compare" in keys_offered(pilot)
        await pilot.press("c")
        await until(pilot, lambda: screen(pilot) == "TwoBranchesScreen")
        await until(pilot, lambda: len(pilot.app.screen.query(".pair")) == 3)
        shared = shown(pilot.app.screen.query_one("#two-branches-shared", Static))
        assert shared == "Shared: the first 13 messages, up to User: Why do you count them?"
        pairs = [
            [" ".join(shown(one).split()) for one in pair.query(Static)]
            for pair in pilot.app.screen.query(".pair")
        ]
        assert pairs == [
            ["Ada smiles Somebody must.", "Ada They are there."],
            ["User So it is you.", "User Are they?"],
            ["Ada It is the moonlight, and I.", ""],
        ]
        await pilot.press("escape")
        await until(pilot, lambda: screen(pilot) == "TreeScreen")
        assert words_at_cursor(pilot) == "They are there."


@pytest.mark.parametrize(("key", "gone_to"), [("1", "It is the *moonlight*, and I."), ("2", "Are they?")])
async def test_from_two_branches_one_goes_to_either(session: Session, key: str, gone_to: str) -> None:
    app = app_of(session)
    async with app.run_test(size=(100, 24)) as pilot:
        await opened(pilot)
        await pilot.press("space", "up", "up", "left", "space", "c")
        await until(pilot, lambda: screen(pilot) == "TwoBranchesScreen")
        await pilot.press(key)
        await until(pilot, lambda: app.dismissed)
    session.choose(app.dismissed[0])
    assert session.messages[-1].text == gone_to


async def test_marks_on_one_branch_are_no_two_branches(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("space", "up", "space", "c")
        await until(pilot, lambda: hint(pilot) == "one contains the other; mark another")
        assert screen(pilot) == "TreeScreen"
        await pilot.press("space")
        await until(pilot, lambda: hint(pilot).startswith("1 marked"))


async def test_of_three_marks_the_first_is_dropped(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("space", "up", "space", "up", "space")
        assert [line[0] for line in drawn(pilot)][-3:] == ["◆", "◆", "◉"]


async def test_branches_that_share_nothing_say_so(transcript: Transcript) -> None:
    lines: Lines = [("a", None, "ada", "Good day.", {}), ("b", None, "ada", "Good night.", {})]
    async with app_of(session_of(transcript, lines, {"main": "b"})).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert [line[:3] for line in drawn(pilot)] == ["╭─○", "◉ A"]
        await pilot.press("space", "left", "space", "c")
        await until(pilot, lambda: screen(pilot) == "TwoBranchesScreen")
        await until(pilot, lambda: pilot.app.screen.query(".pair"))
        assert shown(pilot.app.screen.query_one("#two-branches-shared", Static)).startswith(
            "No shared messages"
        )


async def test_long_branches_come_by_the_page(transcript: Transcript) -> None:
    length = two_branches.PAGE * 2 + 5
    lines: Lines = [("q", None, "user", "Count.", {})]
    for side in "ab":
        lines += [
            (f"{side}{n}", f"{side}{n - 1}" if n else "q", "ada", f"{side} {n}", {}) for n in range(length)
        ]
    session = session_of(transcript, lines, {"main": f"a{length - 1}", "branch-2": f"b{length - 1}"})
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("space", "right", "space", "c")
        await until(pilot, lambda: len(pilot.app.screen.query(".pair")) == two_branches.PAGE)
        for _ in range(4):
            await pilot.press("end")
            await pilot.pause()
        await until(pilot, lambda: len(pilot.app.screen.query(".pair")) == length)
        last = pilot.app.screen.query(".pair").last()
        assert [shown(one).split() for one in last.query(Static)] == [
            ["Ada", "a", str(length - 1)],
            ["Ada", "b", str(length - 1)],
        ]


# A long conversation


async def test_of_ten_thousand_messages_only_those_in_view_are_drawn(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: Lines = [
        (str(n), str(n - 1) if n else None, "ada" if n % 2 else "user", f"Line {n}.", {})
        for n in range(10_000)
    ]
    session = session_of(transcript, lines, {"main": "9999"})
    drawn_lines: list[TreeRow] = []

    def counting(drawing: TreeStyle, row: TreeRow, width: int) -> Content:
        drawn_lines.append(row)
        return draw_line(drawing, row, width)

    monkeypatch.setattr("rolellm_tui.widgets.tree.view.draw_line", counting)
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert shown(view(pilot)).split("\n")[1].strip() == "┊ … 9,995 messages"
        await pilot.press("f")
        await until(pilot, lambda: len(view(pilot).rows) == 10_000)
        assert "Line 9999." in drawn(pilot)[-1]
        drawn_lines.clear()
        await pilot.press("up")
        assert words_at_cursor(pilot) == "Line 9998."
        await pilot.press("home")
        assert "Line 0." in drawn(pilot)[0]
        assert len(drawn_lines) < 10 * view(pilot).size.height


# Pictures


SnapCompare = Callable[..., bool]


@pytest.mark.core
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_tree_looks_as_it_did(
    session: Session, snap_compare: SnapCompare, size: tuple[int, int]
) -> None:
    async def walk(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("up", "up", "space")

    assert snap_compare(app_of(session), run_before=walk, terminal_size=size)


def test_a_search_looks_as_it_did(session: Session, snap_compare: SnapCompare) -> None:
    async def search(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        pilot.app.screen.query_one(Input).cursor_blink = False
        await pilot.press("slash", *"are")
        await until(pilot, lambda: hits(pilot) == "1 of 2")

    assert snap_compare(app_of(session), run_before=search, terminal_size=(80, 24))


def test_two_branches_look_as_they_did(session: Session, snap_compare: SnapCompare) -> None:
    async def compare(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("space", "up", "up", "left", "space", "c")
        await until(pilot, lambda: len(pilot.app.screen.query(".pair")) == 3)

    assert snap_compare(app_of(session), run_before=compare, terminal_size=(80, 24))


# Deleting


def names_of_branches(session: Session) -> list[str]:
    return list(session.branches())


async def test_the_branch_that_ends_at_the_cursor_is_deleted_and_undo_takes_it_back(
    session: Session,
) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("up", "up", "left", "down", "d")
        await until(pilot, lambda: screen(pilot) == "DeleteScreen")
        assert "branch “branch-2”" in shown(pilot.app.screen.query_one("#delete-question", Static))
        assert "2 messages" in shown(pilot.app.screen.query_one("#delete-extent", Static))
        await pilot.press("y")
        await until(
            pilot, lambda: screen(pilot) == "TreeScreen" and not any("Are they?" in x for x in drawn(pilot))
        )
        assert names_of_branches(session) == ["main"]
        assert len(session.tree()) == 16
        assert said_so_far(session)[-1] == "It is the *moonlight*, and I."
        # The only branch cannot be deleted.
        assert "Delete branch" not in keys_offered(pilot)
    assert session.undo()
    assert names_of_branches(session) == ["main", "branch-2"]
    assert not session.redo()


async def test_after_the_current_branch_the_conversation_goes_on_with_another(session: Session) -> None:
    session.delete_branch("main")
    assert said_so_far(session)[-2:] == ["They are there.", "Are they?"]
    assert session.branch_name == "branch-2"
    session.branch(session.messages[0].id)
    assert names_of_branches(session) == ["branch-2", "branch-3"]


async def test_a_message_of_another_branch_is_deleted_in_the_tree(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("up", "up", "left", "delete")
        await until(pilot, lambda: screen(pilot) == "DeleteScreen")
        await pilot.press("y")
        await until(
            pilot, lambda: screen(pilot) == "TreeScreen" and not any("Are they?" in x for x in drawn(pilot))
        )
    assert len(session.messages) == 16
    assert session.undo()
    assert len(session.tree()) == 18
    assert session.redo()
    assert len(session.tree()) == 16
    assert len(session.messages) == 16


async def test_deleting_the_first_message_in_the_tree_leaves_nothing(session: Session) -> None:
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("home", "delete")
        await until(pilot, lambda: screen(pilot) == "DeleteScreen")
        await pilot.press("y")
        await until(
            pilot, lambda: screen(pilot) == "TreeScreen" and "No messages yet" in words_at_cursor(pilot)
        )
        await pilot.press("delete", "d")
        assert screen(pilot) == "TreeScreen"
    assert not session.messages
    assert session.undo()
    assert len(session.messages) == 16
