"""The strategies side by side on questions in RoleBench's layout."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.failing import failing_after
from helpers.user_files import write_persona
from langchain_core.messages import BaseMessage

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import (
    ModelError,
    PersonaError,
    RoleBenchError,
    RoleLLMError,
    SettingsError,
    StorageError,
)
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.recall import RecallOptions
from rolellm_graphs.evaluate.strategies import StrategiesRequest, compare_strategies, run_name

QUESTIONS = {
    "Ada": {"Who keeps the bees, Ada?": "I do.", "How many hives?": "Three hives.", "Why?": "Honey."},
    "Ben": {"Who keeps the mill?": "I do.", "Does it turn?": "In the wind."},
}
PERSONA = """\
id: {id}
name: {name}
language: {language}
description: {name} talks.
demonstrations:
  - {{user: "Do you keep bees in hives?", reply: "{name} keeps the bees."}}
  - {{user: "Is it windy at the mill?", reply: "{name} hears the mill turn."}}
"""


def write(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """RoleBench's layout with three questions to Ada, two to Ben, and the two as personas."""
    for name in QUESTIONS:
        write_persona(PERSONA.format(id=name.lower(), name=name, language="en"), f"{name.lower()}.yaml")
    root = tmp_path / "RoleBench"
    write(
        root / "rolebench-eng" / "instruction-generalization" / "role_specific" / "test.jsonl",
        [
            {"role": role, "question": question, "generated": [answer], "type": "script_based"}
            for role, answers in QUESTIONS.items()
            for question, answer in answers.items()
        ],
    )
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def answer(messages: list[BaseMessage]) -> str:
    """Answer each question as RoleBench does."""
    asked = messages[-1].text
    right = {question: reply for replies in QUESTIONS.values() for question, reply in replies.items()}
    return next((reply for question, reply in right.items() if asked.endswith(question)), "What?")


def answering(patience: int = 1_000) -> FunctionModel:
    """Answers correctly, as often as it has patience."""
    return FunctionModel(function=failing_after(patience, answer))


def request_of(data: Path, **changes: Any) -> StrategiesRequest:
    return replace(
        StrategiesRequest(
            data=data, personas=("ada", "ben"), strategies=("system", "zero-shot", "retrieval")
        ),
        **changes,
    )


def compare(
    request: StrategiesRequest, folder: Path, model: FunctionModel | None = None, **options: Any
) -> list[dict[str, Any]]:
    return compare_strategies(
        request, model or answering(), model_name="scripted", folder=folder, **options
    )


def items_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["value"] for line in lines]


# What is measured


def test_each_strategy_has_a_row_with_its_figures_and_their_intervals(data: Path, folder: Path) -> None:
    rows = compare(request_of(data), folder)
    assert [(row["strategy"], row["n"]) for row in rows] == [
        ("system", 5),
        ("zero-shot", 5),
        ("retrieval", 5),
    ]
    for row in rows:
        assert (row["rouge_l_f1"], row["rouge_l_recall"]) == (1.0, 1.0)
        assert (row["rouge_l_f1_ci95"], row["rouge_l_recall_ci95"]) == ([1.0, 1.0], [1.0, 1.0])
        assert row["words"] == 2.0  # 2, 2, 1, 2 and 3
        assert row["prompt_tokens"] == row["new_tokens"] > 0
        assert 0 <= row["first_token_s"] <= row["seconds"]
    system, *others = rows
    assert "rouge_l_f1_less_system" not in system
    assert [row["rouge_l_f1_less_system"] for row in others] == [0.0, 0.0]
    assert [row["rouge_l_f1_less_system_ci95"] for row in others] == [[0.0, 0.0], [0.0, 0.0]]


def test_a_strategy_that_answers_worse_has_less_and_the_paired_difference_says_how_much(
    data: Path, folder: Path
) -> None:
    def confused(messages: list[BaseMessage]) -> str:
        return "Nonsense" if "Speak in the first person" in messages[0].text else answer(messages)

    model = FunctionModel(function=confused)
    system, zero_shot = compare(request_of(data, strategies=("system", "zero-shot")), folder, model)
    assert (system["rouge_l_f1"], zero_shot["rouge_l_f1"]) == (1.0, 0.0)
    assert zero_shot["rouge_l_f1_less_system"] == -1.0
    assert zero_shot["rouge_l_f1_less_system_ci95"] == [-1.0, -1.0]


