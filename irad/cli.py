"""The command line: dump a function's graph, run passes on a graph file, run a graph, list the ops, train the example."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from irad import __version__, pipeline
from irad.ahead import command
from irad.api import compile
from irad.call import kept
from irad.call.compiled import Job, signature
from irad.core.interp import resolve_dim
from irad.core.ir import Program, Value, size
from irad.core.notes import Notes
from irad.core.text import load, parse, show
from irad.elsewhere import misspelt
from irad.errors import IradError, IradValueError
from irad.explain import report
from irad.given import UserError, running, traced
from irad.ops import OPS
from irad.options import Options, flags, options
from irad.passes.derivatives.autodiff import grad
from irad.passes.manager import PASSES, run
from irad.train import main as train
from irad.validation.bisect import bisect, smallest, written

_EPILOG = """examples:
  irad dump model.py:loss f64[3] f64[100,3] --grad        the optimised graph of value and gradient by argument 0
  irad dump model.py:loss f64[3] f64[100,3] --steps       after every pass that changed it
  irad explain model.py:loss f64[3] f64[100,3] --grad     what was decided: loops, lanes, contractions, memory
  irad opt graph.irad -p cse,dce --diff                   what two passes change in a graph file
  irad run graph.irad --random 0 --grad                   results and gradients of a graph, native
  irad bisect model.py:loss f64[3] f64[100,3] --grad      which stage of the compiler gives other numbers first
  irad export model.py:loss f64[3] f64[100,3] --grad -o libmodel.so
                                                          a C library and header
  irad train                                              logistic regression and a perceptron on real digits
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `irad` command. Exit codes: 0 success, 1 an error in the input, 2 wrong usage."""
    parser = _parser()
    args = parser.parse_args(argv)
    if not hasattr(args, "run"):
        parser.print_help()
        return 0
    try:
        code = args.run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output has seen enough; nothing more is written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as e:
        print(f"irad: error: {e.filename}: {e.strerror}" if e.filename else f"irad: error: {e}", file=sys.stderr)
    except (IradError, ImportError, UserError) as e:
        print(f"irad: error: {e}", file=sys.stderr)
    return 1


class _Parser(argparse.ArgumentParser):
    """Which says what an unknown command or option is close to."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does it, but a command refuses what it does not know by itself, as it knows its options."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            hint = misspelt(rest[0].partition("=")[0], list(self._option_string_actions))
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '(\w+)'", message)
        super().error(message + (misspelt(wrong[1], re.findall(r"\w+", message[wrong.end() :])[2:]) if wrong else ""))


_TYPES = (
    "argument types, such as f64, f32[3,4], i64[10]; numbers, and texts in quotes ('\"relu\"'), are constants; NAME=TYPE by name"
)
_WRT = "the arguments that --grad is for, by name or position"
_GRAD = "value and gradient by argument 0, as irad.value_and_grad"


