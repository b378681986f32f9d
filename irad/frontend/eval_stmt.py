"""Statements: assignment, loops, return, raise, assert, try, with, match, definitions, comprehensions' helpers."""

from __future__ import annotations

import ast
import contextlib
from typing import Any

import numpy as np

from irad.errors import IradError, UnsupportedError
from irad.frontend.arr import Arr
from irad.frontend.eval_array import augmented, augmented_item, change
from irad.frontend.eval_expr import (
    BINARY,
    captured_name,
    compare_one,
    conjunction,
    escape,
    lookup_name,
    make_closure,
    text_of,
)
from irad.frontend.flow import Dead, block, branch, flag, raise_always, run_region
from irad.frontend.loops import Loop, run_for, run_while
from irad.frontend.objects import UNDEFINED, Array, Env, StructureError, Text, is_traced_deep
from irad.frontend.reader import Reader, Restart, statement
from irad.frontend.sequences import iterate, static_length
from irad.frontend.state import Attribute, Name
from irad.ir import current
from irad.ops.control import raise_if
from irad.ops.core import effects
from irad.ops.elementwise import logical_not

# ---- assignment ---------------------------------------------------------------------------------------------------------


@statement(ast.Assign)
def assign_(r: Reader, s: ast.Assign) -> None:
    value = r.expr(s.value)
    for t in s.targets:
        assign(r, t, value)


@statement(ast.AnnAssign)
def annotated_(r: Reader, s: ast.AnnAssign) -> None:
    if s.value is not None:
        assign(r, s.target, r.expr(s.value))


