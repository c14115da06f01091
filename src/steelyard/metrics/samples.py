"""The metrics that are made of samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from steelyard.metrics.kinds import Aggregate, Quantile
from steelyard.metrics.registry import (
    CORRECTED,
    READABLE,
    Better,
    Compared,
    Contributions,
    Labels,
    Metric,
    Names,
    register,
)
from steelyard.stats.arrays import Array

if TYPE_CHECKING:
    from steelyard.metrics.run_data import RunData
    from steelyard.suite.models import SuiteModel

_LEFT_OUT = "inconclusive samples, those excluded and those that are missing are left out"
_MALFORMED_FAILED = f"a malformed answer has not passed; {_LEFT_OUT}"
_CONCLUSIVE = f"a malformed answer counts as 0; {_LEFT_OUT}"
_SCORED = (
    "a malformed answer counts as the lowest value of the scale; samples in which there was no truth to score it"
    " against are left out, and so are inconclusive ones and those excluded"
)
_RESULT = f"only conclusive samples (scored or malformed) are looked at; {_LEFT_OUT}"
_TIMED = (
    "a call that timed out counts as at least the time waited; calls that failed otherwise, answers from the cache and"
    " calls without a measured time are left out"
)
_REPORTED = "calls that did not tell it are left out; failed calls that did tell it are in"


def _score(data: RunData, _: Names) -> Contributions:
    table = data.table
    return Contributions(
        table.score(),
        excluded=(*table.left_out, ("no component was scored: no score", None)),
        noted=(("malformed: counts as 0", table.malformed),),
    )


def _passed(data: RunData, _: Names) -> Contributions:
    table = data.table
    passed = table.passed().astype(float)
    passed[passed < 0] = np.nan
    return Contributions(
        passed,
        excluded=(*table.left_out, ("nothing says whether it passed", None)),
        noted=(("malformed: has not passed", table.malformed),),
    )


def _corrected(data: RunData, names: Names) -> Contributions:
    result, labels = _passed(data, names), data.labels
    if labels is None:
        return replace(result, values=np.full(data.table.n, np.nan), excluded=(("the run has no labels", None),))
    shared = (labels.passes > 0) & (labels.passes < 1)
    sides = (("labelled: passes", labels.passes == 1), ("labelled: does not pass", labels.passes == 0))
    noted = (*sides, ("labelled: people differ, passes in part", shared), *result.noted)
    return replace(result, noted=noted, estimate=lambda rows: labels.corrected(rows).rate)


def _endings(data: RunData) -> Labels:
    table = data.table
    ending = np.full(table.n, -1, dtype=np.int8)
    ending[table.scored] = 0
    ending[~table.conclusive] = 1
    malformed = ("malformed: not scored", table.malformed)
    noted = {"scored": (*table.left_out, malformed), "inconclusive": table.left_out}
    return Labels(
        ("scored", "inconclusive"), None, ending, np.ones(table.n, dtype=bool), noted=noted, absent_as="inconclusive"
    )


def _ending(name: str) -> Any:
    return lambda data, _: _endings(data).of(name, once=True)


def _malformed(data: RunData, _: Names) -> Contributions:
    table = data.table
    return Contributions(np.where(table.conclusive, table.malformed, np.nan), excluded=table.left_out)


def _bands(data: RunData) -> Labels:
    table = data.table
    band = table.band()
    lowest = ("malformed: in the lowest band", table.malformed & (band >= 0))
    return Labels(
        table.bands,
        None,
        band,
        band >= 0,
        excluded=(*table.left_out, ("in no band", None)),
        noted=dict.fromkeys(table.bands[-1:], (lowest,)),
    )


def _better_band(suite: SuiteModel, names: Names) -> Better:
    bands = [band.name for band in suite.bands]
    return "higher" if bands[:1] == [*names] else "lower" if bands[-1:] == [*names] else ""


def _component(data: RunData, names: Names) -> Contributions:
    table, name = data.table, names[0]
    if name not in data.columns.components:
        return Contributions(np.full(table.n, np.nan), excluded=table.left_out)
    lowest = table.malformed & np.isnan(data.columns.components[name])
    return Contributions(
        table.component(name),
        excluded=(
            *table.left_out,
            ("malformed, and nothing to score it against in this case", table.malformed),
            ("nothing to score it against in this case", None),
        ),
        noted=(("malformed: counts as the lowest value", lowest),),
    )


def _component_share(data: RunData, names: Names) -> Contributions:
    result = _component(data, names)
    low, high = data.table.scales.get(names[0], (0.0, 1.0))
    return replace(result, values=(result.values - low) / (high - low))


def _measure(data: RunData, names: Names) -> Contributions:
    return _measured(data, names, None)


def _measure_readable(data: RunData, names: Names) -> Contributions:
    return _measured(data, names, data.table.malformed)


def _measured(data: RunData, names: Names, unread: Array | None) -> Contributions:
    """Numerator and denominator of a measure by sample, or those of all measures that a mean is of."""
    table, (component, measure) = data.table, names
    measures, nothing = table.measures.get(component, {}), np.full(table.n, np.nan)
    mean = table.means.get(component, {}).get(measure)
    ratios = []
    for name in [measure] if mean is None else mean.of:
        counts = [table.count(component, part) for part in (measures[name].numerator, measures[name].denominator)]
        above, below = (nothing if count is None else count for count in counts)
        available = ~(np.isnan(above) | np.isnan(below)) & (True if unread is None else ~unread)
        ratios.append((np.where(available, above, np.nan), np.where(available, below, np.nan)))
    counted = np.logical_or.reduce([~np.isnan(above) for above, _ in ratios])
    flagged = ("excluded, and flagged: counts", table.excluded & counted)
    unreadable = (
        ("malformed: nothing could be counted", table.malformed)
        if unread is None
        else ("malformed: not among the answers that could be read", table.malformed)
    )
    excluded = (unreadable, *table.left_out, ("nothing was counted", None))
    if mean is None:
        return Contributions(*ratios[0], excluded=excluded, noted=(flagged,))
    return Contributions(np.where(counted, 0.0, np.nan), ratios=tuple(ratios), excluded=excluded, noted=(flagged,))


def _all_measures(data: RunData) -> list[Names]:
    table = data.table
    return [
        (component, name)
        for component, measures in table.measures.items()
        for name in (*table.means.get(component, {}), *measures)
    ]


def _readable_measures(data: RunData) -> list[Names]:
    """None where nothing is malformed: both are one then."""
    return _all_measures(data) if data.table.malformed.any() else []


def _better_measure(suite: SuiteModel, names: Names) -> Better:
    declared = next((component for component in suite.components if component.name == names[0]), None)
    if declared is None or declared.kind == "flag":
        return "higher" if declared is None else "lower"
    measure = declared.means.get(names[1]) or declared.measures.get(names[1])
    return cast(Better, measure.better) if measure else ""


def _findings(data: RunData) -> Labels:
    table = data.table
    return Labels(table.codes, table.finding_sample, table.finding_code, table.conclusive, excluded=table.left_out)


def _found_once(data: RunData) -> Labels:
    sample, label = data.table.findings_once()
    return replace(_findings(data), sample=sample, label=label)


def _code(data: RunData, names: Names) -> Contributions:
    return _findings(data).of(names[0], once=False)


def _has_code(data: RunData, names: Names) -> Contributions:
    return _findings(data).of(names[0], once=True)


def _total_findings(data: RunData, _: Names) -> Contributions:
    table = data.table
    values = np.bincount(table.finding_sample.astype(int), minlength=table.n).astype(float)
    values[~table.conclusive] = np.nan
    return Contributions(values, excluded=table.left_out)


_SUM_OF_TIMES = "sum / n; a lower bound where calls timed out"
TIMED_OUT = "timed out: counts as at least the time waited"


def _latency(data: RunData, _: Names) -> Contributions:
    table = data.table
    values, timed_out = table.times()
    return Contributions(
        values,
        at_least=timed_out,
        excluded=(
            ("the call failed", table.unanswered()[1]),
            ("the answer came from the cache", table.cached()),
            ("the call has no measured time", None),
        ),
        noted=((TIMED_OUT, timed_out),),
    )


def _reported(name: str) -> Any:
    return lambda data, _: Contributions(data.table.reported(name), excluded=(("the call did not tell it", None),))


def _attempts(data: RunData, _: Names) -> Contributions:
    attempts = data.table.attempts()
    return Contributions(attempts, not_missing=np.isnan(attempts), excluded=((NO_CALL, None),))


def _first_failed(data: RunData, _: Names) -> Contributions:
    table = data.table
    no_call = np.isnan(table.attempts())
    failed = np.where(no_call, np.nan, table.first_failed())
    return Contributions(failed, not_missing=no_call, excluded=((NO_CALL, None),))


NO_CALL = "no call was made: the answer was cached, replayed or imported"


def _codes(data: RunData) -> list[Names]:
    return [(code,) for code in data.table.codes]


def _components(data: RunData) -> list[Names]:
    return [(name,) for name in data.table.components]


def _scale_of(data: RunData, names: Names) -> tuple[float, float]:
    return data.table.scales.get(names[0], (0.0, 1.0))


def latency_quantile(percent: int, *, compared: Compared = Compared.NO, about: str = "") -> Metric:
    """A percentile of the times of calls."""
    return Metric(
        f"latency.p{percent}",
        "s",
        about or f"time that {percent} % of calls stay within",
        f"the {percent}th percentile, between the two nearest; a lower bound where timeouts reach into it",
        _TIMED,
        Quantile(percent / 100),
        _latency,
        "lower",
        stands_on="calls that were answered or timed out",
        compared=compared,
        for_sure=False,
        group="latency",
    )


def _latency_metric(
    name: str, about: str, formula: str, aggregate: Aggregate, compared: Compared = Compared.NO
) -> Metric:
    return replace(
        latency_quantile(50, compared=compared),
        name=f"latency.{name}",
        about=about,
        formula=formula,
        aggregate=aggregate,
    )


def _sum_of_calls(name: str, unit: str, column: str, what: str) -> Metric:
    return Metric(
        name,
        unit,
        f"sum of the {what} that calls reported",
        f"sum of {what}",
        _REPORTED,
        Aggregate.SUM,
        _reported(column),
        "lower",
        stands_on="calls that reported it",
        for_sure=False,
        group="spending",
        compared_as=unit if name == "cost.total" else "",
    )


_POINTS = {"p50": "median of the", "p95": "95th percentile of the", "mean": "mean of the"}


def _streamed(column: str, unit: str, better: Better, about: str) -> Iterator[Metric]:
    """The figures of streamed answers; a run without any does not have them."""

    def contributions(data: RunData, _: Names) -> Contributions:
        excluded = (("the answer was not streamed", None),)
        if column == "tokens_per_second":
            return Contributions(data.table.tokens_per_second(), excluded=excluded)
        values, timed_out = data.table.times(column)
        return Contributions(values, at_least=timed_out, excluded=excluded, noted=((TIMED_OUT, timed_out),))

    for like in (
        latency_quantile(50),
        latency_quantile(95),
        _latency_metric("mean", "", _SUM_OF_TIMES, Aggregate.MEAN),
    ):
        point = like.name.partition(".")[2]
        yield replace(
            like,
            name=f"{column}.{point}",
            unit=unit,
            about=f"{_POINTS[point]} {about}",
            formula=like.formula if unit == "s" else like.formula.partition(";")[0],
            counts="calls whose answer was streamed; one that timed out before its first token counts as at least the"
            " time waited; of tokens a second, answers with two tokens or more",
            contributions=contributions,
            better=better,
            stands_on="streamed answers",
            all_names=lambda data: [()] if np.isfinite(data.table.reported("first_token")).any() else [],
            group="streaming",
        )


for _metric in (
    Metric(
        "pass_rate",
        "share",
        "passed samples among those with a score",
        "passed / n",
        _MALFORMED_FAILED,
        Aggregate.RATE,
        _passed,
        stands_on="conclusive samples",
        group="headline",
        needs="pass",
    ),
    Metric(
        "average",
        "score",
        "mean score; a malformed answer counts as 0",
        "sum of scores / n",
        _CONCLUSIVE,
        Aggregate.MEAN,
        _score,
        stands_on="conclusive samples",
        group="headline",
    ),
    Metric(
        "median",
        "score",
        "middle score; a malformed answer counts as 0",
        "the middle score, or midway between the middle two",
        _CONCLUSIVE,
        Quantile(0.5),
        _score,
        stands_on="conclusive samples",
        for_sure=False,
        group="headline",
    ),
    Metric(
        "scored_rate",
        "share",
        "samples whose answer was read and scored, among all planned",
        "scored / planned",
        "malformed, inconclusive, excluded and missing all count as not scored",
        Aggregate.RATE,
        _ending("scored"),
        stands_on="all samples",
        compared=Compared.NO,
        group="failures",
    ),
    Metric(
        "malformed_rate",
        "share",
        "answers in the wrong shape, among conclusive samples",
        "malformed / (scored + malformed)",
        _LEFT_OUT,
        Aggregate.RATE,
        _malformed,
        "lower",
        stands_on="conclusive samples",
        compared=Compared.WHOLE_RUN,
        group="format",
    ),
    Metric(
        "inconclusive_rate",
        "share",
        "samples whose target or judge failed, among all planned",
        "inconclusive / planned",
        "target failed, judge failed, excluded and missing all count as inconclusive",
        Aggregate.RATE,
        _ending("inconclusive"),
        "lower",
        stands_on="all samples",
        compared=Compared.WHOLE_RUN,
        group="failures",
    ),
    Metric(
        CORRECTED,
        "share",
        "pass rate by judge and labels together; of a suite without a judge, its own pass and fail stand for it",
        "share that passes by labels among what the judge passes, and among the rest, weighted by how many it passes",
        f"labels of all samples, or of a random sample of at least 10; n/a for chosen texts; {_MALFORMED_FAILED}",
        Aggregate.ESTIMATE,
        _corrected,
        stands_on="conclusive samples, some of them labelled",
        all_names=lambda data: [] if data.labels is None else [()],
        compared=Compared.WHOLE_RUN,
        for_sure=False,
        needs="pass",
    ),
    Metric(
        "band.<band>",
        "share",
        "samples in that band, among those with a band",
        "samples in the band / samples in any band",
        f"a malformed answer is in the lowest band, where that begins at 0; {_LEFT_OUT}",
        Aggregate.RATE,
        lambda data, names: _bands(data).of(names[0], once=True),
        _better_band,
        stands_on="conclusive samples that have a band",
        labels=_bands,
        all_names=lambda data: [(name,) for name in data.table.bands],
        group="bands",
    ),
    Metric(
        "score.<component>.average",
        "score",
        "mean of one component, as a fraction of its scale",
        "(sum of the component's values / n - lowest) / (highest - lowest)",
        _SCORED,
        Aggregate.MEAN,
        _component_share,
        stands_on="samples in which it was scored",
        all_names=_components,
        derived=True,
        group="components",
    ),
    Metric(
        "score.<component>.points",
        "points",
        "mean of one component, on its own scale",
        "sum of the component's values / n",
        _SCORED,
        Aggregate.MEAN,
        _component,
        stands_on="samples in which it was scored",
        all_names=_components,
        scale=_scale_of,
        group="components",
    ),
    Metric(
        "score.<component>.<measure>",
        "share",
        "ratio of two counts of a component, each summed over samples",
        "sum of one count / sum of another; of a mean of measures, the mean of such ratios, those of nothing left out",
        "both counts are summed over the samples in which both are known: a sample with more to count has more weight;"
        " malformed and inconclusive samples have nothing that was counted",
        Aggregate.RATIO,
        _measure,
        _better_measure,
        stands_on="samples in which both were counted",
        all_names=_all_measures,
        group="measures",
    ),
    Metric(
        f"score.<component>.<measure>{READABLE}",
        "share",
        "the same, malformed answers left out",
        "as of the measure itself, over answers that could be read",
        "malformed answers are left out, with what they should have held; the measure over all is reported as well",
        Aggregate.RATIO,
        _measure_readable,
        _better_measure,
        stands_on="samples in which both were counted, malformed ones left out",
        all_names=_readable_measures,
        compared=Compared.NO,
        group="measures",
    ),
    Metric(
        "findings.total",
        "count",
        "number of findings of any code",
        "number of findings",
        _RESULT,
        Aggregate.SUM,
        _total_findings,
        "lower",
        stands_on="conclusive samples",
        derived=True,
        for_sure=False,
        group="findings",
    ),
    Metric(
        "findings.<code>",
        "count",
        "number of findings of that code",
        "number of findings of that code; a sample may have several",
        _RESULT,
        Aggregate.SUM,
        _code,
        "lower",
        stands_on="conclusive samples",
        labels=_findings,
        all_names=_codes,
        for_sure=False,
        group="findings",
    ),
    Metric(
        "findings.<code>.rate",
        "share",
        "conclusive samples with at least one finding of that code",
        "samples with at least one such finding / conclusive samples",
        _RESULT,
        Aggregate.RATE,
        _has_code,
        "lower",
        stands_on="conclusive samples",
        labels=_found_once,
        all_names=_codes,
        group="findings",
    ),
    Metric(
        "findings.<code>.samples",
        "count",
        "number of samples with at least one finding of that code",
        "samples with at least one such finding",
        _RESULT,
        Aggregate.SUM,
        _has_code,
        "lower",
        stands_on="conclusive samples",
        labels=_found_once,
        all_names=_codes,
        group="findings",
    ),
    Metric(
        "attempts.total",
        "count",
        "attempts of all calls, retries included",
        "sum of attempts",
        "cached, replayed and imported answers made no call and are left out",
        Aggregate.SUM,
        _attempts,
        "lower",
        stands_on="calls",
        compared=Compared.NO,
        for_sure=False,
        group="attempts",
    ),
    Metric(
        "first_attempt_failure_rate",
        "share",
        "calls whose first attempt failed, whatever came of later ones",
        "calls whose first attempt failed / calls",
        "cached, replayed and imported answers made no call and are left out",
        Aggregate.RATE,
        _first_failed,
        "lower",
        stands_on="calls",
        compared=Compared.NO,
        group="attempts",
    ),
    latency_quantile(50, compared=Compared.PAIRS, about="median time of calls"),
    latency_quantile(95, compared=Compared.PAIRS),
    latency_quantile(99),
    _latency_metric("mean", "mean time of calls", _SUM_OF_TIMES, Aggregate.MEAN, Compared.PAIRS),
    _latency_metric("min", "fastest call", "the lowest", Aggregate.MIN),
    _latency_metric("max", "slowest call", "the highest; a lower bound where calls timed out", Aggregate.MAX),
    *_streamed("first_token", "s", "lower", "time to the first token"),
    *_streamed("tokens_per_second", "number", "higher", "tokens a second after the first of an answer"),
    _sum_of_calls("cost.total", "cost", "cost", "costs"),
    _sum_of_calls("tokens.in", "tokens", "tokens_in", "input tokens"),
    _sum_of_calls("tokens.out", "tokens", "tokens_out", "output tokens"),
):
    register(_metric)
