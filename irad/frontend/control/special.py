"""What the class of an object says in Python: special methods, how its objects are compared, and what keys they are.

Special methods (`__len__`, `__add__`, ...) are looked for in the class, which may get others later.
"""

from __future__ import annotations

import ast
import collections
import functools
import types
from typing import Any

import numpy as np

from irad.core.foreign import base_items, found_in_class, is_in_class, is_instance, is_library, is_mapped, module_of, own_names
from irad.core.once import import_later
from irad.errors import IradError, UnsupportedError
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic, static_value
from irad.frontend.values.captures import Captures
from irad.frontend.values.choices import number_of, options
from irad.frontend.values.objects import Array, Choice, Closure, Either, Poison, Text, class_of_number, describe, python_method
from irad.frontend.values.runs import has_run


def special_method(r: Reader, x: Any, name: str, absent: bool = False) -> Any:
    """A special method that a class has in Python, bound to an object, or None. The program relies on its being this one, and
    with `absent` on there being none."""
    method = python_method(x, name)
    if method is None:
        if is_instance(x):
            refuse_object(type(x), name)
        if absent and is_instance(x) and not isinstance(x, type):
            rely_on(r, type(x), name)
        return None
    rely_on(r, type(x), name)
    return types.MethodType(method, x)


def rely_on_bases(r: Reader, cls: Any) -> None:
    """The program relies on which bases a class has."""
    class_with_bases(r.captures, cls)


def class_with_bases(captures: Captures, cls: Any) -> None:
    """The same, for what is read of captured state."""
    if isinstance(cls, type) and not is_library(cls.__module__):
        captures.guard(captures.origin(cls).child("attr", "__mro__"), "is", cls.__mro__)


def refuse_object(cls: type, dunder: str) -> None:
    """Refuse a special method that is a property, or an object with a `__call__` in Python, such as that of a package for multiple
    dispatch."""
    found = found_in_class(cls, dunder)
    if found is None or isinstance(found, (types.FunctionType, type)):
        return
    of_python = isinstance(found_in_class(type(found), "__call__"), types.FunctionType)
    if of_python or isinstance(found, (property, functools.cached_property)):
        raise UnsupportedError(
            f"{dunder} of class {cls.__name__} is an object of class {type(found).__name__}, which compiled code does not call; define it by def"
        )


def rely_on(r: Reader, cls: type, name: str) -> None:
    """The program relies on what a class has under a name, or that it has nothing."""
    class_with(r.captures, cls, name)


def class_with(captures: Captures, cls: type, name: str) -> None:
    """The same, for what is read of captured state."""
    if is_library(cls.__module__):
        return
    found, path = found_in_class(cls, name), captures.origin(cls)
    if not is_in_class(cls, name):
        captures.guard(path, "lacks", name)
    elif isinstance(found, types.FunctionType):
        at = path.child("attr", name)
        captures.note(found, at)
        captures.guard(at, "code", found.__code__)
    elif isinstance(found, types.WrapperDescriptorType):  # object.__eq__ and its like
        captures.guard(path.child("attr", name), "is", getattr(cls, name))
    else:
        captures.guard(path.child("found", name), "is", found)


# ---- comparisons ---------------------------------------------------------------------------------------------------------

_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


def compares_itself(x: Any) -> bool:
    """Is a thing, or one in a container, an object whose class says in Python how it compares?"""
    if isinstance(x, (list, tuple, collections.deque)) and any(map(compares_itself, base_items(x))):
        return True
    if isinstance(x, dict) and any(map(compares_itself, dict.values(x))):
        return True
    return not is_library(type(x).__module__) and any(python_method(x, name) is not None for name in _COMPARISONS)


def class_name(x: Any) -> str:
    """The name of the class that Python would see."""
    if isinstance(x, Arr):
        return class_of_number(x).__name__
    return {Array: "ndarray", Either: "ndarray", Text: "str", Closure: "function"}.get(type(x)) or type(x).__name__


def full_name(x: Any) -> str:
    """The class as messages of Python's own C code name it: NumPy's classes with their module."""
    cls = class_of_number(x) if isinstance(x, Arr) else type(x)
    return f"numpy.{cls.__name__}" if issubclass(cls, np.generic) else class_name(x)


# ---- keys of dicts, elements of sets: Python looks for them by their hash, so what they are must be known ------------------


def key(r: Reader, x: Any, what: str, of: Any = None) -> Any:
    """A key, or an element of a set, as it is. Raises NeedStatic for numbers in it that are not known, those of objects whose
    class says in Python which are equal included; `of`: the dict or set."""
    try:
        static_value(x, what)
        _check(r, x, what)
    except NeedStatic as e:
        e.site = site_of(r, of)
        raise
    return x


def site_of(r: Reader, container: Any) -> Any:
    """The expression that made a dict or set; None if it is not known."""
    made, site = r.sites.get(id(container), (None, None))
    return site if made is container else None


def sites_of(r: Reader, e: IradError) -> frozenset[Any]:
    """What the next reading is to be told of expressions that an error is about."""
    if isinstance(e.site, tuple):
        return import_later("irad.frontend.reading.keyed").of_paths(r, e.site)  # type: ignore[no-any-return]
    return e.site if isinstance(e.site, frozenset) else frozenset([] if e.site is None else [e.site])


