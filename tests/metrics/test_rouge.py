"""ROUGE: what two texts have in common, and the length of a reply."""

from collections import Counter
from collections.abc import Callable

import pytest
from helpers.hypotheses import examples
from helpers.shared_data import shared_data
from hypothesis import example, given
from hypothesis import strategies as st

from rolellm_agents.metrics import MEASURES, rouge_l, rouge_n, summary_rouge_l, word_count
from rolellm_agents.metrics.words import (
    character_sentences,
    google_words,
    jieba_words,
    spaced_sentences,
    words_and_characters,
)
from rolellm_agents.text.language import Language

# By rouge_score 0.1.2 (rougeL, no stemmer) and rouge 1.0.1 (rouge-l), which agree to the last bit.
BY_THE_PACKAGES = [
    (
        "I keep the lamp, and the lamp keeps me.",
        "The lamp keeps me; I keep the lamp.",
        (0.4444444444444444, 0.5, 0.47058823529411764),
        (0.5, 0.5714285714285714),
    ),
    (
        "Wipe your feet. Sit by the stove. I have a glass to do.",
        "Sit by the stove, and wipe your feet first. I have the glass to do yet.",
        (0.6923076923076923, 0.5625, 0.6206896551724138),
        (0.7692307692307693, 0.6666666666666666),
    ),
    # Blanks between full stops are a word to rouge.
    (
        "Well.  Well. . Then come in.",
        "Well, come in then. . Well.",
        (0.6, 0.6, 0.6),
        (0.8, 0.6666666666666666),
    ),
    # Of "p w" and "q w" rouge chooses the first, and so "q" is in no subsequence.
    ("p q w", "q w p w. p", (0.6666666666666666, 0.4, 0.5), (0.6666666666666666, 0.6666666666666666)),
    # Case and marks count with rouge.
    (
        "DON'T touch it!\nIt's hot",
        "Don't touch it! It is hot.",
        (0.8571428571428571, 0.8571428571428571, 0.8571428571428571),
        (0.6, 0.5),
    ),
]


@pytest.mark.parametrize(("prediction", "reference", "google", "_rouge"), BY_THE_PACKAGES)
def test_rouge_l_is_that_of_google(
    prediction: str, reference: str, google: tuple[float, ...], _rouge: tuple[float, ...]
) -> None:
    score = rouge_l(google_words(prediction), google_words(reference))
    assert (score.precision, score.recall, score.f1) == pytest.approx(google, abs=1e-12)


@pytest.mark.parametrize(("prediction", "reference", "_google", "rouge"), BY_THE_PACKAGES)
def test_summary_rouge_l_is_that_of_the_package_rouge(
    prediction: str, reference: str, _google: tuple[float, ...], rouge: tuple[float, ...]
) -> None:
    score = summary_rouge_l(spaced_sentences(prediction), spaced_sentences(reference))
    assert (score.precision, score.recall) == pytest.approx(rouge, abs=1e-12)


# By rouge_score 0.1.2 (rouge1 and rouge2, no stemmer).
RUNS_BY_GOOGLE = [
    (
        "I keep the lamp, and the lamp keeps me.",
        "The lamp keeps me; I keep the lamp.",
        (0.8888888888888888, 1.0, 0.9411764705882353),
        (0.75, 0.8571428571428571, 0.7999999999999999),
    ),
    (
        "Wipe your feet. Sit by the stove. I have a glass to do.",
        "Sit by the stove, and wipe your feet first. I have the glass to do yet.",
        (0.9230769230769231, 0.75, 0.8275862068965517),
        (0.6666666666666666, 0.5333333333333333, 0.5925925925925926),
    ),
    # What stands three times in one text and once in the other counts once.
    (
        "the the the lamp",
        "the lamp the",
        (0.75, 1.0, 0.8571428571428571),
        (0.3333333333333333, 0.5, 0.4),
    ),
]


@pytest.mark.parametrize(("prediction", "reference", "ones", "twos"), RUNS_BY_GOOGLE)
def test_rouge_1_and_2_are_those_of_google(
    prediction: str, reference: str, ones: tuple[float, ...], twos: tuple[float, ...]
) -> None:
    predicted, expected = google_words(prediction), google_words(reference)
    assert rouge_n(predicted, expected, 1) == pytest.approx(ones, abs=1e-12)
    assert rouge_n(predicted, expected, 2) == pytest.approx(twos, abs=1e-12)


