"""`rolellm bench engine --busy`: fair shares, load, time limits, background processes that always end."""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from helpers.here import rolellm_here

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_speed import engine as benchmark
from rolellm_speed.engine import background, busy, measure, plan
from rolellm_speed.engine.background import background_load, require, total_weight
from rolellm_speed.engine.busy_report import ALONE, Beside, Cell, Measurement, duration, report, time_left
from rolellm_speed.engine.child import Child
from rolellm_speed.engine.contender import EngineTask, SpokenTurn
from rolellm_speed.engine.fair_share import fair_seconds, fair_share, relative_weight, times_fair
from rolellm_speed.engine.figures import Figures, omitted_ratios, ratios
from rolellm_speed.engine.load import CounterReading, MachineLoad, disturbance, most, others_share
from rolellm_speed.engine.load_meter import LoadMeter, own_seconds, read
from rolellm_speed.engine.play import EngineOutcome, time_answers
from rolellm_speed.engine.process import TimedOutError, run_job

PATIENCE = 120
"""Seconds after which a test fails that waits for something; usually it waits for less than one."""
NO_JOB = EngineTask("nowhere", "w.gguf", 1, 512, 1)


@pytest.mark.parametrize(
    ("processors", "threads", "weight", "share"),
    [
        (2, 2, 0, 1),
        (2, 2, 1, 2 / 3),
        (2, 2, 2, 1 / 2),
        (2, 2, 4, 1 / 3),
        (8, 8, 8, 1 / 2),
        (4, 2, 1, 1),  # there is a processor for every thread
        (4, 2, 2, 1),
        (4, 2, 6, 1 / 2),
    ],
)
def test_the_fair_share_divides_the_processors_by_all_threads(
    processors: int, threads: int, weight: float, share: float
) -> None:
    assert fair_share(processors, threads, weight) == pytest.approx(share)


@pytest.mark.process
def test_niced_threads_weigh_what_linux_gives_them() -> None:
    assert relative_weight(0) == 1
    assert relative_weight(19) == 15 / 1024
    assert relative_weight(19, own_nice=10) == 15 / 110
    assert relative_weight(19, own_nice=19) == relative_weight(25, own_nice=20) == 1
    assert relative_weight(0, own_nice=-5) == 1
    assert fair_share(2, 2, 4 * relative_weight(19)) == pytest.approx(0.972, abs=0.001)


def test_background_processes_weigh_as_much_as_their_threads() -> None:
    assert total_weight("spin", 3, 8) == 3
    assert total_weight("spin", 3, 8, own_nice=10) == 3
    assert total_weight("niced", 2, 8) == 2 * 15 / 1024
    assert total_weight("training", 2, 8) == total_weight("engine", 2, 8) == 16


def test_a_time_is_told_as_a_multiple_of_the_fair_time() -> None:
    assert fair_seconds(10, 0.5) == 20
    assert times_fair(30, 10, 0.5) == 1.5


def test_what_others_used_is_what_the_processors_computed_less_our_own() -> None:
    first = CounterReading(moment=100.0, busy=1000.0, own=50.0)
    assert others_share(first, CounterReading(110.0, 1015.0, 52.4), processors=2) == 0.63
    assert others_share(first, CounterReading(110.0, 1015.0, 65.0), processors=2) == 0
    # Counters that step make less than nothing, or more than all there is.
    assert others_share(first, CounterReading(110.0, 1014.9, 65.0), processors=2) == 0
    assert others_share(first, CounterReading(110.0, 1020.1, 50.0), processors=2) == 1
    assert others_share(first, first, processors=2) == 0


def test_a_tenth_of_the_machine_is_too_much() -> None:
    assert disturbance(0.63) == "others used 63 % of the processors"
    assert disturbance(0.1) is None
    assert disturbance(None) is None
    assert most([0.1, None, 0.3]) == 0.3
    assert most([None]) is None


