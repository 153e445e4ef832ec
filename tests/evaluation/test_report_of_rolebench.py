"""Reports of benchmark runs: page, Markdown, pictures, and the log of inspect_ai."""

import asyncio
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.chromium import measured_page
from helpers.here import rolellm_here
from helpers.scoring_model import WordScoringModel
from helpers.small_rolebench import ADA, BEN, right_answer, write_cast, write_small_data

from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.reports import plots, report_of, write_report
from rolellm_agents.reports.errors import ReportError
from rolellm_agents.reports.inspect_log import inspect_logs
from rolellm_agents.reports.reading import read_run
from rolellm_graphs.evaluate.rolebench import NamedJudge, RoleBenchRequest, SystemUnderTest, run_rolebench
from rolellm_graphs.judge.likelihood import LikelihoodJudge

WICKED = '<script>alert("&")</script> **bold** | a\x1b[31m\u202e'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems and the published answers, one reply of which is no plain text, with a judge."""
    place = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ROLELLM_HOME", str(place / "home"))
        write_cast(ADA, BEN)
        data = write_small_data(place / "RoleBench")
        wicked = FunctionModel(
            function=lambda messages: WICKED if "mill turn" in messages[-1].text else right_answer(messages)
        )
        judge = NamedJudge(
            "likelihood", LikelihoodJudge(WordScoringModel(), model_name="words"), {"judge": "likelihood"}
        )
        asyncio.run(
            run_rolebench(
                RoleBenchRequest(data=data, strategies=("system", "retrieval")),
                [SystemUnderTest("model", wicked)],
                folder=place / "run",
                judges=[judge],
            )
        )
    return place / "run"


@pytest.fixture(scope="module")
def page(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(report_of([read_run(run)]), tmp_path_factory.mktemp("page")).page


class _Seen(HTMLParser):
    """Elements with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def cells_of(markdown: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in markdown.splitlines()
        if line.startswith("| ")
    ]


def results_of(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "results.json").read_text(encoding="utf-8"))
    return found


def test_the_page_has_no_script_and_asks_nobody_for_anything(page: Path) -> None:
    seen = _Seen(page.read_text(encoding="utf-8"))
    assert "script" not in {tag for tag, _ in seen.elements}
    for tag, attributes in seen.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "srcset", "data"):
                assert value is not None
                assert value.startswith(("#", "data:")), tag


