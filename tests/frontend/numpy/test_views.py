"""What NumPy makes a view and what a copy, each seen from both sides, on arrays of every memory layout.

The oracle is NumPy itself: each program runs on arrays of the same layout with and without irad. `test_the_list_is_whole` asks NumPy
(`np.shares_memory`) which of its functions give views, so that a new one cannot be forgotten here.
"""

from __future__ import annotations

import inspect
import linecache
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import irad
from irad.core.interp import interpret
from irad.frontend.trace import trace
from irad.ops.control import RaisedInGraph

LAYOUTS = {
    "C, one axis": lambda: np.arange(1.0, 7.0),
    "strided, one axis": lambda: np.arange(1.0, 13.0)[::2],
    "backwards, one axis": lambda: np.arange(1.0, 7.0)[::-1],
    "C": lambda: np.arange(1.0, 17.0).reshape(4, 4),
    "Fortran": lambda: np.asfortranarray(np.arange(1.0, 17.0).reshape(4, 4)),
    "strided": lambda: np.arange(64.0).reshape(8, 8)[::2, ::2],
    "backwards": lambda: np.arange(1.0, 17.0).reshape(4, 4)[::-1, ::-1],
    "columns": lambda: np.arange(1.0, 33.0).reshape(4, 8)[:, 2:6],
}

PROGRAMS = {
    "a store through the result": "w = FN\n    w[...] = 7.0\n    return a * 1.0, w * 1.0",
    "an operator through the result": "w = FN\n    w += 1.0\n    return a * 1.0",
    "a store into the array": "w = FN\n    a[0] = 5.0\n    return w * 1.0, a * 1.0",
    "through the result, of a new array": "a = a * 1.0\n    w = FN\n    w[...] = 7.0\n    return a * 1.0, w * 1.0",
    "into a new array": "a = np.sin(a)\n    w = FN\n    a[0] = 7.0\n    return a * 1.0, w * 1.0",
}

