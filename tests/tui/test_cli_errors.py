"""Mistakes a person can put right: exit code 2, one sentence on stderr, nothing on stdout."""

import subprocess
from pathlib import Path

import pytest
from helpers.broken_servers import not_listening
from helpers.commands import COMMAND, rolellm
from helpers.here import rolellm_here
from helpers.user_files import conversation_ids, write_config, write_models, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf

SCRIPTED = ("--model", "scripted:Hello.")


def complaint(said: subprocess.CompletedProcess[str]) -> str:
    """The one sentence; fails if it is anything but that."""
    assert said.returncode == 2, said.stderr
    assert said.stdout == ""
    assert said.stderr.startswith("rolellm: ")
    assert said.stderr.endswith((".\n", "?\n"))
    assert said.stderr.count("\n") == 1
    assert "Traceback" not in said.stderr
    assert len(said.stderr) < 400
    return said.stderr.removeprefix("rolellm: ").rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("say", "sherlok-holmes", "Hi", *SCRIPTED),
            "There is no persona 'sherlok-holmes' (did you mean sherlock-holmes",
        ),
        (
            ("say", "zzzz", "Hi", *SCRIPTED),
            "There is no persona 'zzzz'; “rolellm persona list” shows all.",
        ),
        (("say", "gone.yaml", "Hi", *SCRIPTED), "gone.yaml cannot be read: No such file or directory."),
        (
            ("say", "shrek", "Hi", "--model", "lamacpp"),
            "There is no model 'lamacpp' (did you mean llamacpp:smollm2 or llamacpp:rolesmol?); "
            "a model is named provider:name, as in llamacpp:rolesmol; "
            "“rolellm models list” shows what there is.",
        ),
        (
            ("say", "shrek", "Hi", "--model", "llamacp:smollm2"),
            "There is no provider 'llamacp' (did you mean llamacpp?); ",
        ),
        (
            ("say", "shrek", "Hi", "--model", "model.gguf"),
            "There is no model 'model.gguf'; a file is named llamacpp:model.gguf.",
        ),
        (
            ("say", "shrek", "Hi", "--model", "llamacpp:gone.gguf"),
            "There is no model file gone.gguf; check the path.",
        ),
        (
            ("say", "shrek", "Hi", "--strategy", "sytem", *SCRIPTED),
            "There is no strategy 'sytem' (did you mean system?); "
            "known are zero-shot, few-shot-prompt, few-shot-dialogue, system, retrieval.",
        ),
        (("say", "shrek", " \n ", *SCRIPTED), "The message is empty; type some text."),
        (("say", "shrek", "-", *SCRIPTED), "The message is empty; type some text."),
        (
            ("say", "shrek", "Hi", "-c", "zzzz", *SCRIPTED),
            "There is no conversation 'zzzz'; “rolellm history list” shows all.",
        ),
        (
            ("say", "shrek", "Hi", "--model", "openai:gpt-4o-mini"),
            "openai:gpt-4o-mini needs an API key: set OPENAI_API_KEY, or name your own server with "
            "--base-url (base_url in models.toml).",
        ),
        (
            ("say", "shrek", "Hi", "--model", "openai:x", "--base-url", "localhost:8080"),
            "The base URL 'localhost:8080' must begin with http:// or https://.",
        ),
        (("persona", "show", "zzzz"), "There is no persona 'zzzz'; “rolellm persona list” shows all."),
    ],
)
def test_a_name_or_a_value_that_is_wrong(arguments: tuple[str, ...], expected: str) -> None:
    assert complaint(rolellm_here(*arguments)).startswith(expected)
    assert conversation_ids() == []


@pytest.mark.parametrize(
    ("bytes_kept", "expected"),
    [
        (0, "{file} is not a GGUF file; llama.cpp reads no other kind."),
        (3_000_000, "{file} is damaged: "),
    ],
    ids=["empty", "truncated"],
)
def test_a_model_file_that_is_none(tmp_path: Path, bytes_kept: int, expected: str) -> None:
    file = tmp_path / "model.gguf"
    with embedded_gguf().open("rb") as whole:
        file.write_bytes(whole.read(bytes_kept))

    said = complaint(rolellm("say", "shrek", "Hi", "--model", f"llamacpp:{file}"))

    assert said.startswith(expected.format(file=file))


