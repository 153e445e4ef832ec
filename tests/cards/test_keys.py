import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.cards.lore import keys
from rolellm_agents.cards.lore.js_regex import Translated, translate
from rolellm_agents.cards.lore.keys import (
    Fault,
    KeyIndex,
    LoreKey,
    Matching,
    PatternSearch,
    SearchedText,
    fold,
    parse_key,
)
from rolellm_speed.lore import measure_lore


def key(text: str) -> LoreKey:
    found = parse_key(text)
    assert found is not None
    return found


def matches(expression: str, text: str) -> bool:
    return PatternSearch().search(key(expression), lambda: text) is not None


def has(text: str, wanted: str, *, case: bool = False, whole: bool = False) -> bool:
    return SearchedText(text).has(key(wanted), Matching(case_sensitive=case, whole_words=whole))


@pytest.mark.parametrize(
    ("text", "source", "flags"),
    [
        ("/drag.n/", "drag.n", ""),
        ("  /drag.n/gi ", "drag.n", "gi"),
        (r"/and\/or/i", r"and\/or", "i"),
        (r"/a\\/", r"a\\", ""),
        ("/a\nb/", "a\nb", ""),
        ("/and/or/", None, ""),
        ("/dragon/x", None, ""),
        ("/dragon", None, ""),
        ("dragon/", None, ""),
        ("//", None, ""),
        (r"/a\/", None, ""),
        ("/[/]/", None, ""),
        ("either/or/i", None, ""),
    ],
)
def test_a_key_is_a_regular_expression_only_by_its_slashes(
    text: str, source: str | None, flags: str
) -> None:
    assert (key(text).source, key(text).flags) == (source, flags)


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_an_empty_key_is_none(text: str) -> None:
    assert parse_key(text) is None


@pytest.mark.parametrize(
    ("expression", "text", "found"),
    [
        ("/dragon/", "a dragonfly", True),
        ("/dragon/", "a Dragon", False),
        ("/dragon/i", "a Dragon", True),
        ("/дракон/i", "ДРАКОН", True),
        ("/^b/", "a\nb", False),
        ("/^b/m", "a\nb", True),
        ("/a$/", "a\n", False),
        ("/a$/", "ba", True),
        ("/a$/m", "a\nb", True),
        ("/[$]/", "$", True),
        ("/a.b/", "a\nb", False),
        ("/a.b/s", "a\nb", True),
        ("/b/y", "ab", False),
        ("/a/gy", "ab", True),
        (r"/(?<x>ab)\k<x>/", "abab", True),
        (r"/(?<x>ab)\k<x>/", "abba", False),
        (r"/(?<!un)kind/", "unkind", False),
        (r"/(?<=un)kind/", "unkind", True),
        (r"/(?=ab)a(?!c)/", "ab", True),
        (r"/(a)(?:b)\1/", "aba", True),
        (r"/a\/b/", "a/b", True),
        (r"/\x01Ann:[^\x01]*?hello/", "\x01Bob: hello\n\x01Ann: oh", False),
        (r"/\x01Ann:[^\x01]*?hello/", "\x01Bob: hm\n\x01Ann: oh, hello", True),
        (r"/\u9f8d/", "龍", True),
        (r"/\u{1F409}/u", "🐉", True),
        (r"/\cJ/", "\n", True),
        (r"/\v\0/", "\x0b\x00", True),
        (r"/^\p{L}+$/u", "é", True),
        (r"/\p{L}/", "é", False),
        (r"/\p{L}/", "p{L}", True),
        # JavaScript's words and digits are ASCII's.
        (r"/\bAI\b/", "用AI写", True),
        (r"/\bAI\b/", "AIR", False),
        (r"/a\Bb/", "ab", True),
        (r"/^\w$/", "é", False),
        (r"/^\W$/", "é", True),
        (r"/^\d$/", "٣", False),
        (r"/^\D$/", "٣", True),
        (r"/^[\w-.]+$/", "a-b.c_9", True),
        (r"/^[\d\s]+$/", "1 2", True),
        (r"/^[^\w]$/", "é", True),
        (r"/[\b]/", "\b", True),
        # What means something to Python, and nothing to JavaScript.
        (r"/^[^]$/", "\n", True),
        ("/[]/", "anything", False),
        ("/a{b}/", "a{b}", True),
        ("/{{char}}/", "{{char}}", True),
        ("/x{2}/", "xx", True),
        ("/x{2,}y{1,3}/", "xxxyy", True),
        ("/a]/", "a]", True),
        (r"/^\m\Z$/", "mZ", True),
        ("/^[[:alpha:]]$/", "a]", True),
        ("/^[[:alpha:]]$/", "b", False),
        ("/[a&&b]/", "&", True),
        ("/(?:cat){e<=1}/", "cut", False),
    ],
)
def test_expressions_mean_what_they_mean_in_javascript(expression: str, text: str, found: bool) -> None:
    assert matches(expression, text) is found


