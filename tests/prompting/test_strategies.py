"""What each strategy sends, to the letter; and the prompt texts it is made of."""

from collections.abc import Sequence
from importlib.resources import files
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

import rolellm_agents.prompting.prompts
from rolellm_agents.errors import SettingsError
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.prompting.prompts import Prompt, load_prompt
from rolellm_agents.prompting.strategies import RECALLS, STRATEGIES, get_strategy
from rolellm_agents.recall import RecalledDemonstration, RecalledItem, RecalledPassage
from rolellm_agents.text.language import Language

Turn = tuple[str, str]
"""A message as its kind and its text; the kinds of marked messages tell the mark."""

ADA = Persona(
    id="ada",
    name="Ada {B}",
    description="Ada bakes {bread} for 100% {profile}.",
    catchphrases=("Rise, {name}!", 'Say "flour".'),
    demonstrations=(
        Demonstration(user="Who {are} you?", reply="Ada, of the {oven}."),
        Demonstration(user="Why bake?", reply="Hunger {0}."),
        Demonstration(user="Any wolves?", reply="Two\nlines."),
    ),
)
PLAIN_ADA = ADA.model_copy(update={"catchphrases": ()})

WU = Persona(
    id="wu",
    name="悟{空}",
    language="zh",
    description="他是{猴}王。",
    catchphrases=("俺老孙{来}也！", "呔！"),
    demonstrations=(
        Demonstration(user="你{是}谁？", reply="齐天{大}圣。"),
        Demonstration(user="怕什么？", reply="紧箍咒。"),
    ),
)
PLAIN_WU = WU.model_copy(update={"catchphrases": ()})

ENGLISH_INSTRUCTION = (
    "Talk exactly as Ada {B} talks: the same vocabulary, rhythm, temper and habits of mind, so that "
    "a listener would know the speaker with the name taken away. Speak in the first person, for Ada {B} "
    "alone, and know only what Ada {B} can know. You have this one personality and no other; never speak "
    "of language models, assistants, prompts or playing a part. Say what Ada {B} would say in a few "
    "sentences, no more formal and no more polite than Ada {B} is."
)
CHINESE_INSTRUCTION = (
    "请完全照悟{空}的说话方式来说话：用词、节奏、脾气和想法都要像，让人隐去名字也听得出是谁。用第一人称，"
    "只替悟{空}一个人说话，只知道悟{空}能知道的事。你只有这一种人格；绝不提语言模型、助手、提示词或扮演角色。"
    "像悟{空}那样说上几句即可，不必比悟{空}更正式，也不必比悟{空}更客气。"
)
ENGLISH_PROFILE = (
    "You are Ada {B}. Ada bakes {bread} for 100% {profile}.\n"
    'Ada {B} is known for saying: "Rise, {name}!" "Say "flour"."'
)
CHINESE_PROFILE = "你是悟{空}。他是{猴}王。\n悟{空}的口头禅：“俺老孙{来}也！”“呔！”"

