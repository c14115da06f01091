"""A store that an earlier version wrote: its tables made by the first two migrations, its rows by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from parts.stored import case, header, sample
from steelyard.errors import StoreError
from steelyard.records import Attempt, Finding, Mark, Outcome, RunState, Sample, Score
from steelyard.store import migrate as migrate_module
from steelyard.store.base import Found
from steelyard.store.open import open_store
from steelyard.store.rows import case_row, run_row
from steelyard.store.schema import MIGRATIONS
from steelyard.store.snapshot import write_snapshot
from steelyard.store.sql import SqlStore

CASES = [case(0, tags=()), case(1, tags=())]
OLD_RUN = (
    *("id", "suite_name", "suite_path", "created_at", "state", "ended_at", "verdict", "rescored_from", "n_planned"),
    *("version", "target_digest", "signature", "target", "suite", "options", "suspect", "summary"),
)
OLD_ATTEMPT = (
    *("run", "seq", "status", "latency", "started_at", "tries", "tokens_in", "tokens_out", "cost", "model", "cached"),
    *("failure_kind", "failure_message"),
)
OLD_SAMPLE = (
    *("run", "seq", "case_id", "variant", "repeat", "case_hash", "attempt_run", "outcome", "score", "passed", "band"),
    *("category", "difficulty", "rung", "layout", "scores", "details"),
)
OLD_FINDING = ("run", "seq", "position", "code", "severity", "place", "expected", "got", "evidence")


def write_old_store(url: str, state: RunState) -> None:
    """One run of two samples, as the version before counts, gains and marks stored it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate_module, "MIGRATIONS", MIGRATIONS[:2])
        store = open_store(url)
    hashes = [case_row(of)[1] for of in CASES]
    with store.database.writing() as session:
        session.insert("runs", OLD_RUN, [run_row(header())])
        session.insert("cases", ("id", "hash", "content"), [case_row(of) for of in CASES])
        session.insert(
            "layouts", ("run", "number", "content"), [(1, 0, '[["title",70.0],["year",30.0]]'), (1, 1, "[]")]
        )
        attempts = [(1, seq, 200, 0.25, 1001.5, 1, 12, 7, None, "m", 0, None, None) for seq in (0, 1)]
        session.insert("attempts", OLD_ATTEMPT, attempts)
        session.insert("answers", ("run", "seq", "text"), [(1, 0, "one"), (1, 1, "two")])
        first = (1, 0, "case-0000", "", 0, hashes[0], 1, "scored", 0.85, 1, "Good", "even", "easy", "whole", 0)
        second = (1, 1, "case-0001", "", 0, hashes[1], 1, "malformed", 0.0, 0, "Poor", "odd", "easy", None, 1)
        details = '{"1":[0.9,"no date","guessed"]}'
        session.insert("samples", OLD_SAMPLE, [(*first, "[1.0, 0.5]", details), (*second, "[]", None)])
        findings = [
            (1, 0, 0, "YEAR", "major", "year", "1900", "1890", "said 1890"),
            (1, 1, 0, "FORMAT", "error", "", None, None, "no JSON"),
        ]
        session.insert("findings", OLD_FINDING, findings)
        session.execute("UPDATE runs SET state = ? WHERE number = 1", (state.value,))
    store.close()


@pytest.fixture
def old(url: str) -> str:
    write_old_store(url, RunState.ENDED)
    return url


def as_stored(of: int, **values: object) -> Sample:
    attempt = Attempt(("one", "two")[of], 200, 0.25, 1001.5, 1, 12, 7, None, "m")
    plain = {"attempt": attempt, "tags": (), "case_hash": case_row(CASES[of])[1]}
    return sample(CASES[of], of, **(plain | values))


FIRST = as_stored(
    0,
    score=0.85,
    scores=(Score("title", 1.0, 70.0), Score("year", 0.5, 30.0, 0.9, "no date", "guessed")),
    findings=(Finding("YEAR", "year", 1900, 1890, "said 1890", "major", component="", gain=0.0, box=None),),
    marks=(),
)
SECOND = as_stored(
    1,
    outcome=Outcome.MALFORMED,
    score=0.0,
    passed=False,
    band="Poor",
    scores=(),
    findings=(Finding("FORMAT", evidence="no JSON"),),
    rung=None,
)


