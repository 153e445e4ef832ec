import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rolellm_agents.errors import PersonaError

ROOT = Path(__file__).parents[2]
GRAPHS = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]


@pytest.mark.parametrize("name", GRAPHS)
def test_each_graph_is_built_from_its_file_as_the_server_does(name: str) -> None:
    path, _, function = GRAPHS[name]["path"].partition(":")
    spec = importlib.util.spec_from_file_location(f"served_{name}", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    build = getattr(module, function)

    graph = build({"configurable": {"persona": "shrek", "model": "scripted:Get out."}})
    answer = graph.invoke({"messages": [("user", "Hello?")]})["messages"][-1]
    assert (answer.text, answer.name) == ("Get out.", "shrek")
    assert graph.checkpointer is None

    with pytest.raises(PersonaError):
        build({"configurable": {"persona": "nobody-at-all"}})


def test_loading_the_graphs_loads_no_model() -> None:
    code = (
        "import sys; from rolellm_graphs import studio; "
        "print([name for name in ('llama_cpp', 'torch', 'openai', 'transformers') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
