"""`rolellm bench engine`: the scene, the ratios, a tiny run of the raw loop, and what is printed."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.here import rolellm_here

from rolellm_agents.errors import ModelError, PersonaError
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_speed import engine as benchmark
from rolellm_speed.engine import figures, measure, plan
from rolellm_speed.engine.cast import bundled_roles, take
from rolellm_speed.engine.contender import EngineTask, SpokenTurn, features_in, together_rate
from rolellm_speed.engine.load import MachineLoad
from rolellm_speed.engine.load_meter import LoadMeter
from rolellm_speed.engine.play import EngineOutcome, peak_memory_mb, play_scene, time_decoding
from rolellm_speed.engine.process import run_job
from rolellm_speed.engine.workload import (
    NARRATOR,
    OPENING,
    Role,
    WorkloadScene,
    WorkloadTalk,
    make_scene,
    shared_prefix,
    slices,
)

RAW = measure.CONTENDERS["raw"]
CAST = [Role("Ann", "You are Ann. " * 9), Role("Bob", "You are Bob. " * 9), Role("Cy", "You are Cy. " * 9)]


def letters(text: str) -> list[int]:
    """The plainest of tokenizers."""
    return [ord(letter) for letter in text]


def render(turns: Sequence[dict[str, str]]) -> str:
    return "".join(f"<{turn['role']}>{turn['content']}</>\n" for turn in turns) + "<assistant>"


def small_scene(turns: int = 7, reply: int = 5, card_tokens: int = 40) -> WorkloadScene:
    return make_scene(
        CAST, tokenize=letters, render=render, card_tokens=card_tokens, turns=turns, reply=reply
    )


def spoken(number: int, reply: int) -> list[int]:
    return letters(f"line {number:02d}"[-reply:])


class Parrot:
    """A contender that computes nothing, and keeps what it is given."""

    at_once = 4

    def __init__(self) -> None:
        self.features: Sequence[str] = ("NOTHING",)
        self.prompts: list[tuple[int, list[int]]] = []
        self.lines: list[list[int]] = []
        self.heard: list[list[list[int]]] = []
        self.together: list[tuple[int, int]] = []

    def turn(self, character: int, prompt: Sequence[int], n: int) -> SpokenTurn:
        self.prompts.append((character, list(prompt)))
        self.lines.append(spoken(len(self.lines), n))
        return SpokenTurn(self.lines[-1], len(self.lines) / 1000, len(prompt) // 2)

    def between(self, heard: Sequence[Sequence[int]]) -> None:
        self.heard.append([list(one) for one in heard])

    def decode_together(self, prompts: Sequence[Sequence[int]], n: int) -> float:
        self.together.append((len(prompts), n))
        return 10.0 * len(prompts) + len(self.together)

    def close(self) -> None:
        pass


def test_everybody_is_asked_in_turn_with_what_the_template_would_make_of_the_scene() -> None:
    parrot, scene = Parrot(), small_scene()
    play_scene(parrot, scene)

    assert [character for character, _ in parrot.prompts] == [0, 1, 2, 0, 1, 2, 0]
    lines = ["".join(map(chr, line)) for line in parrot.lines]
    for number, (character, prompt) in enumerate(parrot.prompts):
        turns = [
            {"role": "system", "content": CAST[character].card[:40]},
            {"role": "user", "content": f"{NARRATOR}: {OPENING}"},
        ]
        for place in range(number):
            own = place % 3 == character
            said = lines[place] if own else f"{CAST[place % 3].name}: {lines[place]}"
            turns.append({"role": "assistant" if own else "user", "content": said})
        assert "".join(map(chr, prompt)) == render(turns)


def test_every_prompt_goes_on_where_the_character_s_last_one_and_its_answer_ended() -> None:
    parrot = Parrot()
    play_scene(parrot, small_scene(turns=9))

    prefilled: dict[int, list[int]] = {}
    for (character, prompt), line in zip(parrot.prompts, parrot.lines, strict=True):
        held = prefilled.get(character, [])
        assert len(prompt) > len(held)
        assert prompt[: len(held)] == held
        prefilled[character] = prompt + line


def test_what_is_heard_between_two_turns_begins_the_next_prompts() -> None:
    parrot = Parrot()
    play_scene(parrot, small_scene(turns=6))

    assert len(parrot.heard) == 5
    for heard, (character, prompt) in zip(parrot.heard, parrot.prompts[1:], strict=True):
        assert len(heard) == len(CAST)
        assert prompt[: len(heard[character])] == heard[character]


def test_no_prompt_is_longer_than_the_scene_foresees() -> None:
    parrot, scene = Parrot(), small_scene(turns=200)
    play_scene(parrot, scene)

    longest = max(len(prompt) + scene.reply for _, prompt in parrot.prompts)
    assert 0.7 * scene.longest < longest <= scene.longest <= scene.room
    assert scene.room % 256 == 0
    assert small_scene(turns=1).room == 4096


def test_a_scene_s_figures() -> None:
    parrot, scene = Parrot(), small_scene(turns=5)
    found = play_scene(parrot, scene)

    sent = sum(len(prompt) for _, prompt in parrot.prompts)
    assert found["sent"] == sent
    assert found["evaluated"] == sum(len(prompt) // 2 for _, prompt in parrot.prompts)
    assert found["reuse"] == pytest.approx(0.5, abs=0.01)
    assert (found["ttft_ms"], found["last_turn_ttft_ms"]) == (3.0, 5.0)


def test_nobody_speaks_twice_in_a_row() -> None:
    talk = WorkloadTalk(small_scene())
    talk.say(1, [1, 2])
    with pytest.raises(ValueError, match="twice in a row"):
        talk.prompt(1)


def test_decoding_is_timed_for_as_many_at_once_as_the_contender_can() -> None:
    parrot = Parrot()
    rates = time_decoding(parrot, [[1, 2, 3]] * 16)

    # Each count reads the prompts first; the median of the three after it is told.
    assert parrot.together == [(1, 2), *[(1, 32)] * 3, (4, 2), *[(4, 32)] * 3]
    assert rates == {"decode_1": 13.0, "decode_4": 47.0}


def test_the_rate_counts_from_when_all_have_begun() -> None:
    assert together_rate([[1.0, 1.5, 2.0]], 3) == 2.0
    # The second begins later: what came up to then does not count.
    assert together_rate([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]], 3) == 3 / 2
    # Two tokens of a character that came with the third one.
    assert together_rate([[1.0, 2.0]], 4) == 3.0


def test_prompts_are_cut_from_a_text_that_is_long_enough() -> None:
    assert slices(list(range(7)), 2, 3) == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="7 tokens and not 3 times 3"):
        slices(list(range(7)), 3, 3)


def test_shared_prefixes() -> None:
    assert shared_prefix([1, 2, 3], [1, 2, 4, 5]) == 2
    assert shared_prefix([1, 2], [1, 2, 3]) == 2
    assert shared_prefix([], [1]) == 0


def test_the_cast_is_bundled_and_long_enough_to_be_cut() -> None:
    roles = bundled_roles()
    assert [role.name for role in take(roles, 4)] == [role.name for role in roles[:4]]
    assert roles[0].name == "Abraham Lincoln"
    assert all(len(role.card) > 1800 for role in roles)
    with pytest.raises(PersonaError, match=f"use --characters {len(roles)}"):
        take(roles, len(roles) + 1)


def test_a_job_survives_the_way_to_another_process() -> None:
    job = EngineTask("m", "w.gguf", 2, 4096, 4, warm_up=[1], scene=small_scene(), prompts=[[1], [2]])
    assert EngineTask.from_json(job.to_json()) == job
    bare = EngineTask("m", "w.gguf", 2, 4096, 4)
    assert EngineTask.from_json(bare.to_json()) == bare


def test_features_are_those_that_are_on() -> None:
    assert features_in("CPU : SSE3 = 1 | AVX512 = 0 | REPACK = 1 | n = 12 | ") == ["SSE3", "REPACK"]


ENGINES: dict[str, figures.Figures] = {
    "ours": {"scene_s": 20.0, "decode_1": 90.0, "decode_8": 150.0, "ttft_ms": 50.0},
    "llama_cpp": {"scene_s": 100.0, "decode_1": 80.0, "ttft_ms": 900.0},
    "llama_server": {"scene_s": 30.0, "decode_1": 60.0, "decode_8": 120.0, "ttft_ms": 200.0},
    "llama_server_tuned": {"scene_s": 25.0, "decode_1": 90.0, "decode_8": 140.0, "ttft_ms": 190.0},
    "raw": {"scene_s": 19.0, "decode_1": 100.0, "decode_8": 160.0, "ttft_ms": 180.0},
}
RATIOS = {
    "scene_vs_llama_cpp": 5.0,
    "scene_vs_llama_server": 1.5,
    "decode_1_vs_llama_server": 1.5,
    "decode_1_vs_llama_server_tuned": 1.0,
    "decode_1_vs_raw": 0.9,
    "decode_8_vs_llama_server": 1.25,
    "decode_8_vs_raw": 0.938,
    "ttft_vs_llama_server": 0.25,
}


def test_ratios_tell_how_many_times_faster_ours_is() -> None:
    assert figures.ratios(ENGINES) == RATIOS


def test_ratios_are_told_only_of_what_was_measured() -> None:
    some = {name: ENGINES[name] for name in ("ours", "llama_cpp")}
    assert figures.ratios(some) == {"scene_vs_llama_cpp": 5.0}
    assert figures.ratios({"raw": ENGINES["raw"]}) == {}


def test_the_rounds_medians_are_told() -> None:
    rounds: list[figures.Figures] = [{"a": 1.0, "b": None}, {"a": 5.0, "b": 2.0}, {"a": 2.0, "b": 2.0}]
    assert figures.medians(rounds) == {"a": 2.0}


DISTURBED: set[str] = set()
"""Whose scenes are played while other programs compute."""


def played(name: str, job: EngineTask, *, meter: LoadMeter) -> EngineOutcome:
    """Instead of a process."""
    busy_with = 0.63 if name in DISTURBED and job.scene else 0.05
    meter.before, meter.during = MachineLoad(0.5, 0.0), MachineLoad(1.5, busy_with)
    if job.scene:
        return EngineOutcome(["AVX2"], {"scene_s": 10.0, "ttft_ms": 50.0, "memory_mb": 100.0})
    faster = 2.0 if name.startswith("ours") else 1.0
    return EngineOutcome(
        ["AVX2"], {"decode_1": 50.0 * faster, "decode_8": 100.0 * faster, "memory_mb": 900.0}
    )


@pytest.fixture
def with_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """All contenders and ours, none of them real."""
    entries = {"ours": plan.Entry("nowhere"), **measure.CONTENDERS}
    monkeypatch.setattr(measure, "CONTENDERS", entries)
    monkeypatch.setattr(measure, "run_job", played)
    monkeypatch.setattr(measure, "fastest_weights", lambda *_: Path("quick.gguf"))
    monkeypatch.setattr(measure, "find_spec", lambda _: True)


@pytest.mark.model
@pytest.mark.usefixtures("with_ours")
def test_both_passes_stand_in_one_answer() -> None:
    told: list[str] = []
    measured = benchmark.measure_engine(turns=8, rounds=2, progress=told.append)

    assert list(measured) == [
        *("machine", "workload", "engines", "ratios", "ratios_omitted", "as_installed", "load", "notes")
    ]
    assert list(measured["engines"]) == ["ours", "llama_cpp", "llama_server", "llama_server_tuned", "raw"]
    assert measured["engines"]["raw"] == {
        "scene_s": 10.0,
        "ttft_ms": 50.0,
        "memory_mb": 100.0,
        "decode_1": 50.0,
        "decode_8": 100.0,
    }
    assert list(measured["engines"]["raw"]) == ["scene_s", "ttft_ms", "memory_mb", "decode_1", "decode_8"]
    assert list(measured["ratios"]) == list(RATIOS)
    assert measured["ratios"]["decode_1_vs_raw"] == 2.0
    installed = measured["as_installed"]
    assert list(installed) == ["weights", "ours", "llama_server", "llama_cpp", "ratios", "ratios_omitted"]
    assert installed["weights"] == "quick.gguf"
    assert set(installed["ratios"]) == {name for name in RATIOS if name.endswith(("llama_cpp", "server"))}
    assert measured["machine"]["llama_server_features"] == ["AVX2"]
    assert measured["workload"]["turns"] == 8
    assert measured["notes"] == []
    assert measured["ratios_omitted"] == {}
    assert len(measured["load"]) == 2 * 6 * 2
    assert measured["load"][0] == {
        "engine": "ours",
        "round": 1,
        "what": "scene",
        "before": {"average": 0.5, "others": 0.0},
        "during": {"average": 1.5, "others": 0.05},
    }
    assert len(told) == 2 * 6 * 2
    assert told[0] == "Round 1 of 2, ours: scene (0 s so far)"


@pytest.mark.usefixtures("with_ours")
def test_what_was_measured_while_others_computed_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "DISTURBED", {"llama_server"})
    measured = benchmark.measure_engine(rounds=2)

    why = "others used 63 % of the processors while llama_server was measured"
    omitted = {"scene_vs_llama_server": why, "ttft_vs_llama_server": why}
    for ratios, told in (
        (measured["ratios"], measured["ratios_omitted"]),
        (measured["as_installed"]["ratios"], measured["as_installed"]["ratios_omitted"]),
    ):
        assert told == omitted
        assert {name for name, ratio in ratios.items() if ratio is None} == set(omitted)
    assert measured["engines"]["llama_server"]["scene_s"] == 10.0


@pytest.mark.model
@pytest.mark.usefixtures("with_ours")
def test_ours_as_installed_has_a_load_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "DISTURBED", {"ours, as installed"})
    measured = benchmark.measure_engine()

    assert measured["ratios_omitted"] == {}
    assert "scene_vs_llama_cpp" in measured["as_installed"]["ratios_omitted"]
    assert measured["as_installed"]["ratios"]["decode_1_vs_llama_server"] == 2.0


@pytest.mark.usefixtures("with_ours")
def test_without_the_server_s_wheel_its_rows_are_absent_and_a_note_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measure, "find_spec", lambda _: None)
    measured = benchmark.measure_engine()

    assert list(measured["engines"]) == ["ours", "llama_cpp", "raw"]
    assert list(measured["ratios"]) == ["scene_vs_llama_cpp", "decode_1_vs_raw", "decode_8_vs_raw"]
    assert measured["machine"]["llama_server"] is None
    (note,) = measured["notes"]
    assert "xllamacpp is not installed" in note


def test_a_scene_that_the_model_cannot_hold_is_told_before_anything_runs() -> None:
    with pytest.raises(ModelError, match="ask for fewer --turns or a shorter --reply"):
        benchmark.measure_engine(turns=400)


def test_the_embedded_model_s_template_and_tokens_make_the_scene() -> None:
    made = plan.make_plan(embedded_gguf(), plan.Size(turns=4, reply=8), flash_attention=True)
    job = made.jobs(RAW, embedded_gguf())

    assert len(made.scene.heads) == 4
    assert len({len(head) for head in made.scene.heads}) == 1
    assert len({tuple(prompt) for prompt in made.prompts}) == 16
    assert (job["scene"].sequences, job["scene"].n_ctx, job["scene"].prompts) == (4, 4096, [])
    assert (job["decoding"].sequences, job["decoding"].n_ctx, job["decoding"].scene) == (16, 1024, None)
    assert made.flash_attention

    model = LlamaModel(embedded_gguf())
    prompt = WorkloadTalk(made.scene).prompt(0)
    text = b"".join(model.bytes_of(token, special=True) for token in prompt).decode()
    card, rest = text.split("<|im_end|>", 1)
    assert card.startswith("<|im_start|>system\n")
    assert rest == f"\n<|im_start|>user\n{NARRATOR}: {OPENING}<|im_end|>\n<|im_start|>assistant\n"


def test_the_raw_loop_plays_a_tiny_scene_in_its_own_process() -> None:
    """Whatever is evaluated is new: each head once, then the lines and marks that came since."""
    made = plan.make_plan(embedded_gguf(), plan.Size(characters=2, turns=3, reply=3), flash_attention=False)
    scene = made.jobs(RAW, embedded_gguf())["scene"]
    short = WorkloadScene(**{**vars(made.scene), "heads": [head[-40:] for head in made.scene.heads]})
    job = EngineTask(
        **{**vars(scene), "scene": short, "prompts": [made.prompts[0][:8]], "n_ctx": 512, "threads": 1}
    )
    outcome = run_job("raw", job)

    found = outcome.figures
    third = len(short.after_reply) + len(short.names[1]) + 3 + len(short.to_reply) + 1
    second = len(short.to_user) + len(short.names[0]) + 3
    assert (
        found["evaluated"] == sum(len(head) + len(short.to_reply) for head in short.heads) + second + third
    )
    assert found["reuse"]
    assert "decode_4" not in found
    assert all(found[name] for name in ("scene_s", "ttft_ms", "memory_mb", "decode_1"))
    assert outcome.features


@pytest.mark.process
def test_a_process_that_fails_is_told_with_its_last_words() -> None:
    job = EngineTask("rolellm_agents.nowhere", "w.gguf", 1, 512, 1)
    with pytest.raises(ModelError, match=r"'raw' ended with exit code 1 .*No module named") as raised:
        run_job("raw", job)
    assert len(str(raised.value)) < 1000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux")
def test_memory_is_the_process_s_own_and_not_its_parent_s() -> None:
    held = bytearray(200 * 2**20)
    command = "from rolellm_speed.engine.play import peak_memory_mb as p; print(p())"
    told = subprocess.run((sys.executable, "-c", command), capture_output=True, check=True, text=True)

    own = peak_memory_mb()
    assert own is not None
    assert own > 200
    assert float(told.stdout) < 150
    assert len(held) > 0


def test_what_contenders_share_loads_no_llama_cpp() -> None:
    """It would count as everybody's memory, and meet the server's own build in one process."""
    command = (
        "import sys, rolellm_speed.engine.play\n"
        "heavy = ('llama_cpp', 'numpy', 'pydantic', 'langchain_core')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    told = subprocess.run(
        (sys.executable, "-c", command), capture_output=True, check=True, text=True, env={**os.environ}
    )
    assert told.stdout.strip() == "[]"


MEASURED: dict[str, Any] = {
    "machine": {"processors": 2},
    "workload": {"turns": 4},
    "engines": ENGINES,
    "ratios": {**RATIOS, "decode_8_vs_raw": None},
    "ratios_omitted": {"decode_8_vs_raw": "others used 63 % of the processors while raw was measured"},
    "as_installed": {
        "weights": "quick.gguf",
        **{name: ENGINES[name] for name in ("ours", "llama_server", "llama_cpp")},
        "ratios": {"scene_vs_llama_cpp": 6.25},
        "ratios_omitted": {},
    },
    "load": [
        {
            "engine": "raw",
            "round": 1,
            "what": "decoding",
            "before": {"average": 0.5, "others": 0.02},
            "during": {"average": 2.5, "others": 0.63},
        }
    ],
    "notes": ["One was left out."],
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the command asks to be measured; it gets `MEASURED`."""
    calls: list[dict[str, Any]] = []

    def measured(*, progress: Any, **size: int) -> dict[str, Any]:
        calls.append(size)
        progress("Round 1 of 1, raw: scene (0 s so far)")
        return MEASURED

    monkeypatch.setattr(measure, "measure_engine", measured)
    return calls


