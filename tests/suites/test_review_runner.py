"""The seed's command line as a thin front of a run: its table, its results file, its charts, its exit codes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard.suites
from parts.command import invoke
from parts.command import steelyard as command
from parts.review_service import TOKEN, review_service
from steelyard import Run
from steelyard.store.sql import open_store
from steelyard.suites.review import runner, visualize
from steelyard.suites.review.results import Format
from steelyard.suites.review.switches import Switches

CASES = Path(steelyard.suites.__file__).parent / "review" / "cases"
# As the seed's runner wrote them; more may stand beside them.
FIELDS = {"backend", "repeats", "cases_passed", "cases_total", "expectations_passed", "expectations_total"}
FIELDS |= {"overall_latency", "results"}
CASE_FIELDS = {"case_id", "description", "latency", "pass", "repeatability", "observation_counts"}
CASE_FIELDS |= {"expectation_results"}
TIMES = {"mean_ms", "min_ms", "max_ms", "p95_ms"}


@pytest.fixture
def some_cases(tmp_path):
    """A folder with the cases of these numbers."""

    def folder(*numbers):
        chosen = tmp_path / "cases"
        chosen.mkdir(exist_ok=True)
        for number in numbers:
            (path,) = CASES.glob(f"case_{number:02d}_*.json")
            (chosen / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        return chosen

    return folder


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Exit code, standard output and results of one call of the runner; drawing takes long, so most draw nothing."""

    def called(cases, *arguments, switches=None, token=TOKEN, draw=False):
        if not draw:
            monkeypatch.setattr(Run, "write_charts", lambda *_: [])
        output = tmp_path / "out" / "results.json"
        with review_service(switches or Switches()) as url:
            given = ["--cases", str(cases), "--base-url", url, "--token", token, "--store", str(tmp_path / "s.db")]
            code = runner.main([*given, "--json-output", str(output), *arguments])
        told = capsys.readouterr()
        return code, told.out, json.loads(output.read_text()) if output.exists() else told.err

    return called


def test_the_results_file_has_the_fields_of_the_seed(run, some_cases):
    code, _, results = run(some_cases(2, 7, 19), "--backend", "mine", "-n", "3")
    assert set(results) >= FIELDS
    assert (results["backend"], results["repeats"]) == ("mine", 3)
    assert (results["cases_passed"], results["cases_total"]) == (2, 3)
    # 4 checks of case_02 and 1 of case_07 pass; the 3 of case_19 fail.
    assert (results["expectations_passed"], results["expectations_total"]) == (5, 8)
    verbs, empty, units = results["results"]
    assert set(verbs) >= CASE_FIELDS
    assert CASE_FIELDS - set(empty) == {"repeatability", "observation_counts"}
    assert (verbs["pass"], empty["pass"], units["pass"]) == (True, True, False)
    assert verbs["observation_counts"] == [4, 4, 4]
    assert [one["check"] for one in verbs["expectation_results"]] == [
        "observation_count",
        "expected_severity:violation",
        "expected_severity:warning",
        "expected_ref:NAV-TR-3.1.1",
    ]
    assert empty["expectation_results"][0]["check"] == "expected_error_code"
    assert code == 1


def test_nothing_to_compare_is_no_stability(run, some_cases):
    _, out, results = run(some_cases(1, 19), "-n", "2")
    # As for cases that expect an error in the first team's files, there is then no such entry.
    assert not any("repeatability" in one for one in results["results"])
    assert "Stability:           span n/a, severity n/a, presence n/a" in out


