"""sorted() and list.sort(): at compile time if all keys are known; else by a stable argsort, or by comparisons of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.foreign import is_written
from irad.core.ir import Value
from irad.core.once import import_later
from irad.errors import UnsupportedError
from irad.frontend.control.filling import Maker, leaves
from irad.frontend.control.flow import branch
from irad.frontend.control.generators import opened, uncounted
from irad.frontend.control.lists import arrays_in, width_of
from irad.frontend.control.merge import Joiner
from irad.frontend.control.sequences import collected
from irad.frontend.control.special import compares_itself, in_any_order
from irad.frontend.control.templates import Bad, Composite, mutable
from irad.frontend.numpy.python_scalars import LIMITS
from irad.frontend.python.folds import ordered_by_class
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, lift
from irad.frontend.values.callables import Native
from irad.frontend.values.choices import Outside
from irad.frontend.values.objects import Array, Cell, is_number, is_traced_deep
from irad.frontend.values.runs import has_run
from irad.ops.array import Slice, index

LIMITS.add("sorted() of NaN, which has no order")  # in the words of irad.frontend.library.python.grown
_ORDERED = (
    "an array in a list that was sorted by data is stored into; sort positions (order = np.argsort(keys)) or make a new array "
    "(rows[k] = rows[k] + ...)"
)
_FEW = 4  # elements with arrays in them that are sorted as those themselves, not as copies
_MOST = 16  # elements that are sorted by comparisons one by one
_SOME = 8  # tuples of numbers that are sorted by comparisons of neighbours


def ordered(r: Reader, obj: Any, key: Any, reverse: Any) -> Any:
    """sorted(): stable, also in reverse."""
    down = r.truth(reverse)
    if isinstance(down, Arr):
        raise UnsupportedError("sorted(reverse=) that depends on data; sort, and choose between the list and its reverse")
    if is_written(type(obj)) and hasattr(type(obj), "in_order"):
        return r.call(r.getattr(obj, "in_order"), [key, down])
    obj = in_any_order(r, obj)
    stream = uncounted(r, opened(r, obj))
    if stream is not None:
        return r.call(
            import_later("irad.frontend.library.python.grown").ordered, [collected(r, stream), key, down, Native(width_of)]
        )
    items = list(r.items(obj))
    keys = items if key is None else [r.call(key, [x]) for x in items]
    if down:
        items, keys = items[::-1], keys[::-1]
    if len(items) < 2:
        out = items
    elif not any(map(ordered_by_class, keys)) and not any(is_traced_deep(k) or compares_itself(k) for k in keys):
        order = sorted(range(len(items)), key=lambda k: r.operand(keys[k]))
        out = [items[k] for k in order]
    elif all(map(is_number, keys)):
        out = _by_numbers(r, items, keys)
    elif _are_tuples(keys):
        out = _by_tuples(r, items, keys)
    else:
        out = _by_comparisons(r, items, keys)
    return r.state.made(out[::-1] if down else out)


def _by_numbers(r: Reader, items: list[Any], keys: list[Any]) -> list[Any]:
    """The items in the order of traced numbers. None of these may be NaN: what Python makes of NaNs depends on how it sorts."""
    column = r.call(np.array, [list(keys)])
    r.call(import_later("irad.frontend.library.python.grown").check, [[column]])
    if len(items) <= _FEW and any(True for x in items for _ in arrays_in(x)):
        return _by_network(r, items, keys)  # which of the arrays each one is stays known
    order = lift(r.operand(r.call(np.argsort, [column], {"kind": "stable"}))).value
    at = [index(order, spec=(k,)) for k in range(len(items))]
    return _permuted(r, items, at)


def _are_tuples(keys: list[Any]) -> bool:
    """Are they tuples, or lists, of equally many numbers?"""
    kinds = {(type(k), len(k)) for k in keys if type(k) in (tuple, list) and not has_run(k)}
    return len(kinds) == 1 and all(type(k) in (tuple, list) and len(k) > 0 and all(map(is_number, k)) for k in keys)


def _by_tuples(r: Reader, items: list[Any], keys: list[Any]) -> list[Any]:
    """The items in the order of tuples of numbers, the first of which counts most."""
    columns = [r.call(np.array, [list(c)]) for c in zip(*keys)]
    r.call(import_later("irad.frontend.library.python.grown").check, [columns])
    if len(items) <= _SOME:
        return _by_network(r, items, keys)
    order = lift(r.operand(r.call(np.lexsort, [columns[::-1]]))).value
    return _permuted(r, items, [index(order, spec=(k,)) for k in range(len(items))])


def _permuted(r: Reader, items: list[Any], at: list[Value]) -> list[Any]:
    """The items at traced positions, put together from their numbers and arrays."""
    joiner = Joiner(there=Outside(False, r.state.born, lambda v: False), themselves=r.themselves)
    t: Any = items[0]
    for x in items[1:]:
        t = joiner.join(t, x)
    if isinstance(t, Bad):
        raise UnsupportedError(f"sorted() of elements of which {t.message}")
    if isinstance(t, Composite) and t.cls is not tuple:
        for x in items:
            r.state.lock(x)
    rows = [leaves(t, x, r.read) for x in items]
    columns = [lift([Arr(v) for v in [row[k] for row in rows]]).value for k in range(len(rows[0]))]
    watch = tuple((c, c.content) for x in items for c in arrays_in(x))

    def array(_: Any, v: Value) -> Array:
        """A copy stands for one of the arrays: it may be read as long as those stay as they are."""
        made = Array(Cell(v), frozen=_ORDERED)
        made.watch = watch
        return made

    out = []
    for p in at:
        maker = Maker([index(c, p, spec=("i", *(Slice(0, d) for d in c.type.shape[1:]))) for c in columns], array)
        out.append(_locked(r, maker.make(t)))
    return out


def _locked(r: Reader, x: Any) -> Any:
    """A copy stands for one of the items, so neither may be changed."""
    if mutable(x) and not is_number(x) and not isinstance(x, Array):
        r.state.lock(x)
    return r.state.made(x)


def _by_comparisons(r: Reader, items: list[Any], keys: list[Any]) -> list[Any]:
    """The items by their own order."""
    library = import_later("irad.frontend.library.python.grown")
    order = list(r.items(r.call(library.order_of, [r.state.made(list(keys))])))
    if not any(isinstance(k, Arr) for k in order):
        return [items[k] for k in order]
    if len(items) > _MOST:
        raise UnsupportedError(
            f"sorted() of {len(items)} elements that are no numbers, in an order that depends on data; at most {_MOST}"
        )
    return list(r.items(r.call(library.in_order, [r.state.made(list(items)), r.state.made(order)])))


def _by_network(r: Reader, items: list[Any], keys: list[Any]) -> list[Any]:
    """Insertion by comparisons of neighbours, which change nothing: each goes before those that it is less than."""
    pairs = list(zip(items, keys))
    for end in range(1, len(pairs)):
        for k in range(end, 0, -1):
            left, right = pairs[k - 1], pairs[k]
            less = r.truth(r.operator("lt", right[1], left[1]))
            if isinstance(less, Arr):
                pairs[k - 1], pairs[k] = branch(r, less, lambda a=left, b=right: (b, a), lambda a=left, b=right: (a, b))  # type: ignore[misc]
            elif less:
                pairs[k - 1], pairs[k] = right, left
            else:
                break
    return [x for x, _ in pairs]