def test_a_ratio_is_omitted_when_either_side_was_disturbed() -> None:
    figures: dict[str, Figures] = {
        "ours": {"scene_s": 5.0, "decode_1": 9.0},
        "raw": {"decode_1": 9.0},
        "llama_cpp": {"scene_s": 9.0},
    }
    quiet: dict[str, dict[str, float | None]] = {
        "ours": {"scene_s": 0.0, "decode_1": None},
        "raw": {"decode_1": 0.1},
        "llama_cpp": {"scene_s": 0.0},
    }
    assert omitted_ratios(quiet) == {}

    noisy: dict[str, dict[str, float | None]] = {
        **quiet,
        "raw": {"decode_1": 0.2},
        "ours": {"scene_s": 0.3, "decode_1": 0.0},
    }
    omitted = omitted_ratios(noisy)
    assert omitted == {
        "scene_vs_llama_cpp": "others used 30 % of the processors while ours was measured",
        "decode_1_vs_raw": "others used 20 % of the processors while raw was measured",
    }
    assert ratios(figures, omitted) == {"scene_vs_llama_cpp": None, "decode_1_vs_raw": None}
    assert ratios(figures, ["decode_1_vs_raw"]) == {"scene_vs_llama_cpp": 1.8, "decode_1_vs_raw": None}


class Answering:
    """A system under test that keeps what it is asked."""

    at_once = 1
    features: Sequence[str] = ()

    def __init__(self) -> None:
        self.asked: list[tuple[int, list[int], int]] = []

    def turn(self, character: int, prompt: Sequence[int], n: int) -> SpokenTurn:
        self.asked.append((character, list(prompt), n))
        return SpokenTurn([1] * n, 0.0, 1)

    def between(self, heard: Sequence[Sequence[int]]) -> None: ...

    def decode_together(self, prompts: Sequence[Sequence[int]], n: int) -> float:
        return 1.0

    def close(self) -> None: ...


def test_one_answer_is_the_median_of_a_few() -> None:
    system = Answering()
    assert time_answers(system, [1, 2, 3], math.inf)["answers"] == 3
    assert system.asked == [(0, [1, 2, 3], 32)] * 3


def test_no_answer_is_begun_that_would_not_fit_into_the_limit() -> None:
    assert time_answers(Answering(), [1, 2, 3], 0.0)["answers"] == 1


BESIDE = Beside("spin", 2)
QUIET = MachineLoad(1.0, 0.02)


def samples(*seconds: float | None, others: float = 0.02) -> list[Measurement]:
    return [Measurement(one, QUIET, MachineLoad(2.0, others)) for one in seconds]


def scene_beside(alone: Sequence[Measurement], beside: Sequence[Measurement]) -> dict[str, Any]:
    found = {Cell(ALONE, "raw", "scene"): alone, Cell(BESIDE, "raw", "scene"): beside}
    rows = report(found, {ALONE: 1.0, BESIDE: 0.5})
    assert [row["processes"] for row in rows] == [0, 2]
    scene: dict[str, Any] = rows[1]["scene"]
    return scene


def test_a_figure_is_told_in_seconds_and_as_a_multiple_of_its_fair_share() -> None:
    found = {
        Cell(beside, "raw", what): samples(seconds)
        for beside, what, seconds in (
            (ALONE, "answer", 1.0),
            (ALONE, "scene", 10.0),
            (BESIDE, "answer", 3.0),
            (BESIDE, "scene", 20.0),
        )
    }
    alone, beside = report(found, {ALONE: 1.0, BESIDE: 0.5})

    assert (alone["system"], alone["neighbour"], alone["processes"], alone["fair_share"]) == (
        "raw",
        None,
        0,
        1,
    )
    assert alone["answer"]["times_fair"] == alone["scene"]["times_fair"] == 1
    assert (beside["neighbour"], beside["processes"], beside["fair_share"]) == ("spin", 2, 0.5)
    assert beside["answer"] == {
        "seconds": 3.0,
        "timed_out": False,
        "fair_seconds": 2.0,
        "times_fair": 1.5,
        "omitted": None,
        "load": [{"before": {"average": 1.0, "others": 0.02}, "during": {"average": 2.0, "others": 0.02}}],
    }
    assert beside["scene"]["times_fair"] == 1


def test_of_several_rounds_the_median_is_told() -> None:
    assert scene_beside(samples(1.0, 9.0, 2.0), samples(8.0, 7.0, 90.0))["times_fair"] == 2


def test_what_did_not_finish_in_time_has_no_figure() -> None:
    found = scene_beside(samples(10.0, 10.0), samples(20.0, None))
    assert (found["seconds"], found["timed_out"], found["times_fair"]) == (None, True, None)
    assert found["omitted"] == "it did not finish in time"
    assert found["fair_seconds"] == 20

    found = scene_beside(samples(None), samples(20.0))
    assert (found["seconds"], found["timed_out"], found["times_fair"]) == (20.0, False, None)
    assert found["omitted"] == "it did not finish in time while it was measured alone"


