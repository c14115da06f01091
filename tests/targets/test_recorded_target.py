from __future__ import annotations

import gzip
import io
import json
import tracemalloc

import pytest

from parts.command import steelyard
from steelyard.errors import SuiteError, TargetFailure
from steelyard.suite.case import Case
from steelyard.suite.models import Variant
from steelyard.targets import recorded_index
from steelyard.targets.base import Request


@pytest.fixture
def record(bench):
    def write(*records, name="answers.jsonl"):
        lines = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in records]
        (bench.folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return name

    return write


async def test_text_and_data_are_given_as_recorded(bench, record):
    name = record({"case": "a", "answer": "plain\ntext"}, {"case": "b", "answer": {"name": "Ü", "n": None}}, "")
    assert (await bench.ask("recorded", name, Case("a"))).text == "plain\ntext"
    assert (await bench.ask("recorded", {"file": name}, Case("b"))).text == '{"name": "Ü", "n": null}'


def packed(rows, ending):
    plain = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if ending == "jsonl.gz":
        return gzip.compress(plain)
    if ending == "jsonl.zst":
        import zstandard

        return zstandard.ZstdCompressor().compress(plain)
    import pyarrow
    from pyarrow import parquet

    sink = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    return sink.getvalue()


@pytest.mark.boundary("pyarrow", "zstandard", "fsspec")
@pytest.mark.parametrize("ending", ["jsonl.gz", "jsonl.zst", "parquet"])
async def test_packed_answers_are_those_of_the_plain_file(bench, record, ending):
    import fsspec

    rows = [{"case": "a", "answer": "eins", "latency": 0.5}, {"case": "b", "answer": "zwei", "latency": 1.5}]
    data, address = packed(rows, ending), f"memory://answers/a.{ending}"
    (bench.folder / f"a.{ending}").write_bytes(data)
    with fsspec.open(address, "wb") as stream:
        stream.write(data)
    for place in (f"a.{ending}", address):
        reply = await bench.ask("recorded", place, Case("b"))
        assert (reply.text, reply.latency) == ("zwei", 1.5)
    plain, here, there = (bench.open("recorded", place).identity() for place in (record(*rows), f"a.{ending}", address))
    assert here["answers"] == there["answers"]
    assert "file" not in there
    assert ending == "parquet" or plain["answers"] == here["answers"]
    (bench.folder / f"a.{ending}").write_bytes(packed([*rows, rows[0]], ending))
    with pytest.raises(
        SuiteError, match=r"(:| row )3: a second answer for case a, repeat 0 \(the first is on (line|row) 1"
    ):
        await bench.ask("recorded", f"a.{ending}", Case("b"))
    (bench.folder / f"a.{ending}").write_bytes(data[:-10])
    with pytest.raises(SuiteError, match=rf"a.{ending}.*(cut off|not readable as Parquet)"):
        await bench.ask("recorded", f"a.{ending}", Case("b"))


async def test_latency_tokens_cost_and_model_are_given_where_recorded(bench, record):
    full = {"case": "a", "answer": "x", "latency": 1.25, "tokens_in": 10, "tokens_out": 5, "cost": 0.5, "model": "m"}
    name = record(full, {"case": "b", "answer": "x"})
    reply = await bench.ask("recorded", name, Case("a"))
    assert (reply.latency, reply.tokens_in, reply.tokens_out, reply.cost, reply.model) == (1.25, 10, 5, 0.5, "m")
    bare = await bench.ask("recorded", name, Case("b"))
    assert (bare.latency, bare.tokens_in, bare.cost, bare.model) == (0.0, None, None, None)


async def test_other_shapes_are_read_through_paths(bench, record):
    name = record({"meta": {"id": 7}, "output": {"choices": [{"text": "found"}]}, "ms": 3})
    settings = {"file": name, "case": "meta.id", "answer": "output.choices.0.text"}
    assert (await bench.ask("recorded", settings, Case("7"))).text == "found"


async def test_variants_and_repeats_have_answers_of_their_own(bench, record):
    name = record(
        {"case": "a", "answer": "plain 0"},
        {"case": "a", "answer": "plain 1", "repeat": 1},
        {"case": "a", "answer": "long 0", "variant": "long"},
    )
    assert (await bench.ask("recorded", name, Case("a"), repeat=1)).text == "plain 1"
    assert (await bench.ask("recorded", name, Case("a"), variant=Variant("long"))).text == "long 0"


async def test_what_was_not_recorded_is_a_failure_and_never_another_answer(bench, record):
    name = record({"case": "a", "answer": "x"})
    for case, variant, repeat in (("b", "", 0), ("a", "long", 0), ("a", "", 1)):
        failure = await bench.fail("recorded", name, Case(case), variant=Variant(variant), repeat=repeat)
        assert (failure.kind, failure.retry) == ("not_recorded", False)
    assert "case a, repeat 1" in str(failure)


async def test_a_recorded_failure_fails_again(bench, record):
    name = record(
        {"case": "a", "failed": "timeout"},
        {"case": "b", "failed": {"kind": "http_500", "message": "boom"}},
        {"case": "c", "failed": True},
        {"case": "d", "answer": "fine", "failed": False},
    )
    failures = [await bench.fail("recorded", name, Case(case)) for case in "abc"]
    assert [one.kind for one in failures] == ["timeout", "http_500", "failed"]
    assert str(failures[1]) == "boom"
    assert (await bench.ask("recorded", name, Case("d"))).text == "fine"


def test_every_bad_line_is_reported_with_its_number(bench, record):
    name = record(
        {"case": "a", "answer": "x"},
        "{not json",
        "[1, 2]",
        {"answer": "no case"},
        {"case": "b"},
        {"case": "c", "answer": None},
        {"case": "d", "answer": "x", "repeat": "one"},
        {"case": "e", "answer": "x", "variant": 3},
        "[" * 100_000,
    )
    with pytest.raises(SuiteError) as caught:
        bench.open("recorded", name).identity()
    assert [(one.file, one.line) for one in caught.value.problems] == [(name, n) for n in range(2, 10)]
    assert "neither" not in str(caught.value)


async def test_a_mistake_in_the_file_is_reported_before_any_call(bench, record):
    target = bench.open("recorded", record("{"))
    with pytest.raises(SuiteError, match=r"answers\.jsonl:1"):
        async with target:
            pytest.fail("it must not open")


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_a_file_without_answers_is_a_mistake(bench, content):
    (bench.folder / "empty.jsonl").write_bytes(content)
    with pytest.raises(SuiteError, match="no recorded answers"):
        bench.open("recorded", "empty.jsonl").identity()


def test_a_missing_file_is_a_mistake(bench):
    with pytest.raises(SuiteError, match=r"gone\.jsonl"):
        bench.open("recorded", "gone.jsonl").identity()


def test_text_that_is_not_utf8_is_a_mistake(bench):
    (bench.folder / "latin.jsonl").write_bytes(b'{"case": "a", "answer": "caf\xe9"}\n')
    with pytest.raises(SuiteError, match=r"latin\.jsonl:1"):
        bench.open("recorded", "latin.jsonl").identity()


async def test_a_byte_order_mark_and_windows_lines_are_read(bench):
    (bench.folder / "w.jsonl").write_bytes(
        b'\xef\xbb\xbf{"case": "a", "answer": "x"}\r\n{"case": "b", "answer": "y"}\r\n'
    )
    assert [(await bench.ask("recorded", "w.jsonl", Case(case))).text for case in "ab"] == ["x", "y"]


def test_two_answers_to_one_question_are_a_mistake_with_both_lines(bench, record):
    other = {"case": "b", "answer": "x"}
    name = record({"case": "a", "answer": "1"}, other, {"case": "a", "answer": "2", "repeat": 0})
    with pytest.raises(SuiteError) as caught:
        bench.open("recorded", name).identity()
    (mistake,) = caught.value.problems
    assert (mistake.file, mistake.line) == (name, 3)
    assert "line 1" in mistake.message
    assert "case a" in mistake.message


async def test_keys_with_the_same_hash_are_separated(bench, record, monkeypatch):
    monkeypatch.setattr(recorded_index, "_hash", lambda key: 1)
    name = record(*({"case": case, "answer": case * 2} for case in "abc"))
    assert [(await bench.ask("recorded", name, Case(case))).text for case in "abc"] == ["aa", "bb", "cc"]
    assert (await bench.fail("recorded", name, Case("d"))).kind == "not_recorded"
    doubled = record(*({"case": case, "answer": case} for case in "abca"), name="doubled.jsonl")
    with pytest.raises(SuiteError, match="case a"):
        bench.open("recorded", doubled).identity()


def test_the_identity_follows_the_answers(bench, record):
    first = bench.open("recorded", record({"case": "a", "answer": "x"})).identity()
    second = bench.open("recorded", record({"case": "a", "answer": "y"})).identity()
    assert (first["kind"], first["file"], first["n"]) == ("recorded", "answers.jsonl", 1)
    assert first["answers"] != second["answers"]


async def test_memory_stays_small_whatever_the_answers_weigh(bench):
    n, answer = 20_000, "x" * 400
    with (bench.folder / "many.jsonl").open("w") as file:
        file.writelines(f'{{"case": "case-{at}", "answer": "{answer}"}}\n' for at in range(n))
    tracemalloc.start()
    try:
        async with bench.open("recorded", "many.jsonl") as target:
            held, _ = tracemalloc.get_traced_memory()
            reply = await target.ask(Request(Case("case-19999"), Variant()))
            with pytest.raises(TargetFailure):
                await target.ask(Request(Case("case-20000"), Variant()))
    finally:
        tracemalloc.stop()
    assert reply.text == answer
    assert held < 40 * n, "16 bytes a record, and some air; the answers alone are 400 a record"


def test_a_record_path_that_is_no_path_is_a_mistake(bench):
    with pytest.raises(SuiteError, match="not a path"):
        bench.open("recorded", {"file": "a.jsonl", "answer": "a..b"})


def test_answers_to_no_question_of_the_run_are_counted(tmp_path):
    cases = [{"id": name, "expected": name} for name in "ab"]
    (tmp_path / "suite.yaml").write_text(
        f"suite: s\ncases: {json.dumps(cases)}\ntarget: {{recorded: a.jsonl}}\n"
        "score: {answer: {exact: {expected: expected}}}\n"
    )
    records = [{"case": name, "answer": name} for name in "axby"] + [{"case": "a", "answer": "a", "repeat": 1}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    message = steelyard("run", ".", cwd=tmp_path).stderr
    assert "3 of 5 recorded answers not used: the run has no such case, variant or repeat; the first: case x" in message
    # A part of a suite leaves out what it was not asked for.
    assert "not used" not in steelyard("run", ".", "--limit", "1", cwd=tmp_path).stderr
