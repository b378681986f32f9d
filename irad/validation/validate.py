"""Translation validation: a program is run at every stage of the compiler, and the first stage that differs is named.

The meaning of a function is what plain Python and NumPy do; that of a graph what irad.core.interp gives. After "G. Necula, Translation
validation for an optimizing compiler, 2000", by runs instead of proofs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from irad.api import compile, value_and_grad
from irad.call.conditions import Conditions
from irad.call.runtime import statics
from irad.call.specialisation import Specialisation
from irad.core.interp import interpret
from irad.core.ir import Program, types
from irad.core.lazy_dataclass import dataclass
from irad.core.room import checked_extents
from irad.core.tree import flatten
from irad.errors import NO_BOUND, IradError
from irad.frontend.trace import trace
from irad.frontend.values.traced import Traced, record_of
from irad.ops.control import RaisedInGraph
from irad.options import DEFAULT, FLAGS, Options, options
from irad.validation.agreement import agree, noise, other_bits
from irad.validation.derivatives import derivative_differs
from irad.validation.runnable import Outcome, Stage, as_results, interpretable, meaning, native_run, stages


@dataclass(frozen=True)
class Difference:
    """The first stage that differs from what came before it, the program that it started from, and how.

    `differs(program, args)`: how a program, of the same kind, differs at this stage; "" if it does not.
    """

    stage: str
    what: str
    program: Program | None
    args: Sequence[Any]
    differs: Callable[[Program, Sequence[Any]], str]

    def __str__(self) -> str:
        return f"{self.stage}: {self.what}"


class StageDiffers(IradError):
    """Stages of the compiler give different results: a fault of the compiler. `difference`: where, and how to see it again."""

    def __init__(self, difference: Difference):
        super().__init__(f"first stage that differs: {difference}")
        self.difference = difference


def flag_sets() -> list[Options]:
    """No flag of fastmath, then each by itself."""
    return [DEFAULT, *[options(None, None, [flag], None, None) for flag in FLAGS]]


def first_difference(program: Program, args: Sequence[Any], given: Options = DEFAULT, kernels: bool = True) -> Difference | None:
    """Run a graph at every stage; the first that differs from the stage before it, None if there is none.

    A stage that raises an error of the compiler's own differs too. `kernels`: the kernel interpreter too, which is slow.
    """
    reference: Outcome | None = None
    last: Outcome | None = None  # of the stage before
    first = program
    for stage in stages_of(program, given, kernels):
        if reference is None:
            if not interpretable(stage.before):
                continue
            reference = last = meaning(stage.before, args)
            first = stage.before
            if given.fastmath & {"nnan", "ninf"} and not _finite([*args, *reference]):
                return None  # the program breaks the promise that the flag is
        found, got = stage_difference(stage, stage.before, args, reference, first, last)
        last = got or last
        if found:
            return Difference(stage.name, found, stage.before, args, lambda p, xs, stage=stage: _again(stage, p, xs))  # type: ignore[misc]
    return None


def derivative_difference(program: Program, args: Sequence[Any]) -> Difference | None:
    """The first way to differentiate a graph that gives another number than the ways before it; None if there is none."""

    def differs(p: Program, xs: Sequence[Any]) -> str:
        return derivative_differs(p, xs)[1]

    way, what = derivative_differs(program, args)
    return Difference(f"derivative: {way}", what, program, args, differs) if way else None


def native_differs(program: Program, args: Sequence[Any], given: Options) -> bool:
    """Does native code with these options differ from native code without? Much sooner answered than `first_difference`."""
    if given.fastmath & {"nnan", "ninf"} and not _finite(args):
        return False
    try:
        plain = native_run(program, DEFAULT)
        want, got = plain(args), native_run(program, given)(args)
    except Exception:
        return True
    return bool(_compared(got, want, lambda: noise(plain, list(args), want)))


def stages_of(program: Program, given: Options, kernels: bool) -> Any:
    """The stages; an error of the compiler's own while it makes one is a stage that raises it."""
    made = stages(program, given, kernels)
    last: Stage | None = None
    while True:
        try:
            last = next(made)
        except StopIteration:
            return
        except Exception:  # of the pass that the last stage has tried: it was told then
            assert last is not None
            return
        yield last


def _again(stage: Stage, program: Program, args: Sequence[Any]) -> str:
    """How a program differs at a stage by itself."""
    if not interpretable(program):
        return ""
    want = meaning(program, args)
    return stage_difference(stage, program, args, want, program, want)[0]


def stage_difference(
    stage: Stage, before: Program, args: Sequence[Any], want: Outcome, first: Program, last: Outcome | None
) -> tuple[str, Outcome | None]:
    """How the outcome after a stage differs from what is wanted, or ""; and the outcome.

    `first`: the program whose outcome `want` is; `last`: the outcome before the stage.
    """
    try:
        got = stage.run(before, args)
    except Exception as e:
        return f"raises {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}", None
    if got is None:
        return "", None
    got = as_results(got, want)
    found = _compared(got, want, lambda: noise(lambda xs: meaning(first, xs), list(args), want))
    if not found and stage.exact and last is not None:
        found = next((f"result {k}, {b}" for k, (g, w) in enumerate(zip(got, last)) if (b := _bits(g, w))), "")
    return found, got


def _bits(g: Any, w: Any) -> str:
    return (f"{g!r}, not {w!r}" if g != w else "") if isinstance(w, str) else other_bits(g, w)


def _compared(got: Outcome, want: Outcome, spread: Callable[[], list[float] | None]) -> str:
    if len(got) != len(want) and not isinstance((got or [0])[0], str) and not isinstance((want or [0])[0], str):
        return f"{len(got)} results, not {len(want)}"
    return agree(got, want, spread)


