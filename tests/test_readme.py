"""What README shows is run as it stands there."""

import re
from pathlib import Path

import pytest

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.catalog import PROVIDERS
from rolellm_agents.models.names import named_models
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.scene import load_scene

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [code for kind, code in found if kind == language]


@pytest.mark.parametrize("code", blocks("python"))
def test_each_python_example_runs_and_prints_an_answer(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})  # noqa: S102
    assert capsys.readouterr().out.strip()


def test_there_are_four_python_examples() -> None:
    assert len(blocks("python")) == 4


def test_the_models_toml_example_is_read() -> None:
    file = user_paths().models_file
    file.parent.mkdir(parents=True)
    file.write_text(blocks("toml")[0], encoding="utf-8")
    assert named_models()["workstation"].options["temperature"] == 0.8


def test_every_strategy_and_provider_is_explained() -> None:
    explained = set(re.findall(r"^\| `([^`]+)`", README, re.MULTILINE))
    assert set(STRATEGIES) <= explained
    named = {spec.partition(":")[0] for spec in explained if ":" in spec}
    assert set(PROVIDERS) - {"scripted"} <= named


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)h][^)]*)\)", README))
def test_every_link_into_the_project_leads_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


def test_every_folder_of_the_tree_exists() -> None:
    tree = next(block for block in blocks("") if "rolellm_agents/" in block)
    folders = [line.split()[0] for line in tree.splitlines() if line.strip()]
    assert all((ROOT / folder).is_dir() for folder in folders)


def test_the_make_targets_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", "\n".join(blocks("sh")), re.MULTILINE):
        assert f"\n{target}:" in makefile


def test_the_scene_example_is_a_scene(tmp_path: Path) -> None:
    file = tmp_path / "the-letter.yaml"
    file.write_text(blocks("yaml")[0], encoding="utf-8")
    assert set(load_scene(file).seats) == {"sherlock-holmes", "james-bond", "visitor"}
