"""What happens at run time beside computing: assertions of np.testing, warnings, logging, clocks."""

# ruff: noqa: B028, UP031

from __future__ import annotations

import datetime
import logging
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.surface import slope

X = np.random.default_rng(0).random(4)
LOG = logging.getLogger("tests.effects")

# ---- np.testing -----------------------------------------------------------------------------------------------------

HOLDS = {
    "allclose": lambda x, d: np.testing.assert_allclose(x, x + d, rtol=1e-9),
    "allclose, atol": lambda x, d: np.testing.assert_allclose(x[0] + d, x[0], rtol=0, atol=0.01),
    "allclose of a list": lambda x, d: np.testing.assert_allclose(x, [x[0], x[1], x[2] + d, x[3]]),
    "array_equal": lambda x, d: np.testing.assert_array_equal(x, x + d),
    "equal": lambda x, d: np.testing.assert_equal({"a": [x[0], x]}, {"a": [x[0], x + d]}),
    "almost_equal": lambda x, d: np.testing.assert_almost_equal(x.sum(), np.sum(x) + d),
    "array_almost_equal": lambda x, d: np.testing.assert_array_almost_equal(x, x + 1e-9 + d, decimal=6),
    "approx_equal": lambda x, d: np.testing.assert_approx_equal(x[0], x[0] + d, significant=5),
    "array_less": lambda x, d: np.testing.assert_array_less(x + 9 * d, x + 1),
    "assert_": lambda x, d: np.testing.assert_(x[0] + 9 * d < 2, "too large"),
}


@pytest.mark.parametrize("name", HOLDS)
def test_assertions(name: str) -> None:
    check = HOLDS[name]

    def f(x: np.ndarray, d: float) -> Any:
        check(x, d)
        return np.sum(x**2)

    slope(f, X, 0.0)
    for g in (f, irad.compile(f), irad.grad(f)):
        with pytest.raises(AssertionError):
            g(X, 0.5)


def test_message_of_an_assertion() -> None:
    f = irad.compile(lambda x: np.testing.assert_allclose(x, x + 1, rtol=1e-6, err_msg=f"step {x[0]:.2f}"))
    with pytest.raises(AssertionError, match="Not equal to tolerance rtol=1e-06, atol=0\nstep 0.64"):
        f(X)


def test_shapes_of_an_assertion() -> None:
    with pytest.raises(AssertionError, match=r"\(shapes \(4,\), \(3,\) mismatch\)"):
        irad.compile(lambda x: np.testing.assert_allclose(x, x[:3]))(X)


# ---- warnings -------------------------------------------------------------------------------------------------------


