"""Reports for tests of the views: a rich one, its edge cases, and strings that try to escape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parts.headers import run_header, typed
from parts.slices import a_slice, a_summary, changed
from steelyard.analysis.model import Pattern, Priority, SampleLine
from steelyard.decide.gates import Decision, GateResult
from steelyard.failures import FailureCause
from steelyard.records import RunFacts, RunHeader, RunState, Verdict
from steelyard.report.model import Report, SampleDetail
from steelyard.stats.intervals import Estimate

HOSTILE = (
    "<script>alert('x')</script>",
    "</script><img src=x onerror=alert(1)>",
    "[bold red]not bold[/]",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe\u202c",
    "a | b `code` ![image](http://example.test/x.png) [link](http://example.test) @someone #12",
    "``` \n# heading\n</details>\n",
    "nul \x00 bell \x07 \ufffe lone \ud800 vt \x0b",
    "]]> &amp; <!-- --> '\" onmouseover=alert(1) x='",
)

SUITE: dict[str, Any] = {
    "name": "parts",
    "about": "Name the part and say where it belongs.",
    "version": "1",
    "components": [
        {"name": "name", "weight": 70, "scorer": "keywords_or_fuzzy", "scale": [0, 1]},
        {"name": "place", "weight": 20, "scorer": "alternatives", "scale": [0, 1]},
        {"name": "clarity", "weight": 10, "scorer": "judge", "scale": [1, 5]},
    ],
    "bands": [
        {"name": "Excellent", "at_least": 0.9},
        {"name": "Good", "at_least": 0.75},
        {"name": "Acceptable", "at_least": 0.6},
        {"name": "Poor", "at_least": 0.4},
        {"name": "Failed", "at_least": 0.0},
    ],
    "passing": {"at_least": 0.75, "text": "score >= 75 %"},
    "gates": ["pass_rate >= 90 %", "category.*.average >= 60 %", "findings.PLACE == 0"],
    "variants": [],
    "repeats": 1,
}

NOTHING = Estimate(None, 0)
SIGNATURE = {
    "suite": "1f0c9a7e22d1b0aa",
    "truth": "77ab01cc91e4f9d2",
    "text": "suite:parts cases:1f0c9a7e truth:77ab01cc scorers:0bd1e2f3 target:chat model:small-7b v0.1.0",
}


def header(**changes: Any) -> RunHeader:
    """An ended run of fifty planned samples."""
    plain = run_header(
        id="20260118-160006-a1b2c3",
        suite_name="parts",
        suite_path="parts/suite.yaml",
        created_at=1768752006.275,
        signature=SIGNATURE,
        target={"kind": "chat", "model": "small-7b"},
        suite=SUITE,
        n_planned=50,
        state=RunState.ENDED,
        ended_at=1768752100.0,
        verdict=Verdict.FAIL,
        version="0.1.0",
    )
    return replace(plain, **typed(changes))


def group(factor: str, name: str, average: Estimate, pass_rate: Estimate, **more: Any) -> Any:
    """One slice with the figures that tables show."""
    planned = average.n + average.n_missing
    return a_slice(factor, name, planned, average=average, median=average, pass_rate=pass_rate, **more)


def line(case_id: str = "part-001", score: float | None = 0.91, **changes: Any) -> SampleLine:
    """One scored sample as reports list it."""
    plain = SampleLine(case_id, "", 0, "scored", score, "Excellent", 1.25, "")
    return replace(plain, **typed(changes))


def detail(sample: SampleLine | None = None, **changes: Any) -> SampleDetail:
    """One sample with question, truth, answer, scores and findings."""
    sample = sample or line()
    plain = SampleDetail(
        line=sample,
        input={"description": "A toothed wheel, 40 mm across, brass."},
        expected={"name": "gear wheel", "place": "drive train"},
        answer='{"name": "gear wheel", "place": "drive train"}',
        scores=[
            {
                "name": "name",
                "value": 0.88,
                "weight": 70,
                "uncapped": 0.88,
                "capped_by": None,
                "note": "3 of 4 keywords",
            },
            {"name": "place", "value": 1.0, "weight": 20, "uncapped": None, "capped_by": None, "note": ""},
            {"name": "clarity", "value": 3.0, "weight": 10, "uncapped": 4.0, "capped_by": "no_source", "note": ""},
        ],
        findings=[],
        category="gears",
        difficulty="easy",
        passed=None if sample.score is None else sample.score >= 0.75,
        step="whole",
        case_why="A common part.",
    )
    return replace(plain, **typed(changes))


FAILED = line("part-013", 0.34, band="Failed", latency=9.4, why='NAME: expected "bevel gear", got "spring"; PLACE')
UNANSWERED = line(
    "part-021", None, outcome="target_failed", band=None, latency=None, why="timeout: no answer within 60 s"
)
MALFORMED = line("part-034", 0.0, outcome="malformed", band="Failed", latency=0.8, why="FORMAT: no JSON found")

FINDINGS = [
    {"code": "NAME", "place": "name", "expected": "bevel gear", "got": "spring", "evidence": "", "severity": "major"},
    {"code": "PLACE", "place": "place", "expected": ["gearbox"], "got": None, "evidence": "", "severity": "error"},
]


def rich_report(**changes: Any) -> Report:
    """Fifty planned samples: 48 scored, 1 malformed, 1 without an answer; one gate fails, one cannot tell.

    Of the 49 conclusive ones 38 pass: 38 / 49 = 0.7755.
    """
    rate = Estimate(38 / 49, 49, 1, 0.641, 0.870)
    bands = {
        "Excellent": Estimate(29 / 49, 49, 1, 0.452, 0.718),
        "Good": Estimate(9 / 49, 49, 1, 0.100, 0.314),
        "Acceptable": Estimate(6 / 49, 49, 1, 0.057, 0.242),
        "Poor": Estimate(3 / 49, 49, 1, 0.021, 0.165),
        "Failed": Estimate(2 / 49, 49, 1, 0.011, 0.137),
    }
    overall = a_slice(
        factor="",
        name="",
        n_planned=50,
        outcomes={"scored": 48, "malformed": 1, "target_failed": 1},
        average=Estimate(0.8541, 49, 1, 0.7812, 0.9104),
        median=Estimate(0.91, 49, 1, 0.87, 0.94),
        pass_rate=rate,
        bands=bands,
        components={
            "name": Estimate(0.871, 49, 1, 0.80, 0.93),
            "place": Estimate(0.619, 46, 4, 0.49, 0.74),
            "clarity": Estimate(3.82, 49, 1, 3.51, 4.10),
        },
        findings={"NAME": 6, "PLACE": 17, "FORMAT": 1},
        latency={"p50": Estimate(1.25, 49, 1), "p95": Estimate(8.1, 49, 1), "mean": Estimate(2.2, 49, 1)},
        tokens={"in": Estimate(61234.0, 49, 1), "out": Estimate(9120.0, 49, 1)},
        cost={"total": Estimate(0.01842, 49, 1)},
    )
    summary = a_summary(
        passing="score >= 75 %",
        overall=overall,
        slices={
            "category": [
                group("category", "gears", Estimate(0.926, 10, 0, 0.87, 0.97), Estimate(0.9, 10, 0, 0.596, 0.982)),
                group("category", "springs", Estimate(0.838, 8, 0, 0.71, 0.93), Estimate(0.75, 8, 0, 0.409, 0.929)),
                group("category", "levers", Estimate(0.552, 2, 1, 0.34, 0.76), Estimate(0.5, 2, 1, 0.095, 0.905)),
                group("category", "housings", Estimate(0.71, 1), Estimate(0.0, 1)),
                group("category", "seals", Estimate(None, 0, 1), Estimate(None, 0, 1)),
            ],
            "difficulty": [
                group("difficulty", "easy", Estimate(0.95, 15, 0, 0.90, 0.98), Estimate(1.0, 15, 0, 0.796, 1.0)),
                group("difficulty", "hard", Estimate(0.70, 34, 1, 0.61, 0.78), Estimate(0.68, 34, 1, 0.508, 0.809)),
            ],
        },
        patterns=[
            Pattern("place below 50 % in levers (2 of 2, small n)", 2, ("part-013", "part-014"), 2, 2),
            Pattern("name below 50 % in springs (5 of 8)", 5, ("part-020", "part-022", "part-024", "part-026"), 8, 5),
        ],
        priorities=[
            Priority(
                "Improve place (average 61.9 %, n 46): worth up to +7.6 points",
                "place",
            ),
            Priority(
                "Improve name (average 87.1 %, n 49): worth up to +9.0 points",
                "name",
            ),
        ],
        method="shares: Wilson; means: bootstrap over cases, 2,000 resamples, seed 0",
    )
    decision = Decision(
        Verdict.FAIL,
        ("pass_rate >= 90 %: 77.6 % is below 90 %", "category.levers.average >= 60 %: n 2 is too few to tell"),
        (
            GateResult("pass_rate >= 90 %", "pass_rate", rate, 0.9, ">=", Verdict.FAIL, "is below", unit="share"),
            GateResult(
                "category.*.average >= 60 %",
                "category.gears.average",
                Estimate(0.926, 10, 0, 0.87, 0.97),
                0.6,
                ">=",
                Verdict.PASS,
                "92.6 % reaches 60 %",
                unit="score",
            ),
            GateResult(
                "category.*.average >= 60 %",
                "category.levers.average",
                Estimate(0.552, 2, 1, 0.34, 0.76),
                0.6,
                ">=",
                Verdict.AMBIGUOUS,
                "n 2 is too few to tell",
                unit="score",
            ),
            GateResult(
                "findings.PLACE == 0",
                "findings.PLACE",
                Estimate(17.0, 49, 1),
                0.0,
                "==",
                Verdict.FAIL,
                "17 found",
                unit="count",
            ),
        ),
    )
    details = [
        detail(UNANSWERED, answer=None, scores=[], category="seals", difficulty="hard", step=None),
        detail(MALFORMED, answer="I am sorry, I cannot help.", scores=[], category="levers", difficulty="hard"),
        detail(FAILED, findings=FINDINGS, answer='{"name": "spring", "place": null}', category="levers"),
        detail(line("part-002", 0.70, band="Acceptable", why="PLACE"), category="springs", difficulty="hard"),
        *(detail(line(f"part-{number:03d}", 0.9)) for number in range(100, 146)),
    ]
    plain = Report(
        header=header(),
        summary=summary,
        decision=decision,
        worst=[MALFORMED, FAILED, line("part-002", 0.70, band="Acceptable", why="PLACE")],
        slowest=[FAILED, line("part-007", 0.93, latency=8.1)],
        details=details,
        n_samples=50,
    )
    causes = [FailureCause("timeout", "", "no answer within 60 s", 1)]
    return replace(with_lists(plain, failure_causes=causes), **typed(changes))


def with_lists(report: Report, **lists: Any) -> Report:
    """The report with other lists in its summary."""
    return replace(report, summary=replace(report.summary, **lists))


def empty_report() -> Report:
    """A run with no samples at all."""
    nothing = group("", "", NOTHING, NOTHING)
    return Report(header(n_planned=0, verdict=None), a_summary("score >= 75 %", nothing), Decision(None))


def inconclusive_report() -> Report:
    """Two planned samples, both without an answer: every figure is n/a, the verdict INVALID."""
    missing = Estimate(None, 0, 2)
    overall = changed(
        group("", "", missing, missing),
        outcomes={"target_failed": 2},
        bands={"Good": missing, "Failed": missing},
        components={"name": missing},
        latency={"p50": missing, "p95": missing},
    )
    lines = [replace(UNANSWERED, case_id=f"part-{number}") for number in (1, 2)]
    gate = GateResult(
        "pass_rate >= 90 %", "pass_rate", missing, 0.9, ">=", Verdict.INVALID, "nothing was scored", unit="share"
    )
    return Report(
        header(n_planned=2, verdict=Verdict.INVALID),
        a_summary(
            "score >= 75 %",
            changed(overall, failures={"timeout": 2}),
            failure_causes=[FailureCause("timeout", "", "no answer within 60 s", 2)],
        ),
        Decision(Verdict.INVALID, ("100.0 % inconclusive is above 5 %",), (gate,)),
        details=[detail(sample, answer=None, scores=[]) for sample in lines],
        n_samples=2,
    )


def single_report() -> Report:
    """One sample, no bands, no categories: intervals are undefined."""
    overall = changed(group("", "", Estimate(0.91, 1), Estimate(1.0, 1)), outcomes={"scored": 1})
    return Report(
        header(n_planned=1, suite={"name": "parts"}, verdict=None),
        a_summary("score >= 75 %", overall),
        Decision(None),
        worst=[line(band=None)],
        slowest=[line(band=None)],
        details=[detail(line(band=None), category=None, difficulty=None)],
        n_samples=1,
    )


def variants_report() -> Report:
    """Two cases, two variants, two repeats: eight samples, one of them inconclusive."""
    scores = {
        ("part-1", "short"): (0.9, 0.7),
        ("part-1", "long"): (0.5, 0.5),
        ("part-2", "short"): (1.0, None),
        ("part-2", "long"): (0.0, 0.2),
    }
    details = []
    for (case_id, variant), values in scores.items():
        for repeat, value in enumerate(values):
            outcome = "scored" if value is not None else "judge_failed"
            details.append(detail(line(case_id, value, variant=variant, repeat=repeat, outcome=outcome, band=None)))
    # short: (0.9 + 0.7 + 1.0) / 3 = 0.8667, long: (0.5 + 0.5 + 0.0 + 0.2) / 4 = 0.3; all: 3.8 / 7 = 0.5429
    overall = changed(
        group("", "", Estimate(3.8 / 7, 7, 1, 0.21, 0.85), Estimate(2 / 7, 7, 1, 0.082, 0.641)),
        outcomes={"scored": 7, "judge_failed": 1},
    )
    slices = {
        "variant": [
            group("variant", "short", Estimate(2.6 / 3, 3, 1, 0.7, 1.0), Estimate(2 / 3, 3, 1, 0.208, 0.939)),
            group("variant", "long", Estimate(0.3, 4, 0, 0.0, 0.5), Estimate(0.0, 4, 0, 0.0, 0.49)),
        ]
    }
    return Report(
        header(n_planned=8, suite=SUITE | {"variants": ["short", "long"], "repeats": 2}, verdict=Verdict.AMBIGUOUS),
        a_summary("score >= 75 %", changed(overall, failures={"judge_unreadable": 1}), slices, repeats=2),
        Decision(Verdict.AMBIGUOUS, ("the run is suspect",)),
        details=details,
        n_samples=8,
    )


def hostile_report() -> Report:
    """Every place that holds foreign text holds something that tries to get out of it."""
    everything = " ".join(HOSTILE)
    bad = line(everything, 0.1, variant=everything, band=everything, why=everything)
    findings = [dict.fromkeys(("code", "place", "expected", "got", "evidence", "severity"), everything)]
    scores = [
        {"name": everything, "value": 0.1, "weight": 1, "uncapped": 0.5, "capped_by": everything, "note": everything}
    ]
    details = [
        detail(
            bad,
            input={"text": everything, everything: [everything]},
            expected=everything,
            answer=everything,
            scores=scores,
            findings=findings,
            category=everything,
            difficulty=everything,
            tags=(everything,),
            case_why=everything,
            step=everything,
        )
    ]
    some = Estimate(0.1, 1)
    overall = changed(
        group("", "", some, some),
        outcomes={"scored": 1},
        bands={everything: some},
        components={everything: some},
        findings={everything: 1},
        failures={everything: 1},
    )
    summary = a_summary(
        "score >= 75 %",
        overall,
        {"category": [group("category", everything, some, some)], "tag": [group("tag", everything, some, some)]},
        [Pattern(everything, 2, (everything,))],
        [Priority(everything, everything)],
        method=everything,
    )
    gate = GateResult(everything, everything, some, 0.9, ">=", Verdict.FAIL, everything, unit="share")
    head = header(
        suite_name=everything,
        target={"kind": "chat", "model": everything},
        signature={"text": everything},
        suspect=(everything,),
        rescored_from=everything,
        options=RunFacts(only=(everything,)),
    )
    decision = Decision(Verdict.FAIL, (everything,), (gate,))
    causes = [FailureCause(everything, everything, everything, 1)]
    return with_lists(Report(head, summary, decision, [bad], [bad], details, 1), failure_causes=causes)


EDGES = {
    "rich": rich_report,
    "empty": empty_report,
    "inconclusive": inconclusive_report,
    "single": single_report,
    "variants": variants_report,
    "hostile": hostile_report,
}
