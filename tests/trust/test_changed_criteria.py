"""A verdict that changed because its criteria changed: gates, pass rule, limits, prices, planned size, cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy.stats import binomtest

from parts.columns import Made
from parts.command import invoke, steelyard
from parts.compared import compared
from parts.judged_suite import write_judged
from parts.loopback import Loopback, chat_answer
from parts.small_suite import write_suite
from steelyard.comparing.compare import compare
from steelyard.decide.relative_gates import relative_results
from steelyard.metrics.expressions import parse_gate
from steelyard.pairing.against import Against
from steelyard.pairing.model import Moved
from steelyard.records import Verdict

SYSTEM = """
import os

def answer(case):
    number = case.input["number"]
    return {"word": "wrong" if number < int(os.environ["BROKEN"]) else f"word {number}"}
"""
CRITERIA = {
    "gate": ("pass_rate >= 90 %", "pass_rate >= 60 %", "gate pass_rate >= 90 % -> pass_rate >= 60 %"),
    "gate removed": ("- average >= 10 %\n", "", "gate removed: average >= 10 %"),
    "criterion": ("latency.p95 <= 5 s", "latency.p95 <= 50 s", "criterion quick: latency.p95 <= 5 s -> latency.p95"),
    "pass rule": ("pass: score >= 90 %", "pass: score >= 60 %", "pass rule: score >= 90 % -> score >= 60 %"),
    "max_inconclusive": ("max_inconclusive: 0.05", "max_inconclusive: 0.4", "max_inconclusive: 5 % -> 40 %"),
    "min_paired": ("min_paired: 0.9", "min_paired: 0.2", "min_paired: 90 % -> 20 %"),
    "repeats": ("repeats: 3", "repeats: 2", "repeats: 3 -> 2"),
    "weight": ("weight: 3", "weight: 1", "weight of size: 3 -> 1"),
}


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Twenty cases, of which BROKEN are answered wrongly by the same code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    score = {"word": {"exact": {"expected": "expected.word"}}}
    score["size"] = {"exact": {"answer": "word", "expected": "expected.word"}, "weight": 3}
    write_suite(
        tmp_path / "words",
        n=20,
        score=score,
        repeats=3,
        gates=["pass_rate >= 90 %", "average >= 10 %"],
        criteria={"quick": {"pass": "latency.p95 <= 5 s"}},
        limits={"max_inconclusive": 0.05, "min_paired": 0.9},
    )
    (tmp_path / "words" / "system.py").write_text(SYSTEM)

    def run(*command, broken=0, code=0):
        monkeypatch.setenv("BROKEN", str(broken))
        return " ".join(invoke(*(command or ("run", "words")), code=code).split())

    return run


def edit(old, new, file="words/suite.yaml"):
    text = Path(file).read_text()
    assert old in text, text
    Path(file).write_text(text.replace(old, new))


WRITTEN = {
    "without spaces": ("pass_rate >= 90 %", "pass_rate>=90%"),
    "as a share": ("pass_rate >= 90 %", "pass_rate >= 0.9"),
    "with decimals": ("pass_rate >= 90 %", "pass_rate >= 90.0 %"),
    "in milliseconds": ("latency.p95 <= 5 s", "latency.p95 <= 5000 ms"),
    "in another order": ("- pass_rate >= 90 %\n- average >= 10 %\n", "- average >= 10 %\n- pass_rate >= 90 %\n"),
    "pass rule as a share": ("pass: score >= 90 %", "pass: score >= 0.9"),
}


@pytest.mark.parametrize(("old", "new"), WRITTEN.values(), ids=WRITTEN)
def test_the_same_criterion_written_in_another_way_is_no_change(suite, old, new):
    suite()
    edit(old, new)
    told = suite()
    assert "changed since" not in told
    assert "with other gates" not in told
    assert "run once before with the same signature and target: 1 PASS" in told


def test_two_gates_on_one_figure_in_another_order_are_no_change(suite):
    edit("- average >= 10 %\n", "- average >= 10 %\n- average >= 5 % with n >= 2\n")
    suite()
    edit("- average >= 10 %\n- average >= 5 % with n >= 2\n", "- average >= 5 % with n >= 2\n- average >= 10 %\n")
    assert "changed since" not in suite()
    edit("- average >= 5 % with n >= 2\n", "")
    assert "gate average >= 5 % with n >= 2 and average >= 10 % -> average >= 10 %" in suite()


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("gates:", "latency: {above: 90 s}\ngates:", "latency above: none -> 90"),
        (
            "pass: latency.p95 <= 5 s",
            "pass: latency.p95 <= 5 s\n    fail: latency.p95 > 9 s",
            "fails when latency.p95 > 9 s",
        ),
        ("pass: latency.p95 <= 5 s", "pass: latency.p95 <= 5 s\n    secondary: true", "latency.p95 <= 5 s (secondary)"),
        ("- pass_rate >= 90 %\n", "", "gate removed: pass_rate >= 90 %"),
        ("pass_rate >= 90 %", "pass_rate > 90 %", "gate added: pass_rate > 90 %"),
    ],
    ids=["latency", "fails", "secondary", "removed", "operator"],
)
def test_what_else_decides_cannot_change_unseen(suite, old, new, change):
    suite()
    edit(old, new)
    assert change in suite()


@pytest.mark.parametrize(
    ("judge", "change"),
    [
        ({"constant": ["clarity"]}, "judge constant: none -> clarity"),
        ({"epsilon": 0.5}, "judge epsilon: 0.2 -> 0.5"),
        ({"labels_are": "random"}, "judge labels_are: chosen -> random"),
        ({"health": ["agreement.clarity.kappa >= 0.1"]}, "judge health: none -> agreement.clarity.kappa >= 0.1"),
        ({"require_checked": True}, "require_checked: no -> yes"),
        ({"suite": {"limits": {"retries": 0, "anchors": 3}}}, "anchors: "),
    ],
    ids=["constant", "epsilon", "labels_are", "health", "require_checked", "anchors"],
)
def test_what_is_asked_of_a_judge_cannot_change_unseen(tmp_path, monkeypatch, judge, change):
    monkeypatch.chdir(tmp_path)
    path = write_judged(tmp_path / "judged", n=30)
    steelyard("run", path, cwd=tmp_path)
    write_judged(tmp_path / "judged", n=30, **judge)
    steelyard("run", path, cwd=tmp_path)
    stored = json.loads(steelyard("report", "LAST", "--json", cwd=tmp_path).stdout)
    assert any(change in sentence for sentence in stored["disclosures"]), stored["disclosures"]


def test_strict_rules_and_checks_in_fewer_repeats_are_changes(suite):
    edit("pass: score", "expect: {long: {path: word, matches: 'word .+'}}\npass: score")
    suite()
    assert "strict rules: no -> yes" in suite("run", "words", "--strict")
    suite()
    edit("matches: 'word .+'", "matches: 'word .+', required_repeats: majority")
    assert "check long: in all repeats -> in majority repeats" in suite()


def drop(*numbers):
    lines = Path("words/cases.jsonl").read_text().splitlines(keepends=True)
    Path("words/cases.jsonl").write_text("".join(line for at, line in enumerate(lines) if at not in numbers))


@pytest.mark.parametrize(("old", "new", "change"), CRITERIA.values(), ids=CRITERIA)
def test_what_decides_cannot_change_between_two_runs_unseen(suite, old, new, change):
    suite()
    edit(old, new)
    told = suite()
    assert "changed since run words-" in told
    assert change in told
    stored = json.loads(invoke("report", "LAST", "--json"))
    assert any(change in sentence for sentence in stored["disclosures"])
    # The one after it has nothing new to say.
    assert "changed since" not in suite()


@pytest.mark.parametrize(("old", "new", "change"), CRITERIA.values(), ids=CRITERIA)
def test_compare_history_and_truth_check_report_it(suite, old, new, change):
    suite()
    edit(old, new)
    if "max_inconclusive" not in old:
        told = suite("truth", "check", "words", code=1)
        assert change in told
        assert "without a reason" in told
        suite("truth", "note", "words", "--reason", "agreed with the team", "--by", "ann")
        assert "each with its reason" in suite("truth", "check", "words")
    suite()
    blocked = old.startswith(("pass:", "weight"))
    assert change in suite("compare", "LAST~1", "LAST", code=4 if blocked else 0)
    assert change in suite("history", "words")


def test_history_shows_a_gate_that_was_lowered_by_rescoring(suite):
    suite(broken=5, code=1)
    edit("pass_rate >= 90 %", "pass_rate >= 60 %")
    suite("rescore", "LAST", broken=5)
    told = suite("history", "words")
    assert "scored again as" in told
    assert "the criteria changed: gate pass_rate >= 90 % -> pass_rate >= 60 %" in told


def test_a_run_of_one_case_does_not_hide_the_change(suite):
    suite(broken=5, code=1)
    edit("pass_rate >= 90 %", "pass_rate >= 60 %")
    suite("run", "words", "--limit", "1", broken=0)
    assert "gate pass_rate >= 90 % -> pass_rate >= 60 %" in suite(broken=5)


def test_the_command_line_may_not_loosen_a_limit_unseen(suite):
    suite()
    assert "max_inconclusive: 5 % -> 45 %" in suite("run", "words", "--max-inconclusive", "0.45")


def test_other_gates_given_to_gate_are_reported(suite):
    suite(broken=5, code=1)
    told = suite("gate", "LAST", "--gate", "pass_rate >= 60 %")
    assert "changed since the run itself" in told
    assert "gate pass_rate >= 90 % -> pass_rate >= 60 %" in told


def test_a_baseline_locked_again_by_a_lower_pass_rule_says_so(suite):
    suite()
    suite("baseline", "set", "LAST", "--name", "release")
    edit("pass: score >= 90 %", "pass: score >= 20 %")
    suite("rescore", "@release")
    told = suite("baseline", "set", "LAST", "--name", "release")
    assert "since the previous lock" in told
    assert "pass rule: score >= 90 % -> score >= 20 %" in told
    assert "rescored from run words-" in told


def test_ci_against_a_file_reports_lowered_gates_and_dropped_cases(suite):
    suite("ci", "words", "--save", "release.json")
    edit("pass_rate >= 90 %", "pass_rate >= 60 %")
    drop(3)
    told = suite("ci", "words", "--against", "release.json", "--markdown", "comment.md")
    for text in (told, Path("comment.md").read_text().replace("&#8203;", "")):
        assert "gate pass" in text
        assert "1 case of release (run words-" in text
    assert "1 of them passed there: c3" in told


def test_a_baseline_that_is_lowered_step_by_step_shows_the_whole_way(suite):
    edit("pass_rate >= 90 %", "pass_rate >= 10 %")
    for broken in range(6):
        suite(broken=broken)
        told = suite("baseline", "set", "LAST", "--name", "release")
    # One case of 20 less each time: 5 points, and 25 since the first.
    assert "since the previous lock" in told
    assert "pass rate 80.0 % -> 75.0 % (-5.0 points)" in told
    assert "since the first of 6 locks" in told
    assert "pass rate 100.0 % -> 75.0 % (-25.0 points)" in told
    for command in (("show", "release"), ("log",), ("list",)):
        assert "pass rate 100.0 % -> 75.0 % (-25.0 points)" in suite("baseline", *command)
    # A run that is compared with it says so, too.
    told = suite("run", "words", "--against", "release", broken=5)
    assert "release was locked again; since the first of 6 locks" in told
    assert "pass rate 100.0 % -> 75.0 % (-25.0 points)" in told
    suite("baseline", "remove", "release", "--reason", "a fresh start")
    assert "since the first of 7 locks" in suite("baseline", "set", "LAST", "--name", "release")
    told = suite("baseline", "set", "LAST", "--name", "other")
    assert "since the first of 8 locks, release" in told
    assert "(-25.0 points)" in told


def test_half_the_price_is_no_saving(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    with Loopback() as server:
        server.on("/v1/chat/completions", chat_answer('{"word": "word 0"}'))
        chat = {"base_url": f"{server.base_url}/v1", "model": "m-1", "user": "Say the word of {{ input.number }}"}
        write_suite(tmp_path / "words", n=2, target={"chat": chat}, gates=["pass_rate >= 10 %"])
        for price in (2, 1):
            Path("prices.yaml").write_text(f"m-1: {{input: {price}, output: {4 * price}}}")
            told = " ".join(invoke("run", "words").split())
    assert "price of m-1: input 2, output 8 -> input 1, output 4" in told
    assert "price of m-1: input 2, output 8 -> input 1, output 4" in " ".join(
        invoke("compare", "LAST~1", "LAST").split()
    )


def of(scores):
    return [Made(name, float(score), category="a") for name, score in scores.items()]


def both(before, after, gate="pass_rate >= @release"):
    """What compare and a gate say of two runs, given by case."""
    a, b = compared(of(before), id="old-1"), compared(of(after), id="new-1")
    (result,) = relative_results(parse_gate(gate), Against(a, b))
    return compare(a, b).headline, result


IDS = [f"c{number:03}" for number in range(100)]


@pytest.mark.parametrize("gate", ["pass_rate >= @release", "average >= @release", "category.a.pass_rate >= @release"])
def test_nine_dropped_cases_that_passed_decide(gate):
    headline, result = both(dict.fromkeys(IDS, 1), dict.fromkeys(IDS[:91], 1), gate)
    # Nine pairs that all fall, exact McNemar: p = 2 / 2**9.
    assert binomtest(0, 9).pvalue == pytest.approx(0.0039, abs=1e-4)
    assert headline.verdict is Moved.CANNOT_TELL
    assert "9 cases that A answered are not in B, 9 of them passed" in headline.sentence
    assert "100.0 % -> 91.0 % (-9.0 points" in headline.sentence
    assert "p = 0.004" in headline.sentence
    assert result.verdict is Verdict.AMBIGUOUS
    assert "9 cases that release answered are not in this run, 9 of them passed; if they failed here:" in result.reason


def test_dropped_cases_that_failed_before_change_nothing():
    before = {name: name < "c091" for name in IDS}
    headline, result = both(before, dict.fromkeys(IDS[:91], 1))
    assert (headline.verdict, result.verdict) == (Moved.SAME, Verdict.PASS)


def test_few_dropped_cases_leave_a_gate_that_noise_would_pass():
    # Five pairs that fall: p = 2 / 2**5 = 0.0625, which is no evidence of a loss.
    assert binomtest(0, 5).pvalue == 0.0625
    headline, result = both(dict.fromkeys(IDS, 1), dict.fromkeys(IDS[:95], 1))
    assert headline.verdict is Moved.CANNOT_TELL
    assert result.verdict is Verdict.PASS


def test_a_gain_that_dropped_cases_could_undo_is_not_better():
    before = {name: name >= "c020" for name in IDS}
    # 20 fixed, 9 dropped that passed: exact McNemar over 20 up and 9 down.
    assert binomtest(9, 29).pvalue == pytest.approx(0.061, abs=1e-3)
    headline, _ = both(before, dict.fromkeys(IDS[:91], 1))
    assert headline.verdict is Moved.CANNOT_TELL
    # 2 dropped: p < 0.001.
    headline, _ = both(before, dict.fromkeys(IDS[:98], 1))
    assert headline.verdict is Moved.BETTER


def test_a_renamed_case_is_a_dropped_one():
    after = {name if number >= 9 else f"{name}x": 1 for number, name in enumerate(IDS)}
    headline, result = both(dict.fromkeys(IDS, 1), after)
    assert (headline.verdict, result.verdict) == (Moved.CANNOT_TELL, Verdict.AMBIGUOUS)


def test_dropped_cases_are_stored_with_the_run_and_leave_its_gate_open(suite):
    suite()
    suite("baseline", "set", "LAST", "--name", "release")
    edit("min_paired: 0.9", "min_paired: 0.4")
    drop(*range(6, 18))
    told = suite("run", "words", "--against", "release", code=4)
    # 12 of 20 cases.
    assert "12 cases that release answered are not in this run, 12 of them passed" in told
    assert "min_paired: 90 % -> 40 %" in told
    told = suite("gate", "LAST", "--against", "release", "--allow-mismatch")
    assert "overridden: 12 cases that release answered" in told
    invoke("export", "LAST", "run.json")
    (changed,) = json.loads(Path("run.json").read_text())["run"]["options"]["changed"]
    assert (changed["label"], len(changed["dropped"]), changed["dropped_passed"]) == ("release", 12, 12)


def test_a_fixed_test_whose_size_is_chosen_after_a_look_decides_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rows = [
        {"unit": f"u{number}", "arm": ("control", "treatment")[number % 2], "outcome": number % 2 * (number % 3 > 0)}
        for number in range(60)
    ]
    Path("outcomes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = {"experiment": "live", "assigned": "elsewhere", "test": "fixed", "planned": 200}

    def report(code, **changes):
        Path("live.yaml").write_text(json.dumps(plan | changes))
        return " ".join(invoke("ab", "report", "outcomes.jsonl", "--experiment", "live.yaml", code=code).split())

    assert "read" not in report(4).partition("Arms")[0].replace("already", "").replace("read once", "")
    told = report(4, planned=60)
    assert "changed after" in told
    assert "planned: 200 -> 60" in told
    assert "read once before: 1 CANNOT TELL" in told
    # It stays so, whatever is read in between; under a name of its own it decides.
    assert "planned: 200 -> 60" in report(4, planned=60)
    assert "is better" in report(0, planned=60, experiment="another")
    # Where nothing can be logged, the report says so.
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "live.yaml" / "store.db"))
    assert "this reading is not logged" in report(0, planned=60, experiment="another")


def test_dropped_cases_count_in_gates_on_checks_too(suite):
    edit("- pass_rate >= 90 %", "- cases.passed >= @release")
    edit("pass: score", "expect: {long: {path: word, matches: 'word .+'}}\npass: score")
    suite(code=4)
    suite("baseline", "set", "LAST", "--name", "release", "--force", "--reason", "the first")
    assert "PASS" in suite()
    edit("min_paired: 0.9", "min_paired: 0.4")
    drop(*range(6))
    told = suite(code=4)
    assert (
        "6 cases that release answered are not in this run, 6 of them passed; if they failed here: they could" in told
    )
