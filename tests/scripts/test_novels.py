"""Novels: who says what to whom, by name, by pronoun and by turn."""

import random
from itertools import pairwise

import pytest
from helpers.shared_texts import shared_text
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.scripts.novel import read_novel
from rolellm_agents.scripts.paragraphs import paragraphs
from rolellm_agents.scripts.people import find_people
from rolellm_agents.scripts.quotations import marks_of, quotations
from rolellm_agents.scripts.reading import read_script
from rolellm_agents.scripts.script import ScriptPassage

STORY = """
Chapter 1

The lamp had been out for a week when Mrs. Hale came up the stairs with the oil.

"Who left the window open?" asked Mrs. Hale.

"I did," said Tom Carver. "The gulls wanted in."

"And did they come?"

"Two of them. One stayed for supper."

She laughed in spite of herself. "You are a fool, Tom," she said.

Tom put the can down and looked for a rag.

"My dear Mr. Carver," began Mrs. Hale once more, "where is Anna?"

Before he could answer, Anna put her head round the door.

"Here," said Anna.

Chapter 2

It rained until Thursday, and nobody climbed the stairs at all. The road was under water as far as the mill,
and the boat lay upside down in the orchard.

On Friday the sun came out, and with it the whole village.

"I do not like it," said Tom to Anna.

"Neither do I," replied the girl.

"Then why are we smiling?"

"Because of the gulls, Tom."
"""

FIRST_PERSON = """
Chapter 1

I was at breakfast in Baker Street when Holmes threw the letter across the table.

"Read it, Watson," said Holmes, "and tell me who wrote it."

"A doctor," said I. "The hand is dreadful."

"Excellent, Watson! And where?"

"I cannot tell," I answered.

He laughed. Baker Street was full of fog, and he lit the gas.

"In Norwood, my dear Watson," he said. "The clay is on the envelope."

Mr. Henry Baker came up the stairs, and behind him Lord St. Simon.

"I have lost a goose," said Mr. Baker.

"And I have lost a wife," said Lord St. Simon.

"How very awkward," I remarked.

"Watson, the brandy," cried Holmes.

"In a moment," said I.

We walked to Lord Street afterwards. Lord St. Simon had gone.

"He was lying," said he.

"About the wife?" I asked.

"About the goose, Watson."
"""

CHINESE = """
第一回

大雨下了三天，桥也断了。王掌柜站在门口看天。

王掌柜叹道：“这雨再不停，米就要霉了。”

李二笑道：“掌柜的，霉了正好酿酒。”

王掌柜骂道：“你就知道酒！”

“不知道酒，知道什么？”李二说。

王掌柜说道：“知道还钱。”

李二问道：“还谁的钱？”

他道：“还我的钱。”
"""


def spoken(text: str, language: str = "en") -> list[tuple[str, str, str]]:
    script = read_novel(text, "story", "zh" if language == "zh" else "en")
    assert script is not None
    return [(p.speaker, p.certainty, p.speech) for p in script.passages if p.speech]


def test_names_pronouns_and_turns() -> None:
    assert [(speaker, certainty) for speaker, certainty, _ in spoken(STORY)] == [
        ("Mrs. Hale", "named"),
        ("Tom", "named"),
        ("Mrs. Hale", "turn"),
        ("Tom", "turn"),
        ("Mrs. Hale", "pronoun"),
        ("Mrs. Hale", "named"),
        ("Anna", "named"),
        ("Tom", "named"),
        ("Anna", "pronoun"),
        ("Tom", "turn"),
        ("Anna", "turn"),
    ]


def test_a_narrator_speaks_under_the_name_by_which_others_call_him() -> None:
    who = {speech.split(",")[0]: speaker for speaker, _, speech in spoken(FIRST_PERSON)}
    assert [text for text, speaker in who.items() if speaker == "Watson"] == [
        "A doctor",
        "I cannot tell",
        "How very awkward",
        "In a moment",
        "About the wife?",
    ]
    assert who["He was lying"] == who["About the goose"] == who["In Norwood"] == "Holmes"


def test_streets_are_no_people_and_saints_names_are_whole() -> None:
    said = {speaker: speech for speaker, _, speech in spoken(FIRST_PERSON)}
    assert said["Mr. Baker"] == "I have lost a goose,"
    assert said["St. Simon"] == "And I have lost a wife,"
    assert set(said) == {"Holmes", "Watson", "Mr. Baker", "St. Simon"}


def test_a_narrator_whom_nobody_names_is_called_the_narrator() -> None:
    nameless = FIRST_PERSON.replace(", Watson", "").replace(", my dear Watson", "").replace("Watson, ", "")
    assert "the narrator" in {speaker for speaker, _, _ in spoken(nameless)}


