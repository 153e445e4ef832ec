"""Find passages by their vectors, kept in a Chroma collection.

The collection copies the persona's passages and is synchronised when it is opened: new passages are
embedded, missing ones are deleted, the rest stays. Chroma always gets our vectors; its own default, which
downloads a model, is never used.
"""

import re
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rolellm_agents.config.paths import make_folder, user_paths
from rolellm_agents.errors import RoleLLMError, StorageError
from rolellm_agents.recall.embeddings import NamedEmbeddings
from rolellm_agents.recall.index import Hit
from rolellm_agents.recall.passages import Kind, Passage
from rolellm_agents.text import one_line
from rolellm_agents.text.masking import masked

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

_FORMAT = 1
"""Format version of a collection's metadata."""
_FORMAT_KEY, _EMBEDDINGS_KEY, _VERSION_KEY = "rolellm_format", "embeddings", "embeddings_version"
_CHANGE_KEY = "change"
"""Metadata key of a random text that each change replaces, so that other processes notice it."""
_PATIENCE = 5.0
"""Seconds to wait for another program that locks the store."""
_SERVER_SECONDS = 30.0
_AT_ONCE = 1_000
"""Passages in one batch of embedding and writing."""

_opening = threading.Lock()
"""Chroma's clients of one process share a table that is not thread-safe."""


class ChromaStore:
    """A store of collections: a local folder or a Chroma server."""

    def __init__(self, url: str | None = None, *, folder: Path | None = None) -> None:
        """Open the store.

        Args:
            url: the URL of a Chroma server; a local folder when None.
            folder: the local folder, created when missing; a folder in the user's cache when None.

        Raises:
            StorageError: the folder is damaged or cannot be written, or nothing answers at the URL.
        """
        self._folder = folder or user_paths().cache / "chroma"
        self.place = masked(url) if url else str(self._folder)
        self._is_server = bool(url)
        with self.explained_failures(), _opening:
            self._client = self._connect(url) if url else self._open()

    def collection(self, name: str, embeddings: NamedEmbeddings) -> "Collection":
        """Open or create a collection; a collection with other embeddings is replaced.

        Raises:
            StorageError: another program or a newer version wrote the collection.
        """
        recorded = {
            _FORMAT_KEY: _FORMAT,
            _EMBEDDINGS_KEY: embeddings.name,
            _VERSION_KEY: embeddings.version,
        }
        with self.explained_failures():
            found = self._get_or_create(name, recorded)
            metadata = dict(found.metadata or {})
            self._refuse_foreign(name, metadata)
            if any(metadata.get(key) != value for key, value in recorded.items()):
                # Vectors of other embeddings are useless; the passages can be embedded again.
                self._client.delete_collection(name)
                found = self._get_or_create(name, recorded)
        return found

    def delete_collections_with(self, kind: Kind) -> bool:
        """Delete the collections that have passages of a kind; whether there were any.

        They are deleted whole: the index of a collection keeps the vectors of deleted passages for a while.

        Raises:
            StorageError: the store cannot be written.
        """
        with self.explained_failures():
            found = [
                collection.name
                for collection in self._client.list_collections()
                if collection.get(where={"kind": kind}, limit=1, include=[])["ids"]
            ]
            for name in found:
                self._client.delete_collection(name)
        return bool(found)

    @contextmanager
    def explained_failures(self) -> Iterator[None]:
        """Convert Chroma's exceptions to a `StorageError` that names the place."""
        try:
            yield
        except RoleLLMError:
            raise
        except Exception as error:
            raise StorageError(self._complaint(error)) from error

    def _get_or_create(self, name: str, recorded: dict[str, Any]) -> "Collection":
        return self._client.get_or_create_collection(
            name,
            metadata=recorded,
            configuration={"hnsw": {"space": "cosine"}},
            embedding_function=None,
        )

    def _refuse_foreign(self, name: str, metadata: dict[str, Any]) -> None:
        written = metadata.get(_FORMAT_KEY)
        if not isinstance(written, int):
            raise StorageError(
                f"The Chroma collection {name!r} at {self.place} was not made by rolellm; delete it."
            )
        if written > _FORMAT:
            raise StorageError(
                f"The Chroma collection {name!r} at {self.place} is of a newer rolellm; update this one."
            )

    def _open(self) -> "ClientAPI":
        import chromadb

        make_folder(self._folder)
        self._refuse_held()
        return chromadb.PersistentClient(path=self._folder, settings=_settings())

    def _refuse_held(self) -> None:
        """Raise if the database is locked, because Chroma would wait forever."""
        file = self._folder / "chroma.sqlite3"
        if not file.exists():
            return
        held = sqlite3.connect(file, timeout=_PATIENCE, isolation_level=None)
        try:
            held.execute("BEGIN IMMEDIATE")
            held.execute("ROLLBACK")
        finally:
            held.close()

    def _connect(self, url: str) -> "ClientAPI":
        import chromadb

        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise StorageError(
                f"The Chroma URL {masked(url)!r} must begin with http:// or https:// and name a host."
            )
        ssl = parts.scheme == "https"
        client = chromadb.HttpClient(
            host=parts.hostname, port=parts.port or (443 if ssl else 8000), ssl=ssl, settings=_settings()
        )
        # Without this timeout, Chroma waits forever for a server that accepts a request and never answers.
        session = getattr(getattr(client, "_server", None), "_session", None)
        if session is not None:
            session.timeout = _SERVER_SECONDS
        return client

    def _complaint(self, error: Exception) -> str:
        cause = one_line(str(error), 160) or type(error).__name__
        if self._is_server:
            return (
                f"The Chroma server at {self.place} cannot be used ({cause}); is it running there? "
                "“chroma run” starts one, and without a URL none is needed."
            )
        if "locked" in cause or "busy" in cause:
            return f"The store at {self.place} is locked by another program; close it and try again."
        return (
            f"The store at {self.place} cannot be used ({cause}); move that folder away and start again "
            "(it is rebuilt from the personas), or use --recall bm25."
        )


