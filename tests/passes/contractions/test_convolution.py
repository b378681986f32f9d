"""Convolutions as they are written with NumPy: values and all gradients, of windows read where they lie and of windows copied.

The reference shifts whole images by loops over the offsets of the kernel; it knows nothing of windows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.call.stages import Stages
from irad.options import DEFAULT
from irad.passes.contractions import patches as fuse_dot_patches
from irad.passes.contractions import scatter as fuse_dot_scatter
from irad.passes.contractions import wanted as fuse_dot_wanted

sliding = np.lib.stride_tricks.sliding_window_view
Arrays = tuple[np.ndarray, ...]


def array(*shape: int, dtype: str = "f8", seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


# ---- the reference ---------------------------------------------------------------------------------------------------


def reference(x: np.ndarray, k: np.ndarray, c: np.ndarray, step: int = 1, apart: int = 1, groups: int = 1) -> Arrays:
    """Images (b, c, h, w), kernels (o, c / groups, i, j): the result, and the gradients of sum(result * c) by x and k."""
    x, k, c = (a.astype("f8") for a in (x, k, c))
    (o, few, n, m), each = k.shape, x.shape[1] // groups
    y, dx, dk = np.zeros(c.shape), np.zeros_like(x), np.zeros_like(k)
    for g in range(groups):
        outs, ins = slice(g * o // groups, (g + 1) * o // groups), slice(g * each, g * each + few)
        for i in range(n):
            for j in range(m):
                at = (slice(None), ins, slice(i * apart, None, step), slice(j * apart, None, step))
                part = x[at][:, :, : c.shape[2], : c.shape[3]]
                y[:, outs] += np.tensordot(part, k[outs, :, i, j], (1, 1)).transpose(0, 3, 1, 2)
                dk[outs, :, i, j] = np.tensordot(c[:, outs], part, ((0, 2, 3), (0, 2, 3)))
                dx[at][:, :, : c.shape[2], : c.shape[3]] += np.tensordot(c[:, outs], k[outs, :, i, j], (1, 0)).transpose(
                    0, 3, 1, 2
                )
    return y, dx, dk


# ---- forms -----------------------------------------------------------------------------------------------------------


def channels_first(x: Any, k: Any) -> Any:
    return np.einsum("bchwij,ocij->bohw", sliding(x, k.shape[2:], axis=(2, 3)), k)


def channels_last(x: Any, k: Any) -> Any:
    return np.einsum("bhwcij,ijco->bhwo", sliding(x, k.shape[:2], axis=(1, 2)), k)


def steps_of_two(x: Any, k: Any) -> Any:
    return np.einsum("bchwij,ocij->bohw", sliding(x, k.shape[2:], axis=(2, 3))[:, :, ::2, ::2], k)


def steps_channels_last(x: Any, k: Any) -> Any:
    return np.einsum("bhwcij,ijco->bhwo", sliding(x, k.shape[:2], axis=(1, 2))[:, ::2, ::2], k)


def patches_apart(x: Any, k: Any) -> Any:
    """Steps as long as the kernel: windows do not overlap."""
    return np.einsum("bchwij,ocij->bohw", sliding(x, (3, 3), axis=(2, 3))[:, :, ::3, ::3], k)


def dilated(x: Any, k: Any) -> Any:
    return np.einsum("bchwij,ocij->bohw", sliding(x, (5, 5), axis=(2, 3))[..., ::2, ::2], k)


def grouped(x: Any, k: Any) -> Any:
    w = sliding(x, (3, 3), axis=(2, 3))
    b, c, h, v = w.shape[:4]
    return np.einsum("bgchwij,gocij->bgohw", w.reshape(b, 2, c // 2, h, v, 3, 3), k.reshape(2, -1, *k.shape[1:])).reshape(
        b, -1, h, v
    )


def tensordot(x: Any, k: Any) -> Any:
    return np.tensordot(sliding(x, (3, 3), axis=(2, 3)), k, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def rows_of_patches(x: Any, k: Any) -> Any:
    w = sliding(x, (3, 3), axis=(2, 3))
    b, c, h, v = w.shape[:4]
    rows = w.transpose(0, 2, 3, 1, 4, 5).reshape(b * h * v, -1)
    return (rows @ k.reshape(k.shape[0], -1).T).reshape(b, h, v, -1).transpose(0, 3, 1, 2)


def columns_of_patches(x: Any, k: Any) -> Any:
    w = sliding(x, (3, 3), axis=(2, 3))
    b, c, h, v = w.shape[:4]
    return (k.reshape(k.shape[0], -1) @ w.transpose(0, 1, 4, 5, 2, 3).reshape(b, c * 9, h * v)).reshape(b, -1, h, v)


def positions(x: Any, k: Any) -> Any:
    i, j = (np.arange(n - 2)[:, None] + np.arange(3) for n in x.shape[2:])
    return np.einsum("bchwij,ocij->bohw", x[:, :, i[:, None, :, None], j[None, :, None, :]], k)


def stacked(x: Any, k: Any) -> Any:
    h, w = x.shape[2] - 2, x.shape[3] - 2
    s = np.stack([x[:, :, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=2)
    return np.einsum("bcnhw,ocn->bohw", s, k.reshape(*k.shape[:2], 9))


def summed(x: Any, k: Any) -> Any:
    h, w = x.shape[2] - 2, x.shape[3] - 2
    y: Any = 0
    for i in range(3):
        for j in range(3):
            y = y + np.einsum("bchw,oc->bohw", x[:, :, i : i + h, j : j + w], k[:, :, i, j])
    return y


def each_image(x: Any, k: Any) -> Any:
    return np.stack([np.tensordot(k, sliding(v, (3, 3), axis=(1, 2)), axes=((1, 2, 3), (0, 3, 4))) for v in x])


def padded(x: Any, k: Any) -> Any:
    return channels_first(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), k)


Form = Callable[[Any, Any], Any]
FORMS: dict[str, tuple[Form, tuple[int, ...], tuple[int, ...], dict[str, int]]] = {
    f.__name__: (f, x, k, how)
    for f, x, k, how in (
        (channels_first, (2, 5, 11, 12), (19, 5, 3, 4), {}),
        (channels_last, (2, 5, 11, 12), (19, 5, 3, 4), {}),
        (steps_of_two, (2, 8, 13, 14), (18, 8, 3, 3), {"step": 2}),
        (steps_channels_last, (2, 8, 13, 14), (18, 8, 3, 3), {"step": 2}),
        (patches_apart, (2, 8, 15, 18), (18, 8, 3, 3), {"step": 3}),
        (dilated, (2, 8, 13, 14), (18, 8, 3, 3), {"apart": 2}),
        (grouped, (2, 8, 11, 12), (18, 4, 3, 3), {"groups": 2}),
        (tensordot, (2, 6, 11, 12), (18, 6, 3, 3), {}),
        (rows_of_patches, (2, 6, 11, 12), (18, 6, 3, 3), {}),
        (columns_of_patches, (2, 6, 11, 12), (18, 6, 3, 3), {}),
        (positions, (2, 6, 11, 12), (18, 6, 3, 3), {}),
        (stacked, (2, 6, 11, 12), (18, 6, 3, 3), {}),
        (summed, (2, 6, 11, 12), (18, 6, 3, 3), {}),
        (each_image, (2, 6, 11, 12), (18, 6, 3, 3), {}),
        (padded, (2, 6, 11, 12), (18, 6, 3, 3), {"pad": 1}),
    )
}


def gradients(f: Form) -> Callable[[Any, Any, Any], Any]:
    """Value in C's order, and gradients of sum(value * c) by x and k."""
    return lambda x, k, c: (np.ascontiguousarray(f(x, k)), *irad.grad(lambda x, k: np.sum(f(x, k) * c), argnums=(0, 1))(x, k))


