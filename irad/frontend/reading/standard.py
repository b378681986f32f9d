"""bisect, heapq, queue, statistics, and the functions of functools that compare: on traced numbers those of
irad.frontend.library.python.standard."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from irad.core.once import import_later
from irad.frontend.library.python.queues import CLASSES
from irad.frontend.library.python.standard import FUNCTIONS, grows
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader
from irad.frontend.reading.native_calls import run_native
from irad.frontend.values.objects import reads_traced
from irad.frontend.values.runs import has_run


def _either(native: Any, own: Callable[..., Any]) -> Callable[..., Any]:
    always = native is functools.cmp_to_key

    def apply(r: Reader, *args: Any, **kwargs: Any) -> Any:
        if always or kwargs.get("key") is not None or reads_traced([*args, *kwargs.values()]):
            return r.call(own, list(args), kwargs)
        return run_native(r, native, list(args), kwargs)

    return apply


for (_module, _name), _own in FUNCTIONS.items():
    _native = getattr(import_later(_module), _name, None)
    if _native is not None:
        BUILTINS[_native] = _either(_native, _own)

BUILTINS[grows] = lambda r, xs: has_run(xs)
for _cls, _made in CLASSES.items():
    BUILTINS[_cls] = lambda r, *args, own=_made, **kwargs: r.call(own, list(args), kwargs)
