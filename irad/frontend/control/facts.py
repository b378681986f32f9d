"""Conditions that are known to hold where we are: those of the branches around, and of the checks before.

They are kept by builder: what is known in one is known in those inside it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from irad.core.ir import Node, Value, current
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Nullable, Varying
from irad.frontend.values.state import Name
from irad.ops.array import index
from irad.ops.constant import const
from irad.ops.control import if_
from irad.ops.elementwise import eq, ge, gt, le, logical_and, logical_not, logical_or, lt, ne, select
from irad.ops.intervals import definition


def learn(r: Reader, cond: Any, truth: bool) -> None:
    """What follows in the current builder runs only where `cond` is so. Variables that are no longer None then are plain."""
    if not isinstance(cond, Arr):
        return
    assume(r, cond, truth)
    for name, x in list(r.frame.env.names.items()):
        if isinstance(x, Nullable) and known(r, x.there):
            r.state.assign(Name(r.frame.env, name), x.value)
        elif type(x) is Varying and known(r, x.there, False):
            r.state.assign(Name(r.frame.env, name), x.other)


def assume(r: Reader, cond: Arr, truth: bool) -> None:
    """The same, and the variables stay what they are."""
    for v, holds in _implied(cond.value, truth):
        note(r, v, holds)


def note(r: Reader, v: Value, truth: bool) -> None:
    r.facts.setdefault(current(), set()).add((v, truth))


def known(r: Reader, cond: Arr, truth: bool = True) -> bool:
    """Does a condition hold here (`truth`: is it so?), as far as is known?"""
    return _known(r, cond.value, truth)


def _known(r: Reader, v: Value, truth: bool) -> bool:
    at = current()
    while at is not None:
        if (v, truth) in r.facts.get(at, ()):
            return True
        at = at.outer  # type: ignore[assignment]
    node = definition(v)
    if node is None or node.op is not if_:
        return node is not None and node.op is logical_not and _known(r, node.inputs[0], not truth)
    k = node.outputs.index(v)
    for side, region in zip((True, False), node.regions):  # a bool that a branch yields, of which the side is known
        x = region.results[k]
        made = next((n for n in region.nodes if x in n.outputs), None) or definition(x)
        if made is not None and made.op is const and bool(made.attrs["value"]) is truth and _known(r, node.inputs[0], side):
            return True
    return False


def _implied(v: Value, truth: bool) -> Iterator[tuple[Value, bool]]:
    yield v, truth
    node = definition(v)
    if node is None:
        return
    if node.op is logical_not:
        yield from _implied(node.inputs[0], not truth)
    elif node.op is (logical_and if truth else logical_or):
        for x in node.inputs:
            yield from _implied(x, truth)
    elif node.op is if_:
        yield from _of_branch(node, node.outputs.index(v), truth)
    elif node.op in _COMPARED and (right := definition(node.inputs[1])) is not None and right.op is const:
        yield from _of_alternatives(node, right.attrs["value"], truth)
    if node.op is ne and _is_zero(node.inputs[1]):  # the truth of a number
        made = definition(node.inputs[0])
        if made is not None and made.op is if_:
            yield from _of_branch(made, made.outputs.index(node.inputs[0]), truth)


_COMPARED = {eq: operator.eq, ne: operator.ne, lt: operator.lt, le: operator.le, gt: operator.gt, ge: operator.ge}


def _of_alternatives(node: Node, right: Any, truth: bool) -> Iterator[tuple[Value, bool]]:
    """`x.ndim == 1` of a number that a branch yields: the side whose constant compares otherwise was not taken."""
    made = definition(node.inputs[0])
    if made is None or made.op is not if_:
        return
    k = made.outputs.index(node.inputs[0])
    for side, region in zip((True, False), made.regions):
        x = region.results[k]
        found = next((n for n in region.nodes if x in n.outputs), None) or definition(x)
        if found is not None and found.op is const and bool(_COMPARED[node.op](found.attrs["value"], right)) is not truth:
            yield from _implied(made.inputs[0], not side)


def _is_zero(v: Value) -> bool:
    made = definition(v)
    return made is not None and made.op is const and made.attrs["value"] == 0


def _of_branch(node: Node, k: int, truth: bool) -> Iterator[tuple[Value, bool]]:
    """`a and b` as a branch: the side that always yields the other bool was not taken."""
    cond = node.inputs[0]
    for side, region in zip((True, False), node.regions):
        x = region.results[k]
        made = next((n for n in region.nodes if x in n.outputs), None) or definition(x)
        fixed = side if x is cond else bool(made.attrs["value"]) if made is not None and made.op is const else truth
        if fixed is not truth:
            yield from _implied(cond, not side)


def all_values(v: Value, nodes: tuple[Node, ...] = ()) -> frozenset[int] | None:
    """What a whole number may be, if it is chosen from known ones; `nodes`: of the region that gives it. None if that cannot be said."""
    node = next((n for n in nodes if v in n.outputs), None) or definition(v)
    if node is None:
        return None
    table = node if node.op is const else definition(node.inputs[0]) if node.op is index else None
    if table is not None and table.op is const:
        return frozenset(map(int, np.ravel(table.attrs["value"])))
    if node.op is select:
        parts = [all_values(x, nodes) for x in node.inputs[1:]]
    elif node.op is if_:
        k = node.outputs.index(v)
        parts = [all_values(region.results[k], tuple(region.nodes)) for region in node.regions]
    else:
        return None
    return None if None in parts else frozenset().union(*(p for p in parts if p is not None))
