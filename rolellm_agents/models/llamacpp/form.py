"""The form one answer must take: what may come next, and what brings it to its end soonest."""

import ctypes
import weakref
from typing import Any

import llama_cpp
import numpy as np
import numpy.typing as npt

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.grammar.ending import Follower
from rolellm_agents.models.llamacpp.grammar.reading import read_grammar
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.pieces import pieces_of

CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data`."""


class Form:
    """A grammar and where one answer stands in it.

    llama.cpp ends the process when it is told of a token that its grammar does not allow; only tokens
    that `allows` or `allowed` let pass may be told to `accept`.
    """

    def __init__(self, model: LlamaModel, grammar: str) -> None:
        """Begin before the first token.

        Raises:
            ModelError: the grammar cannot be read, or nothing can fulfil it.
        """
        read_grammar(grammar)
        self._sampler = llama_cpp.llama_sampler_init_grammar(model.vocabulary, grammar.encode(), b"root")
        if not self._sampler:
            raise ModelError("llama.cpp cannot read this grammar; see its grammars/README.md for the form.")
        weakref.finalize(self, llama_cpp.llama_sampler_free, self._sampler)
        self._follower = Follower(grammar)
        self._pieces = pieces_of(model)
        self._model = model
        self._rest: bytes | None = None
        """How the answer would end soonest, where that is known."""

    def candidates(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        """The tokens that write something a text could go on with, in form or not."""
        usable = self._pieces.usable(self._follower.begun)
        candidates = np.zeros(len(usable), CANDIDATE)
        candidates["id"] = usable
        candidates["logit"] = logits[usable]
        return candidates

    def allows(self, token: int) -> bool:
        """Whether the token, one of `candidates`, is in form."""
        one = np.zeros(1, CANDIDATE)
        one["id"] = token
        self._mask(one)
        return bool(np.isfinite(one["logit"][0]))

    def allowed(self, candidates: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Those of the candidates that are in form.

        Raises:
            ModelError: the vocabulary cannot write what must come.
        """
        self._mask(candidates)
        allowed: npt.NDArray[Any] = candidates[np.isfinite(candidates["logit"])]
        if not len(allowed):
            raise self._cannot_write()
        return allowed

    def accept(self, token: int) -> None:
        """Go on by an allowed token."""
        llama_cpp.llama_sampler_accept(self._sampler, token)
        if token not in self._pieces.ends:
            text = self._pieces.texts[token]
            self._follower.follow(text)
            # Of several shortest ways to the end, the one begun is kept to.
            rest = self._rest
            self._rest = rest[len(text) :] if rest is not None and rest.startswith(text) else None

    def next_to_end(self, logits: npt.NDArray[np.float32]) -> int:
        """The allowed token that leads to an end in the fewest bytes; an end token when that is reached.

        Raises:
            ModelError: the vocabulary cannot write what must come.
        """
        rest = self._shortest_rest()
        if not rest:
            ends = self._pieces.ends
            return int(ends[np.argmax(logits[ends])])
        token = self._pieces.beginning_of(rest)
        if token is None or not self.allows(token):
            raise self._cannot_write()
        return token

    def tokens_to_end(self) -> int:
        """How many tokens `next_to_end` needs from here, the end token among them."""
        rest = self._shortest_rest()
        count = 1
        while rest and (token := self._pieces.beginning_of(rest)) is not None:
            rest = rest[len(self._pieces.texts[token]) :]
            count += 1
        return count

    def _shortest_rest(self) -> bytes:
        if self._rest is None:
            self._rest = self._follower.shortest_rest()
        return self._rest

    def _mask(self, candidates: npt.NDArray[Any]) -> None:
        """Make what the grammar forbids impossible, in place."""
        array = as_array(candidates)
        llama_cpp.llama_sampler_apply(self._sampler, ctypes.byref(array))

    def _cannot_write(self) -> ModelError:
        return ModelError(
            f"The vocabulary of {self._model.path.name} cannot write the prescribed form; "
            "use other words in it, or another model."
        )


def as_array(candidates: npt.NDArray[Any]) -> Any:
    """Candidates as llama.cpp takes them; it may change and reorder them in place."""
    data = candidates.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
    return llama_cpp.llama_token_data_array(data, len(candidates), -1, False)
