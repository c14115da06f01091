"""Every dependency is used by tests that are run with its lowest allowed version, too."""

import ast
import re
import tomllib
from pathlib import Path

TESTS = Path(__file__).parent
TESTED_EXTRAS = ("postgres", "parquet", "fsspec", "charts", "similarity")
"""Of what can be installed besides; readers of photos take minutes to start and run with the newest versions alone."""


def test_every_dependency_has_tests_with_its_lowest_version():
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]
    extras = [each for extra in TESTED_EXTRAS for each in project["optional-dependencies"][extra]]
    needed = {re.match(r"[\w-]+", each)[0] for each in [*project["dependencies"], *extras]}
    named = {
        ast.literal_eval(argument)
        for file in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.boundary"
        for argument in node.args
    }
    assert named == needed
