"""try, the order of evaluation, and sorting: the compiled function against plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.outcomes import INF, NAN, agrees


def skipping(x: np.ndarray) -> float:
    s = 0.0
    for v in x:
        try:
            s = s + math.sqrt(v)
        except ValueError:
            continue
    return s


def test_bad_points_are_skipped_and_have_no_slope() -> None:
    x = np.array([4.0, -1.0, 9.0])
    agrees(skipping, x)
    assert np.allclose(irad.grad(skipping)(x), [0.25, 0.0, 1 / 6])


def element(x: np.ndarray, i: int) -> float:
    try:
        y = float(x[i])
    except IndexError:
        y = -1.0 * i
    else:
        y = y * 2
    finally:
        z = 5.0
    return y + z


@pytest.mark.parametrize("i", [0, 2, 3, -4])
def test_an_index_out_of_bounds_is_caught(i: int) -> None:
    agrees(element, np.arange(3.0) + 1, i)


def several(x: float) -> float:
    s = 0.0
    try:
        s = 1.0
        a = math.log(x)
        s = 2.0
        b = 1 / (x - 1)
        s = 3.0
        return a + b + math.sqrt(x - 3)
    except ZeroDivisionError:
        return s + 10
    except ValueError as e:
        return s + (20.0 if str(e) == "math domain error" else 30.0)


@pytest.mark.parametrize("x", [-2.0, 1.0, 2.0, 4.0])
def test_the_first_exception_decides_and_what_was_done_before_it_stays(x: float) -> None:
    agrees(several, x)


def checked(x: float) -> float:
    if x < 0:
        raise ValueError(f"negative: {x}")
    return math.sqrt(x)


def raised_anew(x: float) -> float:
    try:
        return checked(x)
    except ValueError as e:
        raise RuntimeError(f"bad {x}: {e}") from None


def raised_again(x: float) -> float:
    try:
        return checked(x)
    except ValueError:
        raise


@pytest.mark.parametrize("x", [-2.0, 4.0])
def test_exceptions_of_called_functions_are_caught_and_raised(x: float) -> None:
    agrees(raised_anew, x)
    agrees(raised_again, x)


def left_early(x: np.ndarray) -> Any:
    n = 0
    for i in range(len(x)):
        try:
            if x[i] < 0:
                raise KeyError("k")
            n += 1
            x[i] = 10.0
            if x[i - 1] > 5:
                raise ValueError
            n += 10
        except (KeyError, ValueError):
            n += 100
            break
        else:
            n += 1000
    return n + x


@pytest.mark.parametrize("x", [[1.0, 2.0, -1.0], [-1.0, 2.0, -1.0], [1.0, 2.0, 3.0], [1.0, -2.0, 3.0]])
def test_handlers_may_leave_the_loop_and_stores_stay(x: list[float]) -> None:
    agrees(left_early, np.array(x))


def nested(x: float) -> float:
    try:
        try:
            y = math.sqrt(x)
        except ZeroDivisionError:
            y = 1.0
        if math.sqrt(x - 1) > 0:
            y = 1 / (x - 4)
    except ValueError:
        y = 2.0
    except ZeroDivisionError:
        y = 3.0
    return y


@pytest.mark.parametrize("x", [-1.0, 0.5, 1.0, 4.0, 9.0])
def test_each_exception_finds_its_handler(x: float) -> None:
    agrees(nested, x)


def counted(x: float) -> int:
    k = 0
    while True:
        try:
            k += 1
            math.sqrt(x - k)
        except ValueError:
            break
    return k


@pytest.mark.parametrize("x", [3.5, -1.0, 7.0])
def test_a_loop_may_end_in_its_handler(x: float) -> None:
    agrees(counted, x)


def whole(x: float) -> int:
    try:
        return int(x)
    except (ValueError, OverflowError):
        return 0


def test_what_python_would_go_on_with_is_not_caught() -> None:
    for x in (1.5, NAN, INF):
        agrees(whole, x)
    with pytest.raises(OverflowError, match="64-bit"):
        irad.compile(whole)(1e30)


def test_a_loop_head_that_raises_is_refused() -> None:
    def f(x: float) -> float:
        try:
            while math.sqrt(x) > 1:
                x -= 1
        except ValueError:
            return 0.0
        return x

    with pytest.raises(irad.UnsupportedError, match="test the condition with if"):
        irad.compile(f)(4.0)


def summed(k: int, x: float) -> float:
    if x > 0.9:
        raise ValueError(k)
    return x if k < 1 else summed(k - 1, x + 0.2) + x


def backed_off(k: int, x: float) -> float:
    if x > 0.9:
        raise ValueError(k)
    if k < 1:
        return x
    try:
        return backed_off(k - 1, x + 0.2) + x
    except ValueError:
        return -x


def test_what_a_recursive_function_raises_is_not_let_through() -> None:
    def f(x: float, n: int) -> float:
        try:
            return summed(n, x)
        except ValueError:
            return -1.0

    with pytest.raises(irad.UnsupportedError, match="in a recursive function"):
        irad.compile(f)(0.7, 5)
    with pytest.raises(irad.UnsupportedError, match="in a recursive function"):
        irad.compile(backed_off)(0.7, 5)


def test_what_a_recursive_function_raises_of_other_kinds_goes_through() -> None:
    def f(x: float, n: int) -> float:
        try:
            return summed(n, x)
        except KeyError:
            return -1.0

    agrees(f, -0.9, 5)
    with pytest.raises(ValueError, match="2"):
        irad.compile(f)(0.5, 4)


# ---- the target of an augmented assignment is read first ----------------------------------------------------------


@pytest.mark.parametrize("key", [0, slice(0, 1), [0, 1], -1])
@pytest.mark.parametrize("known", [False, True])
def test_the_target_is_read_before_the_right_side(key: Any, known: bool) -> None:
    def f(x: np.ndarray) -> np.ndarray:
        y = np.zeros(2) if known else x * 1.0

        def store() -> float:
            y[:] = 10.0
            return 3.0

        y[key] += store()
        return y + x

    agrees(f, np.array([2.0, 3.0]))


def test_the_target_in_a_list_or_dict_is_read_before_the_right_side() -> None:
    def f(x: float) -> tuple[float, float]:
        items, table = [x], {"a": x}

        def store() -> float:
            items[0] = table["a"] = 100.0
            return 1.0

        items[0] += store()
        table["a"] *= store() + 1
        return items[0], table["a"]

    agrees(f, 2.0)


# ---- order ---------------------------------------------------------------------------------------------------------


class Ranked:
    """An object with an order and a truth value of its own."""

    def __init__(self, x: Any, tag: float):
        self.x, self.tag = x, tag

    def __lt__(self, other: Ranked) -> Any:
        return self.x < other.x

    def __bool__(self) -> Any:
        return self.x > 0


@pytest.mark.parametrize("a, b", [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (-1.0, 2.0)])
def test_objects_are_ordered_by_their_class(a: float, b: float) -> None:
    agrees(lambda a, b: (max(Ranked(a, 1.0), Ranked(b, 2.0)).tag, min(Ranked(a, 1.0), Ranked(b, 2.0)).tag), a, b)
    agrees(lambda a, b: ((Ranked(a, 1.0) and Ranked(b, 2.0)).tag, (Ranked(a, 1.0) or Ranked(b, 2.0)).tag), a, b)
    agrees(lambda a, b: tuple(v.tag for v in sorted([Ranked(a, 1.0), Ranked(b, 2.0), Ranked(1.5, 3.0)])), a, b)


@pytest.mark.parametrize("a, b", [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (-1.0, 2.0)])
@pytest.mark.parametrize("reverse", [False, True])
def test_sorted_is_stable(a: float, b: float, reverse: bool) -> None:
    agrees(lambda a, b: tuple(sorted([a, b, 1.5], reverse=reverse)), a, b)
    agrees(lambda a, b: tuple(sorted([(a, 1), (b, 2), (1.0, 3)], key=lambda t: t[0], reverse=reverse)), a, b)
    agrees(lambda a, b: tuple(sorted([(a, 1), (b, 2), (1.0, 3)], reverse=reverse)), a, b)
    agrees(lambda a, b: tuple(sorted(range(3), key=lambda k: [a, b, 1.0][k], reverse=reverse)), a, b)


def test_sorted_has_a_slope() -> None:
    assert irad.grad(lambda a, b: sorted([2 * a, b])[0] * 3)(1.0, 5.0) == 6.0


def test_nan_has_no_order() -> None:
    with pytest.raises(ValueError, match="no order"):
        irad.compile(lambda a, b: sorted([a, b])[0])(NAN, 1.0)


# ---- what stands after the one that decides, and what was done before an exception ------------------------------------


@pytest.mark.parametrize("a", [0.5, 1.5, 5.0])
def test_any_and_all_evaluate_no_more_than_they_need(a: float) -> None:
    def f(xs: list[float], a: float) -> Any:
        count = 0

        def seen(v: float) -> float:
            nonlocal count
            count += 1
            return v

        first = any(seen(v) > a for v in xs), count
        second = all(1 / seen(v) < a for v in xs if v != 2.0), count
        third = any(seen(v) * w > a for v in xs for w in xs), count
        return (*first, *second, *third)

    agrees(f, [1.0, 2.0, 3.0, 4.0], a)


@pytest.mark.parametrize("a", [-0.5, 3.0, 100.0])
def test_any_over_an_array_divides_by_no_zero_after_its_end(a: float) -> None:
    agrees(lambda x, a: any(1 / float(v) > a for v in x), np.arange(20.0)[::-1].copy(), a)


@pytest.mark.parametrize("a", [0.0, 1.0])
@pytest.mark.parametrize("b", [0.0, 2.0])
def test_an_exception_in_the_middle_of_a_statement_keeps_what_was_done(a: float, b: float) -> None:
    def f(x: np.ndarray, a: float, b: float) -> Any:
        count, items = 0, [0.0]

        def done(v: float) -> float:
            nonlocal count
            count += 1
            items[0] = x[1] = v + count
            return v

        try:
            y = (1 / done(a)) / done(b)
        except ZeroDivisionError:
            y = -1.0
        return y, count, items[0], x.copy()

    agrees(f, np.ones(3), a, b)


def test_an_exception_known_beforehand_keeps_what_was_done() -> None:
    def f(a: float) -> Any:
        count = 0

        def done(v: float) -> None:
            nonlocal count
            count += 1

        try:
            y = 1 / a + math.log(done(a))  # type: ignore[func-returns-value, arg-type]
        except TypeError:
            y = 5.0
        except ZeroDivisionError:
            y = 6.0
        return count, y

    agrees(f, 2.0)
    agrees(f, 0.0)


# ---- exceptions, by their texts and arguments -------------------------------------------------------------------------


@pytest.mark.parametrize("a, i", [(1.5, 3), (np.float64(1.5), np.int64(3))])
@pytest.mark.parametrize("kind", [ValueError, KeyError])
def test_arguments_of_exceptions_are_numbers(kind: type[Exception], a: Any, i: Any) -> None:
    def several(a: Any, i: Any) -> Any:
        raise kind("at, ", i, a > 0, f"{a:.1f}")

    def one(a: Any, i: Any) -> Any:
        raise kind(i)

    for f in (several, one):
        agrees(f, a, i)
        with pytest.raises(kind) as e:
            irad.compile(f)(a, i)
        assert type(i) in map(type, e.value.args)


def test_arguments_of_exceptions_are_read_in_handlers() -> None:
    def f(a: float) -> float:
        try:
            if a > 0:
                raise ValueError("no", a, 2)
        except ValueError as e:
            return e.args[1] * e.args[2]
        return a

    agrees(f, 3.0)
    agrees(f, -3.0)


@pytest.mark.parametrize("x", [1.0, 0.0, 2])
@pytest.mark.parametrize("y", [0.0, 0])
def test_texts_of_divisions_by_zero(x: Any, y: Any) -> None:
    for f in (lambda x, y: divmod(x, y), lambda x, y: x // y, lambda x, y: x % y, lambda x, y: x / y):
        agrees(f, x, y)


@pytest.mark.parametrize("items", [[1.0, 2.0], (1.0, 2.0), range(2)])
@pytest.mark.parametrize("a", [-2.0, 2.0, -3.0])
def test_texts_of_indices_into_lists(items: Any, a: float) -> None:
    agrees(lambda items, a: items[int(a)], items, a)


@pytest.mark.parametrize("large", [2**63, 10**20, -(2**63) - 1])
def test_an_int_beyond_64_bits_on_the_path_not_taken(large: int) -> None:
    f = lambda a, n: large if a > 0 else n
    agrees(f, -1.0, 3)
    with pytest.raises(OverflowError, match="64 bits"):
        irad.compile(f)(1.0, 3)


# ---- what a called function changes before it raises ----------------------------------------------------------------


class Notes:
    def __init__(self) -> None:
        self.last = 0.0


def in_a_list(x: float, held: Any) -> float:
    if x > 1.0:
        held[0][1] = x
        raise ValueError("large")
    return x


def in_an_array(x: float, held: Any) -> float:
    if x > 1.0:
        held[1][1] = x
        return [1.0][3]
    held[1][0] = 2.0
    return x


def in_an_object(x: float, held: Any) -> float:
    held[2].last = 1.0
    if x > 1.0:
        held[2].last = x
        return undefined(3)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return x


def in_a_dict(x: float, held: Any) -> float:
    if x > 1.0:
        held[3]["a"] = x * 2
        return {}["a"]  # type: ignore[no-any-return]
    return x


@pytest.mark.parametrize("x", [0.5, 1.5])
@pytest.mark.parametrize("inner", [in_a_list, in_an_array, in_an_object, in_a_dict])
def test_handlers_see_what_was_changed_before_the_exception(inner: Any, x: float) -> None:
    def f(x: float) -> Any:
        xs, a, notes, d, s = [x, 0.5], np.zeros(2), Notes(), {"a": 0.0}, 0.0
        try:
            s = inner(x, (xs, a, notes, d))
        except Exception:
            s = -1.0 + xs[1] + a[1] + notes.last + d["a"]
        return s, xs, a, notes.last, d["a"]

    numbers = lambda found: [np.asarray(v).tolist() for v in found]
    assert numbers(irad.compile(f)(x)) == numbers(f(x))
    value = lambda x: (lambda s, xs, a, last, d: s + xs[1] * 2 + a[1] * 3 + last * 5 + d * 7)(*f(x))
    assert irad.grad(value)(x) == pytest.approx((value(x + 1e-6) - value(x - 1e-6)) / 2e-6)
