"""Cards as strangers might send them, for property tests."""

import copy
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from helpers.cards import book, entry, v2, v3
from rolellm_agents.cards.card import Card

patient = settings(suppress_health_check=[HealthCheck.too_slow])
"""For a machine that does other things as well."""

_TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(st.characters(codec=None), max_size=6),  # with halves of characters
    st.sampled_from(
        ["", "main", "icon", "/(a+)+/", "/(/", "@@depth 4\nx", "@@@x", "{{char}}", "1", "Ada: x"]
    ),
)


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value."""
    leaves = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | _TEXTS
    )
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
        max_leaves=12,
    )


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """Any JSON object."""
    return st.dictionaries(_TEXTS | st.sampled_from(["spec", "data", "name"]), json_values(), max_size=5)


@st.composite
def strange_cards(draw: st.DrawFn) -> Card:
    """Good cards in which anything was put, or is missing, in any place."""
    lore = book(*(entry(id=number, use_regex=False, name=f"entry {number}") for number in range(3)))
    pictures = [
        {"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"},
        {"type": "emotion", "uri": "embeded://a.png", "name": "joy", "ext": "png"},
    ]
    good = draw(st.sampled_from([v2(character_book=lore), v3(character_book=lore, assets=pictures)]))
    document = copy.deepcopy(good)
    for _ in range(draw(st.integers(0, 4))):
        places = [*_places(document)]
        if not places:
            break
        holder, step = draw(st.sampled_from(places))
        if draw(st.booleans()):
            holder[step] = draw(json_values())
        else:
            del holder[step]
    return Card(document, draw(st.none() | st.binary(max_size=8)))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every member of every object and list, as what holds it and where it stands there."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    found: list[tuple[Any, Any]] = []
    for step, inner in members:
        found.append((value, step))
        if isinstance(inner, dict | list):
            found += _places(inner)
    return found
