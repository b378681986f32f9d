"""Items of a dict at a key that depends on data: which of its whole-number keys it is, is found at run time."""

from __future__ import annotations

from functools import reduce
from typing import Any

from irad.core.ir import Value
from irad.errors import UnsupportedError
from irad.frontend.control import chosen_items
from irad.frontend.control.flow import branch
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Poison
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, eq, ge, lt, select

MOST = 64  # keys of a dict up to which data may decide where something is stored


def by_data(r: Reader, d: Any, key: Any) -> bool:
    """Is it a dict by whole numbers, or by True and False, and does data decide which of them it is?"""
    if type(d) is not dict or not d or not isinstance(key, Arr) or key.shape or key.name[0] not in "iub":
        return False
    return all(type(k) in (int, bool) for k in d) and not r.may_be_known(key)


def _keys(r: Reader, d: dict[Any, Any]) -> list[int]:
    return [int(k) for k in r.items(d)]


def _found(r: Reader, d: dict[Any, Any], key: Arr) -> tuple[Value, Value]:
    """The place of the key among the keys, and whether it is there."""
    k, keys = cast_to(key.value, "i64"), _keys(r, d)
    if keys == [*range(len(keys))]:
        inside = ge(k, 0) & lt(k, len(keys))
        return select(inside, k, 0), inside
    same = [eq(k, other) for other in keys]
    place = reduce(lambda at, n: select(same[n], n, at), range(1, len(keys)), cast_to(same[0], "i64") * 0)
    return place, reduce(lambda a, b: a | b, same)


def has(r: Reader, d: dict[Any, Any], key: Arr) -> Arr:
    """key in d."""
    return Arr(_found(r, d, key)[1], True)


def item(r: Reader, d: dict[Any, Any], key: Arr) -> tuple[Any] | None:
    """(d[key],); None where it cannot be chosen by data. Raises KeyError at run time."""
    return chosen_items.item(r, [d[k] for k in d], Arr(checked(r, d, key), True))


def checked(r: Reader, d: dict[Any, Any], key: Arr) -> Value:
    """The place of the key among the keys. Raises KeyError at run time."""
    place, there = _found(r, d, key)
    raise_if(~there, key.value, exc="KeyError", message="{}")
    return place


def get(r: Reader, d: dict[Any, Any], key: Arr, default: Any = None) -> Any:
    """d.get(key, default)."""

    def found() -> Any:
        out = item(r, d, key)
        if out is None:
            raise UnsupportedError("what stands in this dict is of several kinds, and data decides which it is; choose with if")
        return out[0]

    out = branch(r, has(r, d, key), found, lambda: default)
    if isinstance(out, Poison):
        raise out.error("what d.get gives for a key that depends on data")
    return out


def store(r: Reader, d: dict[Any, Any], key: Arr, value: Any) -> None:
    """d[key] = value, where the dict has the key. A dict does not grow by data: an error of irad's own at run time."""
    if len(d) > MOST:
        raise UnsupportedError(
            f"data decides which of the {len(d)} items of a dict is stored into; up to {MOST} are followed: use a list"
        )
    _, there = _found(r, d, key)
    message = "a dict gets the key {} that it lacks, by data; put all keys there before, or use a list"
    raise_if(~there, key.value, exc="UnsupportedError", message=message)
    k = cast_to(key.value, "i64")
    for other in list(d):
        branch(r, Arr(eq(k, int(other)), True), lambda other=other: r.setitem(d, other, value), lambda: None)  # type: ignore[misc]
