"""Statements: assignment, loops, jumps, definitions, imports."""

from __future__ import annotations

import ast
import copy
import functools
import operator
from contextlib import ExitStack
from typing import Any

import numpy as np

from irad.core.foreign import CODE, is_instance, is_mapped, is_value
from irad.core.once import import_later
from irad.errors import UnsupportedError
from irad.frontend.control.flow import block
from irad.frontend.control.generators import as_stream, opened, run_stream
from irad.frontend.control.loops import run_for, run_while
from irad.frontend.control.nullable import definite, needed
from irad.frontend.control.sequences import iterate, static_length, used_up
from irad.frontend.control.tries import head
from irad.frontend.control.trips import LoopStatement
from irad.frontend.control.varying import of_each_kind_of_key, split
from irad.frontend.numpy.operators import IN_PLACE, in_place
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader, statement
from irad.frontend.reading.expressions import BINARY, captured_name, lookup_name, make_closure
from irad.frontend.reading.instances import delete_attr, own_attr
from irad.frontend.reading.subscripts import augmented, augmented_item, delete_item, reading_before
from irad.frontend.values.arr import Arr
from irad.frontend.values.choices import OneOf
from irad.frontend.values.objects import UNDEFINED, Array, Env, Nullable, Stand, Text
from irad.frontend.values.runs import has_run
from irad.frontend.values.state import Name
from irad.ops.control import raise_if

# ---- assignment ---------------------------------------------------------------------------------------------------------


@statement(ast.Assign)
def assign_(r: Reader, s: ast.Assign) -> None:
    if (pairs := _pairs(s)) is not None:
        values = [_value(r, [t], e) for t, e in pairs]
        for (t, _), value in zip(pairs, values):
            assign(r, t, value)
        return
    value = _value(r, s.targets, s.value)
    for t in s.targets:
        assign(r, t, value)


def _value(r: Reader, targets: list[ast.expr], e: ast.expr) -> Any:
    """The value of an expression that is assigned."""
    one = len(targets) == 1 and isinstance(targets[0], ast.Name) and _keeps(r, targets[0].id, e)
    return r.itself(e) if one else r.perhaps(e)


@functools.cache
def _pairs(s: ast.Assign) -> list[tuple[ast.expr, ast.expr]] | None:
    """What is assigned to what in `a, b = x, y`; None of any other assignment."""
    t, e = s.targets[0], s.value
    if len(s.targets) > 1 or not isinstance(t, ast.Tuple) or not isinstance(e, ast.Tuple) or len(t.elts) != len(e.elts):
        return None
    return None if any(isinstance(x, ast.Starred) for x in (*t.elts, *e.elts)) else list(zip(t.elts, e.elts))


def _keeps(r: Reader, name: str, value: ast.expr) -> bool:
    """Is a variable to be one of several things itself, where data choose? Where nothing is changed through it or what it is chosen from, it
    may be their content."""
    root = value
    while isinstance(root, (ast.Subscript, ast.Attribute)):
        root = root.value
    changed = _changed_through(r.frame.source.node)
    return isinstance(value, ast.Name) or name in changed or (isinstance(root, ast.Name) and root.id in changed)


@functools.cache
def _changed_through(function: ast.AST) -> frozenset[str]:
    """The variables of a function through which something in them may be changed: by a store, or by a method."""
    found = set()
    for n in ast.walk(function):
        e = n.func if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr not in _LOOKS else n
        if e is not n or (isinstance(n, (ast.Subscript, ast.Attribute)) and not isinstance(n.ctx, ast.Load)):
            while isinstance(e, (ast.Subscript, ast.Attribute)):
                e = e.value
            found |= {e.id} if isinstance(e, ast.Name) else set()
    return frozenset(found)


_LOOKS = ("get", "keys", "values", "items", "index", "count", "copy")


@statement(ast.AnnAssign)
def annotated_(r: Reader, s: ast.AnnAssign) -> None:
    if s.value is not None:
        assign(r, s.target, r.perhaps(s.value))


def chosen(r: Reader, obj: Any, key: Any) -> Any:
    """obj[key], where data decide which of several things it is; else None."""
    if type(obj) is OneOf:
        return r.several().item(r, obj, key)
    by_data = isinstance(key, (Arr, Text, tuple)) and isinstance(obj, (list, tuple, dict))
    return r.several().chosen(r, obj, key) if by_data else None


