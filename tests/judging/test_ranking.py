"""Orders are read out of whatever a model writes, and two orders make one verdict."""

import json
from itertools import permutations

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rolellm_agents.judging import ConversationTurn, Judged, Verdict
from rolellm_agents.judging.position import position_bias
from rolellm_agents.judging.ranking import (
    EMPTY_RULE,
    MOST_RANKED,
    SAME_RULE,
    by_rule,
    ranking_question,
    read_order,
    shown_orders,
    standing,
)
from rolellm_agents.persona import Persona

ADA = Persona(id="ada", name="Ada", description="Ada keeps a lighthouse.")


def reply(text: str, key: str = "k", asked: str = "Cold?", references: tuple[str, ...] = ()) -> Judged:
    before = (ConversationTurn("user", "Hello."), ConversationTurn("persona", f"Well, {key}."))
    return Judged(
        key=key,
        persona=ADA,
        turns=(*before, ConversationTurn("user", asked)),
        reply=text,
        references=references,
    )


def pair(orders: list[float | None], value: float | None = None) -> Verdict:
    scored = None not in orders
    return Verdict(
        subject="k",
        measure="preference",
        value=(value if value is not None else 0.5) if scored else None,
        status="scored" if scored else "unparsed",
        model="m",
        details={"orders": orders},
    )


@pytest.mark.parametrize(
    ("said", "order"),
    [
        ('{"reason": "Hers.", "best_first": "2 > 1"}', (1, 0)),
        ('```json\n{"reason": "Hers.", "best_first": [1, 2]}\n```', (0, 1)),
        ('{"best_first": ["Reply 2", "Reply 1"]}', (1, 0)),
        ('{"better": "Reply 2"}', (1, 0)),
        ('{"winner": 1}', (0, 1)),
        (
            '[{"model": "Reply 1", "reason": "x", "rank": 2}, {"model": "Reply 2", "rank": 1}]',
            (1, 0),
        ),
        ("My order is 2 > 1.", (1, 0)),
        ("Reply 1 > Reply 2", (0, 1)),
        ("I think Reply 2 is clearly better, as it is hers.", (1, 0)),
        ("I prefer response 1.", (0, 1)),
        ("The better one is reply 2.", (1, 0)),
        ("回答2更好。", (1, 0)),
    ],
)
def test_an_order_of_two_is_read(said: str, order: tuple[int, ...]) -> None:
    read = read_order(said, 2)
    assert read is not None
    assert read.best_first == order


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Both are good.",
        "1 and 2 are replies.",
        '{"best_first": "1 > 1"}',
        '{"best_first": "1 > 3"}',
        '{"best_first": "1"}',
        '{"best_first": [1]}',
        '{"better": "neither"}',
        "Reply 1 is better. No, reply 2 is better.",
        "1 > 2 and 2 > 1",
        '[{"model": "Reply 1", "rank": 1}, {"model": "Reply 2", "rank": 1}]',
    ],
)
def test_nonsense_is_no_order(said: str) -> None:
    assert read_order(said, 2) is None


@examples(2)
@given(st.text() | st.text('12345 >[]{}":,rank'), st.integers(2, MOST_RANKED))
def test_any_text_gives_a_whole_order_or_none(said: str, count: int) -> None:
    read = read_order(said, count)
    assert read is None or sorted(read.best_first) == [*range(count)]


@pytest.mark.parametrize("count", range(2, MOST_RANKED + 1))
def test_the_form_allows_every_order_and_each_is_read(count: int) -> None:
    question = ranking_question([reply(f"R{n}", f"k{n}") for n in range(count)])
    form = Draft202012Validator(question.form)
    assert [*question.form["properties"]] == ["reason", "best_first"]
    for order in permutations(range(count)):
        told = {"reason": "It is hers.", "best_first": " > ".join(str(place + 1) for place in order)}
        form.validate(told)
        read = question.read(json.dumps(told))
        assert read is not None
        assert read.best_first == order


def test_a_question_hides_who_wrote_a_reply_and_shows_references() -> None:
    one, other = reply("Cold, no.", "gpt-secret", references=("Never cold.",)), reply("Yes.", "mine")
    question = ranking_question([one, other])
    assert "Reply 1:\n<<<\nCold, no.\n>>>\n\nReply 2:\n<<<\nYes.\n>>>" in question.text
    assert "Reference answer:\n<<<\nNever cold.\n>>>" in question.text
    assert "secret" not in question.text, "the talk before differs, so only what they answer is shown"
    assert "User: Cold?" in question.text
    same = ranking_question([one, reply("Yes.", "gpt-secret")])
    assert "Well, gpt-secret." in same.text


@pytest.mark.parametrize("count", [0, 1, MOST_RANKED + 1])
def test_too_few_and_too_many_replies_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="cannot be ranked"):
        ranking_question([reply("x")] * count)


def test_what_no_model_need_be_asked() -> None:
    wins = by_rule(reply("Words."), reply(" \n"))
    loses = by_rule(reply(""), reply("Words."))
    same = by_rule(reply("The  same."), reply("The same."))
    nothing = by_rule(reply(""), reply(" "))
    assert wins is not None
    assert loses is not None
    assert same is not None
    assert nothing is not None
    assert (wins.value, loses.value, same.value, nothing.value) == (1.0, 0.0, 0.5, None)
    assert (wins.model, same.model, nothing.status) == (EMPTY_RULE, SAME_RULE, "skipped")
    assert by_rule(reply("One."), reply("Two.")) is None


@given(st.data(), st.integers(2, MOST_RANKED))
def test_standings_share_out_what_there_is_and_turn_round_with_the_order(
    data: st.DataObject, count: int
) -> None:
    orders = st.permutations(range(count))
    rankings = [data.draw(orders), data.draw(orders)]
    shares = standing(rankings, count)
    assert sum(shares) == pytest.approx(count / 2)
    assert all(0 <= share <= 1 for share in shares)
    turned = standing([ranking[::-1] for ranking in rankings], count)
    assert turned == pytest.approx([1 - share for share in shares])


@examples(0.25)
@given(st.integers(2, MOST_RANKED))
def test_each_pair_is_shown_both_ways_round(count: int) -> None:
    forwards, backwards = shown_orders(count)
    assert [*backwards] == [*reversed(forwards)]
    assert sorted(forwards) == [*range(count)]


def test_a_judge_that_looks_at_places_alone_is_found_out() -> None:
    bias = position_bias([pair([1.0, 0.0])] * 4)
    assert (bias.n, bias.first_preferred, bias.consistent) == (4, 1.0, 0.0)


def test_a_judge_that_looks_at_replies_has_no_bias_and_rules_count_for_nothing() -> None:
    ruled = by_rule(reply("Words."), reply(""))
    assert ruled is not None
    bias = position_bias([pair([1.0, 1.0]), pair([0.0, 0.0]), pair([1.0, None]), ruled])
    assert (bias.n, bias.first_preferred, bias.consistent) == (2, 0.5, 1.0)
    assert position_bias([ruled]).first_preferred is None


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1))
def test_shown_the_other_way_round_a_judge_has_the_same_bias(
    given_orders: list[tuple[float, float]],
) -> None:
    verdicts = [pair([one, other]) for one, other in given_orders]
    turned = [pair([1 - other, 1 - one]) for one, other in given_orders]
    bias, mirrored = position_bias(verdicts), position_bias(turned)
    assert bias.first_preferred == pytest.approx(mirrored.first_preferred)
    assert bias.consistent == mirrored.consistent
