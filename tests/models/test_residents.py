"""Where a prompt goes: the longest shared prefix, and who makes room."""

from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.llamacpp.residents import Placement, Resident, place, shared_prefix

ADAPTER = "a.gguf"
LONG = list(range(1000))


def residents(*held: list[int]) -> list[Resident]:
    return [Resident(n, tokens, None, n + 1) for n, tokens in enumerate(held)]


def test_a_conversation_goes_on_where_it_is() -> None:
    cast = residents(LONG[:300], [7] * 300, [])
    assert place(cast, cast, LONG[:340], None) == Placement(0, 0, 300)


def test_an_answer_written_anew_takes_the_place_of_the_one_before() -> None:
    cast = residents(LONG[:400], [])
    assert place(cast, cast, [*LONG[:300], 5, 5], None) == Placement(0, 0, 300)


def test_a_branch_from_far_back_keeps_both() -> None:
    cast = residents(LONG, [])
    assert place(cast, cast, [*LONG[:300], 5, 5], None) == Placement(1, 0, 300)


def test_a_busy_sequence_is_copied_from_and_left_alone() -> None:
    cast = residents(LONG[:300], [1] * 50)
    assert place(cast, cast[1:], LONG[:340], None) == Placement(1, 0, 300)


def test_a_few_tokens_are_not_worth_a_copy() -> None:
    cast = residents(LONG, [])
    assert place(cast, cast, [*LONG[:10], 5, 5], None) == Placement(1, 1, 0)


def test_the_least_recently_used_makes_room() -> None:
    cast = residents([1] * 50, [2] * 50, [3] * 50)
    cast[0].last_used = 9
    assert place(cast, cast, [4] * 50, None) == Placement(1, 1, 0)


def test_nothing_is_free() -> None:
    assert place(residents([]), [], [1], None) is None


def test_another_adapters_tokens_are_not_shared() -> None:
    assert shared_prefix(Resident(0, LONG, ADAPTER), LONG, None) == 0
    assert shared_prefix(Resident(0, LONG, ADAPTER), LONG, ADAPTER) == 1000


TOKENS = st.lists(st.integers(0, 2), max_size=300)


@given(st.lists(st.tuples(TOKENS, st.booleans(), st.booleans()), min_size=1, max_size=5), TOKENS)
def test_what_is_promised_is_held(held: list[tuple[list[int], bool, bool]], prompt: list[int]) -> None:
    cast = [
        Resident(n, tokens, ADAPTER if adapted else None, n) for n, (tokens, adapted, _) in enumerate(held)
    ]
    free = [resident for resident, (_, _, is_free) in zip(cast, held, strict=True) if is_free]
    placement = place(cast, free, prompt, None)
    assert (placement is None) == (not free)
    if placement:
        assert placement.sequence in {resident.sequence for resident in free}
        source = cast[placement.source]
        assert source.tokens[: placement.shared] == prompt[: placement.shared]
        assert not placement.shared or source.adapter is None
        assert placement.source == placement.sequence or placement.shared >= 32
