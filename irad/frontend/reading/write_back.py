"""What a call assigns outside when it ends, as results of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.core.foreign import base_items, base_method
from irad.core.tree import TreeDef, flatten
from irad.errors import UnsupportedError
from irad.frontend.control.lists import with_items
from irad.frontend.reader import Reader
from irad.frontend.reading.instances import rely_on_first
from irad.frontend.reading.returned import check_returned, with_perhaps
from irad.frontend.values.guards import Fixed, Path
from irad.frontend.values.objects import UNDEFINED, Array, Maybe, Nullable, Poison, describe, is_number
from irad.frontend.values.outside import CONTAINERS, Held
from irad.frontend.values.runs import has_run
from irad.frontend.values.traced import GIVEN, Apart, Result, Write
from irad.frontend.values.unfit import UNFIT, unfit


def written_back(r: Reader, result: Callable[[Any], Result]) -> list[Write]:
    """All that is assigned outside; `result` makes a result of a number or array.

    Raises UnsupportedError for what cannot be assigned, and where a callback could read what was there before.
    """
    out = []
    for a, name, value in r.outside.assigned():
        there = result(value.defined) if isinstance(value, Maybe) else None
        value = value.value if isinstance(value, Maybe) else value
        tree, leaves = (None, []) if value is UNDEFINED else _taken(r, name, value, result)
        if there is not None or value is UNDEFINED:
            rely_on_first(r, a.owner, name)
        out.append(Write(a.path, a.kind, name, tree, tuple(leaves), there))
    for h in r.outside.held():
        if _only_appended(r, h):
            all_new = not h.first and has_run(h.container)
            new = with_items(r, h.container, True) if all_new else r.getitem(h.container, slice(len(h.first), None))
            tree, leaves = _taken(r, "a list from outside", new, result)
            out.append(Write(h.path, "append", "", tree, tuple(leaves)))
            r.captures.forget(h.path)
            continue
        whole: Any = h.container
        if has_run(whole):
            whole = with_items(r, whole, True)
        else:
            whole = dict(base_method(whole, "items")()) if isinstance(whole, dict) else list(base_items(whole))
        tree, leaves = _taken(r, f"a {type(h.container).__name__} from outside", whole, result)
        out.append(Write(h.path, "items", "", tree, tuple(leaves)))
    if out and r.captures.callbacks:
        raise UnsupportedError(
            f"{out[0].name or out[0].path} is assigned, and the program calls back into Python, which would still see what was there "
            "before; return the new value"
        )
    return out


def rely_on_others(r: Reader) -> tuple[Apart, ...]:
    """What the program changes outside is no other thing of its class that it reads there: a change of one would be one of both.

    Gives, for each class of which there are things among the arguments, what must be apart.
    """
    found = {path: type(x) for x, path in r.captures.paths.values() if not isinstance(path.root, Fixed)}
    found |= {path: type(x) for x, path in r.captures.inputs.values() if r.captures.path(x) is None}
    changed = dict[type, dict[Path, None]]()
    for path, owner in r.outside.changed.items():
        obj = r.captures.originals.get(id(owner), owner)
        path = r.captures.path(obj) or path
        if not isinstance(path.root, Fixed):
            changed.setdefault(type(obj), {})[path] = None
    out = []
    for cls, paths in changed.items():
        others = [path for path, kind in found.items() if kind is cls and path not in paths]
        first, *rest = paths
        if any(path.root == GIVEN for path in (*paths, *others)):
            out += [Apart(tuple(paths), tuple(others))] if rest or others else []
        elif rest or others:
            r.captures.guard(first, "apart", (tuple(rest), tuple(others)))
    return tuple(out)


def _only_appended(r: Reader, h: Held) -> bool:
    original = r.captures.originals.get(id(h.container))
    return type(original) is list and id(original) not in r.captures.read


def _taken(r: Reader, name: str, value: Any, result: Callable[[Any], Result]) -> tuple[TreeDef, list[Result]]:
    """The structure of an assigned value, and what is in it."""
    if isinstance(value, UNFIT) and type(value) is not Nullable:
        raise UnsupportedError(f"{name}, outside of the function, cannot be assigned: {_why(value)}")
    value = with_perhaps(r, value) if type(value) is Nullable else _listed(r, value)
    leaf = lambda x: is_number(x) or isinstance(x, (Array, *UNFIT)) or _from_outside(r, x) is not None
    leaves, tree = flatten(value, leaf, r.is_opened, nondiff=True)
    parts = tree.statics
    check_returned(r, parts)
    r.captures.pin(*parts)
    return tree, [_result(r, name, x, result) for x in leaves]


def _listed(r: Reader, x: Any) -> Any:
    """x with its lists that grew in loops as the caller gets them; containers of the caller's in it stay themselves."""
    if _from_outside(r, x) is not None:
        return x
    if has_run(x) or not isinstance(x, (list, tuple, dict)) or hasattr(type(x), "_fields"):
        return with_items(r, x, True)
    if isinstance(x, dict):
        return {k: _listed(r, v) for k, v in x.items()}
    return type(x)(_listed(r, v) for v in x)


def _why(x: Any) -> str:
    return f"what it becomes depends on data in its structure: {x.message}" if isinstance(x, Poison) else f"it is {unfit(x)}"


def _result(r: Reader, name: str, x: Any, result: Callable[[Any], Result]) -> Result:
    path = _from_outside(r, x)
    if path is not None:
        return Result("ndarray", same_as=("path", path))
    if isinstance(x, UNFIT):
        raise UnsupportedError(f"{name}, outside of the function, cannot be assigned: a part of it is {describe(x)}")
    return result(x)


def _from_outside(r: Reader, x: Any) -> Any:
    """Where a container of the caller's, or an object among the arguments, is found, which is to stay itself."""
    stays = isinstance(x, CONTAINERS) or id(x) in r.captures.inputs and r.captures.path(x) is None
    return r.captures.of_caller(x) if stays else None
