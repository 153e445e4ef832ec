"""`rolellm preset`, and `--preset` of the commands that talk."""

import json
from pathlib import Path

import pytest
from helpers.commands import rolellm
from helpers.here import rolellm_here
from helpers.user_files import write_config, write_models

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.presets.files import find_preset
from rolellm_agents.models.presets.importing import keep_preset
from rolellm_agents.models.presets.preset import Preset

NIGHT = {"temp": 0.7, "top_p": 0.9, "rep_pen": 1.1, "rep_pen_range": 512, "tfs": 0.9}


def _night(folder: Path) -> Path:
    file = folder / "Night Owl.json"
    file.write_text(json.dumps(NIGHT))
    return file


@pytest.mark.core
def test_say_answers_with_a_preset_and_tells_what_the_model_does_not_take() -> None:
    keep_preset(Preset(name="Night", temperature=0.9, min_p=0.2))
    said = rolellm("say", "shrek", "Hi", "--model", "scripted:Ho.", "--preset", "night")
    assert (said.returncode, said.stdout) == (0, "Ho.\n")
    assert said.stderr == (
        "rolellm: The model scripted:Ho. does not take min_p of the preset; it is left out.\n"
    )


def test_the_settings_name_the_preset_and_a_missing_one_is_an_error() -> None:
    keep_preset(Preset(name="Night", min_p=0.2))
    write_config('preset = "night"\n')
    assert "min_p" in rolellm_here("say", "shrek", "Hi", "--model", "scripted:Ho.").stderr
    wrong = rolellm_here("say", "shrek", "Hi", "--model", "scripted:Ho.", "--preset", "nigth")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no preset 'nigth' (did you mean night?)" in wrong.stderr


def test_a_scene_is_played_with_the_preset() -> None:
    keep_preset(Preset(name="Night", min_p=0.2))
    ran = rolellm_here(
        "scene", "run", "last-booth", "--turns", "1", "--model", "scripted:Ho.", "--preset", "night"
    )
    assert ran.returncode == 0
    assert "does not take min_p of the preset" in ran.stderr


def test_import_says_what_came_over_and_what_did_not(tmp_path: Path) -> None:
    imported = rolellm_here("preset", "import", str(_night(tmp_path)))
    assert imported.stdout.splitlines() == [
        "night-owl: Night Owl (preset)",
        f"  {user_paths().presets / 'night-owl.yaml'}",
        "  temperature 0.7, top_p 0.9, repeat_penalty 1.1, repeat_last_n 512",
        "  tfs 0.9 has no counterpart; it was left out.",
    ]
    assert find_preset("night-owl").preset.repeat_last_n == 512
    rolellm_here("preset", "import", str(_night(tmp_path)), "--force")
    assert not (user_paths().presets / "night-owl-2.yaml").exists()


def test_persona_import_of_a_folder_finds_presets_as_well(tmp_path: Path) -> None:
    _night(tmp_path)
    imported = rolellm_here("persona", "import", str(tmp_path))
    assert (imported.returncode, imported.stderr) == (0, "")
    assert "night-owl: Night Owl (preset)" in imported.stdout
    again = rolellm_here("persona", "import", str(tmp_path), "--json")
    assert json.loads(again.stdout) == [
        {"preset": "night-owl-2", "notes": ["tfs 0.9 has no counterpart; it was left out."]}
    ]


def test_what_is_no_preset_is_told(tmp_path: Path) -> None:
    file = tmp_path / "card.json"
    file.write_text('{"name": "Ada"}')
    assert "is not a sampler preset" in rolellm_here("preset", "import", str(file)).stderr
    assert "There is no preset in" in rolellm_here("preset", "import", str(tmp_path)).stderr


def test_the_present_values_are_saved_listed_shown_and_checked() -> None:
    write_models('[models.mine]\nspec = "llamacpp:rolesmol"\ndry_multiplier = 0.8\n')
    write_config('model = "mine"\nmax_tokens = 99\n')
    saved = rolellm_here("preset", "save", "My Voice")
    assert saved.stdout.strip() == str(user_paths().presets / "my-voice.yaml")
    preset = find_preset("my-voice").preset
    assert (preset.dry_multiplier, preset.dry_base, preset.max_tokens) == (0.8, 1.75, 99)
    assert preset.xtc_threshold is None
    assert "dry_multiplier 0.8" in rolellm_here("preset", "list").stdout
    shown = rolellm_here("preset", "show", "my-voice").stdout
    assert shown == find_preset("my-voice").path.read_text()
    assert rolellm_here("preset", "check", "my-voice").stdout == "my-voice: valid\n"


def test_check_tells_the_line_of_a_mistake_and_exits_with_2(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("name: X\ntop_p: 4\n")
    checked = rolellm_here("preset", "check", str(file))
    assert checked.returncode == 2
    assert "line 2: 'top_p'" in checked.stdout
