"""A tutor: a character that reads, with each question, what your notes say about it.

    python docs/examples/tutor.py

The notes are the paragraphs of `tutor_notes.md`. A search by words finds them, without a model. Any other
LangChain retriever can replace it. An empty line ends the program. `ROLELLM_MODEL` selects another model.
"""

from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from rolellm_agents.config.settings import load_settings
from rolellm_agents.recall.embeddings import get_embeddings
from rolellm_graphs import RoleChatModel

NOTES = Path(__file__).with_name("tutor_notes.md")


def notes_retriever(file: Path) -> BaseRetriever:
    """Finds the two paragraphs of a file that are nearest to a question."""
    paragraphs = [one.strip() for one in file.read_text(encoding="utf-8").split("\n\n")]
    store = InMemoryVectorStore.from_texts(paragraphs, get_embeddings().embeddings)
    return store.as_retriever(search_kwargs={"k": 2})


def main() -> None:
    retriever = notes_retriever(NOTES)
    tutor = RoleChatModel("john-keating", model=load_settings().model, strategy="system")
    said: list[BaseMessage] = []
    while question := input("\nYou: "):
        notes = [note.page_content for note in retriever.invoke(question)]
        instruction = SystemMessage("You teach from these notes:\n\n" + "\n\n".join(notes))
        said.append(HumanMessage(question))
        answer = ""
        for chunk in tutor.stream([instruction, *said]):
            print(chunk.text, end="", flush=True)
            answer += chunk.text
        said.append(AIMessage(answer))
        print("\n\nFrom the notes on: " + ", ".join(note.partition(":")[0] for note in notes))


if __name__ == "__main__":
    main()