CUSTOM: dict[str, Turn] = {
    "ada": ("system", f"{ENGLISH_PROFILE}\n\n{ENGLISH_INSTRUCTION}"),
    "plain ada": (
        "system",
        f"You are Ada {{B}}. Ada bakes {{bread}} for 100% {{profile}}.\n\n{ENGLISH_INSTRUCTION}",
    ),
    "wu": ("system", f"{CHINESE_PROFILE}\n\n{CHINESE_INSTRUCTION}"),
    "plain wu": ("system", f"你是悟{{空}}。他是{{猴}}王。\n\n{CHINESE_INSTRUCTION}"),
}
SYSTEM: dict[str, Turn] = {
    "ada": ("system", f"{ENGLISH_PROFILE}\nAnswer as Ada {{B}}."),
    "plain ada": ("system", "You are Ada {B}. Ada bakes {bread} for 100% {profile}.\nAnswer as Ada {B}."),
    "wu": ("system", f"{CHINESE_PROFILE}\n请以悟{{空}}的身份回答。"),
    "plain wu": ("system", "你是悟{空}。他是{猴}王。\n请以悟{空}的身份回答。"),
}
# The nearest demonstration, recalled first, stands last.
DIALOGUE: dict[str, list[Turn]] = {
    "ada": [
        ("shown human", "Who {are} you?"),
        ("shown ai", "Ada, of the {oven}."),
        ("shown human", "Any wolves?"),
        ("shown ai", "Two\nlines."),
    ],
    "wu": [
        ("shown human", "你{是}谁？"),
        ("shown ai", "齐天{大}圣。"),
        ("shown human", "怕什么？"),
        ("shown ai", "紧箍咒。"),
    ],
}
EXAMPLES: dict[str, Turn] = {
    "ada": (
        "human",
        "This is how Ada {B} answers:\n\n"
        "Question: Who {are} you?\nAnswer: Ada, of the {oven}.\n\n"
        "Question: Any wolves?\nAnswer: Two\nlines.\n\n"
        "Now answer this in the same voice, and write only the answer:\n"
        "Is {it} 你 %s done?",
    ),
    "wu": (
        "human",
        "悟{空}是这样回答的：\n\n"
        "问：你{是}谁？\n答：齐天{大}圣。\n\n"
        "问：怕什么？\n答：紧箍咒。\n\n"
        "现在请用同样的口吻回答下面这句话，只写回答：\n"
        "Is {it} 你 %s done?",
    ),
}

USER = "Is {it} 你 %s done?"
HISTORY: tuple[BaseMessage, ...] = (
    HumanMessage("Hello {there}."),
    AIMessage("Mm {hm}.", name="ada"),
    HumanMessage("And?"),
    AIMessage("And what?"),
)
HISTORY_TURNS: list[Turn] = [
    ("human", "Hello {there}."),
    ("ai", "Mm {hm}."),
    ("human", "And?"),
    ("ai", "And what?"),
]
PERSONAS = {"ada": ADA, "plain ada": PLAIN_ADA, "wu": WU, "plain wu": PLAIN_WU}
BOTH_HISTORIES = pytest.mark.parametrize(
    ("history", "turns"),
    [pytest.param((), [], id="first-line"), pytest.param(HISTORY, HISTORY_TURNS, id="later-line")],
)


RECALLED: dict[str, Turn] = {
    "ada": (
        "recalled system",
        "What comes back to Ada {B}:\n"
        "- Asked “Who {are} you?”, Ada {B} said: “Ada, of the {oven}.”\n"
        "- Asked “Any wolves?”, Ada {B} said: “Two\nlines.”",
    ),
    "wu": (
        "recalled system",
        "悟{空}想起了：\n"
        "- 有人问“你{是}谁？”，悟{空}说：“齐天{大}圣。”\n"
        "- 有人问“怕什么？”，悟{空}说：“紧箍咒。”",
    ),
}


def recalled(*indexes: int) -> list[RecalledItem]:
    return [
        RecalledDemonstration(kind="demonstration", index=index, score=1.0, why="it is near")
        for index in indexes
    ]


def known(*texts: str) -> list[RecalledItem]:
    return [
        RecalledPassage(kind="passage", of="knowledge", text=text, source="x", score=1.0, why="y")
        for text in texts
    ]


def found(persona: Persona) -> list[RecalledItem]:
    """The last demonstration as the nearest, then the first."""
    return recalled(len(persona.demonstrations) - 1, 0)


def turns_of(messages: Sequence[BaseMessage]) -> list[Turn]:
    """The messages as pairs; whatever else a message carries must be one of the two marks."""
    marks = {"": {}, "shown ": {"demonstration": True}, "recalled ": {"recalled": True}}
    shown: list[Turn] = []
    for message in messages:
        (mark,) = [name for name, carried in marks.items() if carried == message.additional_kwargs]
        shown.append((mark + message.type, str(message.text)))
    return shown


