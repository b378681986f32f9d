"""warnings, logging and time: what happens at run time, at each call, in program order."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from irad.core.ir import current
from irad.core.types import Type
from irad.errors import UnsupportedError
from irad.frontend.control.stands import Stands
from irad.frontend.python.numbers import builtin
from irad.frontend.python.text_formats import percent_formatted
from irad.frontend.python.texts import shown, template_of
from irad.frontend.reader import Reader
from irad.frontend.reading.host_calls import host_call, host_text, python_number
from irad.frontend.reading.raises import raise_exception
from irad.frontend.values.arr import static_value
from irad.frontend.values.callables import Native
from irad.frontend.values.objects import Poison, Text, is_traced_deep

# ---- warnings -------------------------------------------------------------------------------------------------------


_RECORDED = "compiled code does not keep the list of warnings of catch_warnings(record=True); put that around the call"


class Filters(Stands):
    """warnings.catch_warnings(): the filters that are set inside hold for the warnings of the block."""

    cls = warnings.catch_warnings

    def __init__(self, record: bool = False) -> None:
        self.found: list[tuple[Any, ...]] = []
        self.conditional = 0
        self.record = record  # the warnings of the block go into a list, which is not there to be read

    def call(self, r: Reader, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        self.conditional = r.conditional
        r.filters.append(self)
        return Poison(_RECORDED) if self.record else None

    def leave(self, r: Reader) -> None:
        r.filters.remove(self)


@builtin(warnings.catch_warnings)
def catch_warnings(r: Reader, *, record: bool = False, module: Any = None, action: Any = None, **rest: Any) -> Filters:
    out = Filters(bool(record))
    if action is not None:
        out.found.append((warnings.simplefilter, (action,), tuple(rest.items())))
    return out


def _filtering(fn: Callable[..., Any]) -> Callable[..., None]:
    def call(r: Reader, *args: Any, **kwargs: Any) -> None:
        static_value(r.operand([*args, *kwargs.values()]), f"an argument of warnings.{fn.__name__}")
        change = (fn, args, tuple(kwargs.items()))
        if not r.filters:
            host_call((fn.__name__, *change), lambda: [] if fn(*args, **kwargs) is None else [], (), ())
            return
        if r.conditional != r.filters[-1].conditional:
            raise UnsupportedError(f"warnings.{fn.__name__} under a condition or in a loop; set the filter before")
        r.filters[-1].found.append(change)

    return call


for _fn in (warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings):
    builtin(_fn)(_filtering(_fn))


def _is_error(filters: Sequence[tuple[Any, ...]], category: type[Warning]) -> bool:
    """Do the filters of the program say that warnings of a class are errors, whatever their text?"""
    for fn, args, kwargs in reversed(filters):
        if fn is warnings.resetwarnings:
            return False
        names = ("action", "category") if fn is warnings.simplefilter else ("action", "message", "category")
        given = dict(zip(names, args)) | dict(kwargs)
        if len(args) > len(names) or given.keys() - {"action", "category"}:
            return False
        if issubclass(category, given.get("category", Warning)):
            return given["action"] == "error"
    return False


@builtin(warnings.warn)
def warn(r: Reader, message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **other: Any) -> None:
    """A warning at run time, at the line of the call (`stacklevel` is not followed)."""
    if isinstance(message, Warning):
        message, category = (message.args[0] if message.args else ""), type(message)
    category = UserWarning if category is None else category
    if not (isinstance(category, type) and issubclass(category, Warning)):
        raise TypeError(f"category must be a Warning subclass, not '{type(category).__name__}'")
    loc, space = current().loc, r.frame.globals_of.__globals__
    file, line = (loc.file, loc.line) if loc is not None else ("<compiled>", 1)
    filters = [f for block in r.filters for f in block.found]
    record = any(block.record for block in r.filters)
    if _is_error(filters, category):
        raise_exception(r, category(message))

    def act(text: str) -> None:
        registry = space.setdefault("__warningregistry__", {})
        if not filters and not record:
            warnings.warn_explicit(text, category, file, line, space.get("__name__"), registry)
            return
        with warnings.catch_warnings(record=record):
            for fn, args, kwargs in filters:
                fn(*args, **dict(kwargs))
            warnings.warn_explicit(text, category, file, line, space.get("__name__"), {})

    host_text(("warn", category, file, line, id(space), tuple(filters), record), act, template_of(shown(r, message)))


# ---- sys.stdout and sys.stderr ------------------------------------------------------------------------------------------


def of_stream(stream: Any, name: str) -> Native:
    """`write` or `flush` of sys.stdout or sys.stderr, at each call: to what they are then."""
    which = "stdout" if stream is sys.stdout else "stderr"
    key = (f"sys.{which}.{name}",)

    def write(text: Any) -> None:
        if not isinstance(text, (str, Text)):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        host_text(key, lambda shown: getattr(sys, which).write(shown), template_of(text))

    def flush() -> None:
        host_call(key, lambda: [] if getattr(sys, which).flush() is None else [], (), ())

    return Native(write if name == "write" else flush)


# ---- logging --------------------------------------------------------------------------------------------------------


def _message(r: Reader, msg: Any, args: Sequence[Any]) -> Text:
    """What a logging call says."""
    text = shown(r, msg)
    if args:
        text = percent_formatted(r, text, args[0] if len(args) == 1 and isinstance(args[0], dict) else tuple(args))
    return template_of(text)


def _logged(r: Reader, logger: logging.Logger, level: Any, msg: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    if kwargs.keys() - {"stacklevel"}:
        raise UnsupportedError(f"{', '.join(kwargs)} of a logging call in compiled code; format it into the message")
    static_value(level, "the level of a logging call")
    r.captures.pin(logger)
    loc = current().loc
    file, line = (loc.file, loc.line) if loc is not None else ("<compiled>", 1)

    def act(text: str) -> None:
        if logger is logging.root and not logger.handlers:
            logging.basicConfig()
        logger.handle(logger.makeRecord(logger.name, level, file, line, text, (), None))

    key = ("log", logger, level, file, line)
    host_text(key, act, _message(r, msg, args), lambda: logger.isEnabledFor(level))


def _level(level: int) -> tuple[Callable[..., None], Callable[..., None]]:
    def method(r: Reader, logger: Any, msg: Any, *args: Any, **kwargs: Any) -> None:
        _logged(r, logger, level, msg, args, kwargs)

    return method, lambda r, msg, *args, **kwargs: _logged(r, logging.root, level, msg, args, kwargs)


for _name in ("debug", "info", "warning", "error", "critical", "exception", "warn", "fatal"):
    _number = {"exception": logging.ERROR, "warn": logging.WARNING, "fatal": logging.CRITICAL}.get(_name, 0)
    _method, _function = _level(_number or getattr(logging, _name.upper()))
    builtin(getattr(logging.Logger, _name))(_method)
    builtin(getattr(logging, _name))(_function)


@builtin(logging.Logger.log)
def log(r: Reader, logger: Any, level: Any, msg: Any, *args: Any, **kwargs: Any) -> None:
    _logged(r, logger, level, msg, args, kwargs)


@builtin(logging.log)
def root_log(r: Reader, level: Any, msg: Any, *args: Any, **kwargs: Any) -> None:
    _logged(r, logging.root, level, msg, args, kwargs)


@builtin(logging.getLogger)
def get_logger(r: Reader, name: Any = None) -> Any:
    return logging.getLogger(static_value(name, "the name of a logger"))


@builtin(logging.Logger.isEnabledFor)
def is_enabled(r: Reader, logger: Any, level: Any) -> Any:
    r.captures.pin(logger)
    (v,) = host_call(("isEnabledFor", logger, level), lambda: [logger.isEnabledFor(level)], (), (Type("bool"),))
    return python_number(v)


@builtin(logging.Logger.getEffectiveLevel)
def effective_level(r: Reader, logger: Any) -> Any:
    r.captures.pin(logger)
    (v,) = host_call(("getEffectiveLevel", logger), lambda: [logger.getEffectiveLevel()], (), (Type("i64"),))
    return python_number(v)


@builtin(logging.Logger.setLevel)
def set_level(r: Reader, logger: Any, level: Any) -> None:
    r.captures.pin(logger)
    static_value(level, "the level of a logger")
    host_call(("setLevel", logger, level), lambda: [logger.setLevel(level)][:0], (), ())


@builtin(logging.basicConfig)
def basic_config(r: Reader, **kwargs: Any) -> None:
    if is_traced_deep(kwargs):
        raise UnsupportedError("logging.basicConfig of traced values")
    host_call(
        ("basicConfig", tuple((k, id(v), repr(v)) for k, v in kwargs.items())),
        lambda: [logging.basicConfig(**kwargs)][:0],
        (),
        (),
    )
