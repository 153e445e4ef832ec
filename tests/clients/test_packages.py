"""Python packages that ask models, each against the server in the environment that it was installed into.

`openai` and `langchain-openai` are tried in `tests/graphs/server`, LangGraph's packages in `tests/graphs`.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.api_server import rolellm_serve
from helpers.client_programs import installed

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.model]

PROGRAMS = Path(__file__).parent / "programs"
HOLMES = "sherlock-holmes@system"
MODELS = """
- model_id: holmes
  model_name: sherlock-holmes@system
  api_base: {url}
  supports_tools: true
  supports_schema: true
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of the embedded model."""
    with rolellm_serve("--max-tokens", "60") as (_, url):
        yield url


def printed(*command: str | Path, home: Path, stdin: str = "") -> str:
    """What a program prints, which has a home of its own and none of this process's paths."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"HOME": str(home), "LLM_USER_PATH": str(home), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(
        [*map(str, command)],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def results(program: str, url: str, home: Path) -> dict[str, Any]:
    """The results of one of the programs in this folder."""
    python = installed("packages/bin/python")
    found: dict[str, Any] = json.loads(printed(python, PROGRAMS / program, url, HOLMES, home=home))
    return found


def test_litellm(url: str, tmp_path: Path) -> None:
    found = results("ask_litellm.py", url, tmp_path)
    assert found["answer"]
    assert len(found["streamed"]) > 3
    assert (found["called"], found["formed"], found["vectors"]) == ("lookup", ["name"], 2)


def test_pydantic_ai(url: str, tmp_path: Path) -> None:
    found = results("ask_pydantic_ai.py", url, tmp_path)
    assert found["answer"]
    assert found["responses"]
    assert "".join(found["streamed"])
    assert {"by tool", "by schema"} <= found.keys()


def test_llm(url: str, tmp_path: Path) -> None:
    program = installed("packages/bin/llm")
    (tmp_path / "extra-openai-models.yaml").write_text(MODELS.format(url=url), encoding="utf-8")

    def llm(*arguments: str) -> str:
        return printed(program, *arguments, home=tmp_path).strip()

    assert llm("-m", "holmes", "--key", "none", "Who are you?")
    assert llm("-m", "holmes", "--key", "none", "--continue", "And Watson?")
    formed = llm("-m", "holmes", "--key", "none", "--schema", "name, trade", "Who are you?")
    assert {"name", "trade"} <= json.loads(formed).keys()
    # The embedded model gets no tools that it may leave alone, and answers without them.
    assert llm("-m", "holmes", "--key", "none", "--tool", "llm_version", "Who are you?")
