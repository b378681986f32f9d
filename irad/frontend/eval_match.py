"""match statements."""

from __future__ import annotations

import ast
from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.eval_stmt import variable
from irad.frontend.flow import block, branch, conjunction
from irad.frontend.reader import Reader, statement


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
