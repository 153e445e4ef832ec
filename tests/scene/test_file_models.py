"""What a scene's file names, and what counts of it in a program."""

from pathlib import Path

import pytest
from helpers.small_scene import small_scene

from rolellm_agents.config.foreign_files import ForeignFile, has_agreed, keep_agreement
from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError, SettingsError, TrustError
from rolellm_agents.models.reach import reach_of
from rolellm_agents.scene import agreed, load_scene
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.graph import scene_graph

CAST = [{"id": "ada", "name": "Ada", "model": "openai:gpt-4o"}, {"id": "ben", "name": "Ben"}]


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    return small_scene(tmp_path, cast=CAST, events=[], opening=[])


def test_a_program_names_the_model_or_agrees(scene: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key")
    with pytest.raises(TrustError, match=r"comes from elsewhere .*\(ada: openai:gpt-4o\); name a model"):
        scene_graph(scene)

    ensemble = Ensemble(load_scene(scene), model="scripted:Pears.")
    assert {voice.model_name for voice in ensemble.voices.values()} == {"scripted:Pears."}
    ensemble = Ensemble(agreed(load_scene(scene)), model="scripted:Pears.")
    assert ensemble.voices["ada"].model_name == "openai:gpt-4o"


def test_a_scene_that_a_program_builds_has_its_models(scene: Path) -> None:
    from rolellm_agents.scene import cast_scene

    assert cast_scene(load_scene(scene).scene).foreign is None


def test_an_agreement_is_for_one_path_and_one_content(tmp_path: Path) -> None:
    file = ForeignFile.of(tmp_path / "a.yaml", {"model": "openai:a"})
    assert not has_agreed(file)
    keep_agreement(file, ["all seats: openai:a"])
    keep_agreement(ForeignFile.of(tmp_path / 'b "x".yaml', {}), [])

    assert has_agreed(file)
    assert not has_agreed(ForeignFile.of(tmp_path / "a.yaml", {"model": "openai:b"}))
    assert not has_agreed(ForeignFile.of(tmp_path / "c.yaml", {"model": "openai:a"}))
    user_paths().agreements_file.write_text("[")
    with pytest.raises(SettingsError, match="not valid TOML"):
        has_agreed(file)


@pytest.mark.parametrize(
    ("spec", "reach"),
    [
        ("scripted:Hello.", ""),
        ("llamacpp:rolesmol", ""),
        ("llamacpp:/etc/model.gguf", "loads /etc/model.gguf"),
        ("llamacpp:smollm2+/x/lora.gguf", "loads /x/lora.gguf"),
        ("llamacpp:hf:org/repo", "loads hf:org/repo"),
        (
            "openai:gpt-4o",
            "sends the prompts, with the key in OPENAI_API_KEY, to https://api.openai.com/v1",
        ),
        ("local:qwen", "sends the prompts to a server on this machine"),
        (
            "huggingface:org/model",
            "loads org/model, and downloads it from the Hugging Face Hub if it is not here",
        ),
        (
            "anthropic:claude",
            "may send the prompts, and your key, to wherever the provider 'anthropic' sends them",
        ),
        ("mine", "is your own openai:qwen, which sends the prompts to http://host:1/v1"),
        ("none", "is the name 'none', which your models.toml does not have"),
    ],
)
def test_what_a_model_does_outside(monkeypatch: pytest.MonkeyPatch, spec: str, reach: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key")
    file = user_paths().models_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        '[models.mine]\nspec = "openai:qwen"\napi_key_env = "NONE"\n'
        'base_url = "http://me:secret@host:1/v1"\n'
    )
    assert reach_of(spec) == reach


def test_a_scene_from_elsewhere_reads_personas_of_its_folder_only(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    for place in (tmp_path, folder):
        (place / "eve.yaml").write_text("id: eve\nname: Eve\ndescription: A thief.\n")
    beside = small_scene(folder, cast=["eve.yaml"], events=[], opening=[])
    assert load_scene(beside).names == {"eve": "Eve"}
    for named in ("../eve.yaml", str(tmp_path / "eve.yaml")):
        outside = small_scene(folder, cast=[named], events=[], opening=[])
        with pytest.raises(PersonaError, match="is outside of the folder"):
            load_scene(outside)


def test_a_packs_scene_reads_the_personas_of_its_pack() -> None:
    pack = user_paths().packs / "theirs"
    for folder in ("scenes", "personas"):
        (pack / folder).mkdir(parents=True)
    (pack / "personas" / "eve.yaml").write_text("id: eve\nname: Eve\ndescription: A thief.\n")
    scene = small_scene(pack / "scenes", cast=["../personas/eve.yaml"], events=[], opening=[])
    assert load_scene(scene).names == {"eve": "Eve"}
