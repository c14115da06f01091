from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from parts.old_snapshots import VERSION_1
from parts.stored import case, header, sample
from steelyard.errors import SnapshotError
from steelyard.records import Finding, Mark, Outcome, RunState, Score
from steelyard.store.open import open_store
from steelyard.store.snapshot import read_snapshot, write_snapshot
from steelyard.store.snapshot_form import VERSION, ContentDigest
from steelyard.store.snapshot_schema import SCHEMA
from steelyard.store.sql import SqlStore

BOX = (0.125, 0.2, 0.30000000000000004, 1.0)


def fill_with_everything(store: SqlStore, run_id: str = "demo-1") -> None:
    store.create_run(header(run_id))
    cases = [case(number) for number in range(3)]
    counted = Score("items", 0.5, 70.0, note="why", counts={"visible": 12, "read": 10, "extra": 0})
    whole = sample(
        cases[0],
        0,
        scores=(counted, Score("year", None, counts={"words": 2})),
        findings=(
            Finding("MISS", "items[3]", "é\x00", None, "", "major", "items", 1 / 12, BOX),
            Finding("EXTRA", component="items"),
        ),
        marks=(Mark(BOX, "a\x00b\ud800 🪑"), Mark((0.0, 0.0, 1.0, 1.0))),
    )
    unread = sample(
        cases[2],
        2,
        outcome=Outcome.MALFORMED,
        scores=(Score("items", 0.0, 70.0, counts={"visible": 3, "read": 0}),),
        findings=(Finding("FORMAT", gain=1.0),),
    )
    store.add_samples(run_id, [whole, sample(cases[1], 1), unread], cases)
    store.update_run(header(run_id, state=RunState.ENDED))


@pytest.fixture
def full(tmp_path: Path) -> Path:
    source = open_store(str(tmp_path / "source.db"))
    fill_with_everything(source)
    write_snapshot(source, "demo-1", tmp_path / "full.json")
    source.close()
    return tmp_path / "full.json"


def test_counts_places_gains_and_marks_survive_a_snapshot(full: Path, store: SqlStore, tmp_path: Path) -> None:
    assert read_snapshot(store, full) == read_snapshot(store, full) == "demo-1"
    source = open_store(str(tmp_path / "source.db"))
    assert list(store.samples("demo-1")) == list(source.samples("demo-1"))
    source.close()
    write_snapshot(store, "demo-1", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == full.read_bytes()
    columns = store.columns("demo-1")
    assert columns.counts["items"]["visible"].tolist()[::2] == [12, 3]
    assert columns.finding_components == ["items", ""]


def test_both_databases_write_the_same_counts_places_and_marks(full: Path, store: SqlStore, tmp_path: Path) -> None:
    fill_with_everything(store)
    write_snapshot(store, "demo-1", tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == full.read_bytes()


def test_a_snapshot_with_everything_fits_the_published_schema(full: Path) -> None:
    document = json.loads(full.read_text())
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(document)
    first, second, third = document["samples"]
    assert first["scores"][0]["counts"] == {"visible": 12, "read": 10, "extra": 0}
    assert first["findings"][0]["component"] == "items"
    assert (first["findings"][0]["gain"], first["findings"][0]["box"]) == (1 / 12, list(BOX))
    assert first["marks"][1] == {"box": [0.0, 0.0, 1.0, 1.0], "text": ""}
    assert "marks" not in second | third
    assert third["findings"][0].keys() - {"gain"} == second["findings"][0].keys()


def test_a_snapshot_of_version_1_loads_and_is_the_same_run_as_before(store: SqlStore, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text(VERSION_1)
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(json.loads(VERSION_1))
    assert read_snapshot(store, old) == read_snapshot(store, old) == "demo-2"
    ((back, _),) = store.samples("demo-2")
    assert [dict(score.counts) for score in back.scores] == [{}, {}]
    assert back.findings == (Finding("YEAR", "year", 1900, [1890, None], "said 1890", "major", "", 0.0, None),)
    assert back.marks == ()
    write_snapshot(store, "demo-2", tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_text()) == json.loads(VERSION_1) | {"version": VERSION}


def test_a_rescored_run_takes_its_counts_and_marks_along(full: Path, store: SqlStore, tmp_path: Path) -> None:
    read_snapshot(store, full)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    again = sample(case(0), scores=(Score("items", 1.0, counts={"visible": 12, "read": 12}),), marks=(Mark(BOX, "x"),))
    store.add_rescored("demo-2", "demo-1", [again], [case(0)])
    write_snapshot(store, "demo-2", tmp_path / "rescored.json")
    other = open_store(str(tmp_path / "other.db"))
    read_snapshot(other, tmp_path / "rescored.json")
    ((back, _),) = other.samples("demo-2")
    other.close()
    assert (back.scores, back.marks) == (again.scores, again.marks)


@pytest.mark.parametrize(
    ("place", "key", "value", "message"),
    [
        ("scores", "counts", {"read": -1}, r"sample\.scores\.0\.counts\.read"),
        ("scores", "counts", {"read": 1.5}, r"sample\.scores\.0\.counts\.read"),
        ("findings", "gain", "much", r"sample\.findings\.0\.gain"),
        ("findings", "box", [0, 0, 1], r"sample\.findings\.0\.box"),
        ("findings", "box", [0, 0, 1, "NaN"], r"sample\.findings\.0\.box\.3"),
        ("marks", "box", None, r"sample\.marks\.0\.box"),
        # The text of this mark holds half of a surrogate pair, which cannot be quoted as it is.
        ("marks", "note", "x", r"sample\.marks\.0: .*'note' was unexpected"),
    ],
)
def test_counts_and_places_that_are_none_are_refused(
    full: Path, tmp_path: Path, place: str, key: str, value: Any, message: str
) -> None:
    document = json.loads(full.read_text())
    document["samples"][0][place][0][key] = value
    digest = ContentDigest()
    for record in (document["run"], *document["cases"], *document["samples"]):
        digest.add(record)
    full.write_text(json.dumps(document | {"digest": digest.text()}))
    target = open_store(str(tmp_path / "target.db"))
    with pytest.raises(SnapshotError, match=message):
        read_snapshot(target, full)
    assert target.runs() == []
    target.close()
