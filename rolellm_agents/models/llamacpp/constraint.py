"""Answers in a prescribed form, by llguidance: what may come next, and what brings the form to its end."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from llguidance import LLMatcher

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.finite import finite
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.text import one_line, plain

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
"""The schema of “JSON mode”."""
_COMPACT: Any = {"whitespace_flexible": False, "coerce_one_of": True}
"""Free white space is where a small model would stay forever."""
_LONGEST = 200_000
_CLOSING = tuple(bytes([byte]) for byte in b'}],:n9876543210tf"[.-{')
"""What brings a JSON text nearer to its end outside of strings, the best first.

High digits leave a lower bound behind, and an upper one takes them away: zeros could go on forever.
"""


class Form:
    """A grammar and where one answer stands in it."""

    def __init__(self, model: LlamaModel, grammar: str) -> None:
        """Begin before the first token.

        Raises:
            ModelError: the grammar cannot be read.
        """
        self._model = model
        self._in_string = self._escaped = False
        self._matcher = LLMatcher(model.guide, grammar)
        if self._matcher.is_error():
            raise ModelError(
                f"The answer's form cannot be used: {one_line(self._matcher.get_error(), 300)}."
            )

    def allowed(self) -> npt.NDArray[np.int64]:
        """The tokens that may come next, those that end the answer among them when the form is complete.

        Raises:
            ModelError: the vocabulary cannot write what must come.
        """
        mask = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        allowed = np.flatnonzero(np.unpackbits(mask, bitorder="little", count=self._model.n_vocabulary))
        if self._matcher.is_error() or not len(allowed):
            wrong = one_line(self._matcher.get_error() or "no token fits", 200)
            raise ModelError(
                f"{self._model.path.name} cannot write the prescribed form ({wrong}); "
                "use another form or model."
            )
        return allowed

    def nearest_end(self, logits: npt.NDArray[np.float32]) -> int:
        """The allowed token that leads to the form's end soonest: it must end though its time is up.

        Raises:
            ModelError: the vocabulary cannot write what must come.
        """
        allowed = self.allowed()
        ends = [int(token) for token in allowed if self._model.is_end(int(token))]
        if ends:
            return ends[0]
        texts = {self._model.bytes_of(int(token)): int(token) for token in allowed}
        marks = (b'"',) if self._in_string else _CLOSING
        closing = [texts[mark] for mark in marks if mark in texts]
        # One byte at a time: a longer piece may bring the comma that asks for more. And an escape would
        # only make a string longer.
        others = [token for text, token in texts.items() if len(text) == 1 and text != b"\\"]
        return closing[0] if closing else max(others or texts.values(), key=lambda token: logits[token])

    def accept(self, token: int) -> None:
        """Go on by an allowed token."""
        self._matcher.consume_token(token)
        for byte in self._model.bytes_of(token):
            if self._escaped:
                self._escaped = False
            elif byte == ord("\\"):
                self._escaped = self._in_string
            elif byte == ord('"'):
                self._in_string = not self._in_string


def schema_grammar(schema: Mapping[str, Any]) -> str:
    """The grammar of compact JSON texts that are valid against a JSON Schema, which may come from anyone.

    Raises:
        ModelError: it is no schema, too large, or asks for what a grammar cannot promise.
    """
    try:
        document = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(f"The answer's schema is not JSON ({error}); give one that is.") from error
    if len(document) > _LONGEST:
        raise ModelError(
            f"The answer's schema is longer than {_LONGEST:,} characters; ask for less at once."
        )
    return _checked(
        LLMatcher.grammar_from_json_schema(json.dumps(finite(json.loads(document))), overrides=_COMPACT)
    )


def choice_grammar(choices: Sequence[str]) -> str:
    """The grammar of exactly one of the words, plain and without quotation marks.

    Raises:
        ModelError: there are none, or one is empty or has control characters.
    """
    if not choices or not all(choice and choice == plain(choice) for choice in choices):
        raise ModelError("A choice needs at least one word, none empty or with control characters.")
    words = " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    return _checked(LLMatcher.grammar_from_lark(f"start: {words}"))


def _checked(grammar: str) -> str:
    wrong = LLMatcher.validate_grammar(grammar)
    if wrong:
        raise ModelError(f"The answer's form cannot be prescribed: {wrong.splitlines()[0]}; change it.")
    return grammar
