"""What is wrong with a reply that can be seen without a judge."""

import pytest

from rolellm_agents.metrics import PaperCells, paper_cells
from rolellm_agents.persona import Demonstration, Persona, list_personas
from rolellm_agents.reply_checks.catchphrases import catchphrase_use, piles_up_catchphrases
from rolellm_agents.reply_checks.detections import DETECTIONS, detect, detection_shares, is_in_role
from rolellm_agents.reply_checks.user_turns import speaks_for_user
from rolellm_agents.text.language import Language

KEEPER = Persona(
    id="keeper",
    name="Ada Lamp",
    description="Ada Lamp keeps the lighthouse on the cape and has not left it for thirty years.",
    catchphrases=("Mind the step.", "So it goes"),
    demonstrations=(
        Demonstration(user="Who is there?", reply="Only me and the gulls, and they pay no rent at all."),
    ),
)
EMPRESS = Persona(
    id="hua", name="华妃", language="zh", description="华妃是皇帝的妃子。", catchphrases=("贱人就是矫情",)
)


@pytest.mark.parametrize(
    ("reply", "detected"),
    [
        ("I keep the lamp, and the lamp keeps me.", set()),
        ("", {"empty"}),
        (" …", {"empty"}),
        ("As an AI, I keep no lamp.", {"ai-talk"}),
        ("In this role-play I keep the lamp.", {"out-of-role"}),
        ("I'm sorry, but I can't answer that.", {"refusal"}),
        ("俺老孙守着灯塔，已有三十年。", {"wrong-language"}),
        ("Ada Lamp would say that the lamp is lit.", {"wrong-person"}),
        ("Only me and the gulls, and they pay no rent at all.", {"copied"}),
        ("I light the lamp. " * 4, {"repetitive"}),
        ("I light it.<|im_end|>", {"leaked-template"}),
        ("I light it. Answer as Ada Lamp.", {"leaked-template"}),
        ("Talk exactly as Ada Lamp talks: the same vocabulary, I say.", {"leaked-template"}),
        ("I answer as I like.", set()),
        (
            "You ask who. I light it: me, " + KEEPER.description + " I light it at dusk, by myself.",
            {"copied"},
        ),
        ("I light it.\nYou: And then?", {"speaks-for-user"}),
        ("Mind the step. So it goes. I said mind the step!", {"catchphrases"}),
    ],
)
def test_each_fault_is_told_by_its_name(reply: str, detected: set[str]) -> None:
    assert detect(reply, KEEPER, "Who lights it?") == detected
    assert detected <= DETECTIONS.keys()


def test_out_of_role_is_who_speaks_as_somebody_else_or_in_another_language() -> None:
    for reply in (
        "As an AI, I keep no lamp.",
        "俺老孙守着灯塔，已有三十年。",
        "In this role-play I keep it.",
    ):
        assert not is_in_role(detect(reply, KEEPER, "Who lights it?"))
    for reply in ("I light it.", "", "I light the lamp. " * 4):
        assert is_in_role(detect(reply, KEEPER, "Who lights it?"))


def test_shares_are_of_all_replies() -> None:
    shares = detection_shares([{"ai-talk", "repetitive"}, {"repetitive"}, set(), set()])
    assert (shares["ai-talk"], shares["repetitive"], shares["in_role"]) == (0.25, 0.5, 0.75)
    assert shares.keys() == DETECTIONS.keys() | {"in_role"}
    assert set(detection_shares([]).values()) == {0.0}


@pytest.mark.parametrize(
    "reply",
    [
        "The lamp is lit.\nUser: And the oil?",
        "The lamp is lit.\n\n**You:** And the oil?",
        "The lamp is lit.\nTraveller: And the oil?",
        "<|im_start|>user\nAnd the oil?",
        "{{user}}: And the oil?",
        "*She waits. You nod slowly.*",
        "I light it. (then you softly whisper my name)",
        'I light it. You reply, "Thank you, Ada."',
        "灯亮了。\n用户：油呢？",
        "（你点了点头，走向门口）灯亮了。",
        "灯亮了。你笑道：“多谢。”",
    ],
)
def test_what_the_user_says_or_does_is_not_the_character_s_to_tell(reply: str) -> None:
    assert speaks_for_user(reply, "Traveller")


