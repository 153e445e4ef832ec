"""Gains and evidence are arithmetic: what they come to, whatever the numbers are."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.judging import ConversationTurn
from rolellm_agents.judging.likelihood import (
    evidence,
    gain,
    neutral_prompt,
    open_question,
    persona_prompt,
    prompts_used,
    speaker_scores,
)
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.prompting.strategies import get_strategy

LOGS = st.floats(-60, 0)
BOTH = st.lists(st.tuples(LOGS, LOGS), min_size=1, max_size=30)
MEASURES = (gain, evidence)


def apart(both: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [one for one, _ in both], [other for _, other in both]


def test_a_gain_is_the_mean_of_the_tokens_differences_and_of_twenty_that_differ_in_nothing() -> None:
    assert gain([-1.0, -2.0], [-2.0, -5.0]) == 4 / 22
    assert gain([-3.0], [-1.0]) == -2 / 21


@pytest.mark.parametrize("measure", MEASURES)
def test_what_is_as_likely_from_anybody_says_nothing(measure: object) -> None:
    assert callable(measure)
    assert measure([-1.0, -4.0], [-1.0, -4.0]) == pytest.approx(0, abs=1e-12)


@given(both=BOTH, times=st.integers(2, 4))
def test_a_reply_said_several_times_over_is_surer_but_no_more_than_its_mean(
    both: list[tuple[float, float]], times: int
) -> None:
    once, often = gain(*apart(both)), gain(*apart(both * times))
    mean = sum(one - other for one, other in both) / len(both)
    assert abs(once) - 1e-9 <= abs(often) <= abs(mean) + 1e-9
    assert evidence(*apart(both * times)) == pytest.approx(evidence(*apart(both)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
@given(both=BOTH)
def test_words_that_anybody_would_say_bring_it_nearer_to_nothing(
    measure: object, both: list[tuple[float, float]]
) -> None:
    assert callable(measure)
    bare = measure(*apart(both))
    padded = measure(*apart([*both, (-2.0, -2.0)]))
    assert abs(padded) <= abs(bare) + 1e-9


@given(both=BOTH, place=st.integers(0, 29), more=st.floats(0.001, 5))
def test_a_likelier_token_never_lowers_evidence(
    both: list[tuple[float, float]], place: int, more: float
) -> None:
    persona, nobody = apart(both)
    raised = [*persona]
    raised[place % len(raised)] += more
    assert gain(raised, nobody) > gain(persona, nobody) - 1e-9
    assert evidence(raised, nobody) >= evidence(persona, nobody) - 1e-12


@given(both=BOTH)
def test_what_a_persona_would_never_say_costs_evidence_only_so_much(
    both: list[tuple[float, float]],
) -> None:
    found = evidence(*apart(both))
    assert found >= math.log(0.7) - 1e-12
    assert found >= sum(one - other for one, other in both) / len(both) + math.log(0.3) - 1e-9


@pytest.mark.parametrize("measure", MEASURES)
def test_nothing_has_no_gain_and_tokens_go_in_pairs(measure: object) -> None:
    assert callable(measure)
    with pytest.raises(ValueError, match="no token"):
        measure([], [])
    with pytest.raises(ValueError, match="argument 2"):
        measure([-1.0, -1.0], [-1.0])


def test_several_replies_add_up() -> None:
    assert speaker_scores({"ada": [1.0, 0.5], "ben": [0.25, 0.25]}, {}) == {"ada": 1.5, "ben": 0.5}


def test_what_anybodys_replies_come_to_is_taken_off() -> None:
    found = speaker_scores({"ada": [1.0, 0.5], "ben": [0.25, 0.25]}, {"ada": [1.0, 2.0], "ben": [0.0]})
    assert found == {"ada": -1.5, "ben": 0.5}


def test_a_persona_is_told_of_as_in_chats(holmes: Persona) -> None:
    turns = [
        ConversationTurn("user", "Who are you?"),
        ConversationTurn("persona", "A detective."),
        ConversationTurn("user", "Where?"),
    ]
    [instruction, *said] = persona_prompt(holmes, turns)
    assert instruction == get_strategy("system")(holmes, [], [], "Where?")[0]
    assert [(one.type, one.text) for one in said] == [
        ("human", "Who are you?"),
        ("ai", "A detective."),
        ("human", "Where?"),
    ]


@pytest.mark.parametrize("persona", ["sherlock-holmes", "li-bai"])
def test_nobody_is_told_of_in_the_same_language_and_without_the_persona(persona: str) -> None:
    found = load_persona(persona)
    turns = [open_question(found.language)]
    told, nobody = persona_prompt(found, turns), neutral_prompt(found.language, turns)
    assert told[1:] == nobody[1:]
    assert found.name not in nobody[0].text
    assert any("一" <= letter <= "鿿" for letter in nobody[0].text + nobody[1].text) == (
        found.language == "zh"
    )
    assert f"/{found.language}@" in prompts_used(found.language)
