"""`rolellm scene run`: lines as they are played, files that are gone on with, and what is refused."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.here import rolellm_here
from helpers.hypotheses import examples
from helpers.improvising_model import Asked, improvising
from helpers.small_scene import NAMES, PRIVATE, SEATS, small_scene
from helpers.user_files import conversation_ids, kept, write_config
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.scene.run_file import read_run_file
from rolellm_graphs.scene.run import missing_narration

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
KINDS = {"say", "whisper", "think", "act", "narrate", "join", "leave"}
MODEL = ("--model", "improvising:one")
TURNS = 6
"""Of the runs that are cut: the scene would go on, and the narrator follows the last of them."""


@pytest.fixture(autouse=True)
def asked() -> Iterator[list[Asked]]:
    """Every call of the models of these tests."""
    with improvising(names=NAMES) as calls:
        yield calls


def run(
    scene: Path | str, *options: str, model: tuple[str, ...] = MODEL
) -> subprocess.CompletedProcess[str]:
    return rolellm_here("scene", "run", str(scene), *model, *options)


def lines_of(said: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """What `--json` printed."""
    assert said.returncode == 0, said.stderr
    return [json.loads(line) for line in said.stdout.splitlines()]


def in_file(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def lasting(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines but for how long they took, and what was asked for them."""
    return [{key: value for key, value in line.items() if key not in ("ms", "calls")} for line in lines]


def complaint(said: subprocess.CompletedProcess[str]) -> str:
    """The one sentence; fails if it is anything but that."""
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("rolellm: ")
    assert said.stderr.endswith((".\n", "?\n"))
    assert said.stderr.count("\n") == 1
    return said.stderr.removeprefix("rolellm: ").rstrip("\n")


def test_each_line_of_json_has_all_that_is_promised(tmp_path: Path) -> None:
    lines = lines_of(run(small_scene(tmp_path), "--json"))

    for line in lines:
        assert list(line)[:10] == [
            *("turn", "speaker", "name", "kind", "audience", "text"),
            *("prompt_tokens", "reused_tokens", "completion_tokens", "ms"),
        ]
        assert line["speaker"] in (*SEATS, "narrator")
        assert line["kind"] in KINDS
        assert set(line["audience"]) <= set(SEATS)
        assert line["text"]
        for count in ("turn", "prompt_tokens", "reused_tokens", "completion_tokens", "ms"):
            assert isinstance(line[count], int)
            assert not isinstance(line[count], bool)
            assert line[count] >= 0
        assert not {"calls", "made_by", "scene"} & set(line)
    by_models = [line for line in lines if "model" in line]
    assert [line["turn"] for line in by_models] == list(range(1, 9))
    assert all(line["prompt_tokens"] > line["reused_tokens"] > 0 and line["why"] for line in by_models)
    assert [line["turn"] for line in lines] == sorted(line["turn"] for line in lines)


def test_what_few_witness_has_them_alone_as_its_audience(tmp_path: Path) -> None:
    lines = lines_of(run(small_scene(tmp_path), "--json", "--seed", "4"))

    audiences = {line["kind"]: line["audience"] for line in lines}
    assert {"think", "whisper", "join", "leave", "narrate", "say"} <= set(audiences)
    assert len(audiences["think"]) == 1
    assert len(audiences["whisper"]) < 3
    assert audiences["join"] == ["ada", "ben", "cy"]


def test_the_same_seed_and_model_say_the_same_and_others_do_not(tmp_path: Path) -> None:
    scene = small_scene(tmp_path)
    first, again, other, another = (
        lasting(
            lines_of(
                run(scene, "--json", "--no-keep", "--turns", "4", "--seed", seed, model=("--model", model))
            )
        )
        for seed, model in (
            ("7", "improvising:one"),
            ("7", "improvising:one"),
            ("8", "improvising:one"),
            ("7", "improvising:two"),
        )
    )

    assert first == again
    assert [line["text"] for line in first[3:]] != [line["text"] for line in other[3:]]
    assert first[3]["text"] != another[3]["text"]


def test_a_scenes_own_seed_holds_when_none_is_told(tmp_path: Path) -> None:
    scene = small_scene(tmp_path, seed=7)
    untold, seven, eight = (
        lasting(lines_of(run(scene, "--json", "--turns", "2", *seed)))
        for seed in ((), ("--seed", "7"), ("--seed", "8"))
    )

    assert untold == seven != eight


