"""What programs reach in the compiler: ops that passes are given, passes that change something, schedules of kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from irad.codegen.call import build as native
from irad.codegen.kernel import form as kf
from irad.core.ir import Program, walk
from irad.core.lazy_dataclass import replace
from irad.ops import OPS
from irad.passes import manager
from irad.pipeline import PIPELINE

SCHEDULES = (
    "for seq", "for par", "for unroll", "for vec", "vec mix", "vec full", "vec twice", "fold tile", "fold copies", "var lanes", "linscan", "swap",
    "parallel", "call", "raise", "view", "deref", "buffer", "while", "if", "contract",
)  # fmt: skip


def started() -> tuple[Counter[str], Any, Any]:
    """Begin to count. What `stopped` wants."""
    seen: Counter[str] = Counter()
    passes, forms = dict(manager.PASSES), native.kernel_forms

    def counted(name: str, right: Any) -> Any:
        def run(program: Program, **told: Any) -> Program:
            after = right(program, **told)
            ops = {n.op.name for g in program.values() for n in walk(g)}
            seen.update(f"op {o}" for o in ops)
            if any(after.get(k) is not g for k, g in program.items()):
                seen[f"pass {name}"] += 1
                seen.update(f"{o} x {name}" for o in ops)
            return after

        return run

    def looked_at(*args: Any) -> Iterator[Any]:
        for name, kernels in forms(*args):
            seen.update(f"schedule {s}" for k in kernels for t in kf.walk(k.body) for s in schedules(t))
            yield name, kernels

    manager.PASSES.update({n: replace(p, run=counted(n, p)) for n, p in passes.items()})
    native.kernel_forms = looked_at
    return seen, passes, forms


def stopped(found: tuple[Counter[str], Any, Any]) -> dict[str, int]:
    """End it; how often each thing was met."""
    seen, passes, forms = found
    manager.PASSES.update(passes)
    native.kernel_forms = forms
    return dict(seen)


def schedules(s: Any) -> Iterator[str]:
    """Names of what a statement of the kernel form is."""
    if isinstance(s, kf.For):
        yield f"for {s.kind}"
        yield from (f"vec {k}" for k in ("mix", "full", "twice") if getattr(s, k))
    elif isinstance(s, kf.Fold):
        yield from ["fold tile"] * bool(s.shape) + ["fold copies"] * (s.copies > 1)
    elif isinstance(s, kf.Var):
        yield from ["var lanes"] * (s.lanes > 1)
    elif isinstance(s, kf.Let):
        yield from ["linscan"] * isinstance(s.expr, kf.LinScan) + ["contract"] * s.contract
    else:
        yield type(s).__name__.lower()


def report(seen: Counter[str]) -> Iterator[str]:
    """What was never met, and how much of ops x passes was."""
    for kind, names in (("op", OPS), ("pass", dict.fromkeys(PIPELINE)), ("schedule", SCHEDULES)):
        never = sorted(n for n in names if f"{kind} {n}" not in seen)
        yield f"{kind}: {len(names) - len(never)} of {len(names)} met; never: {', '.join(never) or 'none'}"
    pairs = sum(1 for k in seen if " x " in k)
    yield f"ops x passes that changed the program: {pairs} pairs met"
