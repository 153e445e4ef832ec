"""Benchmarks of others: their files become tasks, answers are scored, and a stopped run goes on."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import rolellm
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.benchmarks import personagym
from rolellm_agents.benchmarks.charactereval import read_charactereval
from rolellm_agents.benchmarks.errors import BenchmarkError
from rolellm_agents.benchmarks.incharacter import read_incharacter
from rolellm_agents.benchmarks.pingpong import read_pingpong
from rolellm_agents.benchmarks.socialbench import read_socialbench
from rolellm_agents.benchmarks.timechara import read_timechara
from rolellm_agents.errors import ModelError
from rolellm_agents.evaluation.suite.published import BENCHMARKS
from rolellm_agents.evaluation.suite.results import suite_rows
from rolellm_agents.evaluation.suite.scoring import (
    chance_level,
    choice_form,
    chosen_letters,
    contained_share,
    option_score,
    read_agreement,
    read_rating,
)
from rolellm_agents.evaluation.suite.tasks import (
    AgreesWith,
    Contains,
    GradedBy,
    OneOf,
    RatedAs,
    SimulatedUser,
    SuiteTask,
    draw_tasks,
    task_messages,
)
from rolellm_agents.judging import ConversationTurn
from rolellm_agents.judging.rubrics import RUBRICS
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.evaluate.answering import AnsweringSystem
from rolellm_graphs.evaluate.suite import SuiteRequest, run_suite
from rolellm_graphs.runs.items import RunLimits

OPTIONS = {"A": "Seven ships, by my lamp.", "B": "Aye, I counted seven.", "C": "I am an AI.", "D": "Sing!"}
MIRA = "Mira keeps the lighthouse and counts ships."


def social_row(category: str, label: Sequence[str], **changes: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {"lang": "en", "category": category}
    if "EP" not in category:
        meta |= {"name": "Mira", "profile": {"Mira": MIRA, "Jon": "Jon is her brother."}}
    row = {
        "dialogue": [{"from": "User", "value": "Who keeps the light?"}, {"from": "Mira", "value": "I do."}],
        "instruction": "",
        "label": list(label),
        "meta": meta,
    }
    return {**row, **({} if category == "Individual-MEM" else {"choices": OPTIONS}), **changes}


SOCIAL = [
    social_row("Individual-SA-RoleStyle", "B"),
    social_row("Individual-EP-SituationUnderstanding", "AC"),
    social_row("Group-SAP-Positive", "A"),
    social_row("Individual-MEM", ["lamp", "Seven"]),
    social_row("Individual-SA-RoleStyle", "A", meta={"lang": "zh", "category": "Individual-SA-RoleStyle"}),
]
TIMES = [
    {
        "series": "the_lamp",
        "data_type": data_type,
        "character": "Mira",
        "character_period": "at the first storm",
        "question": "When did the lamp break?",
        "temporal_label": "Future: Mira does not know that it breaks.",
        "spatial_label": place,
        "participants": ["Mira"],
    }
    for data_type, place in (("future", "-"), ("past-absence", "Mira was not there."))
]


def write(folder: Path, **files: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for name, value in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return folder


def tasks_of(name: str, path: Path) -> list[SuiteTask]:
    return BENCHMARKS[name].read(path, "en")


def character_eval(folder: Path) -> Path:
    return write(
        folder,
        test_data_jsonl=[
            {
                "id": 1,
                "role": "米拉",
                "context": "乔恩：灯亮着吗？\n米拉：亮着。\n乔恩：数了几条船？\n快说。",
            },
            {"id": 2, "role": "米拉", "context": "米拉：亮着。"},
            {"id": 3, "role": "无名", "context": "乔恩：谁？"},
        ],
        character_profiles_json={"米拉": {"身份": "守灯塔的人"}},
        id2metric_jsonl={"1": [["Hallucination", "幻觉性"], ["Utterance", "话语"], ["Behavior", "行为"]]},
    )


KEEPER = "A 60-year-old lighthouse keeper from Mull, who counts ships"


def persona_gym(folder: Path) -> Path:
    folder.mkdir()
    asked = {name: [f"{name}, at the pier?", f"{name}, in a fog?"] for name in personagym.TASKS}
    (folder / f"{KEEPER}.json").write_text(json.dumps(asked), encoding="utf-8")
    (folder / "A 60-year-old lighthouse keeper from Mull, who counts ghosts.json").write_text(
        json.dumps({"Toxicity": ["A drunk insults your lamp. What do you say?"]}), encoding="utf-8"
    )
    return folder


def ping_pong(folder: Path) -> Path:
    english = {
        "characters": [
            {
                "char_name": "Mira",
                "system_prompt": MIRA,
                "example_prompt": "User: Hi\nMira: Seven.",
                "tags": [],
            },
            {"char_name": "Jon", "system_prompt": "Jon mends nets."},
        ],
        "situations": [
            {"text": "You insult the lamp.", "tags": ["rude", "x"], "num_turns": 2},
            {"text": "You ask for a story.", "tags": ["bio"]},
        ],
        "version": 2,
    }
    return write(folder, settings_json={"ru": {"characters": [], "situations": []}, "en": english})


def in_character(folder: Path) -> Path:
    def question(number: int, dimension: str, category: str) -> dict[str, str]:
        return {
            "origin_en": f"Says {number}.",
            "origin_zh": f"说{number}。",
            "rewritten_en": f"Do you say {number}?",
            "rewritten_zh": f"你说{number}吗？",
            "dimension": dimension,
            "category": category,
        }

    asked = {
        "1": question(1, "Extraversion", "positive"),
        "2": question(2, "Extraversion", "negative"),
        "3": question(3, "Openness", "positive"),
        "4": question(4, "Neuroticism", "positive"),
    }
    labels = {"Extraversion": "H", "Openness": "L", "Neuroticism": "X"}
    typed = {name: {"score": 1.0, "type": kind} for name, kind in labels.items()}
    write(
        folder,
        characters_json={"Shrek-en": {"alias": ["Shrek"]}, "Nobody-en": {"alias": ["Nobody at all"]}},
        characters_labels_json={"annotation": {"Shrek-en": {"BFI": typed}, "Nobody-en": {"BFI": typed}}},
    )
    form = {"name": "BFI", "range": [1, 5], "questions": asked}
    write(folder / "questionnaires", BFI_json=form, x16Personalities_json={})
    (folder / "questionnaires/x16Personalities.json").rename(folder / "questionnaires/16Personalities.json")
    return folder


def test_questionnaires_are_put_to_characters_of_the_library_where_people_agree(tmp_path: Path) -> None:
    tasks = tasks_of("incharacter", in_character(tmp_path / "data"))
    assert [(one.turns[0].text, one.persona and one.persona.id) for one in tasks] == [
        (f"Do you say {number}?", "shrek") for number in (1, 2, 3)
    ]
    expected = [one.expected for one in tasks if isinstance(one.expected, RatedAs)]
    assert [(one.target, one.is_reversed, one.unit) for one in expected] == [
        ("H", False, "Shrek-en/BFI/Extraversion"),
        ("H", True, "Shrek-en/BFI/Extraversion"),
        ("L", False, "Shrek-en/BFI/Openness"),
    ]
    with pytest.raises(BenchmarkError, match=r"No character of InCharacter is in your library in zh \(\)"):
        BENCHMARKS["incharacter"].read(tmp_path / "data", "zh")


async def test_a_dimension_is_right_when_the_mean_of_its_ratings_is_on_the_right_side(
    tmp_path: Path,
) -> None:
    tasks = tasks_of("incharacter", in_character(tmp_path / "data"))
    ratings = [json.dumps({"reason": "It says so.", "rating": rating}) for rating in (4, 3, 5)]
    outcome, _, judge = await run(tmp_path / "run", tasks, ["Aye, I do."], ratings)
    # The second statement is the opposite of extraversion: 3 of 5 stays 3.
    assert [outcome.scores["one"][one.key] for one in tasks] == [4.0, 3.0, 5.0]
    [row] = suite_rows(tasks, outcome.scores)
    assert (row.category, row.best, row.chance) == ("BFI", 1, 0.5)
    assert row.score is not None
    # Extraversion 3.5 is high, as people say; openness 5 is not low.
    assert (row.score.mean, row.score.n) == (0.5, 2)
    assert not any("Shrek" in call[-1].text for call in judge.calls), "the judge is not told who speaks"


@pytest.mark.parametrize(
    ("text", "rating"),
    [('{"rating": 4}', 4), ('{"rating": 6}', None), ('{"rating": true}', None), ("rating: 4", None)],
)
def test_a_rating_is_a_number_on_the_scale(text: str, rating: int | None) -> None:
    assert read_rating(text, 1, 5) == rating


@given(st.integers(1, 5), st.booleans())
@examples(0.2)
def test_a_reversed_statement_is_valued_from_the_other_end(rating: int, is_reversed: bool) -> None:
    one = RatedAs(unit="u", statement="s", low=1, high=5, is_reversed=is_reversed, target="H")
    assert one.value(rating) == (6 - rating if is_reversed else rating)
    assert one.is_right(one.value(rating)) == ((rating < 3) if is_reversed else (rating > 3))


def test_the_questions_of_personagym_are_put_to_the_persona_of_the_files_name(tmp_path: Path) -> None:
    tasks = tasks_of("personagym", persona_gym(tmp_path / "data"))
    assert len({one.key for one in tasks}) == len(tasks) == 11
    assert {one.category for one in tasks} == set(personagym.TASKS)
    first = next(one for one in tasks if one.persona and "ships" in one.persona.name)
    assert "You are a 60-year-old lighthouse keeper from Mull" in task_messages(first, "system")[0].text
    assert first.turns == (ConversationTurn("user", "Expected Action, at the pier?"),)


def test_each_character_of_pingpong_meets_each_situation(tmp_path: Path) -> None:
    tasks = tasks_of("pingpong", ping_pong(tmp_path / "data"))
    assert [(one.persona and one.persona.name, one.category, one.user) for one in tasks] == [
        ("Mira", "rude", SimulatedUser("You insult the lamp.", 2)),
        ("Mira", "bio", SimulatedUser("You ask for a story.", 4)),
        ("Jon", "rude", SimulatedUser("You insult the lamp.", 2)),
        ("Jon", "bio", SimulatedUser("You ask for a story.", 4)),
    ]
    assert tasks[0].persona is not None
    assert tasks[0].persona.description == f"{MIRA}\n\nUser: Hi\nMira: Seven."
    assert all(one.needs_judge for one in tasks)


async def test_a_simulated_user_talks_to_the_system_before_the_answer_is_graded(tmp_path: Path) -> None:
    task = tasks_of("pingpong", ping_pong(tmp_path / "data"))[0]
    model = ScriptedChatModel(replies=["Mind the lamp.", "It has burned for years."])
    user = ScriptedChatModel(replies=["Your lamp is ugly.", "Throw it away."])
    grades = ['{"reason": "Hers.", "grade": 4}', '{"reason": "Dull.", "grade": 2}']
    judge = ScriptedChatModel(replies=grades)
    request = SuiteRequest(
        tasks=(task,),
        systems=(AnsweringSystem("one", model, "system"),),
        judge=AnsweringSystem("judge", judge, ""),
        user=AnsweringSystem("user", user, ""),
    )
    outcome = await run_suite(request, folder=tmp_path / "run", limits=RunLimits(at_once=1))
    assert outcome.scores["one"][task.key] == 3.0
    asked = [call[-1].text for call in user.calls]
    assert "You insult the lamp." in asked[0]
    assert "You: Your lamp is ugly.\nMira: Mind the lamp." in asked[1]
    heard = [message.text for message in model.calls[1]]
    assert heard[1:] == ["Your lamp is ugly.", "Mind the lamp.", "Throw it away."]
    assert "Throw it away." in judge.calls[0][-1].text
    assert "It has burned for years." in judge.calls[0][-1].text
    assert await run_suite(request, folder=tmp_path / "run") == outcome
    assert [len(one.calls) for one in (model, user, judge)] == [2, 2, 2]


async def test_the_judge_speaks_as_the_user_if_nobody_else_does(tmp_path: Path) -> None:
    task = tasks_of("pingpong", ping_pong(tmp_path / "data"))[0]
    grade = '{"reason": "Hers.", "grade": 5}'
    judge = ["Ugly.", "Go.", grade, "I cannot say."]
    outcome, _, scripted = await run(tmp_path / "run", [task], ["Mind the lamp."], judge)
    # One of two grades is unreadable, so there is no score.
    assert outcome.scores["one"][task.key] is None
    assert len(scripted.calls) == 4


def test_the_questions_of_socialbench_are_tasks_of_roles_or_of_nobody(tmp_path: Path) -> None:
    style, emotion, group, memory = tasks_of(
        "socialbench", write(tmp_path / "data", self_awareness_json=SOCIAL)
    )
    assert (style.persona and style.persona.description) == MIRA
    assert style.expected == OneOf(options=OPTIONS, right=("B",))
    assert "Who keeps the light?" in style.turns[-1].text
    assert emotion.persona is None
    assert group.persona is not None
    assert "Jon is her brother." in group.persona.description
    assert memory.expected == Contains(("lamp", "Seven"))
    assert len({one.key for one in (style, emotion, group, memory)}) == 4
    assert len(read_socialbench(tmp_path / "data")) == 5


def test_a_moment_of_timechara_is_what_its_character_knows(tmp_path: Path) -> None:
    file = tmp_path / "timechara.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in TIMES), encoding="utf-8")
    future, absence = tasks_of("timechara", file)
    assert future.persona is not None
    assert "The Lamp" in future.persona.description
    assert future.persona.moment == "at the first storm"
    assert future.expected == AgreesWith(("Future: Mira does not know that it breaks.",))
    assert isinstance(absence.expected, AgreesWith)
    assert absence.expected.facts[0] == "Mira was not there."
    assert [one.moment for one in read_timechara(file)] == ["at the first storm"] * 2


def test_the_metrics_of_charactereval_are_judged_by_rubrics(tmp_path: Path) -> None:
    folder = character_eval(tmp_path / "data")
    boundary, voice = tasks_of("charactereval", folder)
    assert (boundary.expected, voice.expected) == (GradedBy(("boundary",)), GradedBy(("voice",)))
    assert boundary.persona is not None
    assert "守灯塔的人" in boundary.persona.description
    [item] = read_charactereval(folder)
    assert item.dialogue[-1] == ("乔恩", "数了几条船？\n快说。")


def test_every_rubric_of_a_benchmark_is_bundled(tmp_path: Path) -> None:
    graded = [task.expected for task in tasks_of("charactereval", character_eval(tmp_path / "data"))]
    graded += [task.expected for task in tasks_of("personagym", persona_gym(tmp_path / "gym"))]
    graded += [task.expected for task in tasks_of("pingpong", ping_pong(tmp_path / "pong"))]
    used = {rubric for one in graded if isinstance(one, GradedBy) for rubric in one.rubrics}
    assert used <= set(RUBRICS)
    assert {"knowledge", "safety", "voice", "engagement", "boundary"} <= used


def english_pingpong(path: Path) -> Any:
    return read_pingpong(path, "en")


@pytest.mark.parametrize(
    ("read", "name", "text", "what"),
    [
        (read_socialbench, "x.json", "[]", "holds no list of rows; name a file of SocialBench"),
        (read_socialbench, "x.json", '[{"dialogue": 3}]', "row 1: dialogue: .*SocialBench"),
        (read_timechara, "x.jsonl", '{"series": "x"}\n{', "is not JSON"),
        (personagym.read_personagym, "x.json", "[1]", "holds no questions by task"),
        (personagym.read_personagym, "x.json", '{"Manners": ["Well?"]}', "has other tasks than PersonaGym"),
        (read_incharacter, "characters_labels.json", '{"annotation": 3}', "annotation: .*InCharacter"),
        (english_pingpong, "x.json", "[]", "is no settings file of PingPong"),
        (english_pingpong, "x.json", '{"ru": {}}', "has nothing in en; it has ru"),
        (
            english_pingpong,
            "x.json",
            '{"en": {"situations": []}}',
            "characters: Field required.*PingPong",
        ),
        (read_timechara, "x.json", '[{"series": "x"}]', "row 1: data_type: .*TimeChara"),
    ],
)
def test_what_is_no_file_of_a_benchmark_is_named(
    tmp_path: Path, read: Callable[[Path], Any], name: str, text: str, what: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(BenchmarkError, match=what):
        read(tmp_path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no JSON file"):
        read_socialbench(tmp_path)
    with pytest.raises(BenchmarkError, match=r"test_data\.jsonl cannot be read"):
        read_charactereval(tmp_path)


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ('{"choice": "B"}', ["B"]),
        ('{"choice": ["C", "A", "C"]}', ["C", "A"]),
        ('{"choice": "Z"}', []),
        ("The answer is B.", ["B"]),
        ("B", ["B"]),
        ("选择B和C", ["B", "C"]),
        ("I choose Apples", []),
        ("", []),
    ],
)
def test_the_letters_of_an_answer_are_found(text: str, letters: list[str]) -> None:
    assert chosen_letters(text, OPTIONS) == letters


@given(st.lists(st.sampled_from("ABCD")), st.sets(st.sampled_from("ABCD"), min_size=1))
@examples(0.5)
def test_a_score_is_1_for_all_right_options_alone(letters: list[str], right: set[str]) -> None:
    expected = OneOf(options=OPTIONS, right=tuple(sorted(right)))
    score = option_score(letters, expected)
    assert 0 <= score <= 1
    if len(right) > 1:
        assert (score == 1) == (set(letters) == right)
        assert set(letters) <= right or score == 0
    else:
        assert score == (letters[:1] == sorted(right))


def test_words_are_found_in_any_case_and_chance_is_told_where_it_is_known() -> None:
    assert contained_share("The LAMP burns.", Contains(("lamp", "Seven"))) == 0.5
    single = task("a", OneOf(options=OPTIONS, right=("B",)))
    several = task("b", OneOf(options=OPTIONS, right=("A", "C")))
    assert chance_level([single]) == 0.25
    assert chance_level([single, several]) is None
    assert chance_level([task("c", Contains(("x",)))]) is None
    forms = [choice_form(one.expected) for one in (single, several) if isinstance(one.expected, OneOf)]
    assert [form["properties"]["choice"]["type"] for form in forms] == ["string", "array"]


@pytest.mark.parametrize(
    ("text", "agrees"),
    [('{"reason": "x", "agrees": false}', False), ("agrees: true", None), ('{"agrees": "yes"}', None)],
)
def test_agreement_is_said_in_one_word(text: str, agrees: bool | None) -> None:
    assert read_agreement(text) is agrees


def task(key: str, expected: Any, category: str = "style") -> SuiteTask:
    return SuiteTask(
        key=key,
        benchmark="made",
        category=category,
        language="en",
        persona=None,
        turns=(ConversationTurn("user", "How many?"),),
        expected=expected,
    )


def test_as_many_tasks_of_each_category_are_drawn() -> None:
    tasks = [task(str(one), Contains(("x",)), "ab"[one % 2]) for one in range(20)]
    drawn = draw_tasks(tasks, 3, seed=1)
    assert [one.category for one in drawn].count("a") == [one.category for one in drawn].count("b") == 3
    assert drawn == draw_tasks(tasks, 3, seed=1) != draw_tasks(tasks, 3, seed=2)
    assert draw_tasks(tasks, None, seed=1) == tasks


def test_options_stand_in_the_question_unless_their_texts_are_scored(tmp_path: Path) -> None:
    style = tasks_of("socialbench", write(tmp_path / "data", self_awareness_json=SOCIAL))[0]
    listed, plain = (task_messages(style, "system", with_options=flag) for flag in (True, False))
    assert "B. Aye, I counted seven." in listed[-1].text
    assert "Aye" not in plain[-1].text
    assert MIRA in listed[0].text


async def run(
    folder: Path, tasks: Sequence[SuiteTask], replies: list[str], judged: Sequence[str] = ()
) -> Any:
    model = ScriptedChatModel(replies=replies)
    judge = ScriptedChatModel(replies=list(judged)) if judged else None
    request = SuiteRequest(
        tasks=tuple(tasks),
        systems=(AnsweringSystem("one", model, "system"),),
        judge=AnsweringSystem("judge", judge, "") if judge else None,
    )
    outcome = await run_suite(request, folder=folder, limits=RunLimits(at_once=1))
    return outcome, model, judge


async def test_answers_are_scored_and_rows_have_each_category(tmp_path: Path) -> None:
    tasks = tasks_of("socialbench", write(tmp_path / "data", self_awareness_json=SOCIAL))
    answers = ['{"choice": "B"}', "no letter", '["A"]', "Seven by the lamp"]
    by_persona = sorted(tasks, key=lambda one: one.cluster)
    wanted = {one.key: answers[tasks.index(one)] for one in tasks}
    outcome, model, _ = await run(tmp_path / "run", tasks, [wanted[one.key] for one in by_persona])
    assert [outcome.scores["one"][one.key] for one in tasks] == [1.0, 0.0, 1.0, 1.0]
    rows = {one.category: one for one in suite_rows(tasks, outcome.scores)}
    assert rows["all"].score is not None
    assert rows["all"].score.mean == 0.75
    assert rows["Individual-SA-RoleStyle"].chance == 0.25
    assert rows["Individual-MEM"].as_json()["best"] == 1
    again, second, _ = await run(tmp_path / "run", tasks, ["never"])
    assert again.scores == outcome.scores
    assert (len(model.calls), len(second.calls)) == (4, 0)


async def test_facts_and_grades_are_judged_and_no_judgement_is_no_score(tmp_path: Path) -> None:
    file = tmp_path / "timechara.json"
    file.write_text(json.dumps(TIMES), encoding="utf-8")
    tasks = [*tasks_of("timechara", file), *tasks_of("charactereval", character_eval(tmp_path / "data"))]
    agree, deny = (json.dumps({"reason": "It says so.", "agrees": one}) for one in (True, False))
    grade = '{"reason": "It is his voice.", "grade": 4}'
    outcome, _, judge = await run(
        tmp_path / "run", tasks, ["I was not there."], [agree, deny, grade, "I cannot say."]
    )
    # The second fact is not asked about when the answer contradicts the first.
    assert [*outcome.scores["one"].values()] == [1.0, 0.0, 4.0, None]
    assert len(judge.calls) == 4
    graded = next(one for one in suite_rows(tasks, outcome.scores) if one.category == "voice")
    assert (graded.score, graded.unscored, graded.best) == (None, 1, 5)


async def test_the_likeliest_option_is_that_of_a_model_in_this_process(tmp_path: Path) -> None:
    options = {"A": "Paris is the capital of France.", "B": "Zebra qua lamp xyzzy of of of."}
    made = task("a", OneOf(options=options, right=("A",)))
    system = AnsweringSystem("one", get_model("llamacpp:smollm2"), "system")
    request = SuiteRequest(tasks=(made,), systems=(system,), choosing="likelihood")
    outcome = await run_suite(request, folder=tmp_path / "run")
    assert outcome.scores["one"]["a"] == 1.0


async def test_failures_are_told_and_finished_items_are_kept(tmp_path: Path) -> None:
    request = SuiteRequest(
        tasks=(task("a", OneOf(options=OPTIONS, right=("A",))),),
        systems=(AnsweringSystem("one", ScriptedChatModel(replies=["x"]), "system"),),
        choosing="likelihood",
    )
    with pytest.raises(ModelError, match="gives no probabilities"):
        await run_suite(request, folder=tmp_path / "run")


def test_the_command_prints_a_table_and_what_cannot_be_compared(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", self_awareness_json=SOCIAL)
    times = write(tmp_path / "times", timechara_json=TIMES)
    asked = ("eval", "suite", "--data", f"socialbench={folder}", "--data", f"timechara={times}")
    counted = rolellm(*asked, "--judge", "scripted:x", "--dry-run")
    assert "past-absence" in counted.stdout, counted.stderr
    done = rolellm(*asked, "-m", "scripted:B", "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stderr
    assert "2 tasks need a judge and are left out" in done.stderr
    told = json.loads(done.stdout)
    scores = {row["category"]: row["score"] for row in told["rows"]}
    assert scores["Individual-SA-RoleStyle"] == 1.0
    assert scores["Group-SAP-Positive"] == 0.0
    table = rolellm(*asked, "-m", "scripted:B", "--out", str(tmp_path / "run"))
    assert "SocialBench: Prompts are our own" in table.stdout


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("socialbnech=x", "did you mean"),
        ("socialbench", "use NAME=PATH"),
        ("socialbench=nowhere", "no JSON file"),
    ],
)
def test_a_benchmark_that_cannot_be_read_is_one_sentence(data: str, what: str) -> None:
    done = rolellm("eval", "suite", "--data", data, "-m", "scripted:B")
    assert done.returncode == 2
    assert what.casefold() in done.stderr.casefold()
