"""Arrays and tables of other libraries as arguments: read in place, or refused with what to write. What is not there is skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

pytestmark = pytest.mark.plain
SQUARES = irad.compile(lambda x: np.sum(x * x))

TABLES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "pandas-series": ("pandas", lambda m: m.Series([1.0, 2.0])),
    "pandas-frame": ("pandas", lambda m: m.DataFrame({"a": [1.0, 2.0]})),
    "polars-series": ("polars", lambda m: m.Series([1.0, 2.0])),
    "polars-frame": ("polars", lambda m: m.DataFrame({"a": [1.0, 2.0]})),
    "xarray": ("xarray", lambda m: m.DataArray(np.array([1.0, 2.0]), dims="t")),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_say_what_to_write(name: str) -> None:
    module, make = TABLES[name]
    x = make(pytest.importorskip(module))
    for f in (SQUARES, SQUARES.grad, irad.value_and_grad(SQUARES), irad.hessian(SQUARES)):
        with pytest.raises(irad.IradError, match=r"to_numpy\(\)"):
            f(x)
    assert SQUARES(x.to_numpy()) == 5.0


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    for x in (torch.arange(3.0), torch.arange(6.0)[::2] / 2, torch.arange(3)):
        assert SQUARES(x) == 5 and SQUARES.grad(x).tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(irad.IradTypeError, match=r"irad\.to_torch"):
        SQUARES(torch.ones(3, requires_grad=True))
    y = torch.zeros(3)
    irad.compile(lambda x: x.fill(2.0))(y)
    assert y.tolist() == [2.0, 2.0, 2.0]  # the same memory


def test_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")
    assert SQUARES(jnp.arange(3.0)) == 5.0 and SQUARES.grad(jnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
