"""Affine integers, their ranges and the accesses that meet, against numbers tried one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irad.core.affine import Affine, Integer, applied, bounds, coefficient, divisible, fill, substitute, symbol, symbols
from irad.core.dependence import Access, apart, dense, distances, is_empty, meets, told_apart
from irad.core.ir import Value
from irad.core.types import I64, Extent, affine

NAMES = "ijk"
small = st.integers(-4, 4)
point = st.fixed_dictionaries({n: small for n in NAMES})


@st.composite
def forms(draw: Any, names: str = NAMES, most: int = 3) -> Integer:
    coefs = draw(st.dictionaries(st.sampled_from(names), st.integers(-most, most)))
    return Affine.of(draw(small), coefs)


def value(e: Integer, p: dict[Any, int]) -> int:
    """Without the library: the constant and each term by itself."""
    if isinstance(e, int):
        return e
    total = e.const
    for s, c in e.terms:
        for factor in s if isinstance(s, tuple) else (s,):
            c *= p[factor]
        total += c
    return total


@settings(suppress_health_check=[HealthCheck.too_slow])  # what Hypothesis loads at the first draw
@given(forms(), forms(), small, point)
def test_arithmetic_is_that_of_the_values(a: Integer, b: Integer, k: int, p: dict[str, int]) -> None:
    x, y = value(a, p), value(b, p)
    assert value(a + b, p) == x + y and value(a - b, p) == x - y and value(-a, p) == -x
    assert value(a * k, p) == x * k == value(k * a, p) and value(k - a, p) == k - x
    assert value(a * b, p) == x * y and value((a * b) * a, p) == x * y * x
    assert applied("sub", a, b) == a - b and applied("div", a, b) is None


@given(forms(), forms(), small)
def test_equal_integers_have_equal_forms(a: Integer, b: Integer, k: int) -> None:
    for x, y in [((a + b) - b, a), (a + b, b + a), ((a + b) * k, b * k + a * k), (a * b, b * a), (a - a, 0), (a * 0, 0)]:
        assert x == y and hash(x) == hash(y) and type(x) is type(y)
    assert (a == b) == all(value(a, dict(zip(NAMES, p))) == value(b, dict(zip(NAMES, p))) for p in [(0, 0, 0), *units()])


def units() -> Iterator[tuple[int, ...]]:
    return (tuple(int(j == k) for j in range(3)) for k in range(3))


@given(forms(), st.integers(1, 5), point)
def test_division_is_floor_division_or_an_error(a: Integer, k: int, p: dict[str, int]) -> None:
    if divisible(a, k):
        assert value(a // k, p) == value(a, p) // k
    else:
        with pytest.raises(ValueError, match="is not affine"):
            a // k


@given(forms(), forms("jk"), point)
def test_substitution_is_evaluation_with_other_numbers(a: Integer, b: Integer, p: dict[str, int]) -> None:
    where = {"i": b, "j": symbol("k"), "k": 2}
    assert value(substitute(a, where.__getitem__), p) == value(a, {"i": value(b, p), "j": p["k"], "k": 2})
    assert substitute(a, p.__getitem__) == value(a, p)
    assert set(symbols(substitute(a, where.__getitem__))) <= {"j", "k"}


@given(forms(), st.fixed_dictionaries({n: st.tuples(small, st.integers(0, 3)) for n in NAMES}))
def test_bounds_are_met(a: Integer, ranges: dict[str, tuple[int, int]]) -> None:
    spans = {n: (lo, lo + size) for n, (lo, size) in ranges.items()}
    values = [value(a, dict(zip(NAMES, p))) for p in itertools.product(*(range(spans[n][0], spans[n][1] + 1) for n in NAMES))]
    assert bounds(a, spans.__getitem__) == (min(values), max(values))


def test_forms_do_not_change() -> None:
    e = symbol("i") + 1
    with pytest.raises(AttributeError, match="immutable"):
        e.const = 2  # type: ignore[union-attr, misc]
    assert coefficient(e * 3, "i") == 3 and str(e * 3 - symbol("b")) == "-b+3*i+3"


def test_terms_of_extents_stand_in_the_order_of_their_values() -> None:
    n, m = Value(I64, "n"), Value(I64, "m")
    late = affine(0, {m: 1}) + affine(1, {n: 2})
    assert isinstance(late, Extent) and [v for v, _ in late.terms] == [n, m] and str(late) == "2*n+m+1"
    with pytest.raises(TypeError):
        affine(0, {m: 1}) * late  # type: ignore[operator]


# ---- integer points and accesses ---------------------------------------------------------------------------------------


@given(st.lists(forms(), max_size=2), st.lists(forms(), max_size=3))
def test_what_is_called_empty_is(zero: list[Integer], rows: list[Integer]) -> None:
    box = [e for n in NAMES for e in (-symbol(n), symbol(n) - 4)]
    if is_empty(zero, [*rows, *box]):
        for q in itertools.product(range(5), repeat=3):
            p = dict(zip(NAMES, q))
            assert any(value(e, p) for e in zero) or any(value(e, p) > 0 for e in rows)


TRIPS = {"i": 4, "j": 3}


@st.composite
def accesses(draw: Any) -> Access:
    axis = st.tuples(forms("ij", 2), st.one_of(st.none(), st.integers(1, 3)), st.sampled_from([-2, -1, 1, 2]))
    return Access(tuple(draw(st.lists(axis, min_size=1, max_size=2))))


def touched(a: Access, p: dict[str, int]) -> set[tuple[int, ...]]:
    spans = [[value(start, p) + step * t for t in range(1 if size is None else size)] for start, size, step in a.axes]  # type: ignore
    return set(itertools.product(*spans))


@given(accesses(), accesses(), st.sampled_from(["same", "later", "any"]))
def test_accesses_that_do_not_meet_touch_nothing_in_common(a: Access, b: Access, trip: str) -> None:
    """Two statements in `for i: for j`, in the same trip, in a later one of the outer loop, or in any two."""
    domain = lambda s: [-symbol(s), symbol(s) - (TRIPS[s] - 1)]
    other = (lambda s: s) if trip == "same" else (lambda s: s + "'")
    order = [symbol("i") + 1 - symbol("i'")] if trip == "later" else []
    order += [e for s in "ij" if trip != "same" for e in (-symbol(s + "'"), symbol(s + "'") - (TRIPS[s] - 1))]
    places = list(itertools.product(range(4), range(3)))
    pairs = [(p, q) for p in places for q in places if trip == "any" or (p == q if trip == "same" else p[0] < q[0])]
    n = min(len(a.axes), len(b.axes))  # an access of fewer axes is one of whole rows
    front = lambda x, p: {t[:n] for t in touched(x, dict(zip("ij", p)))}
    common = any(front(a, p) & front(b, q) for p, q in pairs)
    assert meets(a, b, domain, other, order) or not common


@pytest.mark.parametrize(
    "a, b, later, met",
    [
        ("i+1", "i", True, True),  # a history: row i + 1 is read as row i in the next trip
        ("i", "i+1", True, False),
        ("2*i", "2*i+1", True, False),  # even and odd
        ("i", "i", True, False),
        ("3*i", "2*i", True, True),
        ("i", "n", True, True),
    ],
)
def test_textbook_dependences_are_decided(a: str, b: str, later: bool, met: bool) -> None:
    scope = {"i": symbol("i"), "n": symbol("n")}
    x, y = (Access.at([eval(text, scope)]) for text in (a, b))  # noqa: S307
    domain = lambda s: [-symbol(s), symbol(s) - 99] if s == "i" else []
    order = [symbol("i") + 1 - symbol("i'"), symbol("i'") - 99]
    assert meets(x, y, domain, lambda s: "i'" if s == "i" else s, order) == met


# ---- loops whose positions are digits ----------------------------------------------------------------------------------

steps = st.sampled_from([-12, -6, -4, -3, -2, -1, 1, 2, 3, 4, 6, 12])
nests = st.fixed_dictionaries({n: st.integers(1, 4) for n in NAMES})


@given(st.lists(st.tuples(st.integers(0, 12), steps, steps, st.integers(1, 3)), min_size=1, max_size=3), steps, nests)
def test_trips_that_are_apart_touch_nothing_in_common(places: list[Any], c: int, trips: dict[str, int]) -> None:
    """Accesses in `for i: for j: for k` at const + c*i + b*j + d*k, of some width."""
    found = [(Affine.of(const, {"i": c, "j": b, "k": d}), width) for const, b, d, width in places]
    spans = {n: (0, trips[n] - 1) for n in NAMES}
    if apart(found, "i", 1, trips["i"], {"j", "k"}, spans.__getitem__):
        seen: dict[int, int] = {}
        for p in itertools.product(*(range(trips[n]) for n in NAMES)):
            for e, width in found:
                at = value(e, dict(zip(NAMES, p)))
                for element in range(at, at + width):
                    assert seen.setdefault(element, p[0]) == p[0]


def test_rows_and_columns_are_apart() -> None:
    """Elements of a matrix of 10 columns that the trips of one of two loops touch."""
    at = 10 * symbol("i") + symbol("j")
    spans = {"i": (0, 7), "j": (0, 9)}.__getitem__
    assert apart([(at, 1)], "i", 1, 8, {"j"}, spans) and apart([(at, 1)], "j", 1, 10, {"i"}, spans)
    assert apart([(at, 1), (at + 1, 1)], "i", 2, 4, {"j"}, spans) and not apart([(at, 1), (at + 1, 1)], "i", 1, 8, {"j"}, spans)
    assert not apart([(at, 1), (at - 10, 1)], "i", 1, 8, {"j"}, spans)


@given(st.lists(forms(), max_size=2), nests)
def test_trips_told_apart_have_places_of_their_own(positions: list[Integer], trips: dict[str, int]) -> None:
    if told_apart(positions, trips):
        points = [dict(zip(NAMES, p)) for p in itertools.product(*(range(trips[n]) for n in NAMES))]
        assert len({tuple(value(e, p) for e in positions) for p in points}) == len(points)


def test_digits_tell_trips_apart() -> None:
    i, j, k = map(symbol, NAMES)
    assert told_apart([8 * i + j, k], {"i": symbol("n"), "j": 8, "k": 5}) and told_apart([i + k, k], {"i": 3, "k": 3})
    assert not told_apart([7 * i + j], {"i": 3, "j": 8}) and not told_apart([i], {"i": 3, "j": 2})


@given(
    st.integers(0, 5), st.lists(st.tuples(steps, st.integers(-2, 2), st.sampled_from([1, 2, 3]), st.integers(1, 4)), max_size=3)
)
def test_what_is_dense_is_filled(width: int, loops: list[Any]) -> None:
    e = Affine.of(3, {n: c for n, (c, *_) in zip(NAMES, loops)})
    found = dense(e, width + 1, [(n, *rest) for n, (_, *rest) in zip(NAMES, loops)])
    if found is not None:
        spans = [range(start, start + step * trips, step) for _, start, step, trips in loops]
        at = [value(e, dict(zip(NAMES, p))) for p in itertools.product(*spans)]
        assert {x + d for x in at for d in range(width + 1)} == set(range(int(found[0]), int(found[1]) + 1))


@given(st.tuples(steps, steps), small, small, st.tuples(st.integers(1, 5), st.integers(1, 5)))
def test_distances_are_those_between_trips_that_meet(coefs: tuple[int, int], a: int, b: int, trips: tuple[int, int]) -> None:
    x, y = (Affine.of(const, dict(zip("ij", coefs))) for const in (a, b))
    points = list(itertools.product(*map(range, trips)))
    at = lambda e, p: value(e, dict(zip("ij", p)))
    want = {tuple(s - r for r, s in zip(p, q)) for p in points for q in points if p < q and at(x, p) == at(y, q)}
    assert set(distances(x, y, list(zip("ij", trips))) or ()) == want


def test_distances_of_other_strides_are_not_known() -> None:
    i, j, n = symbol("i"), symbol("j"), symbol("n")
    loops = [("i", 4), ("j", 4)]
    assert distances(i * 4 + j, i * 4 + j * 2, loops) is None and distances(i * n + j, i * n + j, loops) is None
    assert distances(i * 4 + j + n, i * 4 + j + n, loops, {"n"}) is None
    assert distances(i * 4 + j + n, i * 4 + j + n - 3, loops) == [(1, -1), (0, 3)]


@given(st.lists(st.tuples(small, st.integers(-1, 3)), max_size=4), small, st.integers(0, 5))
def test_ranges_fill_what_they_cover(parts: list[tuple[int, int]], start: int, size: int) -> None:
    spans = [(lo, lo + n) for lo, n in parts]
    covered = {x for lo, hi in spans for x in range(lo, hi + 1)}
    assert fill(spans, (start, start + size - 1)) == (set(range(start, start + size)) <= covered)