def test_turns_end_it_early_and_never_late(tmp_path: Path) -> None:
    scene = small_scene(tmp_path)
    whole = lasting(lines_of(run(scene, "--json")))

    short = lasting(lines_of(run(scene, "--json", "--turns", "2")))
    assert short == whole[: len(short)]
    assert short[-1]["turn"] == 2
    assert lasting(lines_of(run(scene, "--json", "--turns", "100"))) == whole


def test_people_read_it_as_it_goes_and_how_it_ended(tmp_path: Path) -> None:
    scene = small_scene(tmp_path)
    shown = run(scene)

    assert (shown.returncode, shown.stderr) == (0, "")
    paragraphs = shown.stdout.splitlines()
    assert paragraphs[:3] == [
        "[The bells have just stopped.]",
        "Ada: Pears!",
        "Ben: (whispers to Ada) Not so loud.",
    ]
    assert paragraphs[-1] == "It has had its 8 turns."
    assert run(scene, "--turns", "2").stdout.splitlines()[-1] == "2 turns."


def test_the_history_keeps_it_or_not(tmp_path: Path) -> None:
    scene = small_scene(tmp_path)
    run(scene, "--no-keep")
    assert conversation_ids() == []

    lines = lines_of(run(scene, "--json"))

    (conversation,) = conversation_ids("scene:market")
    assert [(one.speaker, one.kind, [*one.audience], one.text) for one in kept(conversation)] == [
        (line["speaker"], line["kind"], line["audience"], line["text"]) for line in lines
    ]


def test_a_script_is_not_written_as_a_web_page(tmp_path: Path) -> None:
    played, page = tmp_path / "run.jsonl", tmp_path / "x.html"
    run(small_scene(tmp_path), "--out", str(played))
    for as_, what in (("script", "A script"), ("sillytavern", "A SillyTavern chat")):
        refused = rolellm_here("scene", "export", str(played), "--as", as_, "--out", str(page))
        assert (refused.returncode, refused.stderr) == (
            2,
            f"rolellm: {what} (--as {as_}) is no web page, and a browser would open {page} as one; name a "
            "file with another ending.\n",
        )
        assert not page.exists()
    novel = rolellm_here("scene", "export", str(played), "--as", "novel", "--out", str(page))
    assert (novel.returncode, page.exists()) == (0, True)


