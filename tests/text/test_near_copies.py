"""Copies and near-copies among many texts."""

from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.text.near_copies import near_copies

LINE = "You see, but you do not observe: it is a question of trifles, my dear fellow."


def test_a_copy_is_found_whatever_its_case_and_marks() -> None:
    texts = ["Nothing of the kind is here to be found.", LINE, LINE.upper().replace(",", " --")]
    assert list(near_copies(texts)) == [(1, 2, 1.0)]


def test_a_part_that_stands_in_a_longer_text_is_a_copy() -> None:
    ((first, second, share),) = near_copies([LINE, "He said it again. " + LINE + " And he went home then."])
    assert (first, second, share) == (0, 1, 1.0)


def test_texts_that_share_a_formula_are_none() -> None:
    texts = [
        "I do not know what you want from me, stranger.",
        "I do not know who sent you here at midnight.",
    ]
    assert list(near_copies(texts)) == []


def test_chinese_is_compared_by_its_characters() -> None:
    texts = [
        "俺老孙一个筋斗十万八千里，哪里去不得？",
        "他说：俺老孙一个筋斗十万八千里，厉害！",
        "床前明月光，疑是地上霜。",
    ]
    assert [(first, second) for first, second, _ in near_copies(texts)] == [(0, 1)]


def test_a_short_text_is_compared_whole() -> None:
    assert [pair[:2] for pair in near_copies(["Who are you?", "who are you", "Who am I?"])] == [(0, 1)]


WORDS = st.lists(
    st.sampled_from(["once", "upon", "a", "time", "there", "was", "one", "king", "and", "two", "queens"]),
    max_size=30,
)


@given(st.lists(WORDS.map(" ".join), max_size=12))
def test_every_pair_stands_in_order_and_every_copy_is_found(texts: list[str]) -> None:
    found = list(near_copies(texts))
    pairs = {(first, second) for first, second, _ in found}
    assert len(pairs) == len(found)
    assert all(first < second and 0.5 <= share <= 1 for first, second, share in found)
    for first, one in enumerate(texts):
        for second in range(first + 1, len(texts)):
            if one and one == texts[second]:
                assert (first, second) in pairs