# expressions of an array `a`, grouped by the rank they need; those with a view among their results are found by NumPy
ANY = """
a.ravel() | a.reshape(-1) | np.ravel(a) | a.flatten() | a[:] | a[...] | a[None] | a[:, None] | a[..., ::-1] | a[1:] | a[::2] | a.T
a.transpose() | np.asarray(a) | np.asanyarray(a) | np.ascontiguousarray(a) | np.asfortranarray(a) | np.require(a)
np.require(a, requirements='C') | np.require(a, requirements='F') | np.atleast_1d(a) | np.atleast_2d(a) | np.atleast_3d(a)
np.array(a, copy=None) | np.array(a) | np.copy(a) | a.copy() | a.astype(float) | a.astype(float, copy=False)
a.astype(np.float32, copy=False) | np.array(a, copy=None, ndmin=3) | np.array(a, ndmin=3) | np.array(a, copy=None, order='C')
np.array(a, copy=None, order='F') | np.asarray(a, order='C') | np.asarray(a, order='F') | np.asarray(a, float)
np.asarray(a, dtype=np.float32) | np.nan_to_num(a, copy=False) | np.nan_to_num(a) | a.conj() | a.conjugate() | np.conj(a)
np.real(a) | a.real | np.imag(a) | a.imag | np.squeeze(a) | a.squeeze() | a[None].squeeze() | np.expand_dims(a, 0)
np.expand_dims(a, 1) | np.flip(a) | np.flip(a, 0) | np.flipud(a) | np.split(a, 2)[0] | np.array_split(a, 3)[1] | np.hsplit(a, 2)[1]
np.broadcast_to(a, (2,) + a.shape) | np.broadcast_to(a, a.shape) | np.broadcast_arrays(a, np.zeros(a.shape))[0]
np.broadcast_arrays(a, 1.0)[0] | a.view() | a.reshape(a.shape) | a.reshape(-1, 2) | a.reshape(2, -1) | a.reshape(-1, order='F')
a.reshape(-1, order='A') | a.ravel('F') | a.ravel('A') | a.ravel('K') | a.flatten('F') | sliding_window_view(a, (2,) * a.ndim)
sliding_window_view(a, 2, axis=0) | as_strided(a, (2,), (a.strides[0],)) | np.positive(a) | +a | np.real_if_close(a)
np.meshgrid(a, a)[0] | np.atleast_1d(a, a)[1] | np.take(a, [0, 1], axis=0) | a[[0, 1]] | a[a > -1] | np.where(True, a, 0.0)
np.clip(a, -9, 99) | np.round(a) | np.roll(a, 0) | np.concatenate([a]) | np.stack([a])[0] | np.tile(a, 1) | np.repeat(a, 1)
np.pad(a, 0) | np.asarray_chkfinite(a) | np.diff(a, n=0) | np.diff(a) | np.sort(a) | np.resize(a, a.shape) | np.delete(a, [], axis=0)
np.moveaxis(a, 0, 0) | a.swapaxes(0, 0) | np.append(a, []) | np.einsum('...->...', a) | np.block([a]) | np.hstack([a])
np.atleast_3d(a)[0] | a[np.newaxis, ..., np.newaxis] | a[()] | a[0:2][1:] | a[::-1][::-1] | a[-1:] | a[5:5] | a[np.s_[1:3]]
np.unwrap(a) | np.full_like(a, a) | as_strided(a) | a.take([0]) | a.__array__() | a.T.T | a.clip(-9, 99) | np.partition(a, tuple(range(a.shape[-1])))
np.require(a, float, ['C', 'W']) | np.asarray([a])[0] | np.ascontiguousarray(a, np.float32) | np.extract(a > -1, a) | np.angle(a) | np.polyint(a, 0)
"""
MATRIX = """
a[0] | a[:, 0] | a[1:, ::-1] | a[:, [0, 1]] | a[[0, 1]][:, ::2] | a[:, [0, 1]].ravel() | np.transpose(a) | np.transpose(a, (1, 0))
a.transpose(1, 0) | a.swapaxes(0, 1) | np.swapaxes(a, 0, 1) | np.moveaxis(a, 0, 1) | np.rollaxis(a, 1) | np.fliplr(a) | np.rot90(a)
np.rot90(a, 2) | np.rot90(a, 3) | np.rot90(a, 4) | np.rot90(a, -1) | np.flip(a, (0, 1)) | np.vsplit(a, 2)[1]
np.split(a, 2, axis=1)[1] | np.array_split(a, 3, axis=1)[2] | np.split(a, [1, 2])[1] | np.hsplit(a, [1, 3])[1]
np.dsplit(a.reshape(2, 2, 4), 2)[0] | np.diagonal(a) | a.diagonal() | np.diag(a) | np.diag(a, 1) | a.diagonal(1) | np.diagonal(a, -1)
np.diagflat(a) | np.einsum('ii->i', a) | np.einsum('ij->ji', a) | np.einsum('ij', a) | np.einsum('ji', a) | np.einsum(a, [0, 0], [0])
np.triu(a) | np.tril(a) | np.linalg.matrix_power(a, 1) | a.T.ravel() | a.T.reshape(-1) | a.T.reshape(-1, order='F') | a[:, 1:].reshape(-1) | a[:, 1:].ravel()
a[1:].reshape(-1) | a[1:].ravel() | a[:, :1].ravel() | a[:, :1].reshape(-1) | a.reshape(2, 2, 4) | a.reshape(4, 2, 2)
a.T.reshape(2, 2, 4) | a.T.reshape(4, 2, 2) | a[:, ::2].reshape(-1) | a[::2].reshape(2, 2, 2) | a[:, None].reshape(4, 4)
a[0].ravel() | np.einsum('ij->ij', a.T) | as_strided(a, (4,), (a.strides[0] + a.strides[1],)) | np.copy(a, order='F').ravel()
a.copy('F').ravel() | a.copy('K').ravel() | (a * 2).ravel() | (a.T * 2).ravel() | (a.T + a).ravel() | np.zeros_like(a).ravel()
np.sort(a).ravel() | np.where(a > 3, a, 0).ravel() | a.astype(np.float32).ravel() | np.array(a).ravel() | np.zeros((4, 4), order='F').ravel()
"""
NEW = """
a.mT | np.matrix_transpose(a) | np.linalg.matrix_transpose(a) | np.permute_dims(a, (1, 0)) | np.linalg.diagonal(a)
np.unstack(a)[0] | np.unstack(a, axis=1)[0] | np.array(a, copy=False) | np.asarray(a, copy=True) | np.astype(a, float, copy=False)
np.astype(a, float) | np.reshape(a, -1, copy=True) | np.reshape(a, -1, copy=False) | a.reshape(-1, copy=False)
"""  # of NumPy 2

