"""Which names statements of the kernel form read, assign and bind."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from irad.codegen.kernel import form as kf
from irad.core.affine import Affine, symbols


def used(body: Iterable[kf.Stmt]) -> Iterator[str]:
    """Names that the statements use, own ones among them."""
    for s in kf.walk(body):
        if hasattr(s, "name"):
            yield from names(s.name)
        yield from reads_of(s)


def reads(body: Iterable[kf.Stmt]) -> Iterator[str]:
    """Names of numbers, buffers and folds that the statements read, store to or combine into, as often as they do."""
    for s in kf.walk(body):
        yield from reads_of(s)


def assigned(body: Iterable[kf.Stmt]) -> set[str]:
    """The variables that the statements assign."""
    return {s.name for s in kf.walk(body) if isinstance(s, kf.Assign)}


def bound(body: Iterable[kf.Stmt]) -> set[str]:
    """What the statements declare."""
    made = (kf.Let, kf.Var, kf.Fold, kf.Buffer, kf.View, kf.Deref)
    inside = list(kf.walk(body))
    return {s.name for s in inside if isinstance(s, made)} | {s.var for s in inside if isinstance(s, kf.For)}


def waiting(body: Sequence[kf.Stmt], names: Iterable[str], others: Set[int] = frozenset()) -> set[int]:
    """The ids of statements that need what is in some variables, or change it, and of `others` by their ids."""
    wanted, out, before = set(names), set[int](), -1
    each = [(s, changes, changes.union(reads([s]))) for s in body for changes in [bound([s]) | assigned([s])]]
    while len(out) != before:
        before = len(out)
        for s, changes, mentioned in each:
            if id(s) not in out and (id(s) in others or not wanted.isdisjoint(mentioned)):
                out.add(id(s))
                wanted |= changes
    return out


def reads_of(s: Any) -> Iterator[str]:
    """The same of one statement, without those in it."""
    for x in _operands(s):
        yield from names(x)


def names(x: Any) -> Iterable[str]:
    """A name, or those in an index."""
    return (x,) if isinstance(x, str) else sorted(symbols(x)) if isinstance(x, Affine) else ()


@functools.cache
def _fields(cls: type) -> tuple[list[str], list[str]]:
    """The fields of a class that are operands, and those that are one or several."""
    fields = getattr(cls, "__record__", ())
    among = lambda *names: [n for n in names if n in fields]
    return among("buf", "fold", "cond", "lo", "hi", "value", "offset", "size"), among("idx", "values", "init", "args", "shape")


def _operands(s: Any) -> Iterator[Any]:
    """Names and indices that a statement, or an expression, mentions."""
    one, several = _fields(type(s))  # type: ignore[arg-type]  # a class is hashable
    for key in one:
        yield getattr(s, key)
    for key in several:
        found = getattr(s, key)
        yield from found if isinstance(found, tuple) else (found,)
    e = getattr(s, "expr", None)
    if isinstance(e, kf.LinScan):
        yield from (e.var, e.k, e.x)
    elif e is not None:
        yield from _operands(e)
