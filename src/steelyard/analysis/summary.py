"""Summary of a run: overall and by slice."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from steelyard.analysis.findings import (
    code_figures,
    failing_codes,
    find_patterns,
    find_priorities,
    section_figures,
    severities,
    top_confusions,
)
from steelyard.analysis.latency import bottleneck, latency_figures
from steelyard.analysis.model import BestVariant, ModeFigure, ReusedAnswers, Slice, Summary
from steelyard.analysis.repeats import Repeats, checks_figures
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.cells import Cells
from steelyard.metrics.figures import hits, run_figures
from steelyard.metrics.own import with_values
from steelyard.metrics.run_data import RunData
from steelyard.metrics.stability import Placed
from steelyard.metrics.table import Table, clusters_in_words
from steelyard.records import RunHeader
from steelyard.stats.arrays import Array, tally
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate, lower_bound
from steelyard.store.base import Checks, ClaimColumns, Columns, Store
from steelyard.store.contents import Contents
from steelyard.store.headers import answers_from
from steelyard.suite.models import SuiteModel
from steelyard.suite.values import load_in_words

if TYPE_CHECKING:
    from steelyard.analysis.calibration import ConfidenceFigures
    from steelyard.analysis.judge.corrected import LabelColumns, RunLabels
    from steelyard.analysis.judge.model import Judged
    from steelyard.analysis.judge.votes import DescribedRubric
    from steelyard.analysis.model import JudgeFigures
    from steelyard.analysis.stability import PassFigures, StabilityFigures

L = TypeVar("L", Columns, Checks)


def summarise(
    columns: Columns,
    suite: SuiteModel,
    judgements: Iterable[Judged] | None = None,
    claims: ClaimColumns | None = None,
    checks: Checks | None = None,
    items: Iterable[Placed] | None = None,
    load: str | None = "",
    contents: Callable[[], Contents] | None = None,
    labels: RunLabels | None = None,
) -> Summary:
    """The summary of a run; `suite` is the suite as the run's header describes it.

    Samples that were planned and did not come are missing from every figure of the whole run. `judgements` are those of
    the run in the order of its plan; they are read once and none is kept. `claims` are what its answers claimed,
    `checks` what became of its expectations, `items` what its repeats are compared by; `contents` gives what its
    findings say, last of all. `load` says in words how the calls were made; None leaves out all about latency that no
    gate stands on. `labels` are what reviewers say of its cases and people of its answers.
    """
    data = RunData(columns, suite, checks, items)
    by_labels = None if labels is None else _label_columns(labels, data)
    data.labels = None if by_labels is None else by_labels.column()
    table, groups = data.table, data.groups
    repeats = Repeats(table.of_repeats(), suite)
    rubric = _rubric(suite)
    slices = {factor: _slices(data, factor, repeats) for factor in groups}
    overall = slices.pop("")[0]
    codes = code_figures(table, groups[""], overall, severities(suite))
    patterns, n_patterns = find_patterns(table, groups, suite)
    return Summary(
        passing=suite.passing.text if suite.passing else "",
        overall=overall,
        slices=slices,
        patterns=patterns,
        priorities=find_priorities(table, overall, suite, codes),
        failures=_frequent(columns.failure, columns.failures),
        first_failures=_frequent(*table.first_failures()),
        reused=reused_answers(table, suite),
        steps=_frequent(columns.step, columns.steps),
        tokens_in=overall.totals["tokens_in"],
        tokens_out=overall.totals["tokens_out"],
        cost=overall.totals["cost"],
        codes=codes,
        failing=failing_codes(table, codes, suite),
        best_variant=_best_variant(table, suite),
        repeats=int(columns.repeat.max()) + 1 - int(columns.repeat.min()) if columns.n else 1,
        method=_method(table, clustered=any(group.clustered for group in groups.values())),
        extra={"n_patterns": n_patterns, "scales": {name: list(scale) for name, scale in table.scales.items()}},
        modes=_modes(groups[""], table, rubric),
        judge=_judge(judgements, rubric, labels),
        judge_check=None if by_labels is None else by_labels.check(),
        confidence=_confidence(claims, table, suite),
        checks=checks_figures(data, overall.over_repeats),
        passes=_passes(data, overall.over_repeats),
        stability=_stability(data, overall.over_repeats),
        latency=None if load is None else latency_figures(table, overall, suite, load),
        confusions=[] if contents is None else top_confusions(table, suite, contents()),
        sections=section_figures(table, columns),
        figures=run_figures(data),
    )


# What few runs have: what computes it is imported for them alone.


def _rubric(suite: SuiteModel) -> DescribedRubric | None:
    if suite.judge is None:
        return None
    from steelyard.analysis.judge.votes import described_rubric

    return described_rubric(suite)


def _judge(
    judgements: Iterable[Judged] | None, rubric: DescribedRubric | None, labels: RunLabels | None
) -> JudgeFigures | None:
    if judgements is None or rubric is None:
        return None
    from steelyard.analysis.judge.figures import judge_figures

    return judge_figures(judgements, rubric, None if labels is None else labels.by_case)


def _label_columns(labels: RunLabels, data: RunData) -> LabelColumns:
    from steelyard.analysis.judge.corrected import LabelColumns

    return LabelColumns(labels, data)


def _confidence(claims: ClaimColumns | None, table: Table, suite: SuiteModel) -> ConfidenceFigures | None:
    if claims is None or not claims.n:
        return None
    from steelyard.analysis.confidence import confidence_figures

    return confidence_figures(claims, table, suite)


def _passes(data: RunData, run: Mapping[str, Estimate]) -> PassFigures | None:
    if data.clean_repeats is None:
        return None
    from steelyard.analysis.stability import pass_figures

    return pass_figures(data, run, data.clean_repeats)


def _stability(data: RunData, run: Mapping[str, Estimate]) -> StabilityFigures | None:
    if data.stability is None:
        return None
    from steelyard.analysis.stability import stability_figures

    return stability_figures(data, run)


def _slices(data: RunData, factor: str, repeats: Repeats) -> list[Slice]:
    """Every group of a factor with every metric that the run has."""
    groups, table = data.groups[factor], data.table
    n_outcomes = len(table.outcomes)
    outcomes = groups.counts(groups.labelled(table.outcome), n_outcomes)
    excluded, repeated = groups.count(table.excluded), repeats.of(factor, groups)
    fields: list[dict[str, Any]] = [{} for _ in groups.names]
    units = [{"": n} for n in groups.count_cases(np.ones(table.n, dtype=bool)).tolist()] if groups.clustered else []
    for metric, names, column, cases in hits(data, factor):
        path = metric.place_of(names)
        for place, figure in zip(fields, column, strict=True):
            _put(place, path, figure)
        for own, figure, n in zip(units, column, cases.tolist(), strict=False):
            if n != min(figure.n, own[""]):
                own[".".join(path)] = n
    return [
        Slice(
            factor=factor,
            name=name,
            n_planned=int(groups.planned[g]),
            outcomes={table.outcomes[i]: int(outcomes[g, i]) for i in range(n_outcomes) if outcomes[g, i]},
            repeated=repeated[g],
            excluded=int(excluded[g]),
            absent=data.absent if factor else 0,
            units=units[g] if units else {},
            **fields[g],
        )
        for g, name in enumerate(groups.names)
    ]


def _put(fields: dict[str, Any], path: tuple[str, ...], figure: Estimate) -> None:
    """Puts a figure into its place; of findings only the number is kept, and of those that were found."""
    head, names = path[0], path[1:]
    if not names:
        # The sum of all findings is that of their codes.
        if head != "findings":
            fields[head] = figure
        return
    at = fields.setdefault(head, {})
    for name in names[:-1]:
        at = at.setdefault(name, {})
    if head in ("findings", "finding_samples"):
        count = int(figure.value or 0)
        at.update({names[-1]: count} if count else {})
    else:
        counted = head != "metrics" or figure.numerator is None
        at[names[-1]] = figure if counted else replace(figure, numerator=None, denominator=None, mean_of=None)


def _modes(run: Groups, table: Table, rubric: DescribedRubric | None) -> dict[str, ModeFigure]:
    """Each mode on its own, the run's main one first."""
    if rubric is None:
        return {}
    dimensions = [name for name in rubric.dimensions if name in table.components]
    results = {}
    for mode in sorted(table.modes, key=lambda name: (name != rubric.mode, name)):
        average = run.means(table.read_in(mode))[0]
        if average.n:
            means = {name: run.means(table.read_in(mode, name), rubric.scale)[0] for name in dimensions}
            results[mode] = ModeFigure(average.n, average, means)
    return results


