import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.commands import COMMAND, rolellm
from helpers.tiny_tuned import make_base, make_converters, make_peft_adapter
from helpers.user_files import write_models

from rolellm_agents.errors import ModelError, RoleLLMError, SettingsError, StorageError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.names import named_models
from rolellm_train.base.gguf_metadata import read_metadata
from rolellm_train.base.tuned import quiet
from rolellm_train.base.unpacking import unpack_gguf
from rolellm_train.export.export import Exported, ExportOptions, export

pytest.importorskip("peft")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, an adapter over it, and converters that know both."""
    place = tmp_path_factory.mktemp("tuned")
    base = make_base(place)
    with quiet():
        unpack_gguf(base, place / "base")
    make_peft_adapter(place / "adapter", place / "base")
    make_converters(place / "converters", base)
    return place


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A finished training run."""
    folder = tmp_path / "rolesmol"
    shutil.copytree(made / "adapter", folder / "adapter")
    config = {
        "trainer": "rocit",
        "recipe": {"id": "smoke", "language": "en", "rank": 4},
        "base": str(made / "tiny.gguf"),
        "data": ["/home/somebody/RoleBench"],
    }
    write_json(folder / "config.json", {"begun": "now", "versions": {}, "config": config})
    write_json(folder / "manifest.json", {"finished": "now", "held_out_loss": 2.5, "scores": {"f1": 0.23}})
    return folder


def write_json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value), encoding="utf-8")


def change_json(file: Path, **changes: Any) -> None:
    write_json(file, {**json.loads(file.read_text(encoding="utf-8")), **changes})


def exported(source: Path, made: Path, **options: Any) -> Exported:
    return export(
        ExportOptions(source=source, **{"llama_cpp": made / "converters", **options}), lambda _: None
    )


def left_beside(target: Path) -> set[str]:
    return {path.name for path in target.parent.iterdir() if target.name in path.name}


def refused(source: Path, made: Path, error: type[RoleLLMError], match: str, **options: Any) -> None:
    """Refused in one line, with nothing left, and no name kept."""
    with pytest.raises(error, match=match) as raised:
        exported(source, made, **options)
    assert "\n" not in str(raised.value)
    assert left_beside(source / "export") <= {".export.lock"}
    assert named_models() == {}


def test_a_run_becomes_files_that_are_proven_and_a_name_that_works(run: Path, made: Path) -> None:
    result = exported(run, made)
    folder = run / "export"
    assert {file.name for file in folder.iterdir()} == {
        "adapter.gguf",
        "parity.json",
        "parity.md",
        "README.md",
        "Modelfile",
    }
    assert [(parity.over, parity.passed) for parity in result.parities] == [
        ("base-f16.gguf", True),
        ("tiny.gguf", True),
    ]
    assert all(parity.reply == parity.reference_reply for parity in result.parities)
    kept = named_models()["rolesmol"]
    assert kept.spec == f"llamacpp:{made / 'tiny.gguf'}+{folder / 'adapter.gguf'}"
    assert kept.strategy == "system"  # it was tuned by it
    assert get_model("rolesmol", temperature=0, max_tokens=4).invoke("Who are you?").text
    assert json.loads((folder / "parity.json").read_text(encoding="utf-8"))["parity"][0]["passed"]
    assert left_beside(folder) == {"export", ".export.lock"}


