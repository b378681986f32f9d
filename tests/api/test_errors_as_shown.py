"""What a user sees of an error: places, callers, no frames of irad, public classes. The texts are in tests/golden/mistakes."""

from __future__ import annotations

import importlib.util
import math
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import Loc, placed, shortened

X = np.arange(1.0, 4.0)


def module(path: Path, text: str) -> Any:
    """The module of a text, in a file at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_what_arises_in_a_package_is_placed_at_the_users_last_line(tmp_path: Path) -> None:
    package = module(tmp_path / "site-packages" / "tool.py", "def half(x):\n    async def a(): pass\n    return x / 2\n")

    def inner(x: Any) -> Any:
        return package.half(x)

    def f(x: Any) -> Any:
        return np.sum(inner(x))

    with pytest.raises(irad.UnsupportedError) as e:
        irad.grad(f)(X)
    first, code, caret, caller, met = str(e.value).splitlines()
    assert first.startswith(__file__) and "an async function" in first
    assert code.strip() == "return package.half(x)" and caret.strip() == "^" * len("package.half(x)")
    assert caller.startswith(f"called from {__file__}") and caller.endswith("return np.sum(inner(x))")
    assert met.startswith(f"met in {tmp_path}") and "irad.callback" in met


def test_long_chains_of_callers_are_cut() -> None:
    text = placed([Loc(__file__, n) for n in range(1, 20)], "no")
    assert len(text.splitlines()) <= 8 and "... 14 more" in text and f"called from {__file__}:19:1" in text


def test_callers_that_repeat_are_named_once() -> None:
    text = placed([Loc("f.py", 1), *[Loc("f.py", 2)] * 300, Loc("f.py", 3)], "no")
    assert text.splitlines() == ["f.py:1:1: no", "called from f.py:2:1", "called from f.py:3:1"]


def frames(e: BaseException) -> list[str]:
    return [f.filename for f in traceback.extract_tb(e.__traceback__)]


def test_a_fault_keeps_its_last_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what irad's own code raises unforeseen, two frames are left, and a note says how to see all."""
    monkeypatch.delenv("IRAD_TRACEBACK", raising=False)
    broken: dict[str, Any] = {}
    exec(compile("def get(*given): assert not given", str(Path(irad.__file__).parent / "broken.py"), "exec"), broken)
    monkeypatch.setattr("irad.frontend.reading.attributes.getattr", broken["get"], raising=False)
    with pytest.raises(AssertionError) as e:
        irad.compile(lambda x: math.sqrt(x))(2.0)
    assert [Path(f).name for f in frames(e.value)[-2:]] == ["attributes.py", "broken.py"] and len(frames(e.value)) == 5
    place, fault = e.value.__notes__
    assert "raised while compiling" in place and "IRAD_TRACEBACK=full" in fault


def test_full_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRAD_TRACEBACK", "full")
    with pytest.raises(AttributeError) as e:
        irad.compile(lambda x: x.summ())(X)
    assert any("reader.py" in f for f in frames(e.value))


def test_private_classes_become_public() -> None:
    class Private(irad.UnsupportedError):
        pass

    e = Private("no")
    assert type(shortened(e)) is irad.UnsupportedError and str(e) == "no"


def test_frames_of_the_user_stay() -> None:
    """What compiled code calls in Python: its own frames are shown, those between are not."""

    def call_back(x: np.ndarray) -> np.ndarray:
        raise RuntimeError("not today")

    host = irad.callback(call_back, X)
    with pytest.raises(RuntimeError) as e:
        irad.compile(lambda x: host(x))(X)
    assert frames(e.value)[-1] == __file__ and len(frames(e.value)) <= 4


def test_an_import_inside_is_shown_at_its_line() -> None:
    def f(x: Any) -> Any:
        import not_there_at_all

        return not_there_at_all.tanh(x)

    with pytest.raises(ModuleNotFoundError) as e:
        irad.compile(f)(X)
    assert traceback.extract_tb(e.value.__traceback__)[-1].line == "import not_there_at_all"


def test_a_misspelt_option() -> None:
    with pytest.raises(irad.IradTypeError, match="'fastmth'; did you mean fastmath?"):
        irad.compile(np.sum, fastmth=True)  # type: ignore[call-overload]


def test_lower_is_short_too() -> None:
    with pytest.raises(AttributeError) as e:
        irad.compile(lambda x: x.summ()).lower(X)
    assert len(frames(e.value)) == 2


def test_reprs() -> None:
    def loss(x: Any) -> Any:
        return np.sum(x * x)

    c = irad.compile(loss)
    assert repr(c) == "<irad.compile of loss: versions compiled: 0>"
    c(X)
    assert repr(c) == "<irad.compile of loss: versions compiled: 1>"
    assert repr(irad.grad(loss, argnums=(0,))) == "<irad.grad of loss by (0,)>"
    assert repr(irad.hvp(loss)) == "<irad.hvp of loss>"
