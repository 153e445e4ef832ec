"""Files that are damaged, or meant to harm: one sentence, and nothing of them in the transcript."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.hypotheses import examples
from helpers.texts import is_one_sentence
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from rolellm_agents.chat_files import (
    EXPORT_FORMATS,
    building,
    export_conversation,
    import_chat_file,
    recognising,
    values,
)
from rolellm_agents.chat_files.recognising import conversations_in
from rolellm_agents.errors import ChatFileError
from rolellm_agents.transcript import Transcript

TURN: dict[str, Any] = {"from": "human", "value": "Hi"}
OURS: dict[str, Any] = {
    "format": "rolellm-conversation",
    "version": 1,
    "persona": "shrek",
    "title": "",
    "archived": False,
    "created": "2026-11-21T21:07:01.123Z",
    "branch": "main",
    "branches": {"main": 2},
    "extensions": {},
    "messages": [
        {
            "number": number,
            "parent": number - 1 or None,
            "speaker": "user",
            "audience": ["user", "shrek"],
            "kind": "say",
            "created": "2026-11-21T21:07:01.123Z",
            "status": "complete",
            "text": "Hi",
            "made_by": {},
            "usage": None,
        }
        for number in (1, 2)
    ],
}
CHAT: list[dict[str, Any]] = [
    {"user_name": "Ada", "character_name": "Shrek", "chat_metadata": {}},
    {
        "name": "Ada",
        "is_user": True,
        "mes": "Hi",
        "swipes": ["Hi", "Ho"],
        "swipe_id": 0,
        "swipe_info": [{}],
    },
    {"name": "Shrek", "is_user": False, "mes": "Out!", "extra": {"x": 1}},
]
SHAREGPT = {"persona": "shrek", "conversations": [TURN, {"from": "gpt", "value": "Out!"}]}


def ours(**changes: Any) -> dict[str, Any]:
    return {**OURS, **changes}


def with_message(**changes: Any) -> dict[str, Any]:
    return ours(messages=[OURS["messages"][0], {**OURS["messages"][1], **changes}])


def refused(tmp_path: Path, content: bytes) -> str:
    """The sentence with which a file is refused; nothing of it is in the transcript."""
    file = tmp_path / "chat.file"
    file.write_bytes(content)
    with Transcript() as transcript:
        with pytest.raises(ChatFileError) as told:
            import_chat_file(file, transcript)
        assert (
            transcript._database.connection.execute("SELECT count(*) FROM conversation").fetchone()[0] == 0
        )
    sentence = str(told.value).replace(str(file), "FILE")
    assert "FILE" in sentence
    assert is_one_sentence(sentence.replace("...", ""))
    return sentence


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({}, "is not a conversation"),
        ([], "holds 0 conversations"),
        ([1], "is not a conversation"),
        ({"persona": "shrek", "conversations": None}, "no list of objects for 'conversations'"),
        ({"persona": "shrek", "conversations": [1]}, "no list of objects for 'conversations'"),
        ({"persona": "shrek", "conversations": []}, "holds no message"),
        ({**SHAREGPT, "conversations": [{"from": "tool", "value": ""}]}, "Turn 1 is from 'tool'"),
        (
            {**SHAREGPT, "conversations": [TURN, {"from": "gpt", "value": 3}]},
            "Turn 2 has no text for 'value'",
        ),
        ({**SHAREGPT, "conversations": [{"value": "x"}]}, "Turn 1 is from None"),
        (ours(version=2), "update rolellm"),
        (ours(persona="nobody"), "is with 'nobody', which is not among your personas"),
        (ours(persona=7), "does not name its persona"),
        (ours(created="soon"), "no time in ISO 8601"),
        (ours(created=None), "no time in ISO 8601"),
        (ours(branch="other"), "has no branches"),
        (ours(branch=["main"]), "has no branches"),
        (ours(branches={"main": 3}), "The branch 'main' follows 3"),
        (ours(branches={"main": True}), "The branch 'main' follows True"),
        (ours(messages={}), "no list of objects for 'messages'"),
        (with_message(parent=2), "Message 2 follows 2"),
        (with_message(parent="1"), "Message 2 follows '1'"),
        (with_message(number=3), "Message 2 of the conversation has a wrong number"),
        (with_message(kind="Sing!"), "Message 2 has the kind 'Sing!'"),
        (with_message(kind=["say"]), "Message 2 has the kind ['say']"),
        (with_message(status=None), "Message 2 is None"),
        (with_message(audience="user"), "has no audience"),
        (with_message(made_by=[1]), "no object as 'made_by'"),
        (with_message(usage=3), "no object as 'usage'"),
        (with_message(text=3), "no text for 'text'"),
        (with_message(speaker={}), "no text for 'speaker'"),
        (with_message(created="2026-13-01"), "no time in ISO 8601"),
    ],
)
def test_a_document_that_is_not_as_it_should_be_is_refused(
    tmp_path: Path, document: object, sentence: str
) -> None:
    assert sentence in refused(tmp_path, json.dumps(document).encode())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not a conversation"),
        (b"# A diary\n", "is not a conversation"),
        (b"{", "is not JSON (line 1)"),
        (b"\x89PNG\r\n\x1a\n\xff", "is not UTF-8 text"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"conversations":' + b"[" * 60 + b"]" * 60 + b"}", "nested too deeply"),
        (
            b'{"chat_metadata": {}}\n{"mes": "Hi", "name": "Shrek"}\n[1]\n',
            "Line 3 of the chat is not a message",
        ),
        (b'{"chat_metadata": {}}\n{"mes": "Hi", "name": "Shrek"}\n{"mes": ', "Line 3 of FILE is not JSON"),
        (b'{"chat_metadata": {}, "character_name": "Shrek"}', "holds no message"),
        (b'{"mes": 3, "name": "Shrek"}', "Line 1 has no text for 'mes'"),
        (b'{"character_name": "Shrek"}\n{"mes": "Hi", "name": 3}', "no text for 'name'"),
        (b'{"persona": "shrek", "conversations": [' + b"1" * 5000 + b"]}", "is not JSON"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_refused(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    assert sentence in refused(tmp_path, content)


def test_one_bad_conversation_of_many_lets_none_in(tmp_path: Path) -> None:
    bad = {**SHAREGPT, "conversations": [{"from": "nobody"}]}
    sentence = refused(tmp_path, "\n".join(map(json.dumps, (SHAREGPT, bad))).encode())
    assert sentence.startswith("FILE, conversation 2: Turn 1 is from 'nobody'")


def test_a_file_that_is_missing_or_a_folder_is_told(tmp_path: Path) -> None:
    with Transcript() as transcript:
        for path in (tmp_path, tmp_path / "missing.jsonl"):
            with pytest.raises(ChatFileError, match="cannot be read"):
                import_chat_file(path, transcript)


def test_what_is_too_large_is_refused_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rolellm_agents.chat_files import importing

    monkeypatch.setattr(building, "MOST_MESSAGES", 1)
    assert "at most 1 messages" in refused(tmp_path, json.dumps(SHAREGPT).encode())
    monkeypatch.setattr(recognising, "MOST_CONVERSATIONS", 1)
    assert "1 to 1 are read" in refused(tmp_path, json.dumps([SHAREGPT, SHAREGPT]).encode())
    monkeypatch.setattr(importing, "FILE_BYTES", 20)
    assert "is larger than" in refused(tmp_path, json.dumps(SHAREGPT).encode())
    assert values.FILE_BYTES == 64 * 2**20


def test_halves_of_characters_numbers_out_of_range_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    turns = '[{"from": "human", "value": "\\ud83d"}]'
    text = f'{{"persona": "shrek", "\\ud800": [1e999, NaN], "conversations": {turns}}}'
    file = tmp_path / "odd.json"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    with Transcript() as transcript:
        (one,) = import_chat_file(file, transcript)
        assert transcript.path(one.id)[0].text == "\ufffd"
        out = export_conversation(transcript.record(one.id), "sharegpt", user_name="Ada")
    assert json.loads(out)["\ufffd"] == [None, None]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["Shrek", "say"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=4) | st.sampled_from([*OURS, *OURS["messages"][0], *CHAT[1], *TURN]), inner
        )
    ),
    max_leaves=10,
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good file with a value replaced, or with bytes cut, changed or doubled."""
    lines: list[Any] = draw(st.sampled_from([[OURS], CHAT, [SHAREGPT], [SHAREGPT, SHAREGPT]]))
    copy = json.loads(json.dumps(lines))
    for _ in range(draw(st.integers(0, 3))):
        _damage(draw, copy)
    content = bytearray("\n".join([json.dumps(line) for line in copy]).encode("utf-8", "replace"))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        content[at : at + draw(st.integers(0, 8))] = draw(st.binary(max_size=4))
    return bytes(content)


def _damage(draw: st.DrawFn, value: Any) -> None:
    """Replace something in it, at any depth."""
    while isinstance(value, dict | list) and value:
        key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        if not isinstance(value[key], dict | list) or draw(st.integers(0, 2)) == 0:
            value[key] = draw(JSON)
            return
        value = value[key]


@examples(2, suppress_health_check=[HealthCheck.too_slow])
@given(damaged() | st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
@example(b'{"format": "rolellm-conversation"}')
def test_whatever_is_in_a_file_it_is_read_or_refused_and_what_was_read_can_be_written(
    content: bytes,
) -> None:
    text = content.decode("utf-8", "replace")
    try:
        records = [found.read("shrek") for found in conversations_in(text, "FILE")]
    except ChatFileError:
        return
    with Transcript() as transcript:
        for record in records:
            stored = transcript.record(transcript.add_record(record)) if record.messages else record
            for format_ in EXPORT_FORMATS:
                export_conversation(stored, format_, user_name="Ada")
            again = export_conversation(stored, "json", user_name="Ada", everything=True)
            (found,) = conversations_in(again, "FILE")
            assert (
                export_conversation(found.read("shrek"), "json", user_name="Ada", everything=True) == again
            )
