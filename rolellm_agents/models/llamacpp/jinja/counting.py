"""Puts into a template's syntax tree what takes from the budget where Jinja has no hook."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

STEP, WEIGHED, SLICED, JOINED = " step", " weighed", " sliced", " joined"
"""Names of the inserted filters; the blank keeps templates from using them."""


class CountingTransformer(NodeTransformer):
    """Rewrites a tree from its leaves to its root."""

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        """Rewrite the children of a node, then the node."""
        rewritten = super().generic_visit(node, *args, **kwargs)
        rewrite = _REWRITES.get(type(rewritten))
        return rewrite(rewritten) if rewrite else rewritten


def _body(node: Any) -> nodes.Node:
    """Count each time that a body runs."""
    step = nodes.Const(_cost(node.body), lineno=node.lineno)
    node.body.insert(0, nodes.ExprStmt(_filter(step, STEP), lineno=node.lineno))
    return node  # type: ignore[no-any-return]  # the nodes with a body share no class


def _for(node: nodes.For) -> nodes.Node:
    """Count also the items that a loop leaves out."""
    if node.test is not None:
        step = nodes.Const(_cost([node.test]), lineno=node.lineno)
        node.test = nodes.And(_filter(step, STEP), node.test, lineno=node.lineno)
    return _body(node)


def _output(node: nodes.Output) -> nodes.Node:
    """Write constant texts without a call."""
    node.nodes = [
        nodes.TemplateData(one.value, lineno=one.lineno)
        if isinstance(one, nodes.Const) and type(one.value) is str
        else one
        for one in node.nodes
    ]
    return node


def _concat(node: nodes.Concat) -> nodes.Node:
    return _filter(nodes.List(node.nodes, lineno=node.lineno), JOINED)


def _compare(node: nodes.Compare) -> nodes.Node:
    operands = [node.expr, *(one.expr for one in node.ops)]
    looks_inside = any(one.op in ("in", "notin") for one in node.ops)
    # Comparing with a constant is cheap, whatever the other value is.
    if looks_inside or not any(isinstance(one, nodes.Const) for one in operands):
        node.expr = _filter(node.expr, WEIGHED)
        for one in node.ops:
            one.expr = _filter(one.expr, WEIGHED)
    return node


def _getitem(node: nodes.Getitem) -> nodes.Node:
    if isinstance(node.arg, nodes.Slice):
        node.node = _filter(node.node, SLICED)
    return node


def _pair(node: nodes.Pair) -> nodes.Node:
    """Weigh the keys of a dictionary, which are hashed."""
    if not isinstance(node.key, nodes.Const):
        node.key = _filter(node.key, WEIGHED)
    return node


_REWRITES: Final[Mapping[type[nodes.Node], Callable[[Any], nodes.Node]]] = {
    nodes.For: _for,
    nodes.Macro: _body,
    nodes.CallBlock: _body,
    nodes.Block: _body,
    nodes.Output: _output,
    nodes.Concat: _concat,
    nodes.Compare: _compare,
    nodes.Getitem: _getitem,
    nodes.Pair: _pair,
}


def _filter(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _cost(body: Sequence[nodes.Node]) -> int:
    """What running nodes once costs, besides what their operations take for themselves."""
    parts = [one for node in body for one in (node, *node.find_all(nodes.Node))]
    return 1 + len(parts) // 8 + sum(map(_characters, parts)) // 64


def _characters(node: nodes.Node) -> int:
    """The characters of a constant text."""
    if isinstance(node, nodes.TemplateData):
        return len(node.data)
    return len(node.value) if isinstance(node, nodes.Const) and isinstance(node.value, str) else 0
