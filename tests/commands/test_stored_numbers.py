"""Whoever asks for a number that is stored waits neither for the suite to be built nor for figures to be computed."""

import json
import shlex
import subprocess
import sys

import pytest

from parts.command import steelyard
from parts.looped import for_every
from parts.small_suite import write_suite

# What builds a suite, asks a target, scores an answer and computes figures.
BUILDERS = [
    "steelyard.loading.load",
    "steelyard.loading.suite",
    "steelyard.suite.draft",
    "steelyard.engine.engine",
    "steelyard.scoring.evaluate",
    "steelyard.analysis.summary",
    "steelyard.analysis.summary_from_store",
]
_COMMAND = """
import json, sys
from steelyard.cli import main
sys.argv = ["steelyard", *sys.argv[1:]]
try:
    main()
finally:
    print("\\n" + json.dumps(sorted(sys.modules)))
"""
_PYTHON = """
import json, sys, steelyard
run = steelyard.load_run("LAST", store="sqlite:///runs.db")
print(run.figures["average"].value, len(run.to_pandas("figures")) > 10)
print(json.dumps(sorted(sys.modules)))
"""


def of_process(folder, *arguments):
    """What a new Python said, and the modules that it had loaded at its end."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    said, _, modules = done.stdout.rstrip().rpartition("\n")
    assert modules.startswith("["), done.stderr
    return said, json.loads(modules)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    write_suite(folder / "my", n=8, gates=["average >= 90 %"])
    for _ in range(2):
        done = steelyard("run", "my", "--store", "sqlite:///runs.db", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@for_every(
    "asked",
    [
        ("runs", "100.0 %"),
        ("history words", "100.0 %"),
        ("gate LAST", "pass"),
        ("report LAST", "100.0 %"),
        ("baseline list", "no baselines"),
        ('sql "select count(*) from figures"', "count"),
    ],
)
def test_a_stored_number_is_read_without_the_suite(folder, asked):
    command, expected = asked
    said, modules = of_process(folder, "-c", _COMMAND, *shlex.split(command), "--store", "sqlite:///runs.db")
    assert expected in said.lower()
    assert sorted(set(BUILDERS) & set(modules)) == []


def test_so_it_is_in_python(folder):
    said, modules = of_process(folder, "-c", _PYTHON)
    assert said == "1.0 True"
    assert sorted(set(BUILDERS) & set(modules)) == []


def test_the_modules_that_must_not_be_loaded_exist(folder):
    """Renamed, they would never be found."""
    _, modules = of_process(folder, "-c", _COMMAND, "run", "my", "--store", "sqlite:///runs.db")
    assert sorted(set(BUILDERS) - set(modules)) == []
