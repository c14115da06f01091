"""The ledger beside a suite: what it may hold, how lines get into it, and what a suite and its runs make of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from parts.small_suite import write_suite
from parts.stored import header
from steelyard.errors import SuiteError, UsageError
from steelyard.loading.load import load_suite
from steelyard.records import TargetFacts
from steelyard.suite.case import digest
from steelyard.suite.ledger import (
    LEDGER_FILE,
    LedgerLine,
    append_lines,
    by_state,
    kept_with_a_run,
    newest_first,
    stored_lines,
)
from steelyard.suite.signature import signature

AT = "2026-01-31T12:00:00Z"
GOOD = {"at": AT, "by": "ann", "what": "truth", "case": "c1", "before": "a", "after": "b", "reason": "the photo"}


def line(**more):
    return LedgerLine.model_validate(GOOD | more)


def write_ledger(suite, *rows):
    (suite.parent / LEDGER_FILE).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def suite(tmp_path):
    return write_suite(tmp_path / "words", n=3)


def test_a_suite_without_a_ledger_has_no_lines(suite):
    assert load_suite(suite).ledger == ()


def test_lines_are_read_in_the_order_of_the_file(suite):
    weighed = {"at": AT, "by": "bob", "what": "scorers", "before": "x", "after": "y", "reason": "too strict"}
    write_ledger(suite, GOOD, weighed)
    assert [each.as_data() for each in load_suite(suite).ledger] == [GOOD, weighed]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reason": "  "}, "reason: a reason is text that says something"),
        ({"at": "yesterday"}, "at: 'yesterday' is no moment in UTC: write it as 2026-01-31T12:00:00Z"),
        ({"at": "2026-01-31T12:00:00"}, "is no moment in UTC"),
        ({"at": "2026-01-31T12:00:00+02:00"}, "is no moment in UTC"),
        ({"by": ""}, "by must be not empty"),
        ({"what": "scorer"}, "what: 'scorer' is not known: did you mean scorers?"),
        ({"case": None}, "case names the case whose truth was edited: it is missing"),
        ({"what": "scorers"}, "case names the case whose truth was edited"),
        ({"what": "scorers", "case": None, "before": None}, "only of a case may before or after be null"),
        ({"after": "a"}, "before and after are the same: that is no edit"),
        ({"after": 3}, "after must be"),
        ({"reasons": "x"}, "unknown key 'reasons': did you mean reason?"),
    ],
)
def test_a_bad_line_is_a_mistake_with_its_file_and_line(suite, wrong, message):
    write_ledger(suite, GOOD, GOOD | wrong)
    with pytest.raises(SuiteError) as raised:
        load_suite(suite)
    assert len(raised.value.problems) == 1
    assert str(raised.value).startswith(f"{LEDGER_FILE}:2: ")
    assert message in str(raised.value)


@pytest.mark.parametrize("text", ['{"at": "2026-', "[1]", '"text"'])
def test_what_is_no_line_at_all_is_reported_with_the_mistakes_of_the_suite(suite, text):
    write_ledger(suite, GOOD)
    with (suite.parent / LEDGER_FILE).open("a") as file:
        file.write(text)
    suite.write_text(suite.read_text() + "repeats: many\n")
    places = [("suite.yaml", len(suite.read_text().splitlines())), (LEDGER_FILE, 2)]
    with pytest.raises(SuiteError) as raised:
        load_suite(suite)
    assert [(each.file, each.line) for each in raised.value.problems] == places


def test_a_long_broken_ledger_is_not_reported_line_by_line(suite):
    (suite.parent / LEDGER_FILE).write_text("broken\n" * 1_000 + json.dumps(GOOD) + "\n")
    with pytest.raises(SuiteError) as raised:
        load_suite(suite)
    assert len(raised.value.problems) == 21
    assert str(raised.value).endswith("and 980 more mistakes in ledger.jsonl")


def test_a_pattern_of_case_files_does_not_take_the_ledger_for_cases(suite):
    write_ledger(suite, GOOD)
    suite.write_text(suite.read_text().replace("files: cases.jsonl", "files: '*.jsonl'"))
    assert load_suite(suite).survey.n == 3
    suite.write_text(suite.read_text().replace("'*.jsonl'", LEDGER_FILE))
    with pytest.raises(SuiteError, match="give the cases another name"):
        load_suite(suite)


def test_appending_changes_nothing_that_was_there(tmp_path):
    append_lines(tmp_path, [line(), line(case="c2")])
    before = (tmp_path / LEDGER_FILE).read_bytes()
    append_lines(tmp_path, [line(case="c3", reason="Ünïcode \n and a line end")])
    after = (tmp_path / LEDGER_FILE).read_bytes()
    assert after.startswith(before)
    assert [json.loads(row)["case"] for row in after.decode().splitlines()] == ["c1", "c2", "c3"]


def test_a_last_line_without_an_end_is_ended_first(tmp_path):
    (tmp_path / LEDGER_FILE).write_text(json.dumps(GOOD))
    append_lines(tmp_path, [line(case="c2")])
    assert [json.loads(row)["case"] for row in (tmp_path / LEDGER_FILE).read_text().splitlines()] == ["c1", "c2"]


def test_a_ledger_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / LEDGER_FILE).mkdir()
    with pytest.raises(UsageError, match=r"ledger\.jsonl cannot be written"):
        append_lines(tmp_path, [line()])


def test_lines_that_do_not_fit_leave_the_ledger_as_it_was(tmp_path, monkeypatch):
    append_lines(tmp_path, [line()])
    before = (tmp_path / LEDGER_FILE).read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:100]))
    with pytest.raises(UsageError, match="no space is left"):
        append_lines(tmp_path, [line(case="c2")])
    assert (tmp_path / LEDGER_FILE).read_bytes() == before


def test_several_who_append_at_once_lose_and_mix_up_nothing(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from steelyard.suite.ledger import LedgerLine, append_lines\n"
        f"good = {GOOD!r} | {{'by': sys.argv[2]}}\n"
        "for n in range(25):\n"
        "    edits = ({'case': f'c{n}', 'reason': 'x' * 300}, {'case': f'd{n}'})\n"
        "    append_lines(Path(sys.argv[1]), [LedgerLine.model_validate(good | edit) for edit in edits])\n"
    )
    names = ("ann", "bob", "cy", "di")
    at_work = [subprocess.Popen([sys.executable, "-c", script, tmp_path, name]) for name in names]
    assert [process.wait(timeout=60) for process in at_work] == [0] * 4
    rows = [json.loads(row) for row in (tmp_path / LEDGER_FILE).read_text().splitlines()]
    for name in names:
        assert [row["case"] for row in rows if row["by"] == name] == [f"{x}{n}" for n in range(25) for x in "cd"]
    assert len(rows) == 4 * 50


def test_a_kill_while_it_appends_leaves_whole_lines_and_no_line_reported_as_written_is_lost(suite):
    script = (
        "import sys, itertools; from pathlib import Path\n"
        "from steelyard.suite.ledger import LedgerLine, append_lines\n"
        f"good = {GOOD!r}\n"
        "for n in itertools.count():\n"
        "    append_lines(Path(sys.argv[1]), [LedgerLine.model_validate(good | {'case': f'c{n}'})])\n"
        "    print(n, flush=True)\n"
    )
    command = [sys.executable, "-c", script, str(suite.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        told = [next(process.stdout) for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        told += [*process.stdout]
    cases = [each.case for each in load_suite(suite).ledger]
    assert cases[: len(told)] == [f"c{n}" for n in range(len(told))]


def test_the_newest_line_of_a_state_counts_whatever_its_place():
    old, new = line(at="2026-01-01T00:00:00Z", reason="old"), line(at="2026-02-01T00:00:00+00:00", reason="new")
    twin = line(at="2026-02-01T00:00:00Z", reason="later in the file")
    assert by_state([new, old])[("truth", "c1", "b")].reason == "new"
    assert by_state([new, old, twin])[("truth", "c1", "b")].reason == "later in the file"
    assert [each.reason for each in newest_first([new, old, twin])] == ["later in the file", "new", "old"]


def test_a_run_keeps_the_lines_that_lead_to_what_it_is_scored_by_and_no_others(suite):
    plain = load_suite(suite)
    signed = signature(plain, TargetFacts({"kind": "python"}))
    now = digest({"word": "word 1"})
    led = GOOD | {"after": now, "reason": "led here"}
    write_ledger(
        suite,
        led | {"reason": "was said before", "at": "2025-01-01T00:00:00Z"},
        led,
        GOOD | {"after": "0123456789abcdef", "reason": "is not so any more"},
        GOOD | {"case": "c2", "before": None, "after": digest({"word": "word 2"}), "reason": "added"},
        GOOD | {"case": "gone", "after": None, "reason": "removed"},
        {**GOOD, "what": "scorers", "after": signed.scorers, "reason": "weights"} | {"case": None},
        {**GOOD, "what": "scorers", "after": "fedcba9876543210", "reason": "older weights"} | {"case": None},
    )
    noted = load_suite(suite)
    kept = kept_with_a_run(noted, signed)
    assert [each.reason for each in kept] == ["led here", "weights"]
    assert [each.reason for each in stored_lines(noted.changed(ledger=kept).data()["ledger"])] == [
        "led here",
        "weights",
    ]
    # The ledger says why; it is no part of the signature.
    assert signature(noted, TargetFacts({"kind": "python"})) == signed
    assert kept_with_a_run(plain, signed) == ()


@pytest.mark.parametrize("ledger", [(), [1], ({"at": 3}, GOOD | {"by": 1})])
def test_what_an_old_or_foreign_run_keeps_blocks_nothing(ledger):
    assert stored_lines(ledger) == []


def test_a_run_whose_ledger_is_no_list_does_not_say_what_its_suite_is():
    with pytest.raises(UsageError, match="ledger"):
        _ = header(suite={"name": "demo", "ledger": "x"}).description
