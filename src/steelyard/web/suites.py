"""Suites that have runs: how the newest run describes each, with its cases and their truth. No code of a suite runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.analysis.target import target_name
from steelyard.records import RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import section, table_section
from steelyard.report.judge.run import judged_by, weight_of
from steelyard.report.render.json import encode, picked
from steelyard.store.case_rows import case_from
from steelyard.suite.judge import Rubric
from steelyard.web import render
from steelyard.web.site import NotThere, Query, Resource, Visit

_CASES = 25
_LONGEST_CASE = 20_000
"""Characters of a case that are read; the page of a sample shows all of it."""
_LONGEST_TEXT = 300
_LAST_EDITS = 20


class SuiteQuery(Query):
    """Which cases are listed."""

    after: str = ""
    """Cases whose ids come after this one."""


def list_suites(visit: Visit) -> Mapping[str, Any]:
    """Suites that have runs, with how many, and what the newest came to."""
    listing = visit.store.listing
    suites = listing.suites()
    newest = listing.newest([name for name, _ in suites], 1)
    return {"suites": [_suite(name, n_runs, newest[name][0]) for name, n_runs in suites]}


def _suite(name: str, n_runs: int, newest: RunHeader) -> dict[str, Any]:
    run = picked(newest, "id", "created_at", "state") | {"target": target_name(newest)}
    return {"suite": name, "n_runs": n_runs, "newest": run | picked(newest, "verdict", "n_planned")}


def show_suite(visit: Visit) -> Mapping[str, Any]:
    """A suite as its newest run stored it: what is scored and how, when it passes, and a page of cases with truth."""
    name, store = visit.path["suite"], visit.store
    newest = store.listing.page(name, limit=1)
    if not newest:
        raise NotThere(f"no runs of a suite {name!r}")
    header = store.run(newest[0].id)
    rows = store.listing.cases(header.id, visit.query.after, _CASES, _LONGEST_CASE)
    given, taken_back, *_ = store.listing.figures_state(name)
    return {
        "suite": encode(header.suite),
        "signature": encode(header.signature),
        "run": header.id,
        "verdict": header.verdict.value if header.verdict else None,
        "n_labels": given - taken_back,
        "cases": [_case(case_id, content) for case_id, content in rows],
        "next": rows[-1][0] if len(rows) >= _CASES else "",
        "_name": name,
        "_created_at": header.created_at,
        "_path": header.suite_path or name,
        "_about": header.description.about,
        "_body": render.blocks(doc.Document(name, blocks(header))),
    }


def _case(case_id: str, content: str) -> dict[str, Any]:
    if len(content) >= _LONGEST_CASE:
        return {"id": case_id, "input": fmt.shortened(content, _LONGEST_TEXT), "expected": "", "why": "", "group": ""}
    case = case_from(content)
    group = " · ".join(filter(None, [case.category, case.difficulty, *case.tags]))
    shown = {
        "input": fmt.as_text(case.input),
        "expected": fmt.as_text(case.expected),
        "why": case.why,
        "group": group,
    }
    return {"id": case_id} | {part: fmt.shortened(text, _LONGEST_TEXT) for part, text in shown.items()}


def blocks(header: RunHeader) -> list[doc.Block]:
    """What a run stores of its suite: how answers are scored, when a run passes, rubric, codes and signature."""
    suite = header.description
    facts = [
        ("Cases", fmt.whole(suite.n_cases) if suite.n_cases is not None else ""),
        ("Repeats", str(suite.usual_repeats or suite.repeats)),
        ("Variants", ", ".join(filter(None, suite.variant_names))),
        ("A sample passes", suite.passing.text if suite.passing else ""),
        ("Gates", "; ".join(suite.gates)),
        ("Target", target_name(header)),
        ("Version", suite.version),
    ]
    components = doc.table(
        "Components",
        [item for item in suite.components if item.kind != "stated"],
        ("Component", lambda item: item.name),
        (doc.words("Kind"), lambda item: item.kind),
        ("Weight", lambda item: weight_of(header, item.name)),
        (doc.words("Scorer"), lambda item: str(item.scorer)),
        (doc.words("Settings"), lambda item: fmt.shortened(fmt.as_text(item.params), 160) if item.params else ""),
    )
    criteria = doc.table(
        "Criteria",
        suite.criteria,
        ("Criterion", lambda item: item.name),
        (doc.words("Passes"), lambda item: item.passes),
        (doc.words("Fails"), lambda item: item.fails or ""),
        (doc.words("What it means"), lambda item: item.about),
    )
    codes = doc.table(
        "Codes of findings",
        suite.taxonomy,
        ("Code", lambda item: item.code),
        (doc.words("Name"), lambda item: item.name),
        (doc.words("Severity"), lambda item: item.severity),
        (doc.words("What it means"), lambda item: item.about),
        note="in the order of detection: an error that fits several gets the first",
    )
    bands = [(band.name, f">= {fmt.threshold(band.at_least)}") for band in suite.bands]
    signature = [(part, str(value)) for part, value in header.signature.to_data().items() if value and part != "text"]
    edits = [
        " ".join(str(line[part]) for part in ("at", "by", "what", "case", "reason") if line.get(part))
        for line in map(dict, suite.ledger[-_LAST_EDITS:])
    ]
    return [
        *section("How it is scored", doc.Facts([fact for fact in facts if fact[1]]), components, main=True),
        *table_section(criteria),
        *(_rubric(header, suite.judge.rubric) if suite.judge else []),
        *table_section(codes),
        *section("Bands", doc.Facts(bands), short=True),
        *section("Signature", doc.Facts(signature), short=True),
        *section("Edits of truth and scoring", doc.bullets(reversed(edits))),
    ]


def _rubric(header: RunHeader, rubric: Rubric) -> list[doc.Section]:
    dimensions = doc.table(
        "Dimensions",
        rubric.dimensions,
        ("Dimension", lambda item: item.name),
        ("Weight", lambda item: f"{item.weight:g}"),
        (doc.words("What is looked at"), lambda item: item.about),
        (doc.Column("Scores", doc.Kind.LINES), lambda item: "\n".join(f"{k}: {v}" for k, v in item.scores.items())),
    )
    flags = doc.table(
        "Flags",
        rubric.flags,
        ("Flag", lambda item: item.name),
        (doc.words("What it says"), lambda item: item.about),
        (doc.words("What sets it"), lambda item: "; ".join(item.triggers)),
        (doc.words("Fails the sample"), lambda item: "yes" if item.fails else "no"),
    )
    scale = f"scores {rubric.scale[0]} to {rubric.scale[1]}, judged by {judged_by(header)}"
    return section("Rubric", dimensions, flags, doc.bullets(rubric.calibration), remark=scale)


RESOURCES: tuple[Resource, ...] = (
    Resource("/suites", "Suites that have runs.", list_suites, "suites.html"),
    Resource("/suites/{suite}", "A suite as its newest run stored it.", show_suite, "suite.html", SuiteQuery),
)
