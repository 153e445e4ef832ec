"""Answers that are contrasted with a neutral prompt: in the engine, in sampling, and as an option."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from helpers.fake_context import END, N_VOCABULARY, FakeLlama, FakeVocabulary, next_token
from helpers.hypotheses import examples
from helpers.tiny_gguf import make_tiny_gguf
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.contrast import neutral_messages
from rolellm_agents.models.llamacpp.engine.engine import Engine
from rolellm_agents.models.llamacpp.engine.jobs import AnswerJob, Finished, StreamItem
from rolellm_agents.models.llamacpp.engine.sampling import Sampler, Sampling
from rolellm_agents.models.llamacpp.files.bundled import BUNDLED
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.message_marks import DEMONSTRATION_MARK, INSERT_MARK
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.text.language import Language

SECONDS = 20.0


class MixingSampler:
    """Chooses a token that depends on both prompts."""

    def choose_contrasted(self, logits: np.ndarray, neutral: np.ndarray) -> int:
        return mixed(int(logits.argmax()), int(neutral.argmax()))


def mixed(own: int, neutral: int) -> int:
    return (own * 7 + neutral * 3) % N_VOCABULARY


def mixing_sampler(sampling: Sampling, prompt: Sequence[int]) -> Any:
    return MixingSampler()


def contrasted_alone(prompt: Sequence[int], neutral: Sequence[int], max_tokens: int) -> str:
    """The text of an answer that nothing disturbs."""
    own, other, written = list(prompt), list(neutral), bytearray()
    for _ in range(max_tokens):
        token = mixed(next_token(own, None), next_token(other, None))
        if token == END:
            break
        written += FakeVocabulary().bytes_of(token)
        own.append(token)
        other.append(token)
    return written.decode("utf-8", "replace")


class Heard:
    """What one answer said."""

    def __init__(self) -> None:
        self.text = ""
        self.last: Finished | ModelError | None = None
        self.ended = threading.Event()

    def hear(self, part: StreamItem) -> None:
        if isinstance(part, str):
            self.text += part
        else:
            self.last = part
            self.ended.set()

    def all(self) -> str:
        assert self.ended.wait(SECONDS), "the answer never ends"
        assert isinstance(self.last, Finished), self.last
        return self.text


def make_engine(llama: FakeLlama) -> Engine:
    llama.backoff.set()
    return Engine(llama.cache(), FakeVocabulary(), mixing_sampler, n_batch=llama.n_batch)


def ask(
    engine: Engine, prompt: Sequence[int], neutral: Sequence[int], max_tokens: int
) -> tuple[Heard, AnswerJob]:
    heard = Heard()
    sampling = Sampling(max_tokens=max_tokens)
    return heard, engine.submit(prompt, sampling, heard.hear, neutral=neutral)


prompts = st.lists(st.integers(1, 30), min_size=1, max_size=12)
requests = st.tuples(prompts, prompts, st.integers(1, 8))


@given(st.integers(2, 5), st.lists(requests, min_size=1, max_size=8), st.sets(st.integers(0, 7)))
@examples(0.5)
def test_however_many_answers_run_each_is_what_it_would_be_alone(
    sequences: int, asked: list[tuple[list[int], list[int], int]], cancelled: set[int]
) -> None:
    llama = FakeLlama(sequences=sequences)
    engine = make_engine(llama)
    answers = [ask(engine, *one) for one in asked]
    for place, (_, job) in enumerate(answers):
        if place in cancelled:
            job.cancel()
    for place, ((heard, _), one) in enumerate(zip(answers, asked, strict=True)):
        text = heard.all()
        alone = contrasted_alone(*one)
        assert alone.startswith(text.rstrip("\ufffd")) if place in cancelled else text == alone
    engine.close()
    assert llama.closed


def test_the_neutral_prompt_needs_a_sequence_of_its_own() -> None:
    engine = make_engine(FakeLlama(sequences=1))
    with pytest.raises(ModelError, match="needs two sequences; set sequences to 2"):
        ask(engine, [1, 2], [3], 4)


def test_a_step_that_fails_ends_the_answer_with_its_error() -> None:
    llama = FakeLlama()
    llama.fail_at = {2}
    engine = make_engine(llama)
    heard, _ = ask(engine, [1, 2, 3], [4], 8)
    assert heard.ended.wait(SECONDS)
    assert isinstance(heard.last, ModelError)
    assert ask(engine, [1, 2, 3], [4], 8)[0].all() == contrasted_alone([1, 2, 3], [4], 8)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LlamaModel:
    return LlamaModel(make_tiny_gguf(tmp_path_factory.mktemp("tiny") / "tiny.gguf", seed=1))


def test_what_the_persona_adds_is_amplified_among_likely_tokens(tiny: LlamaModel) -> None:
    own = np.full(tiny.n_vocabulary, -20, np.float32)
    neutral = np.full(tiny.n_vocabulary, -20, np.float32)
    own[[5, 6, 7]] = np.log([0.5, 0.4, 0.01])
    neutral[[5, 6, 7]] = np.log([0.7, 0.2, 0.0001])
    chosen = {
        weight: Sampler(tiny, Sampling(temperature=0, contrast=weight)).choose_contrasted(own, neutral)
        for weight in (0.5, 1.0, 1.5, 3.0)
    }
    # 7 gains most, but is below the floor.
    assert chosen == {0.5: 5, 1.0: 5, 1.5: 6, 3.0: 6}
    free = Sampling(temperature=0, contrast=3.0, contrast_floor=0.001)
    assert Sampler(tiny, free).choose_contrasted(own, neutral) == 7


PROMPT = [
    SystemMessage("You are a pirate."),
    HumanMessage("Ahoy?", additional_kwargs={DEMONSTRATION_MARK: True}),
    AIMessage("Arr!", additional_kwargs={DEMONSTRATION_MARK: True}),
    HumanMessage("Who are you?"),
    AIMessage("A captain."),
    HumanMessage("The weather is bad.", additional_kwargs={INSERT_MARK: ["lore"]}),
    HumanMessage("Of what?"),
]


@pytest.mark.parametrize(("language", "line"), [("en", "Of what?"), ("zh", "什么船？")])
def test_a_neutral_prompt_has_the_conversation_and_nothing_of_the_persona(
    language: Language, line: str
) -> None:
    instruction, *rest = neutral_messages([*PROMPT[:-1], HumanMessage(line)])
    assert instruction.text == load_prompt("judge-likelihood-nobody", language).text
    assert [one.text for one in rest] == ["Who are you?", "A captain.", line]
    assert neutral_messages([]) == []


def test_the_option_changes_answers_and_leaves_prescribed_forms_alone() -> None:
    def answer(contrast: float, **options: Any) -> str:
        model = ChatLlamaCpp(
            model_path=embedded_gguf(),
            adapter_path=BUNDLED["rolesmol"].adapter,
            temperature=0,
            max_tokens=16,
        )
        said = model.invoke(PROMPT, contrast=contrast, **options)
        assert said.usage_metadata is not None
        return said.text

    assert answer(0) == answer(1) != answer(2.5)
    form = {"type": "object", "properties": {"rank": {"type": "string"}}, "required": ["rank"]}
    options = {"response_format": {"type": "json_schema", "json_schema": {"schema": form}}}
    assert answer(0, **options) == answer(2.5, **options)


def test_an_answer_against_the_same_prompt_is_the_answer_without() -> None:
    model = ChatLlamaCpp(model_path=embedded_gguf(), temperature=0, max_tokens=24, repeat_penalty=1)
    loaded = model.load()
    prompt = loaded.prompt([{"role": "user", "content": "Name three colours."}])
    texts = []
    for neutral in ([], prompt):
        heard = Heard()
        loaded.engine.submit(
            prompt, Sampling(temperature=0, max_tokens=24, contrast=1.5), heard.hear, neutral=neutral
        )
        texts.append(heard.all())
    assert texts[0] == texts[1]
