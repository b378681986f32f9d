"""Which names a function still reads after a statement: a backward analysis of its syntax tree.

Names that inner functions, lambdas or comprehensions read count as always live (they may be called at any time). The
result is an over-approximation: a name that is not in the set is certainly dead.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable

Names = frozenset[str]
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Liveness:
    """For each statement `after[stmt]`, the names live after it, or where a jump in it leads; for each loop `head[stmt]`,

    those live before a trip.
    """

    def __init__(self, function: ast.FunctionDef | ast.Lambda):
        self.after: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        self.always = _escaping(function)
        self._loops: list[tuple[Names, Names]] = []  # live after break, live after continue
        self._tries: list[Names] = []  # live where an exception leads that is caught
        self.node = function
        self.locals, self.nonlocals, self.globals = _scopes(function)
        if isinstance(function, ast.FunctionDef):
            self._block(function.body, self.always)

    def _block(self, stmts: Iterable[ast.stmt], live: Names) -> Names:
        for s in reversed(list(stmts)):
            jumps = self._loops[-1] if self._loops else ()  # their flags are set, and the rest is skipped
            self.after[s] = self.after.get(s, frozenset()).union(live, *jumps, *self._tries)
            live = self._stmt(s, live).union(*self._tries)
        return live

    def _stmt(self, s: ast.stmt, live: Names) -> Names:
        match s:
            case ast.If(test=test, body=body, orelse=orelse):
                return _reads(test) | self._block(body, live) | self._block(orelse, live)
            case ast.For(target=target, iter=it, body=body, orelse=orelse):
                done = self._block(orelse, live)
                head = self._loop(s, body, done, live, _stores(target), frozenset())
                return _reads(it) | _reads(target) | head
            case ast.While(test=test, body=body, orelse=orelse):
                done = self._block(orelse, live)
                return self._loop(s, body, done, live, frozenset(), _reads(test))
            case ast.Try():
                return self._try(s, live)
            case ast.With(items=items, body=body):
                used = frozenset().union(*(_reads(i.context_expr) for i in items))
                self._tries.append(live)  # where a manager swallows an exception
                start = self._block(body, live)
                self._tries.pop()
                return used | start
            case ast.Match(subject=subject, cases=cases):
                inner = [self._block(c.body, live) | (_reads(c.guard) if c.guard else frozenset()) for c in cases]
                return _reads(subject) | live.union(*inner)
            case ast.Break():
                return self._loops[-1][0] if self._loops else live
            case ast.Continue():
                return self._loops[-1][1] if self._loops else live
            case ast.Return() | ast.Raise():
                return self.always | _reads(s)
        return (live - (_kills(s) - self.always)) | _reads(s)

    def _loop(self, s: ast.stmt, body: list[ast.stmt], done: Names, after: Names, bound: Names, test: Names) -> Names:
        head = done | test | self.head.get(s, frozenset())  # found for fewer names around: loops in loops begin there
        while True:
            self._loops.append((after, head))
            new = head | (self._block(body, head) - (bound - self.always)) | test
            self._loops.pop()
            if new == head:
                self.head[s] = head
                return head
            head = new

    def _try(self, s: ast.Try, live: Names) -> Names:
        live = self._block(s.finalbody, live)
        handlers = frozenset().union(*(self._block(h.body, live) for h in s.handlers))
        every = live | handlers | frozenset(n for b in s.body for n in _reads(b))
        done = self._block(s.orelse, live)
        self._tries.append(live | handlers)
        before = self._block(s.body, done | handlers)
        self._tries.pop()
        return every | before


def _scopes(function: ast.FunctionDef | ast.Lambda) -> tuple[Names, Names, Names]:
    """Names that are local to a function, declared nonlocal, declared global."""
    a = function.args
    local = {x.arg for x in [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]}
    nonlocal_: set[str] = set()
    global_: set[str] = set()
    todo: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    while todo:
        n = todo.pop()
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            local.add(n.id)
        elif isinstance(n, (ast.Nonlocal, ast.Global)):
            (nonlocal_ if isinstance(n, ast.Nonlocal) else global_).update(n.names)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            local.update((x.asname or x.name).split(".")[0] for x in n.names)
        elif isinstance(n, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and n.name:
            local.add(n.name)
        elif isinstance(n, ast.MatchMapping) and n.rest:
            local.add(n.rest)
        if isinstance(n, _SCOPES):
            local.update([n.name] if not isinstance(n, ast.Lambda) else [])
        elif isinstance(n, _COMPREHENSIONS):
            bound = {m.id for g in n.generators for m in ast.walk(g.target) if isinstance(m, ast.Name)}
            inner = {m.target.id for m in ast.walk(n) if isinstance(m, ast.NamedExpr) and isinstance(m.target, ast.Name)}
            local |= inner - bound
        else:
            todo += ast.iter_child_nodes(n)
    return frozenset(local - nonlocal_ - global_), frozenset(nonlocal_), frozenset(global_)


def _reads(node: ast.AST | None) -> Names:
    """Names that may be read somewhere in a statement or expression."""
    if node is None:
        return frozenset()
    out = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        out.add(node.target.id)
    return frozenset(out)


def _stores(node: ast.AST) -> Names:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _kills(s: ast.stmt) -> Names:
    """Names that a simple statement certainly overwrites."""
    if isinstance(s, ast.Assign):
        return frozenset(n for t in s.targets for n in _target_names(t))
    if isinstance(s, ast.AnnAssign) and s.value is not None:
        return frozenset(_target_names(s.target))
    return frozenset([s.name]) if isinstance(s, ast.FunctionDef) else frozenset()


def _target_names(t: ast.expr) -> list[str]:
    if isinstance(t, ast.Name):
        return [t.id]
    if isinstance(t, (ast.Tuple, ast.List)):
        return [n for e in t.elts for n in _target_names(e)]
    return _target_names(t.value) if isinstance(t, ast.Starred) else []


def _escaping(function: ast.FunctionDef | ast.Lambda) -> Names:
    """Names read by functions, lambdas and classes defined inside, and those declared nonlocal."""
    body = function.body if isinstance(function.body, list) else [function.body]
    out: set[str] = set()
    for top in body:
        for n in ast.walk(top):
            if isinstance(n, _SCOPES):
                out |= {m.id for m in ast.walk(n) if isinstance(m, ast.Name) and isinstance(m.ctx, ast.Load)}
            elif isinstance(n, (ast.Nonlocal, ast.Global)):
                out.update(n.names)
    return frozenset(out)


liveness_of = functools.cache(Liveness)
