"""`rolellm eval score` and `bench rouge`."""

import json
from pathlib import Path

import pytest
from helpers.here import rolellm_here
from helpers.samples import row, written_rows


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """Two replies, one of them empty, and what they are compared with."""
    references = [
        row(generated=["I keep the lamp.", "I do."]),
        row(role="Ben", question="Why?", generated=["Because."]),
    ]
    predictions = [
        row(generated=["I keep the lamp now."]),
        row(role="Ben", question="Why?", generated=[""]),
    ]
    one = written_rows(tmp_path / "p.jsonl", predictions)
    other = written_rows(tmp_path / "r.jsonl", references)
    return ("--predictions", str(one), "--references", str(other))


def score(*arguments: str) -> tuple[int, str, str]:
    done = rolellm_here("eval", "score", *arguments)
    return done.returncode, done.stdout, done.stderr


def test_one_metric_is_one_object_and_the_empty_reply_is_told(files: tuple[str, ...]) -> None:
    code, out, err = score(*files, "--metric", "rouge-l-f1", "--json")
    assert code == 0
    # Four words of four and five, and nothing.
    assert json.loads(out) == {
        "metric": "rouge-l-f1",
        "value": pytest.approx(4 / 9),
        "n": 2,
        "ci95": [0.0, pytest.approx(8 / 9)],
        "words": 2.5,
        "empty": 1,
    }
    assert err == "rolellm: Empty replies, scored 0: 1 of 2.\n"


def test_several_metrics_are_a_list_in_their_order(files: tuple[str, ...]) -> None:
    _, out, _ = score(*files, "--metric", "paper", "--metric", "rouge-1-f1", "--over", "first", "--json")
    assert [(one["metric"], one["value"]) for one in json.loads(out)] == [
        ("paper", pytest.approx(1 / 2)),  # a recall: the word too many costs nothing
        ("rouge-1-f1", pytest.approx(4 / 9)),
    ]


def test_a_table_shows_value_interval_and_length(files: tuple[str, ...]) -> None:
    code, out, _ = score(*files)
    assert code == 0
    head, line = out.splitlines()
    assert head.split() == ["METRIC", "VALUE", "95%", "N", "WORDS"]
    assert line.split() == ["rouge-l-f1", "0.4444", "[0.0000,", "0.8889]", "2", "2.5"]


def test_plain_lines_of_chinese_are_scored_as_asked(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("俺也大闹天宫\n", encoding="utf-8")
    (tmp_path / "r.txt").write_text("他大闹天宫\n", encoding="utf-8")
    place = ("-p", str(tmp_path / "p.txt"), "-r", str(tmp_path / "r.txt"), "--json")
    for options, value in (((), 8 / 11), (("--zh-words", "jieba"), 2 / 5), (("--language", "en"), 0)):
        told = json.loads(score(*place, *options)[1])
        assert (told["value"], told["ci95"]) == (pytest.approx(value), None), options


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--metric", "bleu"), "rolellm: There is no measure 'bleu'"),
        (("--references", "nowhere.jsonl"), "rolellm: There is no file nowhere.jsonl"),
        (("--common", "--metric", "paper", "--metric", "rouge"), "rolellm: There is no measure 'rouge'"),
    ],
)
def test_what_is_asked_wrongly_is_one_sentence(
    files: tuple[str, ...], options: tuple[str, ...], complaint: str
) -> None:
    code, out, err = score(*files, *options)
    assert (code, out) == (2, "")
    assert err.startswith(complaint)
    assert err.count("\n") == 1


def test_common_leaves_out_what_only_one_file_has(files: tuple[str, ...], tmp_path: Path) -> None:
    more = written_rows(tmp_path / "more.jsonl", [row(), row(question="What else?")])
    arguments = ("-p", str(more), *files[2:])
    code, _, err = score(*arguments)
    assert (code, err.count("the first of"), err.count("--common")) == (2, 0, 1)
    code, out, err = score(*arguments, "--common", "--json")
    assert (code, json.loads(out)["n"]) == (0, 1)
    assert err == "rolellm: Left out, because only one of the files has them: 2 rows.\n"


def test_the_benchmark_of_scoring_prints_a_row_for_each_measure() -> None:
    done = rolellm_here("bench", "rouge", "--replies", "100", "--sample", "10", "--json")
    assert done.returncode == 0
    assert [one["measure"] for one in json.loads(done.stdout)] == [
        *("rouge-1-f1", "rouge-2-f1", "rouge-l-f1", "all three")
    ]
    table = rolellm_here("bench", "rouge", "--replies", "100", "--sample", "10").stdout
    assert table.splitlines()[0].split()[:2] == ["MEASURE", "REPLIES"]
    assert len(table.splitlines()) == 5
