"""A scene as a node of another graph, with you in one of its seats; stop, and continue another day.

You are Juno, in a café in the snow. The scene interrupts the graph to wait for your lines. When it is over,
the next node asks a critic to write about it. Each step is checkpointed in SQLite, for which LangGraph has
a separate package:

    pip install langgraph-checkpoint-sqlite
    python docs/examples/scene_with_a_person.py evening.db

An empty line stops the program, and the same command continues from there. `ROLELLM_MODEL` selects another
model.
"""

import argparse
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot

from rolellm_agents import get_model
from rolellm_agents.config.settings import load_settings
from rolellm_agents.scene import SceneLine
from rolellm_graphs import PersonsLine, RoleChatModel, SceneContext, scene_graph
from rolellm_graphs.scene.state import SceneOutput

YOU = "juno-macguff"
THREAD: RunnableConfig = {"configurable": {"thread_id": "evening"}}
CONTEXT = SceneContext(persons=(YOU,), turns=6)


class Evening(SceneOutput):
    """The scene's lines, and what comes after them."""

    review: str


def evening_graph(
    model: BaseChatModel, checkpointer: BaseCheckpointSaver[Any]
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph: the scene, then a critic who was in the audience."""
    critic = RoleChatModel("truman-capote", model=model)

    def review(state: Evening) -> dict[str, str]:
        seen = "\n".join(map(shown, state["lines"]))
        return {"review": critic.invoke(f"You have just seen this on a stage. How was it?\n\n{seen}").text}

    builder = StateGraph(Evening, context_schema=SceneContext)
    builder.add_node("scene", scene_graph("last-booth", model=model))
    builder.add_node("review", review)
    builder.add_edge(START, "scene")
    builder.add_edge("scene", "review")
    builder.add_edge("review", END)
    return builder.compile(checkpointer=checkpointer)


def shown(line: SceneLine) -> str:
    """A line as it is read."""
    return f"{line['speaker']}: {line['text']}"


def scene_in(evening: StateSnapshot) -> StateSnapshot | None:
    """The scene's own state, while it is played."""
    inside = evening.tasks[0].state if evening.tasks else None
    return inside if isinstance(inside, StateSnapshot) else None


def play(graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Go on from wherever the checkpoint is, until the evening is over or you stop."""
    printed = 0
    while True:
        evening = graph.get_state(THREAD, subgraphs=True)
        scene = scene_in(evening)
        lines: list[SceneLine] = (scene or evening).values.get("lines", [])
        for line in lines[printed:]:
            print(shown(line))
        printed = len(lines)
        if "review" in evening.values:
            print(f"\n{evening.values['review']}")
            return
        if scene and scene.interrupts:
            if not (text := input("You: ").strip()):
                return
            said = PersonsLine(seat=YOU, kind="say", to=[], text=text)
            # By the interrupt's id: without it the words would be said a second time, should a model fail.
            graph.invoke(Command(resume={scene.interrupts[0].id: said}), THREAD, context=CONTEXT)
        else:  # at the beginning, or where it was cut off
            graph.invoke(None if evening.next else {"lines": []}, THREAD, context=CONTEXT)


def main() -> None:
    parser = argparse.ArgumentParser(description="Play a scene, stop, and go on.")
    parser.add_argument("file", help="the SQLite file in which the evening is kept")
    with SqliteSaver.from_conn_string(parser.parse_args().file) as checkpointer:
        play(evening_graph(get_model(load_settings().model), checkpointer))


if __name__ == "__main__":
    main()
