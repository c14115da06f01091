"""Tables as files and as answers to SQL, as a person asks for them."""

import csv
import json
import sys
from datetime import UTC, datetime

import pyarrow.parquet
import pytest

from parts import stored
from parts.command import invoke, steelyard
from parts.rich_run import put_rich
from steelyard.errors import install_command
from steelyard.records import Finding
from steelyard.store.sql import open_store
from steelyard.tables import query
from steelyard.tables.arrow import table_of


@pytest.fixture
def url(tmp_path):
    """A store with two runs of different suites: `rich-1` and `demo-1`."""
    url = str(tmp_path / "runs.db")
    store = open_store(url)
    put_rich(store)
    stored.fill(store)
    stored.keep_figures(store, "rich-1", "demo-1")
    store.close()
    return url


def rows_of(url, run, name, **how):
    store = open_store(url)
    try:
        return table_of(store, store.run(run), name, **how).to_pylist()
    finally:
        store.close()


def in_csv(value):
    """How a value without formulas stands in CSV."""
    if isinstance(value, list):
        return json.dumps(value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def test_every_table_is_written_in_every_form(url, tmp_path):
    for name in ("samples", "findings", "votes", "claims"):
        rows = rows_of(url, "rich-1", name)
        files = {form: tmp_path / f"{name}.{form}" for form in ("csv", "jsonl", "parquet")}
        for form, file in files.items():
            printed = invoke("export", "rich-1", f"--{form}", file, "--table", name, "--store", url, "--json")
            assert json.loads(printed) == {"run": "rich-1", "file": str(file), "table": name, "rows": len(rows)}
        assert [json.loads(line) for line in files["jsonl"].read_text().splitlines()] == rows
        assert pyarrow.parquet.read_table(files["parquet"]).to_pylist() == rows
        with files["csv"].open(newline="") as file:
            assert list(csv.DictReader(file)) == [{key: in_csv(value) for key, value in row.items()} for row in rows]


def test_csv_and_json_lines_need_no_pyarrow(url, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for form in ("csv", "jsonl"):
        assert "192 samples" in invoke("export", "rich-1", f"--{form}", tmp_path / form, "--store", url)
    message = invoke("export", "rich-1", "--parquet", tmp_path / "out", "--store", url, code=2)
    assert install_command("parquet") in message
    assert not (tmp_path / "out").exists()


def test_a_spreadsheet_takes_no_cell_for_a_formula(tmp_path):
    url, file = str(tmp_path / "runs.db"), tmp_path / "findings.csv"
    store = open_store(url)
    header, case = stored.header("odd"), stored.case(1, id="=1+1")
    store.create_run(header)
    findings = (Finding("@CODE", "+place", "-1", -1.5, "\tx", gain=-0.5), Finding("A", "'=already", "'plain"))
    store.add_samples(header.id, [stored.sample(case, 0, findings=findings, tags=("=tag",))], [case])
    store.close()
    invoke("export", "odd", "--csv", file, "--table", "findings", "--store", url)
    with file.open(newline="") as opened:
        _, first, second = csv.reader(opened)
    assert first == ["'=1+1", "", "0", "'@CODE", "error", "", "", "'+place", "'\tx", "'-1", "'-1.5", "-0.5"]
    assert second[7:10] == ["''=already", "", "'plain"]
    invoke("export", "odd", "--csv", file, "--store", url)
    assert '"[""=tag""]"' in file.read_text()


def test_what_cannot_be_written_leaves_nothing_and_says_why(url, tmp_path):
    store = open_store(url)
    with store.database.writing() as session:
        session.execute("DROP TRIGGER judgements_update_guard")
        session.execute("UPDATE judgements SET content = '{' WHERE seq = (SELECT max(seq) FROM judgements)")
    store.close()
    before = set(tmp_path.iterdir())
    with pytest.raises(AssertionError, match="JSONDecodeError"):
        invoke("export", "rich-1", "--jsonl", tmp_path / "out.jsonl", "--table", "votes", "--store", url)
    assert set(tmp_path.iterdir()) == before
    message = invoke("export", "rich-1", "--csv", tmp_path / "no" / "folder.csv", "--store", url, code=2)
    assert "cannot be written: No such file or directory" in message


def test_options_that_do_not_go_together_are_refused(url, tmp_path):
    for options, message in (
        ((), "name one file"),
        ((tmp_path / "a", "--csv", tmp_path / "b"), "name one file"),
        ((tmp_path / "a", "--table", "votes"), "--table: add --csv, --jsonl or --parquet FILE"),
        ((tmp_path / "a", "--answers"), "--answers: add --csv"),
        (("--csv", tmp_path / "a", "--suite", "x"), "--suite and --csv do not go together"),
        (("--csv", tmp_path / "a", "--table", "claims", "--answers"), "the table claims has no answers"),
    ):
        assert message in invoke("export", "rich-1", *options, "--store", url, code=2)
    assert not (tmp_path / "a").exists()


def asked(url, sql, *options):
    return json.loads(invoke("sql", sql, "--store", url, "--json", *options))


def test_samples_of_all_runs_are_asked_in_sql(url):
    rich, demo = (rows_of(url, run, "samples") for run in ("rich-1", "demo-1"))
    sql = (
        'select run, count(*) as n, avg(score) as average, count("check.opening") as checked from samples group by run'
    )
    scores = [row["score"] for row in rich if row["score"] is not None]
    result = {row["run"]: row for row in asked(url, sql)}
    assert result["rich-1"] == {
        "run": "rich-1",
        "n": len(rich),
        "average": pytest.approx(sum(scores) / len(scores)),
        "checked": sum(row["check.opening"] is not None for row in rich),
    }
    # The other suite has no such check: its rows have no value there.
    assert (result["demo-1"]["n"], result["demo-1"]["checked"]) == (len(demo), 0)
    for choice in (("--run", "rich-1"), ("--suite", "rich"), ("--last", 1)):
        assert {row["run"] for row in asked(url, sql, *choice)} == {"rich-1"}


def test_every_view_can_be_joined_and_named_twice(url):
    votes, claims = (rows_of(url, "rich-1", name) for name in ("votes", "claims"))
    joined = asked(url, 'select count(*) as n from votes join samples using (run, "case", variant, repeat)')
    assert joined == [{"n": len(votes)}]
    # A stream that is read once would be empty the second time.
    twice = "with c as (from claims) select (select count(*) from c) as a, (select count(*) from c) as b"
    assert asked(url, twice) == [{"a": len(claims), "b": len(claims)}]
    runs = asked(url, "select run, suite, began, state, planned, n from runs order by run desc")
    assert runs[0] == {
        "run": "rich-1",
        "suite": "rich",
        "began": str(datetime.fromtimestamp(1001.0, UTC).replace(tzinfo=None)),
        "state": "ended",
        "planned": 200,
        "n": sum(row["score"] is not None for row in rows_of(url, "rich-1", "samples")),
    }
    assert asked(url, "select 0.5 as half, [1, 2] as list, null as none") == [
        {"half": 0.5, "list": [1, 2], "none": None}
    ]


def test_the_terminal_shows_rows_within_80_columns(url, tmp_path):
    done = steelyard("sql", "select run, outcome, count(*) n from samples group by all", "--store", url, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows, count = done.stdout.splitlines()
    assert head.split() == ["run", "outcome", "n"]
    assert count == f"{len(rows)} rows"
    wide = invoke("sql", "select * from samples", "--store", url)
    assert max(map(len, wide.splitlines())) <= 80
    assert "the first 50 rows: --csv FILE writes all" in wide


def test_a_result_is_written_as_csv(url, tmp_path):
    file = tmp_path / "out.csv"
    sql = """select '=1' as "@a", -1 as b, null as c, true as d, ['x'] as e"""
    assert json.loads(invoke("sql", sql, "--csv", file, "--store", url, "--json")) == {"file": str(file), "rows": 1}
    assert file.read_text() == '\'@a,b,c,d,e\n\'=1,-1,,true,"[""x""]"\n'


def test_a_mistake_in_sql_is_reported_in_the_words_of_the_engine(url, tmp_path):
    file = tmp_path / "out.csv"
    late = """select case when "case" > 'case-20' then cast("case" as int) end from samples order by "case" """
    for sql, message in (
        ("selec 1", "syntax error"),
        ("select scor from samples", '"scor" not found'),
        ("select 1 from calls", "calls does not exist"),
        ("select * from nosuch", "The tables here: runs, samples, findings, votes, claims"),
        (late, "Could not convert string"),
    ):
        assert message in invoke("sql", sql, "--csv", file, "--store", url, code=2)
    assert not file.exists()
    assert "two columns are called a" in invoke("sql", "select 1 a, 2 a", "--json", "--store", url, code=2)


def test_sql_reads_and_does_nothing_else(url, tmp_path, monkeypatch):
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nb\n")
    monkeypatch.chdir(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for sql in (
        "create table t as select 1",
        "drop view samples",
        "insert into runs select * from runs",
        "update runs set suite = 'x'",
        f"copy samples to '{tmp_path}/out.csv'",
        f"attach '{url}' as other",
        "install sqlite",
        "load sqlite",
        "set enable_external_access = true",
        "pragma enable_external_access",
        "call pragma_version()",
        "explain analyze create table t as select 1",
        "select 1; select 2",
        "",
    ):
        assert "give one SELECT" in invoke("sql", sql, "--store", url, code=2), sql
    for sql in (
        f"select * from read_csv('{secret}')",
        f"select * from read_text('{secret}')",
        f"select * from '{secret}'",
        f"select * from glob('{tmp_path}/*')",
        f"select * from sqlite_scan('{url}', 'runs')",
        # Neither a variable of this process nor one of its environment.
        "select * from statements",
        "select getenv('HOME')",
    ):
        assert "SQL:" in invoke("sql", sql, "--store", url, code=2), sql
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_what_is_too_much_or_not_there_is_refused(url, monkeypatch):
    assert "there is no run of a suite none" in invoke("sql", "select 1", "--suite", "none", "--store", url, code=2)
    assert "no run 'none'" in invoke("sql", "select 1", "--run", "none", "--store", url, code=2)
    options = ("--run", "rich-1", "--last", 1)
    assert "--run and --last do not go together" in invoke("sql", "select 1", *options, "--store", url, code=2)
    monkeypatch.setattr(query, "MOST_SAMPLES", 200)
    message = invoke("sql", "select 1 from findings", "--store", url, code=2)
    assert "too many to be asked at once (at most 200): choose some with --run, --suite or --last" in message
    assert asked(url, "select count(*) as n from samples", "--run", "rich-1") == [{"n": 192}]
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert install_command("sql") in invoke("sql", "select 1", "--store", url, code=2)
