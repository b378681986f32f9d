"""From a traced program to native code: the order of the passes, and the last step."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set

from irad.codegen.call.build import build
from irad.codegen.call.native import NativeCode
from irad.codegen.interface import Signature
from irad.codegen.jit import registers
from irad.codegen.kernel.show import show
from irad.codegen.lower.arena import arena_size
from irad.codegen.lower.graph import lower
from irad.codegen.transform.manager import kernel_forms
from irad.core.ir import Program
from irad.core.notes import Notes
from irad.core.pipelines import in_order
from irad.core.promotion import of_numpy_2
from irad.core.switches import on
from irad.errors import IradError, VerifyError
from irad.options import DEFAULT, Options, checks_memory
from irad.passes.analyses.capacity import capacities
from irad.passes.manager import PASSES, Observer, run

SIMPLER = ("simplify", "fold", "cse")
SWEEP = ("cse", "dce")
# Of the program as written
DIFFERENTIATE = ("inline", "dce", "stored_views", "cse", "expand", "custom", "complex_parts", *SIMPLER, "dce")
REDUCE = ("result_extents", "ranges", "simplify", "reciprocal", "licm", *SWEEP, "unselect", "unscatter",
          "scalarize", "powers", *SIMPLER)  # fmt: skip
LOOPS = ("shorter_records", "linear_carry", *SWEEP, "versions", "fuse_dot", "dce", "fuse", "recompute", "unfilled", *SWEEP)
MEMORY = ("pingpong", "plan")
FINISH = (*REDUCE, *LOOPS, *MEMORY)
PIPELINE = in_order((*DIFFERENTIATE, *FINISH), PASSES)


def optimise(
    program: Program,
    observe: Observer | None = None,
    options: Options = DEFAULT,
    donated: Set[int] = frozenset(),
    notes: Notes | None = None,
    steps: Sequence[str] | None = None,
) -> Program:
    """The program after all passes, or some `steps`: fused and planned. `donated`: parameters whose memory results may take.
    `notes`: see run.

    The verifier takes an eighth of the time of the passes, so users' programs meet it at the end. Where something is wrong
    there, or a pass fails, all runs again with a check after each pass, and the error names the first that is to blame.
    """
    told = (observe, options.fastmath, donated, notes, options.memory_budget)
    each = observe is not None or os.environ.get("IRAD_VERIFY") == "1"
    with of_numpy_2():
        try:
            return run(program, filter(on, steps or PIPELINE), *told, each)
        except Exception as e:
            if each or isinstance(e, IradError) and not isinstance(e, VerifyError):
                raise
            run(program, filter(on, steps or PIPELINE), *told)
            raise


def kernel_steps(program: Program, options: Options = DEFAULT) -> Iterator[tuple[str, str]]:
    """The kernel form of an optimised program as lowered, then after each of its passes: names and texts."""
    lowered = lower(program, arena_size(next(iter(program.values()))), registers=registers())
    for name, kernels in kernel_forms(lowered, options.threads, "contract" in options.fastmath):
        yield name, "\n".join(map(show, kernels))


def native(
    program: Program, outside: Signature | None = None, options: Options = DEFAULT, notes: Notes | None = None
) -> NativeCode:
    """Native code of an optimised program. `outside`: types that its callers see, complex where the program has pairs."""
    capacity, contract = capacities(next(iter(program.values()))), "contract" in options.fastmath
    check = checks_memory(options)
    return build(program, outside, capacity=capacity, threads=options.threads, contract=contract, notes=notes, check=check)
