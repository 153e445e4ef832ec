"""What the program makes of fixed inputs stays what it was, to the byte.

`record.py` says when the files may be recorded anew.
"""

from difflib import unified_diff
from itertools import islice
from pathlib import Path

import pytest

from golden.record import PRODUCERS, RECORDED, Producer


@pytest.mark.parametrize("name", PRODUCERS)
def test_the_program_makes_what_was_recorded(name: str, tmp_path: Path) -> None:
    producer: Producer = PRODUCERS[name]
    made = producer(tmp_path)
    assert made
    for file, text in made.items():
        recorded = (RECORDED / name / file).read_bytes().decode()
        difference = unified_diff(
            recorded.splitlines(), text.splitlines(), "recorded", "made", n=1, lineterm=""
        )
        assert text == recorded, "\n".join((file, *islice(difference, 40)))
    kept = {
        one.relative_to(RECORDED / name).as_posix() for one in (RECORDED / name).rglob("*") if one.is_file()
    }
    assert kept == made.keys()


def test_no_recorded_file_is_left_of_a_producer_that_is_gone() -> None:
    assert {one.name for one in RECORDED.iterdir()} == PRODUCERS.keys()
