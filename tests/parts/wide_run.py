"""A run with all that makes pages wide: long names of run, suite, target, cases, codes and fields, and large counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parts.mixed_run import put_ended
from parts.rich_run import RICH
from parts.stored import case, sample
from steelyard.analysis.stored import stored_form
from steelyard.analysis.summary_from_store import summarise_stored
from steelyard.records import CallResult, Finding, RunHeader, Score, Signature, TargetFacts, Verdict
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Store
from steelyard.store.figures import Figure, Kind, SliceKey

SUITE_NAME = "product descriptions in six languages"
TARGET = {
    "kind": "chat",
    "model": "meta-llama/Llama-3.3-70B-Instruct-Turbo-Free",
    "base_url": "https://inference.example-company.internal:8443/v1",
}
_N = 40
_COMPONENTS = ("manufacturer", "estimatedValueMinimum", "countryOfOrigin", "descriptionCompleteness")
_TEXT = "The restored mahogany cabinet was manufactured in southern Germany. Its provenance is documented. "


def run_name(number: int) -> str:
    return f"wide-suite-of-product-descriptions-20261117-10150{number}-k3f9"


def put_wide(store: Store, number: int = 1) -> RunHeader:
    """An ended run of 40 samples, listed as one of 199,235 with 765 missing."""
    suite: dict[str, Any] = RICH | {
        "n_planned": _N,
        "judge": None,
        "criteria": [],
        "gates": ["pass_rate >= 60 %", "category.*.average >= 10 %"],
        "components": [
            {
                "name": name,
                "kind": "component",
                "scorer": "steelyard.scoring.texts:normalized_similarity",
                "weight": 25.0,
                "scale": [0.0, 1.0],
                "params": {"path": f"answer.items.{name}", "normalize": ["case", "whitespace", "punctuation"]},
            }
            for name in _COMPONENTS
        ],
        "taxonomy": [
            {"code": code, "name": about, "about": f"{about}: the answer's component differs.", "severity": "major"}
            for code, about in (
                ("UNSUPPORTED_MANUFACTURER_CLAIM", "Unsupported manufacturer"),
                ("MISINTERPRETED_COUNTRY_OF_ORIGIN", "Misinterpreted country"),
            )
        ],
    }
    cases, samples = [], []
    for at in range(_N):
        words = {"description": _TEXT * 3, "manufacturer": "Vereinigte Werkstätten für Kunst im Handwerk"}
        held = case(
            at,
            id=f"furniture-southern-germany-restored-cabinet-{at:04d}",
            input=words,
            expected=words | {"estimatedValueMinimum": 120_000},
            category="cabinets and bookcases",
            tags=("restored", "provenance-documented"),
            why="Experts disagree about its manufacturer.",
        )
        got = words | {"description": _TEXT * 3 if at % 3 else f"{_TEXT * 2}Nothing else is known. "}
        finding = Finding(
            "UNSUPPORTED_MANUFACTURER_CLAIM" if at % 2 else "MISINTERPRETED_COUNTRY_OF_ORIGIN",
            "answer.items.manufacturer",
            words["manufacturer"],
            "Deutsche Werkstätten Hellerau",
            "the label inside of the left drawer",
            "major",
            "manufacturer",
        )
        cases.append(held)
        samples.append(
            sample(
                held,
                call_result=CallResult(
                    text=str(got).replace("'", '"') + " " * number, latency=12.5, cost=0.0123, model=TARGET["model"]
                ),
                score=0.25 + (at * number) % 3 / 4,
                passed=at % 3 > 0,
                scores=tuple(Score(name, 0.5, 25.0) for name in _COMPONENTS),
                findings=(finding,),
                category=held.category,
                tags=held.tags,
            )
        )
    header = RunHeader(
        run_name(number),
        SUITE_NAME,
        "",
        1_763_374_500.0 + 100 * number,
        Signature(truth="3f8a9c1d2b"),
        target=TargetFacts(TARGET),
        suite=suite,
    )
    header.verdict = Verdict.FAIL if number % 2 else Verdict.AMBIGUOUS
    put_ended(store, header, samples, cases)
    summary = summarise_stored(store, header.id, header.description)
    large = Estimate(0.6543, 199_235, 765, 0.6522, 0.6564)
    rows = [Figure(SliceKey(), name, Kind(name), large) for name in ("average", "median", "pass_rate")]
    wide = replace(summary, figures=summary.figures.replaced(rows))
    store.keep_summary(header.id, stored_form(store, header.id, wide))
    return header
