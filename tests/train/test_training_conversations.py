"""Rows laid one after another."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.persona import Persona
from rolellm_train.data.conversations import TURNS, conversations_of
from rolellm_train.data.rows import TrainingRow

PERSONAS = [
    Persona(id=name.lower(), name=name, description=f"{name} keeps a light.") for name in ("Ada", "Ben")
]
ROWS = st.builds(
    TrainingRow,
    persona=st.sampled_from(PERSONAS),
    question=st.sampled_from("abcde"),
    answer=st.sampled_from("xyz"),
    source=st.just("cast"),
)


@given(st.lists(ROWS, max_size=40), st.floats(0, 1), st.integers(0, 3))
def test_every_row_is_asked_once_of_one_character_and_no_question_twice(
    rows: list[TrainingRow], share: float, seed: int
) -> None:
    found = conversations_of(rows, share, seed=seed)
    assert told(row for one in found for row in one) == told(rows)
    for one in found:
        assert len({row.persona.id for row in one}) == 1
        assert len({row.question for row in one}) == len(one) <= TURNS[1]
    assert found == conversations_of(rows, share, seed=seed)


def test_the_share_is_asked_in_conversations_and_the_others_alone() -> None:
    rows = [TrainingRow(PERSONAS[0], str(number), "Aye.", "cast") for number in range(100)]
    alone = [one for one in conversations_of(rows, 0.6, seed=1) if len(one) == 1]
    assert 40 <= len(alone) <= 41  # the last of the others may be left over
    assert all(len(one) == 1 for one in conversations_of(rows, 0.0, seed=1))


def told(rows: Iterable[TrainingRow]) -> Counter[tuple[str, str, str]]:
    return Counter((row.persona.id, row.question, row.answer) for row in rows)