def reused_answers(table: Table, suite: SuiteModel) -> ReusedAnswers | None:
    """Which answers of a run are no new ones; None when all are."""
    cached, reused, copied = table.cached(), table.reused(), table.copied()
    if not reused.any() and not copied.any():
        return None
    made_at = table.reported("made_at")[cached]
    dates = made_at[~np.isnan(made_at)]
    return ReusedAnswers(
        cached=int(cached.sum()),
        answers=int((~np.logical_or(*table.unanswered())).sum()),
        first=float(dates.min()) if len(dates) else None,
        last=float(dates.max()) if len(dates) else None,
        provider_cached=int((reused & ~cached).sum()),
        copied=int(copied.sum()),
        copied_cells=int((Cells(table, suite).count(copied) > 0).sum()) if copied.any() else 0,
    )


def _frequent(codes: Array, names: list[str]) -> dict[str, int]:
    """How often each name occurs, most frequent first."""
    counts = tally(codes, len(names))
    return {
        names[i]: int(counts[i]) for i in sorted(range(len(names)), key=lambda i: (-counts[i], names[i])) if counts[i]
    }


def _best_variant(table: Table, suite: SuiteModel) -> BestVariant | None:
    if len(table.variants) < 2:
        return None
    from steelyard.analysis.variants import find_best, planned_cases

    cells = Cells(table, suite)
    if not cells.n:
        return None
    return find_best(
        cells.variants,
        cells.means(table.score()),
        n_cases=planned_cases(cells, suite),
        max_inconclusive=suite.limits.max_inconclusive,
        unit=table.unit_of_case(),
    )


