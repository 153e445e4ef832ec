"""Torch's threads sleep while they wait on a busy machine, unless the user has said how they wait."""

import os

import psutil
import pytest

from rolellm_train.training.waiting import POLICY, choose_wait_policy


@pytest.mark.parametrize(
    ("use", "own", "policy"),
    [(80.0, None, "PASSIVE"), (5.0, None, None), (80.0, "ACTIVE", "ACTIVE")],
)
def test_threads_sleep_on_a_busy_machine_alone(
    use: float, own: str | None, policy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "cpu_percent", lambda interval: use)
    # Set first, so that it is taken back at the end.
    monkeypatch.setenv(POLICY, own or "")
    if own is None:
        monkeypatch.delenv(POLICY)
    choose_wait_policy()
    assert os.environ.get(POLICY) == policy
