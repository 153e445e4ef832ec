"""What a model's answer means: said, done, whispered or thought."""

from collections.abc import Mapping, Sequence

import pytest
from helpers.hypotheses import examples
from helpers.own_kinds import OWN_KINDS, SHOUT, SIGN
from hypothesis import assume, given
from hypothesis import strategies as st

from rolellm_agents.persona import list_personas
from rolellm_agents.scene.message_kinds import ACT, BUILT_IN, SAY, THINK, TURN_KINDS, WHISPER, MessageKind
from rolellm_agents.scene.utterances import Utterance, UtteranceStream, parse_utterance
from rolellm_agents.scene.witness import audience_of

ALL = TURN_KINDS
NAMES = {
    "watson": "Dr. Watson",
    "lestrade": "Inspector Lestrade",
    "mycroft": "Mycroft Holmes",
    "irene": "Irene Adler",
    "hua": "华生",
    "wukong": "孙悟空",
}
OWN = ("Sherlock Holmes",)


def meant(text: str, turn_kinds: Sequence[MessageKind] = ALL) -> Utterance:
    return parse_utterance(text, turn_kinds, NAMES, OWN)


@pytest.mark.parametrize(
    ("text", "to", "words"),
    [
        ("(whispers to Dr. Watson) He lies.", ("watson",), "He lies."),
        ("(whispers to Dr Watson) He lies.", ("watson",), "He lies."),
        ("(Whispering to watson) He lies.", ("watson",), "He lies."),
        ("(to Watson, whispering) He lies.", ("watson",), "He lies."),
        ("(aside to Lestrade): He lies.", ("lestrade",), "He lies."),
        ("[whispers to Watson] He lies.", ("watson",), "He lies."),
        ("*whispers to Watson* He lies.", ("watson",), "He lies."),
        ("**(whispers to Watson)** He lies.", ("watson",), "He lies."),
        ("*(whispers to Watson)* He lies.", ("watson",), "He lies."),
        ("*leans closer* (whispers to Watson) He lies.", ("watson",), "*leans closer* He lies."),
        ("(leans over to Watson and whispers) He lies.", ("watson",), "He lies."),
        ("(in Watson's ear) He lies.", ("watson",), "He lies."),
        ("(quietly, to Watson) He lies.", ("watson",), "He lies."),
        ("(in a low voice to Watson) He lies.", ("watson",), "He lies."),
        ("(whispers to Miss Adler) He lies.", ("irene",), "He lies."),
        ("(whispers to his friend Watson) He lies.", ("watson",), "He lies."),
        ("(whispers to Watson and Irene Adler) He lies.", ("watson", "irene"), "He lies."),
        ("(whispers to Watson, Irene, and Mycroft) He lies.", ("watson", "irene", "mycroft"), "He lies."),
        ("(whispers to Watson: he lies)", ("watson",), "he lies"),
        ("(whispers to Watson that he lies)", ("watson",), "he lies"),
        ("Sherlock Holmes: (whispers to Watson) He lies.", ("watson",), "He lies."),
        ("(whispers to Watson) Holmes: He lies.", ("watson",), "He lies."),
        ("**Holmes** (whispering to Watson): He lies.", ("watson",), "He lies."),
        ("Holmes whispers to Watson: He lies.", ("watson",), "He lies."),
        ("Whispers to Watson: He lies.", ("watson",), "He lies."),
        ("I whisper urgently to Watson: He lies.", ("watson",), "He lies."),
        ("悄悄对华生说：他在撒谎。", ("hua",), "他在撒谎。"),
        ("对华生低声说：他在撒谎。", ("hua",), "他在撒谎。"),
        ("“(whispers to Watson) He lies.”", ("watson",), "“He lies.”"),
        ("(对华生低声说)他在撒谎。", ("hua",), "他在撒谎。"),
        ("（对华生和孙悟空低声说）他在撒谎。", ("hua", "wukong"), "他在撒谎。"),
        ("（悄悄对悟空说）他在撒谎。", ("wukong",), "他在撒谎。"),
        ("（悄悄对悟空说：他在撒谎）", ("wukong",), "他在撒谎"),
        ("（凑到华生耳边）他在撒谎。", ("hua",), "他在撒谎。"),
    ],
)
def test_a_mark_makes_a_whisper_for_whom_it_names(text: str, to: tuple[str, ...], words: str) -> None:
    assert meant(text) == Utterance("whisper", to, words)