@BOTH_HISTORIES
@pytest.mark.parametrize("who", PERSONAS)
@pytest.mark.parametrize("finds", [False, True])
def test_system_is_profile_and_history_and_line(
    who: str, history: Sequence[BaseMessage], turns: list[Turn], finds: bool
) -> None:
    persona = PERSONAS[who]
    messages = get_strategy("system")(persona, history, found(persona) if finds else [], USER)
    assert turns_of(messages) == [SYSTEM[who], *turns, ("human", USER)]


@BOTH_HISTORIES
@pytest.mark.parametrize("who", PERSONAS)
@pytest.mark.parametrize("finds", [False, True])
def test_zero_shot_is_the_custom_instruction_and_history_and_line(
    who: str, history: Sequence[BaseMessage], turns: list[Turn], finds: bool
) -> None:
    persona = PERSONAS[who]
    messages = get_strategy("zero-shot")(persona, history, found(persona) if finds else [], USER)
    assert turns_of(messages) == [CUSTOM[who], *turns, ("human", USER)]


@BOTH_HISTORIES
@pytest.mark.parametrize("who", PERSONAS)
def test_few_shot_dialogue_puts_marked_turns_before_the_history(
    who: str, history: Sequence[BaseMessage], turns: list[Turn]
) -> None:
    persona = PERSONAS[who]
    messages = get_strategy("few-shot-dialogue")(persona, history, found(persona), USER)
    assert turns_of(messages) == [CUSTOM[who], *DIALOGUE[persona.id], *turns, ("human", USER)]


@BOTH_HISTORIES
@pytest.mark.parametrize("who", PERSONAS)
def test_few_shot_prompt_puts_the_pairs_into_the_last_message(
    who: str, history: Sequence[BaseMessage], turns: list[Turn]
) -> None:
    persona = PERSONAS[who]
    messages = get_strategy("few-shot-prompt")(persona, history, found(persona), USER)
    assert turns_of(messages) == [CUSTOM[who], *turns, EXAMPLES[persona.id]]


@BOTH_HISTORIES
@pytest.mark.parametrize("who", PERSONAS)
def test_retrieval_is_system_with_a_message_of_what_is_recalled_before_the_line(
    who: str, history: Sequence[BaseMessage], turns: list[Turn]
) -> None:
    persona = PERSONAS[who]
    messages = get_strategy("retrieval")(persona, history, found(persona), USER)
    assert turns_of(messages) == [SYSTEM[who], *turns, RECALLED[persona.id], ("human", USER)]


@BOTH_HISTORIES
@pytest.mark.parametrize("who", PERSONAS)
def test_when_nothing_is_recalled_retrieval_is_system(
    who: str, history: Sequence[BaseMessage], turns: list[Turn]
) -> None:
    messages = get_strategy("retrieval")(PERSONAS[who], history, [], USER)
    assert messages == get_strategy("system")(PERSONAS[who], history, [], USER)
    assert turns_of(messages) == [SYSTEM[who], *turns, ("human", USER)]


def test_retrieval_puts_what_is_known_after_what_was_said_and_the_nearest_last() -> None:
    items = [*known("near {x}"), *found(ADA), *known("far\n%s")]
    (_, recollection, _) = get_strategy("retrieval")(ADA, (), items, USER)
    assert recollection.text == f"{RECALLED['ada'][1]}\n- far\n%s\n- near {{x}}"


@BOTH_HISTORIES
@pytest.mark.parametrize("name", STRATEGIES)
def test_under_every_strategy_what_is_known_stands_right_before_the_line(
    name: str, history: Sequence[BaseMessage], turns: list[Turn]
) -> None:
    bare = turns_of(STRATEGIES[name](WU, history, [], USER))
    assert turns_of(STRATEGIES[name](WU, history, known("近{处}", "远处"), USER)) == [
        *bare[:-1],
        ("recalled system", "悟{空}想起了：\n- 远处\n- 近{处}"),
        bare[-1],
    ]
    assert bare[1:] == [*turns, ("human", USER)]


