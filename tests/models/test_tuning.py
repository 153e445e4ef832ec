"""Settings for speed: which are worth trying, how they are measured, and where they are kept."""

import json
import math
import platform
import time
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.slow_gguf import make_tiny_q4_1
from helpers.tiny_gguf import make_tiny_gguf

from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.engine.context import LlamaContext
from rolellm_agents.models.llamacpp.files import gguf
from rolellm_agents.models.llamacpp.tuning import calibration
from rolellm_agents.models.llamacpp.tuning import settings as tuning
from rolellm_agents.models.llamacpp.tuning.calibration import Measured, calibrate, candidates, choose
from rolellm_agents.models.llamacpp.tuning.settings import Tuning, store_tuning, stored_tuning, tuning_for

MEASURED = Tuning(flash_attention=True, cache_type="f16", n_threads=3, weights="original")

DAMAGED = {
    "empty": b"",
    "truncated": b"{",
    "a list": b"[]",
    "no UTF-8": b"\xff\xfe",
    "too deep": b"[" * 100_000,
    **{
        f"{field} {value}": json.dumps({"KEY": {"flash_attention": False, field: value}}).encode()
        for field, value in (
            ("cache_type", "q4"),
            ("n_threads", -1),
            ("n_threads", 100_000),
            ("n_batch", 0),
            ("weights", "q2"),
        )
    },
}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "processors", lambda: 1)


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    return make_tiny_gguf(tmp_path / "tiny.gguf", seed=1)


