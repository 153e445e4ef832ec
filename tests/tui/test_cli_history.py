"""`rolellm history`."""

import asyncio
import json
from dataclasses import asdict

import pytest
from helpers.here import rolellm_here

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.paths import user_paths
from rolellm_agents.persona import load_persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.session import Session


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
