"""The engine over llama.cpp itself: the embedded model where words count, a tiny one where numbers do."""

import contextlib
import ctypes
import gc
import queue
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from helpers.tiny_gguf import make_tiny_adapter, make_tiny_gguf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.engine.context import BatchToken, LlamaContext
from rolellm_agents.models.llamacpp.engine.engine import Engine
from rolellm_agents.models.llamacpp.engine.jobs import AnswerJob, Finished, StreamItem
from rolellm_agents.models.llamacpp.engine.kv_cache import CacheLimits, KVCache
from rolellm_agents.models.llamacpp.engine.sampling import Sampler, Sampling
from rolellm_agents.models.llamacpp.engine.threads import FixedThreads, Threads
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.tuning.settings import Tuning

SECONDS = 60.0
ONE_THREAD = FixedThreads(1)
ALL = FixedThreads(library.processors())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> LlamaModel:
    return LlamaModel(make_tiny_gguf(folder / "tiny.gguf", seed=1))


@pytest.fixture(scope="module")
def adapter_files(folder: Path, tiny: LlamaModel) -> list[Path]:
    return [make_tiny_adapter(folder / f"{seed}.gguf", tiny.path, seed=seed) for seed in (5, 6)]


@pytest.fixture(scope="module")
def adapters(adapter_files: list[Path], tiny: LlamaModel) -> list[str]:
    return [tiny.load_adapter(file) for file in adapter_files]


@pytest.fixture(scope="module")
def embedded() -> LlamaModel:
    return LlamaModel(embedded_gguf())


@pytest.fixture
def engine(tiny: LlamaModel) -> Iterator[Engine]:
    made = make_engine(tiny, n_ctx=256, sequences=3)
    yield made
    made.close()


def make_engine(
    model: LlamaModel, *, n_ctx: int, sequences: int, threads: Threads = ONE_THREAD, smallest: int = 64
) -> Engine:
    def make_context(slots: int, cells: int) -> LlamaContext:
        return LlamaContext(model, n_ctx=cells, sequences=slots, tuning=Tuning(), threads=threads)

    room = n_ctx * sequences
    limits = CacheLimits(n_ctx=n_ctx, slots=sequences, idle=room, parked=room, smallest=smallest)
    cache = KVCache(make_context, limits, free_cells=lambda: 2 * room)
    return Engine(cache, model, partial(Sampler, model), n_batch=Tuning().n_batch)


class Reply:
    """An answer being heard."""

    def __init__(
        self, engine: Engine, prompt: Sequence[int], *, adapter: str | None = None, **sampling: Any
    ) -> None:
        self.heard: queue.SimpleQueue[StreamItem] = queue.SimpleQueue()
        self.answer: AnswerJob = engine.submit(
            prompt, Sampling(**{"temperature": 0, **sampling}), self.heard.put, adapter=adapter
        )
        self.text = ""

    def finished(self) -> Finished:
        while isinstance(part := self.heard.get(timeout=SECONDS), str):
            self.text += part
        assert isinstance(part, Finished), part
        return part


def alone(model: LlamaModel, prompt: Sequence[int], adapter: str | None, max_tokens: int) -> str:
    engine = make_engine(model, n_ctx=256, sequences=1)
    reply = Reply(engine, prompt, adapter=adapter, max_tokens=max_tokens)
    reply.finished()
    engine.close()
    return reply.text


LINES = (
    *("Who are you?", "What keeps you going?", "Tell me a joke.", "Do you like rain?", "Describe a ship."),
    *("Why is the sky blue?", "What is love?", "Count to ten.", "Name three trees.", "Who was Napoleon?"),
    *("How do I boil an egg?", "What is a poem?", "Say something kind.", "Where is Peru?", "What is 2+2?"),
    *("Give me advice.", "What is music?", "Tell me of a war.", "Are you afraid?", "What is a dog?"),
)


def chat_prompt(model: LlamaModel, line: str) -> list[int]:
    return model.prompt_tokens(model.template.render([{"role": "user", "content": line}]))


