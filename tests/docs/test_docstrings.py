"""Every public name has a docstring with an example, and the examples hold."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import os
import pathlib
import tempfile
from typing import Any

import numpy as np
import pytest

import irad
import irad.graph
import irad.mpi

NEEDS = {"to_casadi": "casadi", "to_jax": "jax", "to_pytensor": "pytensor", "to_torch": "torch"}
PUBLIC = {
    **{name: getattr(irad, name) for name in irad.__all__},
    **{f"{m.__name__[5:]}.{name}": getattr(m, name) for m in (irad.graph, irad.mpi) for name in m.__all__},
}
GIVEN = {"irad": irad, "np": np, "pathlib": pathlib, "tempfile": tempfile}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_of_a_public_name(name: str) -> None:
    needed = NEEDS.get(name, "mpi4py" if name.startswith("mpi.") else "numpy")
    text = inspect.getdoc(PUBLIC[name])
    assert text is not None, f"irad.{name} has no docstring"
    example = doctest.DocTestParser().get_doctest(text, dict(GIVEN), f"irad.{name}", None, None)
    assert example.examples, f"the docstring of irad.{name} has no example"
    if name == "release_memory" and os.environ.get("IRAD_CHECK") == "memory":
        pytest.skip("code that checks its memory keeps none")
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    found: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    with np.printoptions(**_plain_numbers()):
        runner.run(example, out=found.append)
    assert not runner.failures, "".join(found)


def _plain_numbers() -> dict[str, Any]:
    """NumPy's scalars as plain numbers, as all its versions can print them."""
    return {"legacy": "1.25"} if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else {}