def test_latency_stands_on_every_answered_call(run, some_cases):
    _, _, results = run(some_cases(2, 7), "-n", "4")
    for latency in (results["overall_latency"], *(one["latency"] for one in results["results"])):
        assert set(latency) >= TIMES
        assert 0 < latency["min_ms"] <= latency["p50_ms"] <= latency["max_ms"]
        # 8 calls, 4 a case: of fewer than 20 the nearest rank of the 95th percentile is the longest, and is called so.
        assert (latency["p95_ms"], latency["p99_ms"]) == (latency["max_ms"], None)
        assert latency["p95_method"] == f"nearest rank: the longest of {latency['n']} calls, fewer than 20"
    assert results["overall_latency"]["n"] == 8
    means = [one["latency"]["mean_ms"] for one in results["results"]]
    # Four calls each, so that the mean of all is the mean of the two means; figures are rounded to 0.1 ms.
    assert results["overall_latency"]["mean_ms"] == pytest.approx(sum(means) / 2, abs=0.2)


def test_checks_of_failed_calls_stay_in_the_denominator(run, some_cases):
    code, out, results = run(some_cases(2, 7), "-n", "2", switches=Switches(masked_404=True))
    assert code == 3
    assert (results["expectations_passed"], results["expectations_total"]) == (1, 5)
    assert results["expectations_undecided"] == 4
    verbs = results["results"][0]
    assert (verbs["pass"], verbs["state"], verbs["observation_counts"]) == (False, "undecided", [])
    assert {one["runs_not_run"] for one in verbs["expectation_results"]} == {2}
    assert results["verdict"] == "INVALID"
    assert "Verdict:             INVALID" in out
    assert "Cases passed:        1 of 2 (1 undecided)" in out


def test_why_calls_failed_is_in_the_output_and_in_the_results_file(run, some_cases):
    _, out, results = run(some_cases(2, 7), "-n", "2", switches=Switches(masked_404=True))
    error = {"kind": "reported_error", "code": "MODEL_FAILURE", "count": 2}
    message = "model 'no-such-model' not found (404) (at errors[] of the body)"
    assert results["errors"] == results["results"][0]["errors"] == [error | {"message": message}]
    assert results["results"][1]["errors"] == []
    words = " ".join(out.split())
    assert f"2 of 4 samples: target: reported_error MODEL_FAILURE: {message}" in words
    assert f"case_02: no check ran: the call failed: reported_error MODEL_FAILURE: {message}" in words


