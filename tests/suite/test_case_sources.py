"""Cases from every kind of file, and what is told when one is broken."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.errors import SuiteError, UsageError, install_command
from steelyard.loading.load import load_suite
from steelyard.suite.addresses import fetch

ROWS = [
    {"id": "a", "input": "1", "expected": {"text": "eins"}, "category": "x", "tags": ["p", "q"]},
    {"id": "b", "input": "2", "expected": {"text": "zwei"}, "category": "y", "tags": ["q"]},
]
YAML = """- id: a
  input: "1"
  expected: {text: eins}
  category: x
  tags: [p, q]
- id: b
  input: "2"
  expected: {text: zwei}
  category: y
  tags: [q]
"""
CSV = "id,input,expected.text,category,tags\na,1,eins,x,p;q\nb,2,zwei,y,q\n"


def parquet(rows) -> bytes:
    import io

    import pyarrow
    from pyarrow import parquet

    sink = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    return sink.getvalue()


def lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def zstd(text: str) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(text.encode())


def at_address(address: str, data: bytes) -> str:
    import fsspec

    with fsspec.open(address, "wb") as stream:
        stream.write(data)
    return address


@pytest.mark.boundary("pyarrow", "zstandard", "fsspec")
@pytest.mark.parametrize(
    ("cases", "files"),
    [
        ("c.json", {"c.json": ROWS}),
        ("c.json", {"c.json": "\ufeff" + json.dumps(ROWS, indent=3)}),
        ("c.json", {"c.json": {row["id"]: {k: v for k, v in row.items() if k != "id"} for row in ROWS}}),
        ({"files": "c.json", "at": "data.rows"}, {"c.json": {"v": [1, {}], "data": {"n": 2, "rows": ROWS}, "z": 1}}),
        ("c.jsonl", {"c.jsonl": lines(ROWS) + "\n"}),
        ("c.yaml", {"c.yaml": YAML}),
        ({"files": "c.yml", "at": "rows"}, {"c.yml": "rows:\n" + YAML}),
        ("c.csv", {"c.csv": CSV}),
        ("c.csv", {"c.csv": ("\ufeff" + CSV).replace("\n", "\r\n")}),
        ("c.parquet", {"c.parquet": parquet(ROWS)}),
        (
            "c.jsonl.gz",
            {"c.jsonl.gz": gzip.compress(lines(ROWS[:1]).encode()) + gzip.compress(lines(ROWS[1:]).encode())},
        ),
        ("c.jsonl.zst", {"c.jsonl.zst": zstd(lines(ROWS[:1])) + zstd(lines(ROWS[1:]))}),
        ("c.csv.gz", {"c.csv.gz": gzip.compress(CSV.encode())}),
        ("c.json.zst", {"c.json.zst": zstd(json.dumps(ROWS))}),
        (at_address("memory://one/c.parquet", parquet(ROWS)), {}),
        (at_address("memory://two/c.jsonl.gz", gzip.compress(lines(ROWS).encode()))[:-10] + "*.gz", {}),
        (["1.json", "2.json"], {"1.json": ROWS[:1], "2.json": ROWS[1:]}),
        ("part*.jsonl", {"part1.jsonl": lines(ROWS[:1]), "part2.jsonl": lines(ROWS[1:])}),
        ({"folder": "all"}, {"all/a.json": ROWS[0], "all/b.yaml": YAML.split("- ")[2].replace("\n  ", "\n")}),
        ({"folder": "all", "glob": "*.json"}, {"all/a.json": ROWS[0] | {"id": "a"}, "all/b.json": ROWS[1]}),
        (ROWS, {}),
    ],
    ids=lambda value: str(value)[:30] if not isinstance(value, dict) or "files" in value or "folder" in value else "",
)
def test_every_kind_of_file_gives_the_same_cases(write, cases, files):
    suite = load_suite(write({"cases": cases}, files=files))
    assert [case.as_data() for case in suite.cases] == [
        {"difficulty": None, "attachments": [], "why": "", **row} for row in ROWS
    ]
    assert suite.survey.n == 2
    assert suite.survey.categories == {"x": 1, "y": 1}
    assert suite.survey.tags == {"p": 1, "q": 2}


def test_cases_can_be_read_again_and_again(write):
    suite = load_suite(write())
    assert list(suite.cases) == list(suite.cases)


def test_the_file_name_is_the_id_of_a_case_without_one(write):
    suite = load_suite(write({"cases": {"folder": "all"}}, files={"all/first.json": {"expected": {"text": "x"}}}))
    assert [case.id for case in suite.cases] == ["first"]


def test_a_json_array_is_read_across_its_buffers(write):
    rows = [{"id": n, "input": "ü" * (n * 977 % 200_000), "expected": {"text": str(n)}} for n in range(40)]
    suite = load_suite(write({"cases": "c.json"}, files={"c.json": json.dumps(rows, ensure_ascii=False, indent=2)}))
    assert [(case.id, len(case.input)) for case in suite.cases] == [(str(r["id"]), len(r["input"])) for r in rows]
    # Each record takes six lines ({, id, input, expected {, text, }, }): record n starts on line 2 + 7 n.
    assert [case.source for case in suite.cases] == [f"c.json:{2 + 7 * n}" for n in range(40)]


def broken(write, cases, **files) -> str:
    with pytest.raises(SuiteError) as raised:
        load_suite(write({"cases": cases}, files={name.replace("_", "."): text for name, text in files.items()}))
    return str(raised.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.json", "[]", "c.json: there are no cases in this file"),
        ("c.json", "", "c.json: there are no cases in this file"),
        ("c.jsonl", "\n\n", "c.jsonl: there are no cases in this file"),
        ("c.csv", "id,input\n", "c.csv: there are no cases in this file"),
        ("c.yaml", "# nothing\n", "c.yaml: there are no cases in this file"),
        ("c.json", '[\n{"id": "a"},\n{"id": "b" "x": 1}]', "c.json:3: not readable as JSON"),
        ("c.json", '[{"id": "a"}', "c.json:1: not readable as JSON: expected ']', found 'the end of the file'"),
        ("c.json", '[{"id": "a"}] x', "c.json:1: not readable as JSON: 'x' after the end"),
        ("c.json", '[{"id": "a", "expected": {"text": NaN}}]', "c.json:1: NaN is not JSON"),
        ("c.jsonl", '{"id": "a"}\n{"id": Infinity}\n', "c.jsonl:2: Infinity is not JSON"),
        ("c.jsonl", '{"id": "a", "input": 1e999}\n', "c.jsonl:1: case a: it holds NaN or Infinity"),
        ("c.yaml", "- {id: a, input: .nan}\n", "c.yaml:1: case a: it holds NaN or Infinity"),
        ("c.jsonl", '{"id": "a", "input": "\\ud800"}\n', "c.jsonl:1: case a: it holds half of a surrogate pair"),
        ("c.jsonl", '{"id": "a", "id": "b"}\n', "c.jsonl:1: the key 'id' is given twice"),
        ("c.jsonl", '{"id": "a"}\n{"input": 1}\n', "c.jsonl:2: the case has no id"),
        ("c.jsonl", '{"id": ["a"]}\n', 'c.jsonl:1: an id is text or a number; found ["a"] (a list)'),
        ("c.jsonl", '{"id": true}\n', "c.jsonl:1: an id is text or a number; found true (true/false)"),
        ("c.jsonl", '{"id": " a"}\n', "c.jsonl:1: the id ' a' has spaces around it"),
        ("c.jsonl", "[1, 2]\n", "c.jsonl:1: a case is a group of keys; found [1, 2] (a list)"),
        ("c.jsonl", '{"id": "a", "expectd": 1}\n', "c.jsonl:1: unknown key 'expectd': did you mean expected?"),
        ("c.jsonl", '{"id": "a", "category": {"x": 1}}\n', "c.jsonl:1: category is text; found"),
        (
            "c.jsonl",
            '{"id": "a"}\n{"id": "b"}\n{"id": "a"}\n',
            "c.jsonl:3: the id 'a' is given twice; the first is at c.jsonl:1",
        ),
        ("c.jsonl", '{"id": 1}\n{"id": "1"}\n', "c.jsonl:2: the id '1' is given twice"),
        ("c.json", {"items": [{"id": "a"}]}, "if the cases are under 'items', write at: items"),
        ("c.json", '"text"', "c.json:1: expected a list of cases, found text"),
        ("c.yaml", "items:\n  - id: a\n", "c.yaml:1: the file holds an object, not a list"),
        ("c.csv", "id,id\na,b\n", "c.csv:1: the heading 'id' is there twice"),
        ("c.csv", "id,expected,expected.x\na,b,c\n", "c.csv:1: the heading 'expected.x' and 'expected' cannot both"),
        ("c.csv", "id,input\na,b,c\n", "c.csv:2: 3 cells under 2 headings"),
        ("c.csv", 'id,input\na,"b\n', "c.csv:2: not readable as CSV"),
        ("c.jsonl", b'{"id": "a"}\n{"id": "\xff"}\n', "c.jsonl:2: not UTF-8 text: byte 0xff cannot be read"),
        ("c.yaml", b"- id: \xff\n", "not UTF-8 text"),
        ("c.parquet", b"PAR1 no", "c.parquet: not readable as Parquet"),
        ("c.txt", "a", "c.txt is of no known kind; cases are read from .csv, .json"),
    ],
)
def test_a_broken_case_file_is_reported_with_file_and_line(write, name, text, message):
    with pytest.raises(SuiteError) as raised:
        load_suite(write({"cases": name}, files={name: text}))
    assert message in str(raised.value)


def test_a_wrong_at_is_reported_with_what_is_there(write):
    told = broken(write, {"files": "c.json", "at": "itmes"}, c_json={"items": [], "x": 1})
    assert "c.json: there is nothing at 'itmes': did you mean items?" in told


def test_many_mistakes_are_reported_up_to_a_hundred(write):
    told = broken(write, "c.jsonl", c_jsonl='{"input": 1}\n' * 130)
    assert told.count("the case has no id") == 100
    assert told.splitlines()[-1] == "and 30 more mistakes in the cases"


def test_reading_goes_on_after_a_broken_line(write):
    told = broken(write, "c.jsonl", c_jsonl='{"id": "a"}\n{oops\n{"id": 7, "tags": {}}\n{"no": 1}\n')
    assert [line.split(": ")[0] for line in told.splitlines() if line.startswith("c.jsonl")] == [
        "c.jsonl:2",
        "c.jsonl:3",
        "c.jsonl:4",
    ]


@pytest.mark.boundary("pyarrow")
def test_typed_columns_become_plain_data(write):
    from datetime import date
    from decimal import Decimal

    row = {"id": 1, "input": {"on": date(2024, 1, 31), "price": [Decimal("2.50"), Decimal("3.00")]}}
    (case,) = load_suite(
        write(
            {"cases": "c.parquet", "score": {"t": {"same": {"expected": "input.on"}}}},
            files={"c.parquet": parquet([row])},
        )
    ).cases
    assert case.input == {"on": "2024-01-31", "price": [2.5, 3]}


@pytest.mark.boundary("pyarrow")
@pytest.mark.parametrize(
    ("package", "extra", "cases"),
    [("pyarrow", "parquet", "c.parquet"), ("fsspec", "fsspec", "s3://b/c.jsonl")],
)
def test_without_its_library_a_format_gives_the_install_hint(write, monkeypatch, package, extra, cases):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=re.escape(install_command(extra))):
        load_suite(write({"cases": cases}, files={"c.parquet": b"", "c.jsonl.zst": b"x"}))


MANY = lines([{"id": n, "expected": {"text": f"{n * 7919}"}} for n in range(40_000)])
GZIPPED = gzip.compress(MANY.encode())


@pytest.mark.boundary("pyarrow", "zstandard")
@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("c.jsonl.gz", GZIPPED[:-30_000], r"c.jsonl.gz:3\d+: the gzip data is cut off after line 3\d,\d+"),
        ("c.jsonl.zst", zstd(MANY)[:-30_000], r"c.jsonl.zst:\d+: the zstd data is cut off after line \d+,\d+"),
        ("c.jsonl.gz", GZIPPED[:-8] + b"12345678", r"c.jsonl.gz:\d+: the gzip data is damaged: .*check"),
        ("c.jsonl.zst", b"no zstd at all", r"c.jsonl.zst: the zstd data is damaged"),
        ("c.parquet", parquet(ROWS)[:-4], r"c.parquet: not readable as Parquet"),
        ("c.parquet", parquet(ROWS).replace(b"zwei", b"zw"), r"c.parquet: not readable as Parquet"),
        ("c.yaml.gz", b"", r"c.yaml.gz is packed, which is read of .csv, .json, .jsonl, .ndjson files only"),
    ],
)  # fmt: skip
def test_damaged_data_is_an_error_and_never_a_shorter_file(write, name, data, told):
    with pytest.raises(SuiteError, match=told):
        load_suite(write({"cases": name}, files={name: data}))


@pytest.mark.boundary("fsspec")
@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("memory://nothing/c.jsonl", "there is no file memory://nothing/c.jsonl"),
        ("memory://nothing/*.jsonl", "no file fits memory://nothing/"),
        ("s3://key:secret@bucket/c.jsonl", "an address holds no password"),
        ("https://example.org/c.jsonl?X-Amz-Signature=secret", "an address holds no query"),
        ("nonsense://x/c.jsonl", "nonsense://x/c.jsonl cannot be read: Protocol not known: nonsense"),
        ("memory://one/c.bin", "memory://one/c.bin is of no known kind"),
    ],
)
def test_an_address_that_cannot_be_read_is_reported_without_its_secrets(write, address, told):
    with pytest.raises(SuiteError) as raised:
        load_suite(write({"cases": address}))
    assert told in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.boundary("fsspec")
def test_the_signature_holds_what_stands_at_an_address_and_not_where_it_is(write, tmp_path):
    (tmp_path / "c.jsonl").write_text(lines(ROWS))
    here = load_suite(write({"cases": f"file://{tmp_path}/c.jsonl"}))
    there = load_suite(write({"cases": at_address("memory://there/cases.jsonl", lines(ROWS).encode())}))
    assert (here.survey, there.survey) == (load_suite(write({"cases": ROWS})).survey,) * 2
    at_address("memory://there/cases.jsonl", lines(ROWS[:1]).encode())
    assert [case.id for case in there.cases] == ["a", "b"], "what was surveyed is what is run"
    assert next(iter(there.cases)).source == "memory://there/cases.jsonl:1"
    other = load_suite(write(), "memory://there/cases.jsonl")
    assert (other.survey.n, other.other_cases) == (1, "memory://there/cases.jsonl")


@pytest.mark.boundary("fsspec")
def test_the_copy_of_an_address_is_gone_with_whoever_read_it():
    copy = fetch(at_address("memory://there/once.jsonl", lines(ROWS).encode()))
    path = copy.path
    assert path.read_text() == lines(ROWS)
    del copy
    assert not path.parent.exists()


def test_a_scorers_own_check_names_the_line_of_the_field(write):
    case = "id: lamp-003\nexpected:\n  text: x\n  valueMin: 900000\n  valueMax: 400000\n"
    score = {"value": {"between": {"low": "expected.valueMin", "high": "expected.valueMax"}}}
    path = write({"cases": {"folder": "cases"}, "score": score}, files={"cases/lamp-003.yaml": case})
    with pytest.raises(SuiteError) as raised:
        load_suite(path)
    assert str(raised.value) == "cases/lamp-003.yaml:4: valueMin 900000 is above valueMax 400000"


def test_the_line_of_a_field_is_found_in_json_too(write):
    rows = [{"id": "a", "expected": {"low": 1, "high": 2}}, {"id": "b", "expected": {"low": 3, "high": 2}}]
    score = {"value": {"between": {"low": "expected.low", "high": "expected.high"}}}
    with pytest.raises(SuiteError) as raised:
        load_suite(write({"cases": "c.json", "score": score}, files={"c.json": json.dumps(rows, indent=1)}))
    # Lines: [ 1, record a 2-8, record b from 9: { 9, id 10, expected 11, low 12.
    assert str(raised.value) == "c.json:12: low 3 is above high 2"


PNG = b"\x89PNG\r\n\x1a\n"


def attached(write, attachment, **files):
    row = {"id": "a", "expected": {"text": "x"}, "attachments": attachment}
    return write({"cases": "c.json"}, files={"c.json": [row], "img/a.png": PNG, **files})


def test_attachments_are_paths_urls_or_typed(write):
    given = ["img/a.png", "https://example.org/b.webp", {"place": "https://example.org/c", "media_type": "image/gif"}]
    (case,) = load_suite(attached(write, given)).cases
    assert [(a.media_type, a.is_url) for a in case.attachments] == [
        ("image/png", False),
        ("image/webp", True),
        ("image/gif", True),
    ]


@pytest.mark.parametrize(
    ("attachment", "message"),
    [
        ("img", "of no known media type"),
        ("../x.png", "../x.png leads out of the suite's folder"),
        ("/etc/passwd", "/etc/passwd is an absolute path"),
        ("img/link.png", "img/link.png leads out of the suite's folder"),
        ("file:///etc/passwd", "only http and https addresses"),
        ("https://example.org/picture", "of no known media type"),
        ("img/a.strange", "of no known media type"),
        ({"palce": "x"}, "an attachment is a path, a URL or"),
        ("img/\0.png", "is not the name of a file"),
    ],
)
def test_an_attachment_that_is_written_wrongly_is_reported(write, tmp_path, attachment, message):
    path = attached(write, attachment, **{"img/a.strange": b"x"})
    (tmp_path / "outside.png").write_bytes(PNG)
    (path.parent / "img/link.png").symlink_to(tmp_path / "outside.png")
    with pytest.raises(SuiteError) as raised:
        load_suite(path)
    assert message in str(raised.value)
    assert str(raised.value).startswith("c.json:1: case a: attachment") or "an attachment is" in message


@pytest.mark.parametrize("name", ["../out.json", "link.json", "../suite/../out.json", "../*.json", "linked/*.json"])
def test_no_case_file_may_lie_outside_the_folder(write, tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    for place in ("out.json", "elsewhere/out.json"):
        (tmp_path / place).write_text(json.dumps(ROWS))
    path = write({"cases": name})
    (path.parent / "link.json").symlink_to(tmp_path / "out.json")
    (path.parent / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SuiteError, match="leads out of the suite's folder"):
        load_suite(path)


def test_an_unreadable_file_is_reported(write, monkeypatch):
    path = write()
    opened = Path.open

    def refuse(self, *arguments, **options):
        # Permissions cannot be tried for real: the tests may run as root, who reads everything.
        if self.name == "cases.json":
            raise PermissionError(13, "Permission denied")
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SuiteError, match=r"cases\.json: cannot be read: Permission denied"):
        load_suite(path)


_MEASURE = """
import resource, sys
from pathlib import Path
from steelyard.suite.cases import CaseFile, FileCases
from steelyard.suite.draft import Draft
from steelyard.suite.yaml import Located
from steelyard.suite.cases import survey_cases
path = Path(sys.argv[1])
draft = Draft(Located(None), path.parent)
survey = survey_cases(FileCases(path.parent, (CaseFile(path, path.name),)), (), draft)
assert not draft.problems
print(survey.n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_number_of_cases(tmp_path):
    def peak(n: int) -> int:
        path = tmp_path / f"{n}.jsonl"
        with path.open("w") as stream:
            stream.writelines(
                f'{{"id": {i}, "input": "{"w" * 60}", "expected": {{"text": "t{i}"}}}}\n' for i in range(n)
            )
        done = subprocess.run([sys.executable, "-c", _MEASURE, path], capture_output=True, text=True, check=True)
        counted, kilobytes = map(int, done.stdout.split())
        assert counted == n
        return kilobytes

    few, many = peak(1_000), peak(200_000)
    # Kept as Python objects, 199,000 more cases would take above 150 MB; the hashes of their ids take 1.6 MB, twice.
    assert many - few < 15_000


def test_the_ending_of_a_file_name_may_be_in_capitals(write):
    suite = load_suite(write({"cases": "C.JSON"}, files={"C.JSON": ROWS}))
    assert suite.survey.n == 2
