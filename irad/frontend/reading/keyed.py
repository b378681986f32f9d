"""Dicts and sets whose keys data decide: what stands for them.

A dict or set is Python's own as long as its keys are known. Where one gets a key, or is asked for one, that data decide, the
function is read again, and the expression that makes it gives an object of `irad.frontend.library.python.keyed` instead.
"""

from __future__ import annotations

import collections
from typing import Any

from irad.frontend.library.python.keyed import CLASSES
from irad.frontend.reader import Reader


def made(r: Reader, out: Any) -> Any:
    """What stands for a dict or set that was made here, with known keys so far."""
    cls: Any = type(out)
    if isinstance(out, collections.defaultdict):
        return r.call(CLASSES[cls], [out.default_factory, [*out.items()]], {})
    if isinstance(out, collections.Counter):
        return r.call(CLASSES[cls], [dict(out)], {})
    return of_items(r, cls, [*out.items()] if isinstance(out, dict) else [*out])


def of_items(r: Reader, cls: Any, items: Any) -> Any:
    """What stands for a new dict of pairs, or set of elements."""
    return r.call(CLASSES[cls], [items], {})
