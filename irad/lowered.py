"""What a function is compiled to, to look at."""

from __future__ import annotations

from typing import Any

from irad.codegen.native import Native
from irad.frontend.trace import trace
from irad.ir import Program
from irad.pipeline import native, optimise, signature
from irad.records import dataclass
from irad.text import show


@dataclass(frozen=True)
class Lowered:
    """The stages of one specialisation. `passes`: (name, text after it, seconds) of each pass, the traced graph first."""

    program: Program
    passes: tuple[tuple[str, str, float], ...]
    native: Native

    @staticmethod
    def of(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Lowered:
        """Trace, optimise and compile, keeping every stage."""
        found = trace(fn, args, kwargs)
        traced = found.program
        passes = [("input", show(traced), 0.0)]
        program = optimise(traced, lambda name, before, after, seconds: passes.append((name, show(after), seconds)))
        return Lowered(program, tuple(passes), native(program, signature(found.graph)))

    @property
    def ir(self) -> str:
        """The optimised graph."""
        return show(self.program)

    @property
    def kernel(self) -> str:
        """The kernel form."""
        return self.native.kernel_text

    @property
    def llvm(self) -> str:
        """LLVM IR."""
        return self.native.text

    @property
    def asm(self) -> str:
        """Assembly of this machine."""
        return self.native.library.asm
