"""README shows commands, a program and links that work."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [code for kind, code in found if kind == language]


def test_it_has_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


def test_its_python_example_runs_and_prints_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})  # noqa: S102
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)h#][^)#]*)[)#]", README))))
def test_every_link_into_the_project_leads_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


def test_every_folder_of_the_tree_exists() -> None:
    tree = next(block for block in blocks("") if "rolellm_agents/" in block)
    folders = [line.split()[0] for line in tree.splitlines() if line.strip()]
    assert all((ROOT / folder).is_dir() for folder in folders)


def test_the_make_targets_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"^make (\w+)", "\n".join(blocks("sh")), re.MULTILINE)
    assert {"chat", "test"} <= set(named)
    assert all(f"\n{target}:" in makefile for target in named)
