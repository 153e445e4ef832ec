"""How many examples Hypothesis tries: the profile says how many, a test how many times as many."""

from typing import Any

from hypothesis import settings


def examples(factor: float, **others: Any) -> settings:
    """Settings with `factor` times as many examples as the profile has, and at least three.

    `HYPOTHESIS_PROFILE` or `--hypothesis-profile` chooses the profile; `tests/conftest.py` has them.
    """
    return settings(max_examples=max(3, round(factor * settings().max_examples)), **others)