@pytest.mark.parametrize(
    ("reply", "reference", "f1", "recall"),
    [
        # By hand: 俺老孙也 of five characters; with marks five of six, but 。 is not ！.
        ("俺老孙来也！", "俺老孙去也。", 4 / 5, 4 / 6),
        # 尔等退下 of eight characters; with "，" or "。" behind it five of ten.
        ("朕乃天子，尔等退下。", "尔等退下，朕要歇息。", 1 / 2, 1 / 2),
        # A number is one word: 31 天 of three words. By rouge 3 1 天 of four characters.
        ("共31天.", "是31天.", 2 / 3, 3 / 4),
    ],
)
def test_chinese_is_compared_character_by_character(
    reply: str, reference: str, f1: float, recall: float
) -> None:
    assert MEASURES["rouge-l-f1"](reply, [reference], "zh") == pytest.approx(f1)
    assert MEASURES["paper"](reply, [reference], "zh") == pytest.approx(recall)


def test_length_costs_by_f1_and_not_by_the_measure_of_the_paper() -> None:
    reply, reference = "I keep the lamp.", ["I keep the lamp."]
    longer = reply + " And I have much else to say, none of which was asked for."
    assert MEASURES["paper"](longer, reference, "en") == MEASURES["paper"](reply, reference, "en") == 1
    assert (
        MEASURES["rouge-l-f1"](longer, reference, "en")
        < 0.5
        < MEASURES["rouge-l-f1"](reply, reference, "en")
    )


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("reply", "reference"), [("", "lamp"), ("lamp", ""), ("", "")])
def test_an_empty_text_has_nothing_in_common(
    name: str, language: Language, reply: str, reference: str
) -> None:
    assert MEASURES[name](reply, [reference], language) == 0


def test_marks_alone_are_no_words() -> None:
    assert MEASURES["rouge-l-f1"]("?!...", ["?!..."], "en") == 0
    assert MEASURES["rouge-l-f1"]("？！。", ["？！。"], "zh") == 0
    assert MEASURES["paper"]("...", ["..."], "en") == 0


@pytest.mark.parametrize("name", MEASURES)
def test_without_a_reference_there_is_no_score(name: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        MEASURES[name]("lamp", [], "en")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's 10 o'CLOCK_now", ["it", "s", "10", "o", "clock", "now"]),
        # As rouge_score 0.1.2: what is not ASCII in lower case parts words.
        ("Café \u212aelvin İn ½ ２ \ud800", ["caf", "kelvin", "i", "n"]),
    ],
)
def test_google_s_words_are_runs_of_small_latin_letters_and_digits(text: str, words: list[str]) -> None:
    assert google_words(text) == words


def test_jieba_s_words_are_runs_of_characters_without_marks() -> None:
    # By jieba 0.42.1, whose words rjieba's are.
    assert jieba_words("俺老孙来也，大闹天宫！OK") == ["俺", "老", "孙来", "也", "大闹天宫", "ok"]
    assert jieba_words("\ud800，") == []


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", " ", " ", ".", "A", "天", "，"]), max_size=40).map(
    "".join
)
ANY_TEXT = st.text(max_size=30) | TEXTS


@examples(1.5)
@given(ANY_TEXT, ANY_TEXT)
def test_rouge_l_measures_a_longest_common_subsequence(prediction: str, reference: str) -> None:
    predicted, expected = google_words(prediction), google_words(reference)
    longest = lengths(predicted, expected)[len(predicted)][len(expected)]
    score = rouge_l(google_words(prediction), google_words(reference))
    assert score.precision == pytest.approx(longest / max(len(predicted), 1))
    assert score.recall == pytest.approx(longest / max(len(expected), 1))
    assert score.f1 == pytest.approx(2 * longest / max(len(predicted) + len(expected), 1))


@examples(1.5)
@given(ANY_TEXT, ANY_TEXT, st.integers(1, 3))
def test_rouge_n_counts_each_run_as_often_as_both_texts_have_it(
    prediction: str, reference: str, n: int
) -> None:
    predicted, expected = words_and_characters(prediction), words_and_characters(reference)
    own, other = (
        Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))
        for words in (predicted, expected)
    )
    both = (own & other).total()
    score = rouge_n(predicted, expected, n)
    assert score.precision == pytest.approx(both / max(own.total(), 1))
    assert score.recall == pytest.approx(both / max(other.total(), 1))
    assert score.f1 == pytest.approx(2 * both / max(own.total() + other.total(), 1))


