"""Several answers to each training question: what is asked, what is kept, and that a run goes on."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import rolellm
from helpers.samples import sample
from helpers.small_rolebench import ADA, BEN, write_cast, write_data
from helpers.tiny_gguf import make_tiny_gguf

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_graphs.generate.rejection_sampling import RejectionSamplingRequest, rejection_sampling
from rolellm_graphs.runs.items import RunLimits

PERSONAS = {
    name: Persona(id=name.lower(), name=name, description=f"{name} keeps bees.") for name in (ADA, BEN)
}
ASKED = (
    sample(ADA, "How many hives?", "Three hives."),
    sample(BEN, "And you?", "None."),
    sample(ADA, "How many hives?", "Three hives."),
    sample("Nobody", "Who?", "Me."),
)


def request(**changes: Any) -> RejectionSamplingRequest:
    return RejectionSamplingRequest(**{"samples": ASKED, "personas": PERSONAS, "each": 3, **changes})


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]


async def test_each_question_is_asked_once_and_answered_several_times(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=["Three.", "Ada: Four.", "Three.", "None.", "One.", "Two."])
    outcome = await rejection_sampling(
        request(), model, model_name="scripted:", folder=tmp_path, limits=RunLimits(at_once=1)
    )
    assert (outcome.complete, outcome.done) == (True, 6)
    ada, ben = rows(tmp_path)
    assert (ada["role"], ada["question"], ada["generated"]) == (ADA, "How many hives?", ["Three.", "Four."])
    assert (ada["references"], ada["kind"]) == (["Three hives."], "role_specific")
    assert (ben["persona"], ben["generated"]) == ("ben", ["None.", "One.", "Two."])
    # By the strategy that models are tuned by: an instruction, and the question alone.
    assert all([message.type for message in call] == ["system", "human"] for call in model.calls)
    assert "Ada keeps bees." in model.calls[0][0].text


async def test_a_run_that_is_stopped_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=["Three."])
    few = RunLimits(at_once=1, most_tokens=550)
    first = await rejection_sampling(request(), model, model_name="scripted:", folder=tmp_path, limits=few)
    assert (first.stopped, first.complete) == ("budget", False)
    asked = len(model.calls)
    assert 0 < asked < 6
    second = await rejection_sampling(request(), model, model_name="scripted:", folder=tmp_path)
    assert second.complete
    assert len(model.calls) == 6


async def test_nobody_to_ask_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RoleLLMError, match="None of the questions belongs to a role that is a persona"):
        await rejection_sampling(
            request(personas={}), ScriptedChatModel(replies=["x"]), model_name="x", folder=tmp_path
        )


async def test_a_model_that_draws_nothing_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    model = ChatLlamaCpp(model_path=make_tiny_gguf(tmp_path / "tiny.gguf", seed=1), temperature=0)
    with pytest.raises(RoleLLMError, match="At temperature 0 all answers to a question are the same"):
        await rejection_sampling(request(), model, model_name="tiny", folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_command_leaves_out_the_roles_that_nobody_may_learn(tmp_path: Path) -> None:
    write_cast(ADA)
    train = [
        sample(ADA, "How many hives have you?", "Three.", types=("script_based",)),
        sample("Jack Sparrow", "Where is the rum?", "Gone.", types=("script_based",)),
        sample(ADA, "Name a colour.", "Yellow.", kind="general"),
    ]
    data = write_data(tmp_path / "RoleBench", test=train, train=train)
    command = (
        "data",
        "rejection-sampling",
        "--data",
        str(data),
        "--model",
        "scripted:Three.",
        "--each",
        "2",
    )
    guessed = rolellm(*command, "--dry-run", "--json")
    assert guessed.returncode == 0, guessed.stderr
    assert json.loads(guessed.stdout)["items"] == 4
    done = rolellm(*command, "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == {"samples": 2}
    assert {row["role"] for row in rows(tmp_path / "run")} == {ADA}
    told = rolellm(*command, "--out", str(tmp_path / "run")).stdout
    assert "2 clean rows" in told
    assert "left out" not in told