@pytest.fixture(scope="module")
def raw_answers(embedded: LlamaModel) -> list[tuple[list[int], list[int]]]:
    """The prompt of each line, and the 64 likeliest tokens after it or those up to an end."""
    context = LlamaContext(embedded, n_ctx=256, sequences=1, tuning=Tuning(), threads=ALL)
    prompts = [chat_prompt(embedded, line) for line in LINES]
    return [(prompt, raw_greedy(embedded, context, prompt, 64)) for prompt in prompts]


def raw_greedy(model: LlamaModel, context: LlamaContext, prompt: Sequence[int], count: int) -> list[int]:
    """llama.cpp in the plainest loop there is."""
    context.truncate(0, 0)
    context.decode([BatchToken(token, n, 0, n == len(prompt) - 1) for n, token in enumerate(prompt)], None)
    written = [int(np.argmax(context.log_probabilities(-1)))]
    while len(written) < count and not model.is_end(written[-1]):
        context.decode([BatchToken(written[-1], len(prompt) + len(written) - 1, 0, True)], None)
        written.append(int(np.argmax(context.log_probabilities(-1))))
    return written


def test_alone_greedy_words_are_those_of_a_raw_loop(
    embedded: LlamaModel, raw_answers: list[tuple[list[int], list[int]]]
) -> None:
    for prompt, written in raw_answers:
        engine = make_engine(embedded, n_ctx=256, sequences=1, threads=ALL)
        reply = Reply(engine, prompt, max_tokens=64)
        finished = reply.finished()
        words = written[:-1] if embedded.is_end(written[-1]) else written
        assert reply.text == b"".join(map(embedded.bytes_of, words)).decode("utf-8", "replace")
        assert finished.completion_tokens == len(words)
        engine.close()


def test_in_a_batch_the_likeliest_token_is_nearly_always_the_same(
    embedded: LlamaModel, raw_answers: list[tuple[list[int], list[int]]]
) -> None:
    context = LlamaContext(embedded, n_ctx=256, sequences=4, tuning=Tuning(), threads=ALL)
    agreed = total = 0
    for group in range(0, len(raw_answers), 4):
        prompts, written = zip(*raw_answers[group : group + 4], strict=True)
        together = _likeliest_together(context, prompts, [tokens[:-1][:24] for tokens in written])
        for tokens, likeliest in zip(written, together, strict=True):
            agreed += sum(a == b for a, b in zip(tokens[1:25], likeliest, strict=True))
            total += len(likeliest)
    assert agreed / total >= 0.99


def _likeliest_together(
    context: LlamaContext, prompts: Sequence[list[int]], written: Sequence[list[int]]
) -> list[list[int]]:
    """The likeliest token after each of those written behind a prompt, all prompts in one batch."""
    for sequence, prompt in enumerate(prompts):
        context.truncate(sequence, 0)
        context.decode([BatchToken(token, n, sequence, False) for n, token in enumerate(prompt)], None)
    likeliest: list[list[int]] = [[] for _ in prompts]
    for n in range(max(map(len, written))):
        rows = [
            BatchToken(tokens[n], len(prompts[sequence]) + n, sequence, True)
            for sequence, tokens in enumerate(written)
            if n < len(tokens)
        ]
        context.decode(rows, None)
        for place, row in enumerate(rows):
            likeliest[row.sequence].append(int(np.argmax(context.log_probabilities(place))))
    return likeliest


@pytest.mark.model
def test_an_adapter_never_colours_another_characters_words(
    tiny: LlamaModel, adapters: list[str], engine: Engine
) -> None:
    shared = tiny.prompt_tokens("You are in a castle, and it is night. " * 4)
    kinds = [None, *adapters]
    expected = [alone(tiny, shared, adapter, 40) for adapter in kinds]
    assert len(set(expected)) == 3
    for _ in range(3):
        replies = [Reply(engine, shared, adapter=adapter, max_tokens=40) for adapter in kinds]
        for reply in replies:
            reply.finished()
        assert [reply.text for reply in replies] == expected


