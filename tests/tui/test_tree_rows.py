"""The layout of the tree: laws that hold for every conversation."""

from collections.abc import Sequence
from itertools import pairwise
from math import log2

from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.transcript import Message
from rolellm_tui.widgets.tree.rows import LEAST_FOLDED, ConversationTree, TreeRow

Parents = list[int | None]


def said(parents: Sequence[int | None]) -> list[Message]:
    """Messages that follow each other so; their ids are their places."""
    return [
        Message(
            id=str(place),
            conversation="c",
            parent=None if parent is None else str(parent),
            speaker="user",
            audience=("user",),
            kind="say",
            text="",
            status="complete",
            created="2026-01-01T00:00:00.000Z",
        )
        for place, parent in enumerate(parents)
    ]


@st.composite
def parents_of_any_tree(draw: st.DrawFn) -> Parents:
    """Who follows whom: lines of any length that begin anywhere, and no message before its parent."""
    parents: Parents = []
    for start, length in draw(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 30)), max_size=12)):
        parent = start % (len(parents) + 1) - 1
        for _ in range(length):
            parents.append(None if parent < 0 else parent)
            parent = len(parents) - 1
    return parents


@st.composite
def trees(draw: st.DrawFn) -> ConversationTree:
    parents = draw(parents_of_any_tree())
    places = st.integers(0, max(0, len(parents) - 1)).map(str)
    here = draw(st.none() | places) if parents else None
    return ConversationTree(
        said(parents), here=here, branches=draw(st.lists(places, max_size=4)) if parents else ()
    )


def some_of(tree: ConversationTree, draw: st.DataObject) -> set[int]:
    return draw.draw(st.sets(st.sampled_from(range(len(tree.messages))))) if tree.messages else set()


@given(trees(), st.data())
def test_every_message_stands_in_exactly_one_row_or_one_fold(
    tree: ConversationTree, data: st.DataObject
) -> None:
    rows = tree.rows(some_of(tree, data))
    placed = [place for row in rows for place in tree.places_in(row)]
    assert sorted(placed) == list(range(len(tree.messages)))
    assert [rows[tree.row_of(place, rows)] for place in placed] == [
        row for row in rows for _ in range(row.size)
    ]


@given(trees())
def test_parents_stand_above_children_and_the_present_path_in_the_first_lane(
    tree: ConversationTree,
) -> None:
    rows = tree.rows(tree.order)
    for place, parent in enumerate(tree.parents):
        assert parent is None or tree.row_of(parent, rows) < tree.row_of(place, rows)
    assert {rows[tree.row_of(place, rows)].depth for place in tree.path} <= {0}


@given(trees())
def test_a_fold_is_a_stretch_without_forks_ends_or_branches(tree: ConversationTree) -> None:
    heads = {tree.here}
    for row in tree.rows():
        places = tree.places_in(row)
        assert not row.folded or row.size >= LEAST_FOLDED
        if row.folded:
            assert all(len(tree.siblings(place)) == len(tree.followers[place]) == 1 for place in places)
            assert all(tree.parents[place] == before for before, place in pairwise(places))
            assert not heads & set(places)
            assert None not in {tree.parents[place] for place in places}


@given(trees())
def test_what_a_branch_points_to_is_never_folded(tree: ConversationTree) -> None:
    again = ConversationTree(tree.messages, branches=[message.id for message in tree.messages[::7]])
    assert all(
        set(range(0, len(tree.messages), 7)).isdisjoint(again.places_in(row))
        for row in again.rows()
        if row.folded
    )


@given(trees(), st.data())
def test_opening_one_fold_after_another_restores_all(tree: ConversationTree, data: st.DataObject) -> None:
    shown: set[int] = set()
    while folds := [row for row in tree.rows(shown) if row.folded]:
        opened = set(tree.places_in(data.draw(st.sampled_from(folds))))
        assert not opened & shown
        shown |= opened
    assert tree.rows(shown) == tree.rows(tree.order)
    assert [row.size for row in tree.rows(shown)] == [1] * len(tree.messages)


@given(trees(), st.data())
def test_what_must_be_shown_is_shown(tree: ConversationTree, data: st.DataObject) -> None:
    shown = some_of(tree, data)
    rows = tree.rows(shown)
    assert not any(rows[tree.row_of(place, rows)].folded for place in shown)


@given(trees())
def test_a_lane_is_one_line_with_only_later_lanes_beside_it(tree: ConversationTree) -> None:
    rows = tree.rows(tree.order)

    def row(place: int) -> TreeRow:
        return rows[tree.row_of(place, rows)]

    for place in tree.order:
        heir = tree.after(place)
        others = [one for one in tree.followers[place] if one != heir]
        assert all(row(one).begins and row(one).depth == row(place).depth + 1 for one in others)
        if heir is None:
            assert not tree.followers[place]
        else:
            assert row(heir).depth == row(place).depth
            assert not row(heir).begins
            between = rows[tree.row_of(place, rows) + 1 : tree.row_of(heir, rows)]
            assert all(one.depth > row(place).depth for one in between)


@given(st.lists(st.integers(0, 10_000), max_size=200), st.data())
def test_n_messages_need_no_more_than_1_and_log2_n_lanes_beside_the_first(
    seeds: list[int], data: st.DataObject
) -> None:
    parents = [seed % (place + 1) - 1 for place, seed in enumerate(seeds)]
    messages = said([None if parent < 0 else parent for parent in parents])
    here = data.draw(st.sampled_from(messages)).id if messages else None
    depths = [row.depth for row in ConversationTree(messages, here=here).rows(range(len(messages)))]
    assert max(depths, default=0) <= 1 + log2(max(1, len(messages)))


@given(trees(), st.data())
def test_to_a_sibling_and_back_is_where_one_was(tree: ConversationTree, data: st.DataObject) -> None:
    for place in range(len(tree.messages)):
        beside = tree.sibling(place, 1)
        if beside is not None:
            fork = tree.sibling(beside, -1)
            assert fork is not None
            assert fork in tree.path_to(place)
            assert tree.parents[fork] == tree.parents[beside]
            assert fork < beside


@given(trees(), st.data())
def test_two_messages_share_the_way_up_to_where_they_part(
    tree: ConversationTree, data: st.DataObject
) -> None:
    if tree.messages:
        places = st.sampled_from(range(len(tree.messages)))
        one, other = data.draw(places), data.draw(places)
        shared = tree.shared_by(one, other)
        ways = tree.path_to(one), tree.path_to(other)
        assert set(ways[0]) & set(ways[1]) == set(ways[0][:shared]) == set(ways[1][:shared])
        assert tree.share_path(one, other) == (shared in map(len, ways))


def test_a_long_line_shows_its_beginning_and_its_end() -> None:
    tree = ConversationTree(said([None, *range(19)]), here="19")
    assert [row.size for row in tree.rows()] == [1, 15, 1, 1, 1, 1]


def test_the_way_on_is_along_what_was_said_last() -> None:
    tree = ConversationTree(said([None, 0, 0, 1, 2, 2, 3]))
    assert (tree.newest_path(0), tree.newest_path(1), tree.newest_path(5)) == ([2, 5], [3, 6], [])
