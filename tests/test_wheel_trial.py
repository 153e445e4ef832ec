"""What `make release-check` refuses in a wheel before it installs it."""

import importlib.util
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def trial() -> ModuleType:
    spec = importlib.util.spec_from_file_location("try_wheel", ROOT / ".ci" / "try_wheel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(folder: Path, *names: str) -> Path:
    made = folder / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * 100)
    return made


def test_a_wheel_of_modules_is_accepted(trial: ModuleType, tmp_path: Path) -> None:
    assert trial.unwanted(wheel(tmp_path, "some/__init__.py", "some/models/testing.py")) == []


@pytest.mark.parametrize("name", ["tests/helpers/x.py", "some/test_x.py", "some/tests/x.py", "conftest.py"])
def test_a_test_in_a_wheel_is_named(trial: ModuleType, tmp_path: Path, name: str) -> None:
    assert trial.unwanted(wheel(tmp_path, "some/__init__.py", name)) == [
        f"some-1.0-py3-none-any.whl has a test: {name}."
    ]


def test_a_wheel_that_is_too_large_is_refused(
    trial: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trial, "LARGEST_WHEEL", 50)
    assert trial.main(wheel(tmp_path, "some/__init__.py")) == 1
    assert "more than 50." in capsys.readouterr().out
