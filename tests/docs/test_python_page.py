"""docs/python.md lists the NumPy functions that the table has, of all versions of NumPy; `pytest --bless` writes the list."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (names of what has been imported are listed)
import scipy.special  # noqa: F401

from irad.frontend.numpy.table import METHODS, NAMES, load_all
from irad.frontend.reading.methods import MUTATING
from irad.frontend.registry import OTHER_NAMES, find
from tests.support import ROOT

PAGE = ROOT / "docs" / "python.md"
OLD = np.__version__.startswith("1.")


def unknown(text: str) -> set[str]:
    """Functions on the page that an older NumPy or SciPy lacks: its table cannot say whether they are right."""
    listed = re.findall(r"`([\w.]+)`", re.split(r";\s+and\s+`outer`", text)[0])  # a line may end between them
    there = lambda n: (
        hasattr(scipy.special, n.rsplit(".", 1)[-1])
        if n.startswith("scipy.special.")
        else n.startswith("scipy") or not OLD or find(n) is not None
    )
    return {n if n.startswith("scipy") else f"np.{n}" for n in listed if n != "bool" and not there(n)}


def listing(more: set[str]) -> str:
    load_all()
    other = {"np.bool_": "np.bool"} if OLD else {}
    own = [
        other.get(n, n)
        for n in {*NAMES, *OTHER_NAMES, *more}
        if n.rsplit(".", 1)[-1] not in ("outer", "accumulate", "reduce", "at") and not n.startswith("scipy")
    ]
    functions = ", ".join(f"`{name.removeprefix('np.')}`" for name in sorted(own, key=lambda n: (n.count("."), n)))
    functions += "; and `outer`, `accumulate`, `reduce` and `at` of ufuncs that combine elements. SciPy's: [scipy.md](scipy.md)."
    methods = ", ".join(f"`{name}`" for name in sorted({*METHODS, *MUTATING}))
    fill = lambda text: "\n".join(textwrap.wrap(text, 128, break_long_words=False, break_on_hyphens=False))
    return f"\n{fill(functions)}\n\nMethods of arrays: \n{fill(methods)}\n\n".replace(": \n", ":\n")


def test_functions_are_listed(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, found, after = re.split(r"(?<=<!-- functions -->)(.*)(?=<!-- end -->)", text, flags=re.DOTALL)
    if request.config.getoption("--bless"):
        PAGE.write_text(before + listing(unknown(found)) + after, encoding="utf-8")
    else:
        assert found == listing(unknown(found)), "the table has changed: run pytest --bless tests/docs/test_python_page.py"
