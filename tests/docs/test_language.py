"""The examples of docs/language.md: each is compiled and run as plain Python, its gradient is compared with differences."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from tests.support import ROOT

MADE = runpy.run_path(str(ROOT / "docs" / "language_table.py"))
EXAMPLES = [e for section in MADE["sections"]().values() for e in section]
REFUSED = MADE["refused"]()
X, M, S = np.array([0.4, 1.2, 0.7, 0.9]), np.arange(9.0).reshape(3, 3) / 7, 0.7


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All examples as one module: functions e0, e1, ..., and r0, r1, ... of what is refused."""
    path: Path = tmp_path_factory.mktemp("language") / "language_examples.py"
    head = "import numpy as np\n\nimport irad\n\n\n"
    text = [e.function(f"e{k}") for k, e in enumerate(EXAMPLES)] + [e.function(f"r{k}") for k, e in enumerate(REFUSED)]
    path.write_text(head + "\n\n".join(text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("language_examples", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["language_examples"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["language_examples"]


@pytest.mark.parametrize("k", range(len(EXAMPLES)), ids=lambda k: EXAMPLES[k].form)
def test_example(functions: Any, k: int) -> None:
    f = getattr(functions, f"e{k}")

    def total(x: np.ndarray, m: np.ndarray, n: int, s: float) -> Any:
        return np.sum(f(x, m, n, s))

    want = f(X.copy(), M.copy(), 3, S)
    np.testing.assert_allclose(irad.compile(f)(X.copy(), M.copy(), 3, S), want, rtol=1e-13, atol=1e-14)
    dx, ds = irad.grad(total, argnums=(0, 3))(X, M, 3, S)
    along = np.array([0.3, -0.8, 0.5, 0.2])
    at = lambda h: total(X + h * along, M, 3, S + h)
    step = 1e-3
    slope = (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)
    np.testing.assert_allclose(dx @ along + ds, slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("k", range(len(REFUSED)), ids=lambda k: REFUSED[k].form)
def test_refused(functions: Any, k: int) -> None:
    with pytest.raises(irad.IradError) as info:
        irad.compile(getattr(functions, f"r{k}"))(X, M, 3, S)
    assert REFUSED[k].said in str(info.value) and "language_examples.py" in str(info.value), info.value


def test_page_is_up_to_date() -> None:
    """Run docs/language_table.py where this fails."""
    assert (ROOT / "docs" / "language.md").read_text(encoding="utf-8") == MADE["page"]()
