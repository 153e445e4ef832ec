import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from helpers.hypotheses import examples
from helpers.tiny_gguf import make_tiny_gguf
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.llamacpp.template import CHATML, GEMMA, ChatTemplate
from rolellm_train.base.gguf_metadata import count_weights, read_metadata, write_with_metadata
from rolellm_train.base.notices import notices_of
from rolellm_train.export.facts import ExportSource, metadata_of, read_source
from rolellm_train.export.model_card import ModelCard, model_card
from rolellm_train.export.modelfile import go_template, modelfile

LLAMA_3 = (
    "{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}"
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}"
    "{{ message['content'] + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}"
    "{% for message in messages %}[{{ message['role'] }}]{{ message['content'] }}{% endfor %}"
)
LAST_DIFFERS = (
    "{% for message in messages %}{{ '*' if loop.last else '-' }}{{ message['content'] }}{% endfor %}"
)
SHOUTS = "{% for message in messages %}{{ message['content'] | upper }}{% endfor %}"
GO_INSIDE = "{% for message in messages %}{{ '{{ x }}' }}{{ message['content'] }}{% endfor %}"


def compiled(source: str) -> ChatTemplate:
    return ChatTemplate(source, bos="<s>", eos="</s>")


def test_chatml_is_said_in_go() -> None:
    assert go_template(compiled(CHATML), "<s>") == (
        '{{ range .Messages }}{{ if eq .Role "system" }}<|im_start|>system\n{{ .Content }}<|im_end|>\n'
        '{{ else if eq .Role "user" }}<|im_start|>user\n{{ .Content }}<|im_end|>\n'
        '{{ else if eq .Role "assistant" }}<|im_start|>assistant\n{{ .Content }}<|im_end|>\n'
        "{{ end }}{{ end }}<|im_start|>assistant\n"
    )


def test_the_mark_of_the_beginning_is_left_to_ollama() -> None:
    said = go_template(compiled(LLAMA_3), "<s>")
    assert said.endswith("{{ end }}{{ end }}<|start_header_id|>assistant<|end_header_id|>\n\n")
    assert "<s>" not in said


@pytest.mark.parametrize("source", [NO_SYSTEM, LAST_DIFFERS, SHOUTS, GO_INSIDE])
def test_what_go_cannot_say_simply_is_left_to_the_models_file(source: str) -> None:
    assert go_template(compiled(source), "<s>") == ""
    said = modelfile(model="./m.gguf", adapter=None, template=compiled(source), bos="<s>", ends=["</s>"])
    assert "TEMPLATE" not in said
    assert said.startswith("FROM ./m.gguf\n# Ollama takes the chat template")


def test_an_instruction_that_has_no_turn_stands_before_the_first_question() -> None:
    gemma = ChatTemplate(GEMMA, bos="<bos>", eos="<eos>")
    assert go_template(gemma, "<bos>") == (
        '{{ $about := "" }}{{ range .Messages }}{{ if eq .Role "system" }}{{ $about = .Content }}'
        '{{ else if eq .Role "user" }}<start_of_turn>user\n'
        '{{ if $about }}{{ $about }}\n\n{{ $about = "" }}{{ end }}{{ .Content }}<end_of_turn>\n'
        '{{ else if eq .Role "assistant" }}<start_of_turn>model\n{{ .Content }}<end_of_turn>\n'
        "{{ end }}{{ end }}<start_of_turn>model\n"
    )


def test_a_modelfile_names_base_adapter_and_what_ends_an_answer() -> None:
    said = modelfile(
        model="/b.gguf", adapter="./adapter.gguf", template=compiled(CHATML), bos="", ends=["<|im_end|>"]
    )
    assert said.startswith("FROM /b.gguf\nADAPTER ./adapter.gguf\nTEMPLATE ")
    assert said.endswith('PARAMETER stop "<|im_end|>"\n')


@examples(0.25)
@given(st.text(max_size=200), st.dictionaries(st.text(max_size=20), st.text(max_size=100), max_size=5))
def test_a_card_has_a_yaml_head_whatever_is_told_in_it(word: str, recipe: dict[str, str]) -> None:
    source = ExportSource(Path("adapter"), word, recipe=recipe, data=[word], scores={"f1": 0.5})
    card = model_card(ModelCard("mine", word, word, source, {"adapter.gguf": 5}, []))
    lines = card.split("\n")
    assert lines[0] == "---"
    head = yaml.safe_load("\n".join(lines[1 : lines.index("---", 1)]))
    assert head.get("base_model", "") == word
    assert "# mine" in lines


