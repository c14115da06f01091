"""Checks, items and the waits of calls survive a snapshot; snapshots without them load."""

from __future__ import annotations

import json
import math
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.any_checks import any_checks, any_items
from parts.judged_samples import judged
from parts.old_snapshots import VERSION_1, VERSION_2, VERSION_3, VERSION_4
from parts.stored import case, failed, header, sample
from steelyard.errors import SnapshotError
from steelyard.records import Attempt, Check, CheckState, Failure, Item, JudgeCall, Judgement, Mode, RunState
from steelyard.store.open import open_store
from steelyard.store.snapshot import read_snapshot, write_snapshot
from steelyard.store.snapshot_form import VERSION, ContentDigest
from steelyard.store.snapshot_schema import SCHEMA
from steelyard.store.sql import SqlStore

CASES = [case(number) for number in range(4)]
CHECKS = (
    Check("count", CheckState.PASSED, "3 of 2 to 4", 3.0, 2.0, math.inf),
    Check("colour:é\x00", CheckState.FAILED, "not there"),
    Check("size", CheckState.NOT_RUN),
)
ITEMS = (Item("A-1", ([3, 9], "major", None)), Item("é\x00"))
WAITED = Attempt("x", 200, 2.0, 1001.5, first_byte=0.5, queued=0.0)
LATE = Attempt(latency=3.0, failure=Failure("timeout", "no answer"), queued=0.125)
SAID = Judgement(Mode.MODEL, calls=(JudgeCall("a", 0, 0, WAITED), JudgeCall("a", 0, 1, Attempt(text="y"))))
_numbers = count()


def fill_with_checks(store: SqlStore) -> None:
    store.create_run(header())
    samples = [
        sample(CASES[0], 0, checks=CHECKS, items=ITEMS, attempt=WAITED),
        failed(CASES[1], 1, checks=CHECKS[2:], attempt=LATE),
        judged(CASES[2], 2, SAID, items=()),
        sample(CASES[3], 3),
    ]
    store.add_samples("demo-1", samples, CASES)
    store.update_run(header(state=RunState.ENDED))


@pytest.fixture
def full(tmp_path: Path) -> Path:
    source = open_store(str(tmp_path / "source.db"))
    fill_with_checks(source)
    write_snapshot(source, "demo-1", tmp_path / "full.json")
    source.close()
    return tmp_path / "full.json"