@BOTH_HISTORIES
@pytest.mark.parametrize("strategy", ["few-shot-dialogue", "few-shot-prompt"])
@pytest.mark.parametrize("who", PERSONAS)
def test_with_no_demonstrations_the_few_shot_strategies_are_the_custom_instruction_alone(
    who: str, strategy: str, history: Sequence[BaseMessage], turns: list[Turn]
) -> None:
    persona = PERSONAS[who].model_copy(update={"demonstrations": ()})
    messages = get_strategy(strategy)(persona, history, [], USER)
    assert turns_of(messages) == [CUSTOM[who], *turns, ("human", USER)]


def test_messages_are_of_the_kinds_a_model_knows() -> None:
    messages = get_strategy("few-shot-dialogue")(ADA, HISTORY[:2], recalled(1), USER)
    assert [type(message) for message in messages] == [
        SystemMessage,
        HumanMessage,
        AIMessage,
        HumanMessage,
        AIMessage,
        HumanMessage,
    ]


def test_the_history_is_passed_on_as_it_is() -> None:
    for strategy in STRATEGIES.values():
        messages = strategy(ADA, HISTORY, [], USER)
        assert messages[1:5] == list(HISTORY)
        assert messages[2].name == "ada"


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_changes_nothing_it_is_given_and_says_the_same_twice(name: str) -> None:
    history = list(HISTORY)
    history_before = [message.model_copy(deep=True) for message in history]
    items = found(ADA)
    items_before = found(ADA)
    persona_before = ADA.model_copy(deep=True)

    first = STRATEGIES[name](ADA, history, items, USER)
    first.append(HumanMessage("somebody uses the list"))
    second = STRATEGIES[name](ADA, history, items, USER)

    assert second == first[:-1]
    assert second is not history
    assert (history, items, persona_before) == (history_before, items_before, ADA)


def test_the_marks_of_two_demonstrations_are_not_one_object() -> None:
    """Providers write into `additional_kwargs`; what is written to one turn must not show in another."""
    messages = get_strategy("few-shot-dialogue")(ADA, (), found(ADA), USER)
    messages[1].additional_kwargs["seen"] = True
    again = get_strategy("few-shot-dialogue")(ADA, (), found(ADA), USER)
    assert [message.additional_kwargs for message in (*messages[2:5], *again[1:5])] == [
        {"demonstration": True}
    ] * 7


TEXTS = st.text(min_size=1, max_size=30).filter(str.strip) | st.sampled_from(
    ["{user}", "{name}", "{{}}", "{", "}", "{0}", "{examples}", "%(x)s", "$name", "\\n", "---"]
)


@given(TEXTS, TEXTS, TEXTS, TEXTS, st.sampled_from(["en", "zh"]))
def test_what_a_persona_and_a_user_say_arrives_letter_by_letter(
    name: str, description: str, reply: str, user: str, language: Language
) -> None:
    persona = Persona(
        id="x",
        name=name,
        language=language,
        description=description,
        catchphrases=(reply,),
        demonstrations=(Demonstration(user=name, reply=reply),),
    )
    for name_of_strategy, strategy in STRATEGIES.items():
        messages = strategy(persona, (), [*recalled(0), *known(description)], user)
        instruction, last = messages[0].text, messages[-1].text
        for text in (persona.name, persona.description, persona.catchphrases[0]):
            assert text in instruction
        if name_of_strategy == "few-shot-prompt":
            assert last.endswith(f"\n{user}")
            assert persona.demonstrations[0].reply in last
        else:
            assert last == user
        assert messages[-2].text.endswith(f"\n- {description}")
        if name_of_strategy == "retrieval":
            assert persona.demonstrations[0].user in messages[-2].text
            assert persona.demonstrations[0].reply in messages[-2].text


# --- By name


