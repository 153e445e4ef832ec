"""What is read and what is learned of a row."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from helpers.tiny_gguf import make_tiny_gguf
from langchain_core.messages import BaseMessage
from transformers import AutoTokenizer

from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.llamacpp.template import turns_of
from rolellm_agents.persona import list_personas, load_persona
from rolellm_train.base.tuned import quiet
from rolellm_train.data.batches import batch_of
from rolellm_train.data.encoding import Encoder
from rolellm_train.data.material import encoded
from rolellm_train.data.packing import pack
from rolellm_train.data.rows import Prompts, TrainingRow, cast_rows
from rolellm_train.recipe import Recipe
from rolellm_train.training.loading import OpenBase, encoder_for, open_base


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> OpenBase:
    file = make_tiny_gguf(tmp_path_factory.mktemp("base") / "tiny.gguf", seed=1)
    return open_base(Recipe(id="tiny", about="", base=str(file)))


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    with quiet():
        return AutoTokenizer.from_pretrained(embedded_gguf().parent, gguf_file=embedded_gguf().name)


@pytest.fixture(scope="module")
def embedded(tokenizer: Any) -> Encoder:
    """Without the weights, which nothing here computes with."""
    return encoder_for(Recipe(id="embedded", about="", base="llamacpp:smollm2"), tokenizer)


def some_rows() -> list[TrainingRow]:
    sherlock, wukong = load_persona("sherlock-holmes"), load_persona("孙悟空")
    return [*cast_rows([sherlock]), *cast_rows([wukong])]


def alone(rows: Iterable[TrainingRow]) -> list[list[TrainingRow]]:
    return [[row] for row in rows]


@pytest.mark.core
def test_what_is_learned_is_the_answer_and_its_end_and_nothing_else(base: OpenBase) -> None:
    rows = some_rows()
    short, too_long = encoded(alone(rows), base.encoder, 100_000)
    assert too_long == 0
    by_prompt = {one.ids: row for one, row in zip(short, rows, strict=True)}
    for one in pack(short, 8_000, seed=0):
        learned = batch_of(one)["labels"][0].tolist()
        for tree in one.trees:
            for row in tree.rows:
                count = len(row.answers[0])
                mine, learned = learned[:count], learned[count:]
                assert base.tokenizer.decode(mine) == f"{by_prompt[row.ids].answer}<|im_end|>"
        assert learned == []


def test_each_label_is_the_token_after_its_place(base: OpenBase) -> None:
    short, _ = encoded(alone(some_rows()), base.encoder, 100_000)
    for one in pack(short, 8_000, seed=0):
        batch = batch_of(one)
        ids, positions = batch["input_ids"][0], batch["position_ids"][0]
        for place, label in zip(batch["logits_to_keep"].tolist(), batch["labels"][0].tolist(), strict=True):
            # At an answer's beginning the place is the prompt's last token, which lies in the branch.
            assert ids[place + 1] == label
            assert positions[place + 1] == positions[place] + 1


@pytest.mark.core
def test_the_prompt_is_byte_for_byte_what_a_conversation_sends(embedded: Encoder) -> None:
    model = ChatLlamaCpp(model_path=embedded_gguf())
    loaded = model.load()
    prompts = Prompts()
    for persona in [found.persona for found in list_personas().found][::9]:
        row = next(iter(cast_rows([persona])))
        messages: list[BaseMessage] = prompts.of(row)
        one = embedded.encode(persona.id, [(messages, row.answer)])
        (answer,) = one.answers
        assert list(one.ids[: answer.start]) == loaded.prompt(turns_of(messages))
        said = loaded.model.tokenize(row.answer, add_special=False, parse_special=False)
        assert list(one.ids[answer.start : -1]) == said


@pytest.mark.core
def test_in_a_conversation_all_answers_are_learned_each_as_a_conversation_would_ask_for_it(
    embedded: Encoder, tokenizer: Any
) -> None:
    loaded = ChatLlamaCpp(model_path=embedded_gguf()).load()
    prompts = Prompts()
    for persona in [found.persona for found in list_personas().found if found.persona.language == "en"][
        ::9
    ]:
        rows = list(cast_rows([persona]))[:3]
        ((one,), _) = encoded([rows], embedded, 10_000)
        assert len(one.answers) == len(rows)
        for before, (answer, row) in enumerate(zip(one.answers, rows, strict=True)):
            asked = loaded.prompt(turns_of(prompts.of(row, rows[:before])))
            assert list(one.ids[: answer.start]) == asked
            said = tokenizer.decode(list(one.ids[answer.start : answer.stop]))
            assert said == f"{row.answer}<|im_end|>"
        labels = batch_of(pack([one], 10_000, seed=0)[0])["labels"][0].tolist()
        assert labels == [one.ids[place] for answer in one.answers for place in answer]


def test_a_conversation_that_is_too_long_is_learned_row_by_row(base: OpenBase) -> None:
    rows = list(cast_rows([load_persona("sherlock-holmes")]))[:3]
    singly, _ = encoded(alone(rows), base.encoder, 100_000)
    longest = max(len(one.ids) for one in singly)
    assert encoded([rows], base.encoder, longest) == (singly, 0)


def test_rows_that_are_too_long_are_counted(base: OpenBase) -> None:
    every, _ = encoded(alone(some_rows()), base.encoder, 100_000)
    longest = sorted(len(one.ids) for one in every)[len(every) // 2]
    short, too_long = encoded(alone(some_rows()), base.encoder, longest)
    assert too_long == len(every) - len(short) > 0
    assert max(len(one.ids) for one in short) == longest


@pytest.mark.core
def test_a_base_without_a_template_is_refused_with_the_way_out(tmp_path: Path, base: OpenBase) -> None:
    folder = tmp_path / "base"
    base.model.set_attn_implementation("sdpa")
    base.model.save_pretrained(folder)
    base.tokenizer.chat_template, template = None, base.tokenizer.chat_template
    base.tokenizer.save_pretrained(folder)
    base.tokenizer.chat_template = template
    recipe = Recipe(id="bare", about="", base=str(folder))
    with pytest.raises(Exception, match=r"has no chat template; give it one with “chat_template: chatml”"):
        open_base(recipe)
    given = open_base(recipe.model_copy(update={"chat_template": "chatml"}))
    row = next(iter(cast_rows([load_persona("sherlock-holmes")])))
    assert "<|im_start|>user" in given.tokenizer.decode(encoded([[row]], given.encoder, 10_000)[0][0].ids)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/nowhere/model.gguf", "no model file"),
        ("nobody/nothing", "There is no base 'nobody/nothing'"),
    ],
)
def test_a_base_that_is_not_there_is_one_sentence(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Exception, match=said):
        open_base(Recipe(id="away", about="", base=name))