def warned(f: Callable[..., Any], *args: Any) -> list[tuple[type, str, int]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(*args)
    return [(w.category, str(w.message), w.lineno) for w in found]


def warning(x: np.ndarray, n: int) -> Any:
    for i in range(n):
        if x[i] > 0.1:
            warnings.warn("x[%d] is %.2f" % (i, x[i]))
    warnings.warn(RuntimeWarning(f"sum {np.sum(x):.3f}"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("never seen")
        warnings.filterwarnings("error", category=DeprecationWarning)
        if x[0] < -0.5:
            warnings.warn("old", DeprecationWarning)
    return np.sum(x**2)


def test_warnings() -> None:
    c = irad.compile(warning)
    for x in (X, X - 0.5):
        assert warned(c, x, 4) == warned(warning, x, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slope(warning, X, 4)


def test_a_warning_that_is_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="sum"):
            irad.compile(warning)(X - 0.7, 0)
    with pytest.raises(DeprecationWarning, match="old"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        irad.compile(warning)(X - 2.0, 0)


def recorded(x: float) -> float:
    with warnings.catch_warnings(record=True):
        if x > 1:
            warnings.warn("large")
        return x * x


def caught(x: float) -> float:
    with warnings.catch_warnings(record=True) as _:
        warnings.simplefilter("error")
        try:
            if x > 1:
                warnings.warn(f"large: {x}")
            return x * x
        except UserWarning:
            return -x


def test_warnings_that_are_recorded() -> None:
    for x in (0.5, 2.0):
        assert warned(irad.compile(recorded), x) == []
        assert irad.value_and_grad(recorded)(x) == (x * x, 2 * x)
        assert irad.compile(caught)(x) == caught(x)
        assert irad.grad(caught)(x) == (1.0 if x < 1 else -1.0)

    def counted(x: float) -> float:
        with warnings.catch_warnings(record=True) as w:
            warnings.warn("large")
        return x * len(w)

    with pytest.raises(irad.UnsupportedError, match="does not keep the list of warnings"):
        irad.compile(counted)(2.0)


# ---- logging --------------------------------------------------------------------------------------------------------


def logged(x: np.ndarray) -> Any:
    LOG.info("value %.3f of %d", x[0], len(x))
    LOG.debug("%(a).2f", {"a": x[1]})
    for v in x:
        if v > 0.5:
            LOG.warning(f"large {v:.2f}")
    if LOG.isEnabledFor(logging.DEBUG):
        logging.log(logging.ERROR, "root %s", float(x[3]))
    return np.sum(x**2)


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.ERROR])
def test_logging(level: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(level, LOG.name)
    found = []
    for f in (logged, irad.compile(logged)):
        caplog.clear()
        f(X)
        found.append([(r.name, r.levelno, r.getMessage(), r.lineno, r.filename) for r in caplog.records])
    assert found[0] == found[1]
    slope(logged, X)


# ---- clocks ---------------------------------------------------------------------------------------------------------


def timed(x: np.ndarray) -> Any:
    start, ns = time.perf_counter(), time.time_ns()
    for _ in range(2):
        time.sleep(0.001)
    seconds = time.perf_counter() - start
    assert seconds >= 0.002 and time.time_ns() > ns and time.monotonic() > 0
    return np.sum(x**2) + 0 * seconds


def test_clocks() -> None:
    c = irad.compile(timed)
    assert c(X) == timed(X) == c(X)
    assert np.allclose(irad.grad(timed)(X), 2 * X)


def test_a_clock_is_read_at_each_call() -> None:
    c = irad.compile(lambda x: time.perf_counter() + 0 * x)
    assert c(1.0) < c(1.0)


class Journal:
    def __init__(self) -> None:
        self.began = datetime.datetime.now()

    def line(self, step: int, loss: Any) -> None:
        now = datetime.datetime.now()
        passed = now - self.began
        if step % 2 == 0:
            shown = now.strftime("%Y-%m-%d %H:%M:%S")
            print(f"{shown}|{now:%H:%M:%S}|{now}|{now.isoformat(timespec='seconds')}|{passed}|{passed.total_seconds()}")
            print(f"{now.year}|{now.microsecond}|{now.timestamp()}", loss, sep="|")


def journal(x: Any) -> Any:
    kept = Journal()
    for k in range(3):
        x = 0.9 * x
        kept.line(k, np.sum(x))
    print(time.strftime("%Y"), time.ctime(), sep="|")
    return np.sum(x * x)


def test_times_of_day_are_those_of_each_call(capsys: pytest.CaptureFixture[str]) -> None:
    c = irad.compile(journal)
    c(X)
    capsys.readouterr()
    for _ in range(2):
        before = datetime.datetime.now()
        assert np.isclose(c(X), 0.9**6 * np.sum(X * X))
        after = datetime.datetime.now()
        lines = [line.split("|") for line in capsys.readouterr().out.splitlines()]
        assert len(lines) == 5 and lines[4][0] == str(after.year)
        datetime.datetime.strptime(lines[4][1], "%a %b %d %H:%M:%S %Y")
        for (shown, clock, whole, iso, passed, seconds), numbers in zip(lines[0:4:2], lines[1:4:2]):
            now = datetime.datetime.fromisoformat(whole)
            assert before <= now <= after
            assert (shown, clock, iso) == (f"{now:%Y-%m-%d %H:%M:%S}", f"{now:%H:%M:%S}", now.isoformat(timespec="seconds"))
            assert passed == str(datetime.timedelta(seconds=float(seconds)))
            assert [float(v) for v in numbers[:3]] == [now.year, now.microsecond, now.timestamp()]
    assert np.allclose(irad.grad(journal)(X), 2 * 0.9**6 * X)


def test_standard_streams(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        if x > 0:
            sys.stderr.write("above %g\n" % x)
            sys.stdout.write(f"out {x}\n")
        print("always", x, file=sys.stderr)
        sys.stdout.flush()
        return x * x

    c = irad.compile(f)
    for x in (2.0, -1.0, 3.0):
        f(x)
        want = capsys.readouterr()
        assert c(x) == x * x
        assert capsys.readouterr() == want
    assert irad.grad(f)(2.0) == 4.0
    assert capsys.readouterr().err == "above 2\nalways 2.0\n"


class Part:
    def __init__(self, v: Any) -> None:
        self.v = v


def test_arrays_like_a_list_of_objects() -> None:
    def f(x: Any) -> Any:
        parts = [Part(x[0]), Part(x[1]), Part(2.0)]
        z = np.zeros_like(parts, float)
        for k, p in enumerate(parts):
            z[k] = p.v
        return np.sum(z**2) * len(np.ones_like(parts, dtype=complex)) + np.size(parts)

    x = np.array([0.5, 0.7])
    assert irad.compile(f)(x) == pytest.approx(f(x)) and np.allclose(irad.grad(f)(x), 6 * x)


def test_index_objects_from_outside() -> None:
    r_, c_, s_ = np.r_, np.c_, np.s_
    f = lambda x: np.sum(r_[x, 1.0, 2 * x] ** 2) + np.sum(c_[x, x][:, 1] * 3) + x[s_[0:1]][0]
    x = np.array([0.5, 0.7])
    assert irad.compile(f)(x) == pytest.approx(f(x)) and np.allclose(irad.grad(f)(x), 10 * x + 3 + np.array([1, 0]))