def test_one_persona_is_too_few_for_an_interval(data: Path, folder: Path) -> None:
    rows = compare(request_of(data, personas=("ada",)), folder)
    assert [(row["n"], row["rouge_l_f1"], row["rouge_l_f1_ci95"]) for row in rows] == [(3, 1.0, None)] * 3
    assert rows[1]["rouge_l_f1_less_system_ci95"] is None


def test_without_system_there_is_no_difference_to_it(data: Path, folder: Path) -> None:
    (row,) = compare(request_of(data, strategies=("retrieval",)), folder)
    assert not any("less_system" in name for name in row)


def test_every_question_is_asked_under_every_strategy_and_its_answer_kept(data: Path, folder: Path) -> None:
    model, told = answering(), list[tuple[int, int]]()
    strategies = tuple(STRATEGIES)
    compare(
        request_of(data, strategies=strategies),
        folder,
        model,
        on_progress=lambda done, total: told.append((done, total)),
    )
    items = items_of(folder)
    # Question by question, so that whatever else the machine does befalls all strategies alike.
    assert [(item["persona"], item["question"], item["strategy"]) for item in items] == [
        (role.lower(), question, strategy)
        for role, answers in QUESTIONS.items()
        for question in answers
        for strategy in strategies
    ]
    assert told == [(number, 25) for number in range(1, 26)]
    assert len(model.calls) == 25
    assert {item["reply"] for item in items} == {
        a for answers in QUESTIONS.values() for a in answers.values()
    }
    by_strategy = {item["strategy"]: item for item in items[:5]}
    assert by_strategy["system"]["recalled"] == by_strategy["zero-shot"]["recalled"] == []
    assert [why[:6] for why in by_strategy["retrieval"]["recalled"]] == ["shares"]
    assert len(by_strategy["few-shot-prompt"]["recalled"]) == 2
    assert (folder / "manifest.json").is_file()


def test_a_limit_is_for_each_persona(data: Path, folder: Path) -> None:
    rows = compare(request_of(data, limit=1), folder)
    assert [row["n"] for row in rows] == [2, 2, 2]
    asked = {(item["persona"], item["question"]) for item in items_of(folder)}
    assert len(asked) == len({persona for persona, _ in asked}) == 2


def test_without_names_all_of_the_english_cast_that_are_in_the_data_are_asked(
    data: Path, folder: Path
) -> None:
    rows = compare(request_of(data, personas=()), folder)
    assert [row["n"] for row in rows] == [5, 5, 5]


def test_a_chinese_persona_is_asked_in_chinese(data: Path, folder: Path) -> None:
    write_persona(PERSONA.format(id="wu", name="悟空", language="zh"), "wu.yaml")
    write(
        data / "rolebench-zh" / "role_specific" / "test.jsonl",
        [{"role": "悟空", "question": "你师父是谁？", "generated": ["唐僧。"], "type": "script_based"}],
    )
    model = answering()
    (row,) = compare(request_of(data, personas=("wu",), strategies=("system",)), folder, model)
    assert row["n"] == 1
    assert model.calls[0][-1].text == "你师父是谁？"
    assert "请以悟空的身份回答" in model.calls[0][0].text


def test_general_questions_are_another_file(data: Path, folder: Path) -> None:
    write(
        data / "rolebench-eng" / "instruction-generalization" / "general" / "test.jsonl",
        [{"role": "Ada", "question": "Name a colour.", "generated": ["What?"]}],
    )
    (row,) = compare(request_of(data, kind="general", strategies=("system",)), folder)
    assert (row["n"], row["rouge_l_f1"]) == (1, 1.0)


# Stopped and started again


@pytest.mark.parametrize("patience", [0, 1, 7, 14])
def test_a_run_that_was_stopped_goes_on_and_asks_nothing_again(
    data: Path, folder: Path, patience: int
) -> None:
    request = request_of(data)
    first = answering(patience=patience)
    with pytest.raises(ModelError, match="asleep"):
        compare(request, folder, first)
    assert len(first.calls) == patience + 1
    assert not (folder / "manifest.json").exists()

    second = answering()
    rows = compare(request, folder, second)
    assert len(second.calls) == 15 - patience
    asked = [[(m.type, m.text) for m in call] for call in (*first.calls[:patience], *second.calls)]
    whole = answering()
    at_once = compare(request, folder.parent / "at once", whole)
    assert asked == [[(m.type, m.text) for m in call] for call in whole.calls]
    assert without_times(rows) == without_times(at_once)

    third = answering()
    assert compare(request, folder, third) == rows
    assert third.calls == []


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if name not in ("first_token_s", "seconds")}
        for row in rows
    ]


