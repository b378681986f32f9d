"""bisect, heapq, queue, statistics, and the functions of functools that compare: on traced numbers those of
irad.frontend.library.python.standard."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable
from typing import Any

from irad.core.once import import_later
from irad.errors import UnsupportedError
from irad.frontend.control.generators import opened, uncounted
from irad.frontend.control.sequences import collected
from irad.frontend.control.special import compares_itself, in_any_order
from irad.frontend.library.python.queues import CLASSES
from irad.frontend.library.python.standard import FUNCTIONS, first_of_objects, grows
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader
from irad.frontend.reading.native_calls import run_native
from irad.frontend.values.arr import static_int
from irad.frontend.values.callables import Native
from irad.frontend.values.objects import reads_traced
from irad.frontend.values.runs import has_run


def _either(native: Any, own: Callable[..., Any]) -> Callable[..., Any]:
    always = native is functools.cmp_to_key

    def apply(r: Reader, *args: Any, **kwargs: Any) -> Any:
        if always or kwargs.get("key") is not None or reads_traced([*args, *kwargs.values()]):
            return r.call(own, list(args), kwargs)
        try:
            return run_native(r, native, list(args), kwargs)
        except UnsupportedError:  # it may call methods of the program, which do more than compare
            if not any(map(compares_itself, args)):
                raise
            return r.call(own, list(args), kwargs)

    return apply


def _first(native: Any) -> Callable[..., Any]:
    """heapq.nlargest or nsmallest: of objects that compare themselves by the comparisons that it makes."""
    either = BUILTINS[native]

    def apply(r: Reader, n: Any, iterable: Any, key: Any = None) -> Any:
        obj = opened(r, in_any_order(r, iterable))
        if (stream := uncounted(r, obj)) is not None:
            return either(r, n, collected(r, stream), key=key)
        items = list(r.items(obj))
        keys = items if key is None else [r.call(key, [x]) for x in items]
        if any(map(compares_itself, keys)):
            given = [static_int(n, "how many elements are wanted"), r.state.made(items), r.state.made(list(keys))]
            return r.call(first_of_objects, [*given, native is heapq.nlargest, hasattr(iterable, "__len__")])
        known = iter(keys)
        return either(r, n, r.state.made(items), key=None if key is None else Native(lambda x: next(known)))

    return apply


for (_module, _name), _own in FUNCTIONS.items():
    _native = getattr(import_later(_module), _name, None)
    if _native is not None:
        BUILTINS[_native] = _either(_native, _own)

BUILTINS.update({native: _first(native) for native in (heapq.nlargest, heapq.nsmallest)})
BUILTINS[grows] = lambda r, xs: has_run(xs)
for _cls, _made in CLASSES.items():
    BUILTINS[_cls] = lambda r, *args, own=_made, **kwargs: r.call(own, list(args), kwargs)
