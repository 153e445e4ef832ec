"""Labels: what is wrong with a question or an answer, and what is not."""

import pytest
from helpers.shared_data import shared_data
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets import find_file, read_samples
from rolellm_agents.generation.questions import Confidence
from rolellm_agents.persona import Demonstration, Persona, list_personas
from rolellm_agents.reply_checks.labels import (
    answer_labels,
    closeness,
    is_incomplete,
    is_repetitive,
    question_labels,
    repeats_earlier,
)

REPLY = "I light the lamp at dusk, upon my oath, and no storm has ever put it out while I was there."
ADA = Persona(
    id="ada",
    name="Ada Lighthouse",
    description=(
        "Ada Lighthouse keeps the lamp on Gull Rock, trusts nobody with dry boots, and swears by her oath."
    ),
    demonstrations=(Demonstration(user="Who lights the lamp?", reply=REPLY),),
)
FEI = Persona(id="fei", name="张飞", language="zh", description="张飞，燕人，性如烈火。")
PROMPT = "Write two questions that a visitor could put to Ada about the numbered lines below, in JSON."


def asked(
    text: str,
    *,
    persona: Persona = ADA,
    confidence: Confidence = "high",
    segment: str | None = None,
) -> list[str]:
    unsure = confidence == "low"
    return [*question_labels(text, persona, is_unsure=unsure, segment=segment, templates=[PROMPT])]


def answered(text: str, *, persona: Persona = ADA, question: str = "Who?") -> list[str]:
    return [*answer_labels(text, persona, question=question, templates=[PROMPT])]


@pytest.mark.parametrize(
    "text",
    [
        "Ada Lighthouse, why do you light the lamp on Gull Rock yourself?",
        "Ada, what was the worst storm on Gull Rock?",
        "What was the worst storm on Gull Rock, Ada Lighthouse?",
        "How do you treat a guest when he arrives with dry boots?",
        "What did Ben tell you when he left?",
        "Tell me about the night of the great storm.",
        "Is she your sister, the woman who sells herrings?",
    ],
)
def test_a_good_question_has_no_label(text: str) -> None:
    if text.startswith("Is she"):
        assert asked(text) == ["incomplete"]
    else:
        assert asked(text) == []


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("What did he say to you then?", "incomplete"),
        ("Ada, what did she give you?", "incomplete"),
        ("Why you?", "incomplete"),
        ("Ada keeps the lamp on Gull Rock.", "incomplete"),
        ("What is this passage about, Ada?", "incomplete"),
        ("What is told in line 3?", "incomplete"),
        ("Why does Ada Lighthouse keep the lamp?", "wrong-person"),
        ("你为什么一个人点灯，阿达？", "wrong-language"),
        ("Ada, what is {theme} to you?", "leaked-template"),
        ("<|im_start|>Ada, who are you really?", "leaked-template"),
        ("Ada, a visitor could put to Ada about the numbered lines, could you?", "leaked-template"),
        ("numbered lines below, in JSON", "leaked-template"),
    ],
)
def test_a_question_with_a_fault_is_labelled(text: str, label: str) -> None:
    assert label in asked(text)


def test_the_models_own_doubt_is_a_label() -> None:
    assert asked("Ada, why do you light the lamp yourself?", confidence="low") == ["low-confidence"]


def test_what_the_segment_does_not_speak_of_is_labelled() -> None:
    segment = "Ada Lighthouse: The herring boats came in before the storm, and Ben was not aboard."
    assert asked("Ada, was Ben aboard the herring boats?", segment=segment) == []
    assert asked("Ada, what do you think of the emperor's new palace?", segment=segment) == [
        "not-in-segment"
    ]
    assert closeness("Ada Lighthouse?", segment, ADA) <= 1


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("张飞，你为什么在长坂桥上大喝一声？", []),
        ("张飞，长坂桥一战是怎么打的？", []),
        ("张飞为什么在长坂桥上大喝一声？", ["wrong-person"]),
        ("你为什么恨他？", []),
        ("他对你说了什么？", ["incomplete"]),
        ("这段文字里你在做什么？", ["incomplete"]),
        ("Why did you shout on the bridge?", ["wrong-language"]),
    ],
)
def test_chinese_questions_are_judged_too(text: str, labels: list[str]) -> None:
    if text == "你为什么恨他？":
        assert not is_incomplete("你为什么恨曹操？", FEI)
    else:
        assert asked(text, persona=FEI) == labels


