"""The reader with everything bound: what the parts of the front end do of Python."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.structured import Bytes, Structured
from irad.frontend.activations import Activation, Restart
from irad.frontend.control import lists, nullable, sequences, tries
from irad.frontend.control.array_like import position_like
from irad.frontend.control.flow import branch_values
from irad.frontend.control.varying import of_each_kind_of_key
from irad.frontend.reader import Reader
from irad.frontend.reading import attributes, calls, comprehensions, expressions, functions, logic, records, subscripts
from irad.frontend.reading.protocols import run_without_source
from irad.frontend.reading.written import call_written
from irad.frontend.registry import Written
from irad.frontend.syntax.liveness import liveness_of
from irad.frontend.syntax.source import Source
from irad.frontend.values.captures import Captures
from irad.frontend.values.objects import Either, Env, Nullable

for _name in (  # they register handlers of syntax and of calls
    *(f"python.{m}" for m in ("builtins", "complex", "folds", "itertools", "math", "texts")),
    *(f"reading.{m}" for m in ("match", "raises", "statements", "streams", "with_blocks")),
    *(f"numpy.{m}" for m in ("view_conversions", "view_picks")),
):
    import_module(f"irad.frontend.{_name}")

_CALL: Any = ast.parse("lambda: None", mode="eval").body  # what is around the function: it may be one that has no source


def _operator(r: Reader, name: str, *xs: Any) -> Any:
    """A Python operator, by its name in the module `operator`."""
    if any(isinstance(x, (Structured, Bytes)) for x in xs):
        return records.node_operator(r, name, *xs)
    return expressions.apply_operator(r, name, *xs)


@of_each_kind_of_key
def _get_item(r: Reader, obj: Any, key: Any) -> Any:
    """obj[key]."""
    key = position_like(r, obj, key, "__getitem__")
    return (records.node_item if isinstance(obj, (Structured, Bytes)) else subscripts.get_item)(r, obj, key)


@of_each_kind_of_key
def _set_item(r: Reader, obj: Any, key: Any, value: Any) -> None:
    """obj[key] = value."""
    key = position_like(r, obj, key, "__setitem__")
    (records.set_node_item if isinstance(obj, (Structured, Bytes)) else subscripts.set_item)(r, obj, key, value)


class SourceReader(Reader):
    """The reader with everything bound."""

    call = lambda self, fn, args, kwargs=None: calls.call(self, fn, list(args), dict(kwargs or {}))
    enter = functions.enter
    truth = logic.truth
    condition = logic.condition
    identical = logic.identical
    guarded = tries.guarded
    operator = _operator
    getitem = _get_item
    setitem = _set_item
    getattr = attributes.get_attr
    setattr = attributes.set_attr
    put = subscripts.put
    choose = subscripts.choose
    items = sequences.items
    array_of = lists.array_of
    fold = comprehensions.fold
    tabulated = comprehensions.tabulated
    vectorized = lambda self, fn, args, kwargs: import_later("irad.frontend.reading.vectorize").vectorized(self, fn, args, kwargs)

    narrowed = nullable.narrowed
    one_by_one = lambda self: import_later("irad.frontend.reading.resumed")  # seldom needed
    chosen_items = lambda self: import_later("irad.frontend.control.chosen_items")
    several = lambda self: import_later("irad.frontend.control.several")
    chosen_keys = lambda self: import_later("irad.frontend.control.chosen_keys")
    buckets = lambda self: import_later("irad.frontend.reading.buckets")

    def definite(self, x: Nullable, what: ast.expr | str) -> Any:
        return nullable.definite(self, x, what if isinstance(what, str) else f"'{ast.unparse(what)}'")

    def read_either(self, x: Either) -> Value:
        return branch_values(x.cond, lambda: [self.value(x.left)], lambda: [self.value(x.right)])[0]

    without_source = run_without_source


def _read_alone(entry: Written, operands: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A function that is written in NumPy as a builder: of operands as the table's functions take them, outside of any function."""
    r = SourceReader(Captures(), Restart())
    r.frames.append(outermost())
    args, kwargs = [r.wrap(x) for x in operands], {k: r.wrap(v) for k, v in named.items()}
    return r.operand(call_written(r, entry, args, kwargs))


Written.read = _read_alone


def outermost() -> Activation:
    """The activation around the function that is read."""
    return Activation(Env(), Source(_CALL, "<the call>", 0), liveness_of(_CALL), None)