# What irad refuses on purpose: stores into results whose elements share memory, and what depends on who owns an array.
REFUSED = (
    "np.require(a, requirements=['O'])",
    "sliding_window_view(a, (2,) * a.ndim, writeable=True)",
    "np.meshgrid(a, a, copy=False)[0]",
)


def _split(text: str) -> list[str]:
    return [e.strip() for line in text.strip().splitlines() for e in line.split(" | ")]


NUMPY_2 = int(np.__version__.split(".")[0]) >= 2
CASES = [(e, 1) for e in _split(ANY)] + [(e, 2) for e in _split(MATRIX)]
CASES = [(e, rank) for e, rank in CASES if NUMPY_2 or "copy=None" not in e]
if NUMPY_2:
    CASES += [(e, 2) for e in _split(NEW) if "np.unstack" not in e or hasattr(np, "unstack")]


def program(expression: str, body: str) -> Any:
    source = "def program(a):\n    " + body.replace("FN", expression) + "\n"
    name = f"<{expression}: {body}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope: dict[str, Any] = {"np": np, "as_strided": as_strided, "sliding_window_view": sliding_window_view}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


def by_irad(fn: Any, a: np.ndarray) -> Any:
    """The function as irad reads it, run by the interpreter."""
    t = trace(fn, (a,))
    try:
        out = [np.array(x)[()] for x in interpret(t.program, a)]
    except RaisedInGraph as e:
        raise ValueError(str(e)) from None
    for m in t.mutated:
        a[...] = out[m.index]
    return t.out_tree.unflatten([out[r.index] for r in t.results])


