"""A tutor that reads what your notes say about each question, and remembers earlier lessons.

    pip install langgraph-checkpoint-sqlite
    python docs/examples/tutor.py lessons.db

The notes are the paragraphs of `tutor_notes.md`. A search by words finds them, without a model. Any other
LangChain retriever can replace it. What you and the tutor say is kept in a LangGraph store, here in SQLite;
the next lesson is told what is near to your question. An empty line ends the program. `ROLELLM_MODEL`
selects another model.
"""

import argparse
from pathlib import Path
from uuid import uuid4

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.store.sqlite import SqliteStore

from rolellm_agents.config.settings import load_settings
from rolellm_agents.recall.embeddings import get_embeddings
from rolellm_graphs import role_graph

NOTES = Path(__file__).with_name("tutor_notes.md")


def notes_retriever(file: Path) -> BaseRetriever:
    """Finds the two paragraphs of a file that are nearest to a question."""
    paragraphs = [one.strip() for one in file.read_text(encoding="utf-8").split("\n\n")]
    store = InMemoryVectorStore.from_texts(paragraphs, get_embeddings().embeddings)
    return store.as_retriever(search_kwargs={"k": 2})


def lesson(store: SqliteStore) -> None:
    """Answer questions until an empty line."""
    retriever = notes_retriever(NOTES)
    tutor = role_graph("john-keating", model=load_settings().model, strategy="system", store=store)
    # Memories come from the conversations of this user with other ids.
    this_lesson: RunnableConfig = {"configurable": {"user_id": "you", "thread_id": str(uuid4())}}
    said: list[AnyMessage] = []
    while question := input("\nYou: "):
        notes = [note.page_content for note in retriever.invoke(question)]
        instruction = SystemMessage("You teach from these notes:\n\n" + "\n\n".join(notes))
        said.append(HumanMessage(question))
        answer = tutor.invoke({"messages": [instruction, *said]}, this_lesson)["messages"][-1]
        said.append(answer)
        print(f"{answer.text}\n\nFrom the notes on: " + ", ".join(note.partition(":")[0] for note in notes))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("lessons", help="the file with the memories")
    with SqliteStore.from_conn_string(parser.parse_args().lessons) as store:
        store.setup()
        lesson(store)


if __name__ == "__main__":
    main()
