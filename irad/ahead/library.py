"""`irad.export`: a function and its gradient as a library for C."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from irad import pipeline
from irad.ahead import link, messages
from irad.ahead.entry import Function
from irad.ahead.functions import checked_prefix, prefix_of, signature
from irad.ahead.header import header as header_text
from irad.api import Compiled, value_and_grad
from irad.api import Function as Transformed
from irad.codegen import llvm_files
from irad.codegen.call.build import Text, generate
from irad.codegen.jit import HOST, Target, check_target, linked_object, registers
from irad.codegen.kernel import form as kf
from irad.codegen.libraries import pool
from irad.codegen.libraries.outside import Outside
from irad.core import disk
from irad.core.ir import Program, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.tree import flatten, is_leaf
from irad.core.types import Type, parse_type, type_of
from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.arguments import definition
from irad.frontend.trace import trace
from irad.frontend.values.traced import Spec, Traced
from irad.ops.scipy_special import PREFIX
from irad.options import DEFAULT, Options, parameters
from irad.passes.analyses.tape_bounds import tape_bounds

_ENDS = (".so", ".dylib", ".a", ".o")
BLAS = {"none": Outside(False, "none"), "openblas": Outside(False, "cblas")}
_LIBRARIES = {"none": (), "openblas": ("-lopenblas",)}
_HEAD = 64  # bytes that a block of memory takes beside what was asked for, at most
_KINDS = {"float": "f64", "int": "i64", "complex": "c128"}  # Python's numbers


@dataclass(frozen=True)
class Exported:
    """What was written. `library`: the shared or static library, None if only an object file was asked for; `functions`: names of
    the C functions that compute; `workspace`: bytes that each of them needs."""

    library: Path | None
    object: Path
    header: Path
    functions: tuple[str, ...]
    workspace: tuple[int, ...]


@dataclass(frozen=True)
class Request:
    """How to make a library. `tape_bytes`: memory for what grows without a bound that is known."""

    prefix: str
    target: Target
    outside: Outside
    options: Options
    tape_bytes: int | None


def export(
    f: Callable[..., Any],
    *args: Any,
    path: str | Path,
    grad: bool = False,
    argnums: Any = None,
    prefix: str | None = None,
    header: str | Path | None = None,
    static: bool = False,
    cpu: str | None = None,
    target: str | None = None,
    blas: str = "none",
    tape_bytes: int | None = None,
) -> Exported:
    """Write a function as a library for C: an object file, a header, and a shared or static library; none of it needs Python.

    `args`: for each argument of `f` its type ("f64[3]", "f32", "i64[10]"; "float", "int" and "complex" are Python's numbers) or an
    example, of which only the types count; both in tuples, lists and dicts too. `path`: of the library, which ends in .so, .dylib or
    .a; or of the object file alone, which ends in .o. The object file and the header (`header`, else NAME.h) are written beside it.

    `grad`: a function for value and gradient too, by the argument `argnums` (one or several, by position or name; None: as `f` was
    compiled, else the first). `prefix`: what C names begin with, else the name of the library. `static`: a static library, whatever
    the path says. `cpu`: which CPU the code is for, as LLVM names them ("x86-64-v3", "znver3"; None: this one, or any of another `target`);
    `target`: the kind of machine ("aarch64-linux-gnu"; None: this one). `blas`: "none", where products are generated code and LAPACK is
    refused, or "openblas", which the library is linked with. `tape_bytes`: memory for what grows from trip to trip of a loop whose
    length is not known, or in a recursion.

    The options of a compiled `f` hold (`threads`, which is 1 if it is not set, `fastmath`, `static`). What `f` captures is
    as it is now. Raises IradError kinds at the line of `f` for what has no form without Python, IradValueError for an option that
    cannot be, IradError if nothing here can link a library: the object file and the header are there then.

    >>> def energy(x):
    ...     return np.sum(x**4)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = irad.export(energy, "f64[3]", path=folder / "energy.o", grad=True)
    >>> sorted(p.name for p in folder.iterdir())
    ['energy.h', 'energy.o']
    """
    out, triple = Path(path), target
    if out.suffix not in _ENDS:
        raise IradValueError(f"path: a name that ends in one of {', '.join(_ENDS)}, not {str(path)!r}")
    if blas not in BLAS:
        raise IradValueError(f"blas: one of {', '.join(map(repr, BLAS))}, not {blas!r}")
    if static and out.suffix != ".o":
        out = out.with_suffix(".a")
    stem = out.stem.removeprefix("lib") or out.stem
    given = f.options if isinstance(f, (Compiled, Transformed)) else DEFAULT
    request = Request(
        checked_prefix(prefix if prefix is not None else prefix_of(stem)),
        HOST if cpu is None and triple is None else Target(cpu or "generic", triple),
        BLAS[blas],
        given,
        _bytes(tape_bytes),
    )
    check_target(request.target)
    obj = out.with_name(f"{stem}.o") if out.suffix != ".o" else out
    head = Path(header) if header is not None else out.with_name(f"{stem}.h")
    functions, data, text = _made(f, args, request, grad, argnums, out.name, blas)
    obj.write_bytes(data)
    head.write_text(text, encoding="utf-8")
    if out.suffix == ".a":
        link.static(obj, out, triple)
    elif out.suffix != ".o":
        link.shared(obj, out, _LIBRARIES[blas], triple)
    names, sizes = tuple(x.name for x in functions), tuple(x.workspace for x in functions)
    return Exported(None if out.suffix == ".o" else out, obj, head, names, sizes)


def _bytes(n: Any) -> int | None:
    if n is None or isinstance(n, int) and not isinstance(n, bool) and n > 0:
        return n
    raise IradValueError(f"tape_bytes: a positive number of bytes, not {n!r}")


def _made(
    f: Any, args: Sequence[Any], request: Request, grad: bool, argnums: Any, name: str, blas: str
) -> tuple[list[Function], bytes, str]:
    """The functions of a library, its object file and its header."""
    plain = f.__wrapped__ if isinstance(f, Compiled) else f
    static = set(_positions(plain, request.options.static))
    specs = tuple(x if k in static else _spec_of(x) for k, x in enumerate(args))
    wanted: list[tuple[str, Any, Sequence[int]]] = [("value", plain, ())]
    if grad:
        by = argnums if argnums is not None else f.argnums if isinstance(f, Compiled) else 0
        wanted.append(
            ("value_and_grad", value_and_grad(plain, by), _positions(plain, by if isinstance(by, (tuple, list)) else (by,)))
        )
    functions: list[Function] = []
    texts: list[str] = []
    codes: list[messages.Message] = []
    for kind, fn, wrt in wanted:
        made, text = _function(request, request.prefix + kind, fn, specs, static, wrt, len(codes))
        functions.append(made)
        texts += [text.text + made.text()]
        codes += map(messages.message, text.lowered.raises)
    texts += _support(texts, request)
    fingerprint = int(disk.digest(*(t.encode() for t in texts), repr(request.target).encode())[:15], 16)
    texts.append(messages.module(request.prefix, codes, fingerprint))
    exports = (
        {x.name for x in functions}
        | {f"{x.name}_workspace_size" for x in functions}
        | {request.prefix + n for n in ("message", "describe", "fingerprint")}
    )
    data = linked_object(texts, exports, request.target)
    what = getattr(plain, "__name__", "a function")
    at = definition(plain)
    docs = [f"The value of {what}.", f"The value of {what} and its gradient."]
    place = f" ({Path(at.file).name}:{at.line})" if at is not None else ""
    about = [f"{what}{place}, compiled by irad.", f"Made for {request.target.cpu or 'the CPU of the machine that made it'}"]
    about[1] += f", {request.target.triple}." if request.target.triple else "."
    about += [f"Linked with {' '.join(_LIBRARIES[blas])}."] if _LIBRARIES[blas] else []
    return functions, data, header_text(name, request.prefix, functions, docs, about, fingerprint)


# ---- arguments -------------------------------------------------------------------------------------------------------------


def _spec_of(x: Any) -> Any:
    """An argument with its types in the place of its numbers and arrays."""
    leaves, tree = flatten(x, lambda x: is_leaf(x) or isinstance(x, (str, Type, Spec)))
    return tree.unflatten([_spec(leaf) for leaf in leaves])


def _spec(x: Any) -> Spec:
    if isinstance(x, Spec):
        return x
    if isinstance(x, Type):
        return Spec(x)
    if isinstance(x, str):
        if x in _KINDS:
            return Spec(Type(_KINDS[x]), x)
        return Spec(parse_type(x), "ndarray" if "[" in x else "generic")
    try:
        kind = "ndarray" if isinstance(x, np.ndarray) else "generic" if isinstance(x, np.generic) else type(x).__name__
        return Spec(type_of(x), kind)
    except (TypeError, OverflowError) as e:
        raise IradTypeError(str(e)) from None


def _positions(f: Any, which: Sequence[int | str]) -> list[int]:
    """Positions of arguments that are given by position or name."""
    names = parameters(f)[0]
    for k in which:
        if isinstance(k, str) and k not in names:
            raise IradValueError(f"{getattr(f, '__name__', 'the function')} has no argument {k!r}; it takes {', '.join(names)}")
    return [names.index(k) if isinstance(k, str) else k for k in which]


def _static_leaves(args: Sequence[Any], static: set[int]) -> frozenset[int]:
    at, found = 0, set()
    for k, x in enumerate(args):
        size = flatten(x, lambda x: is_leaf(x) or isinstance(x, Spec))[1].size
        found |= set(range(at, at + size)) if k in static else set()
        at += size
    return frozenset(found)


# ---- one function ----------------------------------------------------------------------------------------------------------


def _function(
    request: Request, name: str, fn: Any, args: Sequence[Any], static: set[int], wrt: Sequence[int], statuses: int
) -> tuple[Function, Text]:
    """A C function and the text of its kernels."""
    traced = trace(fn, args, {}, static=_static_leaves(args, static))
    signed = signature(fn, traced, bool(wrt), wrt)
    program = pipeline.optimise(traced.program, None, request.options)
    entry = next(iter(program.values()))
    _check(program)
    bounds = tape_bounds(program)
    text = generate(
        program,
        registers=registers(request.target),
        threads=request.options.threads or 1,
        contract="contract" in request.options.fastmath,
        outside=request.outside,
        grow=llvm_files.read("lower", "grow_never" if bounds.known else "grow_within"),
    )
    scratch = _scratch(text.lowered.kernels)
    grown = _grown(text.lowered.kernels)
    slots = {slot: bounds.words.get(v, inf) for v, slot in text.lowered.tapes.items() if slot in grown}
    tapes = {slot: int(words) for slot, words in slots.items() if words < inf} if bounds.known else {}
    heap = scratch = inf if scratch and bounds.inner else scratch
    if grown and not bounds.known or bounds.inner and text.lowered.grows or scratch == inf:
        if request.tape_bytes is None:
            raise UnsupportedError(
                "how much memory this needs is not known before it runs, and exported code gets all of its memory from the caller: "
                "say how many bytes are enough for all that is kept, tape_bytes=N (--tape-bytes N); a call that needs more "
                "gives a status",
                bounds.unbounded,
            ).at(definition(fn))
        heap = request.tape_bytes + (scratch if scratch < inf else 0)
    given = {traced.parameter(("capture", k)): _capture(c, fn, traced) for k, c in enumerate(traced.captures)}
    made = Function(
        name, signed, text.lowered, given, len(entry.params), [v.type for v in entry.results], tapes, int(heap), statuses
    )
    return made, text


def _capture(c: Any, fn: Any, traced: Traced) -> np.ndarray:
    """What a function captures, as it is now."""
    value = c.get(fn, traced.in_tree.statics)
    return np.ascontiguousarray(value, c.type.numpy).reshape(c.type.dims)


def _check(program: Program) -> None:
    """Refuse functions that only SciPy has."""
    for n in (n for g in program.values() for n in walk(g)):
        if n.op.name.startswith(PREFIX):
            name = n.op.name.removeprefix(PREFIX)
            raise UnsupportedError(
                f"scipy.special.{name} runs in SciPy's own code, which exported code does without: write it with functions that irad "
                "has (docs/scipy.md), or pass its values as an argument",
                n.loc,
            )


def _scratch(kernels: Sequence[kf.Kernel]) -> float:
    """Bytes of memory that operations ask for while they run, each of them once."""
    total: float = 0
    for k in kernels:
        sizes = {s.name: s.expr.args[0] for s in kf.walk(k.body) if isinstance(s, kf.Let) and isinstance(s.expr, kf.Apply)}
        for s in kf.walk(k.body):
            if isinstance(s, kf.Call) and s.symbol == "malloc":
                size = sizes.get(s.args[0]) if isinstance(s.args[0], str) else None
                total += size + _HEAD if isinstance(size, int) else inf
    return total


def _grown(kernels: Sequence[kf.Kernel]) -> set[int]:
    """The slots of the context whose tapes are pushed on in the end, here or in what is called: passes of the kernel form have others
    in memory of the kernel's own."""
    found = [s for k in kernels for s in kf.walk(k.body)]
    given = {a for s in found if isinstance(s, kf.Call) for a in s.args if isinstance(a, str)}
    views = [s for s in found if isinstance(s, kf.View) and s.buf == "ctx" and s.name in given]
    return {s.offset for s in views if isinstance(s.offset, int)}


def _support(texts: Sequence[str], request: Request) -> list[str]:
    """Modules that the others need."""
    declared = lambda *names: any(f"@{name}(" in text for name in names for text in texts)
    out = []
    if declared("malloc", "realloc", "free", "irad_heap_begin"):
        out.append(llvm_files.read("libraries", "heap"))
    if declared(pool.PARALLEL):
        several = (request.options.threads or 1) > 1
        out.append(pool.text(_machine(request.target)) if several else llvm_files.read("libraries", "serial"))
    return out


def _machine(target: Target) -> str:
    return target.triple.split("-")[0] if target.triple is not None else platform.machine()
