"""`steelyard compare` by the real command line: its answer is its exit code."""

from __future__ import annotations

import json
import shutil

import pytest

from parts import comparisons
from parts.command import steelyard
from parts.looped import for_every
from parts.small_suite import write_suite
from parts.stored import case, failed, header, sample
from steelyard.comparing.operations import shown_comparison
from steelyard.loading.load import find_suite
from steelyard.store.snapshot import write_snapshot
from steelyard.store.snapshot_format import ContentDigest
from steelyard.store.sql import open_store

RIGHT = "def answer(case):\n    return {'word': 'word %d' % case.input['number']}\n"
WRONG = "def answer(case):\n    return {'word': 'nothing'}\n"
ONE_WRONG = RIGHT.replace("return", "return {'word': ''} if case.input['number'] == 0 else")
SUITE = {"name": "demo", "components": [{"name": "title", "weight": 70.0}, {"name": "year", "weight": 30.0}]}
SILENT = "def answer(case):\n    raise OSError('gone')\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs, oldest first: all wrong, all right, all but one right, none answered; with snapshots of the first two."""
    folder = tmp_path_factory.mktemp("compared")
    write_suite(folder / "words", n=12)
    for number, (system, code) in enumerate([(WRONG, 1), (RIGHT, 0), (ONE_WRONG, 0), (SILENT, 3)]):
        (folder / "words" / "system.py").write_text(system)
        done = steelyard("run", "words", "--retries", 0, "--save", f"run-{number}.json", cwd=folder)
        assert done.returncode == code, done.stdout + done.stderr
    return folder


def compare(folder, *arguments):
    return steelyard("compare", *arguments, cwd=folder)


def test_better_ends_with_0(folder):
    done = compare(folder, "LAST~3", "LAST~2")
    assert (done.returncode, done.stderr) == (0, "")
    # 12 of 12 fixed.
    assert "B is better: pass rate 0.0 % -> 100.0 % (+100.0 points" in " ".join(done.stdout.split())
    assert "12 fixed, 0 broken, 0 unchanged of 12 comparable pairs" in " ".join(done.stdout.split())


def test_worse_ends_with_1(folder):
    assert compare(folder, "LAST~2", "LAST~3").returncode == 1


def test_what_cannot_be_decided_ends_with_4(folder):
    done = compare(folder, "LAST~2", "LAST~1")
    assert done.returncode == 4
    assert "1 of 12: c0" in done.stdout


def test_a_run_and_itself_are_the_same(folder):
    done = compare(folder, "LAST~1", "LAST~1", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, data["verdict"]) == (0, "same")
    assert {each["verdict"] for each in data["metrics"]} == {"same"}


@pytest.mark.parametrize("more", [(), ("--allow-mismatch",)])
def test_an_invalid_run_ends_with_3(folder, more):
    done = compare(folder, "LAST~2", "LAST", *more)
    assert done.returncode == 3
    assert "run B is INVALID" in " ".join(done.stdout.split())
    assert "inconclusive in B" in done.stdout


def test_snapshots_are_compared_without_a_store(folder, tmp_path):
    for number in (0, 1):
        shutil.copy(folder / f"run-{number}.json", tmp_path)
    done = compare(tmp_path, "run-0.json", "run-1.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run-0.json", "run-1.json"]


def test_a_run_and_a_snapshot_are_compared_and_the_store_stays_as_it_is(folder):
    before = json.loads(steelyard("runs", "--json", cwd=folder).stdout)
    assert compare(folder, "run-1.json", "LAST~3").returncode == 1
    assert json.loads(steelyard("runs", "--json", cwd=folder).stdout) == before


def test_two_snapshots_under_one_name_with_other_content_are_compared(tmp_path):
    # As when a run is kept, goes on under the same name, and is kept again.
    for name, n in (("early", 4), ("late", 6)):
        store = open_store(str(tmp_path / f"{name}.db"))
        store.create_run(header("demo-1", suite=SUITE))
        cases = [case(number) for number in range(n)]
        made = [failed(of, k) if k == 1 else sample(of, k) for k, of in enumerate(cases)]
        store.add_samples("demo-1", made, cases)
        write_snapshot(store, "demo-1", tmp_path / f"{name}.json")
        store.close()
    done = compare(tmp_path, "early.json", "late.json", "--json")
    pairs = json.loads(done.stdout)["pairs"]
    # One of the first four failed in both.
    assert (pairs["n_a"], pairs["n_b"], pairs["comparable"]) == (4, 6, 3)
    assert {each["why"]: each["count"] for each in pairs["not_comparable"]} == {
        "only in B": 2,
        "inconclusive in both": 1,
    }


