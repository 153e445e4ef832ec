"""From a script to a persona without a model: the role, its lines, its habits, its knowledge."""

from pathlib import Path

import pytest
from helpers.shared_texts import shared_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolellm_agents.errors import ScriptError
from rolellm_agents.persona import Demonstration, Knowledge, Persona, Source, id_of, read_persona
from rolellm_agents.persona.from_script.assemble import draft_persona
from rolellm_agents.persona.from_script.habits import find_habits
from rolellm_agents.persona.from_script.notes import Note, distinct_notes, is_grounded, is_usable
from rolellm_agents.persona.from_script.pairs import choose_pairs, find_pairs
from rolellm_agents.persona.from_script.role import names_of
from rolellm_agents.persona.from_script.segments import choose_segments, cut_segments
from rolellm_agents.persona.from_script.wording import sentences, shortened, shortened_front
from rolellm_agents.persona.yaml import to_yaml
from rolellm_agents.scripts.reading import read_script
from rolellm_agents.scripts.script import Script, ScriptPassage, add_addressees


def script(*speeches: tuple[str, str] | tuple[str, str, int], title: str = "The Lamp") -> Script:
    """Speeches by speakers, each with its scene's number if it is not 0; an empty name is narration."""
    passages = []
    for number, (speaker, words, *scene) in enumerate(speeches, 1):
        passages.append(
            ScriptPassage(
                text=f"{speaker}: {words}" if speaker else words,
                place=f"Act {sum(scene) + 1}, line {number}",
                scene=sum(scene),
                speaker=speaker,
                speech=words if speaker else "",
                certainty="named" if speaker else "none",
            )
        )
    return Script(title, "play", "en", tuple(add_addressees(passages)))


LAMP = script(
    ("BEN", "Who keeps the lamp?"),
    ("ADA", "I do, upon my oath, and I have kept it alone these eleven years."),
    ("BEN", "Let me in."),
    ("", "Ada opens."),
    ("ADA", "Upon my oath, you are wet."),
    ("ADA", "Wipe your feet, and sit by the stove until I have done the glass."),
    ("BEN", "Where is your father?", 1),
    ("ADA", "Where the herring are. Upon my oath he was a careful man, and once he was not.", 1),
)


@pytest.mark.parametrize(
    ("speakers", "role", "names"),
    [
        (["HAMLET", "HORATIO"], "Hamlet", ("HAMLET",)),
        (["KING CLAUDIUS", "HORATIO"], "Claudius", ("KING CLAUDIUS",)),
        (["MACBETH", "LADY MACBETH"], "Macbeth", ("MACBETH",)),
        (["MACBETH", "LADY MACBETH"], "Lady Macbeth", ("LADY MACBETH",)),
        (["Elizabeth", "Mrs. Bennet", "Mr. Bennet"], "Elizabeth Bennet", ("Elizabeth",)),
        (["Mr. Darcy", "Elizabeth"], "Fitzwilliam Darcy", ("Mr. Darcy",)),
        (["王熙凤", "贾母"], "王熙凤", ("王熙凤",)),
    ],
)
def test_a_role_is_found_by_name_or_by_part_of_it(
    speakers: list[str], role: str, names: tuple[str, ...]
) -> None:
    assert names_of(script(*((name, "Well?") for name in speakers * 2)), role) == names


def test_a_role_of_several_names() -> None:
    text = script(*[("ADA", "Yes."), ("THE KEEPER", "No."), ("BEN", "Why?")] * 2)
    assert names_of(text, "Ada", ["The Keeper"]) == ("ADA", "THE KEEPER")
    with pytest.raises(ScriptError, match=r"Keepers never speaks in The Lamp.*THE KEEPER"):
        names_of(text, "Ada", ["Keepers"])


