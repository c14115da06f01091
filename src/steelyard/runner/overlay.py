"""A run in which some samples were scored again: its columns, findings and checks with what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.metrics.own_values import without_values
from steelyard.pairing.runs import ComparedRun
from steelyard.records import CheckState, Sample
from steelyard.stats.arrays import Array
from steelyard.store.base import Checks, Columns
from steelyard.store.contents import Confused, Contents, confusion_digest, confusion_label, is_confusion

Rows = Mapping[int, Sample]
"""By position in a run's columns, a sample as it was scored again."""


def overlaid(run: ComparedRun, rows: Rows) -> ComparedRun:
    """The run with these samples in place of those that it has."""
    checks = run.checks if run.checks is None or not run.checks.n else _checks(run.checks, rows)
    contents = None if run.contents is None else _contents(run.contents, rows)
    # Stored values of the suite's own metrics are those of the samples as the run has them.
    header = replace(run.header, suite=without_values(run.suite).data())
    return replace(run, header=header, columns=_columns(run.columns, rows), checks=checks, contents=contents)


def _columns(columns: Columns, rows: Rows) -> Columns:
    samples = rows.values()
    outcomes, bands = list(columns.outcomes), list(columns.bands)
    scores = [{score.name: score for score in sample.scores} for sample in samples]
    counts = {(name, count) for name, item in columns.counts.items() for count in item}
    counts |= {(name, count) for item in scores for name, score in item.items() for count in score.counts}
    counted: dict[str, dict[str, Array]] = {}
    for name, count in sorted(counts):
        before = columns.counts.get(name, {}).get(count, np.full(columns.n, np.nan))
        after = [score[name].counts.get(count) if name in score else None for score in scores]
        counted.setdefault(name, {})[count] = _put(before, rows, after)
    return replace(
        columns,
        outcome=_put(columns.outcome, rows, [_code(outcomes, sample.outcome.value) for sample in samples]),
        outcomes=outcomes,
        score=_put(columns.score, rows, [sample.score for sample in samples]),
        passed=_put(columns.passed, rows, [-1 if sample.passed is None else int(sample.passed) for sample in samples]),
        band=_put(columns.band, rows, [-1 if sample.band is None else _code(bands, sample.band) for sample in samples]),
        bands=bands,
        components={
            name: _put(values, rows, [score[name].value if name in score else None for score in scores])
            for name, values in columns.components.items()
        },
        counts=counted,
        **_findings(columns, rows),
    )


def _put(values: Array, rows: Rows, new: Sequence[float | None]) -> Array:
    whole = values.astype(np.int64 if values.dtype.kind in "iub" else float)
    whole[list(rows)] = [np.nan if item is None else item for item in new]
    return whole


def _code(names: list[str], name: str) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)


def _first_few(
    rows: Rows, sample: Array, columns: Mapping[str, tuple[Array, list[Any]]], at: list[int]
) -> dict[str, Any]:
    """What is listed for samples, as columns of what there was and what is new, with that of these rows replaced."""
    retained = ~np.isin(sample, list(rows))
    order = np.argsort(np.concatenate((sample[retained].astype(np.int64), np.array(at, np.int64))), kind="stable")
    return {
        # Runs of before something was noted have an empty column of it, and keep that.
        name: np.concatenate((old[retained], _typed_like(old, new)))[order] if len(old) == len(retained) else old
        for name, (old, new) in columns.items()
    }


def _typed_like(old: Array, new: list[Any]) -> Array:
    """The new values in the type of the old ones, or as 64-bit integers where one does not fit.

    Never by way of an untyped array: integers below and above 2**63 become floats there, which merge digests, and a
    code that does not fit a narrow type would silently become another code.
    """
    if old.dtype.kind in "iu" and new:
        bounds = np.iinfo(old.dtype)
        if min(new) < bounds.min or max(new) > bounds.max:
            return np.array(new, dtype=np.int64)
    return np.array(new, dtype=old.dtype)


def _findings(columns: Columns, rows: Rows) -> dict[str, Any]:
    new = [(at, finding) for at, sample in rows.items() for finding in sample.findings]
    at, result = [at for at, _ in new], [finding for _, finding in new]
    names = {name: list(getattr(columns, f"finding_{name}s")) for name in ("code", "component", "section")}
    listed: dict[str, tuple[Array, list[Any]]] = {
        f"finding_{name}": (
            getattr(columns, f"finding_{name}"),
            [_code(available, getattr(item, name)) for item in result],
        )
        for name, available in names.items()
    }
    listed |= {"finding_sample": (columns.finding_sample, at)}
    listed |= {"finding_gain": (columns.finding_gain, [item.gain for item in result])}
    return {f"finding_{name}s": available for name, available in names.items()} | _first_few(
        rows, columns.finding_sample, listed, at
    )


def _contents(contents: Contents, rows: Rows) -> Contents:
    new: list[tuple[int, Confused]] = [
        (at, (finding.code, confusion_label(finding.expected), confusion_label(finding.got)))
        for at, sample in rows.items()
        for finding in sample.findings
        if finding.expected is not None and finding.got is not None and is_confusion(finding.expected, finding.got)
    ]
    at = [at for at, _ in new]
    # Those of the run by their place there, the new ones below 0.
    place = np.arange(len(contents.confusion)), [-1 - i for i in range(len(new))]
    digests = contents.confusion, [confusion_digest(*texts) for _, texts in new]
    listed = {"place": place, "confusion": digests, "confusion_sample": (contents.confusion_sample, at)}
    columns = _first_few(rows, contents.confusion_sample, listed, at)
    places = columns.pop("place")

    def confused(chosen: Sequence[int]) -> list[Confused]:
        chosen = places[list(chosen)].tolist()
        stored = iter(contents.confused([item for item in chosen if item >= 0]))
        return [next(stored) if item >= 0 else new[-1 - item][1] for item in chosen]

    return replace(contents, **columns, confused=confused)


def _checks(checks: Checks, rows: Rows) -> Checks:
    new = [(at, check) for at, sample in rows.items() for check in sample.checks]
    names, details, states = list(checks.names), list(checks.details), list(CheckState)
    codes = [(_code(names, item.name), states.index(item.state), _code(details, item.detail)) for _, item in new]
    listed: dict[str, list[Any]] = {"sample": [at for at, _ in new]}
    listed |= {name: [code[i] for code in codes] for i, name in enumerate(("name", "state", "detail"))}
    listed |= {name: [getattr(item, name) for _, item in new] for name in ("value", "low", "high")}
    columns = {name: (getattr(checks, name), values) for name, values in listed.items()}
    return replace(checks, names=names, details=details, **_first_few(rows, checks.sample, columns, listed["sample"]))