@pytest.mark.parametrize(
    "expression",
    [
        "/(/",
        "/a/gg",
        "/[z-a]/",
        "/[a/",
        "/*/",
        r"/\k<x>/",
        "/(?R)/",
        "/(?P<x>a)/",
        "/(?#x)/",
        "/(?i)a/",
        "/a{1000000000}/",
        "/(?:a{200}){200}/",
        f"/{'a?' * 1001}/",
        f"/{'(?:' * 600}a{')' * 600}/",
    ],
)
def test_what_is_no_expression_matches_nothing(expression: str) -> None:
    search = PatternSearch()
    assert search.search(key(expression), lambda: expression + "a" * 2000) is None
    assert search.faults == {expression: "bad_regex"}


@pytest.mark.parametrize(
    ("attribute", "fault"),
    [("IN_ALL", "regex_timeout"), ("COMPILED", "regex_limit"), ("MOST", "regex_limit")],
)
def test_when_the_allowance_is_spent_no_expression_matches(
    attribute: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert matches("/a/", "a")
    monkeypatch.setattr(PatternSearch, attribute, 0)
    search = PatternSearch()
    assert search.search(key("/a/"), lambda: "a") is None
    assert search.faults == {"/a/": fault}


@pytest.mark.parametrize(("length", "found"), [(1_900, 105), (6, PatternSearch.MOST)])
def test_many_expressions_are_bounded_before_they_are_translated(
    length: int, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    translated: list[str] = []

    def counted(source: str, flags: str) -> Translated | None:
        translated.append(source)
        return translate(source, flags)

    monkeypatch.setattr(keys, "translate", counted)
    search = PatternSearch()
    for number in range(20_000):
        search.search(key(f"/{number:06}{'x' * (length - 6)}/"), lambda: "lamp")
    assert len(translated) == found
    assert list(search.faults.values()) == ["regex_limit"] * (20_000 - found)


def test_compiling_is_paid_once_for_each_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatternSearch, "COMPILED", 5)
    search = PatternSearch()
    found = [
        search.search(key(text), lambda: "abc") is not None for text in ("/ab/", "/ab/", "/ab/", "/bc/")
    ]
    assert found == [True, True, True, False]


def test_the_benchmark_finds_the_same_keys_in_both_ways() -> None:
    figures = measure_lore(entries=50, tokens=400, times=1)
    assert figures["found_by_scan"] == figures["found_by_loop"] > 0


HOSTILE = ["/(x+x+)+y/", "/^(?:(?:x?){40})*!$/", "/(?:x|x)*x(?:x|x)*z/", "/(x*)*(x*)*(x*)*w/", "/(a+)+$/"]


def test_hostile_expressions_end_in_time() -> None:
    search = PatternSearch()
    begun = time.process_time()
    for number in range(50):
        for expression in HOSTILE:
            search.search(
                key(expression.replace("x", "x" * (number + 1))), lambda: "x" * 5_000 + "yzw?" + "a" * 5_000
            )
    assert time.process_time() - begun < 10
    assert "regex_timeout" in search.faults.values()


@pytest.mark.parametrize(
    ("text", "wanted", "found"),
    [
        ("Long live the king!", "king", True),
        ("Long live the KING", "king", True),
        ("king", "king", True),
        ("not to my liking", "king", False),
        ("liking, the king", "king", True),
        ("king_of", "king", False),
        ("king2", "king", False),
        ("the king's", "king", True),
        ("the king’s", "king's", False),
        ("rock'n'roll", "rock'n'roll", True),
        ("rock'n'rolls", "rock'n'roll", False),
        ("I write C++.", "C++", True),
        ("I write C++20.", "C++", False),
        ("obj.C++", "C++", True),
        ("ObjC++", "C++", False),
        ("aC++", "C++", False),
        # A key of several words is looked for as it stands.
        ("the liking of it", "king of", True),
        # Letters of any script belong to a word.
        ("который", "кот", False),
        ("Кот спит", "кот", True),
        ("cafés", "café", False),
        ("un café.", "café", True),
        ("cafe\u0301", "cafe", False),
        # Where words are joined without spaces, there are no borders.
        ("黑龙出现了", "龙", True),
        ("東京タワー", "タワー", True),
        ("용이 나타났다", "용", True),
        ("用AI写", "AI", True),
        ("用AIR写", "AI", False),
        ("Smaug龙来", "龙", True),
        ("龙", "龍", False),
        # Every occurrence is tried.
        ("a.b" * 30 + " a.", "a.", True),
    ],
)
def test_whole_words(text: str, wanted: str, found: bool) -> None:
    assert has(text, wanted, whole=True) is found


def test_a_key_inside_too_many_longer_words_is_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST_PLACES", 3)
    assert has("xC++ xC++ C++", "C++", whole=True)
    assert not has("xC++ xC++ xC++ C++", "C++", whole=True)


@pytest.mark.parametrize(
    ("text", "wanted", "case", "found"),
    [
        ("not to my liking", "KING", False, True),
        ("not to my liking", "KING", True, False),
        ("not to my liKING", "KING", True, True),
        ("STRASSE", "straße", False, True),
        ("ΟΔΟΣ", "οδος", False, True),
        ("a b", "a  b", False, False),
    ],
)
def test_parts_of_words_and_case(text: str, wanted: str, case: bool, found: bool) -> None:
    assert has(text, wanted, case=case) is found


def test_whole_words_with_case() -> None:
    assert has("Rose", "Rose", case=True, whole=True)
    assert not has("a rose", "Rose", case=True, whole=True)
    assert not has("Roses", "Rose", case=True, whole=True)


few_letters = st.text(alphabet="abAB ._é龙ß", max_size=30)


@given(few_letters, st.text(alphabet="abB._é龙", min_size=1, max_size=4))
def test_a_whole_word_has_no_word_character_beside_it(text: str, wanted: str) -> None:
    letter = "[ab_éss]"
    before = "" if wanted.startswith("龙") else f"(?<!{letter})"
    after = "" if wanted.endswith("龙") else f"(?!{letter})"
    expected = re.search(before + re.escape(fold(wanted)) + after, fold(text)) is not None
    assert has(text, wanted, whole=True) is expected


@given(st.frozensets(st.text(alphabet="abc龙", min_size=1, max_size=keys.HEAD)), st.text(alphabet="abc龙"))
def test_the_index_finds_the_heads_that_are_there(heads: frozenset[str], text: str) -> None:
    assert KeyIndex(heads).heads_in(text) == {head for head in heads if head in text}


def test_the_index_finds_what_lies_across_its_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_SLICE", 3)
    heads = frozenset({"abcdefghijkl", "lm", "z"})
    assert KeyIndex(heads).heads_in("xxabcdefghijklmx") == {"abcdefghijkl", "lm"}


@given(st.text(alphabet=st.characters(), max_size=20), st.text(alphabet=st.characters(), max_size=20))
def test_any_key_is_found_in_a_text_around_it(before: str, wanted: str) -> None:
    parsed = parse_key(wanted)
    if parsed is None or parsed.source is not None:
        return
    text = SearchedText(f"{before} {parsed.text} {before}")
    assert parsed.head in KeyIndex(frozenset({parsed.head})).heads_in(text.folded)
    for case in (False, True):
        assert text.has(parsed, Matching(case, whole_words=False))


def test_half_a_surrogate_pair_is_found_and_is_nothing_else() -> None:
    assert has("a \ud83d b", "\ud83d")
    assert not has("a ? b", "\ud83d")


@given(st.from_regex(r"\A/(?:[^/\\]|\\.){1,30}/[gimsuy]{0,2}\Z"), st.text())
def test_any_expression_ends_with_a_match_or_none(expression: str, text: str) -> None:
    search = PatternSearch()
    match = search.search(key(expression), lambda: text)
    assert match is None or (0 <= match.start() <= match.end() <= len(text) and not search.faults)
