"""The C function around a kernel, as LLVM text: it lays the caller's workspace out, hands addresses on, and gives a status.

The workspace, from its first address that is a multiple of 64: the error record, the context (addresses of constants, slots of tapes),
results that the caller does not ask for, the arena, and the memory of tapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from irad.ahead.functions import Signature
from irad.ahead.messages import TOO_SMALL
from irad.codegen.interface import ERROR_SLOTS
from irad.codegen.llvm_text import MEMORY
from irad.codegen.lower.graph import Lowered
from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import Type

_LINE = 64


@dataclass
class Function:
    """A function of a library. `kernel`: the name of its kernel; `given`: parameters of the kernel that are constants, by number;
    `results`: types of the kernel's results; `tapes`: words of the tapes, by the words of their slots; `heap`: bytes for what
    grows without a known bound; `statuses`: how many statuses of the library come before its own."""

    name: str
    signature: Signature
    lowered: Lowered
    given: Mapping[int, np.ndarray]
    params: int
    results: Sequence[Type]
    tapes: Mapping[int, int]
    heap: int = 0
    statuses: int = 0
    _places: dict[str, int] = field(default_factory=dict)
    _size: int = 0

    def __post_init__(self) -> None:
        self._place("err", 8 * ERROR_SLOTS)
        self._place("ctx", 8 * (len(self.lowered.ctx) + 1))
        for k in self._hidden():
            self._place(f"r{k}", self.results[k].size * self.results[k].numpy.itemsize)
        self._place("arena", self.lowered.arena)
        for slot, words in self.tapes.items():
            self._place(f"t{slot}", 8 * words)
        if self.heap:
            self._place("heap", self.heap)

    def _place(self, name: str, size: int) -> None:
        self._places[name] = self._size
        self._size += -(-max(size, 1) // _LINE) * _LINE

    def _hidden(self) -> list[int]:
        """Results that no argument of the C function is memory for."""
        asked = {o.result for o in self.signature.outputs}
        return [k for k in range(len(self.results)) if k not in asked]

    @property
    def workspace(self) -> int:
        """Bytes of the workspace, wherever it starts."""
        return self._size + _LINE - 1

    # ---- text ----

    def text(self) -> str:
        """The definition, with the constants that it needs."""
        s = self.signature
        params = [f"{MEMORY[i.type.dtype] if i.by_value else 'ptr'} %i{k}" for k, i in enumerate(s.inputs)]
        params += [f"ptr %o{k}" for k in range(len(s.outputs))]
        head = f"define i32 @{self.name}({', '.join([*params, 'ptr %workspace', 'i64 %size'])}) {{"
        size = f"define i64 @{self.name}_workspace_size() {{\n ret i64 {self.workspace}\n}}"
        return "\n".join([*self._constants(), head, *self._body(), "}", size, *self._declared(), ""])

    def _constants(self) -> Iterator[str]:
        for k, a in enumerate(self.lowered.constants):
            yield f"@constant{k} = constant {_bytes(a)}, align 64"
        for j, a in self.given.items():
            yield f"@given{j} = constant {_bytes(a)}, align 64"

    def _declared(self) -> Iterator[str]:
        yield "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
        if self.heap:
            yield "declare void @irad_heap_begin(ptr, i64)"

    def _body(self) -> Iterator[str]:
        yield from [
            "entry:",
            " %none = icmp eq ptr %workspace, null",
            f" %short = icmp ult i64 %size, {self.workspace}",
            " %bad = or i1 %none, %short",
            " br i1 %bad, label %small, label %go",
            "small:",
            f" ret i32 {TOO_SMALL}",
            "go:",
            " %at = ptrtoint ptr %workspace to i64",
            f" %up = add i64 %at, {_LINE - 1}",
            f" %start = and i64 %up, -{_LINE}",
            " %w = inttoptr i64 %start to ptr",
            *(f" %{name} = getelementptr i8, ptr %w, i64 {offset}" for name, offset in self._places.items()),
            *self._context(),
        ]
        yield from self._call()
        yield from [" %failed = icmp ne i64 %status, 0", " br i1 %failed, label %raised, label %done", "raised:"]
        yield from [" %s32 = trunc i64 %status to i32", f" %code = add i32 %s32, {self.statuses}", " ret i32 %code", "done:"]
        for k, j in self.signature.changes:
            yield self._copied(f"%i{k}", self._result(j), self.results[j])
        for k, o in enumerate(self.signature.outputs):
            if o.copy is not None:
                yield from self._given_back(k, o.copy)
            elif self._result(o.result or 0) != f"%o{k}":
                yield self._copied(f"%o{k}", self._result(o.result or 0), o.type)
        yield " ret i32 0"

    def _context(self) -> Iterator[str]:
        """The words of the context, as they are before each call."""
        constants = dict(zip(self.lowered.constant_words, range(len(self.lowered.constants))))
        for w in range(len(self.lowered.ctx)):
            yield f" %c{w} = getelementptr i64, ptr %ctx, i64 {w}"
            if w in constants:
                yield f" store ptr @constant{constants[w]}, ptr %c{w}"
            elif w in self.tapes:
                yield f" store ptr %t{w}, ptr %c{w}"
            else:
                yield f" store i64 {self.tapes.get(w - 1, 0)}, ptr %c{w}"
        if self.heap:
            yield f" call void @irad_heap_begin(ptr %heap, i64 {self.heap})"

    def _call(self) -> Iterator[str]:
        args = {}
        for k, i in enumerate(self.signature.inputs):
            args[i.param] = f"%i{k}"
            if i.by_value:
                ty = MEMORY[i.type.dtype]
                yield f" %m{k} = alloca {ty}, align 8"
                yield f" store {ty} %i{k}, ptr %m{k}"
                args[i.param] = f"%m{k}"
        args |= {j: f"@given{j}" for j in self.given}
        given = [args[k] for k in range(self.params)] + [self._result(k) for k in range(len(self.results))]
        every = ", ".join(f"ptr {a}" for a in [*given, "%arena", "%ctx", "%err"])
        yield f" %status = call i64 @{self.lowered.kernels[0].name}({every})"

    def _result(self, k: int) -> str:
        """Where a result of the kernel is made."""
        asked = [j for j, o in enumerate(self.signature.outputs) if o.result == k]
        return f"%o{asked[0]}" if asked else f"%r{k}"

    def _given_back(self, k: int, j: int) -> Iterator[str]:
        """Output k is argument j."""
        i = self.signature.inputs[j]
        if i.by_value:
            yield f" store {MEMORY[i.type.dtype]} %i{j}, ptr %o{k}"
        else:
            yield self._copied(f"%o{k}", f"%i{j}", i.type)

    @staticmethod
    def _copied(to: str, start: str, t: Type) -> str:
        return f" call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {start}, i64 {t.size * t.numpy.itemsize}, i1 false)"


def _bytes(a: np.ndarray) -> str:
    data = np.ascontiguousarray(a).tobytes()
    return f'[{len(data)} x i8] c"{"".join(f"{chr(92)}{b:02X}" for b in data)}"'
