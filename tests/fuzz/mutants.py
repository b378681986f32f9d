"""Mutants of the tests' own programs and of the documentation's: a constant, an extent, an operator, an axis, two statements swapped.

Plain NumPy is the oracle: what a test asserts about the unchanged program does not count.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import linecache
import random
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import irad
from irad.api import Compiled
from irad.core.tree import flatten
from irad.errors import IradError, IradTypeError, IradValueError
from irad.validation.agreement import agree
from tests.fuzz import case as cases
from tests.fuzz import compare
from tests.fuzz.case import Case, Fault, load
from tests.support import ROOT

FEATURES = ("numbers", "operators", "comparisons", "axes", "swaps", "calls", "signs", "kernels", "tests", "docs")

TESTS = (
    "reading/test_functions",
    "control/test_branches_and_loops",
    "values/test_in_place",
    "reading/test_recursion",
    "reading/test_iterators",
    "numpy/test_ufunc_methods",
    "numpy/test_indexing",
    "numpy/test_arrays",
)
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
ALIKE = (
    ("sum", "mean", "max", "min", "prod", "std"),
    ("sin", "cos", "tanh", "exp", "arctan"),
    ("maximum", "minimum", "hypot"),
    ("cumsum", "cumprod"),
)
SECONDS = 3.0  # for the plain program: a mutant may never end


@functools.cache
def modules(kind: str) -> tuple[tuple[str, str], ...]:
    """(name, source) of the programs of a kind."""
    if kind == "kernels":
        paths = sorted((ROOT / "tests" / "kernels").glob("*.py"))
    elif kind == "tests":
        paths = [p for name in TESTS if (p := ROOT / "tests" / "frontend" / f"{name}.py").exists()]
    else:
        pages = sorted((ROOT / "docs").glob("*.md"))
        blocks = [
            (f"{p.stem}_{k}", b)
            for p in pages
            for k, b in enumerate(re.findall(r"```python\n(.*?)```", p.read_text("utf-8"), re.S))
        ]
        return tuple((n, b) for n, b in blocks if "irad.compile" in b and "import" in b)
    return tuple((p.stem, p.read_text(encoding="utf-8")) for p in paths)


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(seed)
    has = lambda f: features is None or f in features
    kind = r.choice([k for k in ("kernels", "tests", "tests", "docs") if has(k)] or ["kernels"])
    name, source = r.choice(modules(kind))
    tree = ast.parse(source)
    if kind == "tests":
        test = r.choice([s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name.startswith("test_")])
        target: ast.AST = ast.Module([s for s in tree.body if _mutable(s) or s is test], [])
        call = f"mutants.run_test(globals(), {test.name!r}, {r.randrange(1000)})"
    elif kind == "kernels":
        functions = [s for s in tree.body if isinstance(s, ast.FunctionDef) and not s.name.startswith("_")]
        target = r.choice(functions)
        call = f"mutants.run_kernel(globals(), {target.name!r}, {seed})"
    else:
        target, call = tree, "mutants.run_page(PAGE)"
    ways = [w for w in ("numbers", "operators", "comparisons", "axes", "swaps", "calls", "signs") if has(w)] or ["numbers"]
    used = {kind, *(w for w in [r.choice(ways) for _ in range(r.choice((1, 1, 2)))] if mutated(target, w, r))}
    text = ast.unparse(tree)
    body = f"PAGE = {text!r}" if kind == "docs" else text
    source = f"{body}\n\n\ndef main():\n    from tests.fuzz import mutants\n\n    {call}\n"
    return Case("mutants", seed, source, frozenset(used))


def _mutable(s: ast.stmt) -> bool:
    return isinstance(s, ast.FunctionDef) and not s.name.startswith("test_")


def mutated(tree: ast.AST, way: str, r: random.Random) -> bool:
    """Change the tree in one place; was there any?"""
    nodes = [n for n in ast.walk(tree) if _fits(n, way)]
    if not nodes:
        return False
    node: Any = r.choice(nodes)
    if way == "numbers":
        v = node.value
        node.value = (
            r.choice([v + 1, v - 1, 0, 1, 2, v * 2]) if type(v) is int else r.choice([-v, 0.0, 1.0, v * 2, v + 0.5, 1e-3])
        )
        if node.value < 0:
            node.value = abs(node.value)
    elif way == "operators":
        node.op = r.choice(OPERATORS)()
    elif way == "comparisons":
        node.ops[0] = r.choice(COMPARISONS)()
    elif way == "axes":
        node.value = ast.Constant(r.choice([0, 1, -1, None]))
    elif way == "swaps":
        k = r.randrange(len(node.body) - 1)
        node.body[k], node.body[k + 1] = node.body[k + 1], node.body[k]
    elif way == "calls":
        group = next(g for g in ALIKE if node.attr in g)
        node.attr = r.choice(group)
    elif way == "signs":
        node.right = ast.UnaryOp(ast.USub(), node.right)
    ast.fix_missing_locations(tree)
    return True


def _fits(n: ast.AST, way: str) -> bool:
    if way == "numbers":
        return isinstance(n, ast.Constant) and type(n.value) in (int, float)
    if way == "operators":
        return isinstance(n, (ast.BinOp, ast.AugAssign)) and isinstance(n.op, OPERATORS)
    if way == "comparisons":
        return isinstance(n, ast.Compare) and isinstance(n.ops[0], COMPARISONS)
    if way == "axes":
        return isinstance(n, ast.keyword) and n.arg == "axis"
    if way == "swaps":
        return isinstance(n, (ast.FunctionDef, ast.For, ast.While, ast.If)) and len(n.body) > 1
    if way == "calls":
        return isinstance(n, ast.Attribute) and any(n.attr in g for g in ALIKE)
    return isinstance(n, ast.BinOp)


def check(case: Case) -> str:
    """As for all cases; a mutant whose module cannot even be loaded is none."""
    try:
        with limited():
            load(case.source, "<mutant>")
    except Exception:
        return "ok"
    return cases.check(case)


# ---- running them -----------------------------------------------------------------------------------------------------


@contextmanager
def limited() -> Iterator[None]:
    """Raise TimeoutError in what takes too long."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def checked(f: Callable[..., Any], *args: Any, others: Any = (), **kwargs: Any) -> None:
    """In the place of tests.support.as_called.check: f compiled against f, if f ends."""
    if set(kwargs) - {"exact", "kinds"}:
        return  # named arguments are for tests of calls
    try:
        with limited(), np.errstate(all="ignore"):
            for given in (args, *others):
                f(*copy.deepcopy(given))
            if any(reads_unwritten(f, given) for given in (args, *others)):
                return
    except TimeoutError:
        return
    except Exception:  # compared below
        pass
    compare.values(f, args, *others, kinds=False)


