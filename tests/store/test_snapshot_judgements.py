from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.any_judgements import any_judgements
from parts.judged_samples import BY_RULES, ODD, judge_failed, judged, judgement
from parts.old_snapshots import VERSION_2
from parts.stored import case, header, sample
from steelyard.errors import SnapshotError
from steelyard.records import Finding, Judgement, Mark, RunState, Score
from steelyard.store.base import Spending
from steelyard.store.open import open_store
from steelyard.store.snapshot import read_snapshot, write_snapshot
from steelyard.store.snapshot_form import VERSION, ContentDigest
from steelyard.store.snapshot_schema import SCHEMA
from steelyard.store.sql import SqlStore

CASES = [case(number) for number in range(4)]
_numbers = count()


def fill_with_judgements(store: SqlStore, run_id: str = "demo-1") -> None:
    store.create_run(header(run_id))
    samples = [judged(CASES[0], 0), judge_failed(CASES[1], 1), judged(CASES[2], 2, BY_RULES), sample(CASES[3], 3)]
    store.add_samples(run_id, samples, CASES)
    store.update_run(header(run_id, state=RunState.ENDED))


@pytest.fixture
def full(tmp_path: Path) -> Path:
    source = open_store(str(tmp_path / "source.db"))
    fill_with_judgements(source)
    write_snapshot(source, "demo-1", tmp_path / "full.json")
    source.close()
    return tmp_path / "full.json"