@pytest.mark.parametrize(
    ("role", "told"),
    [
        (
            "Adam",
            r"Adam never speaks in The Lamp \(did you mean ADA\?\); those who speak most are ADA \(4\)",
        ),
        ("Clown", r"'Clown' may be First Clown \(2 speeches\) or Second Clown \(2 speeches\)"),
        ("Cole", "Cole speaks only once in The Lamp"),
    ],
)
def test_a_role_that_cannot_be_found_is_told(role: str, told: str) -> None:
    clowns = [("First Clown", "Ha."), ("Second Clown", "Ho.")] * 2
    with pytest.raises(ScriptError, match=told):
        names_of(script(*[("ADA", "Yes."), ("BEN", "No.")] * 4, *clowns, ("COLE", "Once.")), role)


def test_pairs_are_what_was_said_and_what_was_answered() -> None:
    pairs = find_pairs(LAMP, ["ADA"])
    assert [(pair.user, pair.reply.split(",")[0], pair.place) for pair in pairs] == [
        ("Who keeps the lamp?", "I do", "Act 1, line 2"),
        ("Let me in.", "Upon my oath", "Act 1, line 5"),
        (
            "Where is your father?",
            "Where the herring are. Upon my oath he was a careful man",
            "Act 2, line 8",
        ),
    ]
    assert pairs[1].reply.endswith("until I have done the glass.")


def test_no_pair_crosses_a_scene_or_a_long_silence() -> None:
    silence = [("", "It rains.")] * 5
    text = script(("BEN", "Who is there?"), ("ADA", "Nobody at all.", 1), ("BEN", "Ah, so?", 1), *silence)
    assert find_pairs(text, ["ADA"]) == []


