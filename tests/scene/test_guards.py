"""What must not stand as a character's turn."""

import json
import re
import time

import pytest
from helpers.hypotheses import examples
from helpers.scene_lines import BAKER_STREET, line
from helpers.shared_data import shared_data
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.persona import id_of
from rolellm_agents.scene.guards import cut_at_marks, cut_at_others, fault_in
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.message_kinds import ACT, BUILT_IN, SAY, TURN_KINDS
from rolellm_agents.scene.utterances import parse_utterance
from rolellm_agents.text.language import Language
from rolellm_agents.transcript.message import Kind

ALL = TURN_KINDS
OTHERS = ("Dr. Watson", "Inspector Lestrade", "华生", "Gregory House")
LONG = "The dog did nothing in the night-time, and that was the curious incident of which I spoke."


def cut(text: str) -> str:
    return cut_at_others(text, ["Sherlock Holmes"], OTHERS)


def fault(text: str, lines: tuple[SceneLine, ...] = (), kind: Kind = "say", about: str = "") -> str | None:
    return fault_in(
        text,
        speaker="holmes",
        lines=lines,
        names={**BAKER_STREET, "hua": "华生"},
        kind=BUILT_IN[kind],
        turn_kinds=ALL,
        about=about,
    )


@pytest.mark.parametrize(
    "others",
    [
        "Dr. Watson: Indeed.",
        "Dr Watson: Indeed.",
        "WATSON: Indeed.",
        "**Watson:** Indeed.",
        "**Watson**: Indeed.",
        "*Watson*: Indeed.",
        "[Watson]: Indeed.",
        "Watson (smiling): Indeed.",
        "### Lestrade:\nIndeed.",
        "**Inspector Lestrade**\nIndeed.",
        "  Watson : Indeed.",
        "Narrator: It rains.",
        "User: Go on.",
        "华生：对。",
        "旁白：下雨了。",
    ],
)
def test_a_script_is_cut_where_another_goes_on(others: str) -> None:
    assert cut(f"He lies.\nSurely.\n\n{others}\nHolmes: Yes.") == "He lies.\nSurely."
    assert cut(others) == ""


@pytest.mark.parametrize(
    "text",
    [
        "He lies.",
        "I told Watson: he lies.",
        "Watson, listen: he lies.",
        "Watsonian: he lies.",
        "Remember: he lies.",
        "Holmes: he lies.\nHolmes: surely.",
        "In the house: nothing.\nhouse: nothing.",
        "Watson and Lestrade: both lie.",
        "He lies.\nWatson\nknows.",
        "*Watson* knows.",
        "",
    ],
)
def test_all_else_is_left(text: str) -> None:
    assert cut(text) == text


def test_a_part_of_a_name_that_the_speaker_has_too_does_not_cut() -> None:
    text = "Bennet: that is our name."
    assert cut_at_others(text, ["Elizabeth Bennet"], ["Mr Bennet"]) == text
    assert cut_at_others("Yes.\nMr. Bennet: No.", ["Elizabeth Bennet"], ["Mr Bennet"]) == "Yes."


@given(
    st.lists(st.sampled_from(["He lies.", "\n", "Watson", ": ", "**", "Holmes", " "]), max_size=12).map(
        "".join
    )
)
def test_what_is_left_is_a_beginning_and_holds_no_line_of_another(text: str) -> None:
    left = cut(text)
    assert text.startswith(left)
    assert cut(left) == left


@pytest.mark.parametrize("text", ["", "  \n", "*", "()", "**  **", "?!", "—"])
def test_nothing_is_a_fault_and_silence_is_none(text: str) -> None:
    assert fault(text) == "It says nothing."
    assert fault("…") is None
    assert fault("...") is None


@pytest.mark.parametrize(
    "text",
    [
        "Watson says: “Indeed.”",
        "Watson says quietly: Indeed.",
        'I doubt it.\nDr. Watson replies, "Indeed."',
        "I doubt it. *Watson nods and answers that he does too.*",
        "I doubt it. (Lestrade shakes his head)",
        "*Lestrade laughed.* I doubt it.",
        "*Watson angrily slams the door.*",
        "华生说：“不错。”",
        "我不信。（华生点头）",
    ],
)
def test_to_speak_or_act_for_another_is_a_fault(text: str) -> None:
    found = fault(text)
    assert found is not None
    assert found.startswith("It speaks for ")


