from __future__ import annotations

import json
import os
import textwrap
import tracemalloc
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from parts.stored import case, fill, header, sample
from steelyard.errors import RunNotFound, SnapshotError, StoreError
from steelyard.records import CallResult, RunState
from steelyard.store import samples as samples_module
from steelyard.store import snapshot as snapshot_module
from steelyard.store.snapshot import read_snapshot, snapshot_schema, write_snapshot
from steelyard.store.sql import SqlStore, open_store

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
