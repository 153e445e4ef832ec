"""Models are downloaded from a hub or an address, whole or not at all, and removed again."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.commands import COMMAND, rolellm
from helpers.model_hub import ModelHub, running_model_hub
from helpers.small_disk import fill, small_disk
from helpers.tiny_gguf import make_tiny_adapter, make_tiny_gguf
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp import devices
from rolellm_agents.models.llamacpp.files.hub_models import chosen_files, hub_model
from rolellm_agents.models.recommended import Machine, best_for, recommended_models, this_machine

GB = 10**9

REPOSITORY = "ada/lamp-GGUF"
NAME = f"hf:{REPOSITORY}"


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return make_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", seed=4).read_bytes()


@pytest.fixture
def hub(gguf: bytes) -> Iterator[ModelHub]:
    files = {
        "README.md": b"# Lamp",
        "lamp-Q4_K_M.gguf": gguf,
        "lamp-Q8_0.gguf": gguf + b"\0",
        "mmproj-lamp-F16.gguf": b"GGUF projector",
        "big-Q6_K-00001-of-00002.gguf": gguf,
        "big-Q6_K-00002-of-00002.gguf": gguf + b"\0\0",
    }
    with running_model_hub({REPOSITORY: files, "ada/lamp": {"README.md": b"# Lamp"}}) as running:
        yield running


@pytest.fixture
def env(hub: ModelHub, tmp_path: Path) -> dict[str, str]:
    return {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "HF_TOKEN": "",
    }


def parts(env: dict[str, str]) -> list[Path]:
    """The unfinished downloads in the hub's cache."""
    return [*Path(env["HF_HOME"]).rglob("*.part")]


def downloads(hub: ModelHub) -> list[tuple[str, str]]:
    """The path and range of each download that was asked for."""
    return [(path, part) for method, path, part in hub.asked if method == "GET" and "/api/" not in path]


def test_a_model_is_pulled_named_used_shown_and_removed(
    hub: ModelHub, env: dict[str, str], gguf: bytes
) -> None:
    done = rolellm("models", "pull", NAME, "--use", "--json", env=env)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["name"], told["spec"]) == ("lamp", f"llamacpp:{NAME}")
    assert Path(told["files"][0]).read_bytes() == gguf
    offline = {**env, "HF_HUB_OFFLINE": "1"}
    listed = json.loads(rolellm("models", "list", "--json", env=offline).stdout)
    assert [row["kind"] for row in listed if row["default"]] == ["yours"]
    said = rolellm("say", "sherlock-holmes", "Good day.", "--max-tokens", "8", env=offline)
    assert said.returncode == 0, said.stderr
    shown = json.loads(rolellm("models", "show", "lamp", "--json", env=offline).stdout)
    assert shown["bytes"] == len(gguf)
    asked = len(hub.asked)
    again = rolellm("models", "pull", NAME, env=env)
    assert again.returncode == 0, again.stderr
    assert not [one for one in hub.asked[asked:] if one[0] == "GET" and "resolve" in one[1]]
    removed = rolellm("models", "remove", "lamp", env=offline)
    assert removed.returncode == 0, removed.stderr
    gone = rolellm("say", "sherlock-holmes", "Good day.", "--model", f"llamacpp:{NAME}", env=offline)
    assert f"rolellm models pull {NAME}" in gone.stderr


def test_a_quantization_is_chosen_and_parts_come_together(hub: ModelHub, env: dict[str, str]) -> None:
    small = json.loads(rolellm("models", "pull", f"{NAME}:q8_0", "--json", env=env).stdout)
    assert [Path(file).name for file in small["files"]] == ["lamp-Q8_0.gguf"]
    parts = rolellm("models", "pull", f"{NAME}:Q6_K", "--name", "big", "--json", env=env)
    assert [Path(file).name for file in json.loads(parts.stdout)["files"]] == [
        "big-Q6_K-00001-of-00002.gguf",
        "big-Q6_K-00002-of-00002.gguf",
    ]
    none = rolellm("models", "pull", f"{NAME}:Q2_K", "--name", "small", env=env)
    assert "has no Q2_K" in none.stderr
    assert "Q4_K_M, Q6_K, Q8_0" in none.stderr
    other = rolellm("models", "pull", "hf:ada/lamp", "--name", "other", env=env)
    assert "has no GGUF files; look for a repository whose name ends in -GGUF" in other.stderr