def test_a_snapshot_that_does_not_say_how_it_was_scored_blocks_the_verdict(folder):
    data = json.loads((folder / "run-0.json").read_text())
    del data["run"]["signature"]["scorers"]
    digest = ContentDigest()
    for record in (data["run"], *data["cases"], *data["samples"]):
        digest.add(record)
    unsigned = folder / "unsigned.json"
    unsigned.write_text(json.dumps(data | {"digest": digest.text()}))
    done = compare(folder, unsigned, "LAST~2")
    assert done.returncode == 4
    assert "run A does not say which scorers it was scored with" in " ".join(done.stdout.split())
    assert compare(folder, unsigned, "LAST~2", "--allow-mismatch").returncode == 0


def test_files_are_written_beside_what_is_printed(folder, tmp_path):
    done = compare(folder, "LAST~3", "LAST~2", "--markdown", tmp_path / "c.md", "--html", tmp_path / "c.html")
    assert done.returncode == 0
    assert "What moved" in done.stdout
    assert done.stdout.endswith(f"written: {tmp_path / 'c.md'}\nwritten: {tmp_path / 'c.html'}\n")
    assert (tmp_path / "c.md").read_text().startswith("### ✅ words: A to B: BETTER")
    assert (tmp_path / "c.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("LAST",), "give two runs, or one run and --variants"),
        (("LAST", "nobody"), "nobody"),
        (("LAST", "gone.json"), "there is no snapshot at gone.json"),
        (("LAST", "words/cases.json"), "there is no snapshot at words/cases.json"),
        (("LAST~1", "LAST", "--html", "no/such/folder/x.html"), "cannot write no/such/folder/x.html"),
    ],
)
def test_wrong_usage_ends_with_2(folder, arguments, message):
    done = compare(folder, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_no_snapshot_ends_with_2(folder, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"timestamp": 1}')
    done = compare(folder, other, "LAST")
    assert done.returncode == 2
    assert "is not a Steelyard snapshot" in done.stderr
    assert f"import it first: steelyard import {other} (with --suite SUITE where" in done.stderr


def test_without_a_store_a_run_cannot_be_found(tmp_path):
    assert compare(tmp_path, "LAST", "LAST~1").returncode == 2
    assert list(tmp_path.iterdir()) == []


@for_every(
    ("made", "code"),
    [
        (comparisons.better(), 0),
        (comparisons.same(), 0),
        (comparisons.worse(), 1),
        (comparisons.cannot_tell(), 4),
        (comparisons.another_judge(), 4),
        (comparisons.another_judge(allow_mismatch=True), 0),
        (comparisons.invalid(), 3),
        (comparisons.invalid(allow_mismatch=True), 3),
        (comparisons.nothing_comparable(), 4),
        (comparisons.old_run(), 4),
    ],
)
def test_the_exit_code_is_the_answer(made, code):
    assert shown_comparison(made).exit_code == code


def test_a_copied_suite_finds_itself_and_not_the_one_it_was_copied_from(tmp_path):
    shutil.copytree(find_suite("antiques").parent, tmp_path / "mine")
    steelyard("run", "mine", "--limit", "3", cwd=tmp_path)
    cases = json.loads((tmp_path / "mine/cases.json").read_text())
    cases[0]["expected"]["name"] = "Another Chair"
    (tmp_path / "mine/cases.json").write_text(json.dumps(cases))
    steelyard("run", "mine", "--limit", "3", cwd=tmp_path)
    told = " ".join(steelyard("compare", "LAST~1", "LAST", cwd=tmp_path).stdout.split())
    assert "cannot be read" not in told
    assert "there are several" not in told
    assert "truth" in told