def test_chosen_pairs_stand_in_order_and_begin_differently() -> None:
    speeches = []
    for number in range(30):
        speeches += [("BEN", f"What of number {number}?", number // 10)]
        speeches += [
            ("ADA", f"Word{number % 3} is the word{number} that I have kept for you here.", number // 10)
        ]
    chosen = choose_pairs(find_pairs(script(*speeches), ["ADA"]), "en", 9)
    assert len({pair.reply.split()[0] for pair in chosen}) == len(chosen) == 3
    lines = [int(pair.place.split()[-1]) for pair in chosen]
    assert lines == sorted(lines)


def test_habits_are_what_one_says_and_the_others_do_not() -> None:
    own = [f"Upon my oath, the {thing} is out again." for thing in ("lamp", "stove", "cat", "boat")]
    others = [
        f"I see that the {thing} is out again." for thing in ("lamp", "stove", "cat", "boat", "tide")
    ] * 2
    assert find_habits(own, others, "en") == ["Upon my oath"]
    assert find_habits(own, [], "en") != []
    assert find_habits(own[:2], others, "en") == []


def test_chinese_habits() -> None:
    things = ["灯", "船", "猫", "桥", "酒", "雨", "马", "书"]
    own = [f"俺老孙，看那{thing}，也没什么稀奇。" for thing in things]
    others = [f"我看那{thing}，也没什么稀奇。" for thing in things] * 2
    assert find_habits(own, others, "zh") == ["俺老孙"]


def test_names_are_no_habits() -> None:
    own = [f"Horatio, the {thing} is out." for thing in ("lamp", "stove", "cat", "boat")]
    others = [f"So the {thing} is out." for thing in ("lamp", "stove", "cat", "boat")] * 3
    assert find_habits(own, others, "en", names=["HORATIO"]) == []


def test_phrases_that_say_nothing_are_no_habits() -> None:
    own = [
        "I saw one or two of them, you know, in the room.",
        "There were, it seems, two or three gulls in the room, you know.",
        "It seems late; you know, a day or two is enough in the room.",
        "It seems cold, you know, for one or two weeks.",
    ]
    others = [f"The {thing} is green, and the mill stands still." for thing in ("sea", "hill", "barn")] * 9
    assert find_habits(own, others, "en") == ["you know"]


def test_segments_are_cut_at_scenes_and_hold_the_role() -> None:
    segments = cut_segments(LAMP, ["ADA"], most=10_000)
    assert [(segment.number, segment.places[0]) for segment in segments] == [
        (0, "Act 1, line 1"),
        (1, "Act 2, line 7"),
    ]
    small = cut_segments(LAMP, ["ADA"], most=80)
    assert all(sum(map(len, segment.lines)) <= 90 for segment in small)
    assert all("ADA" in " ".join(segment.lines) for segment in small)
    assert [segment.number for segment in choose_segments(small, 2)] == sorted(
        segment.number for segment in choose_segments(small, 2)
    )


def test_a_note_rests_on_a_line() -> None:
    lines = [
        "BEN: Where is your father?",
        "ADA: Where the herring are. He was a careful man, and once not.",
    ]

    def note(text: str, line: int = 2) -> Note:
        return Note(kind="knowledge", title="Father", text=text, line=line)

    assert is_grounded(note("My father was a careful man, until he drowned."), lines)
    assert not is_grounded(note("The lighthouse was built by Romans long ago."), lines)
    assert not is_grounded(note("My father was a careful man.", 9), lines)
    assert is_usable(note("My father was a careful man."), "en")
    assert not is_usable(note("As an AI, I know of no father."), "en")
    assert not is_usable(note("我的父亲是一个谨慎的人。"), "en")
    twice = [
        note("My father was a careful man, and he drowned."),
        note("My father was a careful man and he drowned!"),
    ]
    assert distinct_notes([*twice, note("A stove stands below.")]) == [0, 2]


@given(st.text(alphabet="Ab c.!?…。！“”\"'\n", max_size=80), st.integers(1, 9))
def test_shortening_keeps_whole_sentences(text: str, most: int) -> None:
    kept, kept_end = shortened(text, "en", most), shortened_front(text, "en", most)
    found = sentences(text)
    if found:
        assert kept.startswith(found[0])
        assert kept_end.endswith(found[-1])
        assert kept in " ".join(found)


def test_a_draft_is_a_persona_with_places() -> None:
    persona = draft_persona(LAMP, ["ADA"], "Ada", demonstrations=2)
    assert (persona.id, persona.name, len(persona.demonstrations)) == ("ada", "Ada", 2)
    assert all(pair.place.startswith("Act ") for pair in persona.demonstrations)
    assert "The Lamp" in persona.description
    assert "speaks most with Ben" in persona.description


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Elizabeth Bennet", "elizabeth-bennet"),
        ("D'Artagnan", "dartagnan"),
        ("Émile", "emile"),
        ("王熙凤", "wang-xi-feng"),
    ],
)
def test_ids(name: str, wanted: str) -> None:
    assert id_of(name) == wanted


LINE = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Cn"]), min_size=1, max_size=150
).filter(lambda text: bool(text.strip()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.builds(
        Persona,
        id=st.just("ada"),
        name=LINE,
        language=st.sampled_from(["en", "zh"]),
        source=st.none() | st.builds(Source, work=LINE, year=st.integers(-500, 2030)),
        description=LINE,
        catchphrases=st.lists(LINE, max_size=3).map(tuple),
        demonstrations=st.lists(
            st.builds(Demonstration, user=LINE, reply=LINE, place=LINE), max_size=3
        ).map(tuple),
        knowledge=st.lists(st.builds(Knowledge, title=LINE, text=LINE), max_size=3).map(tuple),
        extensions=st.dictionaries(LINE, st.none() | st.booleans() | st.integers() | LINE, max_size=2),
    )
)
def test_a_written_persona_reads_as_it_was(tmp_path: Path, persona: Persona) -> None:
    file = tmp_path / "ada.yaml"
    file.write_text(to_yaml(persona), encoding="utf-8")
    assert read_persona(file) == persona


@pytest.mark.parametrize(
    ("book", "role", "words"),
    [
        ("hamlet.xml", "Hamlet", ["To be, or not to be", "Hamlet is the son to the late"]),
        ("pride_and_prejudice.txt", "Elizabeth Bennet", ["Mr. Darcy"]),
    ],
)
def test_roles_of_real_works(book: str, role: str, words: list[str]) -> None:
    text = read_script(shared_text(book))
    persona = draft_persona(text, names_of(text, role), role, demonstrations=12)
    assert len(persona.demonstrations) == 12
    assert len(persona.knowledge) >= 6
    assert 2 <= len(persona.catchphrases) <= 8
    whole = to_yaml(persona).replace("\n      ", " ").replace("\n  ", " ")
    assert all(wanted in whole for wanted in words)
