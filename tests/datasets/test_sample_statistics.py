"""Counting a data set, drawing its lengths, and writing its card."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.hypotheses import examples
from helpers.samples import any_samples, row, sample, written_rows
from helpers.shared_data import shared_data
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from rolellm_agents.datasets import Sample, length_chart
from rolellm_agents.datasets.data_card import card_facts, data_card
from rolellm_agents.datasets.length_chart import write_chart
from rolellm_agents.datasets.provenance import DatasetProvenance, write_manifest
from rolellm_agents.datasets.sources import source_samples
from rolellm_agents.datasets.statistics import Group, Lengths, count_samples
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.persona import Persona, Source, list_personas


def groups_of(source: Path) -> dict[tuple[str, str], Group]:
    counted = count_samples((file.part, one) for file, one in source_samples(source))
    return {(group.language, group.kind): group for group in counted}


def test_samples_are_counted_as_the_paper_counts_them() -> None:
    general = [sample(role, "Name  a sea.", "The Red Sea.", kind="general") for role in ("Ada", "Ben")]
    specific = [
        sample("Ada", "Who are you?", "I am Ada.", "Me.", types=("script_based", "script_agnostic")),
        sample("Ben", "Who are you?", "I am Ben.", types=("script_based",)),
    ]
    chinese = [sample("华妃", "你是谁？", "本宫，华妃。", kind="general", language="zh")]
    one, other, third = count_samples(
        [("train", text) for text in general + specific]
        + [("rolegpt_baseline", sample("Ada", "Why?", "So."))]
        + [(None, text) for text in chinese]
    )
    assert (one.kind, one.samples, one.instructions, one.answers, one.roles) == ("general", 2, 1, 2, 2)
    assert (other.samples, other.instructions, other.answers) == (2, 2, 3)
    assert other.types == {"script_based": 2, "script_agnostic": 1}
    assert other.parts == {"train": 2, "rolegpt_baseline": 1}
    assert list(other.answer_lengths.counted) == [1, 3, 3]
    assert (third.language, third.instruction_lengths.mean, third.answer_lengths.mean) == ("zh", 3, 4)


@given(st.lists(any_samples(), max_size=8))
def test_nothing_is_counted_twice_or_lost(samples: list[Sample]) -> None:
    groups = count_samples(("test", one) for one in samples)
    assert sum(group.samples for group in groups) == len(samples)
    assert sum(group.answers for group in groups) == sum(len(one.references) for one in samples)
    for group in groups:
        assert group.instructions <= group.samples == group.parts["test"]
        told = group.as_json()["answer_words"]
        assert told["median"] <= told["p95"] <= told["longest"]
        assert told["mean"] <= told["longest"]


def test_lengths_of_nothing_are_nothing() -> None:
    assert Lengths([]).summary() == {"mean": 0, "median": 0, "p95": 0, "longest": 0}


def test_the_figures_of_the_paper_come_out_where_its_files_are_whole() -> None:
    groups = groups_of(shared_data("rolebench"))
    general, specific = groups["zh", "general"], groups["zh", "role_specific"]
    # Table 1: 7,384 samples and 1,479 instructions; of the role-specific ones the training file alone.
    assert (general.samples, general.instructions) == (7_384, 1_479)
    assert specific.parts == {"train": 1_535, "test": 239, "rolegpt_baseline": 239}
    assert general.parts["rolegpt_baseline"] == 7_395
    assert (general.roles, specific.roles) == (5, 5)
    # reference/rolellm-paper.md, §4.3: 68.7 words in the whole English test.
    test = groups_of(
        shared_data("rolebench/rolebench-eng/instruction-generalization/role_specific/test.jsonl")
    )["en", "role_specific"]
    assert test.answer_lengths.mean == pytest.approx(68.7, abs=2.5)


def drawn(tmp_path: Path, name: str) -> Path:
    groups = count_samples(
        (None, sample("Ada", "Who? " * (n % 7 + 1), "I do. " * (n % 31 + 1))) for n in range(200)
    )
    write_chart(tmp_path / "new" / name, groups)
    return tmp_path / "new" / name


def test_lengths_are_drawn_as_svg(tmp_path: Path) -> None:
    root = ET.parse(drawn(tmp_path, "lengths.svg")).getroot()  # noqa: S314  # our own file
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "en role-specific: 200 questions, words" in texts
    assert any("median 30" in str(text) for text in texts)
    assert len(bars_of(root)) > 20


def bars_of(root: ET.Element | Any) -> list[list[tuple[float, float]]]:
    """The corners of each filled shape in the colour of the bars."""
    return [
        [(float(x), float(y)) for x, y in re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", element.attrib["d"])]
        for element in root.iter()
        if element.tag.endswith("path") and "fill: var(--s0)" in element.attrib.get("style", "")
    ]


def test_lengths_are_drawn_as_png_that_is_not_blank(tmp_path: Path) -> None:
    with Image.open(drawn(tmp_path, "lengths.PNG")) as image:
        assert image.size == (840, 150)
        assert len(image.getcolors(maxcolors=100_000) or ()) > 4
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["lengths.PNG"]


def test_another_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RoleBenchError, match=r"\.svg or \.png"):
        drawn(tmp_path, "lengths.gif")
    (tmp_path / "file").write_text("", encoding="utf-8")
    for name in ("a.svg", "a.png"):
        with pytest.raises(RoleBenchError, match="cannot be written"):
            write_chart(tmp_path / "file" / name, [])


def test_without_matplotlib_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(length_chart, "can_draw", lambda: False)
    with pytest.raises(RoleBenchError, match=r"pip install 'rolellm-agents\[plots\]'"):
        drawn(tmp_path, "lengths.svg")
    assert not (tmp_path / "new").exists()


@examples(0.1)
@given(lengths=st.lists(st.integers(0, 5_000), max_size=60))
def test_any_lengths_can_be_drawn(tmp_path_factory: pytest.TempPathFactory, lengths: list[int]) -> None:
    group = Group("en", "general", 1, 1, 1, 1, {}, {}, Lengths(sorted(lengths)), Lengths([]))
    file = tmp_path_factory.getbasetemp() / "any.svg"
    write_chart(file, [group])
    root = ET.parse(file).getroot()  # noqa: S314  # our own file
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    for x, y in (corner for bar in bars_of(root) for corner in bar):
        assert left <= x <= left + width
        assert top <= y <= top + height


def card_of(source: Path, cast: list[Persona], **told: Any) -> tuple[dict[str, Any], str]:
    """The head and the rest."""
    text = data_card(card_facts(source, cast, **{"name": None, "licence": "unknown", **told}))
    empty, head, body = text.split("---\n", 2)
    assert empty == ""
    return yaml.safe_load(head), body


def test_a_card_tells_what_a_run_recorded(tmp_path: Path) -> None:
    run = tmp_path / "run-1"
    written_rows(run / "samples.jsonl", [row(type="script_based", language="en")])
    (run / "config.json").write_text(
        '{"begun": "2026-11-01T00:00:00+00:00", "versions": {"rolellm-agents": "0.1.0"}, "config": '
        '{"generator": "context_instruct", "model": "openai:m|x", "prompts": ["questions/en@2"]}}',
        encoding="utf-8",
    )
    (run / "manifest.json").write_text(
        '{"filters": {"near-duplicate": 12, "ai-talk": 3}}', encoding="utf-8"
    )
    ada = Persona(id="ada", name="Ada", description="She.", source=Source(work="The <Lamp>", year=-20))
    head, body = card_of(run, [ada], name="Lamps", licence="cc-by-4.0")
    assert head["pretty_name"] == "Lamps"
    assert head["license"] == "cc-by-4.0"
    assert head["language"] == ["en"]
    assert head["size_categories"] == ["n<1K"]
    assert head["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "samples.jsonl"}]}
    ]
    for told in (
        "| generator | context\\_instruct |",
        "| model | openai:m\\|x |",
        '| prompts | \\["questions/en@2"\\] |',
        "| near-duplicate | 12 |",
        "- The &lt;Lamp&gt; (20 BCE): Ada",
        "| version of rolellm-agents | 0.1.0 |",
        "`rolellm data check` finds nothing.",
        "## Limits",
    ):
        assert told in body


def test_a_card_tells_how_a_data_set_was_made_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    file = written_rows(
        tmp_path / "dataset" / "rolebench-eng" / "instruction-generalization" / "general" / "test.jsonl",
        [row(generated=["As an AI, no lamp burns here."])],
    )
    written_rows(file.with_name("train.jsonl"), [row()])
    source = tmp_path / "mine.jsonl"
    source.touch()
    write_manifest(
        tmp_path / "dataset", [source], DatasetProvenance("rolellm data split", {"seed": 7}), {"test": 1}
    )
    head, body = card_of(tmp_path / "dataset", [])
    [config] = head["configs"]
    assert config["config_name"] == "eng-instruction-generalization-general"
    assert {data["split"] for data in config["data_files"]} == {"train", "test"}
    assert "## Source: mine.jsonl" in body
    assert '| rolellm data split | {"seed": 7} |' in body
    assert "| leak | question-in-train |" in body
    assert "| quality | ai-talk |" in body


def test_the_card_of_the_published_part_names_the_works() -> None:
    cast = [found.persona for found in list_personas().found]
    source = shared_data("rolebench/rolebench-eng/instruction-generalization/role_specific/test.jsonl")
    head, body = card_of(source, cast, licence="apache-2.0")
    assert head["language"] == ["en"]
    assert "- Thor: Ragnarok (2017): Thor" in body
    assert "| en | role-specific | 89 | 445 | 445 |" in body
