"""Figures by slice and name; each is what the old location in a slice has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from parts.mixed_run import put_labels, put_mixed
from parts.rich_run import put_rich
from steelyard.analysis.model import Summary
from steelyard.analysis.summary import summarise_stored
from steelyard.metrics.figures import WHOLE_RUN, Figures, SliceKey
from steelyard.metrics.registry import find
from steelyard.stats.intervals import Estimate
from steelyard.store.sql import open_store

LAMP = SliceKey("category", "lamp")


@pytest.fixture(params=["rich", "mixed", "labelled"])
def summary(tmp_path: Path, request: pytest.FixtureRequest) -> Summary:
    with open_store(tmp_path / "store.sqlite") as store:
        header = put_rich(store) if request.param == "rich" else put_mixed(store, "mixed-1", 1)
        if request.param == "labelled":
            put_labels(store, header)
        return summarise_stored(store, header.id, header.description)


def test_every_old_location_is_its_new_name(summary: Summary) -> None:
    slices = [summary.overall, *(part for parts in summary.slices.values() for part in parts)]
    assert [part.key for part in slices] == summary.figures.slices()
    scales = summary.extra["scales"]
    for part in slices:
        for name, figure in summary.figures.of(part.key).items():
            spelled = find(name.split("."))
            assert spelled is not None, name
            metric, filled = spelled
            names = tuple(filled.values())
            scale = tuple(scales.get(names[0], (0.0, 1.0))) if names else (0.0, 1.0)
            old = part.estimate(metric, names, scale)  # type: ignore[arg-type]
            assert replace(figure, n_cases=None) == old, (part.key, name)
            # A slice had no number of cases of its own for the findings of any code, and took that of all samples.
            assert name == "findings.total" or figure.cases == part.n_cases(metric, names, old.n), (part.key, name)


def test_no_old_location_is_left_out(summary: Summary) -> None:
    names = set(summary.figures.names())
    for part in (summary.overall, *(part for parts in summary.slices.values() for part in parts)):
        expected = {"average", "median", "pass_rate", *part.over_repeats, *part.metrics}
        expected |= {f"band.{name}" for name in part.bands} | {f"latency.{name}" for name in part.latency}
        expected |= {f"{name}_rate" for name in part.outcome_rates}
        expected |= {{"cost": "cost.total"}.get(name, name.replace("_", ".")) for name in part.totals}
        for name in part.components:
            expected |= {f"score.{name}.points", f"score.{name}.average"}
        for name in part.finding_rates:
            expected |= {f"findings.{name}", f"findings.{name}.rate", f"findings.{name}.samples"}
        for component, measures in part.measures.items():
            expected |= {f"score.{component}.{name}" for name in measures}
        assert expected <= names


def test_a_figure_is_found_by_name_and_slice() -> None:
    whole, lamp = Estimate(0.5, 4), Estimate(1.0, 2, 1)
    figures = Figures([(WHOLE_RUN, "average", whole), (LAMP, "average", lamp)], {WHOLE_RUN: 5, LAMP: 3})
    assert figures["average"] is figures[WHOLE_RUN, "average"] is whole
    assert figures["average", "category", "lamp"] is figures[LAMP, "average"] is lamp
    assert ("average" in figures, "median" in figures, "lamp" in figures) == (True, False, False)
    assert figures.get("median") is None
    assert figures.estimate(LAMP, "median") == Estimate(None, 0, 3)
    assert figures.estimate(SliceKey("category", "other"), "median") == Estimate(None, 0, 0)
    assert dict(figures.items()) == {(WHOLE_RUN, "average"): whole, (LAMP, "average"): lamp}
    assert (figures.slices("category"), figures.names(), len(figures)) == ([LAMP], ["average"], 2)
    assert (LAMP.text, WHOLE_RUN.text) == ("category.lamp", "")


def test_figures_of_one_kind_are_found_by_what_is_between() -> None:
    found = {"findings.A": Estimate(3.0, 4), "findings.A.rate": Estimate(0.5, 4)}
    figures = Figures((WHOLE_RUN, name, item) for name, item in found.items())
    assert figures.named("findings.", suffix=".rate") == {"A": Estimate(0.5, 4)}
