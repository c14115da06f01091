"""Every part of a sample survives a snapshot, on both databases, and a snapshot whose parts are damaged is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.any_checks import any_checks, any_items
from parts.any_judgements import any_judgements
from parts.judged_samples import BY_RULES, ODD, judge_failed, judged, judgement
from parts.stored import case, failed, header, sample
from steelyard.errors import SnapshotError
from steelyard.records import (
    CallResult,
    Check,
    CheckState,
    Claim,
    Failure,
    Finding,
    Item,
    JudgeCall,
    Judgement,
    Mark,
    Mode,
    Outcome,
    RunState,
    Sample,
    Score,
    Vote,
)
from steelyard.store.base import Spending
from steelyard.store.snapshot import VERSION, ContentDigest, read_snapshot, snapshot_schema, write_snapshot
from steelyard.store.sql import SqlStore, open_store

CASES = [case(number) for number in range(9)]
BOX = (0.125, 0.2, 0.30000000000000004, 1.0)
CLAIMS = (Claim(0.95, True, "é\x00\ud800"), Claim(None, False), Claim(math.inf, True), Claim(7.0, True))
MISSED = Finding("MISSED", "spans[2]", "a\x00b", None, "", "minor", "spans", 1 / 12, BOX, (4, 11), "technicalSpecs")
CHECKS = (
    Check("count", CheckState.PASSED, "3 of 2 to 4", 3.0, 2.0, math.inf),
    Check("colour:é\x00", CheckState.FAILED, "not there"),
    Check("size", CheckState.NOT_RUN),
)
ITEMS = (Item("A-1", ([3, 9], "major", None)), Item("é\x00"))
WAITED = CallResult("x", 200, 2.0, 1001.5, first_byte=0.5, queued=0.0)
LATE = CallResult(latency=3.0, failure=Failure("timeout", "no answer"), queued=0.125)
NAMED = Judgement(
    Mode.RULES,
    (Vote("code", 0, Mode.RULES, "rules", {"tone": 4}, {"tone": 3}, findings=(MISSED, Finding("EXTRA"))),),
    {"tone": 4},
    {"tone": 3},
    findings=(MISSED,),
)
ASKED = Judgement(Mode.MODEL, calls=(JudgeCall("a", 0, 0, WAITED), JudgeCall("a", 0, 1, CallResult(text="y"))))
_numbers = count()


def samples() -> list[Sample]:
    counted = Score("items", 0.5, 70.0, note="why", counts={"visible": 12, "read": 10, "extra": 0})
    return [
        sample(
            CASES[0],
            0,
            scores=(counted, Score("year", None, counts={"words": 2})),
            findings=(MISSED, Finding("EXTRA", component="items"), Finding("FORMAT", gain=1.0)),
            marks=(Mark(BOX, "a\x00b\ud800 🪑"), Mark((0.0, 0.0, 1.0, 1.0))),
            claims=CLAIMS,
            checks=CHECKS,
            items=ITEMS,
            call_result=WAITED,
        ),
        failed(CASES[1], 1, checks=CHECKS[2:], call_result=LATE),
        judged(CASES[2], 2),
        judge_failed(CASES[3], 3),
        judged(CASES[4], 4, BY_RULES, items=()),
        judged(CASES[5], 5, NAMED, cluster="report 7"),
        judged(CASES[6], 6, ASKED, outcome=Outcome.MALFORMED),
        sample(CASES[7], 7),
        Sample(CASES[8].id, "", 0, CallResult(), Outcome.TARGET_FAILED, position=8),
    ]


def fill_with_everything(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", samples(), CASES)
    store.update_run(header(state=RunState.ENDED))


@pytest.fixture
def full(tmp_path: Path) -> Path:
    source = open_store(str(tmp_path / "source.db"))
    fill_with_everything(source)
    write_snapshot(source, "demo-1", tmp_path / "full.json")
    source.close()
    return tmp_path / "full.json"


def test_everything_survives_a_snapshot(full: Path, store: SqlStore, tmp_path: Path) -> None:
    assert read_snapshot(store, full) == read_snapshot(store, full) == "demo-1"
    source = open_store(str(tmp_path / "source.db"))
    assert repr(list(store.samples("demo-1"))) == repr(list(source.samples("demo-1")))
    assert list(store.judgements("demo-1")) == list(source.judgements("demo-1"))
    assert store.judge_spending("demo-1") == source.judge_spending("demo-1") != Spending()
    source.close()
    back = [one for one, _ in store.samples("demo-1")]
    for given_sample, one in zip(samples(), back, strict=True):
        given_sample.case_hash = one.case_hash
        assert one == given_sample
    assert list(store.items("demo-1")) == [(0, ITEMS), (4, ())]
    assert store.checks("demo-1").sample.tolist() == [0, 0, 0, 1]
    assert store.columns("demo-1").modes == ["model", "rules"]
    write_snapshot(store, "demo-1", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == full.read_bytes()


def test_both_databases_write_the_same(full: Path, store: SqlStore, tmp_path: Path) -> None:
    fill_with_everything(store)
    write_snapshot(store, "demo-1", tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == full.read_bytes()


def test_a_snapshot_says_only_what_there_is_to_say(full: Path) -> None:
    # Halves of surrogate pairs, which the validator cannot look up, are written as escapes.
    document = json.loads(re.sub(r"\\ud[89a-f]..", "?", full.read_text()))
    jsonschema_rs.Draft202012Validator(snapshot_schema()).validate(document)
    assert document["version"] == VERSION == 1
    rich, late, model, none, rules, named, asked, plain, bare = document["samples"]
    assert rich["scores"][0]["counts"] == {"visible": 12, "read": 10, "extra": 0}
    assert rich["findings"][0] == {
        "code": "MISSED",
        "place": "spans[2]",
        "expected": "a\x00b",
        "severity": "minor",
        "component": "spans",
        "gain": 1 / 12,
        "box": list(BOX),
        "span": [4, 11],
        "section": "technicalSpecs",
    }
    assert rich["findings"][1:] == [{"code": "EXTRA", "component": "items"}, {"code": "FORMAT", "gain": 1.0}]
    assert rich["marks"][1] == {"box": [0.0, 0.0, 1.0, 1.0]}
    assert rich["claims"][1:] == [
        {"confidence": None, "right": False},
        {"confidence": "Infinity", "right": True},
        {"confidence": 7.0, "right": True},
    ]
    assert rich["checks"] == [
        {"name": "count", "state": "passed", "detail": "3 of 2 to 4", "value": 3.0, "low": 2.0, "high": "Infinity"},
        {"name": "colour:é\x00", "state": "failed", "detail": "not there"},
        {"name": "size", "state": "not_run"},
    ]
    assert rich["items"] == [{"key": "A-1", "values": [[3, 9], "major", None]}, {"key": "é\x00"}]
    assert rich["call_result"] == {
        "text": "x",
        "status": 200,
        "latency": 2.0,
        "started_at": 1001.5,
        "first_byte": 0.5,
        "queued": 0.0,
    }
    assert late["call_result"]["failure"] == {"kind": "timeout", "message": "no answer"}
    assert model["judgement"]["votes"][0]["capped"] == {"tone": 3.0, "clarity": 4.0, "harmful": True}
    assert model["judgement"]["calls"][2]["call_result"]["failure"]["kind"] == "timeout"
    assert [call.get("shortened") for call in model["judgement"]["calls"]] == [None, True, None]
    assert none["judgement"] == {
        "mode": None,
        "votes": [{"member": "panel-a", "repeat": 0, "mode": None, "step": "failed", "message": "refused"}],
        "message": "no vote could be read",
    }
    assert rules["judgement"]["votes"][0].keys() == {"member", "repeat", "mode", "step", "uncapped", "capped"}
    # An answer without items says so; one that could not be read says nothing.
    assert rules["items"] == []
    assert named["judgement"]["findings"] == named["judgement"]["votes"][0]["findings"][:1]
    assert named["cluster"] == "report 7"
    assert "queued" not in asked["judgement"]["calls"][1]["call_result"]
    assert plain.keys().isdisjoint({"marks", "claims", "checks", "items", "judgement", "cluster"})
    assert bare.keys() == {"case_id", "variant", "repeat", "call_result", "outcome", "case_hash", "position"}
    assert bare["call_result"] == {}


@given(
    parts=st.lists(st.tuples(any_checks, any_items, st.none() | any_judgements), min_size=1, max_size=4),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_parts_are_exported_imported_and_exported_alike(
    store: SqlStore, tmp_path: Path, parts: list[tuple[Any, Any, Any]]
) -> None:
    run = f"any-{next(_numbers)}"
    store.create_run(header(run))
    made = [sample(CASES[n], n, checks=a, items=b, judgement=c) for n, (a, b, c) in enumerate(parts)]
    store.add_samples(run, made, CASES)
    write_snapshot(store, run, tmp_path / "first.json")
    other = open_store(str(tmp_path / f"{run}.db"))
    read_snapshot(other, tmp_path / "first.json")
    back = [(one.checks, one.items, one.judgement) for one, _ in other.samples(run)]
    assert repr(back) == repr(parts)
    write_snapshot(other, run, tmp_path / "second.json")
    other.close()
    assert (tmp_path / "second.json").read_bytes() == (tmp_path / "first.json").read_bytes()


def test_a_rescored_run_takes_along_what_it_shares_and_what_is_its_own(
    full: Path, store: SqlStore, tmp_path: Path
) -> None:
    read_snapshot(store, full)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    counted = (Score("items", 1.0, counts={"visible": 12, "read": 12}),)
    again = judged(CASES[2], None, judgement(message="again"), scores=counted, marks=(Mark(BOX, "x"),))
    store.add_rescored("demo-2", "demo-1", [again], CASES)
    write_snapshot(store, "demo-2", tmp_path / "rescored.json")
    other = open_store(str(tmp_path / "other.db"))
    read_snapshot(other, tmp_path / "rescored.json")
    ((back, _),) = other.samples("demo-2")
    assert (back.judgement, back.scores, back.marks) == (again.judgement, again.scores, again.marks)
    # Where the earlier run never was, the calls are this run's own, and can be read again from there.
    other.create_run(header("demo-3", rescored_from="demo-2"))
    other.add_rescored("demo-3", "demo-2", [judged(CASES[2])], CASES)
    assert [one.judgement for one, _ in other.samples("demo-3")] == [judgement()]
    with other.database.reading() as session:
        assert session.execute("SELECT count(*) FROM judge_calls") == [(1,)]
    other.close()


def put(*path: str | int, value: Any) -> Callable[[Any], None]:
    def change(place: Any) -> None:
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (0, put("scores", 0, "counts", value={"read": -1}), r"sample\.scores\.0\.counts\.read"),
        (0, put("scores", 0, "counts", value={"read": 1.5}), r"sample\.scores\.0\.counts\.read"),
        (0, put("scores", 0, "counts", value={"read": 2**53 + 1}), r"sample\.scores\.0\.counts\.read"),
        (0, put("findings", 0, "gain", value="much"), r"sample\.findings\.0\.gain"),
        (0, put("findings", 0, "box", value=[0, 0, 1]), r"sample\.findings\.0\.box"),
        (0, put("findings", 0, "box", value=[0, 0, 1, "NaN"]), r"sample\.findings\.0\.box\.3"),
        *((0, put("findings", 0, "span", value=span), r"findings\.0\.span") for span in ([1], [1, 2, 3], [-1, 2])),
        *((0, put("findings", 0, "span", value=span), r"findings\.0\.span") for span in ([1.5, 2], "1-2")),
        (0, put("marks", 0, "box", value=None), r"sample\.marks\.0\.box"),
        # The text of this mark holds half of a surrogate pair, which cannot be quoted as it is.
        (0, put("marks", 0, "note", value="x"), r"sample\.marks\.0: .*'note' was unexpected"),
        (7, put("claims", value=[{"confidence": "much", "right": True}]), r"sample\.claims\.0\.confidence"),
        (7, put("claims", value=[{"confidence": 0.5}]), r"sample\.claims\.0"),
        (7, put("claims", value=[{"confidence": 0.5, "right": 1}]), r"sample\.claims\.0\.right"),
        (7, put("checks", value=[{"name": "a"}]), r"sample\.checks\.0"),
        (7, put("checks", value=[{"name": "a", "state": "skipped"}]), r"sample\.checks\.0\.state"),
        (7, put("checks", value=[{"name": "a", "state": "passed", "value": None}]), r"sample\.checks\.0\.value"),
        (7, put("checks", value=[{"name": "a", "state": "passed", "low": "few"}]), r"sample\.checks\.0\.low"),
        (7, put("items", value=None), r"sample\.items"),
        (7, put("items", value=[{"values": []}]), r"sample\.items\.0"),
        (7, put("items", value=[{"key": 1}]), r"sample\.items\.0\.key"),
        (7, put("items", value=[{"key": "a", "values": {}}]), r"sample\.items\.0\.values"),
        (7, put("position", value=None), r"sample\.position"),
        (7, put("case_hash", value="x"), "case 'case-0007' is not among the cases"),
        (2, put("judgement", "mode", value="guess"), r"sample\.judgement\.mode"),
        (2, put("judgement", "capped", "tone", value="4"), r"sample\.judgement\.capped\.tone"),
        (2, put("judgement", "capped", "tone", value=None), r"sample\.judgement\.capped\.tone"),
        (2, put("judgement", "capped_by", value={ODD: 1}), r"sample\.judgement\.capped_by"),
        (2, put("judgement", "votes", 0, "repeat", value=-1), r"sample\.judgement\.votes\.0\.repeat"),
        (2, put("judgement", "votes", 0, "response", value=[]), r"sample\.judgement\.votes\.0\.response"),
        (2, put("judgement", "votes", 0, "more", value=1), r"sample\.judgement\.votes\.0"),
        (2, put("judgement", "remarks", value=[{"dimension": "tone"}]), r"sample\.judgement\.remarks\.0"),
        (2, put("judgement", "calls", 0, "call_result", "latency", value="slow"), r"calls\.0\.call_result\.latency"),
        (2, put("judgement", "calls", 0, "call_result", value=[]), r"sample\.judgement\.calls\.0\.call_result"),
    ],
)
def test_a_damaged_part_is_refused_with_its_place(
    full: Path, tmp_path: Path, number: int, change: Callable[[Any], None], message: str
) -> None:
    document = json.loads(full.read_text())
    change(document["samples"][number])
    digest = ContentDigest()
    for record in (document["run"], *document["cases"], *document["samples"]):
        digest.add(record)
    full.write_text(json.dumps(document | {"digest": digest.text()}))
    target = open_store(str(tmp_path / "target.db"))
    with pytest.raises(SnapshotError, match=message):
        read_snapshot(target, full)
    assert target.runs() == []
    target.close()
