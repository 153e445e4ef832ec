"""A scene as a page of a novel."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from helpers.played_scene import play, tea_party

from rolellm_agents.scene.export import write_novel
from rolellm_agents.scene.loading import LoadedScene


def story(page: str) -> list[str]:
    """The paragraphs, with their marks."""
    found = re.search(r"<main>\n(.*)\n</main>", page, re.DOTALL)
    assert found
    return [unescape(one) for one in re.findall(r"<p>(.*?)</p>", found[1], re.DOTALL)]


def told(loaded: LoadedScene, *said: tuple[str, ...]) -> list[str]:
    return story(write_novel(loaded, play(loaded, *said)))


def test_speech_stands_in_quotes_with_its_speaker_between_the_sentences() -> None:
    assert told(
        tea_party(),
        ("ada", "say", 'I said "no". Must I say it again?'),
        ("cole", "say", "Yes!"),
        ("baker", "say", "please sit down, the two of you"),
    ) == [
        "“I said ‘no’,” says Ada Byron. “Must I say it again?”",
        "“Yes!” Dr. Cole exclaims.",
        "“Please sit down, the two of you,” the Baker puts in.",
    ]


def test_a_long_speech_has_its_speaker_before_it() -> None:
    words = " ".join(["and on it went"] * 20)

    assert told(tea_party(), ("ada", "say", words)) == [f"Ada Byron says: “And{words[3:]}.”"]


def test_two_who_take_turns_are_not_named_each_time_but_again_before_it_is_lost() -> None:
    paragraphs = told(
        tea_party(),
        *[(seat, "say", f"Number {number}.") for number, seat in enumerate(("ada", "cole") * 4)],
    )

    named = [bool(re.search("Ada|Cole", paragraph)) for paragraph in paragraphs]
    assert named == [True, True, False, False, True, False, False, True]


def test_whispers_are_told_with_whom_they_reach() -> None:
    whispers = told(
        tea_party(),
        ("ada", "whisper", "He lies.", "cole"),
        ("cole", "whisper", "I know.", "ada"),
        ("baker", "say", "What is it?"),
        ("ada", "whisper", "Nothing. Look away.", "cole", "baker"),
        ("cole", "whisper", "Hm."),
    )

    assert whispers == [
        "“He lies,” Ada Byron murmurs, low enough for Dr. Cole alone.",
        "“I know,” Dr. Cole whispers back.",
        "“What is it?” asks the Baker.",
        "“Nothing,” Ada whispers to the Baker and Dr. Cole. “Look away.”",
        "“Hm,” Dr. Cole mutters, too low for anybody to hear.",
    ]


def test_thoughts_are_set_apart_and_what_is_said_after_them_is_said_aloud() -> None:
    assert told(
        tea_party(),
        ("cole", "think", "He is lying."),
        ("cole", "say", "How interesting."),
        ("ada", "think", "So is he."),
        ("ada", "say", "Is it?"),
    ) == [
        '<em class="thought">He is lying,</em> Dr. Cole thinks. Aloud: “How interesting.”',
        '<em class="thought">So is he,</em> thinks Ada Byron. “Is it?” Ada says aloud.',
    ]


@pytest.mark.parametrize(
    ("done", "sentence"),
    [
        ("pours tea", "Ada Byron pours tea."),
        ("Pours tea.", "Ada Byron pours tea."),
        ("*quietly pours tea*", "Ada Byron quietly pours tea."),
        ("pour tea", "Ada Byron pours tea."),
        ("Ada pours tea!", "Ada pours tea!"),
        ("she pours tea", "She pours tea."),
        ("The kettle sings.", "The kettle sings."),
        ("pouring tea", "Ada Byron is pouring tea."),
        ("eyes narrowing", "Ada Byron’s eyes are narrowing."),
        ("hands tremble", "Ada Byron’s hands tremble."),
        ("sat down", "Ada Byron sat down."),
    ],
)
def test_what_is_done_becomes_a_sentence(done: str, sentence: str) -> None:
    assert told(tea_party(), ("ada", "act", done)) == [sentence]


def test_what_is_done_while_speaking_says_who_speaks() -> None:
    assert told(
        tea_party(),
        ("ada", "say", "*pours* Sugar? *waits* Or *no* sugar?"),
        ("cole", "say", "*smiling* None."),
        ("baker", "act", "takes three"),
        ("baker", "say", "Thank you."),
    ) == [
        "Ada Byron pours. “Sugar?” Ada waits. “Or <em>no</em> sugar?”",
        "Smiling, Dr. Cole answers: “None.”",
        "The Baker takes three. “Thank you.”",
    ]


def test_what_comes_of_an_act_stands_with_it() -> None:
    assert told(
        tea_party(), ("ada", "act", "lifts the lid"), ("narrator", "narrate", "The pot is empty")
    ) == ["Ada Byron lifts the lid. The pot is empty."]


def test_words_that_are_prose_already_are_left_and_the_speaker_named() -> None:
    assert told(
        tea_party(),
        ("cole", "say", '"Well," he says, "here we are."'),
        ("ada", "say", '"Quite so."'),
        ("ada", "say", '"I know," comes the answer.'),
    ) == [
        "“Well,” Dr. Cole says, “here we are.”",
        "“Quite so,” says Ada Byron.",
        "Ada speaks. “I know,” comes the answer.",
    ]


def test_titles_and_initials_end_no_sentence() -> None:
    assert told(tea_party(), ("ada", "say", "Ask Dr. Cole. He knows.")) == [
        "“Ask Dr. Cole,” says Ada Byron. “He knows.”"
    ]


def test_people_are_called_as_the_others_call_them() -> None:
    cast = [{"id": "h", "name": "Sherlock Holmes"}, {"id": "w", "name": "John Watson"}]
    loaded = tea_party(cast=cast)

    assert told(loaded, ("h", "act", "nods"), ("w", "say", "Holmes!"), ("h", "act", "sighs")) == [
        "Sherlock Holmes nods.",
        "“Holmes!” exclaims John Watson.",
        "Holmes sighs.",
    ]


def test_a_name_that_two_share_is_never_shortened_to_it() -> None:
    cast = [{"id": "s", "name": "Sherlock Holmes"}, {"id": "m", "name": "Mycroft Holmes"}]
    loaded = tea_party(cast=cast)

    paragraphs = told(loaded, *[(seat, "act", "nods at Holmes") for seat in "smsm"])

    assert paragraphs[2:] == ["Sherlock nods at Holmes.", "Mycroft nods at Holmes."]


def test_chinese_prose_has_chinese_quotes_and_turns_of_phrase() -> None:
    assert told(
        tea_party("zh"),
        ("ada", "say", '请坐。他说"茶好"。'),
        ("baker", "say", "*拍案* 好茶！（坐下）"),
        ("cole", "whisper", "别喝。", "ada"),
        ("ada", "whisper", "为何？", "cole"),
        ("cole", "think", "他不信我。"),
        ("cole", "say", "天晚了。"),
    ) == [
        "李白道：“请坐。他说‘茶好’。”",
        "张飞拍案，叫道：“好茶！”说着坐下。",
        "孙悟空压低声音，只对李白说：“别喝。”",
        "李白也低声道：“为何？”",
        '孙悟空心想：<em class="thought">他不信我。</em>开口道：“天晚了。”',
    ]


def test_an_event_begins_a_new_section_after_some_paragraphs_and_not_before() -> None:
    loaded = tea_party()
    talk = [(seat, "say", f"Number {number}.") for number, seat in enumerate(("ada", "cole") * 10)]
    clock = ("narrator", "narrate", "The clock strikes.")

    early = write_novel(loaded, play(loaded, *talk[:3], clock, *talk))
    late = write_novel(loaded, play(loaded, *talk, clock, *talk))

    assert "<hr>" not in early
    assert "<hr>\n<p>The clock strikes.</p>" in late


def test_a_page_is_whole_escaped_and_asks_for_nothing() -> None:
    loaded = tea_party()
    evil = '</p><script src="https://x.example/a.js">alert(1)</script><img onerror=x> & &amp;'

    page = write_novel(loaded, play(loaded, ("ada", "say", evil), ("cole", "act", f"*{evil}*")))

    tags = Tags()
    tags.feed(page)
    assert {"script", "img", "link"}.isdisjoint(tags.seen)
    assert "<title>Tea &amp; &lt;Letters&gt;</title>" in page
    assert "url(" not in page
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_a_page_tells_its_language() -> None:
    assert '<html lang="zh-Hans">' in write_novel(tea_party("zh"), [])
    assert '<html lang="en">' in write_novel(tea_party(), [])


class Tags(HTMLParser):
    """Which tags there are."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