@pytest.mark.parametrize(
    "text",
    [
        "I light it at dusk, and nobody asks me why.",
        "Ada Lighthouse, at your service; I keep the lamp.",
        "No. The sea takes what it wants.",
        "Ask the gulls!",
    ],
)
def test_a_good_answer_has_no_label(text: str) -> None:
    assert answered(text) == []


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("", "empty"),
        ("… —", "empty"),
        ("I'm sorry, but I cannot provide that information.", "refusal"),
        ("I am sorry, I can't help with that.", "refusal"),
        ("I cannot assist anybody with such things.", "refusal"),
        ("As an AI language model I have no lamp.", "ai-talk"),
        ("I will stay in character as Ada.", "out-of-role"),
        ("In the style of a keeper: the lamp is lit.", "out-of-role"),
        ("Ada Lighthouse keeps the lamp, and she is proud of it.", "wrong-person"),
        ("I think Ada Lighthouse would not be so wrong.", "wrong-person"),
        ("I know the lamp and the rock, Ada.", "wrong-person"),
        ("Question: who lights the lamp?", "leaked-template"),
        ('{"question": "Who?"}', "leaked-template"),
        ("我点灯，一向如此。", "wrong-language"),
        (REPLY, "copied"),
        (REPLY + " Yes.", "copied"),
        (ADA.description.replace("Ada Lighthouse", "Ada"), "copied"),
        ("The lamp burns. The lamp burns. The lamp burns.", "repetitive"),
        ("so I went on and on " * 12, "repetitive"),
    ],
)
def test_an_answer_with_a_fault_is_labelled(text: str, label: str) -> None:
    assert label in answered(text)


def test_the_question_said_once_more_is_copied() -> None:
    question = "Ada, why do you light the lamp on Gull Rock yourself every evening?"
    assert "copied" in answered(question.replace("Ada, why", "Why"), question=question)
    assert "copied" not in answered(
        f"Why do you ask? {REPLY[:20]} It is my father's lamp.", question=question
    )


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("俺老张大喝一声，桥也断了！", []),
        ("抱歉，我不能回答这个问题。", ["refusal"]),
        ("作为一个人工智能，我没有桥。", ["ai-talk"]),
        ("张飞是一员猛将，性如烈火。", ["wrong-person"]),
        ("我以张飞的口吻来回答：桥断了。", ["out-of-role"]),
        ("I shouted on the bridge.", ["wrong-language"]),
        ("回答：桥断了，我走了。", ["leaked-template"]),
    ],
)
def test_chinese_answers_are_judged_too(text: str, labels: list[str]) -> None:
    assert answered(text, persona=FEI) == labels


@given(st.text(max_size=200), st.sampled_from([ADA, FEI]))
def test_no_text_makes_them_fail_and_no_label_comes_twice(text: str, persona: Persona) -> None:
    for labels in (
        answered(text, persona=persona, question=text),
        asked(text, persona=persona, segment=text),
    ):
        assert len(set(labels)) == len(labels)
    assert is_repetitive(text) in (True, False)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_published_answers_are_nearly_all_clean(language: str) -> None:
    by_name = {found.persona.name: found.persona for found in list_personas().found}
    file = find_file(
        shared_data("rolebench"),
        "train",
        kind="role_specific",
        language="zh" if language == "zh" else "en",
    )
    samples = [sample for sample in read_samples(file)[:600] if sample.role in by_name]
    assert len(samples) > 300
    faults = [
        sample
        for sample in samples
        if answer_labels(
            sample.references[0],
            by_name[sample.role],
            question=sample.question,
            templates=[],
        )
        or question_labels(
            sample.question, by_name[sample.role], is_unsure=False, segment=None, templates=[]
        )
    ]
    assert len(faults) < 0.06 * len(samples)


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("Get up, please!", True),
        ("The lamp is lit at dusk and nobody has put it out since, I tell you.", True),
        ("Aye, aye.", False),
        ("Get up, please, and help me with the oars.", False),
    ],
)
def test_a_line_that_says_again_what_was_said_is_found(text: str, repeats: bool) -> None:
    earlier = ["Get up, please.", "Aye, aye.", "The lamp is lit at dusk and nobody has put it out since."]
    assert repeats_earlier(text, earlier) is repeats
