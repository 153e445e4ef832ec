"""Names that packages provide: what is loaded when, and the sentences for names that cannot be used."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.extension_pages import install
from helpers.here import rolellm_here

from rolellm_agents.errors import ModelError, PluginError, RoleLLMError, SceneError
from rolellm_agents.metrics import measure_named
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.plugins import load_plugin, plugin_names, plugin_version
from rolellm_agents.prompting.strategies import get_strategy, system
from rolellm_agents.recall import method_named
from rolellm_agents.scene import load_scene
from rolellm_agents.scene.directors import NextSpeaker, director_named
from rolellm_agents.scene.message_kinds import turn_kind_named
from rolellm_graphs import scene_graph
from rolellm_graphs.judge.judges import judge_named
from rolellm_graphs.server.names import agent_named

Provide = Callable[..., None]


@pytest.fixture
def provide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provide]:
    """Installs a package whose module has this code, with one entry point."""
    monkeypatch.syspath_prepend(tmp_path / "site")

    def provide(group: str, name: str, code: str, package: str = "my-package") -> None:
        install(tmp_path / "site", code, {group: {name: "my_package:provided"}}, package=package)

    yield provide
    sys.modules.pop("my_package", None)


def sentence(call: Callable[[], Any]) -> str:
    with pytest.raises(RoleLLMError) as raised:
        call()
    return str(raised.value)


def test_nothing_is_provided_here() -> None:
    assert plugin_names("rolellm.strategies") == []
    assert load_plugin("rolellm.strategies", "system") is None
    assert plugin_version("rolellm.strategies", "system") == ""


def test_names_of_ours_are_not_replaced_and_load_nothing(provide: Provide) -> None:
    provide("rolellm.strategies", "system", "raise SystemError")
    assert get_strategy("system") is system
    assert "my_package" not in sys.modules


@pytest.mark.parametrize(
    ("group", "look_up"),
    [
        ("rolellm.strategies", get_strategy),
        ("rolellm.metrics", measure_named),
        ("rolellm.turn_kinds", turn_kind_named),
        ("rolellm.recall", method_named),
        ("rolellm.judges", lambda name: judge_named(name, ScriptedChatModel())),
        ("rolellm.providers", lambda name: get_model(f"{name}:x")),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_of_a_package(
    provide: Provide, group: str, look_up: Callable[[str], Any]
) -> None:
    provide(group, "lighthouse", "raise SystemError")
    told = sentence(lambda: look_up("lighthous"))
    assert "(did you mean lighthouse?)" in told
    assert "my_package" not in sys.modules


def test_an_unknown_director_in_a_scene_file_and_an_option(provide: Provide, tmp_path: Path) -> None:
    provide("rolellm.directors", "lighthouse", "raise SystemError")
    ran = rolellm_here("scene", "run", "last-booth", "--director", "lighthous")
    assert (ran.returncode, "(did you mean lighthouse?)" in ran.stderr) == (2, True)
    assert sentence(lambda: director_named("lighthous")).startswith("There is no director 'lighthous'")


def test_a_package_that_cannot_be_imported_is_named(provide: Provide) -> None:
    provide("rolellm.strategies", "mine", "import nothing_of_this_name")
    told = sentence(lambda: get_strategy("mine"))
    assert told == (
        "The package my-package provides 'mine' for rolellm.strategies, but my_package:provided cannot be "
        "imported (ModuleNotFoundError: No module named 'nothing_of_this_name'); repair, update or "
        "uninstall the package."
    )
    ran = rolellm_here("say", "shrek", "Hello.", "--strategy", "mine", "--model", "scripted:Hi.")
    assert (ran.returncode, told in " ".join(ran.stderr.split())) == (2, True)


@pytest.mark.parametrize(
    ("code", "reason"), [("", "AttributeError"), ("provided = 3", "is not callable"), ("(", "SyntaxError")]
)
def test_a_package_whose_entry_point_is_wrong_is_named(provide: Provide, code: str, reason: str) -> None:
    provide("rolellm.metrics", "mine", code)
    told = sentence(lambda: measure_named("mine"))
    assert reason in told
    assert told.startswith("The package my-package provides 'mine'")


def test_two_packages_with_one_name_are_both_named(provide: Provide) -> None:
    provide("rolellm.recall", "mine", "provided = print")
    provide("rolellm.recall", "mine", "provided = print", package="another")
    with pytest.raises(PluginError, match=r"another and my-package both provide 'mine'.*uninstall one"):
        method_named("mine")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def provided(name): return name", "made a str and no chat model"),
        ("def provided(name): raise OSError('no socket')", "OSError: no socket"),
    ],
)
def test_a_provider_that_makes_no_model_is_named(provide: Provide, code: str, reason: str) -> None:
    provide("rolellm.providers", "mine", code)
    with pytest.raises(ModelError, match=r"my-package 1\.2") as raised:
        get_model("mine:x")
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("provided = 3", "my_package:provided is no MessageKind"),
        (
            "from rolellm_agents.scene.message_kinds import MessageKind\n"
            "provided = MessageKind(name='sign', label={'en': 'signs'})",
            "my_package:provided has the name 'sign'",
        ),
        ("import nothing_of_this_name", "cannot be imported"),
    ],
)
def test_a_turn_kind_that_cannot_be_used_is_named_with_its_package(
    provide: Provide, code: str, reason: str
) -> None:
    provide("rolellm.turn_kinds", "mine", code)
    told = sentence(lambda: load_scene("last-booth").with_turn_kinds(["mine"]))
    assert "The package my-package provides 'mine'" in told
    assert reason in told


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("walt-kowalski", "returned 'walt-kowalski'; it must return a NextSpeaker"),
        (
            NextSpeaker(seat="shrek", why="."),
            "chose 'shrek', who is not present; it must choose one of walt",
        ),
    ],
)
def test_a_director_that_chooses_nobody_who_is_there_is_told(answer: Any, reason: str) -> None:
    graph = scene_graph("last-booth", model="scripted:I see.", director=lambda situation: answer)
    with pytest.raises(SceneError, match=reason):
        graph.invoke({})


def test_a_director_of_ones_own_ends_a_scene() -> None:
    def nobody(_situation: Any) -> NextSpeaker:
        return NextSpeaker(seat=None, why="Enough.")

    output = scene_graph("last-booth", model="scripted:I see.", director=nobody).invoke({})
    assert output["ended"] == "Enough."


def test_a_server_takes_a_strategy_of_a_package(provide: Provide) -> None:
    provide("rolellm.strategies", "lighthouse", "raise SystemError")
    assert agent_named("shrek@lighthouse", {}, ()).strategy == "lighthouse"
    assert "my_package" not in sys.modules
