"""The columns of large runs are kept when they end, and say exactly what the samples say."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from parts.mixed_run import put_mixed
from parts.stored import case, fill, header, sample
from steelyard.analysis.compare import compare
from steelyard.analysis.compared_run import read_run
from steelyard.errors import StoreError
from steelyard.records import RunState, Score
from steelyard.store import kept


@pytest.fixture
def large(monkeypatch):
    """Every run counts as large."""
    monkeypatch.setattr(kept, "LEAST", 1)


def everything(store, name):
    """All that is kept of a run, as plain data."""
    parts = [store.columns(name), store.checks(name)]
    found = [(each.name, plain(getattr(part, each.name))) for part in parts for each in fields(part)]
    contents = store.contents(name)
    chosen = list(range(min(3, len(contents.confusion))))
    return [
        *found,
        plain(contents.case_hash),
        plain(contents.confusion),
        plain(contents.confusion_sample),
        contents.confused(chosen),
        sorted(contents.cases(["case-01", "case-02"])),
        plain(store.answer_digests(name)),
    ]


def plain(value):
    if isinstance(value, np.ndarray):
        return str(value.dtype), [repr(each) for each in value.tolist()]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value if isinstance(value, (int, str)) else list(value)


def rows(store):
    with store.database.reading() as session:
        return session.execute("SELECT count(*) FROM kept_columns")[0][0]


def forget(store):
    with store.database.writing() as session:
        session.execute("DELETE FROM kept_columns")


def test_what_is_kept_is_what_the_samples_say(store, large):
    put_mixed(store, "mixed-1", 1)
    assert rows(store) > 0
    from_arrays = everything(store, "mixed-1")
    forget(store)
    assert everything(store, "mixed-1") == from_arrays


def test_what_is_kept_is_read_and_the_samples_are_not(store, large, monkeypatch):
    put_mixed(store, "mixed-1", 1)
    for reader in ("read_columns", "read_checks", "read_contents", "read_answer_digests"):
        monkeypatch.delattr(f"steelyard.store.sql.{reader}")
    assert len(everything(store, "mixed-1")) > 0


def test_texts_of_any_kind_survive(store, large):
    fill(store, "demo-1")
    from_arrays = everything(store, "demo-1")
    forget(store)
    assert everything(store, "demo-1") == from_arrays


def test_components_of_any_name_are_kept_apart(store, large):
    names = ["components.1", "components.0", "a.b", "", "ü"]
    suite = {"components": [{"name": name} for name in names]}
    run = header("odd-1", suite=suite)
    store.create_run(run)
    of = case(1)
    scores = tuple(Score(name, at / 8, counts={"x": at, "components.0": 7}) for at, name in enumerate(names))
    store.add_samples("odd-1", [sample(of, 0, scores=scores)], [of])
    run.state = RunState.ENDED
    store.update_run(run)
    assert rows(store) > 0
    columns = store.columns("odd-1")
    assert {name: float(values[0]) for name, values in columns.components.items()} == {
        name: at / 8 for at, name in enumerate(names)
    }
    assert {name: float(counts["x"][0]) for name, counts in columns.counts.items()} == {
        name: at for at, name in enumerate(names)
    }


def test_a_small_run_keeps_none(store):
    put_mixed(store, "mixed-1", 1)
    assert rows(store) == 0


def test_a_run_that_has_not_ended_keeps_none(store, large):
    store.create_run(header("open-1"))
    of = case(1)
    store.add_samples("open-1", [sample(of, 0)], [of])
    store.update_run(header("open-1"))
    assert rows(store) == 0


def test_columns_of_a_version_that_nobody_knows_are_not_believed(store, large, monkeypatch):
    monkeypatch.setattr(kept, "_VERSION", 99)
    put_mixed(store, "mixed-1", 1)
    assert rows(store) > 0
    monkeypatch.undo()
    columns = store.columns("mixed-1")
    forget(store)
    assert plain(columns.score) == plain(store.columns("mixed-1").score)


def test_kept_columns_cannot_be_changed(store, large):
    put_mixed(store, "mixed-1", 1)
    with pytest.raises(StoreError), store.database.writing() as session:
        session.execute("UPDATE kept_columns SET content = content")


def test_comparisons_are_the_same_with_and_without(store, large):
    for number in (1, 2):
        put_mixed(store, f"mixed-{number}", number)
    with_arrays = compare(read_run(store, "mixed-1"), read_run(store, "mixed-2"))
    forget(store)
    assert compare(read_run(store, "mixed-1"), read_run(store, "mixed-2")) == with_arrays


def test_a_run_ends_although_its_columns_cannot_be_kept(store, large, monkeypatch):
    def refuse(*_):
        raise StoreError("the disk is full")

    monkeypatch.setattr(kept, "keep", refuse)
    put_mixed(store, "mixed-1", 1)
    assert store.run("mixed-1").state == "ended"
    assert rows(store) == 0
