"""The op table. Each op is one row in one module; `OPS` finds a row by name.

core < constant < elementwise < array < control < loop: a module uses only those before it.
"""

from irad.ops import array, constant, control, elementwise, loop  # noqa: F401
from irad.ops.core import OPS, Op, effects

__all__ = ["OPS", "Op", "effects"]
