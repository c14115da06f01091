"""A judge or scorer that is code is another one when a file changes that it reads its rules from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parts.command import invoke
from parts.judged_suite import write_judged
from steelyard import suite_code
from steelyard.suites.tarot import signals

READS = {
    "beside it": "Path(__file__).with_name('rules.yaml')",
    "in a folder below": "Path(__file__).parent / 'data' / 'rules.yaml'",
    "by a name put together": "Path(__file__).parent / f'data/{name}.yaml'",
    "by a pattern": "next(Path(__file__).parent.glob('data/*.yaml'))",
}


def run(suite) -> dict[str, str]:
    return json.loads(invoke("run", suite, "--json"))["run"]["signature"]


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_judged(tmp_path / "judged", n=6).parent


def rules(suite, lowest: int) -> None:
    for path in (suite / "rules.yaml", suite / "data" / "rules.yaml"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"lowest: {lowest}\n")


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("part", ["judge", "scorers"])
def test_a_judge_and_a_scorer_with_other_rules_have_another_signature(suite, part, read):
    module = suite / "measures.py"
    other = suite / "others.py"
    other.write_text(f"from pathlib import Path\nname = 'rules'\nRULES = ({read}).read_text()\n" + module.read_text())
    place = "measures:judge" if part == "judge" else "measures:Size"
    path = suite / "suite.yaml"
    path.write_text(path.read_text().replace(place, place.replace("measures", "others")))
    rules(suite, 2)
    before = run(suite)
    assert run(suite) == before
    rules(suite, 4)
    after = run(suite)
    assert {name for name in before if before[name] != after[name]} == {part, "text"}


def test_a_file_that_no_code_names_changes_nothing(suite):
    (suite / "notes.yaml").write_text("a")
    before = run(suite)
    (suite / "notes.yaml").write_text("b")
    assert run(suite) == before


def test_the_words_of_harm_are_part_of_the_tarot_suite():
    files = suite_code._read_with(Path(signals.__file__), data=True)
    assert "harm.yaml" in {file.name for file in files}
