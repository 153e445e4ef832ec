"""A program in two processes, as `accelerate launch` starts them for two GPUs."""

import subprocess
import sys


def in_two_processes(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program with arguments in two processes on the processor, and wait for its end."""
    launch = (sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes=2")
    single = ("--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no", "--main_process_port=0")
    return subprocess.run(
        [*launch, *single, program, *arguments], capture_output=True, text=True, check=False
    )
