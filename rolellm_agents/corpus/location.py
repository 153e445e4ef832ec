"""Find the corpus, which is part of the repository but not of the wheel."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from rolellm_agents.corpus.conversations import PersonaCorpus, read_persona_corpus
from rolellm_agents.corpus.scenes import CorpusScene, read_corpus_scenes
from rolellm_agents.errors import CorpusError
from rolellm_agents.persona import Persona
from rolellm_agents.text import did_you_mean

_PACKAGE = "rolellm_corpus"


def corpus_folder() -> Path:
    """The folder with the corpus.

    Raises:
        CorpusError: this installation has none.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise CorpusError(
            "The cast's corpus is not installed, because the wheel leaves it out; clone the repository and "
            "install it with “pip install -e .”, or name a folder of your own."
        )
    return Path(spec.origin).parent


def read_corpus(folder: Path) -> list[PersonaCorpus]:
    """Read the conversations of all personas, sorted by language and id.

    Args:
        folder: with a folder for each language.

    Raises:
        CorpusError: there are none, or a file cannot be read.
    """
    files = sorted(folder.glob("??/*.md"))
    if not files:
        raise CorpusError(f"{folder} has no conversations; they are in files like en/sherlock-holmes.md.")
    return [read_persona_corpus(file) for file in files]


def persona_of(corpus: PersonaCorpus, personas: Mapping[str, Persona]) -> Persona:
    """The persona of a corpus.

    Raises:
        CorpusError: there is no such persona.
    """
    if corpus.persona not in personas:
        raise CorpusError(
            f"The corpus has conversations of {corpus.persona!r}{did_you_mean(corpus.persona, personas)}, "
            "which is no persona; “rolellm persona list” shows all."
        )
    return personas[corpus.persona]


def read_scenes(folder: Path) -> list[CorpusScene]:
    """Read all scenes, in the order of their files.

    Raises:
        CorpusError: a file cannot be read.
    """
    return [scene for file in sorted(folder.glob("scenes/*.md")) for scene in read_corpus_scenes(file)]
