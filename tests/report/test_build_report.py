"""A report from what a real store holds."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from parts import reports
from parts.views import print_report, to_html, to_json, to_markdown
from steelyard.errors import UsageError
from steelyard.records import AtLeast, CallResult, Failure, Finding, Mark, Outcome, RunState, Sample, Score, Verdict
from steelyard.report.build import build_report
from steelyard.report.explain import explain_report
from steelyard.report.render.junit import to_junit
from steelyard.report.sample_detail import LONGEST_TEXT, sample_detail, sample_line
from steelyard.store.codec import encode
from steelyard.store.sql import open_store
from steelyard.suite.case import Attachment, Case, digest

N_CASES = 30


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def case_of(number):
    return Case(f"part-{number:02d}", {"text": f"question {number}"}, {"name": "gear"}, "gears", "easy", ("brass",))


def scored(number, score, **changes):
    case = case_of(number)
    attempt = CallResult(text='{"name": "gear"}', latency=float(number), started_at=1.0)
    findings = () if score >= 0.5 else (Finding("NAME", "name", "gear", "spring"), Finding("PLACE"))
    settings = {
        "call_result": attempt,
        "outcome": Outcome.SCORED,
        "score": score,
        "passed": score >= 0.75,
        "band": "Excellent" if score >= 0.9 else "Failed",
        "scores": (Score("name", score, 70.0, note="a note"),),
        "findings": findings,
        "step": "whole",
        "category": case.category,
        "difficulty": case.difficulty,
        "tags": case.tags,
        "case_hash": digest(encode(case)),
    }
    return Sample(case.id, "", 0, **(settings | changes))


def unanswered(number):
    attempt = CallResult(failure=Failure("timeout", "no answer within 60 s"), latency=60.0, started_at=1.0)
    plain = {"score": None, "passed": None, "band": None, "scores": (), "findings": (), "step": None}
    return replace(scored(number, 1.0), call_result=attempt, outcome=Outcome.TARGET_FAILED, **plain)


@pytest.fixture
def run(store):
    """Thirty cases: number 7 without an answer, the others scored number / 30."""
    suite = reports.SUITE | {"gates": ["pass_rate >= 90 %"]}
    header = reports.header(n_planned=N_CASES, suite=suite, verdict=None, state=RunState.RUNNING)
    store.create_run(header)
    samples = [unanswered(n) if n == 7 else scored(n, n / N_CASES) for n in range(N_CASES)]
    store.add_samples(header.id, samples, [case_of(n) for n in range(N_CASES)])
    ended = replace(header, state=RunState.ENDED)
    store.update_run(ended)
    return ended


def test_all_samples_are_shown_when_they_are_few(store, run):
    report = build_report(store, run)
    assert report.n_samples == len(report.details) == N_CASES
    assert report.details[0].line.case_id == "part-07"
    scores = [detail.line.score for detail in report.details[1:]]
    assert scores == sorted(scores)


def test_a_cut_list_holds_the_worst_and_keeps_the_inconclusive_in_sight(store, run):
    report = build_report(store, run, max_details=10)
    assert report.n_samples == N_CASES
    names = [detail.line.case_id for detail in report.details]
    # 7 has no score; of the others the nine lowest are 0 to 9 without 7
    assert names == ["part-07", *(f"part-{n:02d}" for n in range(10) if n != 7)]


def test_worst_and_slowest(store, run):
    report = build_report(store, run)
    assert [line.case_id for line in report.worst[:3]] == ["part-00", "part-01", "part-02"]
    assert [line.case_id for line in report.slowest[:2]] == ["part-07", "part-29"]


def test_a_summary_that_was_made_for_a_report_is_stored(store, run):
    assert store.summary(run.id) is None
    build_report(store, run)
    assert len(store.summary(run.id).figures) > 50


def test_figures_and_verdict_are_over_all_samples(store, run):
    report = build_report(store, run, max_details=5)
    # passed: score >= 0.75 is number >= 22.5, so 23 to 29: 7 of 29 conclusive
    assert report.summary.overall["pass_rate"].value == pytest.approx(7 / 29)
    assert report.summary.overall["pass_rate"].n_missing == 1
    assert report.decision.verdict is Verdict.FAIL
    assert report.decision.gates[0].metric == "pass_rate"


def test_a_run_without_samples_gives_a_report(store):
    header = reports.header(n_planned=0)
    store.create_run(header)
    report = build_report(store, header)
    assert report.n_samples == 0
    assert report.summary.overall["average"].value is None


def test_every_view_can_show_a_built_report(store, run):
    report = build_report(store, run)
    print_report(report, Console(file=io.StringIO(), width=80))
    for view in (to_json, to_markdown, to_junit, to_html):
        assert view(report)


def test_one_number_is_rounded_one_way_in_tables_sentences_and_gates(store):
    # 100 x 0.5075 is 50.74999999999999: rounded at once it would be 50.7, and 50.8 where that hair is fixed first.
    suite = reports.SUITE | {"gates": ["average >= 90 %", "latency.p50 <= 500 ms"]}
    header = reports.header(n_planned=8, suite=suite, verdict=None, state=RunState.RUNNING)
    store.create_run(header)
    times = [0.7, 0.7, 0.7, 0.7126, 0.7126, 0.8, 0.8, 0.8]
    samples = [
        replace(scored(n, 0.5075), call_result=CallResult(text="{}", latency=latency, started_at=1.0))
        for n, latency in enumerate(times)
    ]
    store.add_samples(header.id, samples, [case_of(n) for n in range(8)])
    ended = replace(header, state=RunState.ENDED)
    store.update_run(ended)
    told = io.StringIO()
    print_report(build_report(store, ended), Console(file=told, width=200))
    assert "Improve name (average 50.8 %" in told.getvalue()
    assert "50.8 % is not >= 90.0 %" in told.getvalue()
    assert "713 ms is not <= 500 ms" in told.getvalue()
    assert "50.7" not in told.getvalue()
    assert "0.713 s" not in told.getvalue()


def test_the_findings_behind_every_code_are_kept_up_to_a_limit(store, run):
    report = build_report(store, run)
    # below 0.5 are the numbers 0 to 14 without 7: 14 samples with one NAME and one PLACE each
    assert report.summary.overall.counts("findings.<code>") == {"NAME": 14, "PLACE": 14}
    assert [found.code for found in report.summary.codes] == ["NAME", "PLACE"]
    assert [found.case_id for found in report.findings["NAME"]][:2] == ["part-00", "part-01"]
    assert len(report.findings["NAME"]) == 14
    few = build_report(store, run, max_findings=5)
    assert len(few.findings["NAME"]) == 5
    assert next(each for each in to_json(few)["codes"] if each["code"] == "NAME")["n_items"] == 14


def test_pictures_marks_and_boxes_come_through_the_store(store):
    header = reports.header(n_planned=1, state=RunState.RUNNING, verdict=None)
    store.create_run(header)
    pictures = (Attachment("a.jpg", "image/jpeg", "0" * 16, (40, 30)), Attachment("notes.txt", "text/plain", "1" * 16))
    case = replace(case_of(1), attachments=pictures)
    sample = scored(
        1,
        0.1,
        marks=(Mark((0.0, 0.1, 0.2, 0.3), "right"),),
        findings=(Finding("NAME", box=(0.5, 0.5, 0.75, 1.0)),),
        case_hash=digest(encode(case)),
    )
    store.add_samples(header.id, [sample], [case])
    (detail,) = build_report(store, header).details
    assert detail.pictures == pictures[:1]
    assert detail.marks == sample.marks
    assert tuple(detail.findings[0]["box"]) == (0.5, 0.5, 0.75, 1.0)


def test_what_went_wrong_is_said_in_a_few_words():
    assert sample_line(scored(1, 0.1)).why == 'NAME: expected "gear", got "spring"; PLACE'
    misplaced = Finding("SIDE", expected="cog", got="cog", evidence="in left, belongs to right")
    several = replace(scored(1, 0.1), findings=(misplaced, misplaced, Finding("LOST"), Finding("LOST"), misplaced))
    assert sample_line(several).why == 'SIDE: "cog" in left, belongs to right; 2 more SIDE; 2 LOST'
    assert sample_line(unanswered(7)).why == "timeout: no answer within 60 s"
    broken = scored(1, 0.1, findings=(Finding("FORMAT", evidence="no JSON found"),))
    assert sample_line(broken).why == "FORMAT: no JSON found"
    evidence = 'year: "soon" is not of type "integer"'
    misshapen = Finding(
        "FORMAT", expected="JSON that fits the suite's schema", got='{"year": "soon"}', evidence=evidence
    )
    assert sample_line(scored(1, 0.0, findings=(misshapen,))).why == f'FORMAT: {evidence}, got "{{"year": "soon"}}"'


def test_failures_of_one_kind_are_counted_by_what_they_say(store):
    header = reports.header(id="chairs-002", verdict=None, state=RunState.RUNNING)
    store.create_run(header)
    messages = ["schema: no scores", *[f"answered 500: worker {number} is out of memory" for number in range(3)]]
    failed = [
        replace(
            unanswered(number),
            call_result=replace(unanswered(number).call_result, failure=Failure("recorded", message)),
        )
        for number, message in enumerate(messages)
    ]
    store.add_samples(header.id, failed, [case_of(number) for number in range(4)])
    report = build_report(store, store.run(header.id))
    assert report.summary.why_inconclusive == {
        "target: recorded worker 0 is out of memory": 3,
        "target: recorded schema: no scores": 1,
    }
    # However few samples are listed, all failures are counted.
    few = build_report(store, store.run(header.id), max_details=1)
    assert few.summary.why_inconclusive == report.summary.why_inconclusive
    assert explained_counts(store, few.header) == [3, 1]
    assert [(cause.kind, cause.code, cause.message, cause.count) for cause in few.summary.failure_causes] == [
        ("recorded", "", "worker 0 is out of memory", 3),
        ("recorded", "schema", "no scores", 1),
    ]


def test_scorers_that_broke_are_counted_by_what_they_say_and_explained(store):
    header = reports.header(id="chairs-002", verdict=None, state=RunState.RUNNING)
    store.create_run(header)
    messages = ["no price", *[f"case {number} has no year (scorers.py:4)" for number in range(3)]]
    failed = [
        replace(
            unanswered(number),
            call_result=scored(number, 1.0).call_result,
            outcome=Outcome.JUDGE_FAILED,
            findings=(Finding("SCORER_ERROR", evidence=message),),
        )
        for number, message in enumerate(messages)
    ]
    store.add_samples(header.id, failed, [case_of(number) for number in range(4)])
    report = build_report(store, store.run(header.id))
    assert report.summary.why_inconclusive == {"case 0 has no year (scorers.py:4)": 3, "no price": 1}
    assert explained_counts(store, report.header) == [3, 1]
    # However few samples are listed, all are counted.
    cut = build_report(store, store.run(header.id), max_details=1)
    assert cut.summary.why_inconclusive == report.summary.why_inconclusive


def explained_counts(store, header):
    found = explain_report(store, header, "inconclusive.*")
    assert [len(each.contributing) for each in found] == [each.figure.value for each in found]
    return [each.figure.value for each in found]


def test_a_call_that_timed_out_took_at_least_the_time_waited():
    assert sample_line(unanswered(7)).latency == AtLeast(60.0)
    assert isinstance(sample_line(unanswered(7)).latency, AtLeast)


def test_the_time_a_failed_call_took_is_no_latency():
    refused = unanswered(7)
    refused.call_result.failure = Failure("refused", "nobody listens there")
    assert sample_line(refused).latency is None


def test_a_huge_answer_is_cut_where_it_says_so():
    attempt = CallResult(text="x" * 1_000_000)
    detail = sample_detail(scored(1, 0.1, call_result=attempt), case_of(1))
    assert detail.answer.endswith("... (+980,000 characters)")
    assert len(detail.answer) < LONGEST_TEXT + 50


def test_hundreds_of_findings_are_cut_and_counted():
    detail = sample_detail(scored(1, 0.1, findings=(Finding("NAME"),) * 250), case_of(1))
    assert (len(detail.findings), detail.n_findings) == (100, 250)


@pytest.mark.parametrize(
    ("forged", "place"),
    [
        ({"taxonomy": [{"code": "NAME", "severity": reports.HOSTILE[0]}]}, "taxonomy.0.severity"),
        ({"components": [{"name": "name", "measures": {"text": {}}}]}, "components.0.measures.text.numerator"),
        ({"components": reports.HOSTILE[0]}, "components"),
        ({"variants": [["", reports.HOSTILE[0]]]}, "variants.0"),
    ],
)
def test_a_stored_run_whose_suite_no_suite_can_be_is_a_mistake_and_no_report(store, forged, place):
    header = reports.header(suite=reports.SUITE | forged)
    store.create_run(header)
    with pytest.raises(UsageError, match=f"run {header.id} does not say what its suite is: {place}"):
        build_report(store, store.run(header.id))
