"""The report as data."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from parts import item_reports, reports
from parts.views import to_json
from steelyard.report.run import FORMAT


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_every_kind_of_report_is_strict_json_that_any_file_can_take(name):
    data = to_json(item_reports.EDGES[name]())
    text = json.dumps(data, allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode("utf-8")) == data


def test_the_names_are_those_documented():
    data = to_json(reports.rich_report())
    assert data["format"] == FORMAT == "steelyard.report/1"
    assert data["verdict"] == "FAIL"
    assert data["passing"] == "score >= 75 %"
    assert data["figures"]["pass_rate"] == {
        "value": 38 / 49,
        "n": 49,
        "n_missing": 1,
        "low": 0.641,
        "high": 0.870,
        "constant": False,
        "at_least": False,
    }
    assert data["gates"][2]["metric"] == "category.levers.average"
    assert data["samples"][2]["findings"][0]["code"] == "NAME"


def test_every_figure_has_its_n():
    found = []

    def look(value):
        if isinstance(value, dict):
            if "low" in value and "high" in value:
                found.append(value)
            for item in value.values():
                look(item)
        elif isinstance(value, list):
            for item in value:
                look(item)

    look(to_json(reports.rich_report()))
    assert len(found) > 30
    assert all(isinstance(figure["n"], int) and isinstance(figure["n_missing"], int) for figure in found)


def test_samples_left_off_are_counted():
    data = to_json(reports.rich_report(n_samples=70))
    assert (data["n_samples"], data["n_shown"]) == (70, 50)


def test_a_number_that_json_cannot_hold_is_null():
    report = reports.rich_report(details=[reports.detail(expected={"x": math.inf, "y": {1, 2}.__class__})])
    assert to_json(report)["samples"][0]["expected"]["x"] is None


def test_no_reading_is_null_not_zero():
    data = to_json(reports.inconclusive_report())
    assert data["figures"]["average"]["value"] is None
    assert data["samples"][0]["score"] is None


def test_no_verdict_is_null():
    assert to_json(replace(reports.single_report()))["verdict"] is None


def test_every_name_is_documented():
    data = to_json(reports.rich_report()) | {"codes": to_json(item_reports.items_report())["codes"]}
    page = (Path(__file__).parents[2] / "docs" / "reference" / "reports.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", page))
    parts = [
        data,
        data["run"],
        data["gates"][0],
        data["slices"]["category"][0],
        data["patterns"][0],
        data["priorities"][0],
    ]
    parts += [data["worst"][0], data["samples"][0], data["codes"][0], data["codes"][0]["items"][0]]
    assert {name for part in parts for name in part} <= documented
