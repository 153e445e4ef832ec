import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from rolellm_agents.errors import ModelError, StorageError
from rolellm_train.export import converters
from rolellm_train.export.converters import cached_converters, own_converters, unpack_converters
from rolellm_train.export.converting import convert_model, quantize

ROOT = "llama_cpp_python-1.2.3/vendor/llama.cpp"
WHOLE = {
    f"{ROOT}/convert_lora_to_gguf.py": b"lora",
    f"{ROOT}/convert_hf_to_gguf.py": b"hf",
    f"{ROOT}/conversion/llama.py": b"llama",
    f"{ROOT}/gguf-py/gguf/scripts/dump.py": b"dump",
    f"{ROOT}/LICENSE": b"MIT",
}


def archive(place: Path, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    path = place / "llama_cpp_python-1.2.3.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            made.addfile(member)
    return path


def files_in(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir()}


def unheard(told: str) -> None:
    raise AssertionError(told)


def test_only_the_converters_are_unpacked(tmp_path: Path) -> None:
    other = {f"{ROOT}/src/llama.cpp": b"c", f"{ROOT}/conversion/notes.txt": b"n", "setup.py": b"s"}
    unpack_converters(archive(tmp_path, {**WHOLE, **other}), tmp_path / "out")
    assert files_in(tmp_path / "out") == {
        "convert_lora_to_gguf.py",
        "convert_hf_to_gguf.py",
        "conversion/llama.py",
        "gguf-py/gguf/scripts/dump.py",
        "LICENSE",
        "digests.json",
    }


@pytest.mark.parametrize(
    "name",
    [
        f"{ROOT}/conversion/../../../../evil.py",
        f"/{ROOT}/conversion/evil.py",
        f"../{ROOT}/conversion/evil.py",
        f"{ROOT}/conversion/../evil.py",
    ],
)
def test_nothing_is_written_outside_the_folder(tmp_path: Path, name: str) -> None:
    unpack_converters(archive(tmp_path / "in", {**WHOLE, name: b"evil"}), tmp_path / "out")
    assert not [file for file in files_in(tmp_path) if "evil" in file]


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("secret")
    made = archive(tmp_path / "in", WHOLE, {f"{ROOT}/conversion/link.py": str(secret)})
    unpack_converters(made, tmp_path / "out")
    assert "conversion/link.py" not in files_in(tmp_path / "out")


def test_a_file_of_absurd_size_is_refused(tmp_path: Path) -> None:
    huge = {f"{ROOT}/conversion/huge.py": bytes(5_000_000)}
    with pytest.raises(ModelError, match=r"is damaged \(.*huge\.py"):
        unpack_converters(archive(tmp_path, {**WHOLE, **huge}), tmp_path / "out")


@pytest.mark.parametrize("length", [0, 1, 20, 100])
def test_an_archive_that_was_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    made = archive(tmp_path, WHOLE)
    made.write_bytes(made.read_bytes()[:length])
    with pytest.raises(ModelError):
        unpack_converters(made, tmp_path / "out")


def test_a_source_without_converters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no converters"):
        unpack_converters(archive(tmp_path, {"setup.py": b"s"}), tmp_path / "out")


def test_converters_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converters, "_download", lambda place, _: archive(place, WHOLE))
    told: list[str] = []
    folder = cached_converters(tmp_path / "cache", "1.2.3", told.append)
    assert (folder / "convert_hf_to_gguf.py").read_bytes() == b"hf"
    assert ["1.2.3" in one for one in told] == [True]
    assert cached_converters(tmp_path / "cache", "1.2.3", unheard) == folder
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"1.2.3", ".1.2.3.lock"}


@pytest.mark.parametrize("change", ["conversion/llama.py", "digests.json"])
def test_what_was_changed_in_the_cache_is_fetched_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(converters, "_download", lambda place, _: archive(place, WHOLE))
    folder = cached_converters(tmp_path / "cache", "1.2.3", lambda _: None)
    (folder / change).write_text("other")
    told: list[str] = []
    cached_converters(tmp_path / "cache", "1.2.3", told.append)
    assert len(told) == 1
    assert (folder / "conversion/llama.py").read_bytes() == b"llama"


def test_without_an_index_the_sentence_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ModelError, match=r"cannot be downloaded \(.+\); .* --llama-cpp DIR\.$"):
        cached_converters(tmp_path / "cache", "0.3.36", lambda _: None)
    assert files_in(tmp_path / "cache") <= {".0.3.36.lock"}


def test_a_cache_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(place: Path, _: str) -> Path:
        raise OSError(28, "No space left on device", str(place))

    monkeypatch.setattr(converters, "_download", full)
    with pytest.raises(StorageError, match=r"No space left on device.*--llama-cpp DIR"):
        cached_converters(tmp_path / "cache", "1.2.3", lambda _: None)


def test_a_folder_that_is_no_copy_of_llama_cpp_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"There is no convert_lora_to_gguf\.py in"):
        own_converters(tmp_path)


def converter(folder: Path, program: str) -> Path:
    (folder / "convert_hf_to_gguf.py").write_text(program)
    return folder


def test_what_a_converter_complains_of_is_one_line(tmp_path: Path) -> None:
    program = (
        "import sys\nprint('INFO:x:one', file=sys.stderr)\nraise NotImplementedError('BPE is unknown')"
    )
    with pytest.raises(ModelError) as raised:
        convert_model(converter(tmp_path, program), tmp_path, tmp_path / "out.gguf")
    assert "cannot convert the model (BPE is unknown);" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_converter_that_fills_the_disk_is_a_matter_of_storage(tmp_path: Path) -> None:
    program = "raise OSError(28, 'No space left on device')"
    with pytest.raises(StorageError, match="make room on the disk"):
        convert_model(converter(tmp_path, program), tmp_path, tmp_path / "out.gguf")


def test_a_converter_that_writes_nothing_has_failed(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="it ended with code 0"):
        convert_model(converter(tmp_path, ""), tmp_path, tmp_path / "out.gguf")


def test_a_converter_cannot_reach_a_hub(tmp_path: Path) -> None:
    program = (
        "import json, os, sys\n"
        "open(sys.argv[sys.argv.index('--outfile') + 1], 'w').write(json.dumps(dict(os.environ)))"
    )
    convert_model(converter(tmp_path, program), tmp_path, tmp_path / "out.gguf")
    assert json.loads((tmp_path / "out.gguf").read_text())["HF_HUB_OFFLINE"] == "1"


def test_a_file_that_is_no_model_cannot_be_quantized(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(ModelError, match=r"cannot quantize broken\.gguf to q8_0"):
        quantize(file, tmp_path / "out.gguf", "q8_0")
    assert not (tmp_path / "out.gguf").exists()
