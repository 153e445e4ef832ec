"""How the next token is chosen: llama.cpp's own samplers, and a grammar where the form is prescribed."""

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import llama_cpp
import numpy as np
import numpy.typing as npt

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.form import Form, as_array
from rolellm_agents.models.llamacpp.model import LlamaModel

_REPEAT_WINDOW = 128
_DRY_BREAKERS = (b"\n", b":", b'"', b"*")
"""What ends a phrase for DRY, as its author proposes."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen, in llama.cpp's terms, and when to end."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    seed: int = 0
    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    grammar: str = ""
    """In llama.cpp's GBNF, with the rule `root`; empty leaves the form free."""


class Sampler:
    """One answer's choices."""

    def __init__(self, model: LlamaModel, sampling: Sampling, prompt: Sequence[int] = ()) -> None:
        """Make ready.

        Args:
            model: whose tokens are chosen.
            sampling: how.
            prompt: what stands before, so that DRY hears what was already said.

        Raises:
            ModelError: llama.cpp does not accept the grammar.
        """
        self._model = model
        self._form = Form(model, sampling.grammar) if sampling.grammar else None
        self._chain = _make_chain(model, sampling, prompt)
        weakref.finalize(self, llama_cpp.llama_sampler_free, self._chain)

    def choose(self, context: Any, row: int) -> int:
        """The next token after row `row` of the batch `context` has just computed.

        Raises:
            ModelError: the vocabulary cannot write the prescribed form.
        """
        if self._form is None:
            return int(llama_cpp.llama_sampler_sample(self._chain, context, row))
        candidates = self._form.candidates(self._logits(context, row))
        token = _apply(self._chain, candidates.copy())
        if not self._form.allows(token):
            # Checking all tokens is dear; most often the first choice is in form.
            token = _apply(self._chain, self._form.allowed(candidates))
        return self._accept(self._form, token)

    def choose_nearest_end(self, context: Any, row: int) -> int:
        """The token that brings a prescribed form to its end soonest, for when there is no more room.

        Raises:
            ModelError: the vocabulary cannot write the prescribed form, or there is none.
        """
        if self._form is None:
            raise ModelError("Only an answer in a prescribed form has an end to choose; give a grammar.")
        return self._accept(self._form, self._form.next_to_end(self._logits(context, row)))

    def tokens_to_end(self) -> int:
        """How many times `choose_nearest_end` would be asked from here on, the end token included."""
        return self._form.tokens_to_end() if self._form else 1

    def _logits(self, context: Any, row: int) -> npt.NDArray[np.float32]:
        logits = llama_cpp.llama_get_logits_ith(context, row)
        return np.ctypeslib.as_array(logits, shape=(self._model.n_vocabulary,))

    def _accept(self, form: Form, token: int) -> int:
        form.accept(token)
        llama_cpp.llama_sampler_accept(self._chain, token)
        return token


def _make_chain(model: LlamaModel, sampling: Sampling, prompt: Sequence[int]) -> Any:
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    steps = [
        llama_cpp.llama_sampler_init_penalties(
            model.n_vocabulary,
            _REPEAT_WINDOW,
            sampling.repeat_penalty,
            sampling.frequency_penalty,
            sampling.presence_penalty,
        )
    ]
    if sampling.dry_multiplier > 0:
        steps.append(_make_dry(model, sampling, prompt))
    if sampling.temperature > 0:
        steps += [
            llama_cpp.llama_sampler_init_top_k(sampling.top_k),
            llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1),
            llama_cpp.llama_sampler_init_min_p(sampling.min_p, 1),
            llama_cpp.llama_sampler_init_temp(sampling.temperature),
            llama_cpp.llama_sampler_init_dist(sampling.seed),
        ]
    else:
        steps.append(llama_cpp.llama_sampler_init_greedy())
    for step in steps:
        llama_cpp.llama_sampler_chain_add(chain, step)
    return chain


def _make_dry(model: LlamaModel, sampling: Sampling, prompt: Sequence[int]) -> Any:
    breakers = (ctypes.c_char_p * len(_DRY_BREAKERS))(*_DRY_BREAKERS)
    dry = llama_cpp.llama_sampler_init_dry(
        model.vocabulary,
        sampling.dry_multiplier,
        sampling.dry_base,
        sampling.dry_allowed_length,
        1024,
        breakers,
        len(_DRY_BREAKERS),
    )
    for token in prompt[-1024:]:
        llama_cpp.llama_sampler_accept(dry, token)
    return dry


def _apply(sampler: Any, candidates: npt.NDArray[Any]) -> int:
    array = as_array(candidates)
    llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
    return int(array.data[array.selected].id)
