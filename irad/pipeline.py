"""From a traced program to native code: the order of the passes, and the last step."""

from __future__ import annotations

from irad.codegen.native import Native, build
from irad.ir import Program
from irad.passes.manager import Observer, run

# Derivatives first, on the program as written; then clean-up. `ranges` removes checks, which lets more code move and vanish.
DIFFERENTIATE = ("inline", "dce", "expand", "simplify", "fold", "cse", "dce")
FINISH = ("ranges", "simplify", "licm", "cse", "dce", "unscatter", "scalarize", "strength", "simplify", "fold", "cse", "dce", "fuse", "pingpong", "plan")
PIPELINE = (*DIFFERENTIATE, *FINISH)


def optimise(program: Program, observe: Observer | None = None) -> Program:
    """The program after all passes: fused and planned."""
    return run(program, PIPELINE, observe)


def native(program: Program) -> Native:
    """Native code of an optimised program."""
    return build(program)
