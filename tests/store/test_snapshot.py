"""A run as one file: exported and imported it is the same run, whole, whichever databases are at the ends."""

from __future__ import annotations

import json
import os
import re
import textwrap
import tracemalloc
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.any_checks import any_checks, any_items
from parts.any_judgements import any_judgements
from parts.every_part import BOX, CASES, ITEMS, fill_with_everything, samples
from parts.judged_samples import judged, judgement
from parts.lengths import examples
from parts.stored import case, fill, header, sample
from steelyard.errors import RunNotFound, SnapshotError, StoreError
from steelyard.records import CallResult, Mark, RunState, Score
from steelyard.store import samples as samples_module
from steelyard.store import snapshot as snapshot_module
from steelyard.store.base import Spending
from steelyard.store.snapshot import read_snapshot, write_snapshot
from steelyard.store.snapshot_format import VERSION, ContentDigest, snapshot_schema
from steelyard.store.sql import SqlStore, open_store

_numbers = count()
DOCS = Path(__file__).parents[2] / "docs"


def test_export_import_export_is_identical_across_databases(snapshot: Path, store: SqlStore, tmp_path: Path) -> None:
    assert read_snapshot(store, snapshot) == "demo-1"
    write_snapshot(store, "demo-1", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == snapshot.read_bytes()
    source = open_store(str(tmp_path / "source.db"))
    assert list(store.samples("demo-1")) == list(source.samples("demo-1"))
    assert store.run("demo-1") == source.run("demo-1")
    assert store.usual_latency("demo", header().target, before=2000.0) == source.usual_latency(
        "demo", header().target, before=2000.0
    )
    source.close()


def test_both_databases_write_the_same_file(store: SqlStore, snapshot: Path, tmp_path: Path) -> None:
    fill(store)
    write_snapshot(store, "demo-1", tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == snapshot.read_bytes()


def test_cases_are_listed_by_the_bytes_of_their_ids_on_both_databases(store: SqlStore, tmp_path: Path) -> None:
    store.create_run(header())
    cases = [case(0, id=name) for name in ("b", "B", "a-1", "a1", "é", "z", "")]
    store.add_samples("demo-1", [sample(of) for of in cases], cases)
    write_snapshot(store, "demo-1", tmp_path / "s.json")
    listed = [of["id"] for of in json.loads((tmp_path / "s.json").read_text())["cases"]]
    assert listed == sorted((of.id for of in cases), key=str.encode)


def test_keys_are_ordered_by_their_bytes_whatever_the_language_of_the_server(postgres_store: str) -> None:
    store = open_store(postgres_store)
    with store.database.reading() as session:
        by_bytes = session.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'steelyard' AND collation_name = 'C'"
        )
    store.close()
    assert {("cases", "id"), ("cases", "hash"), ("samples", "case_id"), ("samples", "case_hash")} <= set(by_bytes)


def test_a_case_changed_between_two_sittings_is_kept_twice(store: SqlStore, tmp_path: Path) -> None:
    store.create_run(header())
    before, after = case(1), case(1, expected="if_fixed")
    store.add_samples("demo-1", [sample(before, repeat=0)], [before])
    store.add_samples("demo-1", [sample(after, repeat=1)], [after])
    write_snapshot(store, "demo-1", tmp_path / "s.json")
    other = open_store(str(tmp_path / "other.db"))
    read_snapshot(other, tmp_path / "s.json")
    assert [of for _, of in other.samples("demo-1")] == [before, after]
    other.close()


def test_a_rescored_run_is_whole_without_the_run_it_came_from(store: SqlStore, tmp_path: Path) -> None:
    fill(store)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [sample(case(2), score=0.1)], [case(2)])
    write_snapshot(store, "demo-2", tmp_path / "s.json")
    other = open_store(str(tmp_path / "other.db"))
    read_snapshot(other, tmp_path / "s.json")
    ((back, _),) = other.samples("demo-2")
    assert (back.score, back.call_result.text) == (0.1, "a\x00b\ud800 🪑 é\x10\r\n")
    assert other.run("LAST").rescored_from == "demo-1"
    write_snapshot(other, "demo-2", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "s.json").read_bytes()
    other.close()


