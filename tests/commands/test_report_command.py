"""`report` from the store, from a snapshot and from a results file of a suite's own format, with its charts."""

import json
from pathlib import Path

import pytest

from parts.command import invoke, steelyard
from parts.small_suite import write_suite
from steelyard.errors import install_command

pytestmark = pytest.mark.boundary("jinja2", "vl-convert-python")

EXPECT = {"letters": {"count": "letters[]", "between": [1, 3]}, "first": {"path": "$.letters[0]", "equals": "w"}}
SYSTEM = """
def answer(case):
    return {"word": "word", "letters": list("word" if case.input["number"] == 1 else "wo")}
"""
FORMS = """
from steelyard import Case, Check, CheckState, RecordedRun, RecordedSample, UsageError


class Diary:
    def read(self, document):
        if "pages" not in document:
            raise UsageError("it has no pages")
        return RecordedRun(
            samples=[
                RecordedSample(Case(page, None), checks=(Check("letters", CheckState.PASSED, "2", 2.0, 1.0, 3.0),))
                for page in document["pages"]
            ],
            created_at=86400.0,
            stated={
                page: {"latency": {"mean": 0.5, "p95": 0.75, "n": 4}, "stability": {"kind": 0.25}}
                for page in document["pages"]
            },
        )

    def write(self, header, samples):
        return {}
"""
CHARTS = ["counts.png", "latency_by_case.png", "latency_histogram.png", "pass_fail.png", "scores_by_category.png"]
CHARTS += ["stability.png"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A suite with expectations, a run of it in a store, its snapshot, and a results file of another tool."""
    folder = tmp_path_factory.mktemp("reported")
    suite = write_suite(
        folder / "my",
        n=3,
        answer={"format": "json"},
        expect=EXPECT,
        repeats=2,
        gates=["cases.passed >= 50 %"],
        snapshots="forms:Diary",
        **{"pass": "score >= 100 %"},
    )
    text = suite.read_text()
    suite.write_text(text[: text.index("score:")] + text[text.index("pass:") :])
    (folder / "my" / "system.py").write_text(SYSTEM)
    (folder / "my" / "forms.py").write_text(FORMS)
    done = steelyard("run", "my", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    steelyard("export", "LAST", "run.json", cwd=folder)
    (folder / "results.json").write_text(json.dumps({"pages": ["mon", "tue"]}))
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_charts_are_written_from_the_store(folder, tmp_path):
    done = steelyard("report", "LAST", "--charts", tmp_path / "new" / "charts", cwd=folder)
    assert done.returncode == 0, done.stderr
    written = names(tmp_path / "new" / "charts")
    assert written == [name for name in CHARTS if name != "stability.png"]
    assert [Path(line.removeprefix("written: ")).name for line in sorted(done.stdout.splitlines())] == written


def test_a_snapshot_gives_the_same_report_and_the_same_charts_without_a_store(folder, tmp_path):
    first = steelyard("report", "LAST", "--json", cwd=folder)
    again = steelyard("report", folder / "run.json", "--json", "--charts", "charts", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    one, other = json.loads(first.stdout), json.loads(again.stdout)
    assert one["checks"] == other["checks"]
    assert one["charts"] == other["charts"]
    assert names(tmp_path) == ["charts"]
    # Case 1 has four letters in both of its answers; the other two hold.
    assert [one["figures"][f"cases.count.{state}"]["value"] for state in ("passed", "all")] == [2, 3]


def test_a_results_file_gives_charts_of_what_it_states_and_leaves_the_store_as_it_is(folder, tmp_path):
    before = steelyard("runs", "--json", cwd=folder).stdout
    done = steelyard("report", "results.json", "--suite", "my", "--charts", tmp_path / "charts", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert names(tmp_path / "charts") == ["counts.png", "latency_by_case.png", "pass_fail.png", "stability.png"]
    charts = {chart["name"]: chart["spec"] for chart in json.loads(done.stdout)["charts"]}
    latency, stability = charts["latency_by_case"], charts["stability"]
    assert latency["title"]["subtitle"].startswith("as the file states, nothing was computed")
    assert [row["message"] for row in latency["data"]["values"]] == ["mean 500 ms, p95 750 ms (n 4)"] * 2
    assert [row["message"] for row in stability["data"]["values"]] == ["25.0 % (n not stated)"] * 2
    assert json.loads(done.stdout)["latency"] is None
    assert steelyard("runs", "--json", cwd=folder).stdout == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.json",), "there is no snapshot at nothing.json"),
        (("nothing.json", "--suite", "my"), "there is no results file at nothing.json"),
        (("results.json",), "name the suite that reads it: --suite SUITE"),
        (("run.json", "--suite", "my"), "it has no pages"),
    ],
)
def test_a_file_that_is_no_run_is_named_with_what_to_do(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    assert message in invoke("report", *arguments, code=2)


def test_without_the_extra_charts_say_how_to_get_it(folder, tmp_path):
    (tmp_path / "vl_convert.py").write_text("raise ImportError")
    env = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2] / 'src'}"}
    done = steelyard("report", "LAST", "--charts", tmp_path / "charts", cwd=folder, env=env)
    assert done.returncode == 2
    assert done.stderr == f"steelyard: drawing charts needs an optional part: {install_command('charts')}\n"
    assert not (tmp_path / "charts").exists()


def test_a_folder_that_cannot_be_made_is_an_error_without_a_traceback(folder, tmp_path):
    (tmp_path / "file").write_text("")
    done = steelyard("report", "LAST", "--charts", tmp_path / "file" / "charts", cwd=folder)
    assert done.returncode == 2
    assert "cannot make the folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_without_anything_to_draw_says_so(tmp_path):
    suite = write_suite(tmp_path / "plain", n=1, target={"recorded": "answers.jsonl"})
    answers = [{"case": f"c{n}", "answer": {"word": f"word {n}"}} for n in range(2)]
    (suite.parent / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    steelyard("run", "plain", cwd=tmp_path)
    done = steelyard("report", "LAST", "--charts", "charts", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("no chart: ")
    assert not (tmp_path / "charts").exists()