def test_files_and_card_say_where_they_come_from_and_no_path_of_the_makers(run: Path, made: Path) -> None:
    write_models("")
    exported(run, made, name="holmes-1")
    told = read_metadata(run / "export" / "adapter.gguf")
    assert (told["name"], told["type"]) == ("holmes-1", "adapter")
    assert told["dataset.0.name"] == "RoleBench"
    assert "smoke" in told["description"]
    card = (run / "export" / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(card.split("---\n")[1])
    assert (head["base_model"], head["recipe"], head["datasets"]) == ("tiny", "smoke", ["RoleBench"])
    assert head["language"] == ["en"]
    assert "| f1 | 0.23 |" in card
    for text in (card, str(told), (run / "export" / "parity.md").read_text(encoding="utf-8")):
        assert "/home/somebody" not in text
        assert str(run) not in text


def test_an_adapter_alone_is_exported_over_the_base_that_is_named(made: Path, tmp_path: Path) -> None:
    source = shutil.copytree(made / "adapter", tmp_path / "mine")
    exported(source, made, base=str(made / "base"), to=tmp_path / "out")
    # A base that is no GGUF stays beside the adapter, which nothing could run otherwise.
    spec = f"llamacpp:{tmp_path / 'out' / 'base-f16.gguf'}+{tmp_path / 'out' / 'adapter.gguf'}"
    assert (named_models()["mine"].spec, named_models()["mine"].strategy) == (spec, None)
    assert get_model("mine", temperature=0, max_tokens=4).invoke("Who are you?").text


def test_what_was_not_converted_as_it_was_tuned_is_not_kept(run: Path, made: Path, tmp_path: Path) -> None:
    wrong = make_converters(tmp_path / "wrong", made / "tiny.gguf", strength=-3.0)
    match = r"adapter\.gguf over base-f16\.gguf does not compute what .*agreement is 0\.\d+ .*--force"
    refused(run, made, ModelError, match, llama_cpp=wrong)
    result = exported(run, made, llama_cpp=wrong, force=True)
    assert [parity.passed for parity in result.parities] == [False, True]
    assert "must be 0.99" in (run / "export" / "parity.md").read_text(encoding="utf-8")
    assert "rolesmol" in named_models()


def test_another_template_than_the_bases_is_not_kept(run: Path, made: Path, tmp_path: Path) -> None:
    base = make_base(tmp_path / "other", facts={"tokenizer.chat_template": "{{ messages[-1]['content'] }}"})
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))["config"]
    config |= {"base": str(base), "recipe": {"id": "smoke", "chat_template": "chatml"}}
    change_json(run / "config.json", config=config)
    converters = make_converters(tmp_path / "converters", base)
    refused(run, made, ModelError, "the chat template is another one", llama_cpp=converters)


def test_what_is_there_is_replaced_only_when_that_is_wanted(run: Path, made: Path) -> None:
    exported(run, made)
    (run / "export" / "mine.txt").write_text("mine")
    with pytest.raises(SettingsError, match=r"There is a model rolesmol in .* already; .*--force"):
        exported(run, made)
    with pytest.raises(StorageError, match="exists already; name another folder with --to"):
        exported(run, made, name="other")
    assert (run / "export" / "mine.txt").read_text() == "mine"
    exported(run, made, force=True)
    assert not (run / "export" / "mine.txt").exists()
    assert left_beside(run / "export") == {"export", ".export.lock"}


def test_an_export_that_fails_leaves_the_one_before_it(run: Path, made: Path, tmp_path: Path) -> None:
    exported(run, made)
    broken = make_converters(tmp_path / "broken", made / "tiny.gguf")
    (broken / "convert_lora_to_gguf.py").write_text("raise ValueError('no')")
    with pytest.raises(ModelError, match="cannot convert the adapter"):
        exported(run, made, llama_cpp=broken, force=True)
    assert (run / "export" / "adapter.gguf").is_file()
    assert left_beside(run / "export") == {"export", ".export.lock"}


def test_an_adapter_that_does_not_say_its_base_is_refused(made: Path, tmp_path: Path) -> None:
    source = shutil.copytree(made / "adapter", tmp_path / "mine")
    change_json(source / "adapter_config.json", base_model_name_or_path=None)
    refused(source, made, ModelError, "name it with --base")


def test_an_adapter_for_another_base_is_refused(run: Path, made: Path, tmp_path: Path) -> None:
    wide = make_base(tmp_path / "wide", width=32)
    match = r"made for another base model than tiny \(model\.layers\.0\..*name its .* with --base"
    refused(run, made, ModelError, match, base=str(wide))


@pytest.mark.parametrize("length", [0, 7, 8, 100, -1, -100])
def test_an_adapter_that_was_cut_short_is_refused(run: Path, made: Path, length: int) -> None:
    file = run / "adapter" / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:length])
    refused(run, made, ModelError, "adapter_model.safetensors is damaged")


