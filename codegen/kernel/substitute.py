"""Other integers in place of names: of loop variables, or of numbers that turn out to be affine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from irad.codegen.kernel import form as kf
from irad.core.affine import Affine, Integer, substitute, symbol, symbols
from irad.core.lazy_dataclass import replace

Integers = Mapping[str, Integer]


def replaced(index: kf.Index, to: Integers) -> Integer:
    """An index with names exchanged for affine integers."""
    return substitute(kf.integer(index), lambda name: to.get(name, symbol(name)))


def substituted(s: kf.Stmt, to: Integers) -> kf.Stmt:
    """A statement, with all that are in it, that reads these integers in place of names; what it assigns keeps its name."""
    if not to:
        return s

    def index(x: Any) -> Any:
        if isinstance(x, Affine):
            return replaced(x, to) if any(n in to for n in symbols(x)) else x
        return to[x] if isinstance(x, str) and x in to else x

    def expression(e: kf.Expr) -> kf.Expr:
        if isinstance(e, (kf.Load, kf.Part)):
            return replace(e, idx=tuple(map(index, e.idx)))
        if isinstance(e, kf.Apply):
            return replace(e, args=tuple(map(index, e.args)))
        return replace(e, k=index(e.k), x=index(e.x))

    parts: dict[str, Callable[[Any], Any]] = {
        "expr": expression,
        "body": lambda body: [substituted(t, to) for t in body],
        **dict.fromkeys(("idx", "args", "values", "init", "shape"), lambda xs: _each(xs, index)),
        **dict.fromkeys(("value", "offset", "size", "lo", "hi", "cond", "trips"), index),
    }
    parts["test"] = parts["then"] = parts["orelse"] = parts["body"]
    return replace(s, **{name: change(getattr(s, name)) for name, change in parts.items() if hasattr(s, name)})


def _each(xs: Any, index: Callable[[Any], Any]) -> Any:
    return tuple(map(index, xs)) if isinstance(xs, tuple) else index(xs)
