"""Bases of other families: training learns the tokens that llama.cpp reads, and an end that stops it."""

import json
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from helpers.tiny_gguf import make_tiny_gguf
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.config.paths import APP_NAME
from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.template import VICUNA, turns_of
from rolellm_agents.persona import Demonstration, list_personas, load_persona
from rolellm_graphs import RoleChatModel
from rolellm_train.base.gguf_metadata import write_with_metadata
from rolellm_train.base.tuned import quiet
from rolellm_train.errors import TrainingError
from rolellm_train.export.converters import cached_converters
from rolellm_train.export.export import ExportOptions, export
from rolellm_train.recipe import Recipe, load_recipe
from rolellm_train.training.loading import open_base
from rolellm_train.training.rocit import train

pytest.importorskip("peft")

CHAT: list[BaseMessage] = [
    SystemMessage("You are Ada.\n\nShort answers."),
    HumanMessage("Hello"),
    AIMessage("Good day."),
    HumanMessage("Who are you?"),
]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model with LLaMA's kind of vocabulary: SentencePiece, BOS before each text, no template."""
    import sentencepiece
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, LlamaTokenizer

    place = tmp_path_factory.mktemp("llama")
    texts = [
        text
        for found in list_personas().found
        if found.persona.language == "en"
        for one in found.persona.demonstrations
        for text in (one.user, one.reply)
    ]
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(texts),
        model_prefix=str(place / "tokenizer"),
        model_type="bpe",
        vocab_size=1_000,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    torch.manual_seed(5)
    with quiet():
        tokenizer = LlamaTokenizer.from_pretrained(place, add_bos_token=True)
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=256,
                intermediate_size=256,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=4,
                max_position_embeddings=1024,
                initializer_range=0.06,
            )
        )
        model.save_pretrained(place)
        tokenizer.save_pretrained(place)
    assert tokenizer.chat_template is None
    return place


def recipe_for(base: Path, **changes: Any) -> Recipe:
    """The paper's recipe, as far as a minute of two processors allows."""
    small = {"base": str(base), "pack": 1024, "rank": 16, "alpha": 32, "checkpointing": False}
    return load_recipe("rolellama-7b").model_copy(update={**small, **changes})


def test_chatml_is_refused_where_its_mark_is_no_token(llama: Path) -> None:
    with pytest.raises(TrainingError, match=r"“<\|im_end\|>”, which is no token.*chat_template: vicuna"):
        open_base(recipe_for(llama, chat_template="chatml"))


def test_a_conversation_begins_with_bos_and_each_answer_ends_with_eos(llama: Path) -> None:
    base = open_base(recipe_for(llama))
    one = base.encoder.encode("ada", [(CHAT[:2], "Good day."), (CHAT, "Ada.")])
    assert one.ids.count(base.tokenizer.bos_token_id) == 1
    assert one.ids[0] == base.tokenizer.bos_token_id
    # Both are learned: the second prompt holds the first answer with the tokens that were learned for it.
    assert [
        base.tokenizer.decode(list(one.ids[span.start : span.stop])).strip() for span in one.answers
    ] == [
        "Good day.</s>",
        "Ada.</s>",
    ]
    assert list(one.ids[: one.answers[1].start]) == base.encoder.prompt(CHAT)


@pytest.mark.parametrize("asks_for_bos", [True, False])
def test_a_gguf_base_is_read_with_bos_if_its_file_says_so(tmp_path: Path, asks_for_bos: bool) -> None:
    own = make_tiny_gguf(tmp_path / "own.gguf", seed=1)
    file = tmp_path / "tiny.gguf"
    write_with_metadata(own, file, {"tokenizer.ggml.add_bos_token": asks_for_bos})
    base = open_base(Recipe(id="tiny", about="", base=str(file)))
    model = LlamaModel(file)
    read = model.prompt_tokens(model.template.render(turns_of(CHAT)))
    assert base.encoder.prompt(CHAT) == read
    model.close()


@pytest.mark.model
@pytest.mark.timeout(1800)
def test_llama_learns_to_answer_and_to_stop_and_does_so_in_llama_cpp(llama: Path, tmp_path: Path) -> None:
    """Train, export with llama.cpp's converters, chat, stop."""
    cache = platformdirs.user_cache_path(APP_NAME, appauthor=False) / "llama.cpp"
    try:
        converters = cached_converters(cache, library.version().partition("+")[0], lambda _: None)
    except ModelError as error:
        if "cannot be downloaded" not in str(error):
            raise
        pytest.skip(str(error))
    answer = "No, Watson."
    holmes = load_persona("sherlock-holmes")
    curt = holmes.model_copy(
        update={
            "demonstrations": tuple(
                Demonstration(user=one.user, reply=answer) for one in holmes.demonstrations
            )
        }
    )
    recipe = recipe_for(
        llama, epochs=40, learning_rate=3e-3, packs_per_step=1, held_out_questions=0, evaluations=0
    )
    done = train(recipe, [], [curt], tmp_path / "run")
    assert done.weights.is_dir()
    exported = export(
        ExportOptions(
            source=tmp_path / "run",
            to=tmp_path / "out",
            merged=("f16",),
            llama_cpp=converters,
            name="tiny7b",
        ),
        lambda _: None,
    )
    assert exported.spec
    report = json.loads((tmp_path / "out" / "parity.json").read_text(encoding="utf-8"))["parity"]
    assert all(one["passed"] and one["stops"] and one["same_ids"] == 20 for one in report)
    model = get_model("tiny7b", temperature=0, max_tokens=60)
    said = RoleChatModel(persona=curt, model=model, strategy="system").invoke(holmes.demonstrations[0].user)
    assert said.text == answer
    assert said.response_metadata["finish_reason"] == "stop"
    modelfile = (tmp_path / "out" / "Modelfile").read_text(encoding="utf-8")
    assert '{{ end }}{{ end }}ASSISTANT:"""' in modelfile
    assert 'PARAMETER stop "</s>"' in modelfile
    assert LlamaModel(tmp_path / "out" / "tiny7b-f16.gguf").template.source == VICUNA
