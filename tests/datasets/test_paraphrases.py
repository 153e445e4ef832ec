"""Questions that mean the same in other words are found by embeddings, and kept on one side of a split."""

import json
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest
from helpers.commands import rolellm
from helpers.hypotheses import examples
from helpers.samples import sample
from helpers.shared_data import shared_data
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets.checking import check_source
from rolellm_agents.datasets.near_duplicates import NearDuplicate, near_groups
from rolellm_agents.datasets.paraphrases import paraphrases
from rolellm_agents.datasets.splitting import split_by_instructions

TOPICS = ("lamp", "storm", "father", "letter", "boat")


def topic_vectors(texts: list[str]) -> list[list[float]]:
    """One dimension for each topic, whatever else a text says."""
    return [[float(topic in text) for topic in TOPICS] for text in texts]


VECTORS = st.lists(st.lists(st.integers(-2, 2).map(float), min_size=3, max_size=3), max_size=12)


@given(VECTORS, st.sampled_from([0.5, 0.9]))
@examples(0.5)
def test_pairs_are_those_of_all_pairs_that_are_alike(vectors: list[list[float]], at_least: float) -> None:
    def cosine(one: list[float], other: list[float]) -> float:
        lengths = [sum(x * x for x in vector) ** 0.5 or 1.0 for vector in (one, other)]
        return sum(x * y for x, y in zip(one, other, strict=True)) / (lengths[0] * lengths[1])

    texts = [str(number) for number in range(len(vectors))]
    found = {
        (one.first, one.second) for one in paraphrases(texts, lambda _texts: vectors, at_least=at_least)
    }
    likeness = {
        (one, other): cosine(vectors[one], vectors[other])
        for one, other in combinations(range(len(vectors)), 2)
    }
    assert {pair for pair, value in likeness.items() if value > at_least + 1e-5} <= found
    assert all(likeness[pair] > at_least - 1e-5 for pair in found)


def test_groups_are_joined_by_paraphrases() -> None:
    texts = ["who keeps the lamp", "the lamp who keeps", "who lit it", "why"]
    assert near_groups(texts) == [[0, 1], [2], [3]]
    assert near_groups(texts, also=[NearDuplicate(1, 2, 0.95)]) == [[0, 1, 2], [3]]


def test_a_question_in_other_words_is_on_the_same_side() -> None:
    asked = [f"{start} {topic}?" for topic in TOPICS for start in ("Who keeps the", "What became of that")]
    samples = [sample("Ada", question) for question in asked]
    same = partial(paraphrases, embed=topic_vectors)
    for seed in range(5):
        split = split_by_instructions(samples, test_share=0.4, seed=seed, paraphrases=same)
        sides = [{split.is_test(one) for one in samples if topic in one.question} for topic in TOPICS]
        assert all(len(side) == 1 for side in sides)


@pytest.mark.slow
def test_the_published_test_asks_what_training_asks_in_other_words() -> None:
    pytest.importorskip("sentence_transformers")
    from rolellm_agents.recall.embeddings import get_embeddings

    source = shared_data("rolebench") / "rolebench-eng"
    embed = get_embeddings("minilm").embed
    report = check_source(source, {}, paraphrases=partial(paraphrases, embed=embed))
    [leak] = [one for one in report.findings if one.rule == "paraphrase-in-train"]
    assert (leak.count, leak.severity) == (165, "leak")


def test_the_commands_take_embeddings(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    questions = [
        "Robert, can you describe your relationship with Alfred Borden and how it evolved over time?",
        "Robert, how would you describe your relationship with Alfred Borden, and how did it evolve?",
        "What do you eat for breakfast?",
        "Which song did your mother sing?",
    ]
    file = tmp_path / "mine.jsonl"
    rows = ({"role": "Robert", "question": one, "generated": ["Well."]} for one in questions)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    out = tmp_path / "split"
    asked = ("data", "split", str(file), "--test-share", "0.5", "--embeddings", "minilm")
    done = rolellm(*asked, "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["embeddings"] == "minilm"
    checked = rolellm("data", "check", str(out), "--embeddings", "minilm", "--json")
    assert not [one for one in json.loads(checked.stdout)["findings"] if one["severity"] == "leak"]
    refused = rolellm(*asked, "--by", "roles", "--out", str(tmp_path / "other"))
    assert "--embeddings requires --by instructions" in refused.stderr
