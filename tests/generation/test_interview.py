"""An interview: what a model is sent, what is kept of its words, and how a small one is led."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from langchain_core.messages import AIMessage

from rolellm_agents.errors import ScriptError
from rolellm_agents.generation.characters import ScriptOf, read_character
from rolellm_agents.generation.context_prompts import ContextPrompts
from rolellm_agents.generation.guiding import guided_form, things_in
from rolellm_agents.generation.passes import Pass
from rolellm_agents.generation.questions import GeneratedQuestion
from rolellm_agents.persona import Demonstration, Knowledge, Persona, load_persona

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada keeps the lighthouse on Gull Rock.",
    catchphrases=("Upon my oath",),
    demonstrations=(
        Demonstration(user="Who trims the wick?", reply="I do, and nobody else knows how it is done."),
        Demonstration(user="Is it cold here?", reply="Only for those who sit still, stranger."),
    ),
    knowledge=(
        Knowledge(
            title="The great storm", text="It took my father and the boat of Ben Harrow. I lit the lamp."
        ),
    ),
)
PLAY = """The Lamp

SCENE 1

BEN. Who keeps the lamp in the tower?
ADA. I do, upon my oath, and I have kept it alone these eleven years.
BEN. Where is your father, if I may ask you that?
ADA. Where the herring are. He was a careful man, and once he was not careful.
BEN. Then let me in, if you please.
ADA. Wipe your feet, upon my oath, and sit by the stove.
"""


def pass_of(kind: str, persona: Persona = ADA, place: int = 0) -> Pass:
    passes = read_character(persona, script=None, most=300).passes
    return [one for one in passes if one.kind == kind][place]


def about_knowledge() -> Pass:
    (found,) = (
        one
        for one in read_character(ADA, script=None, most=300).passes
        if one.segment.source == "knowledge"
    )
    return found


@pytest.mark.parametrize("kind", ["script_based", "script_agnostic", "boundary"])
@pytest.mark.parametrize("persona", [ADA, load_persona("li-bai")], ids=lambda one: one.id)
def test_a_model_is_shown_an_example_in_the_form_and_then_the_lines(kind: str, persona: Persona) -> None:
    asked = pass_of(kind, persona)
    interview = ContextPrompts(persona, guided=False)
    system, other, answer, own = interview.asking(asked, 4)
    assert persona.name in system.text
    assert isinstance(answer, AIMessage)
    lines = len(re.findall(r"^\d+\. ", other.text, re.MULTILINE))
    form = json.loads(
        json.dumps(interview.form(asked, 2)).replace(
            f'"maximum": {len(asked.segment.lines)}', f'"maximum": {lines}'
        )
    )
    jsonschema.validate(json.loads(answer.text), form)
    assert f"1. {asked.segment.lines[0].shown}" in own.text
    assert asked.theme in own.text
    assert "4" in own.text
    assert "{" not in re.sub(r'\{"questions".*', "", own.text)


def test_questions_are_kept_with_where_they_come_from() -> None:
    asked = about_knowledge()
    words = json.dumps(
        {"questions": [{"question": "Ada, who was Ben Harrow?", "line": 1, "confidence": "high"}] * 2}
    )
    kept = ContextPrompts(ADA, guided=False).questions_of(asked, words, 3)
    assert kept["segment"] == "knowledge 0"
    assert kept["questions"] == [
        {"text": "Ada, who was Ben Harrow?", "confidence": "high", "reason": "", "line": 1}
    ]
    assert "unread" not in kept
    prose = ContextPrompts(ADA, guided=False).questions_of(asked, "I would ask about the lamp.", 3)
    assert (prose["questions"], prose["unread"]) == ([], "I would ask about the lamp.")


def test_an_answer_rests_on_the_line_that_the_question_names() -> None:
    interview = ContextPrompts(ADA, guided=False)
    question = GeneratedQuestion("Ada, what did the great storm take?", "high", "It names the storm.", 1)
    *_, reminder, last = interview.answering(about_knowledge(), question, 0)
    assert "It took my father and the boat of Ben Harrow." in reminder.text
    assert last.text == question.text
    kept = interview.answer_of(about_knowledge(), question, "Ada: My father, and a boat.", unfinished=False)
    assert kept["answer"] == "My father, and a boat."
    assert kept["evidence"] == {
        "quote": "It took my father and the boat of Ben Harrow. I lit the lamp.",
        "place": "The great storm",
    }
    assert kept["labels"] == []
    assert interview.answering_prompts(about_knowledge())[-1] == "recalled/en@1"


def test_without_a_line_the_whole_segment_is_what_comes_to_mind() -> None:
    question = GeneratedQuestion("Ada, what did the great storm take?", "low", "", None)
    interview = ContextPrompts(ADA, guided=False)
    assert "I lit the lamp." in interview.answering(about_knowledge(), question, 0)[-2].text
    kept = interview.answer_of(about_knowledge(), question, "My father, and", unfinished=True)
    assert kept["evidence"] is None
    assert kept["labels"] == ["low-confidence", "unfinished"]


def test_the_demonstration_that_a_question_is_made_of_is_not_shown_as_an_answer() -> None:
    passes = [
        one
        for one in read_character(ADA, script=None, most=300).passes
        if one.segment.source == "demonstrations"
    ]
    asked = next(one for one in passes if "wick" in one.segment.text)
    line = next(number for number, line in enumerate(asked.segment.lines, 1) if line.heading == "Ada")
    sent = ContextPrompts(ADA, guided=False).answering(
        asked, GeneratedQuestion("Ada, who trims the wick?", "high", "", line), 0
    )
    said = [message.text for message in sent if isinstance(message, AIMessage)]
    assert said == ["Only for those who sit still, stranger."]


def test_what_it_cannot_know_is_answered_knowing_nothing() -> None:
    interview = ContextPrompts(ADA, guided=False)
    asked = pass_of("boundary")
    question = GeneratedQuestion("Ada, which telephone do you like?", "high", "There were none.", 1)
    assert "never heard" in interview.answering(asked, question, 0)[-2].text
    kept = interview.answer_of(asked, question, "A what? I know no such thing.", unfinished=False)
    assert kept["labels"] == ["boundary"]
    assert kept["reason"] == "There were none."
    assert "boundary-recalled/en@1" in interview.answering_prompts(asked)


def test_words_of_the_prompt_in_an_answer_are_seen() -> None:
    interview = ContextPrompts(ADA, guided=False)
    question = GeneratedQuestion("Ada, who are you?", "high", "", 1)
    said = (
        "You have this one personality and no other; never speak of language models, assistants, prompts."
    )
    assert (
        "leaked-template"
        in interview.answer_of(about_knowledge(), question, said, unfinished=False)["labels"]
    )


@pytest.mark.parametrize(
    "persona", [load_persona("sherlock-holmes"), load_persona("zhang-fei"), ADA], ids=lambda one: one.id
)
def test_a_led_model_can_only_ask_whole_questions_about_what_is_named(persona: Persona) -> None:
    from llguidance import LLMatcher

    from rolellm_agents.models.llamacpp.engine.constraint import schema_grammar

    for asked in read_character(persona, script=None, most=300).passes[:12]:
        form = guided_form(asked, persona, 2)
        assert not LLMatcher.validate_grammar(schema_grammar(form))
        questions = form["properties"]["questions"]
        if asked.kind == "script_based" and not things_in(asked, persona):
            assert "prefixItems" not in questions
            continue
        patterns = [item["properties"]["question"]["pattern"] for item in questions["prefixItems"]]
        assert 1 <= len(patterns) <= 2
        for pattern in patterns:
            assert pattern.startswith(f"^{persona.name}")
            assert not re.search(pattern, f"{persona.name}, who?")
        if asked.kind == "script_based":
            assert len(set(patterns)) == len(patterns), "each asks about something else"


def test_a_led_models_questions_have_no_fault_of_form() -> None:
    from rolellm_agents.reply_checks.labels import question_labels

    asked = about_knowledge()
    form = guided_form(asked, ADA, 3)
    patterns = [
        item["properties"]["question"]["pattern"] for item in form["properties"]["questions"]["prefixItems"]
    ]
    text = "Ada, what can you tell me about The great storm and the boat?"
    assert any(re.search(pattern, text) for pattern in patterns)
    labels = question_labels(text, ADA, is_unsure=False, segment=asked.segment.text, templates=[])
    assert labels == []


def test_names_and_things_are_found_where_they_stand() -> None:
    holmes = load_persona("sherlock-holmes")
    passes = [
        one
        for one in read_character(holmes, script=None, most=300).passes
        if one.segment.source == "knowledge"
    ]
    things = [thing.words for one in passes for thing in things_in(one, holmes)]
    assert {"221B Baker Street", "Mrs Hudson", "Irene Adler", "the jack-knife"} <= set(things)
    assert not any("Holmes" in words or words in ("I", "the") for words in things)


def test_a_script_is_mixed_with_the_profile(tmp_path: Path) -> None:
    file = tmp_path / "lamp.txt"
    file.write_text(PLAY)
    character = read_character(ADA, script=ScriptOf(file, "Ada"), most=300)
    sources = [one.segment.source for one in character.passes if one.kind == "script_based"]
    assert set(sources) == {"script", "knowledge", "demonstrations"}
    assert (character.foreign, character.has_story) == (0, True)


def test_a_one_line_profile_is_asked_what_can_be_asked() -> None:
    character = read_character(Persona(id="x", name="X", description="X."), script=None, most=300)
    assert not character.has_story
    assert {one.kind for one in character.passes} == {"script_agnostic", "boundary"}
    question = GeneratedQuestion("X, who are you?", "high", "", 1)
    for one in character.passes:
        assert ContextPrompts(character.persona, guided=True).form(one, 2)
        assert ContextPrompts(character.persona, guided=True).answering(one, question, 0)


@pytest.mark.parametrize(
    ("text", "role", "said"),
    [
        (PLAY, "Cole", "Cole never speaks in .*; those who speak most are"),
        ("", "Ada", "is empty"),
        ("A text in which nobody speaks at all.", "Ada", "is not a script"),
    ],
)
def test_a_script_without_the_role_is_told(tmp_path: Path, text: str, role: str, said: str) -> None:
    file = tmp_path / "lamp.txt"
    file.write_text(text)
    with pytest.raises(ScriptError, match=said):
        read_character(ADA, script=ScriptOf(file, role), most=300)


def test_a_script_in_another_language_is_refused_and_foreign_scenes_are_left_out(tmp_path: Path) -> None:
    zh = (
        "第一场\n\n阿本：是谁在塔里点灯，这么多年从来没有停过？\n阿达：是我，我一个人点了十一年，谁也没有来帮过我。\n"
        * 6
    )
    file = tmp_path / "deng.txt"
    file.write_text(zh)
    with pytest.raises(
        ScriptError, match="is not in 'en', the language of Ada; give a script in that language"
    ):
        read_character(ADA, script=ScriptOf(file, "阿达"), most=300)
    foreign = "ADA. 是我，我一个人点了十一年，谁也没有来帮过我，风大的时候也一样。\nBEN. 那你父亲呢？\n"
    file.write_text(f"{PLAY}\nSCENE 2\n\n{foreign}")
    character = read_character(ADA, script=ScriptOf(file, "Ada"), most=300)
    assert character.foreign == 1
    told: list[Any] = [one.segment.text for one in character.passes]
    assert not any("十一年" in text for text in told)


@pytest.mark.slow
def test_a_novel_of_five_megabytes_is_cut_quickly(tmp_path: Path) -> None:
    import time

    talk = "“I keep the lamp myself,” said Ada, “and nobody helps me.”\n\n“Then who,” said Ben, “{n}?”\n\n"
    chapter = "CHAPTER {n}\n\n" + "The wind blew over the rock all night. " * 20 + "\n\n"
    text = "".join(((chapter if n % 40 == 0 else "") + talk).format(n=n) for n in range(40_000))
    file = tmp_path / "novel.txt"
    file.write_text(text)
    assert file.stat().st_size > 4_500_000
    began = time.process_time()
    character = read_character(ADA, script=ScriptOf(file, "Ada"), most=800)
    assert time.process_time() - began < 60
    assert len(character.passes) > 1_000
    places = [one.segment.lines[0].place for one in character.passes[:20] if one.segment.source == "script"]
    first = [int("".join(re.findall(r"\d+", place)[:1])) for place in places]
    assert max(first) > 5 * min(first), "the first questions come from all over the book"