def test_judgements_and_calls_survive_a_snapshot(full: Path, store: SqlStore, tmp_path: Path) -> None:
    assert read_snapshot(store, full) == read_snapshot(store, full) == "demo-1"
    source = open_store(str(tmp_path / "source.db"))
    assert repr(list(store.samples("demo-1"))) == repr(list(source.samples("demo-1")))
    assert list(store.judgements("demo-1")) == list(source.judgements("demo-1"))
    assert store.judge_spending("demo-1") == source.judge_spending("demo-1") != Spending()
    source.close()
    assert store.columns("demo-1").modes == ["model", "rules"]
    write_snapshot(store, "demo-1", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == full.read_bytes()


def test_both_databases_write_the_same_judgements(full: Path, store: SqlStore, tmp_path: Path) -> None:
    fill_with_judgements(store)
    write_snapshot(store, "demo-1", tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == full.read_bytes()


@given(said=st.lists(any_judgements, min_size=1, max_size=3))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_judgement_is_exported_imported_and_exported_alike(
    store: SqlStore, tmp_path: Path, said: list[Judgement]
) -> None:
    number = next(_numbers)
    store.create_run(header(f"any-{number}"))
    store.add_samples(f"any-{number}", [judged(CASES[n], n, one) for n, one in enumerate(said)], CASES)
    write_snapshot(store, f"any-{number}", tmp_path / "first.json")
    other = open_store(str(tmp_path / f"other-{number}.db"))
    read_snapshot(other, tmp_path / "first.json")
    assert [repr(one.judgement) for one, _ in other.samples(f"any-{number}")] == [repr(one) for one in said]
    write_snapshot(other, f"any-{number}", tmp_path / "second.json")
    other.close()
    assert (tmp_path / "second.json").read_bytes() == (tmp_path / "first.json").read_bytes()


def test_a_judgement_says_only_what_there_is_to_say(full: Path) -> None:
    document = json.loads(full.read_text())
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(document)
    first, second, third, fourth = document["samples"]
    assert document["version"] == VERSION
    assert first["judgement"]["ballots"][0]["bound"] == {"tone": 3.0, "clarity": 4.0, "harmful": True}
    assert first["judgement"]["calls"][2]["attempt"]["failure"]["kind"] == "timeout"
    assert "shortened" not in first["judgement"]["calls"][0]
    assert first["judgement"]["calls"][1]["shortened"] is True
    assert second["judgement"] == {
        "mode": None,
        "ballots": [{"member": "panel-a", "repeat": 0, "mode": None, "rung": "failed", "told": "refused"}],
        "told": "no ballot could be read",
    }
    assert third["judgement"]["ballots"][0].keys() == {"member", "repeat", "mode", "rung", "raw", "bound"}
    assert "judgement" not in fourth


def test_a_snapshot_of_version_2_loads_and_is_the_same_run_as_before(store: SqlStore, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text(VERSION_2)
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(json.loads(VERSION_2))
    assert read_snapshot(store, old) == read_snapshot(store, old) == "demo-2"
    ((back, _),) = store.samples("demo-2")
    assert (back.judgement, back.mode) == (None, None)
    assert back.scores == (Score("title", 0.5, 70.0, counts={"seen": 4, "right": 2}),)
    assert back.findings == (
        Finding("YEAR", "year", 1900, None, "said 1890", "major", "year", 0.25, (0.0, 0.25, 0.5, 1.0)),
    )
    assert back.marks == (Mark((0.5, 0.5, 1.0, 1.0), "chair"),)
    write_snapshot(store, "demo-2", tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_text()) == json.loads(VERSION_2) | {"version": VERSION}


def test_a_rescored_run_takes_the_calls_of_the_earlier_one_along(full: Path, store: SqlStore, tmp_path: Path) -> None:
    read_snapshot(store, full)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    again = judged(CASES[0], None, judgement(told="again"))
    store.add_rescored("demo-2", "demo-1", [again], CASES)
    write_snapshot(store, "demo-2", tmp_path / "rescored.json")
    other = open_store(str(tmp_path / "other.db"))
    read_snapshot(other, tmp_path / "rescored.json")
    ((back, _),) = other.samples("demo-2")
    assert back.judgement == again.judgement
    # Where the earlier run never was, the calls are this run's own, and can be read again from there.
    other.create_run(header("demo-3", rescored_from="demo-2"))
    other.add_rescored("demo-3", "demo-2", [judged(CASES[0])], CASES)
    assert [one.judgement for one, _ in other.samples("demo-3")] == [judgement()]
    with other.database.reading() as session:
        assert session.execute("SELECT count(*) FROM judge_calls") == [(1,)]
    other.close()


def put(*path: str | int, value: Any) -> Any:
    def change(judgement: dict[str, Any]) -> None:
        place: Any = judgement
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("mode", value="guess"), r"sample\.judgement\.mode"),
        (put("bound", "tone", value="4"), r"sample\.judgement\.bound\.tone"),
        (put("bound", "tone", value=None), r"sample\.judgement\.bound\.tone"),
        (put("ballots", 0, "repeat", value=-1), r"sample\.judgement\.ballots\.0\.repeat"),
        (put("ballots", 0, "reply", value=[]), r"sample\.judgement\.ballots\.0\.reply"),
        (put("ballots", 0, "more", value=1), r"sample\.judgement\.ballots\.0"),
        (put("remarks", value=[{"dimension": "tone"}]), r"sample\.judgement\.remarks\.0"),
        (put("calls", 0, "attempt", "latency", value="slow"), r"sample\.judgement\.calls\.0\.attempt\.latency"),
        (put("calls", 0, "attempt", value={}), r"sample\.judgement\.calls\.0\.attempt"),
    ],
)
def test_a_judgement_that_is_none_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    store = open_store(str(tmp_path / "steelyard.db"))
    store.create_run(header())
    store.add_samples("demo-1", [judged(CASES[0], 0, judgement(bound_by={ODD: ODD}))], CASES)
    write_snapshot(store, "demo-1", tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text())
    change(document["samples"][0]["judgement"])
    digest = ContentDigest()
    for record in (document["run"], *document["cases"], *document["samples"]):
        digest.add(record)
    (tmp_path / "run.json").write_text(json.dumps(document | {"digest": digest.text()}))
    target = open_store(str(tmp_path / "target.db"))
    with pytest.raises(SnapshotError, match=message):
        read_snapshot(target, tmp_path / "run.json")
    assert target.runs() == []
    target.close()
    store.close()
