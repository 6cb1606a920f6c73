"""Tests that have a long form: `cargo xtask test --long` runs them with larger counts, and prints which ran."""

import inspect
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def long_or(small, large):
    """`large` in the long run, `small` in every other. The long run is told which test took it."""
    if not os.environ.get("THALWEG_LONG"):
        return small
    if path := os.environ.get("THALWEG_LONG_LIST"):
        caller = inspect.stack()[1]
        test = os.environ.get("PYTEST_CURRENT_TEST", caller.function).split("::")[-1].split(" ")[0]
        file = pathlib.Path(caller.filename).resolve().relative_to(ROOT).as_posix()
        with open(path, "a", encoding="utf-8") as list_of_tests:
            list_of_tests.write(f"{file}\t{test}\t{large!r} instead of {small!r}\n")
    return large