def _method(table: Table, *, clustered: bool) -> str:
    text = (
        "95 % intervals: Wilson for rates and, by their standard error, for means of a scale with ends; none for other"
        " means; medians and percentiles: order statistics; undefined below n 2, a median below n 6"
    )
    if table.measures:
        text += "; measures: ratios of sums"
    if not clustered:
        return text
    text += "; samples of a case: one cluster, shares over them as means"
    n_units, n_cases = len(table.unit_names), len(table.case_ids)
    return text if n_units == n_cases else f"{text}; {clusters_in_words(n_cases, n_units)}"


# The summary of a run in a store: everything that `summarise` wants, read from it.


def summarise_stored(
    store: Store,
    run_id: str,
    suite: SuiteModel,
    columns: Columns | None = None,
    *,
    header: RunHeader | None = None,
    only_for_gates: bool = False,
) -> Summary:
    """The summary of a run; `columns` are its own when they have been read already, and `header` is the run's when it
    says more than the stored one does yet.

    `only_for_gates` leaves out what no gate stands on: how a judge behaved, what confidences are worth, how long single
    cases took and what was taken for what.
    """
    judged = suite.judge is not None and not only_for_gates
    columns = store.columns(run_id) if columns is None else columns
    labels = _labels(store, run_id, suite)
    result = len(columns.finding_sample) > 0 and not only_for_gates
    header = header or store.run(run_id)
    load_metrics(header)
    summary = summarise(
        columns,
        suite,
        _judgements(store, run_id, labels) if judged else None,
        None if only_for_gates else store.claims(run_id),
        store.checks(run_id),
        store.items(run_id) if suite.stability else None,
        None if only_for_gates else _load(header),
        (lambda: store.contents(run_id)) if result else None,
        labels,
    )
    if summary.latency is None:
        return summary
    load = None if _called_elsewhere(header) else header.options.load
    client = bottleneck(summary.latency.overall["p50"], load)
    return replace(summary, latency=replace(summary.latency, bottleneck=client))


def _judgements(store: Store, run_id: str, labels: RunLabels | None) -> Iterable[Judged]:
    from steelyard.analysis.judge.votes import with_labelled

    return with_labelled(store.judgements(run_id), labels.own if labels else ())


def _labels(store: Store, run_id: str, suite: SuiteModel) -> RunLabels | None:
    """The labels of a stored run; None where there are none."""
    if not (suite.judge and suite.judge.labels) and not store.people.labels(run_id=run_id):
        return None
    from steelyard.analysis.judge.corrected import read_labels

    return read_labels(store, run_id, suite)


def summarise_without(store: Store, header: RunHeader, cases: Collection[str]) -> tuple[Summary, int]:
    """What gates stand on, over all but some cases, and how many samples were left out."""
    columns, checks, suite = store.columns(header.id), store.checks(header.id), header.description
    codes = [i for i, case_id in enumerate(columns.case_ids) if case_id in cases]
    remaining = ~np.isin(columns.case, codes)
    place, n_out = np.cumsum(remaining) - 1, int((~remaining).sum())
    items = (
        ((int(place[at]), item) for at, item in store.items(header.id) if remaining[at]) if suite.stability else None
    )
    planned = {"n_planned": suite.n_planned, "n_cases": suite.n_cases}
    out = {"n_planned": n_out, "n_cases": len(codes)}
    part = suite.model_copy(update={name: n and max(0, n - out[name]) for name, n in planned.items()})
    load_metrics(header)
    part = with_values(part, RunData(columns, suite), remaining)
    labels = _labels(store, header.id, suite)
    rest = columns_at(columns, remaining, place)
    return summarise(rest, part, None, None, listed_at(checks, "", remaining, place), items, None, None, labels), n_out