@pytest.mark.model
def test_an_adapter_can_change_between_two_answers_of_one_conversation(
    tiny: LlamaModel, adapters: list[str], engine: Engine
) -> None:
    prompt = tiny.prompt_tokens("Once upon a time in a far country.")
    for adapter in (*adapters, None, *adapters):
        reply = Reply(engine, prompt, adapter=adapter, max_tokens=16)
        reply.finished()
        assert reply.text == alone(tiny, prompt, adapter, 16)


def test_an_adapter_of_another_architecture_is_told(
    embedded: LlamaModel, adapter_files: list[Path]
) -> None:
    with pytest.raises(
        ModelError, match=r"The adapter .*5\.gguf does not fit SmolLM2.*made for this model"
    ):
        embedded.load_adapter(adapter_files[0])


def test_a_model_is_no_adapter(tiny: LlamaModel) -> None:
    with pytest.raises(ModelError, match=r"tiny\.gguf does not fit tiny\.gguf"):
        tiny.load_adapter(tiny.path)


@pytest.mark.model
def test_a_context_larger_than_memory_is_told_before_it_is_taken(folder: Path) -> None:
    huge = make_tiny_gguf(folder / "huge.gguf", seed=1, n_ctx=2**30)
    model = ChatLlamaCpp(model_path=huge, n_ctx=2**30, sequences=16)
    with pytest.raises(ModelError, match=r"of 1,073,741,824 tokens .* GiB are free; set a smaller n_ctx"):
        model.load()


@pytest.mark.model
def test_a_score_is_the_models_own_probability(tiny: LlamaModel, engine: Engine) -> None:
    prompt, continuation = tiny.prompt_tokens("Who are you?"), tiny.prompt_tokens(" Nobody at all.")
    raw = LlamaContext(tiny, n_ctx=256, sequences=1, tuning=Tuning(), threads=ONE_THREAD)
    tokens = [*prompt, *continuation]
    raw.decode([BatchToken(token, n, 0, True) for n, token in enumerate(tokens)], None)
    expected = [raw.log_probabilities(len(prompt) - 1 + n)[token] for n, token in enumerate(continuation)]
    assert engine.score(prompt, continuation).result(SECONDS) == pytest.approx(expected, abs=1e-4)
    assert sum(np.exp(raw.log_probabilities(0))) == pytest.approx(1)


@pytest.mark.model
def test_a_state_moves_to_another_sequence_and_into_another_context(tiny: LlamaModel) -> None:
    prompt = tiny.prompt_tokens("A state to be moved.")
    first, second = (
        LlamaContext(tiny, n_ctx=128, sequences=3, tuning=Tuning(), threads=ONE_THREAD) for _ in range(2)
    )
    first.decode([BatchToken(token, n, 0, False) for n, token in enumerate(prompt)], None)
    state = first.save(0)
    likeliest = []
    for context, sequence in ((first, 0), (first, 2), (second, 1)):
        if context is second or sequence:
            assert context.restore(sequence, state)
        context.decode([BatchToken(prompt[0], len(prompt), sequence, True)], None)
        likeliest.append(context.log_probabilities(0))
    assert np.allclose(likeliest[0], likeliest[1], atol=1e-5)
    assert np.allclose(likeliest[0], likeliest[2], atol=1e-5)


def test_a_damaged_state_is_refused_and_the_sequence_is_empty(tiny: LlamaModel) -> None:
    context = LlamaContext(tiny, n_ctx=128, sequences=2, tuning=Tuning(), threads=ONE_THREAD)
    context.decode([BatchToken(5, 0, 0, False)], None)
    state = context.save(0)
    assert not context.restore(1, b"\0" * len(state))
    context.decode([BatchToken(5, 0, 1, True)], None)  # position 0 is free