def test_the_command_prints_json_and_tells_progress_apart_from_it(asked: list[dict[str, Any]]) -> None:
    done = rolellm_here("bench", "engine", "--turns", "4", "--reply", "8", "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout) == MEASURED
    assert done.stderr.splitlines() == [
        "Round 1 of 1, raw: scene (0 s so far)",
        "rolellm: One was left out.",
    ]
    assert asked == [{"characters": 4, "turns": 4, "reply": 8, "rounds": 1}]


@pytest.mark.usefixtures("asked")
def test_the_command_prints_tables_for_people() -> None:
    lines = rolellm_here("bench", "engine").stdout.splitlines()

    empty = lines.index("")
    assert lines[0].split() == [
        *("WHAT", "OURS", "LLAMA_CPP", "LLAMA_SERVER", "LLAMA_SERVER_TUNED", "RAW"),
        *("OURS", "AS", "INSTALLED"),
    ]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:empty]}
    assert rows["scene_s"] == ["20", "100", "30", "25", "19", "20"]
    assert rows["decode_8"] == ["150", "120", "140", "160", "150"]
    notes = lines.index("", empty + 1)
    compared = {line.split()[0]: line.split()[1:] for line in lines[empty + 2 : notes]}
    assert compared["scene_vs_llama_cpp"] == ["5", "6.25"]
    assert compared["decode_1_vs_raw"] == ["0.9"]
    assert compared["decode_8_vs_raw"] == ["–"]
    assert lines[notes + 1 :] == [
        "– decode_8_vs_raw: others used 63 % of the processors while raw was measured",
        "Other programs used at most 63 % of the processors; load average 0.5 to 2.5.",
    ]
