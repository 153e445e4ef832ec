"""Sequences move between contexts of different sizes, and what is computed afterwards stays the same."""

import numpy as np
import pytest
from helpers.tiny_gguf import make_tiny_gguf
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.llamacpp.engine.context import BatchToken, LlamaContext
from rolellm_agents.models.llamacpp.engine.kv_state import with_streams
from rolellm_agents.models.llamacpp.engine.threads import FixedThreads
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.tuning.settings import Tuning


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LlamaModel:
    return LlamaModel(make_tiny_gguf(tmp_path_factory.mktemp("tiny") / "tiny.gguf", seed=1))


def make_context(model: LlamaModel, sequences: int, n_ctx: int, *, flash: bool = False) -> LlamaContext:
    tuning = Tuning(flash_attention=flash)
    return LlamaContext(model, n_ctx=n_ctx, sequences=sequences, tuning=tuning, threads=FixedThreads(1))


def read(context: LlamaContext, sequence: int, tokens: list[int], start: int = 0) -> np.ndarray:
    rows = [BatchToken(token, start + place, sequence, True) for place, token in enumerate(tokens)]
    context.decode(rows, None)
    return context.log_probabilities(len(tokens) - 1)


@pytest.mark.model
@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize(
    ("before", "after"), [((1, 256), (4, 512)), ((4, 512), (1, 256)), ((3, 256), (5, 256))]
)
def test_a_sequence_moves_to_a_context_of_another_size(
    tiny: LlamaModel, before: tuple[int, int], after: tuple[int, int], flash: bool
) -> None:
    tokens = tiny.tokenize("Once there was a king who had three sons, and one of them was wise.")
    first = make_context(tiny, *before, flash=flash)
    slot = before[0] - 1
    read(first, slot, tokens)
    state = first.save(slot)
    expected = read(first, slot, [tokens[3]], len(tokens))
    second = make_context(tiny, *after, flash=flash)
    assert second.restore(after[0] - 1, state)
    assert np.array_equal(read(second, after[0] - 1, [tokens[3]], len(tokens)), expected)


@pytest.mark.model
def test_a_state_comes_back_as_it_was(tiny: LlamaModel) -> None:
    context = make_context(tiny, 3, 256)
    read(context, 1, tiny.tokenize("A state to be moved."))
    state = context.save(1)
    assert with_streams(state, 3) is state
    there = with_streams(state, 7)
    assert len(there) == len(state) + 4 * 4
    back = with_streams(with_streams(there, 1), 3)
    assert len(back) == len(state)
    assert context.restore(2, back)


@pytest.mark.model
@given(st.data())
def test_a_damaged_state_is_refused(tiny: LlamaModel, data: st.DataObject) -> None:
    context = make_context(tiny, 2, 256)
    read(context, 0, [5, 6, 7])
    state = bytearray(context.save(0))
    cut = data.draw(st.integers(0, len(state) - 1))
    with pytest.raises(ValueError, match=r"."):
        with_streams(bytes(state[:cut]), 3)
    context.close()


@given(st.binary(max_size=200), st.integers(1, 5))
def test_no_bytes_break_the_reader(content: bytes, streams: int) -> None:
    try:
        with_streams(content, streams)
    except ValueError:
        return