@examples(1.5)
@given(ANY_TEXT, ANY_TEXT, st.sampled_from([spaced_sentences, character_sentences]))
@example("p q w", "q w p w. p", spaced_sentences)
@example("b a. . a", " . a b. a a", spaced_sentences)
def test_summary_rouge_l_counts_the_words_that_tables_of_lengths_lead_back_to(
    prediction: str, reference: str, sentences: Callable[[str], list[list[str]]]
) -> None:
    predicted, expected = sentences(prediction), sentences(reference)
    common = {word for two in expected for one in predicted for word in led_back(one, two)}
    score = summary_rouge_l(predicted, expected)
    assert score.precision == pytest.approx(len(common) / max(len(set().union(*predicted)), 1))
    assert score.recall == pytest.approx(len(common) / max(len(set().union(*expected)), 1))


def lengths(first: list[str], second: list[str]) -> list[list[int]]:
    """How long the longest common subsequence of every two beginnings is, by the recurrence itself."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, two in enumerate(second):
            same = table[i][j] + 1 if one == two else 0
            table[i + 1][j + 1] = max(same, table[i][j + 1], table[i + 1][j])
    return table


def led_back(predicted: list[str], expected: list[str]) -> list[str]:
    """The subsequence that rouge 1.0.1 reads out: equal words first, else what is longer."""
    table, words = lengths(expected, predicted), []
    i, j = len(expected), len(predicted)
    while i and j:
        if expected[i - 1] == predicted[j - 1]:
            words.append(expected[i - 1])
            i, j = i - 1, j - 1
        elif table[i - 1][j] > table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return words


@given(ANY_TEXT, ANY_TEXT, st.sampled_from(["en", "zh"]))
def test_scores_lie_between_0_and_1_and_f1_has_no_direction(
    first: str, second: str, language: Language
) -> None:
    for measure in MEASURES.values():
        assert 0 <= measure(first, [second], language) <= 1
    for name in ("rouge-1-f1", "rouge-2-f1", "rouge-l-f1"):
        there, back = MEASURES[name](first, [second], language), MEASURES[name](second, [first], language)
        assert there == pytest.approx(back)


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3), st.sampled_from(["en", "zh"]))
def test_a_text_is_wholly_like_itself_whatever_else_it_is_compared_with(
    text: str, others: list[str], language: Language
) -> None:
    words = words_and_characters(text) if language == "zh" else google_words(text)
    sentences = character_sentences(text) if language == "zh" else spaced_sentences(text)
    for name, shortest in (("rouge-1-f1", 1), ("rouge-2-f1", 2), ("rouge-l-f1", 1)):
        assert MEASURES[name](text, [*others, text], language) == (len(words) >= shortest)
    assert MEASURES["paper"](text, [*others, text], language) == bool(sentences)


def test_google_s_own_pair_of_texts_scores_as_with_google() -> None:
    folder = shared_data("rouge")
    prediction, target = ((folder / name).read_text() for name in ("prediction.txt", "target.txt"))
    # By rouge_score 0.1.2: both lines, and line by line.
    assert MEASURES["rouge-l-f1"](prediction, [target], "en") == pytest.approx(
        0.5045045045045046, abs=1e-12
    )
    by_line = [
        rouge_l(google_words(one), google_words(other))
        for one, other in zip(prediction.splitlines(), target.splitlines(), strict=True)
    ]
    assert [(score.precision, score.recall, score.f1) for score in by_line] == [
        pytest.approx((0.6875, 0.4074074074074074, 0.5116279069767441), abs=1e-12),
        pytest.approx((0.6538461538461539, 0.40476190476190477, 0.5), abs=1e-12),
    ]


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("Wipe your feet,\n and sit -- by the stove.", "en", 9),
        ("俺老孙，去 也！", "zh", 5),
        ("共31天。\n", "zh", 4),
        ("", "en", 0),
        (" ……！", "zh", 0),
    ],
)
def test_a_reply_is_as_long_as_it_has_words_or_chinese_characters(
    text: str, language: Language, words: int
) -> None:
    assert word_count(text, language) == words
