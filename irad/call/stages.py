"""What a function is compiled to, to look at."""

from __future__ import annotations

import html
from typing import Any

from irad.call.compiled import signature
from irad.call.specialisation import donated_parameters
from irad.codegen.call.native import NativeCode
from irad.core.ir import Program
from irad.core.lazy_dataclass import dataclass
from irad.core.notes import Notes
from irad.core.once import import_later
from irad.core.room import bounded
from irad.core.text import show
from irad.core.tree import flatten, is_leaf
from irad.explain import report
from irad.frontend.trace import trace
from irad.frontend.values.traced import Sizes, Spec
from irad.options import DEFAULT, Options, leaves_of, static_leaves
from irad.pipeline import native, optimise


def _run_time_extents(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options) -> Sizes | None:
    """The extents that the option `dynamic` names."""
    if not options.dynamic:
        return None
    leaves, tree = flatten((args, kwargs), lambda x: is_leaf(x) or isinstance(x, Spec))
    if any(isinstance(x, Spec) for x in leaves):  # a type has the extents that it says
        return None
    return Sizes(import_later("irad.call.extents").named(fn, options, args, kwargs, leaves, tree))


class Text(str):
    """A text of many lines, which notebooks show as it is."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


@dataclass(frozen=True)
class Stages:
    """The stages of one specialisation. `passes`: (name, text after it, seconds) of each pass, the traced graph first; `notes`: what
    was decided."""

    program: Program
    passes: tuple[tuple[str, str, float], ...]
    native: NativeCode
    notes: Notes

    def __reduce__(self) -> Any:
        raise TypeError("stages cannot be pickled: they hold machine code of this process; pickle their texts, or the function")

    @staticmethod
    def of(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options = DEFAULT) -> Stages:
        """Trace, optimise and compile, keeping every stage."""
        return bounded(lambda: Stages._of(fn, args, kwargs, options))

    @staticmethod
    def _of(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options) -> Stages:
        notes = Notes()
        extents = _run_time_extents(fn, args, kwargs, options)
        found = trace(
            fn, args, kwargs, static=static_leaves(fn, options, args, kwargs), notes=notes, extents=extents, objects=True
        )
        traced = found.program
        passes = [("input", show(traced), 0.0)]
        observe = lambda name, before, after, seconds: passes.append((name, show(after), seconds))
        leaves = leaves_of(fn, options.donate, args, kwargs)
        donated = donated_parameters(found, leaves)
        for k in leaves:
            info = found.in_leaves[k]
            if k not in donated and info.kind == "ndarray" and info.param is not None:
                name = found.graph.params[info.param].hint or f"argument {k}"
                why = "the function changes or returns it, or it is given twice"
                notes.add("memory", f"%{name} is donated, but its memory is not free: {why}", given=True)
        program = optimise(traced, observe, options, frozenset(donated.values()), notes)
        return Stages(program, tuple(passes), native(program, signature(found.graph), options, notes), notes)

    def __repr__(self) -> str:
        return f"<stages of {next(iter(self.program))}: explain, ir, kernel, llvm, asm; {len(self.passes)} passes>"

    def _repr_html_(self) -> str:
        """What was decided, and each stage to unfold."""
        names = ("ir", "kernel", "llvm", "asm")
        parts = [f"<details><summary>{n}</summary>{Text(getattr(self, n))._repr_html_()}</details>" for n in names]
        return "".join([self.explain._repr_html_(), *parts])

    @property
    def explain(self) -> Text:
        """What was decided, one line each: loops and lanes, contractions, what the backward keeps, memory."""
        return Text(report(self.program, self.native, self.notes))

    @property
    def ir(self) -> Text:
        """The optimised graph."""
        return Text(show(self.program))

    @property
    def kernel(self) -> Text:
        """The kernel form."""
        return Text(self.native.kernel_text)

    @property
    def llvm(self) -> Text:
        """LLVM IR."""
        return Text(self.native.text)

    @property
    def asm(self) -> Text:
        """Assembly of this machine."""
        return Text(self.native.library.asm)
