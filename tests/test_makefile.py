"""How `make` has llama.cpp compiled."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NO_AMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
PIP = '#!/bin/sh\ncase "$*" in *locks/TARGET.txt*) printf %s "$CMAKE_ARGS" > seen ;; esac\n'
"""Stands for Python, and tells what the call that installs the lock was given."""

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="there is no make")


def cmake_args(folder: Path, target: str, **environment: str) -> list[str]:
    """What CMake is told, split as scikit-build-core splits it."""
    pip = folder / ".venv" / "bin" / "python"
    pip.parent.mkdir(parents=True)
    pip.write_text(PIP.replace("TARGET", target), encoding="utf-8")
    pip.chmod(0o755)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copyfile(ROOT / name, folder / name)
    shutil.copytree(ROOT / "locks", folder / "locks")
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("FLAGS")}
    command = ("make", "--silent", f".venv/.{target}")
    subprocess.run(command, cwd=folder, env={**inherited, **environment}, check=True, capture_output=True)
    return shlex.split((folder / "seen").read_text(encoding="utf-8"))


@pytest.mark.core
@pytest.mark.parametrize("target", ["base", "dev"])
def test_amx_is_compiled_out(tmp_path: Path, target: str) -> None:
    flags = cmake_args(tmp_path, target, CC="true", CMAKE_ARGS="")

    assert flags == [f"-DCMAKE_C_FLAGS= {NO_AMX}", f"-DCMAKE_CXX_FLAGS= {NO_AMX}"]


@pytest.mark.core
def test_what_the_user_set_stays_and_comes_last_so_that_it_wins(tmp_path: Path) -> None:
    flags = cmake_args(
        tmp_path, "base", CC="true", CMAKE_ARGS="-DGGML_CUDA=on -DX='a b'", CFLAGS="-O2 -g", CXXFLAGS="-O1"
    )

    assert flags == [
        f"-DCMAKE_C_FLAGS=-O2 -g {NO_AMX}",
        f"-DCMAKE_CXX_FLAGS=-O1 {NO_AMX}",
        "-DGGML_CUDA=on",
        "-DX=a b",
    ]


@pytest.mark.core
def test_a_compiler_that_knows_no_amx_is_left_alone(tmp_path: Path) -> None:
    assert cmake_args(tmp_path, "base", CC="false", CMAKE_ARGS="-DGGML_CUDA=on") == ["-DGGML_CUDA=on"]
