"""A snapshot that is damaged, edited, forged or foreign is refused whole, with the place of the damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parts.command import invoke
from parts.judged_samples import ODD
from parts.small_suite import write_suite
from steelyard.errors import SnapshotError
from steelyard.store.snapshot import read_snapshot
from steelyard.store.snapshot_format import VERSION, ContentDigest
from steelyard.store.sql import SqlStore, open_store


@pytest.fixture
def target() -> Iterator[SqlStore]:
    """An empty store, quickly made."""
    opened = open_store(":memory:")
    yield opened
    opened.close()


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the digest its content has: what remains wrong must be found by other checks."""
    digest = ContentDigest()
    for record in (document["run"], *document["cases"], *document["samples"]):
        digest.add(record)
    return document | {"digest": digest.text()}


def change(path: str, value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def changed(document: dict[str, Any]) -> dict[str, Any]:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        place: Any = document
        for step in steps:
            place = place[step]
        place[last] = value
        return document

    return changed


def without(key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {name: value for name, value in document.items() if name != key}


def twice(document: dict[str, Any]) -> dict[str, Any]:
    document["samples"].append(document["samples"][0] | {"position": 99})
    return sealed(document)


def case_gone(document: dict[str, Any]) -> dict[str, Any]:
    document["cases"].pop(0)
    return sealed(document)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change("samples.0.score", 0.9), "does not fit the digest"),
        (change("cases.1.expected", {"title": "Easier"}), "is not among the cases|does not fit the digest"),
        (change("run.verdict", "PASS"), "does not fit the digest"),
        (change("run.verdict", "GREAT"), r"run\.verdict"),
        (change("run.options.anchors", [1]), r"run\.options\.anchors"),
        (change("run.options.anchors", {"demo-0": 3}), r"run\.options\.anchors\.demo-0"),
        (change("run.options.anchors", {"demo-0": {"readings": [[[], 1]]}}), r"anchors\.demo-0\.readings\.0"),
        (change("run.options.owner", {"host": "h", "pid": "1"}), r"run\.options\.owner\.pid"),
        (change("run.options.kept", {}), "kept"),
        (change("samples.1.outcome", "fine"), r"sample\.outcome"),
        (change("samples.1.call_result.latency", "fast"), r"sample\.call_result\.latency"),
        (change("samples.1.repeat", -1), r"sample\.repeat"),
        (change("samples.1.position", 0), "position 0 comes after 0"),
        (change("samples.0.extra", 1), "extra"),
        (change("version", VERSION + 1), f"version {VERSION + 1}, this Steelyard reads up to {VERSION}: upgrade"),
        (change("version", "1"), "not a snapshot version"),
        (change("format", "other"), "is not a Steelyard snapshot"),
        (change("digest", "sha256:0"), "does not fit the digest"),
        (change("more", 1), "unexpected 'more'"),
        (without("format"), "is not a Steelyard snapshot"),
        (without("run"), "expected 'run' here, found 'cases'"),
        (without("digest"), "'digest' is missing"),
        (twice, "a sample is there twice"),
        (case_gone, "case 'case-0000' is not among the cases"),
    ],
)
def test_a_damaged_or_edited_snapshot_is_refused_whole(
    snapshot: Path, target: SqlStore, damage: Callable[[dict[str, Any]], dict[str, Any]], message: str
) -> None:
    snapshot.write_text(json.dumps(damage(json.loads(snapshot.read_text()))))
    with pytest.raises(SnapshotError, match=message) as caught:
        read_snapshot(target, snapshot)
    assert str(snapshot) in str(caught.value)
    assert "Nothing was imported" in str(caught.value)
    assert_empty(target)


@pytest.mark.parametrize("damage", [change("samples.3.score", 0.9), twice])
def test_neither_database_keeps_anything_of_a_damaged_snapshot(
    snapshot: Path, store: SqlStore, damage: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    snapshot.write_text(json.dumps(damage(json.loads(snapshot.read_text()))))
    with pytest.raises(SnapshotError):
        read_snapshot(store, snapshot)
    assert_empty(store)


def assert_empty(store: SqlStore) -> None:
    with store.database.reading() as session:
        for table in ("runs", "cases", "samples", "calls", "answers", "findings", "tags", "layouts"):
            assert session.execute(f"SELECT count(*) FROM {table}") == [(0,)], table


def test_a_snapshot_cut_short_anywhere_is_refused_whole(snapshot: Path, target: SqlStore) -> None:
    whole = snapshot.read_bytes()
    for length in range(0, len(whole) - 2, 97):
        snapshot.write_bytes(whole[:length])
        with pytest.raises(SnapshotError):
            read_snapshot(target, snapshot)
    assert_empty(target)


def test_the_line_of_the_damage_is_named(snapshot: Path, target: SqlStore) -> None:
    lines = snapshot.read_text().splitlines()
    wrong = next(number for number, line in enumerate(lines) if '"position":4' in line)
    lines[wrong] = lines[wrong].replace('"outcome":"scored"', '"outcome":"fine"')
    snapshot.write_text("\n".join(lines))
    with pytest.raises(SnapshotError, match=rf"good\.json:{wrong + 1}: sample\.outcome"):
        read_snapshot(target, snapshot)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"null", b"hello", b"\xff\xfe\x00", b'{"format": "steelyard', b'{"results": []}', b"{}"]
)
def test_a_foreign_file_is_refused(content: bytes, target: SqlStore, tmp_path: Path) -> None:
    (tmp_path / "foreign.json").write_bytes(content)
    with pytest.raises(SnapshotError, match=r"not a .*snapshot"):
        read_snapshot(target, tmp_path / "foreign.json")


def test_a_file_that_is_not_there_is_named(target: SqlStore, tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"nothing\.json cannot be read: No such file"):
        read_snapshot(target, tmp_path / "nothing.json")
    with pytest.raises(SnapshotError, match="cannot be read: Is a directory"):
        read_snapshot(target, tmp_path)


@pytest.mark.parametrize(
    ("part", "value", "named"),
    [
        ("components", "title", "components"),
        ("bands", [{"at_least": 3}], "bands"),
        ("gates", ["pass_rate >>= 3"], "its parts do not fit together"),
        ("judge", {"dimensions": 3}, "judge"),
    ],
)
def test_a_forged_snapshot_fails_at_import_and_not_in_the_report(
    tmp_path: Path, part: str, value: Any, named: str
) -> None:
    path = tmp_path / "run.json"
    invoke("run", write_suite(tmp_path / "s", n=3), "--store", tmp_path / "first.db", "--save", path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(sealed(change(f"run.suite.{part}", value)(document))))
    told = invoke("import", path, "--store", tmp_path / "s.db", code=2)
    assert named in told
    assert "Nothing was imported" in told
    assert invoke("runs", "--store", tmp_path / "s.db").startswith("no runs")


def test_a_snapshot_that_is_written_anew_with_its_digest_is_taken(snapshot: Path, target: SqlStore) -> None:
    snapshot.write_text(json.dumps(sealed(change("run.version", "0.2.0")(json.loads(snapshot.read_text())))))
    assert read_snapshot(target, snapshot) == "demo-1"
    assert target.run("demo-1").version == "0.2.0"


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
    full: Path, target: SqlStore, number: int, change: Callable[[Any], None], message: str
) -> None:
    document = json.loads(full.read_text())
    change(document["samples"][number])
    full.write_text(json.dumps(sealed(document)))
    with pytest.raises(SnapshotError, match=message):
        read_snapshot(target, full)
    assert target.runs() == []
