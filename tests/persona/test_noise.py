"""Profiles in which lines of others stand."""

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.persona import Demonstration, Knowledge, Persona, list_personas
from rolellm_agents.persona.from_script.noise import with_noise
from rolellm_agents.text.language import Language


def persona_of(name: str, lines: int, pieces: int = 0, language: Language = "en") -> Persona:
    return Persona(
        id=name,
        name=name,
        language=language,
        description="Somebody.",
        greeting="Good day.",
        demonstrations=tuple(
            Demonstration(user=f"{name} asked {number}", reply=f"{name} said {number}")
            for number in range(lines)
        ),
        knowledge=tuple(
            Knowledge(title=f"{name} title {number}", text=f"{name} knows {number}")
            for number in range(pieces)
        ),
    )


def foreign(one: Persona, other: Persona) -> tuple[int, int]:
    """How many demonstrations and pieces of knowledge of one are not the other's at the same place."""
    return (
        sum(a != b for a, b in zip(one.demonstrations, other.demonstrations, strict=True)),
        sum(a != b for a, b in zip(one.knowledge, other.knowledge, strict=True)),
    )


SHARES = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.3, 0.5, 1.0])
COUNTS = st.integers(0, 12)


@given(COUNTS, COUNTS, SHARES, st.integers(0, 5))
def test_just_that_share_is_replaced_and_by_what_others_who_speak_the_language_say(
    lines: int, pieces: int, share: float, seed: int
) -> None:
    ada = persona_of("ada", lines, pieces)
    cast = [
        persona_of("ben", 9, 14),
        ada,
        persona_of("wu", 40, 40, "zh"),
        persona_of("cid", 4),
    ]
    noisy = with_noise(ada, cast, share, seed)
    assert foreign(noisy, ada) == (round(share * lines), round(share * pieces))
    others = [cast[0], cast[3]]
    for pair, own in zip(noisy.demonstrations, ada.demonstrations, strict=True):
        assert pair == own or any(pair in other.demonstrations for other in others)
    for piece, its in zip(noisy.knowledge, ada.knowledge, strict=True):
        assert piece == its or any(piece in other.knowledge for other in others)
    # Nobody's line is drawn twice.
    assert len(set(noisy.demonstrations)) == lines
    assert len(set(noisy.knowledge)) == pieces
    unchanged = {"demonstrations": ada.demonstrations, "knowledge": ada.knowledge}
    assert noisy.model_copy(update=unchanged) == ada


@examples(0.3)
@given(SHARES, st.integers(0, 1_000))
def test_the_same_seed_replaces_the_same_lines(share: float, seed: int) -> None:
    ada = persona_of("ada", 10, 5)
    cast = [ada, persona_of("ben", 10, 10)]
    assert with_noise(ada, cast, share, seed) == with_noise(ada, cast, share, seed)


def test_another_seed_and_another_persona_replace_other_lines() -> None:
    ada, dot, cast = persona_of("ada", 40), persona_of("dot", 40), [persona_of("ben", 80)]
    assert with_noise(ada, cast, 0.5, 1) != with_noise(ada, cast, 0.5, 2)
    places = [
        [place for place, pair in enumerate(one.demonstrations) if pair.reply.startswith("ben")]
        for one in (with_noise(ada, cast, 0.5, 1), with_noise(dot, cast, 0.5, 1))
    ]
    assert places[0] != places[1]


def test_nobody_has_more_noise_than_others_have_lines() -> None:
    ada = persona_of("ada", 10, 10)
    noisy = with_noise(ada, [ada, persona_of("ben", 3)], 1.0)
    assert foreign(noisy, ada) == (3, 0)
    assert with_noise(ada, [], 1.0) == ada
    assert with_noise(ada, [persona_of("wu", 50, 50, "zh")], 1.0) == ada


def test_the_persona_itself_stays_as_it_is() -> None:
    ada = persona_of("ada", 4, 4)
    before = ada.model_copy(deep=True)
    with_noise(ada, [persona_of("ben", 9, 9)], 1.0)
    assert ada == before


@pytest.mark.parametrize("share", [-0.01, 1.01, 30, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        with_noise(persona_of("ada", 4), [], share)


def test_the_bundled_cast_has_noise_enough_for_each_of_them() -> None:
    cast = [found.persona for found in list_personas().found]
    for persona in cast:
        lines, pieces = foreign(with_noise(persona, cast, 0.5), persona)
        assert lines == round(0.5 * len(persona.demonstrations))
        assert pieces == round(0.5 * len(persona.knowledge))