def opened(url: str) -> SqlStore:
    return open_store(url, create=False)


def test_the_runs_of_an_older_store_load_without_counts_places_and_gains(old: str) -> None:
    store = opened(old)
    assert list(store.samples("demo-1")) == [(FIRST, CASES[0]), (SECOND, CASES[1])]
    assert [score.counts for score in next(iter(store.samples("demo-1")))[0].scores] == [{}, {}]
    assert store.findings("demo-1", "YEAR", limit=5) == [Found("case-0000", "", 0, FIRST.findings[0])]
    store.close()


def test_the_columns_of_an_older_store_have_no_counts_and_no_gains(old: str) -> None:
    store = opened(old)
    columns = store.columns("demo-1")
    store.close()
    assert columns.counts == {}
    assert np.array_equal(columns.components["title"], [1.0, np.nan], equal_nan=True)
    assert np.array_equal(columns.components["year"], [0.5, np.nan], equal_nan=True)
    assert columns.finding_codes == ["YEAR", "FORMAT"]
    assert columns.finding_components == [""]
    assert columns.finding_component.tolist() == [0, 0]
    assert columns.finding_gain.tolist() == [0.0, 0.0]


def test_an_ended_run_of_an_older_store_still_refuses_every_change(old: str) -> None:
    store = opened(old)
    for statement in ("UPDATE findings SET gain = 1", "UPDATE samples SET marks = '[]'", "DELETE FROM findings"):
        with pytest.raises(StoreError, match="has ended and cannot be changed"), store.database.writing() as session:
            session.execute(statement)
    store.close()


def test_an_unfinished_run_of_an_older_store_is_taken_up_with_counts(url: str) -> None:
    write_old_store(url, RunState.INTERRUPTED)
    store = opened(url)
    later = [case(2), case(3)]
    plain = sample(later[0], 2, scores=(Score("title", 0.25, 70.0), Score("year", 0.75, 30.0)))
    counted = sample(later[1], 3, scores=(Score("title", 0.5, 70.0, counts={"seen": 2}), Score("year", 0.5, 30.0)))
    store.add_samples("demo-1", [plain, counted], later)
    with store.database.reading() as session:
        used = session.execute("SELECT seq, layout FROM samples ORDER BY seq")
    assert used == [(0, 0), (1, 1), (2, 0), (3, 2)]
    columns = store.columns("demo-1")
    assert np.array_equal(columns.components["title"], [1.0, np.nan, 0.25, 0.5], equal_nan=True)
    assert np.array_equal(columns.counts["title"]["seen"], [np.nan, np.nan, np.nan, 2], equal_nan=True)
    store.close()


def test_a_run_of_an_older_store_can_be_rescored_with_counts_and_marks(old: str) -> None:
    store = opened(old)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    again = sample(
        CASES[0],
        tags=(),
        scores=(Score("title", 0.5, counts={"seen": 4, "right": 2}),),
        findings=(Finding("TITLE", component="title", gain=0.25, box=(0.0, 0.25, 0.5, 1.0)),),
        marks=(Mark((0.1, 0.2, 0.3, 0.4), "chair"),),
    )
    store.add_rescored("demo-2", "demo-1", [again], CASES)
    ((back, _),) = store.samples("demo-2")
    assert (back.scores, back.findings, back.marks) == (again.scores, again.findings, again.marks)
    assert back.attempt.text == "one"
    assert store.columns("demo-2").counts["title"]["right"].tolist() == [2.0]
    assert list(store.samples("demo-1")) == [(FIRST, CASES[0]), (SECOND, CASES[1])]
    store.close()


def test_the_snapshot_of_an_older_run_says_nothing_of_what_it_never_had(old: str, tmp_path: Path) -> None:
    store = opened(old)
    write_snapshot(store, "demo-1", tmp_path / "run.json")
    store.close()
    first, second = json.loads((tmp_path / "run.json").read_text())["samples"]
    assert "marks" not in first | second
    assert first["findings"] == [
        {
            "code": "YEAR",
            "severity": "major",
            "place": "year",
            "expected": 1900,
            "got": 1890,
            "evidence": "said 1890",
        }
    ]
    assert first["scores"][0] == {"name": "title", "value": 1.0, "weight": 70.0}
