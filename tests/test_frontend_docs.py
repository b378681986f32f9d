"""docs/python.md lists the NumPy functions that the table has; `pytest --bless` writes the list."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401: names of what has been imported are listed
import scipy.special  # noqa: F401

from irad.frontend.eval_attr import MUTATING
from irad.frontend.table import METHODS, NAMES, load_all

PAGE = Path(__file__).parents[1] / "docs" / "python.md"


def listing() -> str:
    load_all()
    own = [n for n in NAMES if n.rsplit(".", 1)[-1] not in ("outer", "accumulate", "reduce", "at")]
    functions = ", ".join(f"`{name.removeprefix('np.')}`" for name in sorted(own, key=lambda n: (n.count("."), n)))
    functions += "; and `outer`, `accumulate`, `reduce` and `at` of ufuncs that combine elements."
    methods = ", ".join(f"`{name}`" for name in sorted({*METHODS, *MUTATING}))
    fill = lambda text: "\n".join(textwrap.wrap(text, 128, break_long_words=False, break_on_hyphens=False))
    return f"\n{fill(functions)}\n\nMethods of arrays: \n{fill(methods)}\n\n".replace(": \n", ":\n")


def test_functions_are_listed(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, found, after = re.split(r"(?<=<!-- functions -->)(.*)(?=<!-- end -->)", text, flags=re.DOTALL)
    if request.config.getoption("--bless"):
        PAGE.write_text(before + listing() + after, encoding="utf-8")
    else:
        assert found == listing(), "the table has changed: run pytest --bless tests/test_frontend_docs.py"
