"""Constrained answers with llguidance: the allowed next tokens, and the shortest way to complete output."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from llguidance import LLMatcher

from rolellm_agents.errors import AnswerFormatError
from rolellm_agents.models.llamacpp.engine.finite import finite
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.text import one_line, plain

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
"""The schema of “JSON mode”."""
_COMPACT: Any = {"whitespace_flexible": False, "coerce_one_of": True}
"""Options against flexible white space, in which a small model would stay forever."""
_LONGEST = 200_000
_CLOSING = tuple(bytes([byte]) for byte in b'}],:n9876543210tf"[.-{')
"""Bytes outside of strings that bring JSON nearer to its end, the best first.

High digits first: they pass a lower bound soonest, and an upper bound excludes them. Zeros could continue
forever.
"""


class Constraint:
    """A grammar, and the state of one answer in it."""

    def __init__(self, model: LlamaModel, grammar: str) -> None:
        """Start before the first token.

        Raises:
            AnswerFormatError: the grammar cannot be read.
        """
        self._model = model
        self._in_string = self._escaped = False
        self._matcher = LLMatcher(model.guide, grammar)
        if self._matcher.is_error():
            raise AnswerFormatError(
                f"The answer's format cannot be used: {one_line(self._matcher.get_error(), 300)}."
            )

    def allowed(self) -> npt.NDArray[np.bool_]:
        """Whether each token may come next, shape `(n_vocabulary,)`; complete output allows end tokens.

        Raises:
            AnswerFormatError: the vocabulary has no token that the grammar allows.
        """
        mask = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        bits = np.unpackbits(mask, bitorder="little", count=self._model.n_vocabulary)
        if self._matcher.is_error() or not bits.any():
            wrong = one_line(self._matcher.get_error() or "no token fits", 200)
            raise AnswerFormatError(
                f"{self._model.path.name} cannot write the prescribed format ({wrong}); "
                "use another format or model."
            )
        return bits.astype(np.bool_)

    def nearest_end(self, logits: npt.NDArray[np.float32]) -> int:
        """The allowed token that completes the output soonest, for answers beyond their length limit.

        Raises:
            AnswerFormatError: the vocabulary has no token that the grammar allows.
        """
        allowed = self.allowed()
        of_byte = self._model.byte_tokens
        marks = (b'"',) if self._in_string else _CLOSING
        for token in (*self._model.ends, *(of_byte[mark] for mark in marks if mark in of_byte)):
            if allowed[token]:
                return token
        # Single bytes, because a longer token may contain a comma, which requires a further value. No
        # backslash, because an escape would only lengthen the string.
        plain_bytes = [token for byte, token in of_byte.items() if allowed[token] and byte != b"\\"]
        others = plain_bytes or [int(token) for token in np.flatnonzero(allowed)]
        return max(others, key=lambda token: float(logits[token]))

    def accept(self, token: int) -> None:
        """Append an allowed token."""
        self._matcher.consume_token(token)
        for byte in self._model.bytes_of(token):
            if self._escaped:
                self._escaped = False
            elif byte == ord("\\"):
                self._escaped = self._in_string
            elif byte == ord('"'):
                self._in_string = not self._in_string


def schema_grammar(schema: Mapping[str, Any]) -> str:
    """The grammar of compact JSON that is valid for a JSON Schema, which may be untrusted.

    Raises:
        AnswerFormatError: the schema is invalid or too large, or a grammar cannot express it.
    """
    try:
        document = json.dumps(schema, allow_nan=False)
        own_copy = json.loads(document)
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerFormatError(f"The answer's schema is not JSON ({error}); give one that is.") from error
    if len(document) > _LONGEST:
        raise AnswerFormatError(
            f"The answer's schema is longer than {_LONGEST:,} characters; use a smaller schema."
        )
    try:
        grammar = LLMatcher.grammar_from_json_schema(json.dumps(finite(own_copy)), overrides=_COMPACT)
    except ValueError as error:  # llguidance's, for example of text that is no Unicode
        raise AnswerFormatError(
            f"The answer's schema cannot be read ({one_line(str(error), 120)}); correct it."
        ) from error
    return checked_grammar(grammar)


def choice_grammar(choices: Sequence[str]) -> str:
    """The grammar of exactly one of several words, without quotation marks.

    Raises:
        AnswerFormatError: there are no words, or one is empty or has control characters.
    """
    if not choices or not all(choice and choice == plain(choice) for choice in choices):
        raise AnswerFormatError("A choice needs at least one word, none empty or with control characters.")
    words = " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    return checked_grammar(LLMatcher.grammar_from_lark(f"start: {words}"))


def checked_grammar(grammar: str) -> str:
    """The grammar itself.

    Raises:
        AnswerFormatError: llguidance cannot use it.
    """
    try:
        wrong = LLMatcher.validate_grammar(grammar)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        # llguidance panics where it shortens a schema within a character. Its exception is no `Exception`
        # and cannot be imported, and a client's schema must not end the engine's thread.
        raise AnswerFormatError(
            "The answer's format cannot be prescribed (llguidance failed to read it); change it."
        ) from None
    if wrong:
        raise AnswerFormatError(
            f"The answer's format cannot be prescribed: {wrong.splitlines()[0]}; change it."
        )
    return grammar
