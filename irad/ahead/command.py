"""`irad export`: a function of a file as a library for C."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from irad.ahead.library import BLAS, Exported, export
from irad.api import Compiled, compile
from irad.errors import IradTypeError
from irad.frontend.values.traced import Spec
from irad.given import arguments, load_function, running, wrt_of
from irad.options import flags

_DESCRIPTION = """Write a function as a library for C: NAME.o, NAME.h and libNAME.so (or .a). None of it needs Python.

Beside the outputs each C function takes a workspace, whose size the header states, and returns 0 or a status.
A constant in the place of a TYPE is one of the library. See docs/export.md."""


def add_command(p: argparse.ArgumentParser, types: str, wrt: str) -> None:
    """Add what `irad export` understands. `types`, `wrt`: help on arguments and --wrt."""
    p.formatter_class, p.description = argparse.RawDescriptionHelpFormatter, _DESCRIPTION
    p.add_argument("function", metavar="FILE.py:FUNC", help="a function in a file, or CLASS.METHOD")
    p.add_argument("types", nargs="*", metavar="TYPE", help=types)
    p.add_argument(
        "-o", "--output", required=True, metavar="PATH", help="libNAME.so, libNAME.a, or NAME.o for the object file alone"
    )
    p.add_argument("--grad", action="store_true", help="a function for value and gradient too")
    p.add_argument("--wrt", metavar="ARG,ARG", help=f"{wrt} (default: the first)")
    p.add_argument("--header", metavar="FILE.h", help="where the header goes (default: NAME.h beside the library)")
    p.add_argument("--prefix", metavar="NAME_", help="what C names begin with (default: the name of the library)")
    p.add_argument("--static", action="store_true", help="a static library")
    p.add_argument("--cpu", metavar="CPU", help="such as x86-64-v3 (default: this one)")
    p.add_argument("--target", metavar="TRIPLE", help="such as aarch64-linux-gnu (default: this kind of machine)")
    p.add_argument("--threads", type=int, default=1, metavar="N", help="how many threads a call may use (default 1)")
    p.add_argument("--fastmath", metavar="FLAG,FLAG", default="", help="flags of irad.compile's fastmath, or all")
    p.add_argument("--blas", choices=BLAS, default="none", help="a library for products and linear algebra (default: none)")
    p.add_argument("--tape-bytes", type=int, metavar="N", help="memory for what loops of unknown length keep for the backward")
    p.set_defaults(run=_run)


def _run(a: argparse.Namespace) -> int:
    if a.wrt is not None and not a.grad:
        raise IradTypeError("--wrt says what --grad is for; write both")
    function = load_function(a.function)
    plain = function.__wrapped__ if isinstance(function, Compiled) else function
    given = _by_position(plain, *arguments(a.types))
    args = [str(x.type) if isinstance(x, Spec) else x for x in given]
    fastmath = flags(a.fastmath == "all" or [name.strip() for name in a.fastmath.split(",") if name.strip()])
    static = tuple(k for k, x in enumerate(given) if not isinstance(x, Spec))
    f = compile(plain, static=static, threads=a.threads, fastmath=fastmath)
    wrt = None if a.wrt is None else wrt_of(a.wrt)
    if wrt is None and isinstance(function, Compiled):
        wrt = function.argnums
    with running(a.function):
        made = export(
            f, *args, path=a.output, grad=a.grad, argnums=wrt, prefix=a.prefix, header=a.header, static=a.static, cpu=a.cpu,
            target=a.target, blas=a.blas, tape_bytes=a.tape_bytes,
        )  # fmt: skip
    for line in _told(made):
        print(line)
    return 0


def _by_position(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
    """The arguments in their order, with the defaults of those between; C has no names. Raises IradTypeError where there is none."""
    if not kwargs:
        return args
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except TypeError as e:
        raise IradTypeError(str(e)) from None
    bound.apply_defaults()
    if named := [k for k in kwargs if k in bound.kwargs]:
        raise IradTypeError(
            f"the argument {named[0]!r} has a name only, and C has none; write a function that takes it by position"
        )
    return bound.args


def _told(made: Exported) -> list[str]:
    files = [str(p) for p in (made.library, made.object, made.header) if p is not None]
    functions = [f"  {name}, a workspace of {size:,} bytes" for name, size in zip(made.functions, made.workspace)]
    return [f"wrote {', '.join(files)}", *functions]
