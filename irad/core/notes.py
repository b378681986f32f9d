"""What the compiler decided: short records that passes and code generation make where they decide, if somebody asks.

A pass or a lowering gets `notes: Notes | None`; None, as in every ordinary compilation, costs one test. `irad.explain` prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from irad.core.lazy_dataclass import dataclass
from irad.errors import Loc

TOPICS = {
    "mode": "derivatives",
    "registers": "arrays as scalars",
    "contraction": "contractions",
    "fusion": "loops after fusion",
    "recompute": "loops computed again where they are read",
    "memory": "memory in place",
    "loop": "how loops run",
    "tape": "what loops keep for the backward",
    "threads": "threads",
}


@dataclass(frozen=True)
class Decision:
    """One decision. `topic`: a key of `TOPICS`; `text`: what was decided and why, one line; `facts`: the same as data."""

    topic: str
    text: str
    loc: Loc | None
    facts: Mapping[str, Any]

    def __str__(self) -> str:
        return f"line {self.loc.line}: {self.text}" if self.loc else self.text


class Notes:
    """The decisions of one compilation, in the order in which they were taken. `table`: the memory plan of the entry."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.table: Any = None

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def add(self, topic: str, text: str, loc: Loc | None = None, once: bool = False, **facts: Any) -> None:
        """One more. With `once` it is left out if it is there already: code that is emitted for a main part and a rest."""
        assert topic in TOPICS, topic
        d = Decision(topic, text, loc, facts)
        if not once or not any(o.topic == topic and o.text == text and o.loc == loc for o in self.decisions):
            self.decisions.append(d)

    def of(self, topic: str) -> list[Decision]:
        """The decisions of one topic."""
        return [d for d in self.decisions if d.topic == topic]

    def forget(self, topic: str) -> None:
        """Drop those of a topic: what they were about is done again."""
        self.decisions = [d for d in self.decisions if d.topic != topic]


def size_text(n: int) -> str:
    """A number of bytes, as people read it."""
    for unit, step in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= step:
            return f"{n / step:.4g} {unit}"
    return f"{n} bytes"


def label(v: Any, made: Mapping[Any, Any]) -> str:
    """A value as its user knows it: its name, or the operation that makes it. `made`: the node of each value."""
    if v.hint:
        return f"%{v.hint}"
    n = made.get(v)
    if n is None:
        return f"%{v.id}"
    if n.op.name == "pop":
        return "a value from the tape"
    if n.op.name == "loop":
        return f"the {_yielded(n, n.outputs.index(v))}"
    return f"the result of the {n.op.name}" if n.regions else f"the {n.op.name}"


def _yielded(loop: Any, k: int) -> str:
    """The operation that computes result k of a loop; the last one of the body, where that is not so simple."""
    (body,) = loop.regions
    made = {v: m for m in body.nodes for v in m.outputs}
    found = made.get(body.results[k]) if len(body.results) == len(loop.outputs) else None
    computed = [m for m in body.nodes if not m.op.fills and m.op.name != "load"]
    m = found or (computed[-1] if computed else None)
    if m is None or m.op.name == "load":
        return "copy"
    return _yielded(m, found.outputs.index(body.results[k]) if found else 0) if m.op.name == "loop" else str(m.op.name)