def test_something_done_by_another_is_a_fault_of_an_act() -> None:
    assert fault("Watson nods and sits down.", kind="act") == "It speaks for Watson."
    assert fault("Watson needs a doctor.", kind="act") is None
    assert fault("nods at Watson.", kind="act") is None


@pytest.mark.parametrize(
    "text",
    [
        "Watson said that he saw him, and Lestrade laughed.",
        "Yesterday Watson asked me: what now?",
        "Watson, you say: what now?",
        "Watson is my friend. Watson nods when he is tired.",
        "*looks at Watson, who nods*",
        "*Watson's chair stands empty.* He left.",
        "*Watson and I sit down.*",
        "(to Watson) Sit down.",
        "Holmes says: sit down.",
        "*Holmes nods.*",
        "（看着华生）坐下。",
        "（华生的椅子空着）他走了。",
        "华生昨天对我说他不来。",
    ],
)
def test_to_tell_of_another_is_none(text: str) -> None:
    assert fault(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "As an AI language model, I cannot smoke.",
        "I am a pipe smoker. Is there anything else?",
        "Of course! As an AI, I do not smoke.",
        "作为一个人工智能，我不抽烟，也不破案。",
    ],
)
def test_to_talk_as_an_assistant_is_a_fault(text: str) -> None:
    assert "assistant" in (fault_in(text, speaker="holmes", lines=[], names=BAKER_STREET) or "")


def test_people_may_say_of_course_and_machines_that_they_are_programmed() -> None:
    assert fault("Of course! Come in, Lestrade.") is None
    assert "my programming" in (fault("It is in my programming.") or "")
    assert fault("As an AI, it is in my programming.", about="An artificial mind aboard a ship.") is None
    assert fault("As an AI, I know. I hope this helps!", about="A robot.") is not None


@pytest.mark.parametrize("text", ["Come.<|im_end|>", "Come.</s>", "[INST] Come.", "Come, {{user}}."])
def test_a_models_own_marks_are_a_fault(text: str) -> None:
    assert "mark" in (fault(text) or "")


@pytest.mark.parametrize(
    "again",
    [
        LONG,
        LONG.upper(),
        LONG.replace(",", " –"),
        LONG.replace("curious", "queer"),
        f"Well, Watson. {LONG}",
        f"“{LONG}”",
    ],
)
def test_to_say_the_same_again_is_a_fault(again: str) -> None:
    assert fault(again, (line("holmes", LONG), line("watson"))) == "It repeats what it said before."
    assert fault(again, (line("watson", LONG), line("lestrade"))) == "It repeats what Dr. Watson said."


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Yes, sir.", "Yes, sir."),
        ("I shall go to London tomorrow.", "I shall go to Paris tomorrow."),
        (
            LONG,
            "The dog barked in the night-time, and so there is nothing curious at all in the whole affair.",
        ),
        (
            LONG,
            f"{LONG} But I have since learned that the dog was drugged, that the groom knew of it, "
            "and that he sold it.",
        ),
        ("我们明天去长安吧。", "我们明天去洛阳吧。"),
    ],
)
def test_what_only_sounds_alike_is_none(before: str, now: str) -> None:
    assert fault_in(now, speaker="holmes", lines=[line("watson", before)], names=BAKER_STREET) is None


def test_only_what_the_speaker_witnessed_lately_counts_as_said_before() -> None:
    whispered = line("watson", LONG, "whisper", ["lestrade"])
    assert fault(LONG, (whispered,)) is None
    told = (
        line("watson", LONG),
        *(line("lestrade", f"Another thing, number {number}.") for number in range(12)),
    )
    assert fault(LONG, told) is None
    assert fault(LONG, told[:-1]) is not None


@pytest.mark.parametrize(
    "text",
    [
        "I do not know. I do not know. I do not know.",
        "He lies! And yet... he lies to me! He lies to me. He lies to me; he lies to me.",
        "and the dog and the cat " * 5,
        "no " * 20,
        "我不知道。我不知道。我不知道。",
        "他在撒谎" * 6,
    ],
)
def test_to_go_round_is_a_fault(text: str) -> None:
    found = fault_in(text, speaker="holmes", lines=[], names=BAKER_STREET)
    assert found == "It repeats itself."