@pytest.mark.parametrize(
    ("mark", "to"),
    [
        ("(whispers to Watson, so that Lestrade cannot hear)", ("watson",)),
        ("(whispers to Watson about Lestrade)", ("watson",)),
        ("(whispers to Watson, Lestrade looking on)", ("watson",)),
        ("(turning his back to Lestrade, whispers to Watson)", ("watson",)),
        ("(turns to Lestrade, then whispers to Watson)", ("watson",)),
        ("(glancing at Lestrade, whispers to Watson)", ("watson",)),
        ("(whispers to Watson and somebody else)", ("watson",)),
        ("（指着孙悟空，悄悄对华生说）", ("hua",)),
    ],
)
def test_who_only_occurs_in_a_mark_does_not_hear_the_whisper(mark: str, to: tuple[str, ...]) -> None:
    assert meant(f"{mark} He lies.") == Utterance("whisper", to, "He lies.")


@pytest.mark.parametrize(
    "mark",
    [
        "(whispers)",
        "(aside)",
        "(whispers to Moriarty)",
        "(whispers to John Smith)",
        "(whispers to Watson's dog)",
        "(whispers to Watson Smith)",
        "(whispers to Mrs. Watson)",
        "(whispers to Holmes)",
        "(whispers to himself)",
        "(whispers to everybody but Lestrade)",
        "(glancing at Lestrade, whispers)",
        "(murmurs to Moriarty)",
        "（对莫里亚蒂低声说）",
        "（对华生的弟弟低声说）",
        "（悄悄地说）",
    ],
)
def test_a_whisper_for_nobody_we_know_of_is_heard_by_nobody(mark: str) -> None:
    names = {seat: name for seat, name in NAMES.items() if seat != "mycroft"}
    expected = Utterance("think", (), "He lies.")
    assert parse_utterance(f"{mark} He lies.", ALL, names, OWN) == expected
    assert parse_utterance(f"{mark} He lies.", (SAY, WHISPER), names, OWN) == expected


def test_a_name_that_two_share_is_not_understood() -> None:
    names = {"mary": "Mary Bennet", "kitty": "Kitty Bennet", "jack": "Jack", "sparrow": "Jack Sparrow"}
    assert parse_utterance("(whispers to Bennet) Come.", ALL, names).kind == "think"
    assert parse_utterance("(whispers to Miss Kitty) Come.", ALL, names).to == ("kitty",)
    # But somebody's whole name is theirs.
    assert parse_utterance("(whispers to Jack) Come.", ALL, names).to == ("jack",)


def test_a_whisper_to_all_is_for_all_whom_one_knows() -> None:
    assert meant("(whispers to everyone) He lies.").to == tuple(NAMES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(thinks) He lies.", "He lies."),
        ("(thinking to himself) He lies.", "He lies."),
        ("*thinks* He lies.", "He lies."),
        ("(Holmes thinks) He lies.", "He lies."),
        ("Holmes (thinking): He lies.", "He lies."),
        ("(to himself) He lies.", "He lies."),
        ("(thinks: he lies)", "he lies"),
        ("(thinks to himself that Watson lies) Good evening.", "Watson lies Good evening."),
        ("（心想）他在撒谎。", "他在撒谎。"),
        ("Thinking: He lies.", "He lies."),
        ("我心想：他在撒谎。", "他在撒谎。"),
        ("Whispers to Moriarty: He lies.", "He lies."),
        ("（福尔摩斯心想：他在撒谎）", "他在撒谎"),
        ("(心里暗想) 他在撒谎。", "他在撒谎。"),
        ("(thinks) (whispers to Watson) He lies.", "He lies."),
        ("(whispers to Watson) (thinks) He lies.", "He lies."),
    ],
)
def test_a_mark_makes_a_thought(text: str, words: str) -> None:
    assert meant(text) == Utterance("think", (), words)


@pytest.mark.parametrize(
    "text",
    [
        "(to Watson) He lies.",
        "(quietly) He lies.",
        "(pauses, thinking) He lies.",
        "(thinks for a moment) He lies.",
        "(sets the cup aside) He lies.",
        "(hears a whisper) He lies.",
        "(in a stage whisper) He lies.",
        "（对大家低声说）他在撒谎。",
        "（低声）他在撒谎。",
        "（想了想）他在撒谎。",
        "*nods* He lies.",
        "*Never*, Watson.",
        "**Never!**",
        "He lies. (whispers to Watson)",
        "He whispers to Watson.",
        "He whispers to Watson, and I say this for one reason and for no other in the world: I saw it.",
        "Whispers to me are wasted.\nYes: wasted.",
        "I think: therefore I am here.\nYes.",
        "Think of this: nothing.",
        "Watson: whispers.",
        "Holmesian: yes.",
        "Holmes is my name for a reason: it is mine.",
        "*",
        "(",
        "*He nods",
        "",
    ],
)
def test_all_else_is_said_as_it_stands(text: str) -> None:
    assert meant(text) == Utterance("say", (), text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("*He nods.*", "He nods."),
        ("  *nods* *sits down*\n", "nods sits down"),
        ("Holmes: *nods*", "nods"),
    ],
)
def test_what_is_wholly_between_asterisks_is_done(text: str, words: str) -> None:
    assert meant(text) == Utterance("act", (), words)