def assign(r: Reader, target: ast.expr, value: Any) -> None:
    """target = value."""
    if isinstance(target, ast.Name):
        r.hint(value, target.id)
        r.state.assign(variable(r, target.id), value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        if type(value) is Nullable:
            value = needed(r, value, "cannot unpack non-iterable NoneType object")
        _unpack(r, target, value)
    elif isinstance(target, ast.Subscript):
        obj, key = r.expr(target.value, True), r.expr(target.slice)
        r.at(target)
        if type(value) is Nullable and not isinstance(obj, (list, dict)):
            value = definite(r, value, "what is stored")
        r.setitem(obj, key, value)
    elif isinstance(target, ast.Attribute):
        obj = r.expr(target.value, True)
        r.at(target)
        r.setattr(obj, target.attr, value)
    else:
        raise UnsupportedError(f"assignment to {ast.unparse(target)}", r.loc(target))


def variable(r: Reader, name: str) -> Name:
    """The place of a variable that is assigned here."""
    env = r.frame.env
    if name in env.nonlocals:
        outer = env.parent
        while isinstance(outer, Env):
            if name in outer.locals:
                return Name(outer, name)
            outer = outer.parent
        return _outside(r, name, "cell")
    return _outside(r, name, "global") if name in r.frame.liveness.globals else Name(env, name)


def _outside(r: Reader, name: str, kind: str) -> Name:
    """The place of a variable of a function around the compiled one, or of a global variable."""
    fn = r.frame.globals_of
    owner = fn.__globals__ if kind == "global" else fn.__closure__[fn.__code__.co_freevars.index(name)]
    now = UNDEFINED
    if name not in r.outside.names(owner):
        try:
            now = captured_name(r, name)
        except NameError:
            pass
    return Name(r.outside.env(owner, r.captures.origin(fn), kind, name, now), name)


def _unpack(r: Reader, target: ast.Tuple | ast.List, value: Any) -> None:
    want, star = len(target.elts), next((k for k, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
    by_data = has_run(value) or is_mapped(value)
    if star is None and (by_data or isinstance(value, Array) and value.shape and not isinstance(value.shape[0], int)):
        for t, x in zip(target.elts, _by_data(r, r.call(list, [value]) if by_data else value, want)):
            assign(r, t, x)
        return
    seq = iterate(r, value)
    n = static_length(seq)
    if star is None and n != want:
        few = f"not enough values to unpack (expected {want}, got {n})"
        raise ValueError(few if n < want else f"too many values to unpack (expected {want})")
    if star is not None and n < want - 1:
        raise ValueError(f"not enough values to unpack (expected at least {want - 1}, got {n})")
    items = [seq.get(k) for k in range(n)]
    if star is not None:
        tail = want - 1 - star
        items[star : n - tail] = [r.state.made(items[star : n - tail])]
    for t, x in zip(target.elts, items):
        assign(r, t.value if isinstance(t, ast.Starred) else t, x)


def _by_data(r: Reader, value: Any, want: int) -> list[Any]:
    """The elements of a list or an array of which data decide how long it is, and which must be so long."""
    n = r.call(len, [value])
    for wrong, words in (
        ("lt", f"not enough values to unpack (expected {want}, got {{}})"),
        ("gt", f"too many values to unpack (expected {want})"),
    ):
        wrong = r.operator(wrong, n, want)
        if wrong is True:
            raise ValueError(words.format(n))
        if isinstance(wrong, Arr):
            raise_if(wrong.value, *([n.value] if "{" in words else []), exc="ValueError", message=words)
    return [r.getitem(value, k) for k in range(want)]


@statement(ast.AugAssign)
def augmented_(r: Reader, s: ast.AugAssign) -> None:
    name = BINARY[type(s.op)]
    if isinstance(s.target, ast.Name):
        old = lookup_name(r, s.target.id)
        value = r.perhaps(s.value)
        r.at(s)
        assign(r, s.target, _augmented(r, name, old, value))
    elif isinstance(s.target, ast.Subscript):
        obj, key = r.expr(s.target.value, True), r.expr(s.target.slice)
        if type(obj) is OneOf or (isinstance(key, Arr) and isinstance(obj, (list, dict))):
            if _augment_chosen(r, s, name, obj, key):
                return
        if is_mapped(obj) and hasattr(type(obj), "augment"):
            old, value = r.getitem(obj, key), r.perhaps(s.value)
            r.at(s)
            r.call(r.getattr(obj, "augment"), [key, in_place(name), value, old])
            return
        read = reading_before(r, obj, key) if _may_store(r, s.value) else None
        value = r.perhaps(s.value)
        r.at(s)
        of_each_kind_of_key(augmented_item)(r, obj, key, name, value, read)
    elif isinstance(s.target, ast.Attribute):
        obj = r.expr(s.target.value, True)
        old = r.getattr(obj, s.target.attr)
        value = r.perhaps(s.value)
        r.at(s)
        new = _augmented(r, name, old, value)
        of_class = is_instance(obj) and not isinstance(obj, (type, Stand)) and own_attr(r, obj, s.target.attr) is UNDEFINED
        if new is not old or of_class:  # a property, or what is in the class and in the object from now on
            r.setattr(obj, s.target.attr, new)


def _augmented(r: Reader, name: str, old: Any, value: Any) -> Any:
    if type(old) is not OneOf:
        return augmented(r, name, old, value)
    return r.several().augmented(r, old, lambda x: augmented(r, name, x, value))


for _name in IN_PLACE:
    BUILTINS[in_place(_name)] = lambda r, x, y, _n=_name: _augmented(r, _n, x, y)
BUILTINS[operator.iconcat] = BUILTINS[operator.iadd]
BUILTINS[operator.delitem] = delete_item


def _augment_chosen(r: Reader, s: ast.AugAssign, name: str, obj: Any, key: Any) -> bool:
    """obj[key] op= value, where data decide which of several things obj or the item is; False, and nothing done, where they do not."""
    several = r.several()
    if type(obj) is not OneOf:
        one = several.chosen(r, obj, key, True)
        if one is None:
            return False
        value = r.perhaps(s.value)
        r.at(s)
        _augmented(r, name, one, value)
        return True
    old = several.before(r, obj, key)
    value = r.perhaps(s.value)
    r.at(s)
    of_array = lambda x: augmented_item(r, x, key, name, value)
    several.augment_item(r, obj, key, value, old, of_array, lambda x: augmented(r, name, x, value))
    return True


def _may_store(r: Reader, e: ast.expr) -> bool:
    """May evaluating an expression change an array or container: does it call anything, or use objects, which may have operators
    and properties of their own?"""
    calls, names = _calls_and_names(e)
    return calls or any(_has_methods(r, n) for n in names)


@functools.cache
def _calls_and_names(e: ast.expr) -> tuple[bool, tuple[str, ...]]:
    nodes = list(ast.walk(e))
    return any(isinstance(n, ast.Call) for n in nodes), tuple({n.id for n in nodes if isinstance(n, ast.Name)})


def _has_methods(r: Reader, name: str) -> bool:
    """Is a variable something else than a number, an array, a text or code?"""
    env: Any = r.frame.env
    while isinstance(env, Env) and name not in env.names:
        env = env.parent
    if isinstance(env, Env):
        x = env.names[name]
    else:
        fn = r.frame.globals_of
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        try:
            x = cells[name].cell_contents if name in cells else fn.__globals__.get(name)
        except ValueError:
            return False
    return not (isinstance(x, (Arr, Array, np.ndarray, *CODE)) or x is UNDEFINED or is_value(x))


@statement(ast.Delete)
def delete_(r: Reader, s: ast.Delete) -> None:
    for t in s.targets:
        if isinstance(t, ast.Name):
            lookup_name(r, t.id)
            r.state.assign(variable(r, t.id), UNDEFINED)
        elif isinstance(t, ast.Subscript):
            obj, key = r.expr(t.value, True), r.expr(t.slice)
            delete = lambda x, key=key: delete_item(r, x, key)
            delete(obj) if type(obj) is not OneOf else r.several().each(r, obj, delete)
        elif isinstance(t, ast.Attribute):
            obj = r.expr(t.value)
            r.at(t)
            split(r, (obj,), lambda x, name=t.attr: delete_attr(r, x, name))


# ---- simple statements ------------------------------------------------------------------------------------------------------


@statement(ast.Expr)
def expr_(r: Reader, s: ast.Expr) -> None:
    r.perhaps(s.value)


@statement(ast.Pass)
def pass_(r: Reader, s: ast.Pass) -> None:
    return None


@statement(ast.Nonlocal, ast.Global)
def scope_(r: Reader, s: ast.Nonlocal | ast.Global) -> None:
    return None


@statement(ast.Import, ast.ImportFrom)
def import_(r: Reader, s: ast.Import | ast.ImportFrom) -> None:
    """An import inside the function is done now."""
    names: dict[str, Any] = {}
    there = ast.increment_lineno(copy.deepcopy(s), r.frame.source.line_shift)  # as a traceback shows the line
    exec(compile(ast.Module([there], []), r.frame.source.file, "exec"), dict(r.frame.globals_of.__globals__), names)
    for name, value in names.items():
        r.state.assign(Name(r.frame.env, name), value)


@statement(ast.FunctionDef)
def def_(r: Reader, s: ast.FunctionDef) -> None:
    fn: Any = make_closure(r, s, s.name)
    for d in reversed(s.decorator_list):
        fn = r.call(r.expr(d), [fn])
    r.state.assign(variable(r, s.name), fn)


@statement(ast.ClassDef)
def class_(r: Reader, s: ast.ClassDef) -> None:
    import_later("irad.frontend.reading.local_classes").define_class(r, s)


@statement(ast.Return)
def return_(r: Reader, s: ast.Return) -> None:
    value = None if s.value is None else r.perhaps(s.value)
    r.state.assign(Name(r.frame.flags, "value"), value)
    r.state.assign(Name(r.frame.flags, "return"), True)


@statement(ast.Break)
def break_(r: Reader, s: ast.Break) -> None:
    r.state.assign(Name(r.frame.loops[-1], "break"), True)


@statement(ast.Continue)
def continue_(r: Reader, s: ast.Continue) -> None:
    r.state.assign(Name(r.frame.loops[-1], "continue"), True)


@statement(ast.If)
def if_(r: Reader, s: ast.If) -> None:
    block(r, [s])


# ---- loops ---------------------------------------------------------------------------------------------------------------------


@statement(ast.For)
def for_(r: Reader, s: ast.For) -> None:
    with ExitStack() as until:
        run_over(r, s, head(r, lambda: opened(r, r.there(r.look(s.iter, until), s.iter))))


def run_over(r: Reader, s: ast.For, it: Any) -> None:
    """A for loop over an iterable, or what is left of an iterator."""
    live = r.frame.liveness
    name = s.target.id if isinstance(s.target, ast.Name) else "i"
    orelse = _orelse(r, s)
    ends = getattr(it, "state", None) is not None and not _has_exit(s)

    def exhausted() -> None:
        used_up(r, it)
        if orelse is not None:
            orelse()

    loop = lambda body: LoopStatement(s, body, live.head.get(s), live.after.get(s), exhausted if ends else orelse, name)
    stream = as_stream(it)
    seq = head(r, lambda: iterate(r, it)) if stream is None else None
    r.at(s)

    def body(x: Any) -> None:
        assign(r, s.target, x if seq is None else seq.get(x))
        block(r, s.body)

    if seq is not None:
        run_for(r, loop(body), seq)
    else:
        run_stream(r, loop(body), stream)  # type: ignore[arg-type]


@functools.cache
def _has_exit(s: ast.For) -> bool:
    """May the loop be left before its iterator ends?"""
    return any(isinstance(n, (ast.Break, ast.Return)) for b in s.body for n in ast.walk(b))


def _orelse(r: Reader, s: ast.For | ast.While) -> Any:
    return (lambda: block(r, s.orelse)) if s.orelse else None


@statement(ast.While)
def while_(r: Reader, s: ast.While) -> None:
    live = r.frame.liveness
    loop = LoopStatement(s, lambda _: block(r, s.body), live.head.get(s), live.after.get(s), _orelse(r, s))

    def test() -> Any:
        r.at(s.test)
        return head(r, lambda: r.condition(s.test))

    run_while(r, loop, test)