def test_an_unfinished_run_can_be_moved_and_taken_up_elsewhere(store: SqlStore, tmp_path: Path) -> None:
    store.create_run(header(state=RunState.INTERRUPTED))
    store.add_samples("demo-1", [sample(case(1), 0)], [case(1)])
    write_snapshot(store, "LAST", tmp_path / "s.json")
    other = open_store(str(tmp_path / "other.db"))
    read_snapshot(other, tmp_path / "s.json")
    assert other.run("LAST").state is RunState.INTERRUPTED
    other.add_samples("demo-1", [sample(case(2), 1)], [case(2)])
    assert other.columns("demo-1").n == 2
    other.close()


def test_a_run_without_samples_has_a_snapshot_too(store: SqlStore, tmp_path: Path) -> None:
    store.create_run(header())
    write_snapshot(store, "demo-1", tmp_path / "s.json")
    other = open_store(str(tmp_path / "other.db"))
    assert read_snapshot(other, tmp_path / "s.json") == "demo-1"
    assert other.columns("demo-1").n == 0
    other.close()


def test_importing_the_same_run_again_changes_nothing(snapshot: Path, store: SqlStore) -> None:
    read_snapshot(store, snapshot)
    before = list(store.samples("demo-1"))
    assert read_snapshot(store, snapshot) == "demo-1"
    assert list(store.samples("demo-1")) == before
    assert len(store.runs()) == 1


def test_a_different_run_of_the_same_id_is_refused(snapshot: Path, store: SqlStore) -> None:
    store.create_run(header())
    with pytest.raises(SnapshotError, match=r"already holds a run demo-1 with other content\. Nothing was imported"):
        read_snapshot(store, snapshot)
    assert store.columns("demo-1").n == 0


def earlier(snapshot: Path, summary: Any) -> Path:
    """The same run as a version wrote it that stored a summary with it."""
    data = json.loads(snapshot.read_text())
    data["run"]["summary"] = summary
    digest = ContentDigest()
    for record in (data["run"], *data["cases"], *data["samples"]):
        digest.add(record)
    file = snapshot.with_name("earlier.json")
    file.write_text(json.dumps(data | {"digest": digest.text()}))
    return file


def test_a_run_of_an_earlier_version_is_the_same_run_again(snapshot: Path, store: SqlStore) -> None:
    old = earlier(snapshot, {"passing": "", "reused": {"answers": 4, "cached": 1}})
    for file in (old, old, snapshot):
        assert read_snapshot(store, file) == "demo-1"
    assert len(store.runs()) == 1
    assert not store.run("demo-1").options.all_cached


def test_a_run_of_an_earlier_version_that_was_edited_is_refused(snapshot: Path, store: SqlStore) -> None:
    old = earlier(snapshot, {"passing": ""})
    for stored in (False, True):
        if stored:
            read_snapshot(store, snapshot)
        edited = old.with_name("edited.json")
        edited.write_text(old.read_text().replace('"score": 0.8', '"score": 0.9', 1))
        assert edited.read_text() != old.read_text()
        with pytest.raises(SnapshotError, match="does not fit the digest"):
            read_snapshot(store, edited)


@pytest.mark.parametrize(
    ("summary", "all_cached"),
    [
        ({"reused": {"answers": 4, "cached": 4}}, True),
        ({"reused": {"answers": 4, "cached": 3}}, False),
        ({"reused": {"answers": 0, "cached": 0}}, False),
        ({"reused": None}, False),
        ({"reused": {"answers": "4", "cached": []}}, False),
        ([4], False),
        (None, False),
    ],
)
def test_a_run_of_an_earlier_version_whose_answers_all_came_from_the_cache_is_no_new_reading(
    snapshot: Path, store: SqlStore, summary: Any, all_cached: bool
) -> None:
    read_snapshot(store, earlier(snapshot, summary))
    assert store.run("demo-1").options.all_cached is all_cached
    # It is that run when it comes once more.
    assert read_snapshot(store, earlier(snapshot, summary)) == "demo-1"


