"""The lexical embeddings under another name, which note what they are given."""

from langchain_core.embeddings import Embeddings

from rolellm_agents.recall.embeddings import NamedEmbeddings
from rolellm_agents.recall.lexical import LexicalEmbeddings


class RecordingEmbeddings(Embeddings):
    """`documents` and `queries` hold the texts, oldest first; while there is an `error`, it is raised."""

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.queries: list[str] = []
        self.error: Exception | None = None
        self._lexical = LexicalEmbeddings()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self._fail()
        self.documents += texts
        return self._lexical.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        self._fail()
        self.queries.append(text)
        return self._lexical.embed_query(text)

    def named(self, name: str = "recording", version: str = "1", floor: float = 0.1) -> NamedEmbeddings:
        """As an index wants them."""
        return NamedEmbeddings(name, version, floor, self)

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error