def test_a_speech_is_put_together_from_its_pieces() -> None:
    words = [speech for _, _, speech in spoken(STORY)]
    assert words[1] == "I did, The gulls wanted in."
    assert words[5] == "My dear Mr. Carver, where is Anna?"


def test_places_are_chapters_and_lines() -> None:
    script = read_novel(STORY, "story", "en")
    assert script is not None
    passage = next(passage for passage in script.passages if passage.speech.startswith("I do not like"))
    line = int(passage.place.removeprefix("Chapter 2, line "))
    assert STORY.split("\n")[line - 1].startswith('"I do not like')


def test_chinese_speakers_stand_before_the_colon() -> None:
    assert [speaker for speaker, _, _ in spoken(CHINESE, "zh")] == [
        *("王掌柜", "李二", "王掌柜", "李二", "王掌柜", "李二"),
        "",  # 他 may be either
    ]


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("“Come,” she said, “now.”", ["Come,", "now."]),
        ('"Come," she said, "now."', ["Come,", "now."]),
        ("‘It’s the sailors’ lamp,’ said Ann, ‘isn’t it?’", ["It’s the sailors’ lamp,", "isn’t it?"]),
        ("「来」她说「吧」", ["来", "吧"]),
    ],
)
def test_marks_of_many_habits(marked: str, words: list[str]) -> None:
    marks = marks_of("\n".join([marked] * 5))
    assert marks is not None
    found, is_open = quotations(marked, marks)
    assert ([quotation.words for quotation in found], is_open) == (words, False)


def test_a_speech_of_several_paragraphs_has_one_speaker() -> None:
    text = STORY.replace(
        '"I did," said Tom Carver. "The gulls wanted in."',
        '"I did," said Tom Carver. "The gulls wanted in.\n\n"And I was alone.\n\n"It was late."',
    )
    assert [speaker for speaker, _, _ in spoken(text)][1:5] == ["Tom", "Tom", "Tom", "Mrs. Hale"]


def test_lines_that_all_stand_alone_are_put_together_again() -> None:
    lines = [
        "The lamp had been out for a week when at last somebody",
        "came up the stairs with the oil, and sat down.",
        '"Who left the window open, and for how long, if I may',
        'ask you that?" said Ann.',
        '"I did."',
    ] * 6
    found = [text for _, text in paragraphs("\n\n".join(lines))]
    assert len(found) == 18
    assert found[1] == '"Who left the window open, and for how long, if I may ask you that?" said Ann.'


def test_names_of_one_person_are_put_together() -> None:
    names = [
        "Elizabeth",
        "Miss Elizabeth Bennet",
        "Elizabeth",
        "Mrs. Bennet",
        "Mr. Darcy",
        "Darcy",
        "Miss Darcy",
    ]
    people = find_people([*names, "Mr. Darcy"], "Elizabeth put down her book. Elizabeth took up her pen.")
    assert people.find("Miss Elizabeth Bennet") == people.find("Elizabeth") == "Elizabeth"
    assert people.find("Darcy") == people.find("Mr. Darcy") != people.find("Miss Darcy")
    assert people.find("Mrs. Bennet") == "Mrs. Bennet"
    assert people.gender["Elizabeth"] == "she"
    assert people.gender["Mr. Darcy"] == "he"


def test_a_text_in_which_nobody_speaks_is_no_novel() -> None:
    assert read_novel("It rained. " * 500, "rain", "en") is None


@given(st.text(alphabet="“”\"'‘’AaBb, .!?\n说道：王", max_size=400))
def test_no_text_breaks_the_reader(text: str) -> None:
    script = read_novel(text, "x", "zh" if "王" in text else "en")
    if script:
        assert all(
            passage.place and (passage.certainty != "none") == bool(passage.speaker)
            for passage in script.passages
        )


def sample(passages: tuple[ScriptPassage, ...]) -> list[tuple[ScriptPassage, ScriptPassage]]:
    """Passages whose speaker is said to be named, each with the one before it."""
    named = [pair for pair in pairwise(passages) if pair[1].certainty == "named"]
    return random.Random(5).sample(named, 40)


@pytest.mark.parametrize(
    ("book", "role", "at_least", "known"),
    [("pride_and_prejudice.txt", "Elizabeth", 300, 0.85), ("11_alice.txt", "Alice", 230, 0.95)],
)
def test_whole_novels(book: str, role: str, at_least: int, known: float) -> None:
    script = read_script(shared_text(book))
    speeches = [passage for passage in script.passages if passage.speech]
    assert script.kind == "novel"
    assert script.speakers().most_common(1)[0][0] == role
    assert script.speakers()[role] >= at_least
    assert sum(bool(passage.speaker) for passage in speeches) >= known * len(speeches)
    for before, passage in sample(script.passages):
        assert passage.speaker.split()[-1] in before.text + passage.text
