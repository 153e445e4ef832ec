"""A few hundred random changes of each kind of file; `make fuzz` tries millions."""

import importlib
import random
from pathlib import Path

import pytest

from fuzz.mutations import TARGETS, mutated, run


@pytest.mark.parametrize("name", TARGETS)
def test_no_changed_file_brings_out_anything_but_a_sentence(name: str) -> None:
    run(importlib.import_module(f"fuzz.fuzz_{name}"), seed=1, count=300)


def test_the_same_seed_makes_the_same_inputs() -> None:
    first, again, other = (
        mutated([b"name: Ada"] * 2, random.Random(seed)) for seed in ("1 0", "1 0", "2 0")
    )
    assert first == again != other


def test_every_fuzzer_has_mutations() -> None:
    files = {path.stem.removeprefix("fuzz_") for path in Path(__file__).parent.glob("fuzz_*.py")}
    assert files == set(TARGETS)
