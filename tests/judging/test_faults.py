"""The planted faults are real ones of the bundled cast, and files of one's own are read with care."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.judging import JudgingError
from rolellm_agents.judging.faults import KINDS, Fault, bundled_faults, read_faults, some_of_each_kind
from rolellm_agents.metrics import word_count
from rolellm_agents.persona import Persona, list_personas
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import is_in_other_language

FAULTS = bundled_faults()
CAST = {one.persona.id: one.persona for one in list_personas().found if one.origin == "bundled"}
REPLIES = {pair.reply: persona.id for persona in CAST.values() for pair in persona.demonstrations}
ROW = {
    "kind": "padding",
    "persona": "ada",
    "question": "Cold?",
    "clean": "Aye.",
    "faulty": "Aye. Tea is hot.",
}


def of_kind(kind: str) -> list[Fault]:
    return [one for one in FAULTS if one.kind == kind]


def persona(fault: Fault) -> Persona:
    return CAST[fault.persona]


def write(file: Path, *rows: Any) -> Path:
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return file


def test_there_are_enough_of_each_kind_from_enough_of_the_cast() -> None:
    assert len(FAULTS) >= 300
    assert len({one.key for one in FAULTS}) == len(FAULTS)
    counted = Counter(one.kind for one in FAULTS)
    assert set(counted) == set(KINDS)
    assert min(counted.values()) >= 40
    assert len({one.persona for one in FAULTS}) >= 60
    assert {persona(one).language for one in FAULTS} == {"en", "zh"}


def test_every_clean_reply_is_a_demonstration_of_its_persona() -> None:
    for one in FAULTS:
        shown = {(pair.user, pair.reply) for pair in persona(one).demonstrations}
        assert (one.question, one.clean) in shown, one.key


def test_every_reply_is_in_its_personas_language() -> None:
    for one in FAULTS:
        assert not is_in_other_language(one.faulty, persona(one).language), one.key


def test_the_wrong_person_is_somebody_of_another_work() -> None:
    for one in of_kind("wrong-person"):
        owner = CAST[REPLIES[one.faulty]]
        assert owner.id != one.persona
        assert owner.source is None or owner.source != persona(one).source


def test_a_copied_question_is_nothing_but_the_question() -> None:
    for one in of_kind("copied-question"):
        rest = one.faulty.replace(one.question, "")
        assert rest != one.faulty, one.key
        assert word_count(rest, persona(one).language) <= 4, one.key


def test_padding_only_adds_to_the_clean_reply() -> None:
    for one in of_kind("padding"):
        assert one.faulty.startswith(one.clean), one.key
        added = word_count(one.faulty, persona(one).language) - word_count(one.clean, persona(one).language)
        assert added >= 30, one.key


def test_a_swapped_name_is_all_that_differs_and_the_own_one_is_gone() -> None:
    for one in of_kind("name-swap"):
        clean, faulty = one.clean.split(), one.faulty.split()
        if persona(one).language == "en":
            changed = sum((Counter(faulty) - Counter(clean)).values())
            assert 1 <= changed <= 6, one.key
        else:
            assert abs(len(one.clean) - len(one.faulty)) <= 2, one.key
        assert persona(one).name not in one.faulty, one.key


def test_ai_talk_is_found_by_the_detector_too_in_most_cases() -> None:
    found = [bool(ai_talk(one.faulty)) for one in of_kind("ai-talk")]
    assert sum(found) >= 0.5 * len(found)
    assert not any(ai_talk(one.clean) for one in of_kind("ai-talk"))


@pytest.mark.parametrize("kind", ["flat-voice", "modern-knowledge", "ai-talk"])
def test_what_was_written_by_hand_is_no_copy_and_of_a_like_length(kind: str) -> None:
    faults = of_kind(kind)
    assert len({one.faulty for one in faults}) == len(faults)
    for one in faults:
        assert one.faulty not in REPLIES, one.key
    words = [
        (word_count(one.clean, persona(one).language), word_count(one.faulty, persona(one).language))
        for one in faults
    ]
    ratio = sum(faulty for _, faulty in words) / sum(clean for clean, _ in words)
    assert 0.5 <= ratio <= 1.2


def test_flat_voices_say_none_of_the_catchphrases() -> None:
    for one in of_kind("flat-voice"):
        for phrase in persona(one).catchphrases:
            assert phrase.casefold() not in one.faulty.casefold(), one.key


def test_a_file_of_ones_own_is_read_with_kinds_of_ones_own(tmp_path: Path) -> None:
    file = write(tmp_path / "faults.jsonl", ROW, {**ROW, "kind": "too-polite"})
    found = read_faults(file)
    assert [one.kind for one in found] == ["padding", "too-polite"]
    assert (found[0].persona, found[0].clean, found[0].faulty) == ("ada", "Aye.", "Aye. Tea is hot.")


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({**ROW, "faulty": " Aye.\n"}, "line 2: the clean reply and the faulty one are the same"),
        ({**ROW, "faulty": "  "}, "line 2: faulty: "),
        ({**ROW, "kind": "Too Polite"}, "line 2: kind: "),
        ({**ROW, "note": "x"}, "line 2: note: "),
        ({key: value for key, value in ROW.items() if key != "clean"}, "line 2: clean: "),
        (["padding"], "line 2: it is not a JSON object"),
        ({**ROW, "faulty": "Another."}, "line 2: the same kind, persona and question"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, row: Any, what: str) -> None:
    file = write(tmp_path / "faults.jsonl", ROW, row)
    with pytest.raises(JudgingError, match=what) as raised:
        read_faults(file)
    assert str(raised.value).endswith("correct the line or remove it.")


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_faults_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "faults.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(JudgingError, match="holds no faults"):
        read_faults(file)


def test_a_file_that_is_not_there_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JudgingError, match="There is no file"):
        read_faults(tmp_path / "nothing.jsonl")
    file = tmp_path / "faults.jsonl"
    file.write_bytes(b'{"kind": \xff}\n')
    with pytest.raises(JudgingError, match="line 1: it is not UTF-8"):
        read_faults(file)


@given(limit=st.integers(0, 80), seed=st.integers(0, 5))
@examples(0.15)
def test_a_draw_takes_so_many_of_each_kind_in_their_order(limit: int, seed: int) -> None:
    drawn = some_of_each_kind(FAULTS, limit, seed)
    assert drawn == [one for one in FAULTS if one in drawn]
    have = Counter(one.kind for one in FAULTS)
    assert Counter(one.kind for one in drawn) == Counter(
        {kind: min(limit, times) for kind, times in have.items() if limit}
    )
    assert drawn == some_of_each_kind(FAULTS, limit, seed)