def _parser() -> argparse.ArgumentParser:
    p = _Parser(prog="irad", description=__doc__, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--version", action="version", version=f"irad {__version__}")
    sub = p.add_subparsers(metavar="COMMAND")
    _add_dump(sub.add_parser("dump", help="the graph of a Python function, at any stage down to assembly"))
    e = sub.add_parser("explain", help="what was decided for a function: loops, lanes, contractions, memory")
    _add_function(e)
    _add_grad(e)
    _add_ways(e)
    e.set_defaults(run=_explain)
    _add_opt(sub.add_parser("opt", help="run passes on a graph file"))
    _add_run(sub.add_parser("run", help="run a graph file natively"))
    _add_bisect(
        sub.add_parser(
            "bisect", help="which stage of the compiler gives other numbers first, and the smallest graph that shows it"
        )
    )
    o = sub.add_parser("ops", help="the op table")
    o.add_argument("words", nargs="*", metavar="WORD", help="only rows with one of these words in their name or notes")
    o.set_defaults(run=_ops)
    k = kept.add_commands(sub.add_parser("cache", help="the compiled code on disk: ls, clear, path, why"), _job)
    _add_grad(k)
    _add_ways(k)
    command.add_command(sub.add_parser("export", help="a function as a library for C, with its gradient"), _TYPES, _WRT)
    t = sub.add_parser("train", help="train logistic regression and a perceptron on handwritten digits")
    t.add_argument("--epochs", type=_natural, default=30, help="passes over the data (default 30)")
    t.add_argument("--seed", type=_natural, default=0, help="of data, weights and order (default 0)")
    t.set_defaults(run=lambda a: train(a.epochs, a.seed))
    return p


def _add_function(p: argparse.ArgumentParser, what: str = "a function in a file; or FILE.irad, a graph") -> None:
    """A function and the types of its arguments."""
    p.add_argument("function", metavar="FILE.py:FUNC", help=what)
    p.add_argument("types", nargs="*", metavar="TYPE", help=_TYPES)


def _add_grad(p: argparse.ArgumentParser, what: str = f"of {_GRAD}") -> None:
    p.add_argument("--grad", action="store_true", help=what)
    p.add_argument("--wrt", metavar="ARG,ARG", help=_WRT)


def _add_fastmath(p: argparse.ArgumentParser) -> None:
    p.add_argument("--fastmath", metavar="FLAG,FLAG", default="", help="flags of irad.compile's fastmath, or all")


def _add_ways(p: argparse.ArgumentParser) -> None:
    """How a function is compiled."""
    p.add_argument("--threads", type=_natural, metavar="N", help="how many threads a call may use (default: all cores)")
    _add_fastmath(p)


def _add_dump(p: argparse.ArgumentParser) -> None:
    _add_function(p, "a function in a file, or CLASS.METHOD")
    _add_grad(p, _GRAD)
    p.add_argument("--loc", action="store_true", help="source places as comments")
    _add_fastmath(p)
    stage = p.add_mutually_exclusive_group()
    stage.add_argument("--after", metavar="PASS", help="stop after this pass (input: before the first)")
    stage.add_argument("--steps", action="store_true", help="the graph after each pass that changed it, with times")
    stage.add_argument("--diff", action="store_true", help="what each pass changed")
    stage.add_argument("--kernel", action="store_true", help="the kernel form")
    stage.add_argument("--llvm", action="store_true", help="LLVM IR")
    stage.add_argument("--asm", action="store_true", help="assembly")
    p.set_defaults(run=_dump)


def _add_opt(p: argparse.ArgumentParser) -> None:
    p.add_argument("file", metavar="FILE.irad", help="a graph; - for standard input")
    p.add_argument("-p", "--passes", required=True, metavar="PASS,PASS", help=f"of {', '.join(sorted(PASSES))}")
    p.add_argument("--diff", action="store_true", help="show what changed instead of the result")
    _add_fastmath(p)
    p.set_defaults(run=_opt)


def _add_run(p: argparse.ArgumentParser) -> None:
    p.add_argument("file", metavar="FILE.irad")
    source = p.add_mutually_exclusive_group()
    source.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="a parameter's value")
    source.add_argument("--random", type=_natural, metavar="SEED", help="standard normal inputs (integers: 0 to 9)")
    p.add_argument("--grad", action="store_true", help="gradients of the first result by the float parameters too")
    p.set_defaults(run=_run)


def _add_bisect(p: argparse.ArgumentParser) -> None:
    _add_function(p)
    _add_grad(p)
    p.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="an argument's value")
    p.add_argument("--random", type=_natural, metavar="SEED", default=0, help="of the other arguments: as for run (default 0)")
    p.add_argument("--out", type=Path, default=Path("smallest.irad"), metavar="FILE.irad", help="where the graph goes")
    p.add_argument("--seconds", type=_natural, default=60, help="to make it smaller (default 60)")
    p.set_defaults(run=_bisect)


