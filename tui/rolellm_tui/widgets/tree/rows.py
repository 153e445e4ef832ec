"""The layout of a conversation's tree in rows, independent of the screen.

Each vertical line is a lane. At a fork, one of the children continues the lane of its parent. The other
children start their own lanes, which are drawn before it. So everything that follows a message is below it,
and a conversation with swipes at each turn does not drift to the right. The current path has the first lane
to itself. Everywhere else, the child with the largest subtree continues the lane, as in the heavy paths of
Sleator and Tarjan (1983), so that n messages have at most 1 + log2(n) lanes to the right of the first.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import NamedTuple

from rolellm_agents.transcript import Message

LEAST_FOLDED = 3
"""Minimum number of messages for a fold."""
NEAR = 4
"""Unfolded messages at the end of the current path."""


class TreeRow(NamedTuple):
    """A row of the tree: a message, or several folded ones."""

    at: int
    """Index of its first message in `order`."""
    size: int
    depth: int
    """Number of lanes to the left."""
    begins: bool
    """Whether its lane starts here."""

    @property
    def folded(self) -> bool:
        """Whether the row stands for several folded messages."""
        return self.size > 1


class ConversationTree:
    """The tree of a conversation; messages are identified by index."""

    def __init__(
        self,
        messages: Sequence[Message],
        *,
        here: str | None = None,
        branches: Collection[str] = (),
    ) -> None:
        """Build the tree.

        Args:
            messages: all messages of the conversation, parents first.
            here: the id of the last message of the current path.
            branches: the ids of the messages to which branches point.
        """
        self.messages = tuple(messages)
        self.places = {message.id: place for place, message in enumerate(self.messages)}
        self.parents = [self.places.get(message.parent or "") for message in self.messages]
        self.roots, self.followers = _followers(self.parents)
        self.here = self.places.get(here or "")
        self.path = frozenset(self.path_to(self.here))
        self._next, first = self._lanes()
        self.order, self._depths, self._begins = self._draw(first)
        self._at = [0] * len(self.order)
        for at, place in enumerate(self.order):
            self._at[place] = at
        self._never_folded = self._landmarks({self.places[id_] for id_ in branches if id_ in self.places})

    def path_to(self, place: int | None) -> list[int]:
        """The path from the root to a message."""
        path = []
        while place is not None:
            path.append(place)
            place = self.parents[place]
        return path[::-1]

    def newest_path(self, place: int) -> list[int]:
        """The path from a message through each newest child."""
        path = []
        while followers := self.followers[place]:
            place = followers[-1]
            path.append(place)
        return path

    def shared_by(self, one: int, other: int) -> int:
        """The number of common ancestors of two messages."""
        pairs = zip(self.path_to(one), self.path_to(other), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def share_path(self, one: int, other: int) -> bool:
        """Whether one of two messages is an ancestor of the other."""
        return one in self.path_to(other) or other in self.path_to(one)

    def siblings(self, place: int) -> Sequence[int]:
        """A message and its siblings, oldest first."""
        parent = self.parents[place]
        return self.roots if parent is None else self.followers[parent]

    def sibling(self, place: int, step: int) -> int | None:
        """The sibling `step` places away, of the message or of its nearest ancestor with siblings."""
        ancestor: int | None = place
        while ancestor is not None and len(self.siblings(ancestor)) == 1:
            ancestor = self.parents[ancestor]
        if ancestor is None:
            return None
        siblings = self.siblings(ancestor)
        index = siblings.index(ancestor) + step
        return siblings[index] if 0 <= index < len(siblings) else None

    def after(self, place: int) -> int | None:
        """The child in the same lane."""
        return self._next[place]

    def rows(self, shown: Collection[int] = ()) -> list[TreeRow]:
        """The rows from top to bottom.

        Args:
            shown: messages that must not be folded.
        """
        rows: list[TreeRow] = []
        stretch = 0  # how many messages at the end so far could be folded
        for at, place in enumerate(self.order):
            if place in self._never_folded or place in shown:
                rows += self._stretch(at - stretch, stretch)
                rows.append(self._row(at, 1))
                stretch = 0
            else:
                stretch += 1
        return rows + self._stretch(len(self.order) - stretch, stretch)

    def places_in(self, row: TreeRow) -> Sequence[int]:
        """The messages of a row."""
        return self.order[row.at : row.at + row.size]

    def at(self, place: int) -> int:
        """The index of a message in `order`."""
        return self._at[place]

    def row_of(self, place: int, rows: Sequence[TreeRow]) -> int:
        """The row of a message."""
        return bisect_right(rows, self._at[place], key=lambda row: row.at) - 1

    def continues_below(self, row: TreeRow) -> bool:
        """Whether the current path continues below a row."""
        return self.here is not None and row.at < self._at[self.here]

    def _stretch(self, at: int, count: int) -> list[TreeRow]:
        if count >= LEAST_FOLDED:
            return [self._row(at, count)]
        return [self._row(index, 1) for index in range(at, at + count)]

    def _row(self, at: int, count: int) -> TreeRow:
        return TreeRow(at, count, self._depths[at], self._begins[at])

    def _lanes(self) -> tuple[list[int | None], int | None]:
        """The child in the same lane of each message, and the root of the first lane."""
        sizes = [1] * len(self.messages)
        for place in range(len(self.messages) - 1, -1, -1):
            parent = self.parents[place]
            if parent is not None:
                sizes[parent] += sizes[place]

        def heir(followers: Sequence[int]) -> int | None:
            """The current child, or the one with most descendants, preferring the newest."""
            ranked = [(place in self.path, sizes[place], place) for place in followers]
            return max(ranked)[2] if ranked else None

        return [heir(followers) for followers in self.followers], heir(self.roots)

    def _draw(self, first: int | None) -> tuple[list[int], list[int], list[bool]]:
        """The messages from top to bottom, with lane and lane start."""
        order: list[int] = []
        depths: list[int] = []
        begins: list[bool] = []

        def fork(followers: Sequence[int], heir: int | None, depth: int) -> None:
            if heir is not None:
                pending.append((heir, depth, False))
                pending.extend(
                    (follower, depth + 1, True) for follower in reversed(followers) if follower != heir
                )

        pending: list[tuple[int, int, bool]] = []
        fork(self.roots, first, 0)
        while pending:
            place, depth, starts_lane = pending.pop()
            order.append(place)
            depths.append(depth)
            begins.append(starts_lane)
            fork(self.followers[place], self._next[place], depth)
        return order, depths, begins

    def _landmarks(self, heads: Collection[int]) -> frozenset[int]:
        """Landmarks, which are never folded."""
        ends = {place for place, followers in enumerate(self.followers) if len(followers) != 1}
        siblings = {place for place in range(len(self.messages)) if len(self.siblings(place)) > 1}
        return frozenset({*self.roots, *ends, *siblings, *heads, *self.path_to(self.here)[-NEAR:]})


def _followers(parents: Sequence[int | None]) -> tuple[list[int], list[list[int]]]:
    """The roots, and the children of each message."""
    roots: list[int] = []
    followers: list[list[int]] = [[] for _ in parents]
    for place, parent in enumerate(parents):
        (roots if parent is None else followers[parent]).append(place)
    return roots, followers
