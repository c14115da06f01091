"""What confidences are worth, in every report of a run whose answers carry them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from parts.claims import alone, summarised
from parts.reports import HOSTILE, rich_report
from parts.views import print_report, squeezed, to_html, to_json, to_markdown
from steelyard import Suite
from steelyard.records import Claim
from steelyard.report import confidence
from steelyard.report.confidence import diagram, drawing, specification
from steelyard.scoring.base import Reading, Scorer


def with_claims(claims):
    report = rich_report()
    texts, rows = summarised(claims)
    figures = report.summary.figures.replaced(rows)
    return replace(report, summary=replace(report.summary, confidence=texts, figures=figures))


def drawn(report):
    return diagram(report.summary.confidence, report.summary.overall)


@pytest.fixture(scope="module")
def report():
    """High: 30 right, 5 wrong. Medium: 20 right, 10 wrong. Low: 4 right, 36 wrong. Two claims cannot be used."""
    claims = [[(*claim[0], "role")] for claim in alone((0.9, 30, 5), (0.7, 20, 10), (0.3, 4, 36))]
    return with_claims([*claims, [(1.5, True, "role")], [(None, True, "kind")]])


def printed(report, width=100):
    out = StringIO()
    print_report(report, Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_the_terminal_shows_buckets_calibration_and_both_thresholds(report):
    text = squeezed(printed(report))
    assert "high 0.8-1 5 of 35 14.3 %" in text
    assert "low 0-0.6 36 of 40 90.0 %" in text
    assert "Threshold by rule 0.6: 36 of 40 claims with low confidence are wrong (90.0 %)" in text
    assert "at 0.6: 50 right kept and 4 lost, 36 wrong dropped and 15 kept" in text
    assert "Best threshold 0.7" in text
    assert "Not usable 1 no confidence, 1 above 1: in no figure, never clamped" in text
    # 105 claims: |31.5 - 30| + |21 - 20| + |12 - 4| = 10.5, divided by 105
    assert "Calibration error 0.100 [" in text
    assert "10 bins" in text


def test_every_line_fits_the_terminal(report):
    assert all(len(line) <= 80 for line in printed(report, 80).splitlines())


def test_a_run_without_claims_says_nothing_of_confidence():
    plain = rich_report()
    assert confidence.sections(plain) == []
    assert "onfidence" not in printed(plain) + to_markdown(plain)
    assert 'id="confidence"' not in to_html(plain)
    assert to_json(plain)["confidence"] is None


def test_too_few_claims_are_said_to_be_too_few():
    summary = with_claims(alone((0.9, 3, 1))).summary
    facts = dict(confidence.confidence(summary.confidence, summary.overall))
    assert facts["Threshold by rule"].startswith("none: not enough data: fewer than 10 claims in high (4)")
    assert facts["Best threshold"].startswith("none: not enough data: 3 right and 1 wrong claims")
    assert facts["Widest gap"] == "n/a undefined n 0, 4 missing"


def test_markdown_has_the_buckets_in_sight_and_the_rest_folded(report):
    text = to_markdown(report)
    assert text.index("Errors by confidence") < text.index("<details>") < text.index("Reliability")
    assert "Confidence by kind of claim" in text


def test_json_has_every_figure_with_its_n_and_the_chart(report):
    data = json.loads(json.dumps(to_json(report), allow_nan=False))
    found = data["confidence"]
    figures = {name.removeprefix("confidence."): figure for name, figure in data["figures"].items()}
    assert (figures["claims"]["n"], figures["claims"]["n_missing"], figures["errors"]["value"]) == (105, 2, 51)
    assert found["n_bins"] == 10
    assert [
        (name, figures[f"bucket.{name}.errors"]["value"], figures[f"bucket.{name}.error_rate"]["n"])
        for name in (each["name"] for each in found["buckets"])
    ] == [
        ("high", 5, 35),
        ("medium", 10, 30),
        ("low", 36, 40),
    ]
    assert figures["raised.threshold"]["value"] == 0.6
    assert figures["best.wrong_dropped"]["value"] == 36
    assert (figures["unusable.no confidence"]["value"], figures["unusable.above 1"]["value"]) == (1, 1)
    assert list(found["labels"]) == ["role", "kind"]
    assert found["chart"] == specification(drawn(report), 10)


def test_the_chart_is_plain_data_of_the_bins_that_hold_claims(report):
    chart = json.loads(json.dumps(specification(drawn(report), 10), allow_nan=False))
    assert [(each["bin"], each["n"], each["confidence"]) for each in chart["data"]["values"]] == [
        ("0.3-0.4", 40, 0.3),
        ("0.7-0.8", 30, 0.7),
        ("0.9-1", 35, 0.9),
    ]
    assert chart["data"]["values"][0]["right"] == pytest.approx(0.1)
    assert "vega-lite" in chart["$schema"]


def test_the_page_draws_the_reliability_diagram(report):
    page = to_html(report)
    svg = str(drawing(drawn(report)))
    assert svg in page
    root = ET.fromstring(svg)
    dots = root.findall("circle")
    assert len(dots) == 3
    # The plot is 240 wide and high with a margin of 44: 0.3 lies at 44 + 72, a share of 0.1 at 44 + 216.
    assert (dots[0].get("cx"), dots[0].get("cy")) == ("116.0", "260.0")
    assert len(root.findall("line[@class='range']")) == 3
    assert dots[0].findtext("title").startswith("0.3-0.4: mean confidence 0.30, right 10.0 % [")


def test_a_run_of_unusable_claims_draws_nothing():
    report = with_claims([[(None, True)]])
    assert drawing(drawn(report)) == ""
    assert '<svg class="reliability"' not in to_html(report)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_kinds_of_claims_are_never_rendered(hostile):
    report = with_claims([[(0.9, True, hostile)], [(0.5, False, "plain")]])
    page = to_html(report)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "\x1b" not in printed(report)
    assert "<img" not in to_markdown(report)


class Claiming(Scorer):
    """Reads claims as the answer lists them: confidence, right, kind."""

    needs_truth = False

    def read(self, answer, case):
        found = tuple(Claim(*claim) for claim in answer)
        return Reading(sum(each.right for each in found) / len(found), claims=found)


def test_a_whole_run_keeps_its_claims_and_reports_them(tmp_path):
    suite = Suite(
        "claims",
        cases=[{"id": f"c{i:02d}", "input": i} for i in range(12)],
        target=lambda asked: [[0.9, True, "a"], [0.3, asked.input < 2, "b"]],
        answer={"format": "json"},
        score={"claims": Claiming(answer="")},
        confidence={"buckets": {"upper": 0.5, "lower": 0}},
        folder=tmp_path,
    )
    run = suite.run(str(tmp_path / "runs.db"))
    overall = run.summary.overall
    assert [each.name for each in run.summary.confidence.buckets] == ["upper", "lower"]
    for name, errors in (("upper", 0), ("lower", 10)):
        assert overall[f"confidence.bucket.{name}.errors"].value == errors
        assert overall[f"confidence.bucket.{name}.error_rate"].n == 12
    assert overall["confidence.raised.threshold"].value == 0.5
    assert overall["confidence.best.threshold"].value == 0.9
    assert run.header.suite["confidence"]["buckets"][0] == {"name": "upper", "at_least": 0.5}
