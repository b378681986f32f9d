"""The template of a variable that is an array on some paths and a number, a list, a tuple or an array of another shape on the others; see
irad.frontend.control.varying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irad.frontend.control.templates import (
    Ary,
    Bad,
    Composite,
    Null,
    Num,
    Same,
    Sized,
    Template,
    differ,
    is_zero_d,
    join_numbers,
    number,
)
from irad.frontend.values.objects import Array, Nullable, Varying, is_number
from irad.frontend.values.runs import has_run

if TYPE_CHECKING:
    from irad.frontend.control.merge import Joiner


def joined(joiner: Joiner, t: Template, b: Any) -> Template:
    """The template of an array on some paths, and a number, list or tuple on the others."""
    if (shapes := _shapes_of(t)) is not None and (more := _shapes_of(b)) is not None:
        words = "it is an array of more than two shapes, or of two of which data decide an extent; give it one shape on all paths (x.reshape(...))"
        return two_shapes(joiner, shapes, more) or Bad(words)
    sides = _array_and_other(t), _array_and_other(b)
    if None in sides:
        return differ(t, b)
    (array, other), (array_b, other_b) = sides  # type: ignore[misc]
    if array is None and array_b is None:
        return differ(t, b)
    if array is None or array_b is None:
        array, side = (array_b, 1) if array is None else (array, 0)
        array = array if isinstance(array, Template) else _with_room(joiner, array, side) or joiner.inside(array, side)
    else:
        array = joiner.join(array, array_b)
    if isinstance(array, Bad):
        return array
    both = _others(joiner, other, other_b)
    if both is None or isinstance(both, Bad):
        return both or differ(t, b)
    return Null(array, both)


def two_shapes(joiner: Joiner, xs: list[Any], ys: list[Any]) -> Template | None:
    """The template of an array that has one of two shapes; None of more."""
    found = []
    for x in xs:
        partner = next((y for y in ys if y.type == x.type), None)
        ys = [y for y in ys if y is not partner]
        alone = x if isinstance(x, Template) else joiner.inside(x, 0)
        found.append(alone if partner is None else joiner.join(x, partner))
    found += [joiner.inside(y, 1) for y in ys]
    known = all(isinstance(n, int) for t in found if isinstance(t, Ary) for n in t.type.shape)
    return Null(*found) if len(found) == 2 and known and all(isinstance(t, Ary) for t in found) else None


def _others(joiner: Joiner, a: Any, b: Any) -> Template | None:
    """The template of what a variable is where it is no array, of two of which one may be None; None if they are of two kinds."""
    if a is None or b is None:
        only, side = (b, 1) if a is None else (a, 0)
        return only if isinstance(only, Template) or only is None else joiner.inside(only, side)
    containers = [isinstance(x, (list, tuple, Same, Composite)) or may_be_none(x) for x in (a, b)]
    if any(containers):
        return joiner.join(a, b) if all(containers) else None
    return join_numbers(*(x if isinstance(x, Num) else number(x) for x in (a, b)))


def of_one_side(joiner: Joiner, x: Array, side: int | None) -> Template:
    """The template of an array that is there on one side only (None: on all), with room if its length is computed there."""
    alone = Ary(x.type, (x, x) if side is None else (x, None) if side == 0 else (None, x))
    if side is None or joiner.grower is None or not any(map(joiner.grower.local, x.shape)):
        return alone
    return _with_room(joiner, x, side) or alone


def _with_room(joiner: Joiner, x: Array, side: int) -> Template | None:
    """The template of an array that is there on one side only and whose length data decide: an array with room, if the length
    is bounded."""
    loose = [k for k, n in enumerate(x.shape) if not isinstance(n, int)]
    if joiner.grower is None or len(loose) != 1:
        return None
    found = joiner.grower.sized(None, x.type, x.type, loose[0])
    if isinstance(found, str):
        return None
    room, *more = found
    shape = tuple(room if k == loose[0] else n for k, n in enumerate(x.shape))
    pair = (x, None) if side == 0 else (None, x)
    return Sized(x.type.with_shape(shape), loose[0], more[0], more[1], more[2], pair, bool(more[3]))


def _array_and_other(x: Any) -> tuple[Any, Any] | None:
    """The array and the number, list or tuple (or their templates) that a variable is, one of which may be None; None if it is neither."""
    if isinstance(x, Same):
        x = x.obj
    if isinstance(x, Varying):
        return x.value, x.other
    if isinstance(x, Null) and x.other is not None:
        return x.child, x.other
    if (isinstance(x, Composite) and x.cls in (list, tuple)) or may_be_none(x):
        return None, x
    if isinstance(x, Num) or is_number(x) or is_zero_d(x) or _is_items(x):
        return None, x
    return (x, None) if isinstance(x, (Ary, Array)) else None


def may_be_none(x: Any) -> bool:
    """Is it None on some paths, and a list or tuple of known length on the others?"""
    if type(x) is Nullable:
        return _is_items(x.value)
    return isinstance(x, Null) and x.other is None and isinstance(x.child, Composite) and x.child.cls in (list, tuple)


def _is_items(x: Any) -> bool:
    """Is it a list or tuple of which it is known how many items it has?"""
    return type(x) in (list, tuple) and not has_run(x)


def _shapes_of(x: Any) -> list[Any] | None:
    """The arrays (or their templates) of one or two shapes that a variable is; None if it is something else on some path."""
    found = _array_and_other(x)
    if found is None or found[0] is None or not (found[1] is None or isinstance(found[1], (Ary, Array))):
        return None
    return [a for a in found if a is not None]
