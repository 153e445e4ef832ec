"""Measures by name: several references, several languages, many replies at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import RoleBenchError
from rolellm_agents.metrics import MEASURES, ReferencedReply, measure_named, score_many
from rolellm_agents.metrics.measures import ChineseWords, Over

REFERENCES = ["lamp oil", "keep the lamp now", "keep a good dry lamp"]


@pytest.mark.parametrize(
    ("over", "score"),
    # One word of two in the first; two in the second, of six words in both; two of seven in the third.
    [("first", 1 / 2), ("max", 4 / 6), ("mean", (1 / 2 + 4 / 6 + 4 / 7) / 3)],
)
def test_of_several_references_the_first_the_nearest_or_all_count(over: Over, score: float) -> None:
    assert MEASURES["rouge-l-f1"]("keep lamp", REFERENCES, "en", over=over) == pytest.approx(score)
    assert score_many([ReferencedReply("keep lamp", REFERENCES, "en")], ["rouge-l-f1"], over=over) == {
        "rouge-l-f1": [pytest.approx(score)]
    }


def test_the_nearest_is_the_nearest_by_the_measure_itself() -> None:
    reply = "the lamp now and then"
    assert MEASURES["paper"](reply, REFERENCES, "en") == pytest.approx(3 / 4)
    assert MEASURES["rouge-1-f1"](reply, REFERENCES, "en") == pytest.approx(6 / 9)
    assert MEASURES["rouge-2-f1"](reply, REFERENCES, "en") == pytest.approx(4 / 7)


@pytest.mark.parametrize(
    ("zh_words", "scores"),
    [
        # 大 闹 天 宫 of six and five characters, three runs of five and four.
        ("characters", {"rouge-1-f1": 8 / 11, "rouge-2-f1": 6 / 9, "rouge-l-f1": 8 / 11, "paper": 4 / 6}),
        # One word, 大闹天宫, of three (俺 也 大闹天宫) and two (他 大闹天宫); with “。” of three.
        ("jieba", {"rouge-1-f1": 2 / 5, "rouge-2-f1": 0, "rouge-l-f1": 2 / 5, "paper": 1 / 3}),
    ],
)
def test_chinese_is_cut_into_characters_or_words(zh_words: ChineseWords, scores: dict[str, float]) -> None:
    for name, score in scores.items():
        found = MEASURES[name]("俺也大闹天宫", ["他大闹天宫。"], "zh", zh_words=zh_words)
        assert found == pytest.approx(score), name


def test_replies_in_two_languages_are_each_cut_in_their_own_way() -> None:
    answers = [ReferencedReply("朕乃天子", ["朕是天子"], "zh"), ReferencedReply("I am", ["I was"], "en")]
    assert score_many(answers, ["rouge-1-f1"])["rouge-1-f1"] == [pytest.approx(3 / 4), pytest.approx(1 / 2)]


@pytest.mark.parametrize("over", ["first", "max", "mean"])
def test_a_reply_without_references_has_no_score(over: Over) -> None:
    with pytest.raises(ValueError, match="no reference"):
        score_many([ReferencedReply("lamp", [], "en")], ["paper"], over=over)


def test_an_unknown_measure_is_told_with_the_nearest() -> None:
    with pytest.raises(RoleBenchError, match=r"no measure 'rouge_l' \(did you mean rouge-l-f1"):
        measure_named("rouge_l")
    with pytest.raises(RoleBenchError, match="name one of rouge-1-f1, rouge-2-f1, rouge-l-f1, paper"):
        score_many([], ["bleu"])


TEXTS = st.lists(st.sampled_from(["lamp", "oil", "the", "keep.", "天", "宫", "，"]), max_size=12).map(
    " ".join
)
ANSWERS = st.builds(
    ReferencedReply,
    TEXTS,
    st.lists(TEXTS, min_size=1, max_size=4).map(tuple),
    st.sampled_from(("en", "zh")),
)


@given(
    st.lists(ANSWERS, max_size=6),
    st.lists(st.sampled_from(sorted(MEASURES)), unique=True),
    st.sampled_from(("first", "max", "mean")),
    st.sampled_from(("characters", "jieba")),
)
def test_many_at_once_score_as_one_by_one(
    answers: list[ReferencedReply], names: list[str], over: Over, zh_words: ChineseWords
) -> None:
    assert score_many(answers, names, over=over, zh_words=zh_words) == {
        name: [MEASURES[name](*answer, over=over, zh_words=zh_words) for answer in answers]
        for name in names
    }


@given(ANSWERS, st.sampled_from(sorted(MEASURES)))
def test_the_nearest_reference_gives_no_less_than_the_mean_of_all(
    answer: ReferencedReply, name: str
) -> None:
    by = {over: MEASURES[name](*answer, over=over) for over in ("first", "max", "mean")}
    assert by["mean"] <= by["max"] + 1e-12
    assert by["first"] <= by["max"]