def test_an_adapter_that_holds_nan_is_refused(run: Path, made: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    file = run / "adapter" / "adapter_model.safetensors"
    weights = load_file(file)
    next(iter(weights.values()))[0, 0] = torch.nan
    save_file(weights, file)
    refused(run, made, ModelError, "holds NaN or infinity")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"peft_type": "IA3"}, "only LoRA can be exported"),
        ({"use_dora": True}, "has DoRA, which GGUF does not support"),
        ({"use_rslora": True}, "rank-stabilized scaling"),
        ({"alpha_pattern": {"v_proj": 3}}, "an alpha for each layer"),
        ({"modules_to_save": ["lm_head"]}, "complete layers"),
        ({"bias": "all"}, "has biases"),
    ],
)
def test_what_a_gguf_adapter_cannot_say_is_refused(
    run: Path, made: Path, changes: Mapping[str, Any], match: str
) -> None:
    change_json(run / "adapter" / "adapter_config.json", **changes)
    refused(run, made, ModelError, match)


def remove_weights(run: Path) -> None:
    (run / "adapter" / "adapter_model.safetensors").unlink()


def break_config(run: Path) -> None:
    (run / "adapter" / "adapter_config.json").write_text("{")


def take_adapter(run: Path) -> None:
    shutil.rmtree(run / "adapter")


def another_run(run: Path) -> None:
    change_json(run / "config.json", config={"generator": "rolegpt"})


def no_run(run: Path) -> None:
    take_adapter(run)
    (run / "config.json").unlink()


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (remove_weights, "save the adapter as safetensors"),
        (break_config, "cannot be read"),
        (take_adapter, "training in .* is not finished"),
        (another_run, "is not a training"),
        (no_run, "There is no run and no adapter in"),
    ],
)
def test_a_source_that_is_incomplete_is_refused(
    run: Path, made: Path, damage: Callable[[Path], None], match: str
) -> None:
    damage(run)
    refused(run, made, ModelError, match)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"base": "llamacpp:nothing.gguf"}, ModelError, "There is no model file"),
        ({"base": "no/such"}, ModelError, "There is no base 'no/such'"),
        ({"base": "openai:gpt-4o"}, ModelError, "cannot be exported"),
        ({"merged": ["q5_k"]}, ModelError, "cannot be written in 'q5_k'.*f16, q8_0, q4_k_m"),
        ({"name": "a b"}, SettingsError, "is not a valid model name"),
        ({"to": Path("/tmp/a+b")}, ModelError, "separator of an adapter"),
        ({"llama_cpp": Path("/nowhere")}, ModelError, "There is no convert_lora_to_gguf.py in /nowhere"),
    ],
)
def test_what_cannot_be_wanted_is_refused_before_anything_is_done(
    run: Path, made: Path, options: Mapping[str, Any], error: type[RoleLLMError], match: str
) -> None:
    refused(run, made, error, match, **options)


def test_a_disk_that_is_too_small_is_told_before_anything_is_written(
    run: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(run)._replace(free=200_000_000)
    monkeypatch.setattr("rolellm_train.export.folder.shutil.disk_usage", lambda _: usage)
    refused(run, made, StorageError, r"takes \d+\.\d GB temporarily, and 0\.0 GB are free in .*; make room")


def test_a_disk_that_fills_up_on_the_way_leaves_nothing(
    run: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rolellm_train.export.work.record_reference", full)
    refused(run, made, StorageError, r"cannot be written \(No space left on device\)")


def test_a_kill_leaves_nothing_under_the_final_name_and_the_next_export_tidies_up(
    run: Path, made: Path, tmp_path: Path
) -> None:
    slow = make_converters(tmp_path / "slow", made / "tiny.gguf")
    (slow / "convert_lora_to_gguf.py").write_text("import time\ntime.sleep(600)")
    process = subprocess.Popen(
        (*COMMAND, "export", str(run), "--llama-cpp", str(slow)),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    with process.stderr:
        while "Converting the adapter" not in (line := process.stderr.readline()):
            assert line, "the export ended by itself"
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert not (run / "export").exists()
    assert named_models() == {}
    assert any(name.endswith(".part") for name in left_beside(run / "export"))
    exported(run, made)
    assert left_beside(run / "export") == {"export", ".export.lock"}


def test_the_command_tells_what_it_made(run: Path, made: Path) -> None:
    done = rolellm("export", str(run), "--llama-cpp", str(made / "converters"), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["name"], [one["passed"] for one in told["parity"]]) == ("rolesmol", [True, True])
    assert [line for line in done.stderr.splitlines() if not line.startswith("rolellm: ")] == []


def test_the_commands_mistakes_are_one_line(tmp_path: Path) -> None:
    done = rolellm("export", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"rolellm: There is no run and no adapter in {tmp_path}; name a folder that “rolellm train” made.\n"
    )
