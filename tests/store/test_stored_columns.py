"""The columns of large runs are kept when they end, and say exactly what the samples say."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from parts.command import invoke
from parts.mixed_run import put_mixed
from parts.stored import case, fill, header, sample
from steelyard.comparing.compare import compare
from steelyard.errors import StoreError
from steelyard.pairing.runs import read_run
from steelyard.records import RunState, Score
from steelyard.store import stored_columns
from steelyard.store.snapshot import write_snapshot
from steelyard.store.sql import open_store


@pytest.fixture
def large(monkeypatch):
    """Every run counts as large."""
    monkeypatch.setattr(stored_columns, "LEAST", 1)


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
        return session.execute("SELECT count(*) FROM stored_columns")[0][0]


def forget(store):
    with store.database.writing() as session:
        session.execute("DELETE FROM stored_columns")


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_kept_is_what_the_samples_say(store, large, seed):
    put_mixed(store, "mixed-1", seed)
    assert rows(store) > 0
    from_arrays = everything(store, "mixed-1")
    forget(store)
    assert everything(store, "mixed-1") == from_arrays


def test_a_run_that_was_weighed_again_keeps_its_own(store, large):
    put_mixed(store, "mixed-1", 1)
    first = everything(store, "mixed-1")
    pairs = [(replace(one, score=0.5, findings=()), of) for one, of in store.samples("mixed-1")][:60]
    again = replace(store.run("mixed-1"), id="mixed-2", rescored_from="mixed-1", state=RunState.RUNNING)
    store.create_run(again)
    store.add_rescored("mixed-2", "mixed-1", [one for one, _ in pairs], [of for _, of in pairs])
    store.update_run(replace(again, state=RunState.ENDED))
    from_arrays = everything(store, "mixed-2")
    assert from_arrays != first == everything(store, "mixed-1")
    forget(store)
    assert everything(store, "mixed-2") == from_arrays


def test_an_imported_run_keeps_them_too(store, large, tmp_path):
    put_mixed(store, "mixed-1", 1)
    write_snapshot(store, "mixed-1", tmp_path / "run.json")
    file = tmp_path / "other.db"
    invoke("import", tmp_path / "run.json", "--store", file)
    other = open_store(str(file))
    assert rows(other) == rows(store)
    assert everything(other, "mixed-1") == everything(store, "mixed-1")
    other.close()


def test_more_ids_than_one_pack_holds_are_kept(large):
    store = open_store(":memory:")
    run = header("many-1")
    store.create_run(run)
    cases = [case(number) for number in range(1_201)]
    store.add_samples("many-1", [sample(of, at) for at, of in enumerate(cases)], cases)
    run.state = RunState.ENDED
    store.update_run(run)
    ids = store.columns("many-1").case_ids
    assert list(ids) == sorted(of.id for of in cases)
    assert (ids[500], ids[1_200]) == (list(ids)[500], list(ids)[-1])
    store.close()


def test_rows_may_be_deleted_one_by_one(store, large):
    put_mixed(store, "mixed-1", 1)
    said = everything(store, "mixed-1")
    for name in ("columns.score", "checks.state", "contents.confusion", "digests.digest"):
        with store.database.writing() as session:
            session.execute("DELETE FROM stored_columns WHERE name = ?", (name,))
        assert everything(store, "mixed-1") == said


def test_what_is_kept_is_read_and_the_samples_are_not(store, large, monkeypatch):
    put_mixed(store, "mixed-1", 1)
    for reader in (
        "sql.read_columns",
        "sql.read_checks",
        "contents.read_contents_columns",
        "answer_digests.read_answer_digests",
    ):
        monkeypatch.delattr(f"steelyard.store.{reader}")
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
    # As an import of such a run does.
    store.keep_columns("open-1")
    assert rows(store) == 0


def test_columns_of_a_version_that_nobody_knows_are_not_believed(store, large, monkeypatch):
    monkeypatch.setattr(stored_columns, "_VERSION", 99)
    put_mixed(store, "mixed-1", 1)
    assert rows(store) > 0
    monkeypatch.undo()
    for reader in (
        stored_columns.stored_columns,
        stored_columns.stored_checks,
        stored_columns.stored_contents,
        stored_columns.stored_digests,
    ):
        with store.database.reading() as session:
            assert reader(session, 1) is None
    said = everything(store, "mixed-1")
    forget(store)
    assert everything(store, "mixed-1") == said


def test_stored_columns_cannot_be_changed(store, large):
    put_mixed(store, "mixed-1", 1)
    with pytest.raises(StoreError), store.database.writing() as session:
        session.execute("UPDATE stored_columns SET content = content")


def test_comparisons_are_the_same_with_and_without(store, large):
    for number in (1, 2):
        put_mixed(store, f"mixed-{number}", number)
    with_arrays = compare(read_run(store, "mixed-1"), read_run(store, "mixed-2"))
    forget(store)
    assert compare(read_run(store, "mixed-1"), read_run(store, "mixed-2")) == with_arrays


def test_a_run_ends_although_its_columns_cannot_be_kept(store, large, monkeypatch):
    def refuse(*_):
        raise StoreError("the disk is full")

    monkeypatch.setattr(stored_columns, "keep", refuse)
    put_mixed(store, "mixed-1", 1)
    assert store.run("mixed-1").state == "ended"
    assert rows(store) == 0