def test_a_card_of_an_adapter_without_a_history_says_so() -> None:
    card = model_card(ModelCard("mine", "base", "unknown", ExportSource(Path("adapter"), ""), {}, []))
    assert "Nothing was recorded of it." in card
    assert "None were recorded." in card


def test_metadata_is_replaced_and_everything_else_kept(tmp_path: Path) -> None:
    import gguf

    source, target = make_tiny_gguf(tmp_path / "a.gguf", seed=1), tmp_path / "b.gguf"
    write_with_metadata(source, target, {"general.name": "mine", "rolellm.data": ["one", "two"]})
    before, after = gguf.GGUFReader(source), gguf.GGUFReader(target)
    assert read_metadata(target)["name"] == "mine"
    assert after.fields["rolellm.data"].contents() == ["one", "two"]
    kept = [key for key in before.fields if not key.startswith(("GGUF.", "general.name"))]
    assert {key: after.fields[key].contents() for key in kept} == {
        key: before.fields[key].contents() for key in kept
    }
    assert [tensor.name for tensor in after.tensors] == [tensor.name for tensor in before.tensors]
    for one, other in zip(before.tensors, after.tensors, strict=True):
        assert np.array_equal(one.data, other.data)
    assert count_weights(target) == count_weights(source) > 0


def test_what_is_not_known_is_not_told() -> None:
    told = metadata_of(ExportSource(Path("adapter"), ""), name="mine", base="b", base_facts={})
    assert told["general.license"] == "unknown"
    assert not {"general.author", "rolellm.recipe", "general.base_model.0.organization"} & told.keys()
    assert all(told.values())


def test_what_was_learned_on_says_from_what_and_never_where_that_lies(tmp_path: Path) -> None:
    recipe = {"id": "dpo", "objective": "dpo", "start": str(tmp_path / "first/adapter")}
    for name, config in (
        ("first", {"data": ["/home/me/RoleBench"]}),
        ("second", {"recipe": recipe, "data": ["/home/me/RoleBench", "/home/me/draws"]}),
    ):
        (tmp_path / name / "adapter").mkdir(parents=True)
        (tmp_path / name / "adapter/adapter_config.json").write_text("{}")
        (tmp_path / name / "config.json").write_text(json.dumps({"config": {"base": "b", **config}}))
    source = read_source(tmp_path / "second")
    assert source.data == ["RoleBench", "draws"]
    assert source.recipe == {**recipe, "start": "first"}
    told = metadata_of(source, name="mine", base="b", base_facts={})
    assert told["general.finetune"] == "dpo"
    assert "by preferred answers (DPO, Rafailov et al., arXiv 2305.18290)" in told["general.description"]
    card = model_card(ModelCard("mine", "b", "mit", source, {}, []))
    assert "by preferred answers (DPO, Rafailov et al., arXiv 2305.18290). An" in card
    assert str(tmp_path) not in card + str(told)


def test_the_licence_is_the_bases_unless_the_run_has_its_own() -> None:
    facts = {"license": "apache-2.0"}
    base = metadata_of(ExportSource(Path("adapter"), ""), name="m", base="b", base_facts=facts)
    own = metadata_of(
        ExportSource(Path("adapter"), "", licence="mit"), name="m", base="b", base_facts=facts
    )
    assert (base["general.license"], own["general.license"]) == ("apache-2.0", "mit")


def test_what_is_made_of_gemma_carries_its_notice_and_its_terms() -> None:
    texts = notices_of("gemma", name="role-of-mine")
    assert set(texts) == {"NOTICE.txt", "gemma-terms.txt"}
    assert "Gemma is provided under and subject to the Gemma Terms of Use" in texts["NOTICE.txt"]
    assert "The GGUF files of role-of-mine " in texts["NOTICE.txt"]
    assert "$" not in texts["NOTICE.txt"]
    assert "\nGemma Terms of Use\n" in texts["gemma-terms.txt"]


@pytest.mark.parametrize("licence", ["", "apache-2.0", "unknown"])
def test_most_licences_ask_for_no_notice(licence: str) -> None:
    assert notices_of(licence, name="m") == {}