def assign(r: Reader, target: ast.expr, value: Any) -> None:
    """target = value."""
    if isinstance(target, ast.Name):
        r.hint(value, target.id)
        r.state.assign(variable(r, target.id), value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(r, target, value)
    elif isinstance(target, ast.Subscript):
        obj, key = r.expr(target.value), r.expr(target.slice)
        r.at(target)
        r.setitem(obj, key, value)
    elif isinstance(target, ast.Attribute):
        obj = r.expr(target.value)
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
        raise UnsupportedError(
            f"'{name}' belongs to a function outside of the compiled one; return the new value instead of assigning it as nonlocal"
        )
    if name in r.frame.liveness.globals:
        raise UnsupportedError(f"'{name}' is a global variable; return the new value instead of assigning it")
    return Name(env, name)


def _unpack(r: Reader, target: ast.Tuple | ast.List, value: Any) -> None:
    seq = iterate(r, value)
    n, want = static_length(seq), len(target.elts)
    star = next((k for k, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
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


@statement(ast.AugAssign)
def augmented_(r: Reader, s: ast.AugAssign) -> None:
    name = BINARY[type(s.op)]
    if isinstance(s.target, ast.Name):
        old = lookup_name(r, s.target.id)
        value = r.expr(s.value)
        r.at(s)
        assign(r, s.target, augmented(r, name, old, value))
    elif isinstance(s.target, ast.Subscript):
        obj, key = r.expr(s.target.value), r.expr(s.target.slice)
        value = r.expr(s.value)
        r.at(s)
        augmented_item(r, obj, key, name, value)
    elif isinstance(s.target, ast.Attribute):
        obj = r.expr(s.target.value)
        old = r.getattr(obj, s.target.attr)
        value = r.expr(s.value)
        r.at(s)
        new = augmented(r, name, old, value)
        if new is not old:
            r.setattr(obj, s.target.attr, new)


@statement(ast.Delete)
def delete_(r: Reader, s: ast.Delete) -> None:
    for t in s.targets:
        if isinstance(t, ast.Name):
            lookup_name(r, t.id)
            r.state.assign(variable(r, t.id), UNDEFINED)
        elif isinstance(t, ast.Subscript):
            obj, key = r.expr(t.value), r.expr(t.slice)
            change(r, obj)
            del obj[key]
        elif isinstance(t, ast.Attribute):
            r.state.assign(Attribute(r.expr(t.value), t.attr), UNDEFINED)


# ---- simple statements ------------------------------------------------------------------------------------------------------


@statement(ast.Expr)
def expr_(r: Reader, s: ast.Expr) -> None:
    r.expr(s.value)


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
    module = ast.Module([s], [])
    exec(compile(module, r.frame.source.file, "exec"), dict(r.frame.globals_of.__globals__), names)
    for name, value in names.items():
        r.state.assign(Name(r.frame.env, name), value)


@statement(ast.FunctionDef)
def def_(r: Reader, s: ast.FunctionDef) -> None:
    fn: Any = make_closure(r, s, s.name)
    for d in reversed(s.decorator_list):
        fn = r.call(r.expr(d), [fn])
    r.state.assign(variable(r, s.name), fn)


@statement(ast.Return)
def return_(r: Reader, s: ast.Return) -> None:
    value = None if s.value is None else r.expr(s.value)
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
    seq = iterate(r, r.expr(s.iter))
    r.at(s)

    def body(position: Any) -> None:
        assign(r, s.target, seq.get(position))
        block(r, s.body)

    live = r.frame.liveness
    name = s.target.id if isinstance(s.target, ast.Name) else "i"
    run_for(r, Loop(s, body, live.head.get(s), live.after.get(s), _orelse(r, s), name), seq)


def _orelse(r: Reader, s: ast.For | ast.While) -> Any:
    return (lambda: block(r, s.orelse)) if s.orelse else None


@statement(ast.While)
def while_(r: Reader, s: ast.While) -> None:
    live = r.frame.liveness
    loop = Loop(s, lambda _: block(r, s.body), live.head.get(s), live.after.get(s), _orelse(r, s))

    def test() -> Any:
        r.at(s.test)
        return r.truth(r.expr(s.test))

    run_while(r, loop, test)


# ---- exceptions ------------------------------------------------------------------------------------------------------------------


@statement(ast.Raise)
def raise_(r: Reader, s: ast.Raise) -> None:
    if s.exc is None:
        handled = r.handling[-1] if r.handling else RuntimeError("No active exception to reraise")
        raise handled
    exc = r.expr(s.exc)
    r.at(s)
    if isinstance(exc, type) and issubclass(exc, BaseException):
        exc = exc()
    if not isinstance(exc, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    if not r.conditional and not any(is_traced_deep(a) for a in exc.args):
        raise exc
    name, template, operands = described(r, exc)
    raise_always(name, template, [o.value for o in operands])
    raise Dead


def described(r: Reader, exc: BaseException) -> tuple[str, str, list[Arr]]:
    """Class name, message template and operands of an exception that is raised at run time."""
    name = type(exc).__qualname__
    r.exceptions[name] = type(exc)
    if any(is_traced_deep(a) for a in exc.args):
        texts = [text_of(r, a) if is_traced_deep(a) else Text(escape(str(a)), ()) for a in exc.args]
        return name, ", ".join(t.template for t in texts), [o for t in texts for o in t.operands if not o.shape]
    return name, escape(str(exc) if len(exc.args) != 1 else str(exc.args[0])), []


@statement(ast.Assert)
def assert_(r: Reader, s: ast.Assert) -> None:
    r.at(s.test)
    ok = r.truth(r.expr(s.test))
    if ok is True:
        return
    message = r.expr(s.msg) if s.msg is not None else ""
    exc = AssertionError(*([message] if s.msg is not None else []))
    r.at(s)
    if not isinstance(ok, Arr):
        if not r.conditional:
            raise exc
        name, template, operands = described(r, exc)
        raise_always(name, template, [o.value for o in operands])
        raise Dead
    name, template, operands = described(r, exc)
    raise_if(logical_not(ok.value), *(o.value for o in operands), exc=name, message=template)


@statement(ast.Try)
def try_(r: Reader, s: ast.Try) -> None:
    """try around static code; traced code in it must not be able to raise what a handler catches."""
    before = len(current().nodes)
    depth, loops = len(r.frames), len(r.frame.loops)
    try:
        block(r, s.body)
    except (Dead, Restart):
        raise
    except IradError:
        raise
    except BaseException as e:
        del r.frames[depth:]
        del r.frame.loops[loops:]
        if not _handled(r, s, e):
            block(r, s.finalbody)
            raise
        block(r, s.finalbody)
        return
    if s.handlers and any(effects(n) == "raise" for n in current().nodes[before:]):
        raise UnsupportedError(
            "code inside try may raise depending on data, and an exception raised by compiled code ends it; "
            "test the condition with if instead of catching the exception"
        )
    if flag(r.frame.flags, "return") is False:
        block(r, s.orelse)
    block(r, s.finalbody)


def _handled(r: Reader, s: ast.Try, e: BaseException) -> bool:
    for h in s.handlers:
        kind = BaseException if h.type is None else r.expr(h.type)
        if isinstance(e, kind):
            if h.name is not None:
                r.state.assign(Name(r.frame.env, h.name), e)
            r.handling.append(e)
            try:
                block(r, h.body)
            finally:
                r.handling.pop()
            return True
    return False


@statement(ast.With)
def with_(r: Reader, s: ast.With) -> None:
    entered: list[Any] = []
    for item in s.items:
        manager = r.expr(item.context_expr)
        value = _enter(r, manager, entered)
        if item.optional_vars is not None:
            assign(r, item.optional_vars, value)
    block(r, s.body)
    for manager in reversed(entered):
        r.call(r.getattr(manager, "__exit__"), [None, None, None])


def _enter(r: Reader, manager: Any, entered: list[Any]) -> Any:
    if isinstance(manager, (np.errstate, contextlib.nullcontext)):
        return getattr(manager, "enter_result", None)
    if getattr(type(manager).__enter__, "__code__", None) is None:
        raise UnsupportedError(f"with {type(manager).__name__}(...) in compiled code; put it around the call")
    entered.append(manager)
    return r.call(r.getattr(manager, "__enter__"), [])


# ---- match --------------------------------------------------------------------------------------------------------------------------


@statement(ast.Match)
def match_(r: Reader, s: ast.Match) -> None:
    subject = r.expr(s.subject)
    _cases(r, s, subject, 0)


def _cases(r: Reader, s: ast.Match, subject: Any, k: int) -> None:
    if k == len(s.cases):
        return
    case = s.cases[k]
    hit = _matches(r, case.pattern, subject)
    if hit is not False and case.guard is not None:
        hit = conjunction(hit, r.truth(r.expr(case.guard)))
    if hit is True:
        block(r, case.body)
    elif hit is False:
        _cases(r, s, subject, k + 1)
    else:
        branch(r, hit, lambda: block(r, case.body), lambda: _cases(r, s, subject, k + 1), r.frame.liveness.after.get(s))


def _matches(r: Reader, p: ast.pattern, x: Any) -> Any:
    """Does a pattern match: True, False or a traced bool. Captures are assigned."""
    match p:
        case ast.MatchValue(value=v):
            return r.truth(r.operator("eq", x, r.expr(v)))
        case ast.MatchSingleton(value=v):
            return x is v
        case ast.MatchAs(pattern=inner, name=name):
            hit = True if inner is None else _matches(r, inner, x)
            if name is not None and hit is not False:
                r.state.assign(variable(r, name), x)
            return hit
        case ast.MatchOr(patterns=ps):
            for q in ps:
                hit = _matches(r, q, x)
                if hit is not False:
                    return hit
            return False
        case ast.MatchSequence(patterns=ps):
            return _match_sequence(r, ps, x)
        case ast.MatchClass(cls=cls, patterns=ps, kwd_attrs=names, kwd_patterns=kps):
            return _match_class(r, r.expr(cls), ps, names, kps, x)
        case ast.MatchMapping(keys=keys, patterns=ps, rest=None):
            if not isinstance(x, dict):
                return False
            found = [r.expr(k) for k in keys]
            return all(k in x for k in found) and _all(r, ps, [x[k] for k in found])
    raise UnsupportedError("this kind of pattern is not supported in compiled code", r.loc(p))


def _all(r: Reader, patterns: list[ast.pattern], xs: list[Any]) -> Any:
    out: Any = True
    for q, x in zip(patterns, xs):
        out = conjunction(out, _matches(r, q, x))
        if out is False:
            return False
    return out


def _match_sequence(r: Reader, patterns: list[ast.pattern], x: Any) -> Any:
    if not isinstance(x, (list, tuple)):
        return False
    star = next((k for k, q in enumerate(patterns) if isinstance(q, ast.MatchStar)), None)
    if star is None:
        return len(x) == len(patterns) and _all(r, patterns, list(x))
    if len(x) < len(patterns) - 1:
        return False
    tail = len(patterns) - 1 - star
    name = patterns[star].name  # type: ignore[attr-defined]
    if name is not None:
        r.state.assign(variable(r, name), r.state.made(list(x[star : len(x) - tail])))
    return _all(r, patterns[:star] + patterns[star + 1 :], [*x[:star], *x[len(x) - tail :]])


def _match_class(r: Reader, cls: Any, ps: list[ast.pattern], names: list[str], kps: list[ast.pattern], x: Any) -> Any:
    if not r.call(isinstance, [x, cls]):
        return False
    if cls in (int, float, bool, str, list, tuple, dict) and len(ps) == 1:
        return _matches(r, ps[0], x)
    positional = list(getattr(cls, "__match_args__", ()))[: len(ps)]
    return _all(r, [*ps, *kps], [r.getattr(x, n) for n in [*positional, *names]])


__all__ = ["Array", "StructureError", "assign", "captured_name", "compare_one", "run_region"]
