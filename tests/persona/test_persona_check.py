"""The linter: each rule finds what it is for, and nothing else."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.persona import Demonstration, Knowledge, Persona, Source, load_persona
from rolellm_agents.persona.lint import PersonaFinding, check_personas
from rolellm_agents.persona.lint.voices import check_voices
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import is_in_other_language
from rolellm_agents.text.phrases import is_heard, opening


def rules(found: Sequence[PersonaFinding], persona: str = "") -> set[str]:
    return {finding.rule for finding in found if persona in ("", finding.persona)}


def changed(persona: Persona, **parts: object) -> Persona:
    return persona.model_copy(update=parts)


def with_reply(persona: Persona, reply: str, place: int = 3) -> Persona:
    pairs = list(persona.demonstrations)
    pairs[place] = Demonstration(user=pairs[place].user, reply=reply)
    return changed(persona, demonstrations=tuple(pairs))


def test_a_good_persona_has_nothing_wrong(holmes: Persona) -> None:
    assert check_personas([holmes]) == []


@pytest.mark.parametrize(
    ("part", "value", "rule", "told"),
    [
        ("greeting", "", "part-missing", "no greeting"),
        ("source", None, "part-missing", "no source"),
        ("category", "", "part-missing", "no category"),
        ("category", "pirate", "part-missing", "'pirate' is none of"),
        ("knowledge", (), "part-missing", "0 knowledge, at least 6"),
        ("catchphrases", ("You see",) * 3, "part-thin", "3 catchphrases, at least 4"),
        ("catchphrases", ("The game is afoot",) * 11, "part-thin", "more than 10"),
        ("description", "He is a detective.", "part-thin", "has 4 words"),
        ("description", "He is a detective. " * 40, "part-thin", "has 160 words"),
    ],
)
def test_missing_and_thin_parts(holmes: Persona, part: str, value: object, rule: str, told: str) -> None:
    found = check_personas([changed(holmes, **{part: value})])
    assert [finding for finding in found if finding.rule == rule and told in finding.message], found


def test_too_few_demonstrations(holmes: Persona) -> None:
    few = changed(holmes, demonstrations=holmes.demonstrations[:7])
    assert "part-thin" in rules(check_personas([few]))


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ("As an AI, I cannot see mud on your boot, whatever the papers say of it.", "assistant-speak"),
        ("*lights a pipe* The mud on your boot is from the Tottenham Court Road.", "stage-direction"),
        ("(sighs) The mud on your boot is from the Tottenham Court Road.", "stage-direction"),
        (
            "El barro de las botas es de una calle que no está lejos, por lo que usted dice.",
            "wrong-language",
        ),
        ("你的靴子上有泥，一看就知道是从哪里来的。", "wrong-language"),
    ],
)
def test_what_no_character_says(holmes: Persona, reply: str, rule: str) -> None:
    (finding,) = check_personas([with_reply(holmes, reply)])
    assert finding.rule == rule
    assert "reply 4" in finding.message


def test_one_opening_for_several_replies(holmes: Persona) -> None:
    same = with_reply(
        with_reply(holmes, "It is plain, sir: a sailor.", 1), "It is plain that you dine late.", 2
    )
    (finding,) = check_personas([same])
    assert (finding.rule, "2 replies begin with 'it is plain'") == ("same-opening", finding.message)


def test_catchphrases_that_nobody_hears(holmes: Persona) -> None:
    unheard = changed(holmes, catchphrases=("Zounds", "Egad", "Good grief", "I never guess."))
    (finding,) = check_personas([unheard])
    assert finding.rule == "unheard-catchphrase"
    assert "'Zounds', 'Egad', 'Good grief'" in finding.message


def test_copied_lines_within_and_across(holmes: Persona) -> None:
    shrek = load_persona("shrek")
    own = with_reply(holmes, "Well! " + holmes.demonstrations[0].reply)
    (within,) = check_personas([own])
    assert within.rule == "copied-line"
    assert "reply 1 is" in within.message
    assert "reply 4 of its own" in within.message
    thief = with_reply(holmes, shrek.demonstrations[2].reply)
    (across,) = check_personas([thief], others=[shrek])
    assert (across.persona, across.rule) == ("sherlock-holmes", "copied-line")
    assert "reply 3 of shrek" in across.message
    assert {finding.persona for finding in check_personas([thief, shrek])} == {"sherlock-holmes"}


def test_names_that_belong_to_another_work(holmes: Persona) -> None:
    house = load_persona("gregory-house")
    text = "I share these rooms with Gregory House, who is seldom in before noon."
    stray = changed(holmes, knowledge=(*holmes.knowledge[:-1], Knowledge(title="A lodger", text=text)))
    (finding,) = check_personas([stray], others=[house])
    assert finding.rule == "foreign-name"
    assert "'Gregory House' (gregory-house)" in finding.message
    same_work = changed(house, source=Source(work=str(holmes.source and holmes.source.work), year=1))
    assert check_personas([stray], others=[same_work]) == []


def test_a_language_is_judged_by_its_small_words() -> None:
    assert not is_in_other_language(
        "High. Bend branch, fold, add leaves. Nest every night. Kin sleep.", "en"
    )
    assert not is_in_other_language(
        "Le Chiffre? C'est la vie, as they say at the casino, and so I paid.", "en"
    )
    assert is_in_other_language(
        "Je ne sais pas, mais vous avez une maison dans la ville, est-ce vrai?", "en"
    )
    assert is_in_other_language("This is English and nothing but English.", "zh")
    assert not is_in_other_language("我用的是iPhone，你呢？", "zh")


@pytest.mark.parametrize(
    "said",
    [
        "As an AI, I",
        "I'd be happy to help",
        "How can I assist you?",
        "Sure! Here",
        "作为一个AI，我",
        "I am an AI.",
    ],
)
def test_assistants_are_recognised(said: str) -> None:
    assert ai_talk(said)


@pytest.mark.parametrize(
    "said", ["Of course I sold the horse.", "I know that I am right.", "Sure as eggs."]
)
def test_characters_are_not_taken_for_assistants(said: str) -> None:
    assert ai_talk(said) is None


def test_openings_and_phrases_ignore_case_and_marks() -> None:
    assert opening("I, too, can't say.", "en") == "i too cant"
    assert opening("俺，老孙来也！", "zh") == "俺老孙"
    assert is_heard("The game is afoot.", "Up! THE game -- is afoot, Watson.", "en")
    assert not is_heard("Well now", "Swell now", "en")
    assert is_heard("造化！造化！", "造化，造化", "zh")


def voice(name: str, words: str) -> Persona:
    replies = [f"{words} {number} {words}." for number in ("one", "two", "three", "four")]
    return Persona(
        id=name,
        name=name,
        description=name,
        demonstrations=tuple(Demonstration(user="?", reply=reply) for reply in replies),
    )


def test_voices_that_differ_are_told_apart_and_equal_ones_are_not() -> None:
    apart = [
        voice("pirate", "arr matey ahoy"),
        voice("judge", "order in court"),
        voice("cook", "more salt soup"),
    ]
    report = check_voices(apart)
    assert (report.hit_rate, report.chance, report.personas, report.replies) == (1.0, 1 / 3, 3, 12)
    assert report.taken_for == {}
    twins = [voice("one", "arr matey ahoy"), voice("two", "arr matey ahoy"), apart[1]]
    mixed = check_voices(twins)
    assert mixed.by_persona["judge"] == 1.0
    assert mixed.hit_rate < 0.9
    assert set(mixed.taken_for) <= {"one", "two"}


def test_a_name_gives_no_voice_away() -> None:
    """Two who differ in nothing but the names they say are told apart by chance alone."""
    one = [f"I think that Watson {number} went out" for number in ("once", "twice", "late", "early")]
    two = [reply.replace("Watson", "Wilson") for reply in one]
    cast = [
        Persona(
            id=name,
            name=name,
            description=name,
            demonstrations=tuple(Demonstration(user="?", reply=reply) for reply in replies),
        )
        for name, replies in (("one", one), ("two", two))
    ]
    assert check_voices(cast).hit_rate <= 0.5


TEXT = st.text(max_size=60).filter(lambda text: bool(text.strip()))


@given(
    st.lists(
        st.builds(
            Persona,
            id=st.uuids().map(str),
            name=TEXT,
            language=st.sampled_from(["en", "zh"]),
            description=TEXT,
            catchphrases=st.lists(TEXT, max_size=3).map(tuple),
            demonstrations=st.lists(st.builds(Demonstration, user=TEXT, reply=TEXT), max_size=4).map(tuple),
        ),
        max_size=4,
    )
)
def test_nothing_that_is_a_persona_breaks_the_linter(personas: list[Persona]) -> None:
    assert {finding.persona for finding in check_personas(personas)} == {one.id for one in personas}
