"""`rolellm judge`: chats, pairs and scenes judged, and their verdicts read back."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import rolellm
from helpers.here import rolellm_here
from helpers.played_scene import keep, play, tea_party
from helpers.transcripts import say
from helpers.user_files import write_models, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.scene.run_file import as_text, first_line, run_line
from rolellm_agents.transcript import Message, Transcript

FOUR = 'scripted:{"reason": "It is hers.", "grade": 4}'
FIRST = 'scripted:{"reason": "Hers.", "best_first": "1 > 2"}'
FLAW = 'scripted:{"flaws": [{"flaw": "She is flat.", "line": 2, "severity": 4}]}'


@pytest.fixture(autouse=True)
def _ada() -> None:
    write_persona()


def judge(*arguments: str) -> tuple[int, str, str]:
    done = rolellm_here("judge", *arguments)
    return done.returncode, done.stdout, done.stderr


def as_json(*arguments: str) -> dict[str, Any]:
    code, told, err = judge(*arguments, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(told)
    return found


def begin_chat(*answers: str) -> str:
    """A chat in the history; Ada is asked something before each answer."""
    with Transcript(user_paths().transcript) as transcript:
        conversation = transcript.create_conversation("ada")
        parent = None
        for number, answer in enumerate(answers):
            parent = say(transcript, conversation, parent, f"Question {number}?").id
            parent = say(transcript, conversation, parent, answer, speaker="ada").id
    return conversation


def predictions(file: Path, *replies: str) -> str:
    rows = ({"role": "Ada", "question": f"Q{n}?", "generated": [text]} for n, text in enumerate(replies))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)


def played(file: Path) -> str:
    loaded = tea_party()
    lines = play(loaded, ("ada", "say", "Tea?"), ("cole", "say", "No."))
    messages = [
        Message(
            id=line["id"] or "x",
            conversation="",
            parent=None,
            speaker=line["speaker"],
            audience=tuple(line["audience"]),
            kind=line["kind"],
            text=line["text"],
            status="complete",
            created="2024-01-01T00:00:00Z",
        )
        for line in lines
    ]
    told = [
        first_line(loaded, 7, {}),
        *(run_line(loaded, one, turn=n) for n, one in enumerate(messages, 1)),
    ]
    file.write_text("".join(map(as_text, told)), encoding="utf-8")
    return str(file)


def test_each_answer_of_a_chat_is_shown_with_grades_reasons_and_a_summary() -> None:
    conversation = begin_chat("It is warm by the lamp.", "")
    code, told, err = judge(
        "chat", conversation, "--rubric", "voice", "--rubric", "consistency", "-m", FOUR
    )
    assert code == 0
    assert "The run is kept in" in err
    lines = [line.split() for line in told.splitlines()]
    assert ["voice", "4", "of", "5", "It", "is", "hers."] in lines
    assert ["voice", "4.00", "–", "1", "1", "skipped"] in lines
    assert "> Question 0?" in told
    assert "Ada: It is warm by the lamp." in told
    assert "Ada: (nothing)" in told
    assert "[skipped] The reply is empty." in told


def test_a_chat_is_judged_once_and_shown_again_without_a_model(tmp_path: Path) -> None:
    conversation = begin_chat("Warm.", "Cold.")
    command = ("chat", conversation[:6], "--rubric", "voice", "-m", FOUR)
    first = as_json(*command)
    folder = Path(first["folder"])
    assert folder.parent == user_paths().runs
    before = (folder / "items.jsonl").read_bytes()
    assert as_json(*command) == first
    assert (folder / "items.jsonl").read_bytes() == before
    assert as_json("show", folder.name) == first
    assert as_json("show", str(folder)) == first
    assert judge("show", folder.name)[1] == judge(*command)[1]
    assert [item["reply"] for item in first["items"]] == ["Warm.", "Cold."]
    assert first["summary"][0]["mean"] == 4.0
    assert first["config"]["models"] == [FOUR]


def test_a_chat_in_a_file_is_judged_as_well_and_stays_out_of_the_history(tmp_path: Path) -> None:
    turns = [{"from": "human", "value": "Cold?"}, {"from": "gpt", "value": "No."}]
    file = tmp_path / "chat.json"
    file.write_text(json.dumps({"persona": "ada", "conversations": turns}))
    told = as_json("chat", str(file), "--rubric", "voice", "-m", FOUR, "--out", str(tmp_path / "run"))
    assert [item["verdicts"][0]["value"] for item in told["items"]] == [4.0]
    assert told["folder"] == str(tmp_path / "run")
    assert not user_paths().transcript.exists()


def test_nonsense_is_told_and_counted_and_never_zero() -> None:
    told = as_json("chat", begin_chat("Warm."), "--rubric", "voice", "-m", "scripted:Who knows?")
    (verdict,) = told["items"][0]["verdicts"]
    assert (verdict["value"], verdict["status"]) == (None, "unparsed")
    assert (told["summary"][0]["mean"], told["summary"][0]["unscored"]) == (None, {"unparsed": 1})


def test_several_models_are_a_panel_and_tell_how_far_they_agree() -> None:
    conversation = begin_chat("Warm.", "Cold.")
    mixed = 'scripted:{"reason": "So it is.", "grade": 2}|{"reason": "So it is.", "grade": 4}'
    command = ("chat", conversation, "--rubric", "voice", "-m", mixed, "-m", mixed.replace("So it", "It"))
    told = as_json(*command, "--at-once", "1")
    assert {item["verdicts"][0]["details"]["pooled"] for item in told["items"]} == {"mean"}
    assert told["agreement"]["voice"] == pytest.approx(1.0)
    shown = judge(*command, "--at-once", "1")[1]
    assert "Agreement of the panel on voice (Krippendorff's alpha): 1.00" in shown
    assert "2 of 5, 2 of 5" in shown


def test_the_default_judge_is_the_settings_model_and_a_small_one_is_told_of() -> None:
    code, told, err = judge("chat", begin_chat(""), "--judge", "rubric", "--rubric", "voice")
    assert code == 0
    assert "llamacpp:rolesmol is so small that it judges poorly; --model names a better one." in err
    assert "skipped" in told


def test_two_systems_are_compared_with_bias_and_interval(tmp_path: Path) -> None:
    a = predictions(tmp_path / "a.jsonl", "Warm.", "Same.", "", "Only mine.")
    b = predictions(tmp_path / "b.jsonl", "Cold.", "Same.", "Words.")
    code, told, err = judge("pair", a, b, "-m", FIRST)
    assert code == 0
    assert f"Left out: 1 replies of {a} and 0 of {b}" in err
    lines = [line.split() for line in told.splitlines()]
    assert ["Ada", "Q0?", "tie", "A", "B", "Hers."] in lines
    assert [
        "Ada",
        "Q2?",
        "B",
        "–",
        "–",
        *["One", "of", "the", "replies", "is", "empty", "and", "loses;", "no", "model", "was", "asked."],
    ] in lines
    assert "A is better than B in 33% of 3 pairs, a tie counting half (95 % interval 0% to 50%" in told
    assert "the first reply was preferred in 100%; both orders agreed in 0% of 1 pairs." in told
    found = as_json("pair", a, b, "-m", FIRST)
    assert found["position"] == {"n": 1, "first_preferred": 1.0, "consistent": 0.0}
    assert found["words"] == {"a": pytest.approx(2 / 3), "b": 1.0}
    assert as_json("show", Path(found["folder"]).name) == found


def test_two_chats_are_compared_where_they_were_asked_the_same() -> None:
    one, other = begin_chat("Warm.", "Late."), begin_chat("Cold.")
    found = as_json("pair", one, other, "-m", FIRST)
    assert [(item["first"], item["second"]) for item in found["items"]] == [("Warm.", "Cold.")]


def test_a_scene_is_shown_with_its_flaws_by_line_and_its_scores(tmp_path: Path) -> None:
    code, told, _ = judge("scene", played(tmp_path / "tea.jsonl"), "-m", FLAW)
    assert code == 0
    lines = [line.split() for line in told.splitlines()]
    assert ["2", "4", "Dr.", "Cole", "fidelity", "She", "is", "flat."] in lines
    assert ["fidelity", "83.0", "1", "0", "2"] in lines
    assert "Overall: 83.0 of 100" in told


def test_scenes_of_a_folder_of_the_history_and_chats_are_judged(tmp_path: Path) -> None:
    for name in ("1.jsonl", "2.jsonl"):
        played(tmp_path / name)
    (tmp_path / "items.jsonl").write_text("{}\n")
    found = as_json("scene", str(tmp_path), "-m", FLAW)
    assert [item["key"] for item in found["items"]] == ["1.jsonl", "2.jsonl"]
    assert as_json("show", Path(found["folder"]).name) == found

    loaded = tea_party()
    with Transcript(user_paths().transcript) as transcript:
        conversation = keep(
            transcript, loaded, play(loaded, ("ada", "say", "Tea?"), ("cole", "say", "No."))
        )
    found = as_json("scene", conversation, "-m", FLAW)
    assert found["items"][0]["lines"] == [["Ada Byron", "Tea?"], ["Dr. Cole", "No."]]
    found = as_json("scene", begin_chat("Warm."), "-m", FLAW)
    assert found["items"][0]["lines"] == [["User", "Question 0?"], ["Ada", "Warm."]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("chat", "nowhere"), "There is no conversation 'nowhere'"),
        (("chat", "nowhere.json"), "nowhere.json cannot be read"),
        (("chat", "CHAT", "--rubric", "voic"), "There is no rubric 'voic' (did you mean voice?)"),
        (("chat", "CHAT", "--judge", "ranking"), "The judge 'ranking' compares two replies"),
        (("chat", "CHAT", "--judge", "jury"), "There is no judge 'jury'"),
        (("chat", "CHAT", "-m", "nobody"), "There is no model 'nobody'"),
        (("chat", "SCENE"), "is a scene; “rolellm judge scene” judges it"),
        (("chat", "EMPTY"), "has no answers to judge"),
        (("pair", "CHAT", "EMPTY"), "have no question in common"),
        (("scene", "FOLDER"), "has no run files"),
        (("show", "FOLDER"), "holds no run"),
        (("show", "nothing"), "holds no run"),
    ],
)
def test_what_cannot_be_judged_is_told_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    loaded = tea_party()
    with Transcript(user_paths().transcript) as transcript:
        scene = keep(transcript, loaded, play(loaded, ("ada", "say", "Tea?")))
        empty = transcript.create_conversation("ada")
        say(transcript, empty, None, "Good day.", speaker="ada")
    (tmp_path / "empty").mkdir()
    places = {
        "CHAT": begin_chat("Warm."),
        "SCENE": scene,
        "EMPTY": empty,
        "FOLDER": str(tmp_path / "empty"),
    }
    code, told, err = judge(*(places.get(one, one) for one in arguments))
    assert (code, told) == (2, "")
    assert said in err


def test_what_the_model_failed_at_is_an_error_after_all_else_is_shown_and_is_asked_again() -> None:
    write_models(f"[models.short]\nspec = {FOUR!r}\nonce = true\n")
    command = ("chat", begin_chat("Warm.", "Cold."), "--rubric", "voice", "--at-once", "1", "-m", "short")
    code, told, err = judge(*command)
    assert code == 2
    assert "[model_error]" in told
    assert "The judge's model failed at 1 verdicts" in err
    assert "Run the same command to retry them." in err
    code, told, _ = judge(*command)
    assert code == 0
    assert told.count("4 of 5") == 2


@pytest.mark.core
def test_help_names_the_commands() -> None:
    said = rolellm("judge", "--help")
    assert said.returncode == 0
    for command in ("chat", "pair", "scene", "show", "check"):
        assert f"\n  {command}" in said.stdout