def test_what_was_measured_while_others_computed_is_not_compared() -> None:
    found = scene_beside(samples(10.0), samples(20.0, others=0.63))
    assert (found["seconds"], found["times_fair"]) == (20.0, None)
    assert found["omitted"] == "others used 63 % of the processors"

    found = scene_beside(samples(10.0, others=0.2), samples(20.0))
    assert found["omitted"] == "others used 20 % of the processors while it was measured alone"


def test_the_time_left_is_what_the_rest_takes_if_it_is_like_what_was() -> None:
    assert time_left([], 10) == 0
    assert time_left([10.0, 20.0], 4) == 60
    assert (duration(60), duration(170)) == ("60 s", "3 min")


def module(folder: Path, name: str, source: str) -> None:
    (folder / f"{name}.py").write_text(source, encoding="utf-8")


STUCK = """
import subprocess, sys, time
from pathlib import Path
from rolellm_speed.engine.contender import SpokenTurn

def wait():
    started = subprocess.Popen((sys.executable, "-c", "import time; time.sleep(1000)"))
    Path(__file__).with_name("grandchild").write_text(str(started.pid))
    print("ready", flush=True)
    time.sleep(1000)

class Stuck:
    at_once = 1
    features = ()
    def turn(self, character, prompt, n):
        wait()

def open_contender(job):
    if job.flash_attention:
        wait()
    return Stuck()
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules that the benchmark's processes can import."""
    folder = tmp_path / "modules"
    folder.mkdir()
    known = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(folder), known))))
    return folder


