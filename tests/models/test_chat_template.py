import datetime
from pathlib import Path

import pytest
from helpers.tiny_gguf import make_tiny_gguf
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.template import CHATML, ChatTemplate, fold, turns_of

# Gemma's way: no system role, strictly alternating, complaints by exception.
STRICT = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}"
    "{% endif %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}"
    "{% if add_generation_prompt %}<model>{% endif %}"
)


def template(source: str) -> ChatTemplate:
    return ChatTemplate(source, bos="<s>", eos="</s>")


def test_chatml_renders_each_turn_and_opens_the_answer() -> None:
    turns = turns_of([SystemMessage("Be brief."), HumanMessage("Hi {name}"), AIMessage("Ho")])
    assert template(CHATML).render(turns) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi {name}<|im_end|>\n"
        "<|im_start|>assistant\nHo<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_strict_template_gets_folded_turns() -> None:
    turns = turns_of(
        [SystemMessage("You are Po."), AIMessage("Hello."), AIMessage("Again."), HumanMessage("Hi")]
    )
    assert template(STRICT).render(turns) == (
        "<s><user>You are Po.<assistant>Hello.\n\nAgain.<user>Hi<model>"
    )


def test_a_conversation_the_character_opens_gets_a_user_turn_before_it() -> None:
    assert fold(turns_of([AIMessage("Hello."), HumanMessage("Hi")])) == [
        {"role": "user", "content": "…"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Hi"},
    ]


def test_a_template_that_refuses_everything_is_one_clear_error() -> None:
    with pytest.raises(ModelError, match="refuses this conversation: never"):
        template("{{ raise_exception('never') }}").render(turns_of([HumanMessage("Hi")]))


def test_a_template_that_is_no_jinja_is_refused_when_it_is_read() -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        template("{% for %}")


@pytest.mark.parametrize(
    "attack",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
    ],
)
def test_a_template_cannot_leave_its_sandbox(attack: str) -> None:
    with pytest.raises(ModelError):
        template(attack).render(turns_of([HumanMessage("Hi")]))


def test_templates_may_ask_for_the_date_and_for_json() -> None:
    source = "{{ strftime_now('%Y') }} {{ messages[0] | tojson }}"
    year = str(datetime.datetime.now().astimezone().year)
    assert template(source).render([{"role": "user", "content": "李白"}]) == (
        f'{year} {{"role": "user", "content": "李白"}}'
    )


def test_blocks_that_mark_answers_for_training_write_their_content() -> None:
    source = (
        "{% for message in messages %}{% if message['role'] == 'assistant' %}"
        "{% generation %}A: {{ message['content'] }}{% endgeneration %}"
        "{% else %}U: {{ message['content'] }}{% endif %}\n{% endfor %}"
    )
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    assert template(source).render(turns, answer_follows=False) == "U: HiA: Hello"


def test_a_template_that_needs_more_is_refused_when_the_model_is_loaded(tmp_path: Path) -> None:
    file = make_tiny_gguf(tmp_path / "t.gguf", seed=1, template="{{ functions.first }}")
    with pytest.raises(ModelError, match="chat template refuses this conversation"):
        LlamaModel(file)