def case(form: str, dtype: str) -> tuple[Form, Arrays, Arrays]:
    """The function, its arguments (x, k, c), and what it gives: value, dx, dk."""
    f, shape, kernel, how = FORMS[form]
    pad, last = how.get("pad", 0), form.endswith("channels_last")
    x, k = array(*shape, dtype=dtype), array(*kernel, dtype=dtype, seed=1)
    given = (x.transpose(0, 2, 3, 1).copy(), k.transpose(2, 3, 1, 0).copy()) if last else (x, k)
    c = array(*f(*given).shape, dtype=dtype, seed=2)
    wide = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    how = {name: n for name, n in how.items() if name != "pad"}
    y, dx, dk = reference(wide, k, c.transpose(0, 3, 1, 2) if last else c, **how)
    dx = dx[:, :, pad : dx.shape[2] - pad, pad : dx.shape[3] - pad]
    if last:
        y, dx, dk = y.transpose(0, 2, 3, 1), dx.transpose(0, 2, 3, 1), dk.transpose(2, 3, 1, 0)
    return f, (*given, c), (y, dx, dk)


def close(got: Any, want: Arrays) -> None:
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        eps = np.finfo(g.dtype).eps
        np.testing.assert_allclose(g, w, rtol=0, atol=float(200 * eps * np.max(np.abs(w))))


