"""Items of a dict at a key that depends on data: which of its whole-number keys it is, is found at run time."""

from __future__ import annotations

import enum
from functools import reduce
from typing import Any

from irad.core import room
from irad.core.foreign import found_in_class
from irad.core.ir import Value
from irad.errors import UnsupportedError
from irad.frontend.control import chosen_items
from irad.frontend.control.flow import branch
from irad.frontend.control.special import site_of
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic
from irad.frontend.values.choices import options as options_of
from irad.frontend.values.objects import Choice, Poison, Text, class_of_number
from irad.ops.constant import scalar
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, eq, ge, lt, select
from irad.ops.text import Slot, choices_of, escaped

MOST = 64  # keys of a dict up to which data may decide where something is stored


def by_data(r: Reader, d: Any, key: Any, always: bool = False) -> bool:
    """Is it a dict by whole numbers, or by True and False, and does data decide which of them it is? A number that may be known counts only
    with `always`."""
    if type(d) is not dict or not d or not isinstance(key, Arr) or key.shape or key.name[0] not in "iub":
        return False
    return all(type(k) in (int, bool) for k in d) and (always or not r.may_be_known(key))


def tuple_place(r: Reader, d: dict[Any, Any], key: tuple[Any, ...], always: bool = False) -> Value | None:
    """The place of a key among the keys, if those are tuples of whole numbers and data decide which it is; else None. Raises KeyError at
    run time."""
    whole = lambda k: type(k) is int or (isinstance(k, Arr) and not k.shape and k.name[0] in "iu")
    traced = [k for k in key if isinstance(k, Arr)]
    if not d or not traced or not all(map(whole, key)) or not (always or not all(map(r.may_be_known, traced))):
        return None
    if not all(type(k) is tuple and len(k) == len(key) and all(type(n) is int for n in k) for k in d):
        return None
    parts = [cast_to(k.value, "i64") if isinstance(k, Arr) else k for k in key]
    may_be = [(n, k) for n, k in enumerate(d) if all(isinstance(a, Value) or a == b for a, b in zip(parts, k))]
    same = [reduce(lambda a, b: a & b, [eq(a, b) for a, b in zip(parts, k) if isinstance(a, Value)]) for _, k in may_be]
    shown = f"({', '.join('{}' if isinstance(k, Value) else str(k) for k in parts)}{',' if len(key) == 1 else ''})"
    there = reduce(lambda a, b: a | b, same) if same else scalar(False, "bool")
    given = [k for k in parts if isinstance(k, Value)]
    raise_if(~there, *given, exc=_missing(r, Slot(tuple, shown, len(given))), message=shown)
    out = scalar(may_be[0][0] if may_be else 0, "i64")
    for (n, _), here in list(zip(may_be, same))[1:]:
        out = select(here, scalar(n, "i64"), out)
    return out


def _missing(r: Reader, key: Slot) -> str:
    """The name in the program of the KeyError of a key that it computes."""
    assert key.kind is not None
    name = f"KeyError.{key.kind.__name__} {key.template}"
    r.exceptions[name] = KeyError(key)
    return name


def of_texts(d: dict[Any, Any], options: tuple[str, ...], which: Arr) -> tuple[list[Any], Arr]:
    """The items of keys that are texts, and the place of the one that data choose among them. Raises KeyError at run time."""
    place, there = which.value, [k for k, o in enumerate(options) if o in d]
    for k, o in enumerate(options):
        if k not in there:
            raise_if(eq(which.value, k), exc="KeyError", message=escaped(o))
    if len(there) < len(options):
        for n, k in enumerate(there):
            place = select(eq(which.value, k), scalar(n, "i64"), place if n else scalar(0, "i64"))
    return [d[options[k]] for k in there], Arr(place, True)


def _found(r: Reader, d: dict[Any, Any], key: Arr) -> tuple[Value, Value]:
    """The place of the key among the keys, and whether it is there."""
    k, keys = cast_to(key.value, "i64"), [int(k) for k in r.items(d)]
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
    raise_if(~there, key.value, exc=_missing(r, Slot(class_of_number(key), "{}", 1)), message="{}")
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


def member(r: Reader, cls: type[enum.Enum], value: Any) -> tuple[Any] | None:
    """(cls(value),) of an enumeration, where data decide which value it is; else None. Raises ValueError at run time."""
    among = options_of(value) if isinstance(value, Choice) else None
    if among is not None and all(isinstance(x, cls) for x in among):
        return (value,)
    if isinstance(value, Text) and choices_of(value.template) is not None:
        return (chosen_items.of_choice(r, value, cls),)
    own = issubclass(cls, enum.Flag) or found_in_class(cls, "_missing_") is not vars(enum.Enum)["_missing_"]
    of = {} if own else {x.value: x for x in cls if type(x.value) in (int, bool)}
    if len(of) < len(cls) or not by_data(r, of, value, True):
        return None
    place, there = _found(r, of, value)
    shown = "{}" if value.weak else f"np.{value.name}({{}})"
    raise_if(~there, value.value, exc="ValueError", message=f"{shown} is not a valid {escaped(cls.__qualname__)}")
    return (chosen_items.choice(r, [*of.values()], Arr(place, True)),)


def store_by_text(r: Reader, d: dict[Any, Any], key: Text, value: Any) -> None:
    """d[key] = value, where the key is one of several texts by data. A dict does not grow by data: an error of irad's own at run time."""
    options = choices_of(key.template)
    if options is None or not any(o in d for o in options):
        raise key.unknown()
    for k, o in enumerate(options):
        same = eq(key.operands[0].value, k)
        if o in d:
            branch(r, Arr(same, True), lambda o=o: r.setitem(d, o, value), lambda: None)  # type: ignore[misc]
        else:
            message = f"a dict gets the key {o!r} that it lacks, by data; put all keys there before"
            raise_if(same, exc="UnsupportedError", message=escaped(message))


def store(r: Reader, d: dict[Any, Any], key: Arr, value: Any) -> None:
    """d[key] = value, where the dict has the key. Where it turns out at run time that it has not, the call begins again in a version in which
    data decide the keys of the dict, if it is known where the program makes it; else that is an error of irad's own."""
    site = site_of(r, d)
    if site is not None and (len(d) > MOST or r.room > 0):
        wanted = NeedStatic(key, "a key of a dict")
        wanted.site = site
        raise wanted
    if len(d) > MOST:
        raise UnsupportedError(
            f"data decides which of the {len(d)} items of a dict is stored into; up to {MOST} are followed: use a list"
        )
    _, there = _found(r, d, key)
    message = "a dict gets the key {} that it lacks, by data; put all keys there before, or use a list"
    if site is None:
        raise_if(~there, key.value, exc="UnsupportedError", message=message)
    else:
        raise_if(~there, exc=room.Outgrown.__name__, message=room.MESSAGE, keeps=())
    k = cast_to(key.value, "i64")
    for other in list(d):
        branch(r, Arr(eq(k, int(other)), True), lambda other=other: r.setitem(d, other, value), lambda: None)  # type: ignore[misc]