def test_what_comes_from_outside_is_shown_as_it_is_and_does_nothing(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<script>" not in text
    assert '<script>alert("&")</script> **bold** | a' in _Seen(text).text
    assert not set("\x1b\u202e") & set(text)


def test_every_plot_has_words_and_a_table_with_its_figures(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    plots = re.findall(r'<svg[^>]*class="plot"[^>]*>', text)
    assert len(plots) >= 7
    assert all(re.search(r'role="img" aria-label="[^"]{20,}"', one) for one in plots)
    figures = re.findall(r"<figure>.*?</figure>", text, re.DOTALL)
    assert figures
    assert all("<table>" in one for one in figures)


def test_the_markdown_has_every_figure_of_the_results(run: Path, page: Path) -> None:
    markdown = page.with_suffix(".md").read_text(encoding="utf-8")
    names = {cells[0] for cells in cells_of(markdown)}
    for row in results_of(run)["rows"]:
        for name in row.keys() - {"model", "strategy", "kind", "judged", "ci95"}:
            assert name in names
    for row in results_of(run)["paper_table"]:
        assert any(row["model"] in cells and f"{row['spe']:.4f}" in cells for cells in cells_of(markdown))


def test_pictures_of_the_markdown_are_there_and_are_svg(page: Path) -> None:
    markdown = page.with_suffix(".md").read_text(encoding="utf-8")
    named = re.findall(r"\]\((\S+?\.svg)\)", markdown)
    assert named
    for name in named:
        root = ElementTree.parse(page.parent / name).getroot()  # noqa: S314 (our own file)
        assert root.tag.endswith("svg")


def test_the_same_run_gives_the_same_pictures(run: Path, page: Path, tmp_path: Path) -> None:
    again = write_report(report_of([read_run(run)]), tmp_path)
    assert again.page.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


def test_without_matplotlib_a_report_has_its_tables_and_says_how_to_get_pictures(
    run: Path, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    bare = write_report(report_of([read_run(run)]), tmp_path)
    markdown = bare.markdown.read_text(encoding="utf-8")
    assert cells_of(markdown) == cells_of(page.with_suffix(".md").read_text(encoding="utf-8"))
    assert "rolellm-agents\\[plots\\]" in markdown
    assert "![" not in markdown
    assert bare.pictures == []
    text = bare.page.read_text(encoding="utf-8")
    assert "<svg" not in text
    assert "Pictures need matplotlib" in text


def test_questions_known_from_training_are_named_and_new_ones_told_apart(page: Path) -> None:
    markdown = page.with_suffix(".md").read_text(encoding="utf-8")
    assert any("How many hives have you?" in cells for cells in cells_of(markdown))
    assert "known from training: asked of the same role in training" in page.read_text(encoding="utf-8")


def test_replies_stand_side_by_side_with_references_and_verdicts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    asked = re.search(
        r"<details class=\"asked\"><summary>Who keeps the bees, Ada\?.*?</details>", text, re.DOTALL
    )
    assert asked is not None
    heads = re.findall(r"<h5>(.*?)</h5>", asked[0])
    assert heads == ["model · system", "model · retrieval", "RoleGPT (published) · rolegpt"]
    assert asked[0].count("nats a token") == 3
    assert "Reference" in asked[0]


def test_fewer_samples_are_shown_when_fewer_are_asked_for(run: Path, tmp_path: Path) -> None:
    page = write_report(report_of([read_run(run)], samples=1), tmp_path).page
    text = page.read_text(encoding="utf-8")
    assert text.count('<details class="asked">') == 4
    assert "4 questions of 6" in text


def test_several_runs_are_chapters_of_one_page(run: Path, tmp_path: Path) -> None:
    done = rolellm_here(
        "eval",
        "report",
        str(run),
        str(run / "judges" / "likelihood"),
        "--to",
        str(tmp_path / "a.html"),
        "--json",
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["page"] == str(tmp_path / "a.html")
    text = Path(told["page"]).read_text(encoding="utf-8")
    assert re.findall(r'<h2 id="chapter-\d">(.*?)</h2>', text) == ["RoleBench: run", "Verdicts: likelihood"]
    assert text.count("nats a token likelier") > 3


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("width", [400, 1200])
def test_a_browser_finds_nothing_to_complain_of_and_nothing_that_sticks_out(
    page: Path, tmp_path: Path, width: int, opened: bool
) -> None:
    found, complaints = measured_page(page, width, tmp_path, opened=opened)
    assert complaints == []
    assert found["needed"] <= found["width"]
    assert found["width"] > width - 30
    assert (found["text"] > 1_000, found["details"] > 10, found["remote"]) == (True, True, 0)


# Folders that hold no such run


def test_a_folder_without_a_run_is_told_so(tmp_path: Path) -> None:
    done = rolellm_here("eval", "report", str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path} holds no run" in done.stderr


@pytest.mark.parametrize(
    "results",
    ["", "[]", "{}", '{"files": {"scored": "scored.jsonl"}}', '{"files": {"scored": 1}}', "[" * 100_000],
)
def test_damaged_results_are_told_and_nothing_is_written(run: Path, tmp_path: Path, results: str) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "config.json").write_bytes((run / "config.json").read_bytes())
    (folder / "scored.jsonl").write_bytes((run / "scored.jsonl").read_bytes())
    (folder / "results.json").write_text(results, encoding="utf-8")
    with pytest.raises(ReportError, match="cannot be read"):
        report_of([read_run(folder)])


def test_a_run_that_did_not_come_to_its_end_is_told_so(run: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((run / "config.json").read_bytes())
    with pytest.raises(ReportError, match=r"no results\.json yet"):
        read_run(tmp_path)


# The log of inspect_ai


def test_each_system_has_a_log_with_all_its_replies(run: Path, tmp_path: Path) -> None:
    done = rolellm_here(
        "eval",
        "report",
        str(run),
        "--to",
        str(tmp_path),
        "--inspect",
        str(tmp_path / "log.json"),
        "--json",
    )
    logs = [json.loads(Path(file).read_text(encoding="utf-8")) for file in json.loads(done.stdout)["logs"]]
    assert [log["eval"]["metadata"]["system"] for log in logs] == [
        "model · system",
        "model · retrieval",
        "RoleGPT (published) · rolegpt",
    ]
    assert [len(log["samples"]) for log in logs] == [6, 6, 2]


# What inspect_ai 0.3.285 has in `inspect_ai/log/_log.py`, `model/_model_output.py` and `scorer/_metric.py`.
_FIELDS = {
    "log": {"version", "status", "eval", "plan", "results", "stats", "samples"},
    "eval": {
        *("eval_id", "run_id", "created", "task", "task_id", "task_version", "task_args", "solver"),
        *("dataset", "model", "model_args", "config", "packages", "metadata"),
    },
    "dataset": {"name", "location", "samples", "sample_ids", "shuffled"},
    "results": {"total_samples", "completed_samples", "scores"},
    "score": {"name", "scorer", "scored_samples", "unscored_samples", "params", "metrics"},
    "stats": {"started_at", "completed_at", "model_usage"},
    "sample": {"id", "epoch", "input", "target", "messages", "output", "scores", "metadata", "total_time"},
    "output": {"model", "choices", "usage"},
    "usage": {"input_tokens", "output_tokens", "total_tokens", "input_tokens_cache_read"},
    "value": {"value", "answer", "explanation"},
}
_STATUSES = {"started", "success", "cancelled", "error"}
_STOPS = {"stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown"}


def test_logs_have_the_fields_that_inspect_ai_knows_and_no_others(run: Path) -> None:
    for _, log in inspect_logs(read_run(run)):
        assert log.keys() == _FIELDS["log"]
        assert (log["version"], log["status"] in _STATUSES) == (2, True)
        assert log["eval"].keys() == _FIELDS["eval"]
        assert log["eval"]["dataset"].keys() == _FIELDS["dataset"]
        assert log["results"].keys() == _FIELDS["results"]
        assert log["stats"].keys() == _FIELDS["stats"]
        assert set(log["plan"]) <= {"name", "steps", "finish", "config"}
        for score in log["results"]["scores"]:
            assert score.keys() == _FIELDS["score"]
            assert all(isinstance(metric["value"], float) for metric in score["metrics"].values())
        for usage in log["stats"]["model_usage"].values():
            assert usage.keys() == _FIELDS["usage"]
        ids = [sample["id"] for sample in log["samples"]]
        assert ids == log["eval"]["dataset"]["sample_ids"]
        assert len(set(ids)) == len(ids)


def test_samples_of_logs_have_reply_scores_and_reasons(run: Path) -> None:
    lines = [json.loads(line) for line in (run / "scored.jsonl").read_text(encoding="utf-8").splitlines()]
    samples = [sample for _, log in inspect_logs(read_run(run)) for sample in log["samples"]]
    assert len(samples) == len(lines)
    for line, sample in zip(lines, samples, strict=True):
        assert sample.keys() <= _FIELDS["sample"]
        assert sample["output"].keys() <= _FIELDS["output"]
        (choice,) = sample["output"]["choices"]
        assert choice["message"]["content"] == line["reply"]
        assert choice["stop_reason"] in _STOPS
        assert [message["role"] for message in sample["messages"]] == ["user", "assistant"]
        assert sample["scores"]["paper"]["value"] == line["paper"]
        assert "nats a token" in sample["scores"]["likelihood"]["explanation"]
        assert all(score.keys() <= _FIELDS["value"] for score in sample["scores"].values())


def test_verdicts_alone_make_no_log(run: Path) -> None:
    with pytest.raises(ReportError, match="only such runs can be converted to logs"):
        inspect_logs(read_run(run / "judges" / "likelihood"))
