"""What is found in a transcript, and what is shown of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.hypotheses import examples
from helpers.texts import is_one_sentence
from helpers.transcripts import PERSONA, begin, say
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript import FoundMessage, Transcript
from rolellm_agents.transcript.search_words import keys_of

WORDS = [
    "moon",
    "MOON",
    "moonlight",
    "sun",
    "ﬁre",
    "fire",
    "café",
    "cafe",
    "Straße",
    "it's",
    "月",
    "亮",
    "月亮",
]
GAPS = [" ", ", ", "\n", " — ", "\x1b[1m "]


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with Transcript(tmp_path / "transcript.db") as opened:
        yield opened


@pytest.fixture
def conversation(transcript: Transcript) -> str:
    return transcript.create_conversation(PERSONA)


def found_texts(transcript: Transcript, query: str) -> list[str]:
    return [transcript.message(one.message).text for one in transcript.search(query)]


def marked(found: FoundMessage) -> list[str]:
    return [found.snippet[start:end] for start, end in found.hits]


def test_a_found_message_tells_where_it_stands_and_the_newest_comes_first(
    transcript: Transcript, conversation: str
) -> None:
    transcript.rename(conversation, "By night")
    line = say(transcript, conversation, None, "Look, the moon!")
    answer = say(transcript, conversation, line.id, "What moon?", speaker=PERSONA)
    say(transcript, conversation, answer.id, "Never mind.")

    newest, oldest = transcript.search("moon")

    assert newest == FoundMessage(
        conversation=conversation,
        message=answer.id,
        persona=PERSONA,
        title="By night",
        speaker=PERSONA,
        created=answer.created,
        snippet="What moon?",
        hits=((5, 9),),
    )
    assert (oldest.message, marked(oldest)) == (line.id, ["moon"])


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("moon", ["moon"]),
        ("MOON", ["moon"]),
        ("moo", None),
        ("moo*", ["moon"]),
        ("moon silver", ["silver", "moon"]),
        ("moon gold", None),
        ('"silver moon"', ["silver moon"]),
        ('"moon silver"', None),
        ('"silver moon', ["silver moon"]),
        ('"the silver mo"*', ["The silver moon"]),
        ("“silver moon”", ["silver moon"]),
        ("cafe", ["café"]),
        ("CAFÉ", ["café"]),
        ("strasse", ["Straße"]),
        ("isn't", ["isn’t"]),
        ("isn", ["isn"]),
        ("月亮", ["月亮"]),
        ("月", ["月"]),
        ("的月", ["的月"]),
        ("亮月", None),
        ("月亮 moon", ["moon", "月亮"]),
        ("ＭＯＯＮ", ["moon"]),
        ("1969", ["1969"]),
        ("moon moon", ["moon"]),
        ("moon*", ["moon"]),
        ("*", None),
        ("!? --", None),
        ("", None),
        ('"" "', None),
        ("moon AND gold", None),
        ("NOT", ["not"]),
        ("moon)", ["moon"]),
        ("words : moon", None),
        ("silver-moon", ["silver moon"]),
        ("x" * 900, None),
    ],
)
def test_words_phrases_and_beginnings_are_found_and_nothing_else(
    transcript: Transcript, conversation: str, query: str, hits: list[str] | None
) -> None:
    text = "The silver moon of 1969 is not a café in the Straße; isn’t the 的月亮 it?"
    say(transcript, conversation, None, text)
    say(transcript, conversation, None, "Something else, twice: something.")

    found = transcript.search(query)

    assert [marked(one) for one in found] == ([] if hits is None else [hits])


def test_every_hit_is_marked_and_those_that_overlap_are_one(
    transcript: Transcript, conversation: str
) -> None:
    say(transcript, conversation, None, "One two three; two three one.")

    (found,) = transcript.search('"two three" "three one" one')

    assert marked(found) == ["One", "two three", "two three one"]


def test_a_snippet_is_one_line_around_the_first_hit_and_safe_to_show(
    transcript: Transcript, conversation: str
) -> None:
    say(transcript, conversation, None, "before " * 50 + "\x1b[31mthe\nmoon\u202e rose " + "after " * 50)

    (found,) = transcript.search('"the moon"')

    assert found.snippet.startswith("…")
    assert found.snippet.endswith("…")
    assert "before the moon rose after" in found.snippet
    assert found.snippet.isprintable()
    assert len(found.snippet) < 130
    assert marked(found) == ["the moon"]


@pytest.mark.parametrize("length", [63, 64, 65, 100, 40_000])
def test_a_word_of_any_length_is_found_by_itself_and_by_its_beginning(
    transcript: Transcript, conversation: str, length: int
) -> None:
    say(transcript, conversation, None, "a " + "x" * length + " b")

    for query in ("x" * min(length, 1000), "xxx*", '"a xx"*'):
        assert len(transcript.search(query)) == 1


def test_search_can_be_narrowed_to_a_persona_and_to_the_newest(
    transcript: Transcript, conversation: str
) -> None:
    other = transcript.create_conversation("li-bai")
    for number in range(5):
        say(transcript, conversation, None, f"moon {number}")
        say(transcript, other, None, f"moon of Li Bai's {number}")

    assert [one.snippet for one in transcript.search("moon", limit=3)] == [
        "moon of Li Bai's 4",
        "moon 4",
        "moon of Li Bai's 3",
    ]
    assert [one.snippet for one in transcript.search("moon", persona=PERSONA, limit=2)] == [
        "moon 4",
        "moon 3",
    ]
    assert transcript.search("moon", persona="nobody") == []
    assert transcript.search("moon", limit=0) == []


def test_swipes_and_put_away_conversations_are_found_too(transcript: Transcript, conversation: str) -> None:
    line = say(transcript, conversation, None, "Well?")
    for number in range(2):
        say(transcript, conversation, line.id, f"The moon, {number}.", speaker=PERSONA)
    transcript.archive(conversation)

    assert found_texts(transcript, "moon") == ["The moon, 1.", "The moon, 0."]


def test_what_was_cut_off_is_found_also_between_its_pieces_and_by_whoever_opens_the_file(
    transcript: Transcript, conversation: str, tmp_path: Path
) -> None:
    older = say(transcript, conversation, None, "Moonlight.")
    cut = begin(transcript, conversation, older.id, "The moo", "nlight fell")
    newer = say(transcript, conversation, cut, "The moonlight?")

    with Transcript(tmp_path / "transcript.db") as reader:
        assert [one.message for one in reader.search("moonlight")] == [newer.id, cut, older.id]
    transcript.end(cut, "The sunlight fell", "complete")
    assert [one.message for one in transcript.search("moonlight")] == [newer.id, older.id]
    assert [one.message for one in transcript.search("sunlight")] == [cut]


def test_a_search_that_is_too_long_is_refused_in_one_sentence(transcript: Transcript) -> None:
    for query in ("x" * 100_000, '"' * 100_000, "月" * 1001):
        with pytest.raises(MessageError, match="too long") as told:
            transcript.search(query)
        assert is_one_sentence(str(told.value))


QUERIES = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from(
            [*WORDS, "AND", "OR", "NOT", "NEAR(", ")", '"', "*", "^", ":", "-", "+", "{", "'", ";--"]
        ),
        max_size=12,
    ).map(" ".join),
    st.text(alphabet="\"*() '-^:月亮aé", max_size=30),
)
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)), max_size=8).map(
    lambda parts: "".join(word + gap for word, gap in parts)
)


@examples(1.5)
@given(st.lists(TEXTS | st.text(max_size=200), max_size=4), QUERIES)
def test_no_query_is_an_error_and_every_snippet_is_in_order(texts: list[str], query: str) -> None:
    with Transcript() as transcript:
        conversation = transcript.create_conversation(PERSONA)
        for text in texts:
            say(transcript, conversation, None, text)

        for found in transcript.search(query):
            assert found.snippet == "" or "\n" not in found.snippet
            assert found.hits
            places = [0, *(place for hit in found.hits for place in hit), len(found.snippet)]
            assert places == sorted(places)
            assert all(start < end for start, end in found.hits)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.sampled_from(["moon", "sun", "moonlight", "月", "亮"]))
def test_exactly_the_messages_with_a_word_are_found(texts: list[str], word: str) -> None:
    """Told here by splitting at the gaps, which is enough for these words."""
    with Transcript() as transcript:
        conversation = transcript.create_conversation(PERSONA)
        said = [say(transcript, conversation, None, text).id for text in texts]

        found = {one.message for one in transcript.search(word)}
        begun = {one.message for one in transcript.search(f"{word}*")}

    def has(text: str, *, beginning: bool) -> bool:
        plain = text.replace("\x1b[1m", "").lower().replace("—", " ").replace(",", " ")
        if word in "月亮":
            return word in plain
        return any(one.startswith(word) if beginning else one == word for one in plain.split())

    assert found == {id_ for id_, text in zip(said, texts, strict=True) if has(text, beginning=False)}
    assert begun == {id_ for id_, text in zip(said, texts, strict=True) if has(text, beginning=True)}


PRINTED = st.text(
    st.characters(exclude_categories=["Cc", "Cf", "Cs"], exclude_characters='"“”„«»'), max_size=60
)


@examples(1.5)
@given(PRINTED, st.data())
def test_whatever_stands_between_two_spaces_is_found_as_a_phrase(text: str, data: st.DataObject) -> None:
    parts = text.split()
    first = data.draw(st.integers(0, len(parts)))
    phrase = " ".join(parts[first : data.draw(st.integers(first, len(parts)))])
    with Transcript() as transcript:
        said = say(transcript, transcript.create_conversation(PERSONA), None, text)

        found = [one.message for one in transcript.search(f'"{phrase}"')]

    assert found == ([said.id] if keys_of(phrase) else [])