def test_an_adapter_of_the_hub_is_put_over_a_model(
    hub: ModelHub, env: dict[str, str], gguf: bytes, tmp_path: Path
) -> None:
    base = tmp_path / "base.gguf"
    base.write_bytes(gguf)
    adapter = make_tiny_adapter(tmp_path / "adapter.gguf", base, seed=1)
    hub.repositories["ada/tone"] = {"tone-F16.gguf": adapter.read_bytes()}
    for name in (NAME, "hf:ada/tone"):
        assert rolellm("models", "pull", name, env=env).returncode == 0
    spec = f"llamacpp:{NAME}+hf:ada/tone"
    said = rolellm("say", "sherlock-holmes", "Good day.", "--max-tokens", "8", "--model", spec, env=env)
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("redirects", [False, True])
def test_a_broken_connection_goes_on_where_it_was(
    redirects: bool, hub: ModelHub, env: dict[str, str], gguf: bytes
) -> None:
    whole = gguf + bytes(24_000_000)
    hub.repositories[REPOSITORY]["lamp-Q4_K_M.gguf"] = whole
    hub.redirects = redirects
    hub.breaks_after = [12_000_000, 1, 0]
    done = rolellm("models", "pull", NAME, "--json", env=env)
    assert done.returncode == 0, done.stderr
    assert Path(json.loads(done.stdout)["files"][0]).read_bytes() == whole
    assert [*dict.fromkeys(part for _, part in downloads(hub))] == [
        "",
        "bytes=12000000-",
        "bytes=12000001-",
    ]


def test_a_killed_download_leaves_no_model_and_goes_on(
    hub: ModelHub, env: dict[str, str], gguf: bytes
) -> None:
    hub.repositories[REPOSITORY]["lamp-Q4_K_M.gguf"] = gguf + bytes(40_000_000)
    with subprocess.Popen(
        (*COMMAND, "models", "pull", NAME), env={**os.environ, **env}, stderr=subprocess.PIPE
    ) as pulling:
        while not any(part.stat().st_size for part in parts(env)):
            time.sleep(0.01)
        pulling.send_signal(signal.SIGKILL)
    (part,) = parts(env)
    here = part.stat().st_size
    offline = {**env, "HF_HUB_OFFLINE": "1"}
    kinds = {row["kind"] for row in json.loads(rolellm("models", "list", "--json", env=offline).stdout)}
    assert not kinds & {"yours", "downloaded"}
    done = rolellm("models", "pull", NAME, "--json", env=env)
    assert done.returncode == 0, done.stderr
    assert [part for _, part in downloads(hub)] == ["", f"bytes={here}-"]
    assert not parts(env)


def test_what_a_stopped_download_left_is_removed(hub: ModelHub, env: dict[str, str]) -> None:
    hub.breaks_after = [100, 0, 0, 0, 0]
    hub.repositories[REPOSITORY]["lamp-Q4_K_M.gguf"] += bytes(1_000_000)
    given_up = rolellm("models", "pull", NAME, env=env)
    assert given_up.returncode == 2
    assert "it goes on where it was" in given_up.stderr
    assert parts(env)
    assert rolellm("models", "remove", NAME, env=env).returncode == 0
    assert not parts(env)


def test_a_file_that_is_not_what_the_hub_announced_is_deleted(hub: ModelHub, env: dict[str, str]) -> None:
    hub.wrong = True
    done = rolellm("models", "pull", NAME, env=env)
    assert done.returncode == 2
    assert "lamp-Q4_K_M.gguf was damaged on the way; run the command again" in done.stderr
    hub.wrong = False
    assert rolellm("models", "pull", NAME, env=env).returncode == 0


