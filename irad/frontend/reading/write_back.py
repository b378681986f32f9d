"""What a call assigns outside when it ends, as results of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.core.foreign import base_items, base_method, with_article
from irad.core.lazy_dataclass import dataclass
from irad.errors import UnsupportedError
from irad.frontend.control.lists import with_items
from irad.frontend.reader import Reader
from irad.frontend.reading.instances import rely_on_first
from irad.frontend.reading.returned import Outcome
from irad.frontend.values.guards import Fixed, Path
from irad.frontend.values.objects import UNDEFINED, Maybe
from irad.frontend.values.outside import Held
from irad.frontend.values.runs import has_run
from irad.frontend.values.traced import GIVEN, Apart, Result, Write


@dataclass(frozen=True, eq=False)
class Put:
    """A value that is assigned outside, as a `Write` says where. `what`: its name in errors."""

    path: Path
    kind: str
    name: str
    value: Any
    what: str
    there: Any = None


def put_outside(r: Reader, meet: Callable[[Any], Any]) -> list[Put]:
    """All that is assigned outside; `meet` gives the form of a value that is to be taken."""
    out = []
    for a, name, value in r.outside.assigned():
        there = value.defined if isinstance(value, Maybe) else None
        value = value.value if isinstance(value, Maybe) else value
        if there is not None or value is UNDEFINED:
            rely_on_first(r, a.owner, name)
        out.append(Put(a.path, a.kind, name, value if value is UNDEFINED else meet(value), name, there))
    for h in r.outside.held():
        if _only_appended(r, h):
            all_new = not h.first and has_run(h.container)
            new = with_items(r, h.container, True) if all_new else r.getitem(h.container, slice(len(h.first), None))
            out.append(Put(h.path, "append", "", meet(new), "a list from outside"))
            r.captures.forget(h.path)
            continue
        whole: Any = h.container
        if has_run(whole):
            whole = with_items(r, whole, True)
        else:
            whole = dict(base_method(whole, "items")()) if isinstance(whole, dict) else list(base_items(whole))
        out.append(Put(h.path, "items", "", meet(whole), f"{with_article(type(h.container).__name__)} from outside"))
    return out


def written_back(r: Reader, put: list[Put], outcome: Outcome, result: Callable[[Any], Result]) -> list[Write]:
    """What is assigned outside, as results of the program.

    Raises UnsupportedError for what cannot be assigned, and where a callback could read what was there before.
    """
    out = []
    for x in put:
        there = None if x.there is None else result(x.there)
        tree, leaves = (None, ()) if x.value is UNDEFINED else outcome.take(x.value, x.what)
        out.append(Write(x.path, x.kind, x.name, tree, leaves, there))
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
