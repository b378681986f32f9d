"""From a traced program to native code: the order of the passes, and the last step."""

from __future__ import annotations

from collections.abc import Set

from irad.codegen.call.native import Native, Signature, build
from irad.core.ir import Graph, Program, types
from irad.core.notes import Notes
from irad.core.promotion import of_numpy_2
from irad.core.switches import on
from irad.options import DEFAULT, Options, checks_memory
from irad.passes.analyses.capacity import capacities
from irad.passes.manager import Observer, run

# Derivatives first, on the program as written; then clean-up. `ranges` removes checks, which lets more code move and vanish.
DIFFERENTIATE = ("inline", "dce", "expand", "custom", "complex_parts", "simplify", "fold", "cse", "dce")
FINISH = (
    "result_extents",
    "ranges",
    "simplify",
    "reciprocal",
    "licm",
    "cse",
    "dce",
    "unscatter",
    "scalarize",
    "powers",
    "simplify",
    "fold",
    "cse",
    "shorter_records",
    "linear_carry",
    "cse",
    "dce",
    "versions",
    "fuse_dot",
    "dce",
    "fuse",
    "recompute",
    "unfilled",
    "cse",
    "dce",
    "pingpong",
    "plan",
)
PIPELINE = (*DIFFERENTIATE, *FINISH)


def optimise(
    program: Program,
    observe: Observer | None = None,
    options: Options = DEFAULT,
    donated: Set[int] = frozenset(),
    notes: Notes | None = None,
) -> Program:
    """The program after all passes: fused and planned. `donated`: parameters whose memory results may take. `notes`: see run."""
    with of_numpy_2():
        return run(program, filter(on, PIPELINE), observe, options.fastmath, donated, notes, options.memory_budget)


def signature(entry: Graph) -> Signature:
    """Types of the parameters and results of a graph as it was traced."""
    return types(entry.params), types(entry.results)


def native(program: Program, outside: Signature | None = None, options: Options = DEFAULT, notes: Notes | None = None) -> Native:
    """Native code of an optimised program. `outside`: types that its callers see, complex where the program has pairs."""
    capacity, contract = capacities(next(iter(program.values()))), "contract" in options.fastmath
    check = checks_memory(options)
    return build(program, outside, capacity=capacity, threads=options.threads, contract=contract, notes=notes, check=check)