@pytest.mark.parametrize(
    "reply",
    [
        "You laugh, sir, and you nod, but the lamp is no joke.",
        "*I look at you and smile.* Come in.",
        'You don\'t say "lamp", you say "light".',
        "A light, you say? (I never saw you here before.)",
        "Traveller: that is what they call me. You: that is another matter.",
        "Tell the user: the oil is low.",
        "你应该说：“灯亮了。”",
        "（看着你）灯亮了。",
    ],
)
def test_a_character_may_speak_of_and_to_the_user(reply: str) -> None:
    assert not speaks_for_user(reply, "Traveller")


def test_the_cast_itself_hardly_ever_shows_what_is_looked_for() -> None:
    said = [
        (pair, found.persona.model_copy(update={"demonstrations": ()}))
        for found in list_personas().found
        for pair in found.persona.demonstrations
    ]
    shares = detection_shares(detect(pair.reply, persona, pair.user) for pair, persona in said)
    assert shares.pop("in_role") > 0.995
    assert max(shares.values()) < 0.02
    assert shares["speaks-for-user"] == 0


def test_use_of_catchphrases_is_counted_by_reply_and_by_phrase() -> None:
    replies = [
        "So it goes.",
        "Mind the step! Mind the step!",
        "The lamp is lit.",
        "So it goes, so it goes.",
    ]
    use = catchphrase_use(replies, KEEPER)
    assert (use.replies, use.share) == (4, 0.75)
    assert use.shares == {"Mind the step.": 0.25, "So it goes": 0.5}
    assert use.overused() == []
    assert use.overused(often=0.4) == ["So it goes"]
    assert catchphrase_use([*replies, "So it goes"], KEEPER).overused() == ["So it goes"]


def test_of_few_replies_nothing_is_overused() -> None:
    assert catchphrase_use(["So it goes."] * 3, KEEPER).overused() == []
    empty = catchphrase_use([], KEEPER)
    assert (empty.share, empty.overused()) == (0, [])


@pytest.mark.parametrize(
    ("reply", "piled_up"),
    [
        ("So it goes, so it goes.", False),
        ("So it goes, so it goes, so it goes.", True),
        (
            "So it goes. "
            + "The lamp is lit, the oil is low and the gulls are asleep. " * 6
            + "So it goes. So it goes.",
            False,
        ),
        ("So it GOES! Mind the step: so it goes.", True),
        ("And so it goes on, so it goes on, so it gone.", False),
    ],
)
def test_three_catchphrases_in_a_short_reply_are_too_many(reply: str, piled_up: bool) -> None:
    assert piles_up_catchphrases(reply, KEEPER) == piled_up


@pytest.mark.parametrize(("times", "language"), [(2, "zh"), (3, "zh")])
def test_chinese_catchphrases_are_counted_without_spaces(times: int, language: Language) -> None:
    assert EMPRESS.language == language
    assert piles_up_catchphrases("贱人，就是矫情！" * times, EMPRESS) == (times == 3)


def test_the_paper_s_mean_is_of_three_cells_or_none() -> None:
    cells = paper_cells(raw=[0.5, 0.6], cus=[0.4], spe=[0.2, 0.4])
    assert cells == PaperCells(pytest.approx(0.55), 0.4, pytest.approx(0.3))  # type: ignore[arg-type]
    assert cells.mean == pytest.approx((0.55 + 0.4 + 0.3) / 3)
    without = paper_cells(cus=[0.4], spe=[0.0])
    assert (without.raw, without.spe, without.mean) == (None, 0.0, None)
