"""The passes of the kernel form: a table, and the loop that runs them. What comes before them is irad.codegen.lower."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import UNPOLLED, work
from irad.codegen.libraries import pool
from irad.codegen.lower.graph import Lowered
from irad.codegen.schedule.skew import skew
from irad.codegen.transform.bounded import bounded
from irad.codegen.transform.interchange import interchanged
from irad.codegen.transform.outline import outlined
from irad.codegen.transform.parallel import shared
from irad.codegen.transform.reserved import reserved
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.notes import Notes
from irad.core.once import import_later
from irad.core.pipelines import in_order
from irad.core.switches import on
from irad.core.types import is_float

Kernels = list[kf.Kernel]


@dataclass(frozen=True)
class Job:
    """What is asked for. `threads`: how many a call may use, None: the default; `contract`: may a*b + c be one fma everywhere?
    `signals`: is there a Python whose signals are to be listened for?"""

    threads: int | None
    contract: bool
    notes: Notes | None
    signals: bool = True


@dataclass(frozen=True)
class KernelPass:
    """A row of the table, see irad.core.pipelines for `needs`, `makes` and `too_late`.

    reserved: records on tapes are at affine places, where trips are known. interchanged: loops over columns whose rows are
    independent run a block of rows at a time. skewed: sweeps that allow it run several rows at a time. laned: trips around scalar
    loops run side by side. shared: loops say whether threads share them. outlined: such loops are kernels of their own. `calls`:
    are its kernels those that call each other (and are shown), or only what is emitted?
    """

    name: str
    doc: str
    run: Callable[[Kernels, Job], Kernels]
    wanted: Callable[[Job], bool]
    needs: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    too_late: tuple[str, ...] = ()
    calls: bool = True


def _late(module: str, name: str, where: Callable[[kf.Stmt], bool]) -> Callable[[Kernels, Job], Kernels]:
    """A pass of one kernel, run on kernels with a statement of such a kind. Most programs have none, so it is imported when one has."""

    def run(kernels: Kernels, job: Job) -> Kernels:
        change = lambda k: getattr(import_later(f"irad.codegen.transform.{module}"), name)(k, job.notes)
        return [change(k) if k.polled and any(map(where, kf.walk(k.body))) else k for k in kernels]

    return run


def _adds(s: kf.Stmt) -> bool:
    return isinstance(s, kf.For) and s.kind == "seq" and any(isinstance(t, kf.Store) and t.add for t in kf.walk(s.body))


def _loads(s: kf.Stmt) -> bool:
    """A loop that runs in order (it is not left to lanes whole) and loads."""
    return (
        isinstance(s, kf.For) and s.kind == "seq" and any(isinstance(t, kf.Let) and isinstance(t.expr, kf.Load) for t in s.body)
    )


def _scalar(s: kf.Stmt) -> bool:
    return (
        isinstance(s, kf.For) and s.kind == "seq" and not any(isinstance(t, kf.For) and t.kind == "vec" for t in kf.walk(s.body))
    )


def _long(s: kf.Stmt) -> bool:
    return isinstance(s, (kf.For, kf.While)) and work([s]) > UNPOLLED


def _is(kind: type) -> Callable[[kf.Stmt], bool]:
    return lambda s: isinstance(s, kind)


def _contracted(kernels: Kernels, job: Job) -> Kernels:
    for k in kernels:
        for s in kf.walk(k.body):
            apply = s.expr if isinstance(s, kf.Let) else None
            if isinstance(s, kf.Let) and isinstance(apply, kf.Apply) and apply.op in ("add", "sub", "mul") and is_float(s.dtype):
                s.contract = True
    return kernels


def _outlined(kernels: Kernels, job: Job) -> Kernels:
    return outlined(kernels, min(job.threads, pool.MOST) if job.threads else pool.default_threads())


FEW = 1000  # statements of a kernel that is not long


def _pieces(kernels: Kernels, job: Job) -> Kernels:
    """Most programs are short, so it is imported when one is not."""
    if all(sum(1 for _ in kf.walk(k.body)) <= FEW for k in kernels):
        return kernels
    return import_later("irad.codegen.transform.pieces").in_pieces(kernels)  # type: ignore[no-any-return]


_ROWS = (
    KernelPass(
        "bounded", "Loops say how many trips they make at most, where checks at the beginning of the kernel bound them.",
        lambda kernels, job: [bounded(k) for k in kernels], lambda job: True, too_late=("shared", "polled"),
    ),
    KernelPass(
        "reserved", "Loops of known trips make room on a tape once; their records are at affine places.",
        lambda kernels, job: [reserved(k) for k in kernels],
        lambda job: on("reserve"), makes=("reserved",), too_late=("interchanged", "shared"),
    ),
    KernelPass(
        "interchanged", "Loops over columns whose rows are independent go through blocks of rows one after another.",
        lambda kernels, job: [interchanged(k, job.notes) if k.polled else k for k in kernels],
        lambda job: on("interchange"), makes=("interchanged",), too_late=("shared",),
    ),
    KernelPass(
        "skewed", "In-place sweeps over two axes run several rows at a time, each some steps behind the one above.",
        lambda kernels, job: [replace(k, body=skew(k.body, job.notes)) if k.polled else k for k in kernels],
        lambda job: on("skew"), makes=("skewed",), too_late=("shared",),
    ),
    KernelPass(
        "joined", "The backward of a trip comes right after its forward, where trips are independent: short tapes.",
        _late("joined_trips", "joined", _is(kf.Deref)),
        lambda job: on("join"), needs=("skewed",), makes=("joined",), too_late=("laned", "shared"),
    ),
    KernelPass(
        "split", "Loops that ask for their own index are in parts, in each of which all trips go the same way.",
        _late("split_trips", "split_trips", _scalar), lambda job: on("split"), needs=("skewed",), too_late=("laned", "shared"),
    ),
    KernelPass(
        "accumulated", "What all trips of a loop add to one element is summed in a register.",
        _late("accumulated", "accumulated", _adds), lambda job: on("accumulate"), needs=("skewed",), too_late=("laned", "shared"),
    ),
    KernelPass(
"laned", "Independent trips around scalar loops run side by side, as lanes; what waits from trip to trip runs before or after them.",
        _late("outer_lanes", "laned", _scalar),
        lambda job: on("lanes"), needs=("skewed",), makes=("laned",), too_late=("contracted", "shared"),
    ),
    KernelPass(
        "contracted", "Every sum and difference may take in a product: fused multiply-add, where the user allows it.",
        _contracted, lambda job: job.contract, too_late=("outlined",),
    ),
    KernelPass(
        "shared", "Loops of much work with independent iterations become `par`.",
        lambda kernels, job: [shared(k) for k in kernels], lambda job: pool.available() and on("parallel"),
        needs=("skewed",), makes=("shared",), too_late=("polled",),
    ),
    KernelPass(
        "selected", "Branches that only choose numbers become selections.",
        _late("branches", "selected", _is(kf.If)), lambda job: on("select"), needs=("skewed",), too_late=("polled", "outlined"),
    ),
    KernelPass(
        "short_circuits", "A branch on what the branch before has just decided moves into that one.",
        _late("branches", "short_circuits", _is(kf.If)), lambda job: on("short_circuits"), needs=("skewed",), too_late=("polled", "outlined"),
    ),
    KernelPass(
        "forwarded", "What a trip stores or loads and the next one loads stays in a register.",
        _late("scalar_replacement", "forwarded", _loads), lambda job: on("forward"), needs=("skewed",), makes=("forwarded",), too_late=("polled", "outlined"),
    ),
    KernelPass(
        "polled", "Long loops listen for signals, chunk by chunk.",
        _late("polled", "polled", _long),
        lambda job: job.signals and hasattr(time, "CLOCK_MONOTONIC") and on("polls"), makes=("polled",), too_late=("outlined",),
    ),
    KernelPass(
        "outlined", "`par` loops become kernels of their own, which the pool of threads calls.",
        _outlined, lambda job: pool.available(), needs=("shared",), makes=("outlined",), calls=False,
    ),
    KernelPass(
        "pieces", "Long kernels call pieces of themselves: LLVM takes more than twice as long for a function of twice the length.",
        _pieces, lambda job: on("pieces"), needs=("shared",), calls=False,
    ),
)  # fmt: skip
KERNEL_PIPELINE = {p.name: p for p in _ROWS}
in_order(KERNEL_PIPELINE, KERNEL_PIPELINE)


def kernel_forms(lowered: Lowered, threads: int | None, contract: bool) -> Iterator[tuple[str, Kernels]]:
    """The kernels as lowered, then after each pass, with its name. `lowered` keeps those that call each other."""
    job = Job(threads, contract, lowered.notes, lowered.outside.python)
    kernels = lowered.kernels
    yield "lower", kernels
    for p in KERNEL_PIPELINE.values():
        if p.wanted(job):
            kernels = p.run(kernels, job)
            if p.calls:
                lowered.kernels = kernels
            yield p.name, kernels
