"""After the bin was emptied, no file of the user's folder has a byte of what was deleted."""

import json
import time
from collections.abc import Callable, Iterator

import pytest
from helpers.here import rolellm_here
from helpers.transcripts import say
from helpers.user_files import write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.recall import RecallOptions, make_index, memories_of
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs import Session

SECRET = "zebra"


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    write_persona()
    with Transcript(user_paths().transcript) as opened:
        yield opened


def files_with(words: str) -> list[str]:
    paths = user_paths()
    return [
        file.name
        for folder in (paths.config, paths.data, paths.cache)
        for file in folder.rglob("*")
        if file.is_file() and words.encode() in file.read_bytes()
    ]


def everything_secret(transcript: Transcript, persona: str = "ada") -> str:
    """A conversation with a secret in each kind of text, and its memory in recall's store."""
    conversation = transcript.create_conversation(persona)
    first = transcript.append(
        conversation,
        None,
        speaker=USER,
        audience=(USER, persona),
        text=f"A {SECRET}1 came.",
        made_by={"edited": f"{SECRET}2"},
    )
    side = say(transcript, conversation, first.id, f"No {SECRET}4.", branch="side")
    answer = transcript.append(
        conversation,
        first.id,
        speaker=persona,
        audience=(USER, persona),
        text=f"Was the {SECRET}3 grey?",
    )
    transcript.keep_summary(answer.id, f"Talk of a {SECRET}5.")
    transcript.keep_summary(side.id, f"Talk of no {SECRET}6.")
    transcript.rename(conversation, f"The {SECRET}7")
    transcript.set_note(conversation, f"Speak of a {SECRET}8.")
    transcript.keep_draft(conversation, f"And the {SECRET}9")
    ada = load_persona("ada")
    memories = memories_of(transcript, ada, user="You")
    assert any(SECRET in memory.text for memory in memories)
    for method in ("bm25", "chroma"):
        make_index(memories, ada, method, RecallOptions())
    return conversation


def empty_on_the_command_line() -> None:
    emptied = rolellm_here("history", "bin", "empty", "--yes", "--json")
    assert emptied.returncode == 0, emptied.stderr
    assert json.loads(emptied.stdout)["wiped"]


@pytest.mark.parametrize(
    "delete",
    [
        lambda transcript, conversation: transcript.delete_conversations([conversation]),
        lambda transcript, _: transcript.delete_persona("ada"),
        lambda transcript, conversation: transcript.delete_message(transcript.messages(conversation)[0].id),
    ],
    ids=["conversation", "persona", "first message"],
)
def test_nothing_of_it_is_left(transcript: Transcript, delete: Callable[[Transcript, str], str]) -> None:
    conversation = everything_secret(transcript)
    transcript.keep_draft("ada", "A line to nobody.")
    delete(transcript, conversation)
    assert files_with(SECRET)

    transcript.close()
    empty_on_the_command_line()

    assert files_with(SECRET) == []


def test_of_a_branch_only_what_it_shares_is_left(transcript: Transcript) -> None:
    conversation = everything_secret(transcript)
    transcript.delete_branch(conversation, "side")

    transcript.close()
    empty_on_the_command_line()

    assert [number for number in range(1, 10) if files_with(f"{SECRET}{number}")] == [1, 2, 3, 5, 7, 8, 9]


def test_messages_of_a_scene_are_deleted_too(transcript: Transcript) -> None:
    scene = transcript.create_conversation("scene:inn")
    first = say(transcript, scene, None, "The inn is dark.")
    say(transcript, scene, first.id, f"A {SECRET} sits there.")
    transcript.close()

    assert rolellm_here("history", "delete", scene, "--message", "2", "--yes").returncode == 0
    empty_on_the_command_line()

    assert files_with(SECRET) == []
    assert files_with("The inn is dark.")


def test_what_was_written_after_the_deletion_stays(transcript: Transcript) -> None:
    conversation = everything_secret(transcript)
    transcript.delete_message(transcript.messages(conversation)[0].id)
    time.sleep(0.002)  # times are in milliseconds
    transcript.keep_draft(conversation, "A new beginning")
    assert transcript.empty_bin()

    assert transcript.draft(conversation) == "A new beginning"
    say(transcript, conversation, None, "A new beginning")
    assert len(transcript.path(conversation)) == 1


def test_a_window_that_is_still_open_does_not_bring_the_draft_back(transcript: Transcript) -> None:
    conversation = everything_secret(transcript)
    session = Session(load_persona("ada"), transcript, model=ScriptedChatModel(), conversation=conversation)
    transcript.delete_conversations([conversation])
    assert transcript.empty_bin()

    session.keep_draft(f"Still a {SECRET}")

    assert transcript.draft(conversation) == ""