def columns_at(columns: Columns, remaining: Array, place: Array) -> Columns:
    """The columns of the samples that are kept, whose new places are given."""
    listed = listed_at(listed_at(columns, "tag_", remaining, place), "finding_", remaining, place)
    mine: dict[str, Any] = {
        name: value[remaining]
        for name in (field.name for field in fields(columns))
        if isinstance(value := getattr(columns, name), np.ndarray)
        and len(value) == columns.n
        and name != "tag"
        and not name.startswith(("tag_", "finding_"))
    }
    present, mine["case"] = np.unique(mine["case"], return_inverse=True)
    return replace(
        listed,
        **mine,
        n=int(remaining.sum()),
        case_ids=[columns.case_ids[code] for code in present.tolist()],
        components={name: values[remaining] for name, values in columns.components.items()},
        counts={name: {key: item[remaining] for key, item in some.items()} for name, some in columns.counts.items()},
    )


def listed_at(listed: L, prefix: str, remaining: Array, place: Array) -> L:
    """What is listed by sample, of the samples that are kept: tags, findings or checks."""
    sample = getattr(listed, f"{prefix}sample")
    inside = remaining[sample.astype(int)]
    names = [field.name for field in fields(listed) if field.name.startswith(prefix) or field.name == prefix[:-1]]
    columns = {name: value for name in names if isinstance(value := getattr(listed, name), np.ndarray)}
    rows = {name: value[inside] for name, value in columns.items() if len(value) == len(sample)}
    rows[f"{prefix}sample"] = place[sample[inside].astype(int)].astype(sample.dtype)
    return replace(listed, **rows)


def _load(header: RunHeader) -> str:
    """How the calls were made; "" for recorded answers."""
    return "" if _called_elsewhere(header) else load_in_words(header.options.load)


def _called_elsewhere(header: RunHeader) -> bool:
    """Whether the answers are recorded, or those of another run: this process says nothing about their times."""
    return header.target.kind == "recorded" or bool(answers_from(header))


# The figures that were kept with a run when it ended: hundreds of runs are read without touching their samples.

_ESTIMATES = ("average", "median", "pass_rate")
_BY_NAME = ("bands", "components", "latency", "finding_rates", "outcome_rates", "totals", "over_repeats", "metrics")
_PLAIN = ("outcomes", "findings", "finding_samples", "units")


def summary_data(summary: Summary) -> dict[str, Any]:
    """All figures as plain data, with nothing that JSON cannot say."""
    return {field.name: _plain(getattr(summary, field.name)) for field in fields(summary) if field.name != "figures"}


def _plain(data: Any) -> Any:
    if data is None or type(data) in (str, int, bool):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    kind: Any = type(data)
    names = _field_names(kind)
    return data if names is None else {name: _plain(getattr(data, name)) for name in names}


@cache
def _field_names(kind: type) -> list[str] | None:
    return [field.name for field in fields(kind)] if is_dataclass(kind) else None


def stored_summary(data: Mapping[str, Any] | None, factors: Collection[str] = ()) -> Summary | None:
    """The whole run's figures from what its header keeps, and those of the slices of some factors.

    None when nothing is kept, or nothing that this version can read: then they are computed again.
    """
    if not isinstance(data, Mapping):
        return None
    try:
        slices = data.get("slices") or {}
        return Summary(
            passing=str(data.get("passing") or ""),
            overall=_slice(data["overall"]),
            slices={factor: [_slice(item) for item in slices[factor]] for factor in factors if factor in slices},
            repeats=int(data.get("repeats") or 1),
            extra=dict(data.get("extra") or {}),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _slice(data: Mapping[str, Any]) -> Slice:
    figures: dict[str, Any] = {name: dict(data.get(name) or {}) for name in _PLAIN}
    figures |= {name: _estimate(data[name]) for name in _ESTIMATES}
    figures |= {name: {key: _estimate(item) for key, item in (data.get(name) or {}).items()} for name in _BY_NAME}
    return Slice(
        factor=data["factor"],
        name=data["name"],
        n_planned=data["n_planned"],
        **figures,
        measures={
            component: {name: _estimate(item) for name, item in result.items()}
            for component, result in (data.get("measures") or {}).items()
        },
        excluded=int(data.get("excluded") or 0),
    )


def _estimate(data: Mapping[str, Any]) -> Estimate:
    if "estimate" in data:  # a ratio as earlier versions stored it
        data = {**data, **data["estimate"]}
    missing, constant = data.get("n_missing", 0), bool(data.get("constant"))
    counts: dict[str, Any] = {name: data.get(name) for name in ("numerator", "denominator", "mean_of")}
    result = Estimate(data["value"], data["n"], missing, data.get("low"), data.get("high"), constant, **counts)
    return lower_bound(result) if data.get("at_least") else result
