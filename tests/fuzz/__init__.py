"""Generators of programs that nobody wrote, each with a check and a reducer: `python -m tests.fuzz`, see docs/testing.md.

A *generator* is a module of this package with

    FEATURES: tuple[str, ...]                          what its programs may have; a run leaves some out at random
    generate(seed: int, features: frozenset | None) -> Case     always the same case for the same seed; None: all features

and, where the ones of tests.fuzz.case and tests.fuzz.shrink do not fit,

    check(case: Case) -> str                           "ok" or "refused: reason"; raises for a fault
    reduce(case: Case) -> Iterator[Case]               smaller cases, those that are most smaller first

`tests.fuzz.graphs` makes graphs instead, for the tests of passes.
"""