def _finite(values: Sequence[Any]) -> bool:
    floats = [np.asarray(v) for v in values if not isinstance(v, str)]
    return all(bool(np.all(np.isfinite(a))) for a in floats if a.dtype.kind in "fc")


# ---- functions ----------------------------------------------------------------------------------------------------------


def validate(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    argnums: Any = None,
    flags: bool = True,
    kernels: bool = True,
    kinds: bool = True,
) -> int:
    """Run a function in every way that there is: plain Python, the graph after each pass, the kernel forms, native code that checks its
    memory and of one and two threads, each flag of fastmath on and off. How many programs were run through the stages.

    `argnums`: of value and gradient with respect to these arguments; then the function is differentiated in every way, too, to second order
    (irad.validation.derivatives); `flags` and `kernels`: with those. `kinds`: see agree.
    Raises StageDiffers, and errors of the front end as `irad.compile` does.
    """
    asked = (f, args, dict(kwargs or {}), argnums, flags, kernels, kinds)
    try:
        return _validate(*asked)
    except StageDiffers as e:
        if NO_BOUND not in e.difference.what:
            raise
    with checked_extents():  # as calls are compiled then
        return _validate(*asked)


def _validate(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], argnums: Any, flags: bool, kernels: bool, kinds: bool
) -> int:
    shown = f if argnums is None else value_and_grad(f, argnums=argnums)
    try:
        traced = trace(shown, tuple(args), kwargs)
    except IradError:
        raise
    except Exception as e:  # the program's own, which it raises whatever the data: there is nothing to run
        raised = e
        _against_python("front end", lambda xs, kw: _raising(raised), f, args, kwargs, kinds)
        return 0
    program = traced.program
    if argnums is None:
        _against_python("front end", lambda xs, kw: _interpreted_call(f, xs, kw), f, args, kwargs, kinds)
    given = _parameters(traced, shown, args, kwargs)
    sets = flag_sets() if flags else [DEFAULT]
    for options_ in sets:
        if options_.fastmath and not native_differs(program, given, options_):
            continue
        found = first_difference(program, given, options_, kernels and options_ is DEFAULT)
        if found:
            named = f"{found.stage} (fastmath {', '.join(options_.fastmath)})" if options_.fastmath else found.stage
            raise StageDiffers(Difference(named, found.what, found.program, found.args, found.differs))
    if argnums is None:
        _call(compile(f), f, args, kwargs, kinds)
    elif found := _derivatives(f, args, kwargs):
        raise StageDiffers(found)
    return len(sets)


def _derivatives(f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Difference | None:
    traced = trace(f, tuple(args), kwargs)
    return derivative_difference(traced.program, _parameters(traced, f, args, kwargs))


def _parameters(traced: Any, f: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The values of the parameters of the traced graph."""
    leaves, tree = flatten((tuple(args), dict(kwargs)))
    found = Conditions(traced, types(traced.graph.params), len(traced.in_leaves)).arguments(f, leaves, statics(tree))
    return [np.array(x)[()] for x in found]


def _raising(e: Exception) -> Any:
    raise e


def _interpreted_call(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call as of the compiled function, its traced graph run by the interpreter."""
    leaves, tree = flatten((args, kwargs))
    return Interpreted(trace(f, args, kwargs, objects=True))(f, leaves, statics(tree))


class Interpreted(Specialisation):
    """A specialisation whose graph is interpreted as it was traced."""

    def __init__(self, traced: Traced):
        self.traced = traced
        self.program, self.native, self.donated = traced.program, self, {}  # type: ignore[assignment]
        self.conditions = Conditions(self.traced, types(traced.graph.params), len(traced.in_leaves))
        self.records = record_of(self.traced)

    def run(self, args: Sequence[Any], kept: dict[int, np.ndarray]) -> list[np.ndarray]:
        """Run the program in the interpreter, in the place of native code."""
        try:
            return [np.array(x) for x in interpret(self.program, *args)]
        except RaisedInGraph as e:
            kept.update((k, np.asarray(x)) for k, x in e.kept.items())
            raise


def _call(compiled: Any, f: Any, args: Sequence[Any], kwargs: Mapping[str, Any], kinds: bool) -> None:
    """Plain Python against a call of the compiled function, twice: the second call may take another path."""
    for name in ("call", "second call"):
        _against_python(name, lambda xs, kw: compiled(*xs, **kw), f, args, kwargs, kinds)


def _against_python(
    stage: str, run: Callable[..., Any], f: Any, args: Sequence[Any], kwargs: Mapping[str, Any], kinds: bool
) -> None:
    """Results, what is raised, and what arguments hold afterwards."""
    mine, theirs = copy.deepcopy((list(args), dict(kwargs))), copy.deepcopy((list(args), dict(kwargs)))
    got = python_outcome(lambda: run(tuple(mine[0]), mine[1]))
    want = python_outcome(lambda: f(*theirs[0], **theirs[1]))

    def moved_run(xs: list[Any]) -> Any:
        again = copy.deepcopy((xs, dict(kwargs)))
        return [python_outcome(lambda: f(*again[0], **again[1])), again[0], again[1]]

    found = agree([got, *mine], [want, *theirs], lambda: noise(moved_run, list(args), [want, *theirs]), kinds)
    if found:
        raise StageDiffers(Difference(stage, found, None, args, lambda p, xs: ""))


def outcome(f: Callable[[], Any]) -> Any:
    """What f returns, or the exception of Python's own that it raises."""
    try:
        with np.errstate(all="ignore"):
            return f()
    except IradError:
        raise
    except Exception as e:
        return e


def python_outcome(f: Callable[[], Any]) -> Any:
    """What f returns, or the type of the exception of Python's own that it raises, as a text."""
    found = outcome(f)
    return f"raises {type(found).__name__}" if isinstance(found, Exception) else found
