"""Clocks, and the time of day when the program gets there, in each call: `datetime.now`, `time.strftime`; see
irad.frontend.library.python.moments."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

from irad.core.types import Type
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.library.python import moments
from irad.frontend.python.numbers import builtin
from irad.frontend.reader import Reader
from irad.frontend.reading.host_calls import constant_operand, host_call, python_number
from irad.frontend.reading.native_calls import run_native
from irad.frontend.values.arr import static_value
from irad.frontend.values.objects import Text, describe, is_traced_deep
from irad.ops.text import moment, moment_field


def _clock(fn: Callable[[], Any]) -> Callable[..., Any]:
    kind = Type("i64" if fn.__name__.endswith("_ns") else "f64")

    def read(r: Reader) -> Any:
        (v,) = host_call((fn.__name__,), lambda: [fn()], (), (kind,))
        return python_number(v)

    return read


for _name in ("perf_counter", "time", "monotonic", "process_time", "thread_time"):
    builtin(getattr(time, _name))(_clock(getattr(time, _name)))
    builtin(getattr(time, f"{_name}_ns"))(_clock(getattr(time, f"{_name}_ns")))


@builtin(time.sleep)
def sleep(r: Reader, secs: Any) -> None:
    if not isinstance(r.operand(secs), (int, float)) and not is_traced_deep(secs):
        raise IradTypeError(f"time.sleep wants a number, got {describe(secs)}")

    def run(seconds: Any) -> list[Any]:
        time.sleep(float(seconds))
        return []

    host_call(("sleep",), run, (constant_operand(r, secs),), ())


@builtin(moments.field)
def field(r: Reader, at: Any, name: str) -> Any:
    (v,) = host_call((f"datetime.{name}",), lambda x: [getattr(moment(x), name)], (at.value,), (Type("i64"),))
    return python_number(v)


@builtin(moments.text)
def text(r: Reader, at: Any, how: Any) -> Text:
    return Text(moment_field(static_value(how, "the format of a time")), (at,))


@builtin(datetime.datetime.now)
@builtin(datetime.datetime.today)
def now(r: Reader, tz: Any = None) -> Any:
    if tz is not None:
        raise UnsupportedError("datetime.now(tz) in compiled code: call it outside and pass the result as an argument")
    return r.call(moments.now, [])


@builtin(time.strftime)
def strftime(r: Reader, format: Any, *t: Any) -> Any:
    return run_native(r, time.strftime, [format, *t], {}) if t else r.call(r.getattr(now(r), "strftime"), [format])


@builtin(time.ctime)
def ctime(r: Reader, *secs: Any) -> Any:
    return run_native(r, time.ctime, list(secs), {}) if secs else r.call(r.getattr(now(r), "ctime"), [])