def test_a_disk_that_fills_up_meanwhile_loses_nothing_and_the_download_goes_on(
    hub: ModelHub, env: dict[str, str], gguf: bytes, tmp_path: Path
) -> None:
    whole = gguf + bytes(24_000_000)
    hub.repositories[REPOSITORY]["lamp-Q4_K_M.gguf"] = whole
    with small_disk(tmp_path / "disk", 600) as disk:
        env |= {"HF_HOME": str(disk / "hf")}
        fillers: list[Path] = []
        hub.before_content = lambda: fillers.append(fill(disk, leave=12_000_000))
        full = rolellm("models", "pull", NAME, env=env)
        assert full.returncode == 2
        assert "The disk is full; free disk space and pull" in full.stderr
        offline = rolellm("models", "list", "--json", env={**env, "HF_HUB_OFFLINE": "1"})
        assert not {row["kind"] for row in json.loads(offline.stdout)} & {"yours", "downloaded"}
        hub.before_content = lambda: None
        fillers[0].unlink()
        done = rolellm("models", "pull", NAME, "--json", env=env)
        assert done.returncode == 0, done.stderr
        assert Path(json.loads(done.stdout)["files"][0]).read_bytes() == whole
        (first, second) = (part for _, part in downloads(hub))
        assert first == ""
        # A disk's last block may be missing.
        assert 11_900_000 < int(second.removeprefix("bytes=").removesuffix("-")) <= 12_000_000


def test_a_download_that_does_not_fit_on_the_disk_is_refused_before_it_begins(
    hub: ModelHub, env: dict[str, str], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 100) as disk:
        refused = rolellm("models", "pull", NAME, env={**env, "HF_HOME": str(disk / "hf")})
    assert refused.returncode == 2
    assert "free disk space, or set HF_HOME to another disk" in refused.stderr
    assert not downloads(hub)


def test_a_file_of_any_address_survives_a_full_disk(hub: ModelHub, gguf: bytes, tmp_path: Path) -> None:
    whole = gguf + bytes(8_000_000)
    hub.repositories["files/here"] = {"big.gguf": whole}
    address = f"{hub.url}/elsewhere/files/here/big.gguf"
    with small_disk(tmp_path / "disk", 40) as disk:
        env = {"ROLELLM_HOME": str(disk / "home")}
        filler = fill(disk, leave=6_000_000)
        full = rolellm("models", "pull", address, env=env)
        assert full.returncode == 2
        assert "No space left on device" in full.stderr
        assert "it goes on where it was" in full.stderr
        filler.unlink()
        done = rolellm("models", "pull", address, "--json", env=env)
        assert done.returncode == 0, done.stderr
        assert Path(json.loads(done.stdout)["files"][0]).read_bytes() == whole