def lowered(f: Any, args: Arrays) -> Stages:
    """Compiled anew, whatever was compiled before."""
    return Stages.of(f, args, {}, DEFAULT)


@pytest.fixture(params=["direct", "patches"])
def choice(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(fuse_dot_patches, "CHOICE", request.param)
    return str(request.param)


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, choice: str) -> None:
    """Each form by each choice; one of them in single precision, by turns."""
    dtype = "f4" if (list(FORMS).index(form) % 2 == 0) == (choice == "direct") else "f8"
    f, args, want = case(form, dtype)
    low = lowered(gradients(f), args)
    close(low.native.run(list(args)), want)
    made = {d.facts["choice"] for d in low.notes.of("contraction") if d.facts["kind"] in ("windows", "scatter")}
    if form not in ("stacked", "summed"):  # whose slices are no windows
        plain = form in ("channels_first", "channels_last", "tensordot", "rows_of_patches", "columns_of_patches", "padded")
        only = set() if plain else {"patches"}  # whose adjoint is no convolution
        assert made == {choice} | only


@pytest.mark.parametrize("form", FORMS)
def test_no_positions_in_memory(form: str) -> None:
    """Each product is a register tile, and windows are read at affine positions, not gathered at computed ones."""
    f, args, want = case(form, "f4")
    low = lowered(gradients(f), args)
    close(low.native.run(list(args)), want)
    products = {d.facts["kind"] for d in low.notes.of("contraction")}
    assert products <= {"nest", "tiles", "windows", "scatter"} and "tiles" in products
    assert "i64 = " not in low.kernel.replace("err: i64", "")


