"""What is wrong with a data set."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.samples import row, written_rows
from helpers.shared_data import shared_data

from rolellm_agents.datasets.checking import DatasetReport, check_source
from rolellm_agents.datasets.checking.finding import RULES
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.persona import list_personas
from rolellm_agents.text.language import Language

CAST: Mapping[str, Language] = {"Ada": "en", "Ben": "en", "华妃": "zh"}
IG = Path("rolebench-eng", "instruction-generalization", "role_specific")
RG = Path("rolebench-eng", "role-generalization", "role_specific")
GENERAL = Path("rolebench-eng", "instruction-generalization", "general")


def found(report: DatasetReport) -> dict[str, int]:
    """Each rule that is broken, with how often in all files."""
    counts: dict[str, int] = {}
    for finding in report.findings:
        counts[finding.rule] = counts.get(finding.rule, 0) + finding.count
    return counts


def checked(folder: Path, **files: list[dict[str, Any]]) -> dict[str, int]:
    """What is found in files that are named by folder, `__` and part."""
    places = {"ig": IG, "rg": RG, "general": GENERAL, "zh": Path("rolebench-zh", "general"), "top": Path()}
    for name, rows in files.items():
        place, _, part = name.partition("__")
        written_rows(folder / places[place] / f"{part}.jsonl", rows)
    return found(check_source(folder, CAST))


def test_a_good_data_set_has_no_findings(tmp_path: Path) -> None:
    train = [
        row(question=f"How did you learn to {what}?", type=["script_based"]) for what in ("sail", "swim")
    ]
    test = [row(question="Why did your father never come home?", type=["script_agnostic"])]
    baseline = [row(question="Why did your father never come home?")]
    assert checked(tmp_path, ig__train=train, ig__test=test, ig__rolegpt_baseline=baseline) == {}


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"question": " Who keeps it?"}, "white-space"),
        ({"generated": ["I do, every night. "]}, "white-space"),
        ({"generated": []}, "empty-answer"),
        ({"generated": ["I do, every night.", ""]}, "empty-answer"),
        ({"generated": ["I do, every night.", "I do, every night."]}, "repeated-answer"),
        (
            {"generated": ["I keep the lamp, and my father kept it before me, and before him his"]},
            "unfinished-answer",
        ),
        ({"generated": ["I do."]}, "short-answer"),
        ({"generated": ["I do keep it. " * 200 + "Yes."]}, "long-answer"),
        ({"generated": ["As an AI language model I keep no lamp."]}, "ai-talk"),
        ({"generated": ["我每天晚上都守着这盏灯。"]}, "wrong-language"),
        ({"role": "华妃", "generated": ["I keep the lamp, every night."]}, "wrong-language"),
        ({"generated": ["<|im_start|>assistant I do keep it."]}, "template-leak"),
        ({"generated": ["I am {role_name}, I keep it."]}, "template-leak"),
        ({"generated": ["I do keep it.\nUser: And you?"]}, "template-leak"),
        ({"generated": ["Ada: I do, every night."]}, "name-before-answer"),
        ({"role": "Cleo"}, "role-without-profile"),
    ],
)
def test_a_row_that_breaks_a_rule_is_found(tmp_path: Path, fields: dict[str, Any], rule: str) -> None:
    file = written_rows(tmp_path / "mine.jsonl", [row(), row(question="Why?") | fields])
    report = check_source(file, CAST)
    assert found(report) == {rule: 1}
    [finding] = report.findings
    assert finding.spots[0].line == (None if rule == "role-without-profile" else 2)
    assert report.is_usable


@pytest.mark.parametrize(
    "answer",
    [
        "“You see, but you do not observe, my dear fellow, and that is the whole of it”",
        "Sail, swim, row, sing",
        "It is 3:45, and my ship {the old one} leaves at 4 [sharp]; I say # and < as I please.",
        "Ada keeps it, they say: every night.",
        "一二三四五六七八九十，十一，十二。",
    ],
)
def test_an_answer_that_is_only_unusual_breaks_none(tmp_path: Path, answer: str) -> None:
    role = "华妃" if answer.startswith("一") else "Ada"
    file = written_rows(tmp_path / "mine.jsonl", [row(role=role, generated=[answer])])
    assert found(check_source(file, CAST)) == {}


def test_lines_that_are_no_sample_are_counted_and_the_others_are_read(tmp_path: Path) -> None:
    file = written_rows(tmp_path / "mine.jsonl", [row(), {"role": "Ada"}, row(question="Why ever?")])
    with file.open("ab") as out:
        out.write(b'{"role": "Ada", "quest\n\xff\n')
    report = check_source(file, CAST)
    assert found(report) == {"unreadable-row": 3}
    assert [spot.line for spot in report.findings[0].spots] == [2, 4, 5]
    assert report.files == {"mine.jsonl": 2}
    assert not report.is_usable


def test_a_question_of_the_test_in_training_leaks_whoever_is_asked(tmp_path: Path) -> None:
    counts = checked(
        tmp_path,
        ig__train=[row(role="Ben", question="How did you learn to sail the sea?", type=["script_based"])],
        ig__test=[
            row(question=" How did you learn to sail the sea?", type=["script_based"]),
            row(question="How did you learn to sail the wide sea?", type=["script_based"]),
            row(question="Why did your father never come home?", type=["script_based"]),
        ],
    )
    assert counts == {
        "question-in-train": 1,
        "near-question-in-train": 1,
        "white-space": 1,
        "near-question": 1,
    }
    assert not check_source(tmp_path, CAST).is_usable


def test_what_leaks_is_shown_beside_its_training_row(tmp_path: Path) -> None:
    written_rows(
        tmp_path / IG / "train.jsonl", [row(role="Ben", question="Why sail?"), row(type="script_based")]
    )
    written_rows(tmp_path / IG / "test.jsonl", [row(type="script_based")])
    [leak] = [one for one in check_source(tmp_path, CAST).findings if one.severity == "leak"]
    assert leak.spots[0].other == f"{(IG / 'train.jsonl').as_posix()}:2"
    assert leak.spots[0].shown == "the same role, the same answer: Who keeps the lamp?"


def test_general_training_may_not_know_the_specific_test_either(tmp_path: Path) -> None:
    counts = checked(tmp_path, general__train=[row()], ig__test=[row(type=["script_based"])])
    assert counts == {"question-in-train": 1}


def test_languages_and_splits_are_apart(tmp_path: Path) -> None:
    counts = checked(
        tmp_path,
        zh__train=[row()],
        rg__train=[row(role="Ben", type=["script_based"])],
        ig__test=[row(type=["script_based"])],
    )
    assert "question-in-train" not in counts


def test_where_roles_are_new_only_roles_leak(tmp_path: Path) -> None:
    rows = [row(type=["script_based"])]
    assert checked(tmp_path, rg__train=[row(role="Ben", type=["script_based"])], rg__test=rows) == {}
    again = checked(
        tmp_path, rg__train=[row(role="ADA!", question="Why ever?", type=["script_based"])], rg__test=rows
    )
    assert again == {"role-in-train": 1, "role-spelling": 2}


def test_forms_of_type_may_not_be_mixed(tmp_path: Path) -> None:
    rows = [row(question=f"What of year {n}, and of the sea?", type=["script_based"]) for n in (1, 22)]
    mixed = [row(question="Why did your father never come home?", type="script_based")]
    assert checked(tmp_path, ig__train=rows, ig__test=mixed) == {"mixed-type": 1}
    assert checked(tmp_path, ig__train=rows, ig__test=[row(type=["a", "b"])]) == {"type-length": 1}


def test_repeats_uneven_numbers_and_copies_are_found(tmp_path: Path) -> None:
    two = ["I do, every night.", "So did my father once."]
    counts = checked(
        tmp_path,
        general__train=[
            row(question="Name a sea.", generated=two),
            row(question="Name a star.", generated=two),
            row(question="Name a lonely rock that lies far out in the sea.", generated=two),
            row(question="Name a lonely rock that lies far out in a sea.", generated=two[:1]),
            row(question="Name a sea.", generated=two),
        ],
    )
    assert counts == {"fewer-answers": 1, "repeated-row": 1, "near-question": 1}


def test_roles_with_fewer_test_questions_are_named(tmp_path: Path) -> None:
    rows = [
        row(role=role, question=f"What of {role}, and of {what}?", type=["script_based"])
        for role in ("Ada", "Ben", "Cleo")
        for what in ("the sea", "all your ships")
    ]
    written_rows(tmp_path / IG / "test.jsonl", rows[:-1])
    [finding] = [one for one in check_source(tmp_path, CAST).findings if one.rule == "uneven-roles"]
    assert finding.spots[0].shown == "Cleo: 1, most have 2"


def test_baselines_answer_the_test_and_nothing_else(tmp_path: Path) -> None:
    counts = checked(
        tmp_path,
        ig__test=[row(type=["script_based"]), row(question="Why did he go?", type=["script_based"])],
        ig__rolegpt_baseline=[row(), row(question="How far is the sea?"), row(question="Where is he?")],
        rg__rolegpt_baseline=[row(), row(question="How far is the sea?"), row(question="Where is he?")],
    )
    assert counts == {"test-without-baseline": 1, "baseline-without-test": 2, "copied-file": 1}


def test_a_role_that_begins_the_question_is_counted_and_a_profile_beside_the_data_counts(
    tmp_path: Path,
) -> None:
    (tmp_path / "profiles-eng").mkdir()
    (tmp_path / "profiles-eng" / "desc.json").write_text('{"Cleo": "A queen."}', encoding="utf-8")
    rows = [row(role="Cleo", question="Cleo, why?", type=["script_based"])]
    assert checked(tmp_path, ig__train=rows) == {"role-in-question": 1}


def test_a_source_without_any_row_is_told(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text("no\n", encoding="utf-8")
    with pytest.raises(RoleBenchError, match="holds no samples"):
        check_source(file, CAST)


def test_everything_found_is_in_the_json(tmp_path: Path) -> None:
    rows = [row(question=f"What of {n} and {n + 10}?", generated=["Yes."]) for n in range(5)]
    told = check_source(written_rows(tmp_path / "a.jsonl", rows), CAST).as_json()
    [finding] = told["findings"]
    assert (finding["rule"], finding["count"], told["usable"]) == ("short-answer", 5, True)
    assert [spot["line"] for spot in finding["spots"]] == [1, 2, 3, 4, 5]


@pytest.fixture(scope="module")
def published() -> DatasetReport:
    cast = {found.persona.name: found.persona.language for found in list_personas().found}
    return check_source(shared_data("rolebench"), cast)


EN = "rolebench-eng/instruction-generalization"


@pytest.mark.parametrize(
    ("rule", "file", "count"),
    [
        # What reference/rolellm-paper.md, §4.4, found in the same files, defect by defect.
        ("question-in-train", "rolebench-zh/role_specific/test.jsonl", 7),  # 1
        ("question-in-train", "rolebench-zh/general/test.jsonl", 1451),  # 2
        ("repeated-row", f"{EN}/role_specific/test.jsonl", 1),  # 3: of 25 in the whole file
        ("baseline-without-test", "rolebench-zh/general/rolegpt_baseline.jsonl", 5944),
        ("mixed-type", "rolebench-zh/role_specific/train.jsonl", 1535),  # 4
        ("white-space", f"{EN}/role_specific/test.jsonl", 445),
        ("fewer-answers", f"{EN}/general/test.jsonl", 35),  # 5
        ("short-answer", f"{EN}/general/test.jsonl", 12),
        ("ai-talk", f"{EN}/role_specific/test.jsonl", 5),  # 6
        ("ai-talk", f"{EN}/role_specific/rolegpt_baseline.jsonl", 11),
        ("ai-talk", f"{EN}/general/train.jsonl", 68),
        ("role-in-question", f"{EN}/role_specific/test.jsonl", 403),  # §4.3: nine in ten
        ("uneven-roles", "rolebench-zh/role_specific/test.jsonl", 1),  # §4.2: 孙悟空 39
        # What it did not see.
        ("near-question-in-train", f"{EN}/role_specific/test.jsonl", 45),
        ("near-question-in-train", "rolebench-zh/role_specific/test.jsonl", 11),
        ("unfinished-answer", f"{EN}/role_specific/rolegpt_baseline.jsonl", 11),
        ("name-before-answer", f"{EN}/role_specific/rolegpt_baseline.jsonl", 36),
    ],
)
def test_the_published_defects_are_found(
    published: DatasetReport, rule: str, file: str, count: int
) -> None:
    assert {(one.rule, one.file): one.count for one in published.findings}[rule, file] == count


def test_all_970_chinese_instructions_of_the_test_are_asked_of_another_role(
    published: DatasetReport,
) -> None:
    [leak] = [
        one
        for one in published.findings
        if (one.rule, one.file) == ("question-in-train", "rolebench-zh/general/test.jsonl")
    ]
    assert all(spot.shown.startswith("asked of ") for spot in leak.spots)
    assert len({spot.shown.partition(": ")[2] for spot in leak.spots}) == 970


def test_every_rule_that_is_found_is_explained(published: DatasetReport) -> None:
    assert {one.rule for one in published.findings} <= set(RULES)
    assert not published.is_usable