def test_checks_items_and_waits_survive_a_snapshot(full: Path, store: SqlStore, tmp_path: Path) -> None:
    assert read_snapshot(store, full) == read_snapshot(store, full) == "demo-1"
    back = [one for one, _ in store.samples("demo-1")]
    assert [one.checks for one in back] == [CHECKS, CHECKS[2:], (), ()]
    assert [one.items for one in back] == [ITEMS, None, (), None]
    assert (back[0].attempt, back[1].attempt, back[2].judgement) == (WAITED, LATE, SAID)
    assert list(store.items("demo-1")) == [(0, ITEMS), (2, ())]
    assert store.checks("demo-1").sample.tolist() == [0, 0, 0, 1]
    write_snapshot(store, "demo-1", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == full.read_bytes()


def test_both_databases_write_the_same_checks_and_items(full: Path, store: SqlStore, tmp_path: Path) -> None:
    fill_with_checks(store)
    write_snapshot(store, "demo-1", tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == full.read_bytes()


def test_checks_and_items_say_only_what_there_is_to_say(full: Path) -> None:
    document = json.loads(full.read_text())
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(document)
    assert document["version"] == VERSION
    first, second, third, fourth = document["samples"]
    assert first["checks"] == [
        {"name": "count", "state": "passed", "detail": "3 of 2 to 4", "value": 3.0, "low": 2.0, "high": "Infinity"},
        {"name": "colour:é\x00", "state": "failed", "detail": "not there"},
        {"name": "size", "state": "not_run"},
    ]
    assert first["items"] == [{"key": "A-1", "values": [[3, 9], "major", None]}, {"key": "é\x00"}]
    assert (first["attempt"]["first_byte"], first["attempt"]["queued"]) == (0.5, 0.0)
    assert "first_byte" not in second["attempt"]
    assert "items" not in second | fourth
    assert (third["items"], "checks" in third) == ([], False)
    assert "queued" not in third["judgement"]["calls"][1]["attempt"] | fourth["attempt"]


@given(given_=st.lists(st.tuples(any_checks, any_items), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_checks_and_items_are_exported_imported_and_exported_alike(
    store: SqlStore, tmp_path: Path, given_: list[tuple[Any, Any]]
) -> None:
    run = f"any-{next(_numbers)}"
    store.create_run(header(run))
    samples = [sample(CASES[n], n, checks=checks, items=items) for n, (checks, items) in enumerate(given_)]
    store.add_samples(run, samples, CASES)
    write_snapshot(store, run, tmp_path / "first.json")
    other = open_store(str(tmp_path / f"{run}.db"))
    read_snapshot(other, tmp_path / "first.json")
    assert [(one.checks, one.items) for one, _ in other.samples(run)] == given_
    write_snapshot(other, run, tmp_path / "second.json")
    other.close()
    assert (tmp_path / "second.json").read_bytes() == (tmp_path / "first.json").read_bytes()


@pytest.mark.parametrize("text", [VERSION_1, VERSION_2, VERSION_3, VERSION_4])
def test_an_older_snapshot_loads_without_them_and_is_the_same_run_as_before(
    store: SqlStore, tmp_path: Path, text: str
) -> None:
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(json.loads(text))
    old = tmp_path / "old.json"
    old.write_text(text)
    run = read_snapshot(store, old)
    assert read_snapshot(store, old) == run
    ((back, _),) = store.samples(run)
    assert (back.checks, back.items, back.attempt.first_byte, back.attempt.queued) == ((), None, None, None)
    assert (store.checks(run).n, list(store.items(run))) == (0, [])
    write_snapshot(store, run, tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_text()) == json.loads(text) | {"version": VERSION}


def test_a_snapshot_of_version_4_keeps_what_it_knew(store: SqlStore, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(VERSION_4)
    ((back, _),) = store.samples(read_snapshot(store, tmp_path / "old.json"))
    assert [(one.confidence, one.right, one.label) for one in back.certainties] == [
        (0.75, True, "year"),
        (None, False, ""),
    ]
    assert (back.findings[0].span, back.findings[0].section) == ((4, 11), "main")
    assert back.judgement is not None
    assert back.judgement.findings == back.findings


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("checks", [{"name": "a"}], r"sample\.checks\.0"),
        ("checks", [{"name": "a", "state": "skipped"}], r"sample\.checks\.0\.state"),
        ("checks", [{"name": "a", "state": "passed", "value": None}], r"sample\.checks\.0\.value"),
        ("checks", [{"name": "a", "state": "passed", "low": "few"}], r"sample\.checks\.0\.low"),
        ("items", None, r"sample\.items"),
        ("items", [{"values": []}], r"sample\.items\.0"),
        ("items", [{"key": 1}], r"sample\.items\.0\.key"),
        ("items", [{"key": "a", "values": {}}], r"sample\.items\.0\.values"),
    ],
)
def test_damaged_checks_and_items_are_refused(full: Path, tmp_path: Path, key: str, value: Any, message: str) -> None:
    document = json.loads(full.read_text())
    document["samples"][3][key] = value
    digest = ContentDigest()
    for record in (document["run"], *document["cases"], *document["samples"]):
        digest.add(record)
    full.write_text(json.dumps(document | {"digest": digest.text()}))
    target = open_store(str(tmp_path / "target.db"))
    with pytest.raises(SnapshotError, match=message):
        read_snapshot(target, full)
    assert target.runs() == []
    target.close()