def outcome(run: Any, a: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(a), a
        except (ValueError, TypeError, IndexError) as e:
            return e


def same(x: Any, y: Any) -> bool:
    if isinstance(x, tuple):
        return isinstance(y, tuple) and all(map(same, x, y))
    return x.shape == y.shape and x.dtype == y.dtype and bool(np.allclose(x, y, rtol=1e-14, equal_nan=True))


@pytest.mark.parametrize(("expression", "rank"), CASES, ids=[e for e, _ in CASES])
def test_views_and_copies_are_those_of_numpy(expression: str, rank: int) -> None:
    for layout, make in LAYOUTS.items():
        if make().ndim < rank:
            continue
        for what, body in PROGRAMS.items():
            fn = program(expression, body)
            want = outcome(fn, make())
            got = outcome(lambda a, fn=fn: by_irad(fn, a), make())
            if isinstance(want, Exception):
                assert isinstance(got, type(want)), f"{layout}, {what}: {want!r} becomes {got!r}"
            else:
                assert not isinstance(got, Exception), f"{layout}, {what}: {got!r}"
                assert same(got, want), f"{layout}, {what}: {got}, right {want}"


@pytest.mark.parametrize("expression", REFUSED)
def test_stores_that_are_not_followed_are_refused(expression: str) -> None:
    fn = program(expression, PROGRAMS["a store through the result"])
    with pytest.raises(irad.IradError, match="store into|copy"):
        trace(fn, (np.arange(1.0, 7.0),))


ARGUMENTS: tuple[tuple[Any, ...], ...] = (
    (),
    (0,),
    (1,),
    (2,),
    (0, 1),
    ((4, 4),),
    ((2, 4, 4),),
    (1.0,),
    (np.float64,),
    ([0],),
    ([True] * 4, 0),
    (2, 0),
)
NO_VIEW_OF_NUMBERS = {
    "as_strided", "lib.add_newdoc", "ndarray.getfield", "ndarray.byteswap", "ndarray.__deepcopy__", "ndarray.view", "ndarray.data", "ndarray.flat",
    "asmatrix", "bmat", "matrix", "nditer", "recarray", "record", "broadcast", "flatiter", "frombuffer", "from_dlpack", "memmap",
    "ndarray.base", "ndarray.ctypes", "apply_along_axis", "apply_over_axes", "isfortran", "trim_zeros", "ndarray.to_device", "ndarray.__array_wrap__", "ndenumerate",
    "asfarray", "ndarray.newbyteorder",  # of NumPy 1
}  # fmt: skip


def _giving_views() -> list[str]:
    """Names of NumPy's functions and methods for which some arguments give memory of their first one."""
    found = []
    spaces = {"": np, "linalg.": np.linalg, "fft.": np.fft, "lib.stride_tricks.": np.lib.stride_tricks, "ndarray.": np.ndarray}
    for space, holder in spaces.items():
        for name in dir(holder):
            if name.startswith("_") and name != "__array__":
                continue
            fn = getattr(holder, name, None)
            if (
                inspect.isclass(fn)
                or space + name in NO_VIEW_OF_NUMBERS
                or name in ("test", "info", "save", "savetxt", "fromfile", "tofile", "dump", "resize", "setfield")
            ):
                continue
            if any(_shares(fn, args) for args in ARGUMENTS):
                found.append(space + name)
    return found


def _shares(fn: Any, args: tuple[Any, ...]) -> bool:
    a = np.arange(16.0).reshape(4, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = fn(a, *args) if callable(fn) else fn.__get__(a)
        except Exception:
            return False
    parts = out if isinstance(out, (tuple, list)) else [out]
    return any(isinstance(p, np.ndarray) and np.may_share_memory(p, a) for p in parts)


def test_the_list_is_whole() -> None:
    listed = " ".join(e for e, _ in CASES) + " ".join(REFUSED)
    missing = [n for n in _giving_views() if f"{n.rsplit('.', 1)[-1]}" not in listed]
    assert not missing


def without_seam(x: np.ndarray, t: float) -> Any:
    kept = x[x != np.max(x)].reshape((2, 3))
    kept[0] = kept[0] * t
    rows = np.stack((x, x**2), axis=1)[x > -2.0]
    return np.sum(kept * np.arange(6.0).reshape(2, 3)) * kept.shape[1] + np.sum(
        rows.reshape(4, 3, order="F") * t + rows.reshape(4, 3)
    )


def test_a_shape_that_data_have_to_fit() -> None:
    x = np.array([0.5, -1.0, 2.5, 0.3, 1.5, -2.5, 0.9])
    assert np.isclose(irad.compile(without_seam)(x, 0.7), without_seam(x, 0.7), rtol=1e-14)
    irad.check_grads(without_seam, (x, 0.7), order=1)
    for bad in (np.append(x[:-1], 2.5), x - 3.0):
        with pytest.raises(ValueError) as theirs:
            without_seam(bad, 0.7)
        with pytest.raises(ValueError) as ours:
            irad.compile(without_seam)(bad, 0.7)
        assert str(ours.value) == str(theirs.value)
    y = np.arange(6.0)
    f = lambda y, t: np.add.at(z := (w := y[y > t]).reshape(2, 2), (0, 1), 5.0) or np.sum(w * z.ravel())
    assert irad.compile(f)(y, 1.5) == f(y, 1.5)


def test_what_is_left_without_positions_that_data_decide() -> None:
    def f(x: np.ndarray, at: Any) -> Any:
        far = np.where(x > 1.0)[0]
        near = np.delete(np.arange(len(x)), far)
        left = np.delete(np.outer(x, x), np.argmax(x), axis=1)
        some = np.delete(x[x > 0.0], slice(0, 2))
        return (
            np.sum(x[near] ** 2)
            - np.sum(x[far])
            + left.shape[1] * np.sum(left * left)
            + np.sum(some)
            + np.sum(np.delete(x, at) * x[0])
        )

    x = np.array([0.5, -1.0, 2.5, 0.3, 1.5])
    for at in ([1, 3, 3], np.array([True, False, True, True, False]), -1):
        assert np.isclose(irad.compile(f)(x, at), f(x, at), rtol=1e-14)
        irad.check_grads(lambda x, at=at: f(x, at), (x,), order=1)
    k = irad.compile(lambda x, k: np.delete(x, k))
    assert k(x, 2).tolist() == [0.5, -1.0, 0.3, 1.5] and k(x, -5).tolist() == x[1:].tolist()
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        k(x, 5)