@pytest.fixture
def place(home: Path) -> Path:
    return home / "cache" / "tuning.json"


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny model in the embedded one's place."""
    file = make_tiny_q4_1(tmp_path / "embedded.gguf", seed=1)
    monkeypatch.setattr(gguf, "embedded_gguf", lambda: file)
    return file


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other work on the machine, such as other tests, does not end a measurement."""
    monkeypatch.setattr(calibration, "_JUDGED_AFTER", math.inf)


class TestKeeping:
    def test_without_a_measurement_the_defaults_are_used_and_nothing_is_written(
        self, model_file: Path, embedded: Path, home: Path
    ) -> None:
        assert stored_tuning(model_file) is None
        assert tuning_for(model_file) == Tuning(weights="original")
        assert tuning_for(embedded) == Tuning(weights="q8_0")
        assert not home.exists()

    def test_what_was_measured_is_used(self, model_file: Path) -> None:
        store_tuning(model_file, MEASURED)

        assert stored_tuning(model_file) == MEASURED
        assert tuning_for(model_file) == MEASURED

    def test_it_goes_with_the_file_wherever_that_lies(self, model_file: Path, tmp_path: Path) -> None:
        store_tuning(model_file, MEASURED)
        (tmp_path / "elsewhere").mkdir()

        assert stored_tuning(model_file.rename(tmp_path / "elsewhere" / model_file.name)) == MEASURED
        assert stored_tuning(model_file) is None

    @pytest.mark.parametrize(
        ("what", "other"),
        [("processors", 2), ("features", ("NEON",)), ("version", "99.0"), ("_processor_name", "Z80")],
    )
    def test_another_machine_or_llama_cpp_measures_for_itself(
        self, model_file: Path, monkeypatch: pytest.MonkeyPatch, what: str, other: object
    ) -> None:
        store_tuning(model_file, MEASURED)
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(tuning if what.startswith("_") else library, what, lambda: other)
            assert stored_tuning(model_file) is None
            store_tuning(model_file, Tuning())
            assert stored_tuning(model_file) == Tuning()

        assert stored_tuning(model_file) == MEASURED

    def test_each_model_has_its_own(self, model_file: Path, tmp_path: Path) -> None:
        other = make_tiny_gguf(tmp_path / "other.gguf", seed=2)
        store_tuning(model_file, MEASURED)
        store_tuning(other, Tuning())

        assert (stored_tuning(model_file), stored_tuning(other)) == (MEASURED, Tuning())

    @pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
    def test_a_damaged_file_counts_as_absent_and_is_written_anew(
        self, model_file: Path, place: Path, damage: bytes
    ) -> None:
        store_tuning(model_file, MEASURED)
        (key,) = json.loads(place.read_bytes())
        place.write_bytes(damage.replace(b"KEY", json.dumps(key)[1:-1].encode()))

        assert stored_tuning(model_file) is None
        store_tuning(model_file, MEASURED)
        assert stored_tuning(model_file) == MEASURED

    def test_a_failure_while_writing_leaves_what_was_there(
        self, model_file: Path, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store_tuning(model_file, MEASURED)

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", fail)
        with pytest.raises(
            StorageError, match=r"tuning\.json cannot be written \(No space left on device\);"
        ):
            store_tuning(model_file, Tuning())

        assert stored_tuning(model_file) == MEASURED
        assert list(place.parent.iterdir()) == [place]


class TestCandidates:
    def test_the_defaults_come_first_and_bf16_never_meets_flash_attention(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(library, "processors", lambda: 2)
        monkeypatch.setattr(library, "features", lambda: ("AVX512", "AVX512_BF16"))

        assert candidates(["q8_0", "original"]) == [
            Tuning(),
            Tuning(flash_attention=True),
            Tuning(cache_type="bf16"),
            Tuning(weights="original"),
            Tuning(weights="original", flash_attention=True),
            Tuning(weights="original", cache_type="bf16"),
        ]

    @pytest.mark.parametrize(
        ("machine", "features", "tried"),
        [
            ("x86_64", ("AVX2",), False),
            ("AMD64", ("AVX512",), False),
            ("AMD64", ("AVX512_BF16",), True),
            ("arm64", ("NEON",), True),
        ],
    )
    def test_bf16_is_tried_where_the_processor_knows_it(
        self, monkeypatch: pytest.MonkeyPatch, machine: str, features: tuple[str, ...], tried: bool
    ) -> None:
        monkeypatch.setattr(platform, "machine", lambda: machine)
        monkeypatch.setattr(library, "features", lambda: features)

        assert (Tuning(cache_type="bf16") in candidates(["q8_0"])) is tried

    def test_half_the_threads_are_tried_where_there_are_more_than_two(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert {one.n_threads for one in candidates(["q8_0"])} == {0}
        monkeypatch.setattr(library, "processors", lambda: 8)
        assert {one.n_threads for one in candidates(["q8_0"])} == {0, 4}


class TestChoosing:
    def test_a_turn_is_mostly_reading(self) -> None:
        assert Measured(Tuning(), 60, 16).turn_seconds == 2 + 2

    @pytest.mark.parametrize(("speed", "chosen"), [(1.04, 0), (1.06, 1), (0.5, 0)])
    def test_the_defaults_give_way_only_to_what_is_clearly_quicker(self, speed: float, chosen: int) -> None:
        measured = [Measured(Tuning(), 100, 50), Measured(MEASURED, 100 * speed, 50 * speed)]

        assert choose(measured) is measured[chosen]

    def test_among_others_the_quickest_wins(self) -> None:
        measured = [Measured(Tuning(), 100, 50), Measured(MEASURED, 120, 60), Measured(MEASURED, 130, 60)]

        assert choose(measured) is measured[2]


@pytest.mark.usefixtures("patient")
class TestMeasuring:
    def test_the_embedded_model_is_measured_in_both_formats(self, embedded: Path, place: Path) -> None:
        told: list[str] = []

        measured = calibrate(embedded, progress=told.append, seconds=0)

        assert [one.tuning for one in measured.candidates] == candidates(["q8_0", "original"])
        assert all(0 < one.turn_seconds < math.inf for one in measured.candidates)
        assert measured.chosen in measured.candidates
        assert measured.tuning == measured.chosen.tuning
        assert measured.gain == 0 or measured.gain >= 0.05
        assert told[0] == "Reading a conversation with embedded.gguf"
        assert told[1:] == [f"Timing 6 candidates, round {number}" for number in (1, 2)]
        assert not place.exists()

    def test_a_persons_own_file_is_measured_as_it_is(self, model_file: Path, home: Path) -> None:
        measured = calibrate(model_file, seconds=0)

        assert {one.tuning.weights for one in measured.candidates} == {"original"}
        assert measured.tuning.weights == "original"
        assert not home.exists()

    def test_without_room_for_other_weights_they_stay_wanted(
        self, embedded: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(calibration, "fastest_weights", lambda path, _: path)

        measured = calibrate(embedded, seconds=0)

        assert {one.tuning.weights for one in measured.candidates} == {"original"}
        assert measured.tuning == replace(measured.chosen.tuning, weights="q8_0")

    def test_the_candidates_take_turns(self, embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        order: list[Tuning] = []
        honest = calibration._Candidate.time_once

        def noted(contender: calibration._Candidate) -> None:
            order.append(contender.tuning)
            honest(contender)

        monkeypatch.setattr(calibration._Candidate, "time_once", noted)
        calibrate(embedded, seconds=0)

        there = candidates(["q8_0", "original"])
        assert order == [*there, *reversed(there)]

    def test_who_is_clearly_slower_is_not_timed_to_the_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Fixed:
            def __init__(self, seconds: float) -> None:
                self.seconds, self.timed = seconds, 0

            def time_once(self) -> None:
                self.timed += 1

            def measured(self) -> Measured:
                return Measured(Tuning(), 240 / self.seconds, 64 / self.seconds)

        clock = iter(range(1000))
        monkeypatch.setattr(time, "monotonic", lambda: next(clock))
        slow_default, quick, near, slow = racing = [Fixed(seconds) for seconds in (3, 1, 1.1, 2)]

        calibration._race(racing, end=20, on_progress=lambda _: None)  # type: ignore[arg-type]

        assert slow.timed == 2
        assert slow_default.timed == quick.timed == near.timed > 2

    def test_what_the_model_cannot_do_with_is_left_out(
        self, model_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make = LlamaContext._make

        def refuse(context: LlamaContext, tuning: Tuning) -> object:
            if tuning.flash_attention:
                raise ModelError("No flash attention here.")
            return make(context, tuning)

        monkeypatch.setattr(LlamaContext, "_make", refuse)

        tried = [one.tuning for one in calibrate(model_file, seconds=0).candidates]

        assert tried == [one for one in candidates(["original"]) if not one.flash_attention]

    def test_a_short_context_holds_a_shorter_conversation(self, tmp_path: Path) -> None:
        short = make_tiny_gguf(tmp_path / "short.gguf", seed=1, n_ctx=64)

        assert calibrate(short, seconds=0).candidates

    def test_what_is_no_model_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="There is no model file"):
            calibrate(tmp_path / "nowhere.gguf")


def test_a_busy_machine_ends_it_before_the_long_part(
    model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "_JUDGED_AFTER", 0)
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    monkeypatch.setattr(calibration._Candidate, "read", lambda *_: pytest.fail("it began all the same"))

    with pytest.raises(ModelError, match=r"leave only 0% of the processors, .*; try again when"):
        calibrate(model_file)