def test_a_snapshot_fits_the_published_schema(snapshot: Path) -> None:
    published = json.loads((DOCS / "snapshot.schema.json").read_text())
    assert published == snapshot_schema()
    jsonschema_rs.Draft202012Validator(published).validate(json.loads(snapshot.read_text()))


def test_the_documented_recipe_gives_the_digest(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "reference" / "snapshot.md").read_text()
    recipe = textwrap.dedent(text[text.index("    import hashlib") : text.index("A snapshot of a version")])
    monkeypatch.chdir(snapshot.parent)
    snapshot.rename("run.json")
    exec(recipe)
    with pytest.raises(AssertionError):
        exec(recipe.replace("sort_keys=True", "sort_keys=False"))


def test_white_space_and_the_order_of_keys_do_not_matter(snapshot: Path, store: SqlStore) -> None:
    def turned(data: Any) -> Any:
        if isinstance(data, dict):
            return {key: turned(data[key]) for key in reversed(data)}
        return [turned(item) for item in data] if isinstance(data, list) else data

    document = json.loads(snapshot.read_text())
    snapshot.write_text(json.dumps({key: turned(value) for key, value in document.items()}, indent=3))
    assert read_snapshot(store, snapshot) == "demo-1"


def test_a_failed_export_leaves_the_old_file_and_nothing_else(snapshot: Path, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "source.db"))
    (tmp_path / "out").mkdir()
    place = tmp_path / "out" / "run.json"
    place.write_text("old")
    with store.database.writing() as session:
        session.execute("DROP TABLE tags")  # reading the samples now fails in the middle of the file
    with pytest.raises(StoreError):
        write_snapshot(store, "demo-1", place)
    assert [path.name for path in place.parent.iterdir()] == ["run.json"]
    assert place.read_text() == "old"
    store.close()


def test_an_export_of_an_unknown_run_makes_no_file(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "source.db"))
    with pytest.raises(RunNotFound):
        write_snapshot(store, "nothing", tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()
    store.close()


def test_an_export_to_an_impossible_place_says_why(snapshot: Path, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "source.db"))
    with pytest.raises(SnapshotError, match="cannot be written: No such file or directory"):
        write_snapshot(store, "demo-1", tmp_path / "no" / "out.json")
    with pytest.raises(SnapshotError, match="cannot be written: it is a folder"):
        write_snapshot(store, "demo-1", tmp_path)
    store.close()


def test_a_full_disk_while_exporting_is_named(snapshot: Path, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "source.db"))
    with pytest.raises(SnapshotError, match="/dev/full cannot be written: No space left on device"):
        write_snapshot(store, "demo-1", "/dev/full")
    store.close()


def test_a_pipe_is_written_to_and_stays_one(snapshot: Path, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "source.db"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_snapshot(store, "demo-1", pipe)
    assert os.read(reader, 1_000_000) == snapshot.read_bytes()
    os.close(reader)
    assert pipe.is_fifo()
    store.close()


def test_the_memory_of_export_and_import_does_not_grow_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples_module, "PAGE", 20)
    monkeypatch.setattr(snapshot_module, "BATCH", 20)

    def peak(n: int) -> int:
        store, other = (open_store(str(tmp_path / f"{kind}-{n}.db")) for kind in ("from", "to"))
        store.create_run(header())
        cases = [case(number) for number in range(n)]
        store.add_samples("demo-1", [sample(of, call_result=CallResult(text="x" * 20_000)) for of in cases], cases)
        tracemalloc.start()
        write_snapshot(store, "demo-1", tmp_path / f"{n}.json")
        read_snapshot(other, tmp_path / f"{n}.json")
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        store.close()
        other.close()
        return used

    # The answers alone of 500 samples are 10 MB, eight megabytes more than those of 100.
    assert peak(500) - peak(100) < 1_000_000


def test_both_databases_write_the_same_of_every_part(full: Path, store: SqlStore, tmp_path: Path) -> None:
    fill_with_everything(store)
    write_snapshot(store, "demo-1", tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == full.read_bytes()


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
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
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