@pytest.mark.parametrize("form", ["channels_first", "channels_last", "steps_of_two", "rows_of_patches"])
def test_large_ones(form: str, choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that are a BLAS's, of a copy of the windows or of the result that is scattered."""
    monkeypatch.setattr(fuse_dot_wanted, "FEW_WEIGHTS", 0)
    for module in (fuse_dot_wanted, fuse_dot_scatter):
        monkeypatch.setattr(module, "MOST", 4096)
    f, args, want = case(form, "f8")
    low = lowered(gradients(f), args)
    assert ("gemm" in low.kernel) == (choice == "patches" or form == "steps_of_two")
    close(low.native.run(list(args)), want)


@pytest.mark.parametrize("form", ["channels_first", "channels_last", "steps_of_two", "each_image"])
@pytest.mark.parametrize("blas", [False, True])
def test_what_is_scattered_is_bounded(form: str, blas: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix over the limit is made for a part of the images at a time, or not at all."""
    f, args, want = case(form, "f8")
    for module in (fuse_dot_patches, fuse_dot_scatter):
        monkeypatch.setattr(module, "MOST_PATCHES", 30_000)
    if blas:
        for module in (fuse_dot_wanted, fuse_dot_scatter):
            monkeypatch.setattr(module, "MOST", 4096)
    dx = lambda x, k, c: irad.grad(lambda x: np.sum(f(x, k) * c))(x)  # noqa: E731
    low = lowered(dx, args)
    close(low.native.run(list(args)), want[1:2])
    if form == "steps_of_two" and not blas:
        assert 20_000 < low.native.lowered.arena < 40_000


def test_one_dimension(choice: str) -> None:
    for text, axis, shape, kernel in (("bcti,oci->bot", 2, (3, 5, 40), (18, 5, 4)), ("btci,ico->bto", 1, (3, 40, 5), (4, 5, 18))):
        f = lambda x, k, text=text, axis=axis: np.einsum(text, sliding(x, 4, axis=axis), k)  # noqa: E731
        x, k = array(*shape), array(*kernel, seed=1)
        c = array(*f(x, k).shape, seed=2)
        first = (x, k, c) if axis == 2 else (x.transpose(0, 2, 1), k.transpose(2, 1, 0), c.transpose(0, 2, 1))
        y, dx, dk = (a[:, :, 0] for a in reference(*(a[:, :, None] for a in first)))
        want = (y, dx, dk) if axis == 2 else (y.transpose(0, 2, 1), dx.transpose(0, 2, 1), dk.transpose(2, 1, 0))
        close(lowered(gradients(f), (x, k, c)).native.run([x, k, c]), want)


def test_each_channel_by_itself() -> None:
    f = lambda x, k: np.einsum("bchwij,cij->bchw", sliding(x, (3, 3), axis=(2, 3)), k)  # noqa: E731
    x, k = array(2, 6, 11, 20), array(6, 3, 3, seed=1)
    c = array(*f(x, k).shape, seed=2)
    parts = [reference(x[:, g : g + 1], k[None, g : g + 1], c[:, g : g + 1]) for g in range(6)]
    want = (
        np.concatenate([p[0] for p in parts], 1),
        np.concatenate([p[1] for p in parts], 1),
        np.concatenate([p[2][0] for p in parts]),
    )
    low = lowered(gradients(f), (x, k, c))
    close(low.native.run([x, k, c]), want)
    assert "i64 = " not in low.kernel and low.native.lowered.arena <= x.nbytes


@pytest.mark.plain
def test_maxima_and_means_over_windows() -> None:
    """Windows that no product reads are not made either."""
    x, c = array(40, 50), array(38, 46, seed=1)
    low = lowered(lambda x: (sliding(x, (3, 5)).max((2, 3)), sliding(x, (3, 5)).mean((2, 3))), (x,))
    close(low.native.run([x]), (sliding(x, (3, 5)).max((2, 3)), sliding(x, (3, 5)).mean((2, 3))))
    assert low.native.lowered.arena == 0 and "i64 = " not in low.kernel
    want = np.zeros_like(x)
    for i in range(3):
        for j in range(5):
            want[i : i + 38, j : j + 46] += c / 15
    close([irad.grad(lambda x: np.sum(sliding(x, (3, 5)).mean((2, 3)) * c))(x)], (want,))


def test_second_derivative(choice: str) -> None:
    """Along d, the gradient of a sum of squares of a convolution changes by the adjoint of the convolution of d."""
    x, k, d = array(2, 4, 9, 10), array(17, 4, 3, 3, seed=1), array(2, 4, 9, 10, seed=2)
    slope = lambda x, k, d: irad.jvp(lambda x: irad.grad(lambda x: np.sum(channels_first(x, k) ** 2))(x), (x,), (d,))[1]  # noqa: E731
    _, want, _ = reference(x, k, 2 * channels_first(d, k))
    close(lowered(slope, (x, k, d)).native.run([x, k, d]), (want,))


def test_bias_and_activation_are_done_on_the_tile(choice: str) -> None:
    def layer(x: Any, k: Any, b: Any) -> Any:
        return np.maximum(channels_first(x, k) + b[:, None, None], 0)

    x, k, b = array(2, 16, 10, 10), array(24, 16, 3, 3, seed=1), array(24, seed=2)
    low = lowered(layer, (x, k, b))
    (tile,) = [d for d in low.notes.of("contraction") if d.facts["kind"] == "tiles"]
    assert tile.facts["epilogue"] == ["add", "maximum"]
    y, _, _ = reference(x, k, np.zeros((2, 24, 8, 8)))
    close(low.native.run([x, k, b]), (np.maximum(y + b[:, None, None], 0),))


# ---- the choice ------------------------------------------------------------------------------------------------------


def chosen(shape: tuple[int, ...], kernel: tuple[int, ...], f: Form = channels_first) -> dict[str, str]:
    """What was chosen for value, input gradient and kernel gradient; "same" padding is part of the shape."""
    x, k = array(*shape, dtype="f4"), array(*kernel, dtype="f4", seed=1)
    c = array(*f(x, k).shape, dtype="f4", seed=2)
    grad = lambda n: lambda x, k, c: irad.grad(lambda *a: np.sum(f(*a) * c), argnums=n)(x, k)  # noqa: E731
    out = {}
    for name, g in (("value", lambda x, k, c: f(x, k)), ("dx", grad(0)), ("dk", grad(1))):
        found = [d.facts for d in lowered(g, (x, k, c)).notes.of("contraction") if d.facts["kind"] in ("windows", "scatter")]
        out[name] = found[-1]["choice"]
    return out


@pytest.mark.parametrize("shape, kernel, f, want", [
    ((16, 1, 32, 32), (6, 1, 5, 5), channels_first, ("direct", "direct", "direct")),  # LeNet's first layer
    ((16, 6, 16, 16), (16, 6, 5, 5), channels_first, ("direct", "patches", "direct")),
    ((16, 32, 10, 10), (64, 32, 3, 3), channels_first, ("direct", "patches", "direct")),
    ((1, 32, 10, 10), (64, 32, 3, 3), channels_first, ("patches", "patches", "patches")),  # one image: the kernel is as large
    ((1, 64, 6, 6), (128, 64, 3, 3), channels_first, ("patches", "patches", "patches")),
    ((2, 64, 58, 58), (64, 64, 3, 3), channels_first, ("direct", "direct", "direct")),  # wide
    ((2, 256, 16, 16), (256, 256, 3, 3), channels_first, ("patches", "patches", "direct")),  # many weights
    ((16, 10, 10, 32), (3, 3, 32, 64), channels_last, ("direct", "patches", "direct")),
    ((1, 6, 6, 64), (3, 3, 64, 128), channels_last, ("direct", "patches", "direct")),
])  # fmt: skip
def test_the_choice(shape: tuple[int, ...], kernel: tuple[int, ...], f: Form, want: tuple[str, str, str]) -> None:
    assert chosen(shape, kernel, f) == dict(zip(("value", "dx", "dk"), want))


def test_explained_and_counted() -> None:
    """A line of `irad explain`, and memory of the plan."""
    x, k = array(1, 64, 6, 6, dtype="f4"), array(128, 64, 3, 3, dtype="f4")
    text = irad.compile(channels_first).lower(x, k).explain
    assert "windows f32[1,64,4,4,3,3] copied into a matrix of patches, 36 KiB" in text
    assert "36,864  %patches  f32[1,64,3,3,4,4]" in text
    x, k = array(1, 3, 34, 34, dtype="f4"), array(16, 3, 3, 3, dtype="f4")
    assert "windows f32[1,3,32,32,3,3] read where they lie" in irad.compile(channels_first).lower(x, k).explain


@pytest.mark.parametrize("form", ["channels_first", "channels_last"])
def test_the_same_bits_however_many_threads(form: str, choice: str) -> None:
    f = FORMS[form][0]
    x, k = array(32, 16, 18, 18, dtype="f4"), array(32, 16, 3, 3, dtype="f4", seed=1)
    if form == "channels_last":
        x, k = x.transpose(0, 2, 3, 1).copy(), k.transpose(2, 3, 1, 0).copy()
    c = array(*f(x, k).shape, dtype="f4", seed=2)
    results = []
    for threads in (1, 2, 3, 2):
        code = Stages.of(gradients(f), (x, k, c), {}, irad.compile(f, threads=threads).options).native
        results.append(code.run([x, k, c]))
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)
