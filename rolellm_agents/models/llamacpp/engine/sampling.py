"""Sampling of the next token: llama.cpp's samplers, restricted to the tokens that a grammar allows."""

import ctypes
import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.bindings import llama_cpp
from rolellm_agents.models.llamacpp.engine.constraint import Constraint
from rolellm_agents.models.llamacpp.model import LlamaModel

_DRY_WINDOW = 1024
_DRY_BREAKERS = (b"\n", b":", b'"', b"*")
"""Texts that end a phrase for DRY, as its author proposes."""
_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data`."""


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters with llama.cpp's names, and stopping criteria."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    typical_p: float = 1.0
    top_n_sigma: float = 0.0
    """Standard deviations below the best logit within which tokens are kept; 0 is off."""
    xtc_probability: float = 0.0
    """Probability of excluding all but the least likely of the tokens above `xtc_threshold`; 0 is off."""
    xtc_threshold: float = 0.1
    dynatemp_range: float = 0.0
    """The temperature varies by this much in both directions with the entropy; 0 is off."""
    dynatemp_exponent: float = 1.0
    repeat_penalty: float = 1.0
    repeat_last_n: int = 128
    """The tokens of the answer that the three penalties count."""
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    seed: int = 0
    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    contrast: float = 0.0
    """Weight of the persona's prompt against a neutral one (`rolellm_agents.models.llamacpp.contrast`); 0
    is off, 1 is no contrast, 1.5 speaks more in character."""
    contrast_floor: float = 0.15
    """With contrast: the least probability of a token, as a share of the likeliest token's."""
    grammar: str = ""
    """A grammar of `constraint`, or any other in llguidance's format; empty for unconstrained output."""


class Sampler:
    """Samples the tokens of one answer."""

    def __init__(self, model: LlamaModel, sampling: Sampling, prompt: Sequence[int] = ()) -> None:
        """Create the sampler.

        DRY also penalizes phrases of the prompt, the tokens before the answer.

        Raises:
            ModelError: the grammar cannot be read.
        """
        self._n_vocabulary = model.n_vocabulary
        self._sampling = sampling
        self._constraint = Constraint(model, sampling.grammar) if sampling.grammar else None
        self._chain = _make_chain(model, sampling, prompt)
        weakref.finalize(self, llama_cpp.llama_sampler_free, self._chain)

    def choose(self, context: Any, row: int) -> int:
        """Sample the token after row `row` of the last batch of `context`.

        Raises:
            ModelError: the vocabulary has no token that the grammar allows.
        """
        if self._constraint is None:
            return int(llama_cpp.llama_sampler_sample(self._chain, context, row))
        allowed = np.flatnonzero(self._constraint.allowed())
        candidates = np.zeros(len(allowed), _CANDIDATE)
        candidates["id"] = allowed
        candidates["logit"] = self._logits(context, row)[allowed]
        return self._accept(self._constraint, _apply(self._chain, candidates))

    def choose_contrasted(self, logits: npt.NDArray[np.float32], neutral: npt.NDArray[np.float32]) -> int:
        """Sample a token by the contrast of two prompts' logits, each of shape `(n_vocabulary,)`.

        The score is neutral + contrast × (logits − neutral), over the tokens that are likely enough under
        the first prompt (contrastive decoding, Li et al., arXiv 2210.15097, §3).
        """
        likely = np.flatnonzero(logits >= logits.max() + math.log(self._sampling.contrast_floor))
        own, other = logits[likely], neutral[likely]
        candidates = np.zeros(len(likely), _CANDIDATE)
        candidates["id"] = likely
        candidates["logit"] = other + self._sampling.contrast * (own - other)
        token = _apply(self._chain, candidates)
        llama_cpp.llama_sampler_accept(self._chain, token)
        return token

    def choose_nearest_end(self, context: Any, row: int) -> int:
        """Choose the next token that completes constrained output soonest.

        Raises:
            ModelError: there is no grammar, or the vocabulary has no token that it allows.
        """
        if self._constraint is None:
            raise ModelError("Only an answer in a prescribed format can be completed.")
        return self._accept(self._constraint, self._constraint.nearest_end(self._logits(context, row)))

    def _logits(self, context: Any, row: int) -> npt.NDArray[np.float32]:
        pointer = llama_cpp.llama_get_logits_ith(context, row)
        return np.ctypeslib.as_array(pointer, shape=(self._n_vocabulary,))

    def _accept(self, constraint: Constraint, token: int) -> int:
        constraint.accept(token)
        llama_cpp.llama_sampler_accept(self._chain, token)
        return token


def _apply(chain: Any, candidates: npt.NDArray[Any]) -> int:
    data = candidates.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
    array = llama_cpp.llama_token_data_array(data, len(candidates), -1, False)
    llama_cpp.llama_sampler_apply(chain, ctypes.byref(array))
    return int(array.data[array.selected].id)


def _make_chain(model: LlamaModel, sampling: Sampling, prompt: Sequence[int]) -> Any:
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    for step in _steps(model, sampling, prompt):
        llama_cpp.llama_sampler_chain_add(chain, step)
    return chain


def _steps(model: LlamaModel, sampling: Sampling, prompt: Sequence[int]) -> list[Any]:
    steps = []
    if (sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty) != (1, 0, 0):
        steps.append(
            llama_cpp.llama_sampler_init_penalties(
                model.n_vocabulary,
                sampling.repeat_last_n,
                sampling.repeat_penalty,
                sampling.frequency_penalty,
                sampling.presence_penalty,
            )
        )
    if sampling.dry_multiplier > 0:
        steps.append(_dry(model, sampling, prompt))
    if sampling.temperature == 0:
        return [*steps, llama_cpp.llama_sampler_init_greedy()]
    return [
        *steps,
        *_cuts(sampling),
        _temperature(sampling),
        llama_cpp.llama_sampler_init_dist(sampling.seed),
    ]


def _cuts(sampling: Sampling) -> list[Any]:
    """The samplers that remove tokens, in llama.cpp's own order."""
    steps = []
    if sampling.top_n_sigma > 0:
        steps.append(llama_cpp.llama_sampler_init_top_n_sigma(sampling.top_n_sigma))
    steps.append(llama_cpp.llama_sampler_init_top_k(sampling.top_k))
    if sampling.typical_p < 1:
        steps.append(llama_cpp.llama_sampler_init_typical(sampling.typical_p, 1))
    steps.append(llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1))
    steps.append(llama_cpp.llama_sampler_init_min_p(sampling.min_p, 1))
    if sampling.xtc_probability > 0:
        steps.append(
            llama_cpp.llama_sampler_init_xtc(
                sampling.xtc_probability, sampling.xtc_threshold, 1, sampling.seed
            )
        )
    return steps


def _temperature(sampling: Sampling) -> Any:
    if sampling.dynatemp_range > 0:
        return llama_cpp.llama_sampler_init_temp_ext(
            sampling.temperature, sampling.dynatemp_range, sampling.dynatemp_exponent
        )
    return llama_cpp.llama_sampler_init_temp(sampling.temperature)


def _dry(model: LlamaModel, sampling: Sampling, prompt: Sequence[int]) -> Any:
    breakers = (ctypes.c_char_p * len(_DRY_BREAKERS))(*_DRY_BREAKERS)
    dry = llama_cpp.llama_sampler_init_dry(
        model.vocabulary,
        sampling.dry_multiplier,
        sampling.dry_base,
        sampling.dry_allowed_length,
        _DRY_WINDOW,
        breakers,
        len(_DRY_BREAKERS),
    )
    for token in prompt[-_DRY_WINDOW:]:
        llama_cpp.llama_sampler_accept(dry, token)
    return dry