def own_children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def gone(processes: Sequence[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=PATIENCE)[1]


@pytest.mark.process
@pytest.mark.parametrize("before_it_is_ready", [True, False])
def test_a_system_that_is_stuck_is_not_waited_for(modules: Path, *, before_it_is_ready: bool) -> None:
    module(modules, "stuck", STUCK)
    before = own_children()
    meter = LoadMeter()
    job = EngineTask("stuck", "w.gguf", 1, 512, 1, answer_to=[1], flash_attention=before_it_is_ready)
    with pytest.raises(TimedOutError, match=r"'raw' (was not ready|did not finish) in 2 s"):
        run_job("raw", job, limit=2, meter=meter)

    assert [child for child in own_children() if child not in before] == []
    assert meter.before
    assert meter.during


@pytest.mark.process
def test_a_process_is_killed_with_its_children(modules: Path) -> None:
    module(modules, "stuck", STUCK + "\nif __name__ == '__main__':\n    wait()\n")
    with Child("stuck", "") as child:
        assert child.answer(PATIENCE) == "ready\n"
        processes = [psutil.Process(child.pid), psutil.Process(int((modules / "grandchild").read_text()))]
        with pytest.raises(TimeoutError):
            child.answer(0.01)
    assert gone(processes)


def test_the_raw_loop_writes_one_answer_to_a_prompt_that_it_has_read() -> None:
    made = plan.make_plan(embedded_gguf(), plan.Size(characters=2, turns=2, reply=2), flash_attention=False)
    jobs = made.short_jobs(measure.CONTENDERS["raw"], embedded_gguf(), limit=0.0)
    answer = jobs["answer"]
    assert (len(answer.answer_to), answer.sequences, answer.scene) == (350, 1, None)
    assert answer.warm_up == answer.answer_to
    assert (jobs["scene"].scene, jobs["scene"].answer_to) == (made.scene, [])

    prompt = answer.answer_to[-8:]
    meter = LoadMeter()
    job = EngineTask(**{**vars(answer), "warm_up": prompt, "answer_to": prompt, "n_ctx": 512, "threads": 1})
    figures = run_job("raw", job, limit=PATIENCE, meter=meter).figures
    assert figures["answers"] == 1
    assert figures["answer_s"]
    assert meter.during
    assert 0 <= meter.during.others <= 1


@contextmanager
def load(
    kind: str, count: int, job: EngineTask = NO_JOB
) -> Iterator[tuple[list[psutil.Process], Callable[[], None]]]:
    """Background processes, and what looks after them."""
    before = own_children()
    with background_load(kind, count, threads=1, job=job, limit=PATIENCE) as check:
        yield [child for child in own_children() if child not in before], check


@pytest.mark.process
@pytest.mark.parametrize("error", [KeyboardInterrupt, ModelError, None])
def test_background_processes_end_whatever_happens(error: type[BaseException] | None) -> None:
    processes: list[psutil.Process] = []
    try:
        with load("spin", 2) as (processes, check):
            check()
            assert len(processes) == 2
            if error:
                raise error
    except (KeyboardInterrupt, ModelError):
        assert error
    assert gone(processes)


def test_background_processes_end_when_the_benchmark_is_killed() -> None:
    command = (
        "import sys, time\n"
        "import psutil\n"
        "from rolellm_speed.engine.background import background_load\n"
        "from rolellm_speed.engine.contender import EngineTask\n"
        "asked = {'threads': 1, 'job': EngineTask('nowhere', 'w.gguf', 1, 512, 1)}\n"
        "with background_load('spin', 1, **asked), background_load('niced', 1, **asked):\n"
        "    print(*(child.pid for child in psutil.Process().children()), flush=True)\n"
        "    time.sleep(1000)\n"
    )
    with subprocess.Popen((sys.executable, "-c", command), stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout
        processes = [psutil.Process(int(pid)) for pid in killed.stdout.readline().split()]
        killed.kill()
    assert len(processes) == 2
    assert gone(processes)


def test_a_system_under_test_ends_when_the_benchmark_is_killed(modules: Path) -> None:
    module(modules, "stuck", STUCK)
    command = (
        "from rolellm_speed.engine.contender import EngineTask\n"
        "from rolellm_speed.engine.process import run_job\n"
        "run_job('raw', EngineTask('stuck', 'w.gguf', 1, 512, 1, flash_attention=True))\n"
    )
    with subprocess.Popen((sys.executable, "-c", command)) as killed:
        grandchild = modules / "grandchild"
        end = time.monotonic() + PATIENCE
        while not (grandchild.exists() and grandchild.read_text()) and time.monotonic() < end:
            time.sleep(0.01)
        (system,) = psutil.Process(killed.pid).children()
        left_behind = psutil.Process(int(grandchild.read_text()))
        killed.kill()
    try:
        assert gone([system])
    finally:
        left_behind.kill()


@pytest.mark.parametrize(("before", "code"), [("", 1), ("watch.let_end()", 0)])
def test_a_process_ends_well_when_it_may_and_at_once_when_its_parent_is_gone(
    before: str, code: int
) -> None:
    command = (
        "from rolellm_speed.engine.parent_watch import ParentWatch\n"
        f"watch = ParentWatch()\n{before}\n"
        "print('working', flush=True)\n"
        "watch.wait()\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen((sys.executable, "-c", command), stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "working\n"
        assert process.poll() is None
        assert not process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == code


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "nice"), reason="Windows has no nice values")
def test_niced_processes_have_the_lowest_priority() -> None:
    with load("niced", 1) as ((process,), _):
        assert process.nice() == 19


@pytest.mark.process
def test_an_engine_in_the_background_answers_all_the_time(modules: Path) -> None:
    module(
        modules,
        "counting",
        "from pathlib import Path\n"
        "class Counting:\n"
        "    def turn(self, character, prompt, n):\n"
        "        with Path(__file__).with_name('answers').open('a') as told:\n"
        "            told.write(f'{n} ')\n"
        "def open_contender(job):\n"
        "    return Counting()\n",
    )
    with load("engine", 1, EngineTask("counting", "w.gguf", 1, 512, 1, warm_up=[1, 2])):
        end = time.monotonic() + PATIENCE
        while len((modules / "answers").read_text().split()) < 3 and time.monotonic() < end:
            time.sleep(0.01)
    assert (modules / "answers").read_text().split()[:3] == ["1", "64", "64"]


@pytest.mark.process
def test_training_in_the_background_computes() -> None:
    pytest.importorskip("torch")
    with load("training", 1) as ((process,), check):
        check()
        assert process.is_running()


@pytest.mark.process
def test_a_background_process_that_ends_by_itself_is_no_background_load() -> None:
    with load("spin", 1) as ((process,), check):
        check()
        process.kill()
        assert gone([process])
        with pytest.raises(ModelError, match=r"'spin' has ended by itself"):
            check()


@pytest.mark.process
def test_a_background_process_that_cannot_start_is_told_with_its_last_words() -> None:
    with (
        pytest.raises(ModelError, match=r"'engine' has ended by itself; .*No module named 'nowhere'"),
        load("engine", 1),
    ):
        pass


@pytest.mark.process
def test_a_background_process_that_is_stuck_is_not_waited_for(modules: Path) -> None:
    module(modules, "stuck", STUCK)
    before = own_children()
    job = EngineTask("stuck", "w.gguf", 1, 512, 1, flash_attention=True)
    with (
        pytest.raises(ModelError, match=r"'engine' did not begin to compute in 1 s; .*--limit"),
        background_load("engine", 1, threads=1, job=job, limit=1),
    ):
        pass
    assert [child for child in own_children() if child not in before] == []


def test_what_cannot_be_started_is_told_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "find_spec", lambda _: None)
    require("engine")
    with pytest.raises(ModelError, match="needs torch, which is not installed"):
        benchmark.measure_busy(counts=[1], neighbours=["spin", "training"])
    with pytest.raises(
        ModelError, match="no background process 'dance'; take spin, niced, training, engine"
    ):
        benchmark.measure_busy(counts=[1], neighbours=["dance"])