def test_what_the_scene_does_not_know_stays_in_the_words() -> None:
    say: tuple[MessageKind, ...] = (SAY,)
    for text in ("*He nods.*", "(whispers to Watson) He lies.", "(thinks) He lies.", "（心想）他在撒谎。"):
        assert meant(text, say) == Utterance("say", (), text)
    assert meant("(thinks) He lies.", (SAY, WHISPER)).kind == "say"
    assert meant("(whispers to Watson) He lies.", (SAY, THINK)).kind == "say"


def test_where_nobody_speaks_plain_words_are_done_or_thought() -> None:
    assert meant("He nods.", (ACT,)).kind == "act"
    assert meant("He nods.", (WHISPER,)).kind == "think"


@pytest.mark.parametrize(
    "text",
    [
        "Sherlock Holmes: Elementary.",
        "Holmes: Elementary.",
        "holmes：Elementary.",
        "**Holmes:** Elementary.",
        "**Sherlock Holmes**: Elementary.",
        "[Holmes]: Elementary.",
        "\n# Holmes\nElementary.",
        "Holmes says: Elementary.",
        "Holmes says quietly: Elementary.",
    ],
)
def test_the_speakers_own_name_before_the_words_is_removed(text: str) -> None:
    assert meant(text) == Utterance("say", (), "Elementary.")


def test_what_is_done_beside_the_own_name_stays() -> None:
    assert meant("Holmes (smiling): Elementary.").text == "(smiling) Elementary."


def test_a_mark_alone_loses_no_words() -> None:
    assert meant("*whispers to Watson, a finger on his lips*") == Utterance(
        "whisper", ("watson",), "whispers to Watson, a finger on his lips"
    )


def test_a_mark_that_does_not_end_makes_a_whisper_of_all() -> None:
    text = "(whispers to Watson come closer, he lies " + "and lies " * 60
    assert meant(text) == Utterance("whisper", ("watson",), text.strip())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(signs to Dr. Watson) He lies.", Utterance("sign", ("watson",), "He lies.")),
        (
            "*signing to Watson and Irene Adler* He lies.",
            Utterance("sign", ("watson", "irene"), "He lies."),
        ),
        ("(to Watson, signing) He lies.", Utterance("sign", ("watson",), "He lies.")),
        ("(signs to Watson that he lies)", Utterance("sign", ("watson",), "he lies")),
        ("Holmes signs to Watson: He lies.", Utterance("sign", ("watson",), "He lies.")),
        ("Signs quickly to Watson: He lies.", Utterance("sign", ("watson",), "He lies.")),
        ("（对华生打手语）他在撒谎。", Utterance("sign", ("hua",), "他在撒谎。")),
        ("对华生打手语：他在撒谎。", Utterance("sign", ("hua",), "他在撒谎。")),
        ("(prays, for Watson's sake) Let it end.", Utterance("pray", (), "Let it end.")),
        ("Praying: let it end.", Utterance("pray", (), "let it end.")),
        ("(shouts) Stop!", Utterance("shout", (), "Stop!")),
        ("Holmes (shouting loudly): Stop!", Utterance("shout", (), "Stop!")),
        ("（大喊）住手！", Utterance("shout", (), "住手！")),
        ("(shouts at the dog) Stop!", Utterance("say", (), "(shouts at the dog) Stop!")),
        ("(designs a trap) He lies.", Utterance("say", (), "(designs a trap) He lies.")),
        # Of several marks, the one that fewest perceive counts.
        ("(shouts) (signs to Watson) He lies.", Utterance("sign", ("watson",), "He lies.")),
        ("(signs to Watson) (prays) Let it end.", Utterance("pray", (), "Let it end.")),
    ],
)
def test_a_mark_of_ones_own_kind_is_read_as_a_mark_of_ours(text: str, expected: Utterance) -> None:
    assert meant(text, (*ALL, *OWN_KINDS)) == expected
    assert meant(text).kind in ("say", "act")


@pytest.mark.parametrize(
    "mark", ["(signs)", "(signs to Moriarty)", "(signs to Watson's dog)", "（打手语）"]
)
def test_what_is_for_nobody_we_know_of_is_a_thought_in_a_kind_of_ones_own_too(mark: str) -> None:
    assert meant(f"{mark} He lies.", (SAY, SIGN)) == Utterance("think", (), "He lies.")


def test_where_one_can_only_shout_plain_words_are_shouted() -> None:
    assert meant("Stop!", (SIGN, SHOUT)).kind == "shout"
    assert meant("Stop!", (SIGN,)).kind == "think"


