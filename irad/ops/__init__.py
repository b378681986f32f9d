"""The op table. Each op is one row in one module; `OPS` finds a row by name.

core < constant < elementwise < array < mask, sorting < control < loop: a module uses only those before it. `intervals`
reads graphs being built and makes no op.
"""

from irad.ops import array, constant, control, elementwise, intervals, loop, mask, sorting  # noqa: F401
from irad.ops.core import OPS, Op, effects

__all__ = ["OPS", "Op", "effects"]
