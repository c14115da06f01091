"""A run of easy cases alone, or of fewer repeats than the suite declares, that would pass for the whole suite's."""

import json

import pytest

from parts.command import invoke
from parts.small_suite import write_suite


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Three repeats of 12 cases; two of these stand in a file beside them."""
    write_suite(tmp_path / "words", n=12, repeats=3)
    lines = (tmp_path / "words" / "cases.jsonl").read_text().splitlines()
    (tmp_path / "easy.jsonl").write_text("\n".join(lines[:2]))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (("--cases", "easy.jsonl"), "partial: the cases of easy.jsonl instead of the suite's own"),
        (("-n", 1), "partial: 1 of 3 repeats"),
        (("--repeats", 2, "--limit", 5), "partial: 5 of 12 cases, 2 of 3 repeats"),
    ],
)
def test_a_part_says_so_in_its_verdict_and_is_no_baseline(suite, part, message):
    assert f"; {message}" in " ".join(invoke("run", "words", *part).split())
    invoke("rescore", "LAST")
    assert [run["partial"] for run in json.loads(invoke("runs", "--json"))] == [True, True]
    lock = ("baseline", "set", "LAST", "--name", "easy")
    assert "a part of the suite" in invoke(*lock, code=2)
    invoke(*lock, "--force", "--reason", "nothing else is there")


@pytest.mark.parametrize("whole", [(), ("--cases", "words/cases.jsonl"), ("-n", 4), ("--repeats", 3)])
def test_the_whole_suite_and_more_is_no_part(suite, whole):
    assert "partial" not in invoke("run", "words", *whole)
    invoke("baseline", "set", "LAST", "--name", "release")
