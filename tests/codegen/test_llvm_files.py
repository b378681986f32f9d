"""LLVM text as package data: each file is a module, and what Python knows of it is so."""

from __future__ import annotations

import platform
import tomllib
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from irad.codegen import jit, llvm_files
from irad.codegen.call import machine
from irad.codegen.interface import INTERRUPTED, SIGNAL
from irad.codegen.kernel.form import GROW_NAME, POLL
from irad.codegen.libraries import pool
from irad.codegen.transform.memory_check import FILL, INTACT, POISON, support
from irad.codegen.transform.polled import poll_text

ROOT = Path(llvm_files.__file__).resolve().parent
FILES = sorted(ROOT.rglob("*.ll"))


def parsed(text: str) -> llvm.ModuleRef:
    jit.host_id()  # LLVM is ready
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    return module


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_parses(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith("; ") and "\n\n" in text, "a comment says what it is"
    assert [f.name for f in parsed(text).functions if not f.is_declaration]


def test_all_are_installed() -> None:
    settings = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    (pattern,) = settings["package-data"]["irad.codegen"]
    assert len(FILES) > 5 and sorted(ROOT.glob(pattern)) == FILES


def test_a_text_of_several_files_declares_once_what_none_defines() -> None:
    text = llvm_files.read("call", "machine", "match", "build")
    assert "\n;" not in text and text.count("@keep(ptr %c, ptr %o) {") == 1
    declared = [f.name for f in parsed(text).functions if f.is_declaration]
    assert declared and all(f.startswith(("Py", "llvm.")) for f in declared)


def test_numpys_objects_are_laid_out_as_python_probes_them() -> None:
    module = parsed(llvm_files.read("call", "match"))
    types = {t.name: t for t in module.struct_types}
    at = lambda t, k: jit.PLAIN.machine.target_data.get_element_offset(types[t], k)
    assert [at("array", k) for k in (2, 3, 4, 5, 7, 8)] == [
        machine._DATA, machine._NDIM, machine._DIMS, machine._STRIDES, machine._DESCR, machine._FLAGS,
    ]  # fmt: skip
    assert [at("dtype", k) for k in (5, 7)] == [machine._BYTE_ORDER, machine._TYPE_NUMBER]


def test_names_and_numbers_that_python_uses() -> None:
    assert f"ret i64 {INTERRUPTED}\n" in poll_text(1) and f"@{SIGNAL} =" in poll_text(1) and f"@{POLL}()" in poll_text(1)
    assert "@clock_gettime(i32 6, ptr %time)" in poll_text(6)
    assert f"@{GROW_NAME}(" in llvm_files.read("lower", "grow")
    low, high = (b - 256 if b > 127 else b for b in (POISON & 255, POISON >> 8))
    for name in (FILL, INTACT):
        assert f"@{name}(" in support()[name] and f"i8 {high}, i8 {low}\n" in support()[name]


def test_the_pool_of_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    text = pool.text(platform.machine())
    assert "x86" not in text and text.count("@syscall(i64 98,") == 3 and "call void @llvm.aarch64.hint(i32 1)" in text
    parsed(text)
