"""A report of a suite that reads items off pictures: criteria, variants, measures, codes, boxes."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from parts import reports
from parts.reports import HOSTILE, detail, group, header, hostile_report, line
from parts.slices import Repeated, a_summary, changed, with_slices
from steelyard.analysis.model import BestVariant, FoundCode
from steelyard.decide.gates import Decision, GateResult, VariantDecision
from steelyard.metrics.figures import Slice
from steelyard.records import Finding, Mark, Verdict
from steelyard.report.model import Report, SampleDetail
from steelyard.stats.intervals import Estimate
from steelyard.store.base import SampleFinding
from steelyard.suite.case import Attachment

TAXONOMY = [
    {
        "code": "MISS",
        "name": "Not reported",
        "about": "An item that is there and not in the answer.",
        "severity": "minor",
    },
    {"code": "EXTRA", "name": "Invented", "about": "An item in the answer that is not there.", "severity": "major"},
    {"code": "TEXT", "name": "Misread", "about": "An item whose text is wrong.", "severity": "error"},
    {"code": "FORMAT", "name": "Unreadable", "about": "An answer that cannot be read.", "severity": "error"},
]
MEASURES = {
    "text": {"numerator": "read", "denominator": "visible", "about": "items whose text is right, of those there are"},
    "grouping": {"numerator": "grouped", "denominator": "matched", "about": "items in the right group, of those found"},
}
SUITE: dict[str, Any] = {
    "name": "labels",
    "about": "Read every label on a picture.",
    "version": "1",
    "components": [{"name": "items", "weight": 1, "scorer": "match_items", "scale": [0, 1], "measures": MEASURES}],
    "bands": [],
    "passing": {"at_least": 0.8, "text": "score >= 80 %"},
    "gates": [],
    "taxonomy": TAXONOMY,
    "variants": ["plain", "with-boxes", "step-by-step"],
    "repeats": 3,
}
VALID = "valid in >= 2 of 3 repeats"
MISSED = Finding("MISS", "B", "second label", None, "no item like it", "error", "items", 0.25, (0.5, 0.1, 0.9, 0.4))
MISREAD = Finding(
    "TEXT", "C", "third label", "thrid label", "similarity 0.82", "error", "items", 0.25, (0.1, 0.6, 0.4, 0.9)
)
INVENTED = Finding("EXTRA", "D", None, "no such label", "", "error", "items", 0.0, None)
UNREADABLE = Finding("FORMAT", evidence="no JSON found")
RIGHT = Mark((0.1, 0.1, 0.4, 0.4), "first label")


def criterion(name: str, value: Estimate, verdict: Verdict, reason: str, **changes: Any) -> GateResult:
    """One criterion on a share that passes at 80 % and fails below 60 %."""
    metric = f"score.items.{name}"
    settings = {"fails": f"{metric} < 60 %", "unit": "share", "about": ""} | changes
    return GateResult(f"{metric} >= 80 %", metric, value, 0.8, ">=", verdict, reason, name=name, **settings)


def criteria(text: Estimate, extra: int, held: int, cells: int, n: int) -> tuple[GateResult, ...]:
    """Four criteria: one between, one that fails, one secondary, one over repeats."""
    between = "72.2 % lies between: passes at >= 80 %, fails at < 60 %"
    iterate = "Between the two, change the prompt and run again."
    fails = Verdict.FAIL if extra > 1 else Verdict.PASS
    over = GateResult(
        VALID, VALID, Estimate(held / cells, cells, 0), 1.0, ">=", Verdict.PASS, f"all {cells} hold",
        name="json", secondary=True, unit="share",
    )  # fmt: skip
    return (
        criterion("text", text, Verdict.AMBIGUOUS, between, about=iterate),
        GateResult(
            "findings.EXTRA == 0", "findings.EXTRA", Estimate(float(extra), n), 0.0, "==", fails, f"{extra} found",
            name="invented", unit="count", fails="findings.EXTRA.samples > 1", about="Nothing may be made up.",
        ),
        criterion("grouping", Estimate(0.9, n, 0, 0.8, 0.95), Verdict.PASS, "90.0 % reaches 80 %", secondary=True),
        over,
    )  # fmt: skip


def proportion(numerator: int, denominator: int, n: int, low: float, high: float) -> Estimate:
    """A pooled ratio with its interval."""
    value = numerator / denominator if denominator else None
    return Estimate(value, n, 0, low, high, numerator=numerator, denominator=denominator, mean_of=0)


def part(factor: str, name: str, n: int, share: float, **more: Any) -> Slice:
    """A slice in which each of n samples has four items: 13 of 18 read when share is 13 / 18."""
    read = round(share * 4 * n)
    measures = {
        "items": {
            "text": proportion(read, 4 * n, n, share - 0.1, share + 0.1),
            "grouping": proportion(9 * n // 3, 10 * n // 3, n, 0.8, 0.95),
        }
    }
    estimate = Estimate(share, n, 0, share - 0.1, share + 0.1)
    settings = {"measures": measures, "components": {"items": estimate}, "outcomes": {"scored": n}} | more
    return changed(group(factor, name, estimate, Estimate(0.5, n, 0, 0.3, 0.7)), **settings)


def attachments(folder: Path | None, places: tuple[str, ...]) -> tuple[Attachment, ...]:
    """The pictures of a case as the suite would name them."""
    found = []
    for place in places:
        data = (folder / place).read_bytes() if folder and (folder / place).is_file() else b""
        found.append(Attachment(place, "image/jpeg", hashlib.sha256(data).hexdigest()[:16]))
    return tuple(found)


def sample(case_id: str, variant: str, repeat: int, **changes: Any) -> SampleDetail:
    """One of four labels right, one missed, one misread, one invented."""
    findings = [{name: getattr(each, name) for name in Finding.__slots__} for each in (MISSED, MISREAD, INVENTED)]
    plain = detail(
        line(case_id, 0.5, variant=variant, repeat=repeat, band=None, why="MISS: expected second label"),
        input={"question": "Which labels are there?"},
        expected={"groups": [{"label": "left", "items": ["first label", "second label", "third label"]}]},
        answer='{"groups": [{"label": "left", "items": ["first label", "thrid label", "no such label"]}]}',
        scores=[{"name": "items", "value": 0.5, "weight": 1, "uncapped": None, "capped_by": None, "note": "2 of 4"}],
        findings=findings,
        category=None,
        marks=(RIGHT,),
    )  # fmt: skip
    return replace(plain, **changes)


def items_report(folder: Path | None = None, places: tuple[str, ...] = ("one.jpg", "two.jpg")) -> Report:
    """Two pictures, three variants, three repeats: 18 samples; FAIL because labels were invented in more than one.

    MISS in all 18 samples: 18 / 18; EXTRA in 18; TEXT in 18; FORMAT in none of the listed but one of the counted.
    """
    variants = SUITE["variants"]
    keys = [(place, variant, repeat) for place in places for variant in variants for repeat in range(3)]
    details = [
        sample(Path(place).stem, variant, repeat, pictures=attachments(folder, (place,)))
        for place, variant, repeat in keys
    ]
    n = len(keys)
    each = n // 3
    rates = {
        "MISS": Estimate(1.0, n),
        "EXTRA": Estimate(1.0, n),
        "TEXT": Estimate(1.0, n),
        "FORMAT": Estimate(1 / n, n),
    }
    found = {"MISS": n, "EXTRA": n, "TEXT": n, "FORMAT": 1}
    overall = changed(
        part("", "", n, 0.5, findings=found, finding_rates=rates, finding_samples=found),
        if_fixed={
            "MISS": Estimate(0.75, n, 0, 0.65, 0.85),
            "TEXT": Estimate(0.75, n, 0, 0.65, 0.85),
            "FORMAT": Estimate(0.5 + 0.5 / n, n, 0, 0.4, 0.65),
        },
        gains={"MISS": Estimate(0.25, n), "TEXT": Estimate(0.25, n), "FORMAT": Estimate(0.5 / n, n)},
        repeated={VALID: Repeated(n // 3, 0, 0)},
    )
    third = {"findings": {"MISS": each, "EXTRA": each}, "finding_rates": {"MISS": Estimate(1.0, each)}}
    slices = {"variant": [part("variant", name, each, 0.5 + i / 100, **third) for i, name in enumerate(variants)]}
    overall = changed(
        overall,
        if_fixed={**overall.each("if_fixed.<code>"), "EXTRA": overall["average"]},
        gains={**overall.each("gain.<code>"), "EXTRA": Estimate(0.0, n)},
    )
    codes = [FoundCode("MISS"), FoundCode("TEXT"), FoundCode("FORMAT", at_most=True), FoundCode("EXTRA")]
    best = BestVariant(
        None,
        "step-by-step",
        ("plain",),
        "cannot tell which variant is best: step-by-step leads with 52.0 %, plain is 2.0 points lower (2 cases)",
    )
    by_variant = tuple(
        VariantDecision(
            name,
            Verdict.FAIL if i else Verdict.AMBIGUOUS,
            criteria(Estimate(13 / 18, each, 0, 0.6, 0.85), i * 3, len(places), len(places), each),
        )
        for i, name in enumerate(variants)
    )
    whole = criteria(Estimate(13 / 18, n, 0, 0.6, 0.85), n, n // 3, n // 3, n)
    items = {
        "MISS": [SampleFinding(Path(place).stem, variant, repeat, MISSED) for place, variant, repeat in keys],
        "TEXT": [SampleFinding(Path(place).stem, variant, repeat, MISREAD) for place, variant, repeat in keys],
        "EXTRA": [SampleFinding(Path(place).stem, variant, repeat, INVENTED) for place, variant, repeat in keys[:4]],
        "FORMAT": [SampleFinding("elsewhere", "plain", 0, UNREADABLE)],
    }
    path = str(folder / "suite.yaml") if folder else "labels/suite.yaml"
    return Report(
        header(suite_name="labels", suite_path=path, suite=SUITE, n_planned=n),
        a_summary("score >= 80 %", overall, slices, codes=codes, best_variant=best, repeats=3),
        Decision(Verdict.FAIL, (f"invented: {n} found",), whole, by_variant),
        details=details,
        n_samples=n,
        findings=items,
    )


def hostile_items_report(folder: Path | None = None, places: tuple[str, ...] = ("one.jpg",)) -> Report:
    """Everything that a model, a suite or a file name may say about items tries to get out of its place."""
    everything = " ".join(HOSTILE)
    bad = Finding(everything, everything, everything, everything, everything, everything, everything, 0.1, (0, 0, 1, 1))
    finding = {name: getattr(bad, name) for name in Finding.__slots__}
    report = items_report(folder, places)
    details = [
        replace(each, findings=[finding, finding | {"box": everything}], marks=(Mark((0, 0, 0.5, 0.5), everything),))
        for each in report.details
    ]
    details = [replace(each, line=replace(each.line, variant=everything)) for each in details]
    details[-1] = replace(details[-1], pictures=(Attachment(everything, "image/png", "0"),))
    gates = tuple(replace(each, name=everything, gate=everything, fails=everything, reason=everything, about=everything)
                  for each in report.decision.gates[:1])  # fmt: skip
    some = Estimate(0.1, 1)
    ratio = proportion(1, 2, 1, 0.1, 0.9)
    part_of_it = part(
        "variant",
        everything,
        1,
        0.5,
        findings={everything: 1},
        measures={everything: {everything: ratio}},
    )
    overall = changed(
        report.summary.overall,
        measures={everything: {everything: ratio}},
        findings={everything: 300},
        finding_rates={everything: some},
        if_fixed={everything: some},
        gains={everything: Estimate(0.1, 1)},
    )
    summary = replace(
        with_slices(report.summary, overall, variant=[part_of_it]),
        codes=[FoundCode(everything)],
        best_variant=BestVariant(None, everything, (), everything),
    )
    suite = SUITE | {
        "taxonomy": [dict.fromkeys(("code", "name", "about"), everything)],
        "components": [
            {
                "name": everything,
                "measures": {everything: dict.fromkeys(("numerator", "denominator", "about", "better"), everything)},
            }
        ],
    }
    return replace(
        report,
        header=replace(hostile_report().header, suite=suite, suite_path=report.header.suite_path),
        summary=summary,
        decision=Decision(Verdict.FAIL, (everything,), gates, (VariantDecision(everything, Verdict.FAIL, gates),)),
        details=details,
        findings={
            everything: [SampleFinding(everything, everything, 0, bad), SampleFinding(everything, everything, 9, bad)]
        },
    )


EDGES = reports.EDGES | {"items": items_report, "hostile items": hostile_items_report}

HOSTILE_REPORTS = (reports.hostile_report, hostile_items_report)
