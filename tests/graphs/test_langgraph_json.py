import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rolellm_agents.errors import PersonaError, SceneError

ROOT = Path(__file__).parents[2]
GRAPHS = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]


def served(name: str) -> Callable[[dict[str, Any]], Any]:
    """What makes the graph, from its file as the server does it."""
    path, _, function = GRAPHS[name]["path"].partition(":")
    spec = importlib.util.spec_from_file_location(f"served_{name}", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    build: Callable[[dict[str, Any]], Any] = getattr(module, function)
    return build


def test_the_role_graph_answers() -> None:
    build = served("role")
    graph = build({"configurable": {"persona": "shrek", "model": "scripted:Get out."}})
    answer = graph.invoke({"messages": [("user", "Hello?")]})["messages"][-1]
    assert (answer.text, answer.name) == ("Get out.", "shrek")
    assert graph.checkpointer is None

    with pytest.raises(PersonaError):
        build({"configurable": {"persona": "nobody-at-all"}})


def test_the_scene_graph_plays() -> None:
    build = served("scene")
    graph = build({"configurable": {"scene": "last-booth", "model": "scripted:More coffee?"}})
    lines = graph.invoke({"lines": []}, context={"turns": 1})["lines"]
    assert lines[-1]["text"] == "More coffee?"
    assert graph.checkpointer is None

    with pytest.raises(SceneError):
        build({"configurable": {"scene": "nowhere-at-all"}})


def test_every_graph_of_the_file_is_tried_here() -> None:
    assert set(GRAPHS) == {"role", "scene"}


def test_loading_the_graphs_loads_no_model() -> None:
    code = (
        "import sys; from rolellm_graphs import studio; "
        "print([name for name in ('llama_cpp', 'torch', 'openai', 'transformers') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
