"""How torch's threads wait for each other on a processor that other programs use, too."""

import os
from typing import Final

import psutil

from rolellm_train.training import processes

POLICY: Final = "OMP_WAIT_POLICY"
_OTHERS: Final = 30.0
"""Use of all processors by other programs, in percent, from which threads sleep while they wait."""
_SECONDS: Final = 0.3


def choose_wait_policy() -> None:
    """Let torch's threads sleep instead of spin while they wait, if other programs use the processors.

    A spinning thread takes the time that the thread which it waits for needs: beside a model in llama.cpp,
    a step took up to 25 times as long. On a quiet machine, sleeping costs a fourth. The results do
    not change.
    OpenMP reads the policy when torch is loaded, so this must be called before. A policy that the user has
    set is kept. So is the choice of `accelerate launch`, whose processes use the processors together.
    """
    if processes.count() > 1:
        return
    if POLICY not in os.environ and psutil.cpu_percent(interval=_SECONDS) > _OTHERS:
        os.environ[POLICY] = "PASSIVE"