@pytest.mark.process
def test_what_background_processes_compute_is_our_own() -> None:
    own = psutil.Process()
    first = own_seconds(own)
    with load("spin", 1) as ((process,), _):
        end = time.monotonic() + PATIENCE
        while process.cpu_times().user < 0.5 and time.monotonic() < end:
            time.sleep(0.01)
        spun = process.cpu_times().user
        assert own_seconds(own) - first >= spun
        # For a process that has not started it, it is somebody else's.
        assert own_seconds(process) >= spun
    assert own_seconds(own) - first >= spun


@pytest.mark.process
def test_the_counters_only_grow() -> None:
    first = read()
    with load("spin", 1) as ((process,), _):
        end = time.monotonic() + PATIENCE
        while process.cpu_times().user < 0.5 and time.monotonic() < end:
            time.sleep(0.01)
    last = read()
    assert last.moment > first.moment
    assert last.busy > first.busy
    assert last.own > first.own


STARTED: list[tuple[str, int, int]] = []


@contextmanager
def nothing_started(
    kind: str, count: int, *, threads: int, job: EngineTask, limit: float
) -> Iterator[Callable[[], None]]:
    """Instead of background processes."""
    STARTED.append((kind, count, len(job.answer_to)))
    yield lambda: None


def measured_at_once(name: str, job: EngineTask, *, limit: float, meter: LoadMeter) -> EngineOutcome:
    """Instead of a process: the last background processes are too much for `llama_cpp`."""
    meter.before = meter.during = MachineLoad(1.0, 0.01)
    _, count, _ = STARTED[-1]
    if name == "llama_cpp" and count == 2:
        raise TimedOutError("too slow")
    alone = 8.0 if job.scene else 2.0
    return EngineOutcome(["AVX2"], {"scene_s" if job.scene else "answer_s": alone * (1 + count)})


@pytest.fixture
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    monkeypatch.setattr(busy, "run_job", measured_at_once)
    monkeypatch.setattr(busy, "background_load", nothing_started)
    monkeypatch.setattr(measure, "find_spec", lambda _: None)
    STARTED.clear()


@pytest.mark.model
@pytest.mark.usefixtures("without_processes")
def test_every_system_is_measured_alone_and_beside_each_number_of_each_kind() -> None:
    told: list[str] = []
    measured = benchmark.measure_busy(
        counts=[0, 1, 2], neighbours=["spin", "niced"], rounds=2, limit=7.0, progress=told.append
    )

    assert list(measured) == ["machine", "workload", "busy", "notes"]
    assert json.loads(json.dumps(measured)) == measured
    assert [(kind, count) for kind, count, _ in STARTED] == [
        *(("", 0), ("spin", 1), ("spin", 2), ("niced", 1), ("niced", 2))
    ] * 2
    rows = {(row["system"], row["neighbour"], row["processes"]): row for row in measured["busy"]}
    assert list(rows)[:4] == [
        *(("ours", None, 0), ("llama_cpp", None, 0), ("raw", None, 0), ("ours", "spin", 1))
    ]
    assert len(rows) == 3 * 5
    processors = measured["workload"]["threads"]
    row = rows["raw", "spin", 2]
    assert row["fair_share"] == pytest.approx(processors / (processors + 2), abs=0.001)
    assert row["scene"]["seconds"] == 24
    assert row["answer"]["times_fair"] == pytest.approx(3 * row["fair_share"], abs=0.01)
    slow = rows["llama_cpp", "niced", 2]["scene"]
    assert (slow["seconds"], slow["timed_out"], slow["times_fair"]) == (None, True, None)
    assert measured["workload"]["limit_s"] == 7
    assert ["xllamacpp is not installed" in note for note in measured["notes"]] == [True, False]
    assert measured["notes"][1].startswith("All systems are measured with OMP_WAIT_POLICY=active")
    assert told[0] == "ours beside nothing: answer (1 of 60)"
    assert told[1] == "ours beside nothing: scene (2 of 60, about 0 s left)"
    assert told[6] == "Starting background processes: 1 spin"