def test_a_message_longer_than_the_context() -> None:
    write_persona()
    write_models('[models.small]\nspec = "llamacpp:smollm2"\nn_ctx = 256\nn_threads = 1\n')

    said = complaint(rolellm_here("say", "ada", "-", "--model", "small", stdin="A long story. " * 500))

    assert said.startswith("The message is too long: with the persona it takes ")
    assert said.endswith(
        " and the model has room for 192; shorten it, or use a model with a longer context."
    )
    assert len(conversation_ids()) == 1  # the line is kept, and can be answered by another model


def test_a_server_that_is_not_there() -> None:
    with not_listening() as url:
        said = complaint(rolellm_here("say", "shrek", "Hi", "--model", "openai:x", "--base-url", url))

    assert said == f"Nothing answers at {url} for openai:x; is the server running there?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id: eve\nname: Eve\ndescription: x\ndemonstrations:\n- user: Hi\n", "line 5: the key"),
        ("id: eve\nname: [Eve\n", "line 3: "),
        ("id: eve\nname: Eve\ndescription: x\n[x]: y\n", "line 4: "),
        ("id: eve\nname: Eve\nname: Eva\ndescription: x\n", "line 3: the key 'name' occurs twice."),
    ],
    ids=["missing key", "no YAML", "a list as a key", "repeated key"],
)
def test_a_persona_file_that_is_wrong(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "eve.yaml"
    file.write_text(text, encoding="utf-8")

    assert complaint(rolellm_here("persona", "show", str(file))).startswith(f"{file}, {expected}")


@pytest.mark.core
def test_a_home_below_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    home = tmp_path / "file" / "home"

    said = complaint(rolellm("say", "shrek", "Hi", *SCRIPTED, env={"ROLELLM_HOME": str(home)}))

    assert said == (
        f"The folder {home / 'data'} cannot be created (Not a directory); check permissions and "
        "free space, "
        "or set ROLELLM_HOME to a folder you can write to."
    )


def test_settings_that_are_wrong() -> None:
    file = write_config("temperature = 9\n")
    said = complaint(rolellm_here("say", "shrek", "Hi", *SCRIPTED))
    assert said.startswith("The setting 'temperature' is not usable: ")
    assert str(file) in said

    file.write_text("model = \n", encoding="utf-8")
    said = complaint(rolellm_here("say", "shrek", "Hi", *SCRIPTED))
    assert said.startswith(f"{file} is not valid TOML: ")
    assert "line 1" in said


def test_a_transcript_that_is_none() -> None:
    place = user_paths().transcript
    place.parent.mkdir(parents=True)
    place.write_bytes(b"This is no database. " * 1000)

    said = complaint(rolellm_here("history", "list"))

    assert said.startswith(f"{place} is not a transcript or is damaged")


@pytest.mark.core
def test_standard_input_that_is_not_utf_8() -> None:
    command = (*COMMAND, "say", "shrek", "-", *SCRIPTED)
    said = subprocess.run(command, input="café".encode("latin-1"), capture_output=True, check=False)

    decoded = subprocess.CompletedProcess(
        said.args, said.returncode, said.stdout.decode(), said.stderr.decode()
    )
    assert "UTF-8" in complaint(decoded)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("say", "shrek", "Hi", "--loudly"), "No such option: --loudly"),
        (("say",), "Missing argument 'persona'"),
        (("say", "shrek", "-", "-i"), "It needs a person at a terminal, not - or --json."),
        (("say", "shrek", "-i", "--json"), "It needs a person at a terminal, not - or --json."),
        (("say", "shrek", "Hi", "--temperature", "9"), "Invalid value for '--temperature'"),
        (("say", "shrek", "Hi", "--max-tokens", "0"), "Invalid value for '--max-tokens'"),
        (("sing",), "No such command 'sing'"),
    ],
)
def test_wrong_usage_is_told_with_where_to_find_help(arguments: tuple[str, ...], expected: str) -> None:
    said = rolellm_here(*arguments)

    assert (said.returncode, said.stdout) == (2, "")
    assert expected in said.stderr
    assert "-h' for help." in said.stderr
    assert "Traceback" not in said.stderr