def test_the_strategies_have_the_names_of_the_paper() -> None:
    assert list(STRATEGIES) == ["zero-shot", "few-shot-prompt", "few-shot-dialogue", "system", "retrieval"]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_uses_demonstrations_when_it_has_them_looked_up(name: str) -> None:
    with_them = STRATEGIES[name](ADA, (), found(ADA), USER)
    without = STRATEGIES[name](ADA, (), [], USER)
    looked_up = name in RECALLS and "demonstration" in RECALLS[name].kinds
    assert looked_up == (with_them != without)


def test_nobody_looks_up_for_a_strategy_that_does_not_exist() -> None:
    assert set(RECALLS) < set(STRATEGIES)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("zeroshot", "There is no strategy 'zeroshot' (did you mean zero-shot?); "),
        ("qqqq", "There is no strategy 'qqqq'; "),
        ("", "There is no strategy ''; "),
    ],
)
def test_an_unknown_strategy_is_told_with_the_known_ones(name: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        get_strategy(name)
    said = str(caught.value)
    assert said.startswith(told)
    assert said.endswith("nown are zero-shot, few-shot-prompt, few-shot-dialogue, system, retrieval.")


# --- Prompt texts

LANGUAGES: tuple[Language, ...] = ("en", "zh")
PROMPT_IDS = sorted(
    file.name.removesuffix(".md")
    for file in (files(rolellm_agents.prompting.prompts) / "en").iterdir()
    if file.name.endswith(".md")
)


def test_every_prompt_is_there_in_every_language() -> None:
    of_strategies = {"catchphrases", "custom-instruction", "example", "examples", "system"}
    assert of_strategies | {"recalled", "recalled-demonstration"} < set(PROMPT_IDS)
    for language in LANGUAGES:
        folder = files(rolellm_agents.prompting.prompts) / language
        assert {file.name for file in folder.iterdir()} == {f"{name}.md" for name in PROMPT_IDS}


@pytest.mark.parametrize("prompt_id", PROMPT_IDS)
def test_a_prompt_says_its_id_and_version_and_takes_the_same_fields_in_every_language(
    prompt_id: str,
) -> None:
    def fields(prompt: Prompt) -> set[str | None]:
        return {field for _, field, _, _ in Formatter().parse(prompt.text) if field is not None}

    english, chinese = (load_prompt(prompt_id, language) for language in LANGUAGES)
    assert (english.id, chinese.id) == (prompt_id, prompt_id)
    assert fields(english) == fields(chinese)
    of_strategies = {"name", "profile", "user", "reply", "examples", "catchphrases", "recalled"}
    of_generators = {"attributes", "count", "lines", "theme"}
    of_profiles = {"title", "passage", "facts", "traits", "description"}
    of_scenes = {
        "goals",
        "setting",
        "time",
        "present",
        "private",
        "manners",
        "other",
        "text",
        "before",
        "about",
    }
    of_interviews = {"goal", "visitor"}
    of_verification = {
        "situation",
        "statement",
        "low",
        "high",
        "question",
        "answer",
        "reason",
        "fact",
        "moment",
        "series",
        "options",
    }
    of_judges = {
        "conversation",
        "dimension",
        "first",
        "grades",
        "last",
        "looks_at",
        "orders",
        "people",
        "reference",
        "references",
        "replies",
    }
    known = of_strategies | of_profiles | of_generators | of_scenes | of_interviews | of_judges
    known |= of_verification
    assert fields(english) <= known
    for prompt, language in ((english, "en"), (chinese, "zh")):
        assert prompt.version >= 1
        assert prompt.name == f"{prompt_id}/{language}@{prompt.version}"
        assert prompt.text == prompt.text.strip() != ""


def test_a_prompt_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        load_prompt("no-such-prompt", "en")


def test_a_prompt_with_an_unfilled_field_is_an_error() -> None:
    with pytest.raises(KeyError, match="profile"):
        load_prompt("system", "en").fill(name="Ada")
