"""Blind reading: questions, pairs whose order reveals nothing, verdicts, and results."""

from pathlib import Path

import pytest

from rolellm_agents.corpus.conversations import CorpusConversation, PersonaCorpus
from rolellm_agents.corpus.splits import split_conversations
from rolellm_agents.evaluation.blind.pairs import AnswerPair, blind_pairs, read_pairs, write_pairs
from rolellm_agents.evaluation.blind.questions import OpenQuestion, open_questions
from rolellm_agents.evaluation.blind.results import comparisons, quality_shares
from rolellm_agents.evaluation.blind.verdicts import (
    QUALITIES,
    ReaderVerdict,
    append_verdicts,
    read_verdicts,
)
from rolellm_agents.judging import JudgingError
from rolellm_agents.persona import Demonstration, load_persona

PERSONAS = {name: load_persona(name) for name in ("shrek", "thor", "jack-sparrow")}


def corpus(persona: str, count: int) -> PersonaCorpus:
    """Conversations of two exchanges that share no question."""
    conversations = tuple(
        CorpusConversation(
            ("world",),
            (
                Demonstration(user=f"Where did {persona} hide key number {number}?", reply="Here."),
                Demonstration(user=f"And who found key {number} of {persona} there?", reply="Nobody."),
            ),
            number,
        )
        for number in range(count)
    )
    return PersonaCorpus(persona, conversations)


@pytest.fixture(scope="module")
def questions() -> list[OpenQuestion]:
    corpora = [corpus("shrek", 120), corpus("thor", 120), corpus("jack-sparrow", 30)]
    return open_questions(split_conversations(corpora, PERSONAS), limit=20)


@pytest.fixture(scope="module")
def pairs(questions: list[OpenQuestion]) -> list[AnswerPair]:
    answers = {
        system: {one.key: f"{system} to {one.key}" for one in questions} for system in ("good", "bad")
    }
    return blind_pairs(questions, answers)


def verdicts_for(pairs: list[AnswerPair], system: str, reader: str = "ada") -> list[ReaderVerdict]:
    return [
        ReaderVerdict(
            item=pair.key, reader=reader, preferred="first" if pair.first.system == system else "second"
        )
        for pair in pairs
    ]


def test_half_of_the_questions_are_to_held_out_personas_and_later_turns_have_their_history(
    questions: list[OpenQuestion],
) -> None:
    assert [one.split for one in questions].count("test_personas") == 10
    assert {one.persona.id for one in questions} == {"shrek", "thor", "jack-sparrow"}
    assert {len(one.turns) for one in questions} == {1, 3}
    assert all(one.turns[-1].speaker == "user" for one in questions)


def test_a_sample_depends_on_its_seed_alone() -> None:
    split = split_conversations([corpus("shrek", 120), corpus("jack-sparrow", 30)], PERSONAS)
    samples = [open_questions(split, limit=8, seed=seed) for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]


def test_the_order_of_a_pair_reveals_nothing(questions: list[OpenQuestion]) -> None:
    many = {name: {one.key: name for one in questions} for name in ("a", "b", "c", "d")}
    pairs = blind_pairs(questions, many)
    assert len(pairs) == 6 * len(questions)
    firsts = [pair.first.system < pair.second.system for pair in pairs]
    assert 0.3 < sum(firsts) / len(firsts) < 0.7
    assert not any(
        name in pair.key + pair.first.judged.key for pair in pairs for name in ("good", "rolesmol")
    )


def test_identical_answers_are_not_read(questions: list[OpenQuestion]) -> None:
    same = {one.key: "The same." for one in questions}
    assert blind_pairs(questions, {"one": same, "two": same}) == []


def test_pairs_are_read_as_they_were_written(pairs: list[AnswerPair], tmp_path: Path) -> None:
    write_pairs(tmp_path, pairs)
    assert read_pairs(tmp_path) == pairs


@pytest.mark.parametrize("content", ["", "[{}]", "[1]", '{"key": 1}', "[" * 9])
def test_damaged_pairs_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "pairs.json").write_text(content)
    with pytest.raises(JudgingError, match=r"pairs\.json is damaged"):
        read_pairs(tmp_path)


def test_the_last_verdict_of_a_reader_counts_and_one_that_is_withdrawn_does_not(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.jsonl"
    given = [
        ReaderVerdict(item="p1", reader="ada", preferred="first"),
        ReaderVerdict(item="p1", reader="ben", preferred="tie"),
        ReaderVerdict(item="p1", reader="ada", preferred="second"),
        ReaderVerdict(item="p2", reader="ada", preferred="first"),
        ReaderVerdict(item="p2", reader="ada"),
    ]
    append_verdicts(file, given[:3])
    append_verdicts(file, given[3:])
    assert read_verdicts(file) == [given[2], given[1]]
    assert read_verdicts(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize(
    "line",
    [
        '{"item": "p", "reader": "a", "preferred": "left"}',
        '{"item": "p", "reader": "a", "qualities": {"answers": true}}',
        '{"item": "p", "reader": "a", "preferred": "tie", '
        '"qualities": {"answers": true, "makes_sense": true, "in_voice": true}}',
        '{"reader": "a", "preferred": "tie"}',
        "nonsense",
    ],
)
def test_a_wrong_verdict_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "verdicts.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(JudgingError, match=r"verdicts\.jsonl, line 1"):
        read_verdicts(file)


def test_win_rates_are_by_system_whatever_the_order_and_by_split(pairs: list[AnswerPair]) -> None:
    verdicts = verdicts_for(pairs, "good")
    verdicts[0] = ReaderVerdict(item=verdicts[0].item, reader="ada", preferred="neither")
    every, *by_split = comparisons(pairs, verdicts)
    assert (every.system, every.other, every.split) == ("bad", "good", None)
    assert (every.wins, every.losses, every.ties) == (0, len(pairs) - 1, 1)
    assert every.rate.mean == pytest.approx(0.5 / len(pairs))
    assert {one.split for one in by_split} == {"test_questions", "test_personas"}
    assert sum(one.rate.n for one in by_split) == len(pairs)


def test_an_answer_is_good_if_it_has_all_qualities(pairs: list[AnswerPair]) -> None:
    def verdict(key: str, *, voice: bool) -> ReaderVerdict:
        qualities = {name: voice or name != "in_voice" for name in QUALITIES}
        return ReaderVerdict(item=key, reader="ada", qualities=qualities)

    answers = [answer for pair in pairs for answer in (pair.first, pair.second)]
    verdicts = [verdict(one.judged.key, voice=one.system == "good") for one in answers]
    shares = {one.system: one.shares for one in quality_shares(pairs, verdicts) if one.split is None}
    assert [share.mean for share in shares["good"].values()] == [1, 1, 1, 1]
    assert [share.mean for share in shares["bad"].values()] == [1, 1, 0, 0]
    assert shares["bad"]["good"].n == len(pairs)
