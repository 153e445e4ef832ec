"""What `rolellm chat` opens the app with."""

import pytest
from helpers.here import rolellm_here

from rolellm_agents.scene import load_scene
from rolellm_tui.app import RoleApp


def test_a_scene_from_the_library_is_played_by_the_model_that_was_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played_by: set[str] = set()

    def look(app: RoleApp) -> None:
        stage = app._open_stage(load_scene("last-booth"), None)
        played_by.update(voice.model_name for voice in stage.ensemble.voices.values())

    monkeypatch.setenv("TEXTUAL_DRIVER", "any")
    monkeypatch.setattr(RoleApp, "run", look)
    done = rolellm_here("chat", "--model", "scripted:Aye.")
    assert (done.returncode, done.stderr, played_by) == (0, "", {"scripted:Aye."})
