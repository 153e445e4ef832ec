"""What `rolellm bench imports` tells of an import."""

import pytest

from rolellm_agents.errors import ModelError
from rolellm_speed.imports import measure_imports


def test_an_import_takes_time_and_memory_in_a_process_of_its_own() -> None:
    nothing, something = measure_imports(1, ("sys", "asyncio"))
    assert (nothing.module, something.module) == ("sys", "asyncio")
    assert nothing.seconds > 0
    assert 0 < nothing.mib < something.mib


def test_a_module_that_cannot_be_imported_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelError, match=r"^no_such_module cannot be imported"):
        measure_imports(1, ("no_such_module",))
    assert "No module named 'no_such_module'" in capfd.readouterr().err
