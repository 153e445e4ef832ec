"""Samples to make data sets of: by hand, and for laws that hold for all of them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from rolellm_agents.datasets import Kind, Sample
from rolellm_agents.text.language import Language


def sample(
    role: str = "Ada",
    question: str = "Who keeps the lamp?",
    *references: str,
    kind: Kind = "role_specific",
    types: tuple[str, ...] = (),
    language: Language = "en",
    **extra: Any,
) -> Sample:
    """One with what a test cares for."""
    return Sample(role, question, references or ("I do.",), kind, types, language, extra)


def row(**fields: Any) -> dict[str, Any]:
    """A row as it is published."""
    return {"role": "Ada", "question": "Who keeps the lamp?", "generated": ["I do, every night."], **fields}


def written_rows(file: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """A JSONL file of them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="utf-8")
    return file


_CHARACTERS = st.characters(exclude_categories=("Cs", "Cc"), max_codepoint=0x2FFFF)
TEXTS = st.text(_CHARACTERS, min_size=1, max_size=30).map(str.strip).filter(bool)
"""What a role, a question or an answer may be."""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(_CHARACTERS, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(_CHARACTERS, max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
KINDS: st.SearchStrategy[Kind] = st.sampled_from(("general", "role_specific"))
LANGUAGES: st.SearchStrategy[Language] = st.sampled_from(("en", "zh"))


@st.composite
def any_samples(draw: st.DrawFn, roles: st.SearchStrategy[str] = TEXTS) -> Sample:
    """Any clean sample."""
    references = draw(st.lists(TEXTS, min_size=1, max_size=4))
    types = draw(
        st.just([])
        | st.lists(
            st.sampled_from(("script_based", "script_agnostic", "general")),
            min_size=len(references),
            max_size=len(references),
        )
    )
    extra = draw(st.dictionaries(st.sampled_from(("persona", "labels", "seed", "ä")), VALUES, max_size=2))
    return Sample(
        draw(roles), draw(TEXTS), tuple(references), draw(KINDS), tuple(types), draw(LANGUAGES), extra
    )