PIECES = st.sampled_from(
    [
        *(
            "(",
            ")",
            "*",
            "**",
            "[",
            "]",
            "（",
            "）",
            "_",
            "“",
            " ",
            "\n",
            ":",
            "：",
            ", ",
            ". ",
            "word ",
            "x" * 90,
        ),
        *("whispers to ", "whispers", "thinks", "to himself", "aside", "quietly, to ", "that ", " and "),
        *(
            "对",
            "低声说",
            "心想",
            "悄悄对",
            "他在撒谎。",
            "Watson",
            "Dr. Watson",
            "Mycroft Holmes",
            "孙悟空",
            "Nobody",
        ),
        *(
            "Sherlock Holmes",
            "Sherlock",
            "Holmes",
            "says",
            "nods",
            "(whispers to Watson) ",
            "Holmes: ",
            "*nods* ",
        ),
        *("(signs to Watson) ", "signs to ", "prays", "(shouts) ", "Shouts: ", "对华生打手语", "默祷"),
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=60)
MANNERS = st.lists(st.sampled_from((*ALL, *OWN_KINDS)), unique_by=lambda kind: kind.name).map(tuple)


@examples(7.5)
@given(TEXTS, MANNERS, st.data())
def test_however_an_answer_is_cut_the_same_comes_out(
    text: str, turn_kinds: tuple[MessageKind, ...], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    whole = parse_utterance(text, turn_kinds, NAMES, OWN)
    for places in (cuts, range(len(text))):
        opening = UtteranceStream(turn_kinds, NAMES, OWN)
        shown = ""
        for start, end in zip([0, *places], [*places, len(text)], strict=True):
            words = opening.feed(text[start:end])
            # Before anything is shown it is settled for whom it is.
            told = opening.utterance
            assert told is not None or not words
            assert told is None or (told.kind, told.to) == (whole.kind, whole.to)
            shown += words
        shown += opening.finish()
        assert shown == whole.text
        assert opening.utterance == whole


@examples(2.5)
@given(TEXTS)
def test_a_model_can_be_named_nobody_beyond_those_it_knows_and_keeps_its_words(text: str) -> None:
    whole = meant(text)
    assert set(whole.to) <= set(NAMES)
    assert (whole.kind == "whisper") == bool(whole.to)
    assert whole.text == whole.text.strip()


@examples(2.5)
@given(
    st.sampled_from(["whispers", "whispering", "whispers urgently", "Whispered", "aside"]),
    st.text(st.characters(blacklist_characters="()[]*_:："), max_size=60),
)
def test_what_begins_as_a_whisper_is_never_said_aloud(whispers: str, more: str) -> None:
    for text in (
        f"({whispers} to Watson {more}) canary",
        f"({whispers} {more}) canary",
        f"*{whispers} {more}* canary",
    ):
        told = meant(text)
        assert told.kind in ("whisper", "think")
        heard = audience_of(BUILT_IN[told.kind], "holmes", told.to, ["holmes", *NAMES])
        assert {*heard} <= {"holmes", *NAMES}


def test_words_are_held_back_for_so_long_only() -> None:
    for text in (
        "(" + "word " * 100,
        "*" + "word " * 100,
        "Holmes " + "word " * 100,
        "plain " + "word " * 100,
    ):
        opening = UtteranceStream(ALL, NAMES, OWN)
        held = 0
        for sign in text:
            held += not opening.feed(sign) and opening.utterance is None
        assert held < (300 if text[0] in "(*" else 100 if text[0] == "H" else 5)


def test_plain_words_are_shown_at_once() -> None:
    opening = UtteranceStream(ALL, NAMES, OWN)
    assert opening.feed("It is ") == "It is"
    assert opening.feed("late.") == " late."
    assert opening.feed("  \n") == ""
    assert opening.finish() == ""


def names_of_the_cast() -> Mapping[str, str]:
    return {found.persona.id: found.persona.name for found in list_personas().found}


@examples(1.5)
@given(
    st.lists(st.sampled_from(sorted(names_of_the_cast().items())), min_size=1, max_size=5, unique=True),
    st.data(),
)
def test_a_whisper_as_a_prompt_shows_it_is_understood_whoever_is_there(
    present: list[tuple[str, str]], data: st.DataObject
) -> None:
    names = dict(present)
    assume(len({name.casefold() for name in names.values()}) == len(names))
    to = data.draw(st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=3, unique=True))
    english = f"(whispers to {', '.join(names[seat] for seat in to)}) Come."
    chinese = f"（对{'、'.join(names[seat] for seat in to)}低声说）来。"
    assert parse_utterance(english, ALL, names, ["Somebody"]) == Utterance("whisper", tuple(to), "Come.")
    assert parse_utterance(chinese, ALL, names, ["Somebody"]) == Utterance("whisper", tuple(to), "来。")
