"""`irad explain`: what was decided for one compiled function, in the words of the passes and lowerings that decided it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path

from irad.codegen.call.native import NativeCode
from irad.codegen.interface import SLOT
from irad.codegen.kernel import form as kf
from irad.core.ir import Program, Value
from irad.core.notes import TOPICS, Notes, size_text
from irad.core.types import DTYPES, TAPE
from irad.errors import Loc


def report(program: Program, native: NativeCode, notes: Notes) -> str:
    """One line per decision, by topic, and a table of memory. `notes`: of the compilation of `program` to `native`."""
    entry = next(iter(program.values()))
    out = [f"@{entry.name or next(iter(program))}({', '.join(map(_value, entry.params))})"]
    places = _Places([d.loc for d in notes])
    for topic, title in TOPICS.items():
        found = notes.of(topic)
        if found:
            out += ["", title]
            out += [f"  {places(d.loc)}{d.text}" for d in sorted(found, key=lambda d: places.order(d.loc))]
    return "\n".join([*out, "", "memory", *(f"  {line}" for line in _memory(program, native, notes, places))])


class _Places:
    """How places in the user's source are printed: with the file where there are several."""

    def __init__(self, locs: list[Loc | None]):
        self.files = list(dict.fromkeys(l.file for l in locs if l))

    def name(self, loc: Loc | None) -> str:
        if loc is None:
            return "-"
        return f"line {loc.line}" if len(self.files) < 2 else f"{Path(loc.file).name}:{loc.line}"

    def __call__(self, loc: Loc | None) -> str:
        return f"{self.name(loc)}: " if loc else ""

    def order(self, loc: Loc | None) -> int:
        """Files in order of appearance; decisions of one file stay in the order they were taken."""
        return self.files.index(loc.file) if loc else len(self.files)


def _value(v: Value) -> str:
    return f"{v.hint}: {v.type}" if v.hint else str(v.type)


def _memory(program: Program, native: NativeCode, notes: Notes, places: _Places) -> Iterator[str]:
    entry, low = next(iter(program.values())), native.lowered
    t = notes.table
    if t is None or not t.arena:
        yield "arena: none"
    else:
        at = f", at {places.name(t.at)}" if t.at else ""
        yield f"arena: {size_text(t.arena)}, of which {size_text(t.peak)} in use at the peak{at}, by"
        rows = [(f"{h.bytes:,}", h.name, h.type, f"{places.name(h.first)} to {places.name(h.last)}", h.kept) for h in t.holders]
        widths = [max(len(r[k]) for r in rows) for k in range(4)]
        for size, name, kind, span, kept in rows:
            line = f"  {size:>{widths[0]}}  {name:{widths[1]}}  {kind:{widths[2]}}  {span:{widths[3]}}"
            yield line.rstrip() + ("  kept for the backward" if kept else "")
    frame = sum(
        prod(s.shape) * DTYPES[s.dtype].itemsize for k in low.kernels for s in kf.walk(k.body) if isinstance(s, kf.Buffer)
    )
    yield f"small buffers in the frame: {size_text(frame)}"
    results = [v for v in entry.results if v.type != TAPE]
    known = sum(v.type.size * v.type.numpy.itemsize for v in results if v.type.static)
    more = "" if all(v.type.static for v in results) else ", and those whose extents are known at run time"
    yield f"results: {', '.join(str(v.type) for v in results) or 'none'}: {size_text(known)}{more}"
    yield f"constants: {size_text(sum(c.nbytes for c in low.constants))}"
    tapes = (len(low.ctx) - len(low.constant_words)) // SLOT
    yield f"tapes: {tapes}" + (", which grow with the trips of loops" if tapes else "")