MEASURED: dict[str, Any] = {
    "workload": {"limit_s": 60.0},
    "busy": report(
        {
            Cell(ALONE, "raw", "answer"): samples(1.0),
            Cell(ALONE, "raw", "scene"): samples(10.0),
            Cell(BESIDE, "raw", "answer"): samples(None),
            Cell(BESIDE, "raw", "scene"): samples(20.5, others=0.63),
        },
        {ALONE: 1.0, BESIDE: 0.5},
    ),
    "notes": [],
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the command asks to be measured; it gets `MEASURED`."""
    calls: list[dict[str, Any]] = []

    def measured(*, progress: Any, **asked: Any) -> dict[str, Any]:
        calls.append(asked)
        progress("raw beside nothing: answer (1 of 4)")
        return MEASURED

    monkeypatch.setattr(busy, "measure_busy", measured)
    return calls


def test_the_command_asks_for_what_it_was_given(asked: list[dict[str, Any]]) -> None:
    done = rolellm_here("bench", "engine", "--busy", "4, 0,1,4", "--json")
    assert json.loads(done.stdout) == MEASURED
    assert done.stderr == "raw beside nothing: answer (1 of 4)\n"
    rolellm_here(
        *("bench", "engine", "--busy", "2", "--neighbour", "niced", "--neighbour", "engine"),
        *("--turns", "3", "--rounds", "2", "--limit", "9"),
    )
    usual = {"characters": 2, "turns": 6, "reply": 16, "rounds": 1, "limit": 120.0}
    assert asked == [
        {"counts": [0, 1, 4], "neighbours": ["spin"], **usual},
        {"counts": [2], "neighbours": ["niced", "engine"], **usual, "turns": 3, "rounds": 2, "limit": 9.0},
    ]


@pytest.mark.usefixtures("asked")
def test_the_command_prints_a_table_for_people() -> None:
    lines = rolellm_here("bench", "engine", "--busy", "2").stdout.splitlines()

    assert lines[0].split() == [
        *(
            "SYSTEM",
            "BESIDE",
            "FAIR",
            "SHARE",
            "ANSWER,",
            "S",
            "×",
            "FAIR",
            "TIME",
            "SCENE,",
            "S",
            "×",
            "FAIR",
            "TIME",
            "OTHERS",
        )
    ]
    assert lines[1].split() == ["raw", "nothing", "1", "1", "1", "10", "1", "2", "%"]
    assert lines[2].split() == ["raw", "2", "spin", "0.5", ">", "60", "s", "–", "20.5", "–", "63", "%"]
    assert lines[3:] == [
        "",
        "– raw beside 2 spin, answer: it did not finish in time",
        "– raw beside 2 spin, scene: others used 63 % of the processors",
        "Other programs used at most 63 % of the processors; load average 1 to 2.",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--busy", "two"), "Give whole numbers from 0 to 64"),
        (("--busy", "1,-2"), "Give whole numbers from 0 to 64"),
        (("--busy", "65"), "Give whole numbers from 0 to 64"),
        (("--busy", ""), "Give whole numbers from 0 to 64"),
        (("--busy", "0", "--neighbour", "spin"), "It goes with --busy"),
        (("--limit", "5"), "It goes with --busy"),
        (("--busy", "1", "--neighbour", "dance"), "There is no background process 'dance'"),
    ],
)
def test_a_mistake_gets_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    done = rolellm_here("bench", "engine", *arguments)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert done.stdout == ""
