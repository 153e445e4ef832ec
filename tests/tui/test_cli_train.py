"""`rolellm train` as its user runs it."""

import json
from pathlib import Path

import pytest
from helpers.commands import rolellm
from helpers.tiny_gguf import make_tiny_gguf

RECIPE = """\
id: tiny
about: a try
base: {base}
general: 0
role_specific: 0
cast: 1
limit: 6
rank: 2
longest: 4000
pack: 4000
packs_per_step: 1
epochs: 1
evaluations: 0
"""


@pytest.mark.core
def test_the_recipes_are_shown() -> None:
    shown = rolellm("train", "--recipes")
    assert shown.returncode == 0
    assert "smollm2" in shown.stdout
    assert [one["id"] for one in json.loads(rolellm("train", "--recipes", "--json").stdout)] == sorted(
        one["id"] for one in json.loads(rolellm("train", "--json").stdout)
    )


def test_a_training_ends_with_an_adapter_and_json_alone_on_stdout(tmp_path: Path) -> None:
    recipe = tmp_path / "tiny.yaml"
    recipe.write_text(RECIPE.format(base=make_tiny_gguf(tmp_path / "tiny.gguf", seed=1)))
    run = tmp_path / "run"
    done = rolellm("train", "--recipe", str(recipe), "--out", str(run), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["adapter"] == str(run / "adapter")
    assert told["rows"] == {"cast": 6}
    assert (run / "adapter/adapter_model.safetensors").stat().st_size > 0
    assert f"The run is kept in {run}." in done.stderr


def test_what_is_wrong_is_one_sentence(tmp_path: Path) -> None:
    for arguments, said in (
        (("--recipe", "nothing"), "There is no recipe 'nothing'"),
        (("--recipe", "smollm2", "--data", str(tmp_path)), "holds no"),
        (("--recipe", "smoke", "--base", "/nowhere.gguf"), "no model file"),
    ):
        failed = rolellm("train", *arguments)
        assert failed.returncode == 2
        assert said in failed.stderr
        assert "Traceback" not in failed.stderr