OPS = st.lists(
    st.tuples(
        st.sampled_from(["answer", "answer", "cancel", "prefetch", "score"]),
        st.integers(0, 3),
        st.integers(1, 60),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.model
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ops=OPS, sequences=st.integers(1, 3))
def test_no_schedule_changes_a_word(
    ops: list[tuple[str, int, int, int]], sequences: int, tiny: LlamaModel, adapters: list[str]
) -> None:
    engine = make_engine(tiny, n_ctx=96, sequences=sequences)
    story = tiny.prompt_tokens("Once there was a king who had three sons and one of them was very wise.")
    prompts = [story, [*story[:30], 70, 71], story[:3], (story[10:] * 2)[:80]]
    asked: list[tuple[Reply, int, int, str | None]] = []
    for kind, which, length, place in ops:
        adapter = [None, *adapters][place]
        if kind == "answer":
            reply = Reply(engine, prompts[which], adapter=adapter, max_tokens=length)
            asked.append((reply, which, length, adapter))
        elif kind == "prefetch":
            engine.prefetch(prompts[which], adapter=adapter)
        elif kind == "score":
            engine.score(prompts[which][:2], prompts[which][2:], adapter=adapter)
        elif asked:
            asked[length % len(asked)][0].answer.cancel()
    for reply, which, length, adapter in asked:
        finished = reply.finished()
        expected = _alone_in_96(tiny, tuple(prompts[which]), adapter)
        if finished.reason == "cancelled":
            assert expected.startswith(reply.text.rstrip("\ufffd"))
        elif finished.reason == "length":
            assert expected.startswith(reply.text.rstrip("\ufffd"))
            assert finished.completion_tokens == min(length, 96 - len(prompts[which]))
        else:
            assert reply.text == expected
    engine.close()


_ALONE: dict[tuple[tuple[int, ...], str | None], str] = {}


def _alone_in_96(model: LlamaModel, prompt: tuple[int, ...], adapter: str | None) -> str:
    if (prompt, adapter) not in _ALONE:
        engine = make_engine(model, n_ctx=96, sequences=1)
        reply = Reply(engine, prompt, adapter=adapter, max_tokens=96)
        reply.finished()
        engine.close()
        _ALONE[prompt, adapter] = reply.text
    return _ALONE[prompt, adapter]


@pytest.mark.slow
def test_memory_is_flat_over_a_thousand_turns(tiny: LlamaModel) -> None:
    engine = make_engine(tiny, n_ctx=512, sequences=4)
    process = psutil.Process()
    cards = [tiny.prompt_tokens(f"Card of character {n}. " * 5) for n in range(6)]
    said: list[int] = []
    sizes = []
    for turn in range(1000):
        if turn % 200 == 199:
            sizes.append(process.memory_info().rss)
        prompt = [*cards[turn % 6], *said[-300:]]
        Reply(engine, prompt, max_tokens=4, temperature=1.0).finished()
        said += tiny.prompt_tokens(f"line {turn} ")
    assert engine.counters.requests == 1000
    assert sizes[-1] - sizes[0] < 4 * 2**20
    engine.close()


def test_a_model_that_nobody_holds_is_freed_at_once(tiny: LlamaModel) -> None:
    """Without waiting for the collector of cycles: weights are large."""
    gc.collect()
    gc.disable()
    try:
        model = ChatLlamaCpp(model_path=tiny.path, n_ctx=512, n_threads=3, max_tokens=4)
        model.invoke("Hello")
        engine = model.load().engine
        while engine._worker is not None:
            time.sleep(0.001)
        loaded = weakref.ref(model.load())
        del model, engine
        assert loaded() is None
    finally:
        gc.enable()


def give_freed_memory_back() -> None:
    """glibc keeps pieces of freed memory for later, more of them as time goes by."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def sizes_over_ten_thousand_conversations(tiny: LlamaModel, engine: Engine) -> list[int]:
    """The process's resident bytes after each 500 conversations. Contexts grow and go meanwhile."""
    process = psutil.Process()
    sizes = []
    for number in range(10_000):
        length = 8 + 400 * (number % 97 == 0)
        replies = [
            Reply(engine, tiny.prompt_tokens(f"{number}, {one}. ")[:40] + [7] * length, max_tokens=2)
            for one in range(1 + number % 3)
        ]
        for reply in replies:
            reply.finished()
        if number % 500 == 499:
            while engine._worker is not None:
                time.sleep(0.001)
            engine.release()
            give_freed_memory_back()
            sizes.append(process.memory_info().rss)
    return sizes


@pytest.mark.slow
def test_memory_is_flat_over_ten_thousand_conversations(tiny: LlamaModel) -> None:
    """A leak grows in each round; the allocator may add an arena for a new thread once."""
    engine = make_engine(tiny, n_ctx=512, sequences=4)
    rounds = []
    for _ in range(3):
        sizes = sizes_over_ten_thousand_conversations(tiny, engine)
        rounds.append(np.median(sizes[-5:]) - np.median(sizes[5:10]))
        if rounds[-1] < 8 * 2**20:
            break
    else:
        pytest.fail(f"memory grew by {rounds} bytes in three rounds, in the last one so: {sizes}")
    engine.close()


@pytest.mark.parametrize("n_ctx", [4096, 768], ids=["all-of-it-fits", "old-turns-go"])
def test_a_chat_of_a_hundred_turns_reads_little_twice(n_ctx: int) -> None:
    model = ChatLlamaCpp(model_path=embedded_gguf(), n_ctx=n_ctx, sequences=1, max_tokens=4)
    said: list[BaseMessage] = [SystemMessage("You are the keeper of a lighthouse. Be brief.")]
    sent = reused = 0
    for turn in range(100):
        said.append(HumanMessage(f"What happened on day {turn}?"))
        answer = model.invoke(said, seed=turn)
        assert answer.usage_metadata is not None
        sent += answer.usage_metadata["input_tokens"]
        reused += answer.usage_metadata["input_token_details"]["cache_read"]
        said.append(AIMessage(answer.text))
    print(f"{reused / sent:.3f} of {sent} prompt tokens reused")
    assert (answer.response_metadata["dropped_messages"] > 0) == (n_ctx == 768)
    assert reused / sent >= (0.9 if n_ctx == 4096 else 0.8)


LEAVING = """
from langchain_core.messages import convert_to_messages
import sys
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from pathlib import Path
model = ChatLlamaCpp(model_path=Path(sys.argv[1]), n_ctx=4096, max_tokens=4000, n_threads=1)
stream = model.stream("Tell me everything.", stop=["never said"])
print(bool(next(stream).text))
model.prefetch(convert_to_messages([("user", "many words " * 300)]))
"""


def test_a_process_may_end_in_the_middle_of_an_answer(tiny: LlamaModel) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LEAVING, str(tiny.path)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "True", "")


def _answered(model: LlamaModel, **sampling: Any) -> str:
    engine = make_engine(model, n_ctx=256, sequences=1)
    wide = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 1, "max_tokens": 12}
    reply = Reply(engine, model.tokenize("The ship"), **{**wide, **sampling})
    reply.finished()
    engine.close()
    return reply.text


def test_each_sampler_changes_what_is_sampled(tiny: LlamaModel) -> None:
    free = _answered(tiny)
    likeliest = _answered(tiny, temperature=0)
    assert free != likeliest
    assert _answered(tiny, top_n_sigma=0.001) == likeliest
    assert _answered(tiny, typical_p=0.01) != free
    # Of the tokens that reach the threshold only the least likely stays.
    assert _answered(tiny, top_k=5, xtc_probability=1.0, xtc_threshold=0.0) not in (free, likeliest)
    assert _answered(tiny, dynatemp_range=1.0, dynatemp_exponent=0.1) != free
    repeats = {"temperature": 0, "repeat_penalty": 3.0}
    assert _answered(tiny, **repeats, repeat_last_n=0) == likeliest