def test_two_pulls_at_once_end_with_one_file(hub: ModelHub, env: dict[str, str], gguf: bytes) -> None:
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda _: rolellm("models", "pull", NAME, "--json", env=env), range(2)))
    assert [done.returncode for done in both] == [0, 0], both
    (file,) = {json.loads(done.stdout)["files"][0] for done in both}
    assert Path(file).read_bytes() == gguf


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        (401, {"X-Error-Code": "GatedRepo"}, r"accept them on huggingface.co/ada/lamp-GGUF, and log in"),
        (404, {"X-Error-Code": "RepoNotFound"}, "The hub has no ada/lamp-GGUF, or it is private"),
        (429, {}, "takes no more requests from here now (429)"),
        (500, {}, "could not be downloaded (Server error '500"),
    ],
)
def test_what_the_hub_refuses_is_told(
    status: int, headers: dict[str, str], words: str, hub: ModelHub, env: dict[str, str]
) -> None:
    hub.status, hub.headers = status, headers
    done = rolellm("models", "pull", NAME, env=env)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_of_any_address_is_pulled_resumed_and_removed(
    hub: ModelHub, env: dict[str, str], gguf: bytes, home: Path
) -> None:
    address = f"{hub.url}/elsewhere/{REPOSITORY}/lamp-Q4_K_M.gguf"
    hub.breaks_after = [len(gguf) // 2, 0, 0, 0, 0]
    broken = rolellm("models", "pull", address, env=env)
    assert "it goes on where it was" in broken.stderr
    done = rolellm("models", "pull", address, "--json", env=env)
    assert done.returncode == 0, done.stderr
    (file,) = json.loads(done.stdout)["files"]
    assert Path(file).read_bytes() == gguf
    assert downloads(hub)[-1][1] == f"bytes={len(gguf) // 2}-"
    # A file of the same name from another address is another model.
    hub.repositories["ada/other"] = {"lamp-Q4_K_M.gguf": gguf + b"\0"}
    other = f"{hub.url}/elsewhere/ada/other/lamp-Q4_K_M.gguf"
    second = rolellm("models", "pull", other, "--name", "other", "--json", env=env)
    assert Path(json.loads(second.stdout)["files"][0]).read_bytes() == gguf + b"\0"
    assert rolellm("models", "remove", "lamp-q4-k-m", env=env).returncode == 0
    assert not Path(file).exists()
    page = rolellm("models", "pull", f"{hub.url}/index.html", env=env)
    assert "does not end in .gguf" in page.stderr


def test_a_name_of_ones_own_is_not_replaced_unasked(hub: ModelHub, env: dict[str, str], home: Path) -> None:
    (home / "config").mkdir(parents=True)
    rolellm("models", "pull", f"{NAME}:Q8_0", "--name", "mine", env=env)
    refused = rolellm("models", "pull", NAME, "--name", "mine", env=env)
    assert "There is a model mine" in refused.stderr
    assert rolellm("models", "pull", NAME, "--name", "mine", "--force", env=env).returncode == 0


def test_without_a_network_the_next_step_is_told() -> None:
    done = rolellm("models", "pull", "qwen3-4b")
    assert "HF_HUB_OFFLINE forbids to download it" in done.stderr
    chat = rolellm("say", "sherlock-holmes", "Hello.", "--model", "qwen3-4b")
    assert "qwen3-4b is not on this machine; “rolellm models pull qwen3-4b” downloads it" in chat.stderr
    near = rolellm("models", "pull", "qwen3-4")
    assert "did you mean qwen3-4b" in near.stderr


@pytest.mark.parametrize("name", ["hf:", "hf:lamp", "hf:a/b/c", "hf:a/b:", "hf:a/b:c:d", "hf:../x/y"])
def test_what_is_no_name_of_the_hub_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="names no model of the hub"):
        hub_model(name)


@given(st.lists(st.text(alphabet="aQ4_K-M08.gf/0123of", max_size=30), max_size=8), st.text(max_size=8))
def test_any_list_of_files_gives_files_of_the_list(names: list[str], variant: str) -> None:
    assert set(chosen_files(names, variant)) <= set(names)


def test_the_recommended_models_are_complete_and_fit_their_machine() -> None:
    found = recommended_models()
    assert [one.memory_gb for one in found if one.memory_gb <= one.size_gb] == []
    assert all(hub_model(one.source).variant for one in found)
    small = best_for(Machine(32 * GB))
    with_gpu = best_for(Machine(32 * GB, gpu_memory=24 * GB))
    small_gpu = best_for(Machine(32 * GB, gpu_memory=GB))
    assert small is not None
    assert with_gpu is not None
    assert small.memory_gb < 4 < with_gpu.memory_gb <= 24 * 0.9
    assert small_gpu == small  # what does not fit into the GPU is computed by the processors
    assert best_for(Machine(4 * GB, gpu_memory=24 * GB)) == with_gpu
    assert best_for(Machine(GB)) is None


def test_the_devices_of_llama_cpp_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here llama.cpp has the processor alone, so that one stands for a GPU."""
    monkeypatch.setattr(devices, "_GPU_TYPES", (0, 1, 2))
    monkeypatch.setattr("llama_cpp.llama_supports_gpu_offload", lambda: True)
    (found,) = devices.gpus()
    assert found.name
    assert 0 < found.free <= found.total
    assert this_machine().gpu_memory == found.total
