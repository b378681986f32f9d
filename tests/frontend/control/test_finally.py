"""What runs however a block is left: before the handler further out that catches the exception, and once."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.outcomes import agrees


def finally_alone(n: int, d: int) -> int:
    try:
        try:
            q = n // d
        finally:
            n = n + 1
    except ZeroDivisionError:
        return n * 100
    return n + q


def another_exception_in_the_handler(n: int, d: int) -> int:
    q = 1
    try:
        try:
            q = n // d
        except ZeroDivisionError:
            raise KeyError("a") from None
        finally:
            n = n + 1
    except KeyError:
        n = n * 100
    return n + q


def known_when_compiled(n: int, d: int) -> int:
    try:
        try:
            raise IndexError
        except IndexError:
            raise KeyError("a") from None
        finally:
            n = n + d
    except KeyError:
        n = n * 100
    return n


def raised_in_else(n: int, d: int) -> int:
    try:
        try:
            q = 1
        except KeyError:
            q = 2
        else:
            q = n // d
        finally:
            n = n + 1
    except ZeroDivisionError:
        return n * 100
    return n + q


def three_deep_in_a_loop(n: int, d: int) -> int:
    for k in range(4):
        try:
            try:
                try:
                    n = n + 10 // (d - k)
                except KeyError:
                    n = 0
                finally:
                    n = n + 1
                n = n + 5
            finally:
                n = n * 2
        except ZeroDivisionError:
            n = n - 3
        n = n + k
    return n


def local_in_a_called_function(n: int, d: int) -> int:
    def quotient(m: int) -> int:
        try:
            return m // d
        finally:
            m = m + 1

    try:
        q = quotient(n)
    except ZeroDivisionError:
        return n * 100
    return n + q


def store_in_a_called_function(n: int, d: int) -> Any:
    x = np.zeros(2)

    def quotient(m: int) -> int:
        try:
            return m // d
        finally:
            x[0] += 1

    try:
        q = quotient(n)
    except ZeroDivisionError:
        return x[0]
    return x[0] + q


def jump_in_finally(n: int, d: int) -> int:
    for _ in range(2):
        try:
            try:
                n = n // d
            finally:
                break  # noqa: B012
        except ZeroDivisionError:
            n = -1
    return n


@pytest.mark.parametrize("d", [0, 1, 2, 9])
@pytest.mark.parametrize(
    "f",
    [
        finally_alone,
        another_exception_in_the_handler,
        known_when_compiled,
        raised_in_else,
        three_deep_in_a_loop,
        local_in_a_called_function,
        store_in_a_called_function,
        jump_in_finally,
    ],
)
def test_finally_runs_before_the_handler_further_out(f: Callable[[int, int], int], d: int) -> None:
    agrees(f, 7, d)


class Counted:
    n = 0

    def __enter__(self) -> Counted:
        return self

    def __exit__(self, *given: object) -> None:
        self.n += 1


def exit_of_a_with(n: int, d: int) -> float:
    c = Counted()
    try:
        with c:
            q = n // d
    except ZeroDivisionError:
        return c.n * 1.5
    return c.n + q * 1.0


def raised_at_the_exit_of_a_with(n: int, d: int) -> float:
    with Closed(d):
        return n // d


class Closed:
    def __init__(self, d: int) -> None:
        self.d = d

    def __enter__(self) -> None:
        pass

    def __exit__(self, *given: object) -> None:
        if self.d < 1:
            raise KeyError("closed")


class Swallows(Counted):
    def __init__(self, kind: type[Exception]) -> None:
        self.kind = kind

    def __exit__(self, *given: Any) -> bool:
        print("left by", "nothing" if given[0] is None else given[0].__name__)
        return given[0] is not None and issubclass(given[0], self.kind)


def raised_in_place_of_another(n: int, d: int) -> float:
    try:
        return raised_at_the_exit_of_a_with(n, d)
    except KeyError:
        return -1.0


def swallowed_in_a_loop(n: int, d: int) -> float:
    total = 0.0
    for k in range(3):
        with Swallows(ZeroDivisionError) as c, Counted():
            if k == d:
                continue
            total += n // (d - k - 1)
            c.n += 1
    return total


def not_swallowed(n: int, d: int) -> float:
    with Swallows(KeyError):
        return n // d


@contextlib.contextmanager
def said(d: int) -> Any:
    print("opened", d)
    try:
        yield d
    finally:
        print("closed", d)


def printed_at_the_end(n: int, d: int) -> float:
    total = 0.0
    try:
        for k in range(3):
            try:
                total += n // (d - k)
            finally:
                print("done", k, total)
    finally:
        sys.stdout.write(f"all {total}")
    return total


def printed_by_a_generator(n: int, d: int) -> float:
    with said(d):
        return n // d


@pytest.mark.parametrize("d", [0, 1, 2, 9])
@pytest.mark.parametrize(
    "f",
    [
        exit_of_a_with,
        raised_at_the_exit_of_a_with,
        raised_in_place_of_another,
        swallowed_in_a_loop,
        not_swallowed,
        printed_at_the_end,
        printed_by_a_generator,
    ],
)
def test_exits_and_what_is_printed_at_the_end_of_a_block(f: Callable[[int, int], float], d: int, capsys: Any) -> None:
    seen = []
    for g in (f, irad.compile(f)):
        try:
            out: Any = g(7, d)
        except (ZeroDivisionError, KeyError) as e:
            out = type(e)
        seen.append((out, capsys.readouterr().out))
    assert seen[0] == seen[1]


BODIES = [
    "if x[0] > 0.5: raise ValueError('a')",
    "if x[0] > 0.5: return 1.0",
    "for v in x:\n            if v > 0.5: raise ValueError('c')\n            r += v",
    "r += 1 / (1 if x[0] > 0.5 else 0)",
]
HANDLERS = [
    "",
    "except ValueError: raise IndexError('d')",
    "except (ValueError, ZeroDivisionError):\n        if x[2] > 0.5: raise\n        r += 7",
]
FINALS = [
    "if x[1] > 0.5: raise KeyError('b')",
    "if x[1] > 0.5: return 2.0",
    "return 5.0 + r",
    "for v in x:\n            if v > 0.7: break\n            r += 1",
    "calls.append(x[1])",
]
PROGRAM = """
def f{n}(x, calls):
    r = 0.0
    try:
        {body}
    {handler}
    finally:
        {final}
    return r

def g{n}(x):
    t, calls = 0.0, []
    for k in range(3):
        try:
            t += f{n}(np.roll(x, k), calls)
        except LookupError:
            t -= 1.0
        except Exception:
            t -= 2.5
    return t, len(calls), sum(calls)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: Any) -> Any:
    file = tmp_path_factory.mktemp("finally") / "clauses_that_leave.py"
    cases = enumerate(itertools.product(BODIES, HANDLERS, FINALS))
    each = [PROGRAM.format(n=n, body=body, handler=handler, final=final) for n, (body, handler, final) in cases]
    file.write_text("import numpy as np\n" + "".join(each))
    spec = importlib.util.spec_from_file_location("clauses_that_leave", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("n", range(len(BODIES) * len(HANDLERS) * len(FINALS)))
def test_finally_that_leaves_or_raises(written: Any, n: int) -> None:
    f = getattr(written, f"g{n}")
    c = irad.compile(f)
    for x in itertools.product((0.0, 1.0), repeat=3):
        assert c(np.array(x)) == f(np.array(x))