def reads_unwritten(f: Callable[..., Any], given: Any) -> bool:
    """Does what f returns, or leaves in its arguments, depend on what np.empty happens to give?"""
    found = []
    for fill in (1.5, -3.25):
        with mock.patch("numpy.empty", _filled(np.empty, fill)), mock.patch("numpy.empty_like", _filled(np.empty_like, fill)):
            again = copy.deepcopy(given)
            found.append([f(*again), again])
    return agree(found[0], found[1], lambda: [0.0] * len(flatten(found[1])[0])) != ""


def _filled(make: Callable[..., Any], fill: float) -> Callable[..., Any]:
    def made(*args: Any, **kwargs: Any) -> Any:
        out = make(*args, **kwargs)
        if out.dtype.kind in "iufc":
            out.fill(abs(fill) if out.dtype.kind == "u" else fill)
        return out

    return made


def run_test(space: dict[str, Any], name: str, which: int) -> None:
    """One test of a module, for one of its parameters; what it asserts itself does not count."""
    space["check"] = checked
    test = space[name]
    given: dict[str, Any] = {}
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            names = [n.strip() for n in mark.args[0].split(",")] if isinstance(mark.args[0], str) else list(mark.args[0])
            values = list(mark.args[1])
            value = values[which % len(values)]
            value = (
                getattr(value, "values", value)
                if type(value).__name__ == "ParameterSet"
                else (value,)
                if len(names) == 1
                else value
            )
            given |= dict(zip(names, value))
    _run(lambda: test(**given))


def run_kernel(space: dict[str, Any], name: str, seed: int) -> None:
    """A kernel of tests/kernels on its own arguments; one that others call by them."""
    cases = [(f, make) for f, make in space["CASES"] if f.__name__ == name] or space["CASES"]
    f, make = cases[seed % len(cases)]
    _run(lambda: checked(f, *make(np.random.default_rng(seed))))


def run_page(page: str) -> None:
    """The listing of a page, its compiled functions compared with the plain ones at each call."""

    def compile(f: Any = None, *args: Any, **options: Any) -> Any:
        made = real(f, *args, **options)
        if f is None:
            return lambda g: _both(made(g))
        return _both(made)

    real = irad.compile
    name = "<page>"
    linecache.cache[name] = (len(page), None, page.splitlines(True), name)
    irad.compile = compile
    try:
        _run(lambda: exec(builtins.compile(page, name, "exec"), {"__name__": "case"}))
    finally:
        irad.compile = real


def _both(made: Any) -> Any:
    """A compiled function whose calls, from outside of compiled code, are compared with those of the plain one."""
    if type(made) is Compiled:
        made.__class__ = _Both
    return made


class _Both(Compiled):
    inside = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and not _Both.inside:
            _Both.inside = True
            try:
                checked(self.__wrapped__, *args)
            finally:
                _Both.inside = False
        return super().__call__(*args, **kwargs)


def _run(f: Callable[[], Any]) -> None:
    """Faults and refusals get through; the mutant's own exceptions do not."""
    try:
        f()
    except (Fault, IradError) as e:
        if not (isinstance(e, (IradValueError, IradTypeError)) and e.loc is None):  # an option, or an argument, that cannot be
            raise
    except Exception as e:
        if _ours(e):
            raise
    except BaseException as e:
        if type(e).__name__ not in ("Skipped", "Failed", "XFailed"):  # pytest's own
            raise


def _ours(e: BaseException) -> bool:
    """Was it raised in the compiler, and is no exception of the user's program?"""
    tb, last = e.__traceback__, ""
    while tb is not None:
        last, tb = tb.tb_frame.f_code.co_filename, tb.tb_next
    inside = Path(last).parts
    return ("passes" in inside or "codegen" in inside or "irad" in inside) and isinstance(
        e, (AssertionError, KeyError, AttributeError)
    )
