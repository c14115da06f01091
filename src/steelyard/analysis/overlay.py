"""A run in which some samples were scored again: its columns, findings and checks with what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.analysis.compared_run import ComparedRun
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
    return replace(run, columns=_columns(run.columns, rows), checks=checks, contents=contents)


def _columns(columns: Columns, rows: Rows) -> Columns:
    samples = rows.values()
    outcomes, bands = list(columns.outcomes), list(columns.bands)
    scores = [{score.name: score for score in sample.scores} for sample in samples]
    counts = {(name, count) for name, each in columns.counts.items() for count in each}
    counts |= {(name, count) for each in scores for name, score in each.items() for count in score.counts}
    counted: dict[str, dict[str, Array]] = {}
    for name, count in sorted(counts):
        before = columns.counts.get(name, {}).get(count, np.full(columns.n, np.nan))
        after = [each[name].counts.get(count) if name in each else None for each in scores]
        counted.setdefault(name, {})[count] = _put(before, rows, after)
    return replace(
        columns,
        outcome=_put(columns.outcome, rows, [_code(outcomes, each.outcome.value) for each in samples]),
        outcomes=outcomes,
        score=_put(columns.score, rows, [each.score for each in samples]),
        passed=_put(columns.passed, rows, [-1 if each.passed is None else int(each.passed) for each in samples]),
        band=_put(columns.band, rows, [-1 if each.band is None else _code(bands, each.band) for each in samples]),
        bands=bands,
        components={
            name: _put(values, rows, [each[name].value if name in each else None for each in scores])
            for name, values in columns.components.items()
        },
        counts=counted,
        **_findings(columns, rows),
    )


def _put(values: Array, rows: Rows, new: Sequence[float | None]) -> Array:
    whole = values.astype(np.int64 if values.dtype.kind in "iub" else float)
    whole[list(rows)] = [np.nan if each is None else each for each in new]
    return whole


def _code(names: list[str], name: str) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)


def _listed(rows: Rows, sample: Array, columns: Mapping[str, tuple[Array, list[Any]]], at: list[int]) -> dict[str, Any]:
    """What is listed for samples, as columns of what there was and what is new, with that of these rows replaced."""
    kept = ~np.isin(sample, list(rows))
    order = np.argsort(np.concatenate((sample[kept].astype(np.int64), np.array(at, np.int64))), kind="stable")
    return {
        # Runs of before something was noted have an empty column of it, and keep that.
        name: np.concatenate((old[kept], np.array(new).astype(old.dtype)))[order] if len(old) == len(kept) else old
        for name, (old, new) in columns.items()
    }


def _findings(columns: Columns, rows: Rows) -> dict[str, Any]:
    new = [(at, finding) for at, sample in rows.items() for finding in sample.findings]
    at, found = [at for at, _ in new], [finding for _, finding in new]
    names = {name: list(getattr(columns, f"finding_{name}s")) for name in ("code", "component", "section")}
    listed: dict[str, tuple[Array, list[Any]]] = {
        f"finding_{name}": (getattr(columns, f"finding_{name}"), [_code(known, getattr(one, name)) for one in found])
        for name, known in names.items()
    }
    listed |= {"finding_sample": (columns.finding_sample, at)}
    listed |= {"finding_gain": (columns.finding_gain, [one.gain for one in found])}
    return {f"finding_{name}s": known for name, known in names.items()} | _listed(
        rows, columns.finding_sample, listed, at
    )


def _contents(contents: Contents, rows: Rows) -> Contents:
    new: list[tuple[int, Confused]] = [
        (at, (each.code, confusion_label(each.expected), confusion_label(each.got)))
        for at, sample in rows.items()
        for each in sample.findings
        if each.expected is not None and each.got is not None and is_confusion(each.expected, each.got)
    ]
    at = [at for at, _ in new]
    # Those of the run by their place there, the new ones below 0.
    place = np.arange(len(contents.confusion)), [-1 - i for i in range(len(new))]
    digests = contents.confusion, [confusion_digest(*texts) for _, texts in new]
    listed = {"place": place, "confusion": digests, "confusion_sample": (contents.confusion_sample, at)}
    columns = _listed(rows, contents.confusion_sample, listed, at)
    places = columns.pop("place")

    def confused(chosen: Sequence[int]) -> list[Confused]:
        chosen = places[list(chosen)].tolist()
        stored = iter(contents.confused([each for each in chosen if each >= 0]))
        return [next(stored) if each >= 0 else new[-1 - each][1] for each in chosen]

    return replace(contents, **columns, confused=confused)


def _checks(checks: Checks, rows: Rows) -> Checks:
    new = [(at, check) for at, sample in rows.items() for check in sample.checks]
    names, details, states = list(checks.names), list(checks.details), list(CheckState)
    codes = [(_code(names, each.name), states.index(each.state), _code(details, each.detail)) for _, each in new]
    listed: dict[str, list[Any]] = {"sample": [at for at, _ in new]}
    listed |= {name: [each[i] for each in codes] for i, name in enumerate(("name", "state", "detail"))}
    listed |= {name: [getattr(each, name) for _, each in new] for name in ("value", "low", "high")}
    columns = {name: (getattr(checks, name), values) for name, values in listed.items()}
    return replace(checks, names=names, details=details, **_listed(rows, checks.sample, columns, listed["sample"]))
