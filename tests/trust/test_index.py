"""The table of planted lies names tests that exist, and enough of them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs/design/0008-planted-lies.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::([\w:]+)`")
FEWEST = 250


@cache
def defined(file: str) -> set[str]:
    """Functions of a test file by name, those of a class as Class::function."""
    names = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


def rows() -> list[str]:
    return [line for line in INDEX.read_text().splitlines() if NAMED.search(line)]


def test_every_test_that_the_table_names_exists():
    missing = defaultdict(list)
    for file, name in NAMED.findall(INDEX.read_text()):
        if not (ROOT / file).is_file() or name not in defined(file):
            missing[file].append(name)
    assert not missing


def test_every_row_is_a_lie_with_its_origin_and_its_test():
    for row in rows():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 3, row
        assert all(cells), row


def test_there_are_enough_lies():
    lies = [row.split("|")[1].strip() for row in rows()]
    assert len(lies) == len(set(lies))
    assert len(lies) >= FEWEST


@pytest.mark.parametrize("file", ["tests/trust/test_lessons.py", "tests/trust/test_lessons_of_runs.py"])
def test_every_test_of_the_lessons_is_in_the_table(file):
    named = {name for of, name in NAMED.findall(INDEX.read_text()) if of == file}
    assert {name for name in defined(file) if "test_" in name} - named == set()
