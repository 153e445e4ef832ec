"""Run files: what is written comes in again, and what is damaged is told by its line."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.played_scene import play, tea_party
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import PersonaError, SceneError
from rolellm_agents.scene import LoadedScene, Scene, SceneLine
from rolellm_agents.scene.export import uncast, write_script
from rolellm_agents.scene.run_file import RunCall, RunLine, as_text, first_line, read_run_file, run_line
from rolellm_agents.scene.turns import turns
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import KINDS

MODELS = {"ada": "openai:some", "cole": None}


def message_of(line: SceneLine, **changes: Any) -> Message:
    told: dict[str, Any] = {
        "id": line["id"],
        "conversation": "",
        "parent": None,
        "speaker": line["speaker"],
        "audience": tuple(line["audience"]),
        "kind": line["kind"],
        "text": line["text"],
        "status": "complete",
        "made_by": line["made_by"],
        "created": "2026-01-02T03:04:05.000Z",
    }
    return Message(**told | changes)


def a_file(folder: Path, loaded: LoadedScene, *said: tuple[str, ...], turns: tuple[int, ...] = ()) -> Path:
    lines = play(loaded, *said)
    numbers = turns or tuple(range(1, len(lines) + 1))
    written = [
        first_line(loaded, 7, MODELS),
        *(run_line(loaded, message_of(line), turn=turn) for line, turn in zip(lines, numbers, strict=True)),
    ]
    path = folder / "run.jsonl"
    path.write_text("".join(map(as_text, written)), encoding="utf-8")
    return path


def test_a_run_file_begins_with_the_scene() -> None:
    loaded = tea_party()

    first = first_line(loaded, 7, MODELS)

    assert (first["turn"], first["kind"], first["speaker"], first["text"]) == (
        0,
        "narrate",
        "narrator",
        "A kitchen in Bath.",
    )
    assert first["audience"] == ["ada", "baker", "cole"]
    assert (first["seed"], first["models"]) == (7, MODELS)
    assert Scene.model_validate(first["scene"]) == loaded.scene


def test_a_line_tells_what_its_model_told() -> None:
    loaded = tea_party()
    (line,) = play(loaded, ("cole", "whisper", "Now.", "ada"))
    usage = {"input_tokens": 90, "output_tokens": 4, "input_token_details": {"cache_read": 60}}
    message = message_of(line, usage=usage, made_by={"model": "openai:some", "seconds": 1.2345})
    call = RunCall(by="speak", prompt="0123456789abcdef", text="(whispers to Ada Byron) Now.")

    assert run_line(loaded, message, turn=3, why="They were named.", calls=[call]) == {
        "turn": 3,
        "speaker": "cole",
        "name": "Dr. Cole",
        "kind": "whisper",
        "audience": ["ada", "cole"],
        "text": "Now.",
        "prompt_tokens": 90,
        "reused_tokens": 60,
        "completion_tokens": 4,
        "ms": 1234,
        "model": "openai:some",
        "why": "They were named.",
        "calls": [call],
    }
    assert run_line(loaded, message, turn=3, ms=5)["ms"] == 5


FIGURES = ("prompt_tokens", "reused_tokens", "completion_tokens", "ms")


def test_where_no_model_spoke_there_are_no_tokens_and_where_it_did_not_tell_they_are_not_known() -> None:
    loaded = tea_party()
    (line,) = play(loaded, ("baker", "say", "Hm."))

    by_person = run_line(loaded, message_of(line), turn=1)
    by_model = run_line(loaded, message_of(line, made_by={"model": "openai:some"}), turn=1)

    assert [by_person.get(key) for key in FIGURES] == [0, 0, 0, 0]
    assert [by_model.get(key) for key in FIGURES] == [None, None, None, None]
    assert {"model", "why", "calls"}.isdisjoint(by_person)


def test_a_run_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    loaded = tea_party()
    said = [("ada", "say", "Tea?"), ("narrator", "narrate", "It rains."), ("cole", "think", "No.\u2028茶")]
    path = a_file(tmp_path, loaded, *said, turns=(0, 0, 1))

    run = read_run_file(path)

    assert run.loaded == loaded
    assert (run.seed, run.models, run.note) == (7, MODELS, "")
    assert [(line["speaker"], line["kind"], line["text"]) for line in run.lines] == said
    assert len(turns(run.lines)) == 1
    assert write_script(run.loaded, run.lines) == write_script(loaded, play(loaded, *said))
    assert [record["turn"] for record in run.records] == [0, 0, 1]


TEXTS = st.text(max_size=20) | st.sampled_from(["\x1b[31m\x9b\u202e", '"\n\r\u2028', "茶"])


@given(
    st.lists(
        st.builds(
            RunLine,
            turn=st.just(2),
            speaker=st.sampled_from(["ada", "narrator"]),
            name=TEXTS,
            kind=st.sampled_from(KINDS),
            audience=st.lists(st.sampled_from(["ada", "cole"]), unique=True),
            text=TEXTS,
            prompt_tokens=st.none() | st.integers(),
            reused_tokens=st.none(),
            completion_tokens=st.none(),
            ms=st.integers(0),
            calls=st.lists(st.builds(RunCall, by=TEXTS, prompt=TEXTS, text=TEXTS), max_size=2),
        ),
        max_size=4,
    )
)
def test_whatever_is_said_goes_through_a_file(
    tmp_path_factory: pytest.TempPathFactory, written: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("run") / "any.jsonl"
    text = "".join(map(as_text, [first_line(tea_party(), 7, MODELS), *written]))
    path.write_text(text, encoding="utf-8")

    run = read_run_file(path)

    assert run.records == written
    assert not set(text) & {"\x1b", "\x9b", "\u202e"}


def test_half_a_character_becomes_the_sign_for_none(tmp_path: Path) -> None:
    path = a_file(tmp_path, tea_party(), ("ada", "say", "Tea\ud800"))

    assert read_run_file(path).lines[0]["text"] == "Tea\ufffd"


def test_an_opening_is_no_turn_and_keeps_its_place(tmp_path: Path) -> None:
    path = a_file(tmp_path, tea_party(), ("ada", "say", "A."), ("ada", "say", "B."), turns=(0, 1))

    assert [line["made_by"].get("opening") for line in read_run_file(path).lines] == [0, None]


@pytest.mark.parametrize(
    "ending", ['{"turn": 3, "spea', '{"turn": 3, "text": "茶'.encode()[:-2].decode("latin-1")]
)
def test_a_last_line_that_breaks_off_is_left_out_and_told(tmp_path: Path, ending: str) -> None:
    path = a_file(tmp_path, tea_party(), ("ada", "say", "A."), ("ada", "say", "B."))
    path.write_bytes(path.read_bytes() + ending.encode("latin-1"))

    run = read_run_file(path)

    assert [line["text"] for line in run.lines] == ["A.", "B."]
    assert run.note == f"{path} is truncated in line 4; it was read up to there."


def test_a_whole_last_line_needs_no_end(tmp_path: Path) -> None:
    path = a_file(tmp_path, tea_party(), ("ada", "say", "A."))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    run = read_run_file(path)

    assert (len(run.lines), run.note) == (1, "")


GOOD = (
    '{"turn":1,"speaker":"ada","name":"","kind":"say","audience":["ada"],"text":"Hi","prompt_tokens":null,'
)
GOOD += '"reused_tokens":null,"completion_tokens":null,"ms":null}'


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"turn": 2,', "it is not JSON"),
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "Input should be a valid dictionary"),
        (GOOD.replace('"say"', '"sing"'), "its kind is 'sing', which the scene does not have"),
        (GOOD.replace('"Hi"', "7"), "text: Input should be a valid string"),
        (GOOD.replace('"turn":1', '"turn":0'), "it is of turn 0, and a line of turn 1 stands before it"),
        (GOOD.replace('["ada"]', '["ada", "eve"]'), "it names 'eve', which is not a seat"),
        (GOOD.replace('"speaker":"ada"', '"speaker":"eve"'), "it names 'eve', which is not a seat"),
    ],
)
def test_a_damaged_line_is_told_by_its_number(tmp_path: Path, line: str, fault: str) -> None:
    path = a_file(tmp_path, tea_party(), ("ada", "say", "A."))
    path.write_text(f"{path.read_text()}{line}\n{GOOD}\n")

    with pytest.raises(SceneError) as refused:
        read_run_file(path)

    told = str(refused.value)
    assert told.startswith(f"{path}, line 3: {fault}")
    assert told.endswith("; remove the line, or write the file again with “rolellm scene run”.")
    assert "\n" not in told


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda first: first.pop("seed"), "it has no seed"),
        (lambda first: first.pop("scene"), "it has no scene"),
        (lambda first: first["scene"].pop("setting"), "scene.setting: Field required"),
        (lambda first: first.update(scene=[]), "scene: Input should be a valid dictionary"),
    ],
)
def test_a_first_line_without_the_scene_is_told(tmp_path: Path, change: Any, fault: str) -> None:
    first = json.loads(as_text(first_line(tea_party(), 7, MODELS)))
    change(first)
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(first) + "\n")

    with pytest.raises(SceneError) as refused:
        read_run_file(path)

    assert str(refused.value).startswith(f"{path}, line 1: {fault}")


@pytest.mark.parametrize("content", [b"", b"\n"[:0] + b'{"turn": 0'])
def test_a_file_without_a_whole_line_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)

    with pytest.raises(SceneError, match="has no complete line"):
        read_run_file(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"nowhere\.jsonl cannot be read \(No such file or directory\)"):
        read_run_file(tmp_path / "nowhere.jsonl")


def test_only_to_be_read_a_scene_needs_nobody_of_its_cast(tmp_path: Path) -> None:
    loaded = tea_party(cast=[{"id": "ada", "name": "Ada"}])
    path = a_file(tmp_path, loaded, ("ada", "say", "Alone."))
    path.write_text(path.read_text().replace('"id": "ada"', '"id": "ada", "persona": "nobody-has-her"'))

    with pytest.raises(PersonaError):
        read_run_file(path)
    assert "**ADA**: Alone." in write_script(
        read_run_file(path, uncast).loaded, read_run_file(path, uncast).lines
    )
