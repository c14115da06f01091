"""Opening a store: migrations on both databases, and which store is opened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from parts.stored import case, header, sample
from steelyard.analysis.stored import figures_of, summary_of
from steelyard.errors import StoreError
from steelyard.records import RunFacts
from steelyard.store import schema as schema_module
from steelyard.store.schema import MIGRATIONS, Dialect, Executes
from steelyard.store.sql import open_store


def add_a_table(execute: Executes, dialect: Dialect) -> None:
    execute("CREATE TABLE notes (run INTEGER NOT NULL)")


def break_down(execute: Executes, dialect: Dialect) -> None:
    execute("CREATE TABLE half (run INTEGER NOT NULL)")
    execute("INSERT INTO there_is_no_such_table VALUES (1)")


def test_each_migration_is_recorded_once(url: str) -> None:
    for _ in range(2):
        store = open_store(url)
        with store.database.reading() as session:
            rows = session.execute("SELECT number, name FROM migrations ORDER BY number")
        store.close()
    assert rows == [(number, step.__name__) for number, step in enumerate(MIGRATIONS, start=1)]


def test_an_older_store_is_brought_up_and_keeps_its_runs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(url)
    store.create_run(header())
    store.close()
    monkeypatch.setattr(schema_module, "MIGRATIONS", (*MIGRATIONS, add_a_table))
    store = open_store(url)
    assert store.run("LAST").id == "demo-1"
    with store.database.reading() as session:
        assert session.execute("SELECT count(*) FROM notes") == [(0,)]
    store.close()


def test_a_migration_that_fails_changes_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(url)
    store.create_run(header())
    store.close()
    monkeypatch.setattr(schema_module, "MIGRATIONS", (*MIGRATIONS, break_down))
    with pytest.raises(StoreError):
        open_store(url)
    monkeypatch.undo()
    store = open_store(url)
    assert store.run("LAST").id == "demo-1"
    with pytest.raises(StoreError), store.database.reading() as session:
        session.execute("SELECT * FROM half")
    store.close()


BEFORE_FIGURES = MIGRATIONS[: MIGRATIONS.index(schema_module.m008_figures)]
SUMMARIES = {
    "all-cached": {"reused": {"answers": 3, "cached": 3}, "overall": {"average": {"value": 0.1, "n": 9}}},
    "some-cached": {"reused": {"answers": 3, "cached": 2}},
    "not-cached": {"reused": None},
    "none": None,
}
"""By run, the summary that a version stored which had no figures as rows."""


@pytest.fixture
def before_figures(url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of that version with an ended run of three answers for each summary: its score is 0.8, as it said itself
    of all but one."""
    monkeypatch.setattr(schema_module, "MIGRATIONS", BEFORE_FIGURES)
    store = open_store(url)
    cases = [case(number) for number in range(3)]
    for at, (name, summary) in enumerate(SUMMARIES.items()):
        run = header(name, created_at=1000.0 + at, options=RunFacts(limit=20))
        store.create_run(run)
        store.add_samples(name, [sample(of, number) for number, of in enumerate(cases)], cases)
        with store.database.writing() as session:
            stored = None if summary is None else json.dumps(summary)
            session.execute("UPDATE runs SET summary = ?, state = 'ended' WHERE id = ?", (stored, name))
    store.close()
    monkeypatch.undo()
    return url


def test_runs_of_before_the_figures_were_rows_have_figures_of_their_samples(before_figures: str) -> None:
    with open_store(before_figures) as store:
        for run in store.runs():
            assert store.summary(run.id) is None
            (average,) = (found["average"] for found in figures_of(store, [run], ["average"]).values())
            # Not what the summary said.
            assert (average.value, average.n) == (pytest.approx(0.8), 3)
            assert store.summary(run.id) is not None


def test_whether_all_answers_came_from_the_cache_is_known_of_runs_of_before(before_figures: str) -> None:
    with open_store(before_figures) as store:
        facts = {run.id: run.options for run in store.runs()}
    assert {name: of.all_cached for name, of in facts.items()} == dict.fromkeys(SUMMARIES, False) | {"all-cached": True}
    # Nothing else of them changed.
    assert [replace(of, all_cached=False) for of in facts.values()] == [RunFacts(limit=20)] * len(SUMMARIES)


def test_ended_runs_cannot_be_changed_after_it(before_figures: str) -> None:
    with open_store(before_figures) as store:
        summary_of(store, store.run("none"))
        for change in ("runs SET verdict = 'PASS'", "figures SET value = 1.0", "summaries SET lists = '{}'"):
            with pytest.raises(StoreError, match="has ended"), store.database.writing() as session:
                session.execute(f"UPDATE {change}")


def test_a_newer_store_is_refused_and_not_touched(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_module, "MIGRATIONS", (*MIGRATIONS, add_a_table))
    store = open_store(url)
    store.create_run(header())
    store.close()
    before = Path(url).read_bytes() if not url.startswith("postgresql") else b""
    monkeypatch.undo()
    n = len(MIGRATIONS)
    told = f"newer Steelyard: its schema is version {n + 1}, this one knows up to {n}"
    with pytest.raises(StoreError, match=told) as caught:
        open_store(url)
    assert "Nothing was changed" in str(caught.value)
    assert "Upgrade" in str(caught.value)
    if before:
        assert Path(url).read_bytes() == before


def test_without_create_an_absent_store_is_not_made(url: str) -> None:
    with pytest.raises(StoreError, match="yet: `steelyard run` makes"):
        open_store(url, create=False)
    if not url.startswith("postgresql"):
        assert not Path(url).parent.exists()
    open_store(url).close()
    open_store(url, create=False).close()


def test_the_default_store_is_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    open_store().close()
    assert (tmp_path / ".steelyard" / "steelyard.db").is_file()


def test_the_environment_names_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_STORE", "sqlite:///deep/er/runs.db")
    open_store().close()
    assert (tmp_path / "deep" / "er" / "runs.db").is_file()
    monkeypatch.setenv("STEELYARD_STORE", f"sqlite:///{tmp_path}/whole.db")
    open_store().close()
    assert (tmp_path / "whole.db").is_file()


def test_an_unknown_kind_of_store_is_refused() -> None:
    with pytest.raises(StoreError, match=r"mysql://.*postgresql://"):
        open_store("mysql://somewhere/db")
    # Without the second slash it would be the name of a file.
    with pytest.raises(StoreError, match="has no // behind the colon"):
        open_store("postgresql:/user@somewhere/db")