class ChromaIndex:
    """The passages of one owner in a store."""

    def __init__(
        self,
        passages: Sequence[Passage],
        owner: str,
        embeddings: NamedEmbeddings,
        store: ChromaStore,
        *,
        floor: float | None = None,
    ) -> None:
        """Synchronise the collection.

        Args:
            passages: the passages to search; equal texts count once.
            owner: their owner, such as a persona's id; it has one collection for each embeddings.
            embeddings: compute the vectors.
            store: the place of the collection.
            floor: the cosine below which a passage counts as irrelevant; that of the embeddings when None.

        Raises:
            StorageError: the collection cannot be used.
            ModelError: the embeddings cannot be computed.
        """
        self._passages = {passage.id: passage for passage in reversed(passages)}
        self._embeddings = embeddings
        self._store = store
        self._floor = embeddings.floor if floor is None else floor
        self._kinds = sorted({passage.kind for passage in passages})
        self._name = _collection_name(owner, embeddings)
        self._change: str | None = None
        """The latest known value of the metadata key."""
        if self._passages:
            self._collection = store.collection(self._name, embeddings)
            self._synchronise()

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` nearest passages, best first.

        Raises:
            StorageError: the collection cannot be read.
            ModelError: the query's vector cannot be computed.
        """
        count = min(k, len(self._passages))
        if count <= 0:
            return []
        vector = self._embeddings.embed_query(query)
        self._collection = self._store.collection(self._name, self._embeddings)
        if _change_of(self._collection) != self._change:
            # Another process wrote a different version of the same persona.
            self._synchronise()
        hits = self._query(vector, count)
        if len(hits) < count:
            # Another process changed the collection during the query.
            self._synchronise()
            hits = self._query(vector, count)
        return hits

    def _query(self, vector: list[float], count: int) -> list[Hit]:
        with self._store.explained_failures():
            of_others = max(0, self._collection.count() - len(self._passages))
            found = self._collection.query(
                query_embeddings=[vector],  # type: ignore[arg-type]  # accepts plain lists, too
                n_results=count + of_others,
                # A filter reads all metadata, so it is set only if there are other passages.
                where=self._of_our_kinds if of_others else None,
                include=["distances"],
            )
        distances = (found["distances"] or [[]])[0]
        hits = [
            self._hit(self._passages[passage_id], 1 - float(distance))
            for passage_id, distance in zip(found["ids"][0], distances, strict=True)
            if passage_id in self._passages
        ]
        return hits[:count]

    def _hit(self, passage: Passage, cosine: float) -> Hit:
        closeness = min(1.0, max(0.0, round(cosine, 4)))
        why = f"cosine {closeness:.2f} by {self._embeddings.name}"
        return Hit(passage, closeness, closeness, closeness >= self._floor, why)

    def _synchronise(self) -> None:
        self._change = _change_of(self._collection)
        with self._store.explained_failures():
            stored = set(self._collection.get(where=self._of_our_kinds, include=[])["ids"])
        missing = [passage for passage_id, passage in self._passages.items() if passage_id not in stored]
        memories = [passage for passage in missing if passage.kind == "memory"]
        others = [passage for passage in missing if passage.kind != "memory"]
        for passages in (memories, others):
            for start in range(0, len(passages), _AT_ONCE):
                self._add(passages[start : start + _AT_ONCE])
        stale = sorted(stored - self._passages.keys())
        with self._store.explained_failures():
            for start in range(0, len(stale), _AT_ONCE):
                self._collection.delete(ids=stale[start : start + _AT_ONCE])
            if missing or stale:
                self._change = secrets.token_hex(8)
                self._collection.modify(metadata={**self._collection.metadata, _CHANGE_KEY: self._change})

    def _add(self, batch: Sequence[Passage]) -> None:
        """Add passages that are all memories, or none of them."""
        texts = [passage.text for passage in batch]
        # What was said is only in the transcript: the text of a deleted message must not stay here.
        documents = None if batch[0].kind == "memory" else texts
        vectors = self._embeddings.embed(texts)
        with self._store.explained_failures():
            self._collection.upsert(
                ids=[passage.id for passage in batch],
                embeddings=vectors,  # type: ignore[arg-type]  # accepts plain lists, too
                documents=documents,
                metadatas=[{"kind": passage.kind, "source": passage.source} for passage in batch],
            )

    @property
    def _of_our_kinds(self) -> Any:
        """A filter for the kinds of this index; other indexes manage the owner's other kinds."""
        return {"kind": {"$in": self._kinds}}


def forget_memories(folder: Path | None = None) -> None:
    """Delete all vectors of memories from a local store; the next recall computes those that it needs.

    Call it after messages were deleted forever. Nothing happens if there is no store.

    Args:
        folder: the folder of the store; the one in the user's cache when None.

    Raises:
        StorageError: the store is damaged or cannot be written.
    """
    folder = folder or user_paths().cache / "chroma"
    file = folder / "chroma.sqlite3"
    if not file.exists():
        return
    store = ChromaStore(folder=folder)
    if store.delete_collections_with("memory"):
        with store.explained_failures(), closing(sqlite3.connect(file, timeout=_PATIENCE)) as db:
            # SQLite leaves deleted rows in the file.
            db.execute("VACUUM")


def _change_of(collection: "Collection") -> str | None:
    return (collection.metadata or {}).get(_CHANGE_KEY)


def _collection_name(owner: str, embeddings: NamedEmbeddings) -> str:
    """A valid name: 3 to 512 of these characters, with a letter or digit at both ends."""
    return f"rolellm-{owner}-{re.sub('[^A-Za-z0-9]+', '-', embeddings.name).strip('-')}"[:400].rstrip("-")


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)