def _natural(text: str) -> int:
    """A number of 0 or more, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return int(text)


# ---- dump -----------------------------------------------------------------------------------------------------


def _traced(a: argparse.Namespace, notes: Notes | None = None) -> Program:
    """The program of the function that the arguments name, or with --grad of its value and gradient."""
    return traced(a.function, a.types, a.grad, a.wrt, notes).program


def _job(a: argparse.Namespace) -> Job:
    """What native code of the function that the arguments name would be made of."""
    program = _traced(a)
    return Job(program, signature(next(iter(program.values()))), options(None, a.threads, _flags(a), None, None))


def _explain(a: argparse.Namespace) -> int:
    notes = Notes()
    if a.function.endswith(".irad"):
        if a.types:
            raise IradValueError(f"{a.function} is a graph, whose parameters have types; leave out {' '.join(a.types)}")
        if a.wrt:
            raise IradValueError("--wrt is for functions; the gradient of a graph is by all of its float parameters")
        program = _load(a.function)
        if a.grad:
            entry = next(iter(program.values()))
            program = grad(program, [k for k, v in enumerate(entry.params) if v.type.differentiable])
    else:
        program = _traced(a, notes)
    given = options(None, a.threads, _flags(a), None, None)
    program = pipeline.optimise(program, None, given, notes=notes)
    print(report(program, pipeline.native(program, None, given, notes), notes))
    return 0


def _dump(a: argparse.Namespace) -> int:
    program = _traced(a)
    names = list(pipeline.PIPELINE)
    if a.after:
        if a.after != "input" and a.after not in names:
            raise IradValueError(f"--after {a.after}: passes are input, {', '.join(dict.fromkeys(names))}")
        names = [] if a.after == "input" else names[: len(names) - names[::-1].index(a.after)]
    if a.steps or a.diff:
        print(f"# input: {size(program)} nodes")
        if a.steps:
            print(show(program, loc=a.loc))
    given = options(None, None, _flags(a), None, None)
    program = run(program, names, _observer(a), given.fastmath)
    if (a.steps or a.diff) and names == list(pipeline.PIPELINE):
        _kernel_steps(program, given, a.diff)
    if a.kernel or a.llvm or a.asm:
        native = pipeline.native(program, None, given)
        print(native.kernel_text if a.kernel else native.text if a.llvm else native.library.asm)
    elif not (a.steps or a.diff):
        print(show(program, loc=a.loc))
    return 0


def _flags(a: argparse.Namespace) -> frozenset[str]:
    return flags(a.fastmath == "all" or [name.strip() for name in a.fastmath.split(",") if name.strip()])


def _observer(a: argparse.Namespace) -> Any:
    def observe(name: str, before: Program, after: Program, seconds: float) -> None:
        old, new = show(before, loc=a.loc), show(after, loc=a.loc)
        changed = "" if old != new else "   (no change)"
        print(f"# {name}: {size(after)} nodes, {seconds * 1e3:.1f} ms{changed}")
        if old != new:
            print(_diff(old, new) if a.diff else new)

    return observe if a.steps or a.diff else None


def _kernel_steps(program: Program, given: Options, as_diff: bool) -> None:
    """Print the kernel form as lowered, and after each of its passes that changed it."""
    old = ""
    for name, new in pipeline.kernel_steps(program, given):
        changed = "" if old != new else "   (no change)"
        print(f"# kernel form, {name}{changed}")
        if old != new:
            print(_diff(old, new) if as_diff and old else new)
        old = new


def _diff(before: str, after: str) -> str:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=99, lineterm=""))
    return "\n".join(lines[3:])


# ---- opt, run, ops, train ---------------------------------------------------------------------------------------


def _load(path: str) -> Program:
    if path == "-":
        try:
            return parse(sys.stdin.read(), "<stdin>")
        except UnicodeDecodeError as e:
            raise IradValueError(f"<stdin> is not a text: {e.reason} at byte {e.start}") from None
    return load(path)


def _opt(a: argparse.Namespace) -> int:
    names = [n.strip() for n in a.passes.split(",")]
    unknown = [n for n in names if n not in PASSES]
    if unknown:
        hint = misspelt(unknown[0], list(PASSES)) or f"; there are {', '.join(sorted(PASSES))}"
        raise IradValueError(f"there is no pass {unknown[0]!r}{hint}")
    before = _load(a.file)
    after = run(before, names, None, _flags(a))
    print((_diff(show(before), show(after)) or "no change") if a.diff else show(after))
    return 0


def _run(a: argparse.Namespace) -> int:
    program = load(a.file)
    entry = next(iter(program.values()))
    args = _inputs(a, entry.params)
    c = compile(program, argnums=tuple(k for k, v in enumerate(entry.params) if v.type.differentiable))
    with _plain_numbers(), running(a.file):
        results, grads = c.value_and_grad(*args) if a.grad else (c(*args), ())
        for k, r in enumerate(results if isinstance(results, tuple) else (results,)):
            print(f"result {k}: {r}")
        for v, g in zip([v for v in entry.params if v.type.differentiable], grads):
            print(f"gradient of {v.hint}: {g}")
    return 0


def _inputs(a: argparse.Namespace, params: Sequence[Any]) -> list[Any]:
    given = {}
    for item in a.input:
        name, eq, path = item.partition("=")
        if not eq:
            raise IradValueError(f"--input {item}: write NAME=FILE.npy")
        if name in given:
            raise IradValueError(f"--input {name} is given twice")
        given[name] = _load_array(path)
    names = [v.hint or str(k) for k, v in enumerate(params)]
    for name in given:
        if name not in names:
            raise IradValueError(f"--input {name}: the graph's parameters are {', '.join(names)}")
    r = np.random.default_rng(a.random)
    out: dict[Value, Any] = {}
    for name, v in zip(names, params):
        if name in given:
            out[v] = given[name]
        elif a.random is None:
            raise IradValueError(f"no value for parameter {name}; give --input {name}=FILE.npy or --random SEED")
        else:
            shape = tuple(resolve_dim(d, out) for d in v.type.shape)
            numbers = (
                r.standard_normal(shape) if v.type.differentiable else r.integers(0, 2 if v.type.dtype == "bool" else 10, shape)
            )
            out[v] = np.asarray(numbers, v.type.numpy)
    return list(out.values())


def _load_array(path: str) -> np.ndarray:
    """The array in a .npy file. Raises IradValueError if it is not one."""
    try:
        with open(path, "rb") as f:
            return np.lib.format.read_array(f, allow_pickle=False)
    except (ValueError, EOFError) as e:
        raise IradValueError(f"{path} is not a .npy file of numbers: {e}") from None


@contextmanager
def _plain_numbers() -> Iterator[None]:
    with np.printoptions(precision=6, threshold=20):
        yield


def _bisect(a: argparse.Namespace) -> int:
    program = _load(a.function) if a.function.endswith(".irad") else _traced(a)
    args = _inputs(a, next(iter(program.values())).params)
    found = bisect(program, args)
    if found is None:
        print(
            "no stage differs: the graph, its form after every pass, the kernel forms, native code and the ways to differentiate it agree"
        )
        return 0
    print(f"first stage that differs: {found}")
    if found.program is not None:
        print(written(smallest(found, a.seconds), a.out))
    return 1


def _ops(a: argparse.Namespace) -> int:
    rows = [("op", "reverse", "forward", "effects", "cost", "notes")]
    for op in OPS.values():
        if a.words and not any(w.lower() in f"{op.name} {op.doc}".lower() for w in a.words):
            continue
        rule = lambda r, op=op: "pass" if op.regions or op.name in ("call", "push", "pop", "tape") else "yes" if r else "-"
        rows.append((op.name, rule(op.vjp), rule(op.jvp), op.effects, f"{op.cost:g}", op.doc))
    if len(rows) == 1:
        raise IradValueError(f"no op has {' or '.join(map(repr, a.words))} in its name or notes")
    widths = [max(map(len, column)) for column in zip(*rows)][:-1]
    for row in rows:
        print("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths)), row[-1]]).rstrip())
    return 0