def joined_in_place(r: Reader, xs: Any, *others: Any) -> None:
    """A set or dict of known keys that is changed by one whose keys data decide is to be such a one, too: it is made anew as that."""
    cls = set if isinstance(xs, set) else dict if isinstance(xs, dict) else ()
    if any(is_mapped(x) and issubclass(type(x).MAPPED, cls) for x in others):
        what = "set is joined in place with one whose elements" if cls is set else "dict is updated with one whose keys"
        error = UnsupportedError(f"a {what} depend on data; make a new one (new = old | other)")
        error.site = site_of(r, xs)
        raise error


def in_any_order(r: Reader, x: Any) -> Any:
    """The elements of a set that data decide, for what does not depend on their order, and those of a list or view now; anything else as
    it is."""
    if not is_mapped(x):
        return x
    return (
        r.getattr(x, "names") if type(x).MAPPED is set else r.call(r.getattr(x, "whole"), []) if hasattr(type(x), "whole") else x
    )


def key_of(r: Reader, x: Any, of: Any) -> Any:
    """`key` of a dict or set that is there."""
    return key(r, x, "a key of a dict" if isinstance(of, dict) else "an element of a set", of)


def with_keys(r: Reader, cls: type, items: Any, e: ast.expr | None = None) -> Any:
    """A new dict of pairs, set of elements, or Counter of elements or of a dict, whose keys data may decide; `e` makes it."""
    if has_run(items) or is_mapped(items):
        return import_later("irad.frontend.reading.keyed").of_items(r, cls, items, e)
    try:
        if cls is set:
            return r.state.made({key(r, r.operand(x), "an element of a set") for x in items})
        if cls is collections.Counter:
            return r.state.made(
                cls(items if isinstance(items, dict) else [key(r, r.operand(x), "a key of a dict") for x in items])
            )
        return r.state.made({key(r, k, "a key of a dict"): v for k, v in items})
    except NeedStatic as error:
        if r.may_be_known(error.arr):
            raise
        return import_later("irad.frontend.reading.keyed").of_items(r, cls, items, e)


_MADE = (dict, set, list, collections.defaultdict, collections.Counter)  # a class of the program has methods of its own


def alike(r: Reader, e: ast.expr) -> tuple[ast.expr, ...]:
    """An expression, and those that the same variable is given elsewhere, or one that it is assigned from: what one of them makes the others
    make too."""
    return _of_one_variable(r.frame.source.node).get(e, (e,))


def _makes(e: ast.expr, told: Any) -> bool:
    """Is what the next reading was told of this expression?"""
    made_by = getattr(told, "made_by", None)
    return made_by is e or (isinstance(made_by, frozenset) and e in made_by)


def _asked(r: Reader, e: ast.expr, a_list: bool) -> bool:
    """Is an expression to make something whose keys data decide, or a list of such things?"""
    if a_list:
        return e in r.keyed or any(_makes(e, x) for x in r.keyed)
    return any(x in r.keyed or any(_makes(x, k) for k in r.keyed) for x in alike(r, e))


@functools.cache
def _of_one_variable(function: ast.AST) -> dict[ast.expr, tuple[ast.expr, ...]]:
    given: dict[str, list[ast.expr]] = {}  # variables, and what they are given; of those that are assigned to each other one list
    for n in ast.walk(function):
        targets = n.targets if isinstance(n, ast.Assign) else [n.target] if isinstance(n, ast.AnnAssign) and n.value else []
        for t in targets:
            if isinstance(t, ast.Name):
                mine = given.setdefault(t.id, [])
                value: Any = n.value  # type: ignore[attr-defined]
                if isinstance(value, ast.Name) and (other := given.setdefault(value.id, [])) is not mine:
                    mine += other
                    given.update({k: mine for k, es in given.items() if es is other})
                mine.append(value)
    return {e: tuple(es) for es in given.values() for e in es}


def at_site(r: Reader, e: ast.expr, out: Any) -> Any:
    """A dict, set or list that an expression of the program makes anew, or what stands for it where data decide keys."""
    if type(out) is list and is_library(module_of(r.frame.globals_of)):
        return out
    if type(out) in _MADE and r.keyed and _asked(r, e, type(out) is list):
        out = import_later("irad.frontend.reading.keyed").made(r, e, out)
    elif type(out) not in _MADE or not r.state.is_made(out):
        if not is_mapped(out):
            return out
    r.sites.setdefault(id(out), (out, e))
    return out


def _check(r: Reader, x: Any, what: str) -> None:
    if isinstance(x, Poison):
        raise x.error(what)
    if isinstance(x, (Choice, Text)) and options(x) is not None:
        raise NeedStatic(number_of(x), what)
    if isinstance(x, (tuple, frozenset)):
        for e in x:
            _check(r, e, what)
    elif python_method(x, "__hash__") is not None and not is_library(type(x).__module__):
        for name in own_names(x):
            _check_part(r, x, r.getattr(x, name), f"{what}, in a {type(x).__name__}")


def _check_part(r: Reader, x: Any, part: Any, what: str) -> None:
    if isinstance(part, Array):
        raise UnsupportedError(f"{describe(x)} with an array in it as {what}; use a number or text that says which it is")
    if isinstance(part, (list, tuple)):
        for e in part:
            _check_part(r, x, e, what)
    else:
        key(r, part, what)