def test_cases_that_were_never_called_stay_in_table_file_and_denominator(tmp_path, some_cases, capsys, monkeypatch):
    monkeypatch.setattr(Run, "write_charts", lambda *_: [])
    output, cases = tmp_path / "results.json", some_cases(1, 2, 3, 4, 7)
    service = [
        sys.executable,
        "-m",
        "steelyard.suites.review.service",
        "--port",
        "0",
        "--die-after",
        "3",
        "--token",
        TOKEN,
    ]
    with subprocess.Popen(service, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().split()[-1]
        given = ["--cases", str(cases), "--base-url", url, "--token", TOKEN, "--store", str(tmp_path / "s.db")]
        code = runner.main([*given, "-n", "2", "--outage", "200ms", "--json-output", str(output)])
    out, results = " ".join(capsys.readouterr().out.split()), json.loads(output.read_text())
    assert (code, results["verdict"], results["cases_total"], len(results["results"])) == (3, "INVALID", 5, 5)
    # 2, 4, 5, 3 and 1: those of all cases, whether or not they were called.
    assert (results["expectations_passed"], results["expectations_total"], results["expectations_undecided"]) == (
        2,
        15,
        13,
    )
    last = results["results"][-1]
    assert (last["case_id"], last["called"], last["state"], last["latency"]["n"]) == ("case_07", False, "undecided", 0)
    assert last["expectation_results"][0]["detail"] == "never called: the run stopped before"
    assert "the limit of --outage" in results["stopped"]
    assert "the run has not finished: the system under test was out for" in out
    assert "case_07 ? 0/1" in out
    # The report counts the same: one check more a case that is not refused, the schema.
    shown = " ".join(invoke("report", "LAST", "--store", tmp_path / "s.db", "--full").split())
    assert "Checks passed 3 of 19" in shown
    # The first team's own charts read numbers alone.
    for one in results["results"]:
        assert all(isinstance(one["latency"][name], int | float) for name in TIMES)
        assert one["latency"]["p95_ms"] - one["latency"]["mean_ms"] >= 0


def test_a_success_case_that_is_rejected_fails(tmp_path, some_cases, run):
    folder = some_cases(2, 7)
    (path,) = folder.glob("case_02*")
    case = json.loads(path.read_text(encoding="utf-8"))
    case["request"]["standards_set"] = "nobody_knows"
    path.write_text(json.dumps(case), encoding="utf-8")
    code, out, results = run(folder, "-n", "1")
    rejected = results["results"][0]
    assert (code, results["verdict"], rejected["state"], results["errors"]) == (1, "FAIL", "broken", [])
    assert "STANDARDS_NOT_FOUND" in rejected["schema_detail"]
    assert "STANDARDS_NOT_FOUND" in out


def test_what_is_normal_is_shown_as_a_hint(run, some_cases):
    code, out, results = run(some_cases(2), "-n", "1", switches=Switches(latency=0.12))
    assert code == 0
    assert "500 ms to 5 s is normal; the median of 1 call, " in " ".join(out.split())
    assert results["overall_latency"]["hint"].endswith("is below that")


def test_expectations_look_at_every_repeat(run, some_cases):
    """The seed looked at the first only."""
    _, _, results = run(some_cases(2), "-n", "6", switches=Switches(unstable=0.6))
    checks = results["results"][0]["expectation_results"]
    assert {one["runs_passed"] + one["runs_failed"] for one in checks} == {6}
    assert any(0 < one["runs_passed"] < 6 for one in checks)


def test_the_table_fits_80_columns(run):
    _, out, _ = run(CASES, "-n", "1")
    table, _, rest = out.partition("\n\nResults:")
    assert max(len(line) for line in table.splitlines()) <= 80
    assert "case_01  PASS       2/2             0" in table
    assert "case_19  FAIL       0/3             0" in table
    assert "case_23 expected_ref:NAV-TR-3.1.1 [0 of 1 runs]" in table
    assert "Charts:" in rest


def test_the_charts_have_the_names_of_the_seed(run, some_cases, tmp_path):
    pytest.importorskip("vl_convert")
    run(some_cases(2, 4, 7), "-n", "2", draw=True)
    names = {path.name for path in (tmp_path / "out").glob("*.png")}
    assert {"latency_by_case.png", "observation_counts.png", "stability.png", "pass_fail.png"} <= names


def test_charts_are_drawn_from_old_and_own_files_and_stale_ones_removed(run, some_cases, tmp_path, capsys):
    pytest.importorskip("vl_convert")
    _, _, results = run(some_cases(2, 7), "-n", "2", draw=True)
    folder = tmp_path / "out"
    # Of single calls, which no results file holds.
    assert (folder / "latency_histogram.png").exists()
    assert visualize.main([str(folder / "results.json")]) == 0
    seed = {"latency_by_case.png", "observation_counts.png", "stability.png", "pass_fail.png"}
    assert {path.name for path in folder.glob("*.png")} == seed
    # An old file: a missing call, and nothing to compare.
    old = {"backend": "x", "repeats": 2, "results": [{**results["results"][0]}, {"case_id": "case_06", "pass": False}]}
    old["results"][1] |= {"latency": {"mean_ms": None}, "observation_counts": [], "expectation_results": []}
    for name in seed:
        (folder / name).unlink()
    (folder / "results.json").write_text(json.dumps(old))
    assert visualize.main([str(folder / "results.json")]) == 0
    assert {path.name for path in folder.glob("*.png")} == seed
    (folder / "results.json").write_text("{}")
    assert visualize.main([str(folder / "results.json")]) == 2
    assert "it has no list of results" in capsys.readouterr().err


def test_one_run_of_each_case_is_a_smoke_test_that_can_pass(run, some_cases, tmp_path):
    code, out, results = run(some_cases(2, 7), "-n", "1", switches=Switches(latency=0.12))
    assert (code, results["verdict"]) == (0, "PASS")
    assert "stability.span >= 60 %: left out: n/a: no data; it asks for 2" in out
    assert len(re.findall(r"stability\.\w+ >= \d+ %: left out", out)) == 3
    shown = " ".join(invoke("report", "LAST", "--store", tmp_path / "s.db").split())
    assert "PASS: every gate passes, 3 left out; partial: 1 of 5 repeats" in shown


def test_the_run_is_kept_as_any_other(run, some_cases, tmp_path):
    _, _, results = run(some_cases(2), "-n", "1")
    store = open_store(str(tmp_path / "s.db"), create=False)
    try:
        header = store.run(results["run"])
        assert (header.suite_name, header.target.kind) == ("review", "http")
    finally:
        store.close()


@pytest.mark.parametrize("switches", [Switches(), Switches(unstable=0.5), Switches(crash_after=3)], ids=str)
def test_its_own_results_can_be_read_again_and_fit_their_sums(run, some_cases, switches):
    _, _, results = run(some_cases(1, 2, 7, 19), "-n", "2", switches=switches)
    found = Format().read(results)
    assert found.differences == ()
    states = [check.state.value for sample in found.samples for check in sample.checks or ()]
    counted = {state: states.count(state) for state in ("passed", "not_run")}
    assert counted == {"passed": results["expectations_passed"], "not_run": results["expectations_undecided"]}
    assert found.notes[0].startswith(f"it was written from the run {results['run']}")


def test_a_wrong_token_is_an_invalid_run_and_not_a_bad_one(run, some_cases):
    for repeats in ("1", "9"):  # more calls than are made before a run gives up
        code, out, results = run(some_cases(2, 7), "-n", repeats, token="wrong")
        assert (code, results["verdict"], results["expectations_passed"]) == (3, "INVALID", 0)
        assert results["expectations_total"] == 5
        assert "check --token: the service refuses it" in " ".join(out.split())


def test_what_is_wrong_is_reported_without_a_traceback(run, tmp_path, capsys):
    code, _, told = run(tmp_path / "nowhere")
    assert code == 2
    assert told.startswith("error: there are no cases at")
    with pytest.raises(SystemExit) as ended:
        runner.main(["-n", "0"])
    assert ended.value.code == 2
    assert "argument -n: 0 is no number of times: write 1 or more" in capsys.readouterr().err


def test_the_command_lines_of_the_seed_work_as_written(tmp_path, some_cases):
    """`python -m eval.runner --cases eval/cases ...` and `python -m eval.visualize ...`, with the files that the README
    gives for `eval/`."""
    (tmp_path / "eval").mkdir()
    some_cases(2, 7).rename(tmp_path / "eval" / "cases")
    for name in ("runner", "visualize"):
        text = f"import sys\nfrom steelyard.suites.review.{name} import main\nsys.exit(main())\n"
        (tmp_path / "eval" / f"{name}.py").write_text(text)
    with review_service(Switches(latency=0.12), token="demo-token") as url:
        given = ["--cases", "eval/cases", "--backend", "ollama", "--base-url", url, "--token", "demo-token", "-n", "5"]
        done = command(*given, "--json-output", "eval/results/results.json", cwd=tmp_path, module="eval.runner")
    assert (done.returncode, "Verdict:             PASS" in done.stdout) == (0, True), done.stderr
    done = command("eval/results/results.json", cwd=tmp_path, module="eval.visualize")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "eval" / "results").glob("*.png")}
    assert names == {"latency_by_case.png", "observation_counts.png", "stability.png", "pass_fail.png"}
    done = command("--cases", "x" * 300, cwd=tmp_path, module="eval.runner")
    assert (done.returncode, done.stderr[:7]) == (2, "error: "), done.stderr


def test_the_defaults_are_those_of_the_seed():
    options = runner._options([])
    assert (str(options.cases), options.backend, options.base_url) == ("eval/cases", "ollama", "http://localhost:9020")
    assert (options.token, options.repeats, options.json_output) == ("demo-token", 5, None)
