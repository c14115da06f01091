"""Suites are found by name: built-in ones and those of installed packages."""

from __future__ import annotations

import importlib
import json
import sys

import pytest

from steelyard.loading.load import find_suite, list_suites, load_suite
from steelyard.suite.yaml import read_yaml

SUITE = """suite: greetings
about: Say hello.
cases: cases.json
target: {python: "m:f"}
score: {text: {same: {expected: expected.text}}}
"""


def test_every_built_in_suite_is_listed_with_its_cases():
    listed = {suite.name: suite for suite in list_suites()}
    for name, suite in listed.items():
        path = find_suite(name)
        assert path is not None
        assert suite.problem == ""
        assert suite.about == read_yaml(path.read_text(encoding="utf-8"), "f").data["about"]
        assert suite.n_cases


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that brings a suite along, as pip would install it."""
    package = tmp_path / "hello_suites"
    (package / "greetings").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "greetings/suite.yaml").write_text(SUITE)
    rows = [{"id": n, "expected": {"text": "x"}} for n in range(3)]
    (package / "greetings/cases.json").write_text(json.dumps(rows))
    info = tmp_path / "hello_suites-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hello-suites\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[steelyard.suites]\nhello = hello_suites:greetings\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield package
    sys.modules.pop("hello_suites", None)


def test_a_suite_of_an_installed_package_is_found_by_its_name(installed):
    assert find_suite("hello") == installed / "greetings/suite.yaml"
    assert load_suite("hello").survey.n == 3
    (listing,) = [suite for suite in list_suites() if suite.name == "hello"]
    assert (listing.about, listing.n_cases) == ("Say hello.", 3)


def test_a_broken_suite_is_listed_with_its_problem(installed):
    (installed / "greetings/suite.yaml").write_text("suite: [")
    (listing,) = [suite for suite in list_suites() if suite.name == "hello"]
    assert listing.n_cases is None
    assert "not readable as YAML" in listing.problem
