"""What a program computes, as bytes: equal bytes mean that the passes and the code generator make the same of it.

Names do not count. Places in the source count only by which nodes share one, so that a program that has moved in its file has the
same bytes; `Fingerprint.locs` are the places, in the order of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from irad.core.ir import Graph, Node, Program, Value
from irad.core.types import Type
from irad.errors import Loc

HOSTS = ("callback", "pure_callback")  # ops that call an object of this process


class Unknown(Exception):
    """A program that means more than its bytes can say: it calls back into this process, or holds objects of Python's."""


class Fingerprint:
    """The bytes of a program. Raises Unknown if it has none."""

    def __init__(self, program: Program):
        self.locs: dict[Loc | None, int] = {}
        self._names: dict[Value, str] = {}
        self._out: list[str] = []
        self._arrays: list[bytes] = []
        for name, graph in program.items():
            self._out.append(f"func {name!r}")
            self._graph(graph)
        self.bytes = b"\0".join(["\n".join(self._out).encode("utf-8", "surrogatepass"), *self._arrays])

    def _graph(self, g: Graph) -> None:
        self._bind(g.params)
        for n in g.nodes:
            self._node(n)
        self._out.append("return " + self._values(g.results))

    def _bind(self, values: Iterable[Value]) -> None:
        """Number what is defined here. Types may mention values that stand beside it."""
        values = list(values)
        for v in values:
            self._names[v] = f"%{len(self._names)}"
        self._out.append(" ".join([v.type.show(self._name) + v.at for v in values]))

    def _name(self, v: Any) -> str:
        return self._names[v] if isinstance(v, Value) else str(v)

    def _values(self, values: Iterable[Value]) -> str:
        return " ".join([self._names[v] for v in values])

    def _node(self, n: Node) -> None:
        name = n.op.name
        if name in HOSTS:
            raise Unknown(f"it calls Python back ({name})")
        attrs = ",".join([f"{k}={self._attribute(x)}" for k, x in n.attrs.items()])
        loc = self.locs.setdefault(n.loc, len(self.locs))
        self._out.append(f"{name}{' d' if n.deriv else ' '}{loc} [{attrs}] {self._values(n.inputs)} {len(n.regions)}")
        for r in n.regions:
            self._graph(r)
        self._bind(n.outputs)

    def _attribute(self, x: Any) -> str:
        cls = type(x)
        if x is None or cls in (bool, int, str, bytes):
            return repr(x)
        if cls is float:
            return x.hex() if x == x else "nan" + np.float64(x).tobytes().hex()
        if cls is complex:
            return f"({self._attribute(x.real)},{self._attribute(x.imag)})"
        if cls in (tuple, list):
            return f"{cls.__name__}({','.join(map(self._attribute, x))})"
        if isinstance(x, Type):
            return "type " + x.show(self._name)
        if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc":
            self._arrays.append(x.tobytes())
            return f"array {x.dtype.str}{x.shape}{len(self._arrays)}"
        if hasattr(x, "show") and cls.__module__.startswith("irad."):  # Extent, Slice, Map, Out
            return f"{cls.__name__} {x.show(self._name)}"
        raise Unknown(f"an attribute of {cls.__module__}.{cls.__qualname__}")
