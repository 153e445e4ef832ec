from pathlib import Path

import pytest
from helpers.tiny_tuned import make_base

from rolellm_agents.models.llamacpp.template import CHATML
from rolellm_train.base.gguf_metadata import write_with_metadata
from rolellm_train.base.tuned import TunedModel, quiet
from rolellm_train.base.unpacking import unpack_gguf
from rolellm_train.export.parity import Parity, compare, failure_of
from rolellm_train.export.parity_chats import parity_chats
from rolellm_train.export.parity_report import parity_markdown
from rolellm_train.export.reference import Reference, record_reference

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def reference(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = tmp_path_factory.mktemp("reference")
    with quiet():
        unpack_gguf(base, place / "base")
        model = AutoModelForCausalLM.from_pretrained(place / "base", local_files_only=True).eval()
        tokenizer = AutoTokenizer.from_pretrained(place / "base", local_files_only=True)
    tokenizer.chat_template = CHATML
    return record_reference(TunedModel(model, tokenizer, "float32"), parity_chats(), place / "logits")


def test_the_chats_are_twenty_of_twenty_characters_in_two_languages() -> None:
    chats = parity_chats()
    assert len(chats) == 20
    assert len({chat[0].text for chat in chats}) == 20
    assert [[message.type for message in chat] for chat in chats] == [
        ["system", "human", "ai", "human"]
    ] * 20
    assert sum(any("\u4e00" <= letter <= "\u9fff" for letter in chat[-1].text) for chat in chats) == 5


def test_the_same_model_passes(reference: Reference, base: Path) -> None:
    parity = compare(reference, base, required=0.99)
    assert parity.passed
    assert (parity.same_ids, parity.same_template) == (20, True)
    assert parity.positions == 20 * 64
    assert parity.agreement >= 0.99
    assert parity.largest_difference is not None
    assert parity.largest_difference < 0.1
    assert parity.reply == parity.reference_reply
    assert failure_of(parity) == ""


def test_another_model_fails(reference: Reference, tmp_path: Path) -> None:
    parity = compare(reference, make_base(tmp_path, seed=2), required=0.99)
    assert not parity.passed
    assert failure_of(parity).startswith("top-1 agreement is 0.")


def test_a_tokenizer_that_splits_otherwise_fails(reference: Reference, base: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    write_with_metadata(base, other, {"tokenizer.ggml.pre": "smollm"})
    parity = compare(reference, other, required=0.99)
    assert not parity.passed
    assert "of 20 chats have other token ids" in failure_of(parity)


def test_another_chat_template_fails(reference: Reference, base: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    write_with_metadata(base, other, {"tokenizer.chat_template": CHATML + " "})
    parity = compare(reference, other, required=0.99)
    assert not parity.passed
    assert "the chat template is another one" in failure_of(parity)


def figures(
    *,
    agreement: float = 1.0,
    largest: float | None = 0.01,
    required: float | None = 0.99,
    stops: bool = True,
) -> Parity:
    return Parity(
        file="adapter.gguf",
        over="base.gguf",
        chats=20,
        same_ids=20,
        same_template=True,
        stops=stops,
        positions=100,
        agreement=agreement,
        largest_difference=largest,
        reply="Yes | <b>no</b>",
        reference_reply="",
        required=required,
    )


def test_logits_that_are_no_numbers_fail() -> None:
    assert not figures(largest=None).passed
    assert failure_of(figures(largest=None)) == "some logits are not finite"


def test_a_file_that_does_not_stop_where_the_training_did_fails() -> None:
    assert not figures(stops=False).passed
    assert failure_of(figures(stops=False)) == "the token that ends an answer does not stop llama.cpp"


def test_quantized_weights_may_differ() -> None:
    assert figures(agreement=0.7, required=None).passed
    assert not figures(agreement=0.7, required=0.99).passed


def test_the_report_says_what_failed_and_shows_a_models_words_as_text() -> None:
    report = parity_markdown([figures(agreement=0.5)], dtype="float32", versions="llama.cpp 1")
    assert "top-1 agreement is 0.500 and must be 0.99" in report
    assert "&lt;b>no" in report
    assert "> (nothing)" in report