@pytest.mark.parametrize(
    "text",
    [
        "And thou no breath at all? Thou'lt come no more, Never, never, never, never, never!",
        "Yes! Yes! Yes! He has it!",
        "Tomorrow, and tomorrow, and tomorrow, creeps in this petty pace from day to day.",
        "Ha ha ha ha ha!",
        "哈哈哈哈哈！好极了。",
        LONG,
    ],
)
def test_emphasis_is_none(text: str) -> None:
    assert fault_in(text, speaker="holmes", lines=[], names=BAKER_STREET) is None


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("我不知道他为什么要对我们撒谎，华生。", "en", "It is not in English."),
        ("He said 你好 to me, and I did not know why.", "en", None),
        ("I do not know why he would lie to us, Watson, but he does.", "zh", "It is not in Chinese."),
        ("我不知道他为什么要对我们撒谎，Watson。", "zh", None),
        ("OK, Watson!", "zh", None),
        ("我不知道他为什么要对我们撒谎，华生。", None, None),
    ],
)
def test_another_language_than_the_scenes_is_a_fault_and_a_few_words_are_none(
    text: str, language: Language | None, found: str | None
) -> None:
    assert fault_in(text, speaker="holmes", lines=[], names=BAKER_STREET, language=language) == found


def test_a_whisper_in_the_middle_of_what_others_hear_is_a_fault() -> None:
    text = "Good evening. (whispers to Watson) He lies."
    assert "whisper or a thought that others would hear" in (fault(text) or "")
    assert "whisper or a thought that others would hear" in (fault(text, kind="whisper") or "")
    assert fault(text, kind="think") is None
    told = fault_in(text, speaker="holmes", lines=[], names=BAKER_STREET, turn_kinds=(SAY,))
    assert told is None


def test_what_is_said_can_be_cut_where_something_for_few_begins() -> None:
    text = "Good evening. *smiles* [whispers to Watson] He lies."
    assert cut_at_marks(text, BAKER_STREET, ALL) == "Good evening. *smiles*"
    assert cut_at_marks("晚上好。（心想）他在撒谎。", BAKER_STREET, ALL) == "晚上好。"
    for whole, turn_kinds in ((text, (SAY, ACT)), ("Good evening. *smiles* He lies.", ALL)):
        assert cut_at_marks(whole, BAKER_STREET, turn_kinds) == whole


@examples(1.5)
@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(["Watson", " says", ": ", "*", "(", ")", "…", "word "])).map("".join)
)
def test_anything_can_be_looked_at(text: str) -> None:
    found = fault(text, (line("watson", text), line("holmes", LONG)))
    assert found is None or (found.startswith("It ") and found.endswith(".") and "\n" not in found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("word " * 40_000, id="words"),
        pytest.param("(" * 200_000, id="brackets"),
        pytest.param("*Watson " * 25_000, id="names"),
        pytest.param("a. " * 60_000, id="sentences"),
        pytest.param("他" * 200_000, id="Chinese"),
        pytest.param("Watson (" * 25_000, id="names and brackets"),
        pytest.param("[" * 3 + " " * 200_000 + ":", id="blanks"),
        pytest.param("whispers to " * 20_000, id="whispers"),
    ],
)
def test_a_very_long_answer_takes_no_time(text: str) -> None:
    fault(text)
    begun = time.process_time()
    cut(text)
    parse_utterance(text, ALL, BAKER_STREET, ["Sherlock Holmes"])
    fault(text, tuple(line("watson", text) for _ in range(12)))
    assert time.process_time() - begun < 3


def test_hardly_any_line_of_real_dialogue_is_a_fault() -> None:
    """Public-domain novels: each character's line after those before it in its scene."""
    told = json.loads(shared_data("scenes/test_public_domain_books.json").read_text("utf-8"))
    looked_at, faulty = 0, 0
    for scene in told:
        said = [one for one in scene["dialogues"] if one["character"] != "Environment"]
        names = {id_of(one["character"]): one["character"] for one in said}
        lines: list[SceneLine] = []
        for one in said:
            seat = id_of(one["character"])
            text = re.sub(r"\[[^\]]*\]", "", one["message"]).strip()
            others = {other: name for other, name in names.items() if other != seat}
            assert cut_at_others(text, [one["character"]], [*others.values()]) == text
            meant = parse_utterance(text, ALL, others, [one["character"]])
            found = fault_in(
                meant.text,
                speaker=seat,
                lines=lines,
                names=names,
                language="en",
                kind=BUILT_IN[meant.kind],
                turn_kinds=ALL,
            )
            looked_at, faulty = looked_at + 1, faulty + bool(found)
            lines.append(line(seat, meant.text, present=[*names]))
    assert looked_at > 400
    assert faulty / looked_at < 0.01
