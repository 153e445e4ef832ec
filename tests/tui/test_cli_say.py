"""`rolellm say`."""

import asyncio
import io
import json
import re
from contextlib import redirect_stdout

import pytest
from helpers.commands import rolellm
from helpers.here import rolellm_here
from helpers.hypotheses import examples
from helpers.user_files import (
    conversation_ids,
    kept,
    lines,
    write_config,
    write_models,
    write_persona,
)
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_tui.cli.chat.say import exchange

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What must never reach a terminal: C0 and C1 without tab and newline, and marks of direction."""

HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;owned\x07title \x9b1mbell\x07 \u202eback"


@pytest.mark.core
def test_the_answer_is_printed_and_the_exchange_kept() -> None:
    said = rolellm("say", "sherlock-holmes", "Who are you?", "--model", "scripted:I am the reply.")

    assert (said.returncode, said.stdout, said.stderr) == (0, "I am the reply.\n", "")
    (conversation,) = conversation_ids("sherlock-holmes")
    assert lines(kept(conversation)) == [
        ("user", "Who are you?", "complete"),
        ("sherlock-holmes", "I am the reply.", "complete"),
    ]


def test_json_tells_everything_and_a_name_from_models_toml_is_told_as_such() -> None:
    write_models('[models.parrot]\nspec = "scripted:I am the reply."\n')
    said = rolellm_here("say", "Shrek", "Hi", "--model", "parrot", "--strategy", "system", "--json")

    assert (said.returncode, said.stderr) == (0, "")
    answer = json.loads(said.stdout)
    (conversation,) = conversation_ids()
    message = kept(conversation)[-1]
    assert answer == {
        "persona": "shrek",
        "model": "parrot",
        "strategy": "system",
        "text": "I am the reply.",
        "status": "complete",
        "usage": message.usage,
        "made_by": message.made_by,
        "conversation": conversation,
        "message": message.id,
    }
    assert answer["usage"]["output_tokens"] == 4


def test_a_dash_reads_standard_input_in_chinese_and_several_lines() -> None:
    said = rolellm("say", "孙悟空", "-", "--model", "scripted:", stdin="你好，\n大圣！\n")

    assert (said.returncode, said.stdout, said.stderr) == (0, "你好，\n大圣！\n", "")
    (conversation,) = conversation_ids("sun-wukong")
    assert [message.text for message in kept(conversation)] == ["你好，\n大圣！"] * 2


def test_without_keeping_no_transcript_is_made() -> None:
    said = rolellm_here("say", "shrek", "Hi", "--no-keep", "--model", "scripted:I am the reply.")

    assert (said.returncode, said.stdout) == (0, "I am the reply.\n")
    assert not user_paths().transcript.exists()


def test_a_conversation_goes_on_and_the_model_hears_what_was_said_before() -> None:
    write_persona()
    model = ("--model", "scripted:I am the reply.", "--json")
    first = json.loads(rolellm_here("say", "ada", "One two three.", *model).stdout)
    beginning = first["conversation"][:6]

    second = json.loads(rolellm_here("say", "ada", "Four five.", "-c", beginning, *model).stdout)

    assert second["conversation"] == first["conversation"]
    assert conversation_ids() == [first["conversation"]]
    assert [message.text for message in kept(first["conversation"])] == [
        "One two three.",
        "I am the reply.",
        "Four five.",
        "I am the reply.",
    ]
    # The scripted model counts the words of all it is sent: the answer's four and the new line's two.
    assert second["usage"]["input_tokens"] - first["usage"]["input_tokens"] == 4 + 2


def test_a_conversation_with_somebody_else_is_refused() -> None:
    """Its lines would reach a character who never witnessed them."""
    with Transcript(user_paths().transcript) as transcript:
        theirs = transcript.create_conversation("sherlock-holmes")
        transcript.append(theirs, None, speaker="user", audience=["user"], text="A secret.")

    said = rolellm_here("say", "shrek", "Hi", "-c", theirs, "--model", "scripted:Hello.")

    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("rolellm: ")
    assert [message.text for message in kept(theirs)] == ["A secret."]


def test_the_environment_goes_before_the_file() -> None:
    write_config('model = "scripted:From the file."\nstrategy = "zero-shot"\n')
    said = rolellm_here("say", "shrek", "Hi", "--json", env={"ROLELLM_MODEL": "scripted:From outside."})

    answer = json.loads(said.stdout)
    assert (answer["text"], answer["strategy"]) == ("From outside.", "zero-shot")


def test_terminal_sequences_in_the_answer_do_not_reach_the_terminal() -> None:
    said = rolellm("say", "shrek", "Hi", "--model", f"scripted:{HOSTILE}")

    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == "red title 1mbell back\n"


def test_json_carries_terminal_sequences_only_escaped() -> None:
    model = f"scripted:{HOSTILE}"
    said = rolellm_here("say", "shrek", "Hi", "--no-keep", "--json", "--model", model)

    assert json.loads(said.stdout)["text"] == HOSTILE
    assert CONTROL.findall(said.stdout) == []


def test_an_output_that_knows_no_chinese_does_not_lose_the_answer() -> None:
    """As a pipe on Windows, or a terminal with an old locale."""
    model = "scripted:Tea, 茶, tea."
    said = rolellm("say", "shrek", "Hi", "--model", model, env={"PYTHONIOENCODING": "ascii"})

    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("Tea, ")
    assert said.stdout.endswith(", tea.\n")
    (conversation,) = conversation_ids()
    assert lines(kept(conversation))[-1] == ("shrek", "Tea, 茶, tea.", "complete")


@given(
    st.lists(
        st.sampled_from(
            ["\x1b", "[31m", "\x1b]0;x", "\x07", "\x9b", "\x9d2;y", "\x1b\\", " ", "\n", "字", "a"]
        )
        | st.characters(codec="utf-8", categories=["Cc", "Cf", "Ll"]),
        max_size=12,
    ).map("".join)
)
@examples(0.2)
def test_no_answer_brings_control_characters_to_the_terminal_however_it_is_cut(reply: str) -> None:
    ada = Persona(id="ada", name="Ada", description="Ada is a mathematician.")
    shown = io.StringIO()
    with Transcript() as transcript, redirect_stdout(shown):
        model = ScriptedChatModel(replies=[reply or "x"])
        asyncio.run(exchange(Session(ada, transcript, model=model), "Hi", show=True))

    assert CONTROL.findall(shown.getvalue()) == []


def test_the_embedded_model_repeats_itself_in_another_process_with_the_same_seed() -> None:
    write_persona()
    # One thread: two would only wait for each other when the machine is busy with other tests.
    write_models('[models.small]\nspec = "llamacpp:smollm2"\nn_threads = 1\nn_ctx = 512\n')
    command = (
        *("say", "ada", "What do you like?", "--json", "--model", "small"),
        *("--max-tokens", "8", "--seed", "7", "--strategy", "zero-shot"),
    )
    first, second = (json.loads(rolellm(*command).stdout) for _ in range(2))

    assert first["text"] == second["text"] != ""
    assert first["status"] == "complete"
    assert first["made_by"]["seed"] == 7
    assert first["made_by"]["finish_reason"] == "length"
    assert first["usage"]["output_tokens"] == 8
    assert first["conversation"] != second["conversation"]
