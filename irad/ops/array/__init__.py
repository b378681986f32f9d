"""Structural ops on arrays: shape, indexing with its in-place forms, reductions, scans, contraction."""

from irad.ops.array.contraction import Product, dot
from irad.ops.array.indexing import (
    STORES,
    Slice,
    Spec,
    concat,
    dim_value,
    index,
    located,
    numpy_key,
    one_place,
    operand_types,
    slice_axis,
    update,
    update_add,
)
from irad.ops.array.reductions import all_, any_, argmax, argmin, max_, min_, prod_, restore, sum_
from irad.ops.array.scans import cumprod, cumsum
from irad.ops.array.shapes import broadcast, broadcast_to, copy, iota, linear, reshape, reshape_to, transpose, transpose_to, zeros

__all__ = [
    "Product", "dot", "STORES", "Slice", "Spec", "concat", "dim_value", "index", "located", "numpy_key", "one_place",
    "operand_types", "slice_axis", "update", "update_add", "all_", "any_", "argmax", "argmin", "max_", "min_", "prod_", "restore", "sum_", "cumprod",
    "cumsum", "broadcast", "broadcast_to", "copy", "iota", "linear", "reshape", "reshape_to", "transpose", "transpose_to", "zeros",
]  # fmt: skip
