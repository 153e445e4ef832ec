"""Sampler presets: their files, the models that they are used with, findings, and SillyTavern's presets."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from helpers.user_files import write_models
from langchain_core.messages import HumanMessage

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import Settings
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.engine.sampling import Sampling
from rolellm_agents.models.presets.files import chosen_preset, find_preset, list_presets
from rolellm_agents.models.presets.findings import preset_findings
from rolellm_agents.models.presets.importing import add_preset, keep_preset, preset_files, preset_text
from rolellm_agents.models.presets.preset import OFF, SAMPLERS, Preset
from rolellm_agents.models.presets.sillytavern import is_sillytavern_preset
from rolellm_agents.models.presets.using import left_out_note, model_maker, samplers_of

# The keys and neutral values of SillyTavern's own presets.
TEXT: dict[str, Any] = {
    "temp": 0.8,
    "temperature_last": True,
    "top_p": 1,
    "top_k": -1,
    "top_a": 0,
    "tfs": 1,
    "typical_p": 1,
    "min_p": 0.05,
    "rep_pen": 1.05,
    "rep_pen_range": 1024,
    "freq_pen": 0,
    "presence_pen": 0,
    "mirostat_mode": 0,
    "mirostat_tau": 5,
    "smoothing_factor": 0,
    "dynatemp": False,
    "min_temp": 0,
    "max_temp": 2,
    "dynatemp_exponent": 1,
    "dry_multiplier": 0.8,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_sequence_breakers": '["\\n", ":", "\\"", "*"]',
    "nsigma": 0,
    "xtc_threshold": 0.1,
    "xtc_probability": 0,
    "sampler_order": [6, 0, 1],
    "genamt": 300,
}
CHAT: dict[str, Any] = {
    "chat_completion_source": "openai",
    "temperature": 1,
    "frequency_penalty": 0.2,
    "presence_penalty": 0,
    "top_p": 0.95,
    "top_k": 0,
    "top_a": 0,
    "min_p": 0,
    "repetition_penalty": 1,
    "openai_max_context": 4095,
    "openai_max_tokens": 300,
    "seed": -1,
    "n": 1,
    "prompts": [{"identifier": "main", "content": "Write the next reply."}],
}


def _json(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_every_sampler_of_our_engine_is_in_presets() -> None:
    engine = {field.name for field in fields(Sampling)} - {"seed", "grammar"}
    assert engine == set(SAMPLERS) == Preset.model_fields.keys() - {"name", "about"}
    assert samplers_of("llamacpp:rolesmol") == engine
    assert OFF.keys() < engine


def test_a_preset_is_found_by_file_name_name_and_path(tmp_path: Path) -> None:
    kept = keep_preset(Preset(name="Long Tales", min_p=0.1))
    assert kept.path == user_paths().presets / "long-tales.yaml"
    assert [find_preset(one).path for one in ("long-tales", "LONG tales", str(kept.path))] == [
        kept.path
    ] * 3
    with pytest.raises(SettingsError, match=r"no preset 'long-tale' \(did you mean long-tales"):
        find_preset("long-tale")
    with pytest.raises(SettingsError, match="There is no preset"):
        find_preset("../presets/long-tales")
    assert keep_preset(Preset(name="Long tales")).path.name == "long-tales-2.yaml"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: A\nmin_p: 2\n", "line 2: 'min_p'"),
        ("name: A\ntop_k: many\n", "line 2: 'top_k'"),
        ("name: A\nmirostat: 2\n", "line 2: unknown key 'mirostat'"),
        ("temperature: .nan\nname: A\n", "line 1: 'temperature'"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_other_presets_stay(text: str, words: str) -> None:
    keep_preset(Preset(name="Good"))
    (user_paths().presets / "bad.yaml").write_text(text)
    found, (note,) = list_presets()
    assert [one.id for one in found] == ["good"]
    assert words in note
    with pytest.raises(SettingsError, match=r"bad\.yaml"):
        find_preset("bad")


def test_a_preset_overrides_settings_and_options_override_it() -> None:
    settings = Settings(temperature=0.1, max_tokens=10)
    preset = Preset(name="A", temperature=0.9, dry_multiplier=0.8, stop=("END",))
    model: Any = model_maker(settings, preset=preset, max_tokens=20)("llamacpp:rolesmol")
    assert (model.temperature, model.max_tokens) == (0.9, 20)
    assert (model.dry_multiplier, model.stop) == (0.8, ["END"])
    assert left_out_note(model, "x") == ""
    plain: Any = model_maker(settings)("llamacpp:rolesmol")
    assert (plain.temperature, plain.max_tokens, plain.dry_multiplier) == (0.1, 10, 0)


def test_what_a_model_does_not_take_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    make = model_maker(Settings(), preset=Preset(name="A", top_p=0.9, top_k=5, min_p=0.1, contrast=1.5))
    model: Any = make("openai:gpt-4o-mini")
    assert "top_k" not in json.dumps(model._get_request_payload([HumanMessage("Hi")]))
    assert left_out_note(model, "openai:gpt-4o-mini") == (
        "The model openai:gpt-4o-mini does not take top_k, min_p and contrast of the preset; they are "
        "left out."
    )
    write_models('[models.mine]\nspec = "openai:x"\nbase_url = "http://127.0.0.1:1/v1"\n')
    mine: Any = make("mine")
    assert mine.extra_body == {"top_k": 5, "min_p": 0.1}
    assert "contrast of the preset; it is left out" in left_out_note(mine, "mine")
    assert "top_k, top_p" in left_out_note(make("scripted:Hello."), "scripted:")


def test_the_settings_name_a_preset_and_an_option_another() -> None:
    keep_preset(Preset(name="One"))
    keep_preset(Preset(name="Two"))
    chosen = [chosen_preset(Settings(preset="one"), given) for given in (None, "two")]
    assert [one and one.name for one in chosen] == ["One", "Two"]
    assert chosen_preset(Settings()) is None


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"temperature": 0, "min_p": 0.1}, "min_p has no effect with temperature 0"),
        ({"top_k": 1}, "always takes the likeliest"),
        ({"temperature": 0.5, "dynatemp_range": 1}, "goes down to 0"),
        ({"xtc_probability": 0.5, "xtc_threshold": 0.6}, "never excludes"),
        ({"dry_base": 2}, "no effect without dry_multiplier"),
        (
            {"repeat_last_n": 9, "repeat_penalty": 1, "frequency_penalty": 0, "presence_penalty": 0},
            "all penalties are off",
        ),
        ({"contrast": 1}, "the model alone"),
    ],
)
def test_conflicts_are_found(values: dict[str, Any], words: str) -> None:
    (finding,) = preset_findings(Preset(name="A", **values), SAMPLERS, "m")
    assert words in finding.sentence
    assert finding.sampler in values


def test_a_usual_preset_has_no_findings_but_for_a_model_that_does_not_take_it() -> None:
    preset = Preset(name="A", temperature=0.8, min_p=0.05, dry_multiplier=0.8, dry_base=1.75)
    assert preset_findings(preset, SAMPLERS, "m") == []
    told = preset_findings(preset, samplers_of("scripted:Hello."), "scripted:")
    assert [one.sampler for one in told] == ["min_p", "dry_multiplier", "dry_base"]


def test_a_text_completion_preset_is_imported_with_all_that_has_a_counterpart(tmp_path: Path) -> None:
    added = add_preset(_json(tmp_path / "Night Shift.json", TEXT))
    assert added.found.path.read_text() == (
        "name: Night Shift\nabout: Imported from SillyTavern.\ntemperature: 0.8\ntop_k: 0\ntop_p: 1\n"
        "min_p: 0.05\ntypical_p: 1\ntop_n_sigma: 0\nxtc_probability: 0\nrepeat_penalty: 1.05\n"
        "repeat_last_n: 1024\nfrequency_penalty: 0\npresence_penalty: 0\ndry_multiplier: 0.8\n"
        "dry_base: 1.75\ndry_allowed_length: 2\nmax_tokens: 300\n"
    )
    assert added.notes == ()
    assert find_preset("night-shift").preset == added.found.preset


def test_what_has_no_counterpart_is_told(tmp_path: Path) -> None:
    strange = {
        **TEXT,
        "mirostat_mode": 2,
        "smoothing_factor": 0.3,
        "temperature_last": False,
        "temp": 9,
        "dry_sequence_breakers": '["."]',
        "rep_pen": "much",
    }
    added = add_preset(_json(tmp_path / "strange.json", strange))
    told = " ".join(added.notes)
    for words in (
        "temp 9 was left out",
        "rep_pen much was left out",
        "mirostat_mode 2 has no counterpart",
        "smoothing_factor 0.3 has no counterpart",
        "temperature_last False has no counterpart",
        "dry_sequence_breakers has no counterpart",
    ):
        assert words in told
    assert added.found.preset.temperature is None


def test_a_dynamic_temperature_becomes_its_middle_and_range(tmp_path: Path) -> None:
    dynamic = {**TEXT, "dynatemp": True, "min_temp": 0.5, "max_temp": 1.5}
    preset = add_preset(_json(tmp_path / "d.json", dynamic)).found.preset
    assert (preset.temperature, preset.dynatemp_range, preset.dynatemp_exponent) == (1.0, 0.5, 1.0)


def test_a_chat_completion_preset_is_imported_and_its_prompts_are_told(tmp_path: Path) -> None:
    added = add_preset(_json(tmp_path / "chat.json", CHAT))
    preset = added.found.preset
    assert (preset.temperature, preset.frequency_penalty, preset.max_tokens) == (1, 0.2, 300)
    assert [note.split(";")[0] for note in added.notes] == [
        "The size of the context belongs to the model here: context in models.toml.",
        "Its prompts were left out",
        "It was made for openai",
    ]


def test_a_preset_of_koboldai_is_imported(tmp_path: Path) -> None:
    kobold = {"temp": 1.5, "rep_pen": 1, "rep_pen_range": 0, "typical": 0.9, "top_p": 1, "mirostat": 0}
    preset = add_preset(_json(tmp_path / "k.json", kobold)).found.preset
    assert (preset.temperature, preset.typical_p, preset.repeat_last_n) == (1.5, 0.9, None)


def test_our_own_file_is_added_with_its_comments(tmp_path: Path) -> None:
    shared = tmp_path / "shared.yaml"
    shared.write_text("# from Ann\nname: Ann's\nmin_p: 0.1\n")
    assert add_preset(shared).found.path.read_text() == shared.read_text()


@pytest.mark.parametrize("document", [{"name": "Ada"}, {"temp": 1}, [], {"qrList": []}])
def test_other_json_is_no_preset(tmp_path: Path, document: object) -> None:
    file = _json(tmp_path / "x.json", document)
    assert not is_sillytavern_preset(file)
    assert preset_files(tmp_path) == []
    with pytest.raises(SettingsError, match="is not a sampler preset"):
        add_preset(file)


def test_the_text_of_a_preset_has_no_more_than_it_sets() -> None:
    assert preset_text(Preset(name="A: b", stop=("END",))) == "name: 'A: b'\nstop:\n  - END\n"


def test_the_model_of_a_preset_gets_options_of_get_model() -> None:
    assert type(model_maker(Settings())("scripted:Hello.", conversations=3)) is type(
        get_model("scripted:Hello.")
    )