def test_the_file_has_the_scene_first_and_then_what_is_printed(tmp_path: Path) -> None:
    scene, out = small_scene(tmp_path), tmp_path / "runs" / "market.jsonl"
    printed = lines_of(run(scene, "--json", "--out", str(out), "--seed", "3"))

    head, *lines = in_file(out)
    assert (head["turn"], head["kind"], head["text"]) == (0, "narrate", "A market square at noon.")
    assert (head["scene"]["id"], head["seed"]) == ("market", 3)
    assert head["models"] == dict.fromkeys((*SEATS, "narrator"), "improvising:one")
    assert lasting(printed) == [
        {key: value for key, value in line.items() if key != "made_by"} for line in lasting(lines)
    ]
    assert all(line["calls"] for line in lines if "model" in line)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of runs that nothing interrupted, by their directors; their scene stands beside them."""
    folders = {director: tmp_path_factory.mktemp(director) for director in ("natural", "bidding")}
    with improvising(names=NAMES), pytest.MonkeyPatch.context() as patched:
        patched.setenv("ROLELLM_HOME", str(tmp_path_factory.mktemp("home")))
        for director, folder in folders.items():
            assert play_on(small_scene(folder, director=director), folder / "whole.jsonl").returncode == 0
    return {director: folder / "whole.jsonl" for director, folder in folders.items()}


def play_on(scene: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return run(scene, "--out", str(out), "--no-keep", "--turns", str(TURNS), "--seed", "5")


@given(st.data())
@examples(0.1)
def test_a_file_that_was_cut_anywhere_becomes_what_it_would_have_been(
    whole: dict[str, Path], data: st.DataObject
) -> None:
    file = whole[data.draw(st.sampled_from(sorted(whole)), label="director")]
    content = file.read_bytes()
    ends = [end.end() for end in re.finditer(b"\n", content)]
    near_an_end = st.builds(
        lambda end, by: min(len(content), max(0, end + by)), st.sampled_from(ends), st.integers(-2, 2)
    )
    cut = data.draw(near_an_end | st.integers(0, len(content)), label="bytes kept")
    out = file.with_name("cut.jsonl")
    out.write_bytes(content[:cut])

    said = play_on(file.with_name("market.yaml"), out)

    assert said.returncode == 0, said.stderr
    assert lasting(in_file(out)) == lasting(in_file(file))
    assert out.read_bytes().startswith(content[: max([0, *(end for end in ends if end <= cut)])])


@pytest.mark.parametrize("director", ["natural", "bidding"])
def test_a_narration_that_is_missing_is_restored_as_it_was(whole: dict[str, Path], director: str) -> None:
    content = whole[director].read_bytes().splitlines(keepends=True)
    restored = []
    for place, line in enumerate(in_file(whole[director])):
        if line.get("kind") != "narrate" or "calls" not in (before := json.loads(content[place - 1])):
            continue
        cut = whole[director].with_name("before.jsonl")
        cut.write_bytes(b"".join(content[:place]))
        found = missing_narration(read_run_file(cut))
        assert found is not None
        assert (found["text"], found["made_by"]) == (line["text"], line.get("made_by", {}))
        restored.append(sum(call["by"] == "narrate" for call in before["calls"]))
    assert restored


@pytest.mark.parametrize("director", ["natural", "bidding"])
def test_going_on_asks_for_nothing_that_stands_in_the_file(
    whole: dict[str, Path], asked: list[Asked], director: str
) -> None:
    content = whole[director].read_bytes().splitlines(keepends=True)
    calls = [len(line.get("calls", ())) for line in in_file(whole[director])]
    out = whole[director].with_name("short.jsonl")
    for kept_lines in (4, 8, len(content) - 1, len(content)):
        asked.clear()
        out.write_bytes(b"".join(content[:kept_lines]))

        play_on(whole[director].with_name("market.yaml"), out)

        assert len(asked) == sum(calls[kept_lines:])


def test_a_file_that_was_cut_is_told_and_replays_when_it_is_finished(whole: dict[str, Path]) -> None:
    content = whole["natural"].read_bytes()
    lines = content.count(b"\n")
    out = whole["natural"].with_name("torn.jsonl")
    out.write_bytes(content[:-20])

    said = play_on(whole["natural"].with_name("market.yaml"), out)

    assert said.stderr == f"rolellm: {out} is truncated in line {lines}; it was read up to there.\n"
    assert rolellm_here("scene", "replay", str(out)).stdout == f"Identical: {lines - 1} lines.\n"


def test_only_what_is_new_is_printed_when_it_goes_on(tmp_path: Path) -> None:
    scene, out = small_scene(tmp_path), tmp_path / "out.jsonl"
    first = lines_of(run(scene, "--json", "--out", str(out), "--turns", "3"))
    second = lines_of(run(scene, "--json", "--out", str(out)))

    assert lasting([*first, *second]) == lasting(lines_of(run(scene, "--json")))
    assert lines_of(run(scene, "--json", "--out", str(out))) == []


def test_what_stands_in_the_file_is_in_the_history_of_what_follows(tmp_path: Path) -> None:
    scene, out = small_scene(tmp_path), tmp_path / "out.jsonl"
    run(scene, "--out", str(out), "--turns", "3", "--no-keep")

    run(scene, "--out", str(out))

    (conversation,) = conversation_ids("scene:market")
    assert [one.text for one in kept(conversation)] == [line["text"] for line in in_file(out)[1:]]


@pytest.mark.parametrize("content", [b"", b'{"turn": 0, "speaker"'])
def test_a_file_without_a_whole_first_line_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    """Such as one that was only made, or killed before its first line was whole."""
    scene, out = small_scene(tmp_path), tmp_path / "out.jsonl"
    out.write_bytes(content)

    lines = lines_of(run(scene, "--json", "--out", str(out)))

    assert len(in_file(out)) == 1 + len(lines)


def refused(file: Path, said: subprocess.CompletedProcess[str], before: bytes, asked: list[Asked]) -> str:
    """The complaint about a file that was left as it is, and nothing was paid for."""
    told = complaint(said)
    assert file.read_bytes() == before
    assert conversation_ids() == []
    assert asked == []
    return told


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("other", ["seed", "scene"])
def test_a_file_of_another_run_is_refused_and_left_as_it_is(
    tmp_path: Path, asked: list[Asked], other: str, torn: bool
) -> None:
    out = tmp_path / "out.jsonl"
    run(small_scene(tmp_path), "--out", str(out), "--no-keep", "--turns", "2")
    if torn:
        out.write_bytes(out.read_bytes()[:-9])
    before = out.read_bytes()
    scene = small_scene(tmp_path, **({"time": "At night."} if other == "scene" else {}))
    asked.clear()

    said = run(scene, "--out", str(out), *(["--seed", "9"] if other == "seed" else []))

    assert refused(out, said, before, asked) == (
        f"{out} is of another scene or another seed; name another file, or overwrite it with --force."
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"A poem.\nIt has two lines.\n", "{file}, line 1: it is not JSON; "),
        (b"A poem of one line", "{file} has no complete line; "),
        (b'{"turn": 0}\n', "{file}, line 1: "),
        (b"\xff\xfe\x00", "{file} has no complete line; "),
    ],
)
def test_a_file_that_is_no_run_is_refused_and_left_as_it_is(
    tmp_path: Path, asked: list[Asked], content: bytes, expected: str
) -> None:
    out = tmp_path / "poem.jsonl"
    out.write_bytes(content)

    told = refused(out, run(small_scene(tmp_path), "--out", str(out)), content, asked)

    assert told.startswith(expected.format(file=out))


def test_a_damaged_line_is_told_with_its_number(tmp_path: Path, asked: list[Asked]) -> None:
    scene, out = small_scene(tmp_path), tmp_path / "out.jsonl"
    run(scene, "--out", str(out), "--no-keep", "--turns", "3")
    lines = out.read_bytes().splitlines(keepends=True)
    lines[4] = b'{"turn": "four"}\n'
    out.write_bytes(b"".join(lines))
    asked.clear()

    told = refused(out, run(scene, "--out", str(out)), b"".join(lines), asked)

    assert told.startswith(f"{out}, line 5: ")


def test_force_replaces_whatever_is_there(tmp_path: Path) -> None:
    scene, out = small_scene(tmp_path), tmp_path / "out.jsonl"
    out.write_text("A poem.\n", encoding="utf-8")

    first = lines_of(run(scene, "--json", "--out", str(out), "--force", "--turns", "2"))
    again = lines_of(run(scene, "--json", "--out", str(out), "--force", "--turns", "2", "--seed", "9"))

    assert first != again
    assert lasting(in_file(out))[1:][-1]["text"] == again[-1]["text"]
    assert len(in_file(out)) == 1 + len(again)


def test_places_that_cannot_be_written(tmp_path: Path, asked: list[Asked]) -> None:
    scene = small_scene(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    below = tmp_path / "file" / "out.jsonl"

    assert complaint(run(scene, "--out", str(below))) == (
        f"{below} cannot be written (File exists); check permissions and free space, or name another."
    )
    assert complaint(run(scene, "--out", str(tmp_path))) == (
        f"{tmp_path} cannot be read (Is a directory); name another file."
    )
    assert complaint(run(scene, "--out", str(tmp_path), "--force")) == (
        f"{tmp_path} cannot be written (Is a directory); check permissions and free space, or name "
        "another file."
    )
    assert asked == []


def test_a_file_that_can_only_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, out = small_scene(tmp_path), tmp_path / "out.jsonl"
    run(scene, "--out", str(out), "--no-keep", "--turns", "2")
    before = out.read_bytes()
    opened = Path.open

    def refusing(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if path == out and mode != "rb":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", refusing)

    assert complaint(run(scene, "--out", str(out), "--json")) == (
        f"{out} cannot be written (Permission denied); name another file."
    )
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("director", "why"),
    [
        ("round-robin", "Next in the order of the cast."),
        ("pooled", "round."),
        ("bidding", "wants to speak most"),
        ("model", "The director's model"),
    ],
)
def test_another_director_can_be_named(tmp_path: Path, director: str, why: str) -> None:
    lines = lines_of(run(small_scene(tmp_path), "--json", "--turns", "2", "--director", director))

    assert all(why in line["why"] for line in lines if "model" in line)


def test_a_manual_director_has_nobody_to_tell_it_and_says_so(tmp_path: Path) -> None:
    scene = small_scene(tmp_path, director="manual")
    said = run(scene, "--json", "--turns", "2")

    assert said.stderr == "rolellm: The manual director needs a user, so the scene runs with “natural”.\n"
    assert lasting(lines_of(said)) == lasting(
        lines_of(run(small_scene(tmp_path), "--json", "--turns", "2"))
    )


def test_a_seat_can_have_a_model_of_its_own(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    options = ("--seat-model", "ben=improvising:bens", "--seat-model", "cy=scripted:Late again.")
    lines = lines_of(
        run(small_scene(tmp_path), "--json", "--out", str(out), *options, "--director", "pooled")
    )

    spoke = {(line["speaker"], line["model"]) for line in lines if "model" in line}
    models = {"ada": "improvising:one", "ben": "improvising:bens", "cy": "scripted:Late again."}
    assert spoke == set(models.items())
    assert in_file(out)[0]["models"] == {**models, "narrator": "improvising:one"}


def test_the_model_is_the_told_one_else_the_scenes_else_the_persons(
    tmp_path: Path, asked: list[Asked]
) -> None:
    write_config('model = "improvising:mine"\n')
    user_paths().scenes.mkdir(parents=True)
    theirs = small_scene(user_paths().scenes, id="theirs", model="improvising:theirs")
    for scene, model in ((theirs, MODEL), (theirs, ()), (small_scene(tmp_path), ())):
        run(scene, "--turns", "1", model=model)

    assert list(dict.fromkeys(one.style for one in asked)) == ["one", "theirs", "mine"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ("--director", "biding"),
            "There is no director 'biding' (did you mean bidding?); known are round-robin, ",
        ),
        (("--director", "scripted"), "There is no director 'scripted'"),
        (
            ("--seat-model", "benn=scripted:x"),
            "There is no seat 'benn' (did you mean ben?); seats are ada, ben, cy.",
        ),
        (
            ("--seat-model", "ben"),
            "--seat-model 'ben' names no model; write it as SEAT=PROVIDER:NAME.",
        ),
        (
            ("--seat-model", "ben="),
            "--seat-model 'ben=' names no model; write it as SEAT=PROVIDER:NAME.",
        ),
        (
            ("--seat-model", "ben=scriptd:x"),
            "There is no provider 'scriptd' (did you mean scripted?); known are ",
        ),
        (("--strategy", "sytem"), "There is no strategy 'sytem' (did you mean system?); known are "),
    ],
)
def test_what_is_named_wrong(
    tmp_path: Path, asked: list[Asked], options: tuple[str, ...], expected: str
) -> None:
    out = tmp_path / "out.jsonl"

    assert complaint(run(small_scene(tmp_path), "--out", str(out), *options)).startswith(expected)
    assert not out.exists()
    assert (conversation_ids(), asked) == ([], [])


def test_a_model_that_fails_is_told_and_what_was_played_is_in_the_file(tmp_path: Path) -> None:
    scene, out = small_scene(tmp_path), tmp_path / "out.jsonl"
    said = run(scene, "--json", "--out", str(out), model=("--model", "improvising:broken"))

    assert said.returncode == 2
    assert said.stderr == "rolellm: The model broke down.\n"
    printed = [json.loads(line) for line in said.stdout.splitlines()]
    assert [line["text"] for line in in_file(out)[1:]] == [line["text"] for line in printed]
    assert {line["turn"] for line in printed} >= {0, 1}


HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;owned\x07title \x9b1mbell\x07 \u202eback"


def test_a_models_control_characters_are_escaped_in_files_and_gone_for_people(tmp_path: Path) -> None:
    scene, out = small_scene(tmp_path), tmp_path / "out.jsonl"
    model = ("--model", f"scripted:{HOSTILE}")
    lines = lines_of(said := run(scene, "--json", "--turns", "1", "--out", str(out), model=model))

    assert lines[3]["text"] == HOSTILE
    assert CONTROL.findall(said.stdout) == CONTROL.findall(out.read_text(encoding="utf-8")) == []
    shown = run(scene, "--turns", "1", model=model).stdout
    assert "red title 1mbell back" in shown
    assert CONTROL.findall(shown) == []


def test_a_persona_file_beside_the_scene_is_found_when_it_goes_on_and_replays(tmp_path: Path) -> None:
    (tmp_path / "eve.yaml").write_text("id: eve\nname: Eve\ndescription: A baker.\n", encoding="utf-8")
    cast = ["eve.yaml", {"id": "ben", "name": "Ben"}]
    scene, out = small_scene(tmp_path, cast=cast, opening=[], events=[]), tmp_path / "out.jsonl"
    first = lines_of(run(scene, "--json", "--out", str(out), "--turns", "2"))

    second = lines_of(run(scene, "--json", "--out", str(out), "--turns", "4"))

    assert lasting([*first, *second]) == lasting(lines_of(run(scene, "--json", "--turns", "4")))
    assert rolellm_here("scene", "replay", str(out)).returncode == 0


def test_secrets_stand_in_no_line_that_is_printed(tmp_path: Path) -> None:
    said = run(small_scene(tmp_path), "--json")

    assert PRIVATE["secrets"][0] not in said.stdout
