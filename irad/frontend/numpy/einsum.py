"""np.einsum: any number of operands, ellipsis, implicit output, diagonals; contracted pair by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import Dim, Type
from irad.errors import IradValueError
from irad.frontend.numpy.linalg import contract
from irad.frontend.numpy.reduce import sum_of
from irad.frontend.registry import numpy
from irad.frontend.values.arr import (
    Arr,
    in_f32,
    irad_dtype,
    lift,
    materialise,
    require_equal_dims,
    result_dtype,
    retype_extents,
    show_shape,
)
from irad.frontend.values.index import getitem
from irad.ops import elementwise as ew
from irad.ops.array import iota, reshape_to, transpose_to


@dataclass(frozen=True)
class LabelledOperand:
    """An operand with one label per axis, all different."""

    value: Value
    labels: tuple[str, ...]

    def extent(self, label: str) -> Dim:
        return self.value.type.shape[self.labels.index(label)]


@numpy("einsum")
def einsum(
    *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, order: str = "K", casting: str = "safe"
) -> Arr:
    """np.einsum. Pairs are contracted greedily, whatever `optimize` says. Raises IradValueError for wrong subscripts."""
    inputs, output, arrays = _parse(operands)
    name = irad_dtype(dtype) if dtype is not None else result_dtype(*[lift(a) for a in arrays])
    values = [lift(a, name).value for a in arrays]
    terms = _consistent([_diagonal(v, labels) for v, labels in zip(values, inputs)])
    result = _contract_all(terms, output)
    missing = [c for c in output if c not in result.labels]
    if missing:
        raise IradValueError(
            f"einstein sum subscripts string included output subscript '{missing[0]}' which never appeared in an input"
        )
    perm = [result.labels.index(c) for c in output]
    return Arr(transpose_to(result.value, perm))


# ---- reading the subscripts ----------------------------------------------------------------------------------------


def _parse(operands: Sequence[Any]) -> tuple[list[tuple[str, ...]], tuple[str, ...], list[Any]]:
    """Labels of each operand, labels of the result, operands. An ellipsis becomes labels "0", "1"... counted from the end."""
    if not isinstance(operands[0], str):
        text, arrays = _from_lists(operands)
    else:
        text, arrays = operands[0], list(operands[1:])
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(arrays):
        raise IradValueError(f"einsum: {len(inputs)} terms in '{text}' for {len(arrays)} operands")
    labels = [_expand(term, lift(a).ndim, text) for term, a in zip(inputs, arrays)]
    widest = max((sum(c.isdigit() for c in ls) for ls in labels), default=0)
    dots = tuple(str(k) for k in reversed(range(widest)))
    if arrow:
        output = tuple(c for part in _tokens(right) for c in (dots if part == "..." else (part,)))
    else:
        count = Counter(c for ls in labels for c in ls if not c.isdigit())
        output = dots + tuple(sorted(c for c, k in count.items() if k == 1))
    if len(set(output)) < len(output):
        raise IradValueError(f"einsum: a subscript is repeated in the output of '{text}'")
    return labels, output, arrays


def _tokens(term: str) -> list[str]:
    out, k = [], 0
    while k < len(term):
        step = 3 if term[k : k + 3] == "..." else 1
        out.append(term[k : k + step])
        k += step
    return out


def _expand(term: str, ndim: int, text: str) -> tuple[str, ...]:
    tokens = _tokens(term)
    named = [t for t in tokens if t != "..."]
    if any(not t.isalpha() for t in named) or len(tokens) - len(named) > 1:
        raise IradValueError(f"einsum: '{term}' in '{text}' is not a list of letters with at most one '...'")
    rest = ndim - len(named)
    if rest < 0 or (rest and "..." not in tokens):
        raise IradValueError(f"einsum: '{term}' in '{text}' names {len(named)} axes of an operand that has {ndim}")
    dots = [str(k) for k in reversed(range(rest))]
    return tuple(c for t in tokens for c in (dots if t == "..." else [t]))


def _from_lists(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """einsum(a, [0, 1], b, [1, 2], [0, 2]) as text."""
    letter = lambda k: "..." if k is Ellipsis else "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[k]
    pairs = len(operands) // 2
    terms = ["".join(map(letter, operands[2 * k + 1])) for k in range(pairs)]
    text = ",".join(terms)
    if len(operands) % 2:
        text += "->" + "".join(map(letter, operands[-1]))
    return text, [operands[2 * k] for k in range(pairs)]


# ---- contracting -----------------------------------------------------------------------------------------------------


def _diagonal(v: Value, labels: tuple[str, ...]) -> LabelledOperand:
    """Axes of one label become one axis, their diagonal."""
    for c in dict.fromkeys(labels):
        axes = [k for k, label in enumerate(labels) if label == c]
        if len(axes) < 2:
            continue
        n = v.type.shape[axes[0]]
        for k in axes[1:]:
            words = f"einsum: dimensions in operand for collapsing index '{c}' don't match ({n} != {v.type.shape[k]})"
            require_equal_dims(v.type.shape[k], n, words, "ValueError")
        v = retype_extents(v, tuple(n if k in axes else d for k, d in enumerate(v.type.shape)))
        rest = [k for k in range(v.type.rank) if k not in axes]
        moved = Arr(transpose_to(v, (*rest, *axes)))
        at = Arr(iota(type=Type("i64", (n,)), axis=0))
        v = getitem(moved, (Ellipsis, *[at] * len(axes))).value
        labels = (*(labels[k] for k in rest), c)
    return LabelledOperand(v, labels)


def _consistent(terms: list[LabelledOperand]) -> list[LabelledOperand]:
    """Every label has one extent; extents of 1 that broadcast are kept as they are and dropped when met."""
    extents: dict[str, Dim] = {}
    for t in terms:
        for c in t.labels:
            d = t.extent(c)
            have = extents.setdefault(c, d)
            if have == 1:
                extents[c] = d
            elif d != 1 and d != have:
                words = f"einsum: subscript '{c}' has extents {have} and {d}; shapes are " + ", ".join(
                    show_shape(u.value.type.shape) for u in terms
                )
                require_equal_dims(d, have, words, "ValueError")
    out = []
    for t in terms:
        shape = tuple(1 if t.extent(c) == 1 else extents[c] for c in t.labels)
        v = retype_extents(t.value, shape)
        dropped = [k for k, c in enumerate(t.labels) if shape[k] == 1 and extents[c] != 1]
        keep = [k for k in range(len(shape)) if k not in dropped]
        out.append(LabelledOperand(reshape_to(v, tuple(shape[k] for k in keep)), tuple(t.labels[k] for k in keep)))
    return out


def _contract_all(terms: list[LabelledOperand], output: tuple[str, ...]) -> LabelledOperand:
    needed = lambda others: set(output).union(*(t.labels for t in others))
    terms = [_sum_out(t, needed(terms[:k] + terms[k + 1 :])) for k, t in enumerate(terms)]
    while len(terms) > 1:
        i, j = _cheapest(terms, output)
        rest = [t for k, t in enumerate(terms) if k not in (i, j)]
        terms = [*rest, _pair(terms[i], terms[j], needed(rest))]
    return _sum_out(terms[0], set(output))


def _sum_out(t: LabelledOperand, keep: set[str]) -> LabelledOperand:
    axes = tuple(k for k, c in enumerate(t.labels) if c not in keep)
    if not axes:
        return t
    return LabelledOperand(sum_of(Arr(t.value), axes, t.value.type.numpy).value, tuple(c for c in t.labels if c in keep))


def _cheapest(terms: list[LabelledOperand], output: tuple[str, ...]) -> tuple[int, int]:
    """The pair with the smallest result, in elements less what it frees; run-time extents count as 16."""
    size = lambda labels, extent: int(np.prod([extent[c] for c in labels], dtype=float))
    extent = {c: (d if isinstance(d := t.extent(c), int) else 16) for t in terms for c in t.labels}
    best = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            rest = {c for k, t in enumerate(terms) if k not in (i, j) for c in t.labels}.union(output)
            both = set(terms[i].labels) | set(terms[j].labels)
            gain = size(both & rest, extent) - size(terms[i].labels, extent) - size(terms[j].labels, extent)
            key = (gain, size(both, extent), i, j)
            best = key if best is None or key < best else best
    assert best is not None
    return best[2], best[3]


def _pair(a: LabelledOperand, b: LabelledOperand, keep: set[str]) -> LabelledOperand:
    """Two terms into one: shared labels are summed over unless still needed; a plain product if none is."""
    shared = [c for c in a.labels if c in b.labels]
    batch, inner = [c for c in shared if c in keep], [c for c in shared if c not in keep]
    free_a, free_b = [c for c in a.labels if c not in shared], [c for c in b.labels if c not in shared]
    labels = (*batch, *free_a, *free_b)
    if not inner:
        return LabelledOperand(_product(a, b, labels), labels)
    at = lambda t, cs: [t.labels.index(c) for c in cs]
    v = contract(a.value, b.value, at(a, inner), at(b, inner), at(a, batch), at(b, batch))
    return LabelledOperand(v, labels)


def _product(a: LabelledOperand, b: LabelledOperand, labels: tuple[str, ...]) -> Value:
    extent = {c: t.extent(c) for t in (a, b) for c in t.labels}
    shape = tuple(extent[c] for c in labels)

    def spread(t: LabelledOperand) -> Value:
        order = [c for c in labels if c in t.labels]
        v = transpose_to(t.value, [t.labels.index(c) for c in order])
        return materialise(Arr(reshape_to(v, tuple(extent[c] if c in order else 1 for c in labels))), v.type.dtype, shape)

    return in_f32(ew.mul, spread(a), spread(b))
