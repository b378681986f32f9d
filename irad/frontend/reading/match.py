"""match statements."""

from __future__ import annotations

import ast
from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.control.flow import block, branch, conjunction, disjunction
from irad.frontend.control.tries import head
from irad.frontend.control.varying import split
from irad.frontend.reader import Reader, statement
from irad.frontend.reading.logic import both, identical
from irad.frontend.reading.statements import variable
from irad.frontend.values.arr import Arr
from irad.frontend.values.choices import is_object
from irad.frontend.values.objects import UNDEFINED, Choice, Nullable, Varying


@statement(ast.Match)
def match_(r: Reader, s: ast.Match) -> None:
    subject = head(r, lambda: r.perhaps(s.subject))
    if type(subject) is Varying or (type(subject) is Choice and any(map(is_object, subject.options))):
        split(r, (subject,), lambda x: _cases(r, s, x, 0))
    else:
        _cases(r, s, subject, 0)


def _cases(r: Reader, s: ast.Match, subject: Any, k: int) -> None:
    if k == len(s.cases):
        return
    case = s.cases[k]
    found: dict[str, Any] = {}
    hit = _matches(r, case.pattern, subject, found)
    _assign(r, hit, found)
    guard = case.guard
    if guard is not None:
        hit = r.truth(both(r, hit, lambda: r.condition(guard)))
    if hit is True:
        block(r, case.body)
    elif hit is False:
        _cases(r, s, subject, k + 1)
    else:
        branch(r, hit, lambda: block(r, case.body), lambda: _cases(r, s, subject, k + 1), r.frame.liveness.after.get(s))


def _assign(r: Reader, hit: Any, found: dict[str, Any]) -> None:
    """Names that a pattern binds, where it matches as a whole."""

    def now() -> None:
        for name, x in found.items():
            r.state.assign(variable(r, name), x)

    if hit is True or (isinstance(hit, Arr) and all(variable(r, name).get() is UNDEFINED for name in found)):
        now()
    elif hit is not False and found:
        branch(r, hit, now, lambda: None)


def _matches(r: Reader, p: ast.pattern, x: Any, found: dict[str, Any]) -> Any:
    """Does a pattern match: True, False or a traced bool. What its names stand for goes into `found`."""
    if isinstance(x, Nullable) and isinstance(p, (ast.MatchSequence, ast.MatchClass, ast.MatchMapping)):
        return conjunction(x.there, _matches(r, p, x.value, found))
    match p:
        case ast.MatchValue(value=v):
            return r.truth(r.operator("eq", x, r.expr(v)))
        case ast.MatchSingleton(value=v):
            return identical(r, x, v)
        case ast.MatchAs(pattern=inner, name=name):
            hit = True if inner is None else _matches(r, inner, x, found)
            if name is not None and hit is not False:
                found[name] = x
            return hit
        case ast.MatchOr(patterns=ps):
            return _any(r, ps, x, found)
        case ast.MatchSequence(patterns=ps):
            return _match_sequence(r, ps, x, found)
        case ast.MatchClass(cls=cls, patterns=ps, kwd_attrs=names, kwd_patterns=kps):
            return _match_class(r, r.expr(cls), ps, names, kps, x, found)
        case ast.MatchMapping(keys=keys, patterns=ps, rest=rest):
            return _match_mapping(r, [r.expr(k) for k in keys], ps, rest, x, found)
    raise UnsupportedError("this kind of pattern is not supported in compiled code", r.loc(p))


def _any(r: Reader, patterns: list[ast.pattern], x: Any, found: dict[str, Any]) -> Any:
    out: Any = False
    for q in patterns:
        own: dict[str, Any] = {}
        hit = _matches(r, q, x, own)
        if own and isinstance(hit, Arr):
            raise UnsupportedError("alternatives (|) that bind names, chosen by data; write a case for each", r.loc(q))
        out = disjunction(out, hit)
        if hit is True:
            found.update(own)
            break
    return out


def _all(r: Reader, patterns: list[ast.pattern], xs: list[Any], found: dict[str, Any]) -> Any:
    out: Any = True
    for q, x in zip(patterns, xs):
        out = conjunction(out, _matches(r, q, x, found))
        if out is False:
            return False
    return out


def _match_sequence(r: Reader, patterns: list[ast.pattern], x: Any, found: dict[str, Any]) -> Any:
    if not isinstance(x, (list, tuple)):
        return False
    star = next((k for k, q in enumerate(patterns) if isinstance(q, ast.MatchStar)), None)
    if star is None:
        return len(x) == len(patterns) and _all(r, patterns, list(x), found)
    if len(x) < len(patterns) - 1:
        return False
    tail = len(patterns) - 1 - star
    name = patterns[star].name  # type: ignore[attr-defined]
    if name is not None:
        found[name] = r.state.made(list(x[star : len(x) - tail]))
    return _all(r, patterns[:star] + patterns[star + 1 :], [*x[:star], *x[len(x) - tail :]], found)


def _match_mapping(r: Reader, keys: list[Any], ps: list[ast.pattern], rest: str | None, x: Any, found: dict[str, Any]) -> Any:
    if not isinstance(x, dict) or not all(k in x for k in keys):
        return False
    if rest is not None:
        found[rest] = r.state.made({k: v for k, v in x.items() if k not in keys})
    return _all(r, ps, [x[k] for k in keys], found)


def _match_class(
    r: Reader, cls: Any, ps: list[ast.pattern], names: list[str], kps: list[ast.pattern], x: Any, found: dict[str, Any]
) -> Any:
    if not r.call(isinstance, [x, cls]):
        return False
    if cls in (int, float, bool, str, list, tuple, dict) and len(ps) == 1:
        return _matches(r, ps[0], x, found)
    positional = list(getattr(cls, "__match_args__", ()))[: len(ps)]
    return _all(r, [*ps, *kps], [r.getattr(x, n) for n in [*positional, *names]], found)