def test_an_answer_whose_record_was_cut_by_a_kill_is_asked_for_again(data: Path, folder: Path) -> None:
    with pytest.raises(ModelError):
        compare(request_of(data), folder, answering(patience=4))
    file = folder / "items.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    model = answering()
    assert [row["n"] for row in compare(request_of(data), folder, model)] == [5, 5, 5]
    assert len(model.calls) == 15 - 3


CHANGES: dict[str, dict[str, Any]] = {
    "personas": {"personas": ("ada",)},
    "strategies": {"strategies": ("system",)},
    "limit": {"limit": 1},
    "noise": {"noise": 0.5},
    "seed": {"seed": 1},
    "recall": {"recall": RecallOptions(k=1)},
}


@pytest.mark.parametrize("changed", CHANGES)
def test_another_config_in_the_same_folder_is_refused(data: Path, folder: Path, changed: str) -> None:
    request = request_of(data, strategies=("system", "retrieval"))
    compare(request, folder)
    before = (folder / "items.jsonl").read_bytes()
    other, model = replace(request, **CHANGES[changed]), answering()
    with pytest.raises(StorageError, match=f"started with another {changed}"):
        compare(other, folder, model)
    assert model.calls == []
    assert (folder / "items.jsonl").read_bytes() == before
    assert run_name(other, "scripted") != run_name(request, "scripted")


def test_another_model_is_another_run(data: Path, folder: Path) -> None:
    request = request_of(data, strategies=("system",))
    compare(request, folder)
    with pytest.raises(StorageError, match="started with another model"):
        compare_strategies(request, answering(), model_name="other", folder=folder)
    assert run_name(request, "scripted") == run_name(replace(request), "scripted")
    assert run_name(request, "scripted") != run_name(request, "other")


# What cannot be compared


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"personas": ("shrek",)}, PersonaError, "None of the personas has role_specific questions in "),
        ({"personas": ("nobody",)}, RoleLLMError, "nobody|None of the personas"),
        ({"kind": "general"}, RoleBenchError, "holds no rolebench-eng/instruction-generalization/general"),
        ({"strategies": ("telepathy",)}, SettingsError, "There is no strategy 'telepathy'"),
        (
            {"strategies": ("retrieval",), "recall": RecallOptions(embeddings="lexcal")},
            ModelError,
            "did you mean lexical",
        ),
    ],
)
def test_what_is_not_there_is_told_and_nobody_is_asked(
    data: Path, folder: Path, changes: dict[str, Any], error: type[RoleLLMError], told: str
) -> None:
    model = answering()
    with pytest.raises(error, match=told):
        compare(request_of(data, **changes), folder, model)
    assert model.calls == []


def test_a_folder_without_rolebench_is_told(data: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RoleBenchError, match="holds no rolebench-eng"):
        compare(request_of(tmp_path / "nowhere"), folder)


# Noise


def test_noise_puts_lines_of_others_into_the_profiles_and_not_into_the_users_store(
    data: Path, folder: Path
) -> None:
    request = request_of(data, strategies=("retrieval",), recall=RecallOptions(floor=0.0))
    clean = answering()
    compare(request, folder, clean)
    chroma = user_paths().cache / "chroma"
    assert chroma.is_dir()
    before = {file: file.read_bytes() for file in sorted(chroma.rglob("*")) if file.is_file()}

    noisy, noise_folder = answering(), folder.parent / "noisy"
    compare(replace(request, noise=0.5), noise_folder, noisy)
    assert {file: file.read_bytes() for file in sorted(chroma.rglob("*")) if file.is_file()} == before
    assert (noise_folder / "chroma" / "chroma.sqlite3").is_file()
    for call, own in zip(noisy.calls, clean.calls, strict=True):
        # One of two lines is somebody else's; with a floor of nothing both are in the prompt.
        lines = [line for line in call[-2].text.splitlines() if line.startswith("- ")]
        its = [line for line in own[-2].text.splitlines() if line.startswith("- ")]
        assert len(its) == 2
        assert len(set(lines) & set(its)) == 1
        assert (call[0], call[-1]) == (own[0], own[-1])


def test_the_same_seed_makes_the_same_noise(data: Path, folder: Path) -> None:
    request = request_of(data, strategies=("few-shot-prompt",), noise=0.5, seed=3)
    prompts = []
    for number in range(2):
        model = answering()
        compare(request, folder.parent / str(number), model)
        prompts.append([[message.text for message in call] for call in model.calls])
    assert prompts[0] == prompts[1]
