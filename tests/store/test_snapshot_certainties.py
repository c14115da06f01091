"""Spans, sections, claims and the findings of judges survive a snapshot; snapshots without them load."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from parts.judged_samples import judged, judgement
from parts.old_snapshots import VERSION_3
from parts.stored import case, header, sample
from steelyard.errors import SnapshotError
from steelyard.records import Ballot, Certainty, Finding, Judgement, Mode, RunState
from steelyard.store.open import open_store
from steelyard.store.snapshot import read_snapshot, write_snapshot
from steelyard.store.snapshot_form import VERSION
from steelyard.store.snapshot_schema import SCHEMA
from steelyard.store.sql import SqlStore

CASES = [case(number) for number in range(3)]
CLAIMS = (Certainty(0.95, True, "é\x00\ud800"), Certainty(None, False), Certainty(math.nan, True), Certainty(7.0, True))
MISSED = Finding("MISSED", "spans[2]", "a\x00b", None, "", "minor", "spans", 0.25, None, (4, 11), "technicalSpecs")
SAID = Judgement(
    Mode.RULES,
    (Ballot("code", 0, Mode.RULES, "rules", {"tone": 4}, {"tone": 3}, findings=(MISSED, Finding("EXTRA"))),),
    {"tone": 4},
    {"tone": 3},
    findings=(MISSED,),
)


def fill_with_spans(store: SqlStore) -> None:
    store.create_run(header())
    first = sample(CASES[0], 0, findings=(MISSED, Finding("EXTRA")), certainties=CLAIMS)
    store.add_samples("demo-1", [first, judged(CASES[1], 1, SAID), sample(CASES[2], 2)], CASES)
    store.update_run(header(state=RunState.ENDED))


@pytest.fixture
def full(tmp_path: Path) -> Path:
    source = open_store(str(tmp_path / "source.db"))
    fill_with_spans(source)
    write_snapshot(source, "demo-1", tmp_path / "full.json")
    source.close()
    return tmp_path / "full.json"


def test_everything_new_survives_a_snapshot(full: Path, store: SqlStore, tmp_path: Path) -> None:
    assert read_snapshot(store, full) == read_snapshot(store, full) == "demo-1"
    first, second, third = (one for one, _ in store.samples("demo-1"))
    assert first.findings == (MISSED, Finding("EXTRA"))
    assert repr(first.certainties) == repr(CLAIMS)
    assert second.judgement == SAID
    assert (third.certainties, third.judgement) == ((), None)
    write_snapshot(store, "demo-1", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == full.read_bytes()


def test_both_databases_write_the_same(full: Path, store: SqlStore, tmp_path: Path) -> None:
    fill_with_spans(store)
    write_snapshot(store, "demo-1", tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == full.read_bytes()


def test_a_snapshot_says_only_what_there_is_to_say(full: Path) -> None:
    document = json.loads(full.read_text())
    # The validator cannot take the half of a surrogate pair in the first label.
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(
        {
            **document,
            "samples": [
                {**document["samples"][0], "certainties": document["samples"][0]["certainties"][1:]},
                *document["samples"][1:],
            ],
        }
    )
    assert document["version"] == VERSION
    first, second, third = document["samples"]
    assert (first["findings"][0]["span"], first["findings"][0]["section"]) == ([4, 11], "technicalSpecs")
    assert first["findings"][1].keys().isdisjoint({"span", "section"})
    assert first["certainties"][1:] == [
        {"confidence": None, "right": False},
        {"confidence": "NaN", "right": True},
        {"confidence": 7.0, "right": True},
    ]
    assert second["judgement"]["findings"] == second["judgement"]["ballots"][0]["findings"][:1]
    assert "certainties" not in second | third


def test_a_snapshot_of_version_3_loads_and_is_the_same_run_as_before(store: SqlStore, tmp_path: Path) -> None:
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(json.loads(VERSION_3))
    old = tmp_path / "old.json"
    old.write_text(VERSION_3)
    assert read_snapshot(store, old) == read_snapshot(store, old) == "demo-3"
    ((back, _),) = store.samples("demo-3")
    assert (back.findings[0].span, back.findings[0].section, back.certainties) == (None, "", ())
    assert back.judgement is not None
    assert (back.judgement.findings, back.judgement.ballots[0].findings) == ((), ())
    write_snapshot(store, "demo-3", tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_text()) == json.loads(VERSION_3) | {"version": VERSION}


def test_a_judgement_without_findings_is_stored_as_before(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [judged(CASES[0], 0)], CASES)
    with store.database.reading() as session:
        ((content,),) = session.execute("SELECT content FROM judgements")
    assert "findings" not in json.loads(content)
    ((back, _),) = store.samples("demo-1")
    assert back.judgement == judgement()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("certainties", [{"confidence": "much", "right": True}], r"sample\.certainties\.0\.confidence"),
        ("certainties", [{"confidence": 0.5}], r"sample\.certainties\.0"),
        ("certainties", [{"confidence": 0.5, "right": 1}], r"sample\.certainties\.0\.right"),
    ],
)
def test_damaged_claims_are_refused(full: Path, store: SqlStore, key: str, value: Any, message: str) -> None:
    document = json.loads(full.read_text())
    document["samples"][2][key] = value
    full.write_text(json.dumps(document))
    with pytest.raises(SnapshotError, match=message):
        read_snapshot(store, full)


@pytest.mark.parametrize("span", [[1], [1, 2, 3], [-1, 2], [1.5, 2], "1-2"])
def test_damaged_spans_are_refused(full: Path, store: SqlStore, span: Any) -> None:
    document = json.loads(full.read_text())
    document["samples"][2]["findings"][0]["span"] = span
    full.write_text(json.dumps(document))
    with pytest.raises(SnapshotError, match=r"sample\.findings\.0\.span"):
        read_snapshot(store, full)
