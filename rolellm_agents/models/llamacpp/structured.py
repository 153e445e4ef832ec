"""Answers in a prescribed form: what a JSON Schema, or a choice of words, is as a grammar."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.grammar.conversion import convert
from rolellm_agents.models.llamacpp.grammar.rules import InexpressibleError, Rules

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
"""The schema of “JSON mode”."""
_LONGEST = 200_000
_DEEPEST = 80
_MOST_CHOICES = 2000


def grammar_of(schema: Mapping[str, Any]) -> str:
    """The GBNF grammar, with the rule `root`, of JSON texts that are valid against `schema`.

    Every text it lets pass is valid. Not every valid text passes: properties come in the schema's order,
    white space is one space at most, nothing nests deeper than 24, and an object has only the properties
    that the schema names, if it names some. `docs/design/structured-output.md` lists what is understood.

    Args:
        schema: JSON Schema, as pydantic and LangChain write it or by hand; it may come from anyone.

    Raises:
        ModelError: it is no schema, too large, or asks for what a grammar cannot promise.
    """
    try:
        document = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(f"The answer's schema is not JSON ({error}); give one that is.") from error
    if len(document) > _LONGEST or _nesting(document) > _DEEPEST:
        raise ModelError(
            f"The answer's schema is longer than {_LONGEST:,} characters or nests deeper than {_DEEPEST}; "
            "ask for less at once."
        )
    return _converted(document)


def choice_grammar(choices: Sequence[str]) -> str:
    """The GBNF grammar of exactly one of the words, plain and without quotation marks.

    Raises:
        ModelError: there are none or too many, or one is empty.
    """
    if not choices or len(choices) > _MOST_CHOICES or not all(choices):
        raise ModelError(
            f"A choice needs between 1 and {_MOST_CHOICES:,} words, none of them empty; give those."
        )
    rules = Rules()
    try:
        return rules.grammar(rules.words("word", choices))
    except InexpressibleError as error:
        raise ModelError(f"One of the words {error}") from error


@lru_cache(maxsize=64)
def _converted(document: str) -> str:
    return convert(json.loads(document))


def _nesting(document: str) -> int:
    """How deep brackets are in each other; those in strings count too, which only errs on the safe side."""
    depth = deepest = 0
    for character in document:
        if character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth -= 1
    return deepest
