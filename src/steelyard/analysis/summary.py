"""The summary of a run: overall and by slice. What few runs have is imported where it is computed, for them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from steelyard.analysis.checks import check_details
from steelyard.analysis.confusions import top_confusions
from steelyard.analysis.fixes import find_priorities, found_codes
from steelyard.analysis.latency import latency_details
from steelyard.analysis.listed_samples import ListedSamples, listed_samples
from steelyard.analysis.model import BestVariant, ReusedAnswers, Summary
from steelyard.analysis.patterns import find_patterns
from steelyard.analysis.repeat_conditions import failing_cells
from steelyard.metrics.run_data import RunData
from steelyard.metrics.run_figures import run_figures
from steelyard.metrics.stability import Placed
from steelyard.metrics.table import Table, clusters_in_words
from steelyard.store.base import Checks, ClaimColumns, Columns, JudgedSample
from steelyard.store.contents import Contents
from steelyard.suite.models import SuiteModel

if TYPE_CHECKING:
    from steelyard.analysis.confidence_model import ConfidenceTexts
    from steelyard.analysis.flaky import FlakyCell
    from steelyard.analysis.judge.corrected import LabelColumns, RunLabels
    from steelyard.analysis.model import JudgeDetails
    from steelyard.analysis.stability import StabilityDetails


def summarise(
    columns: Columns,
    suite: SuiteModel,
    judgements: Iterable[JudgedSample] | None = None,
    claims: ClaimColumns | None = None,
    checks: Checks | None = None,
    items: Iterable[Placed] | None = None,
    load: str | None = "",
    contents: Callable[[], Contents] | None = None,
    labels: RunLabels | None = None,
) -> Summary:
    """The summary of a run; `suite` is the suite as the run's header describes it.

    Samples that were planned and did not come are missing from every figure of the whole run. `judgements` are those of
    the run in the order of its plan; they are read once, into columns. `claims` are what its answers claimed,
    `checks` what became of its expectations, `items` what its repeats are compared by; `contents` gives what its
    findings say, last of all. `load` says in words how the calls were made; None leaves out all about latency that no
    gate stands on. `labels` are what reviewers say of its cases and people of its answers.
    """
    data = RunData(columns, suite, checks, items, None if claims is None else lambda: claims)
    by_labels = None if labels is None else _label_columns(labels, data)
    data.labels = None if by_labels is None else by_labels.column()
    data.judged = None if judgements is None or suite.judge is None else lambda: judgements
    data.case_labels = None if labels is None else labels.by_case
    table = data.table
    figures = run_figures(data)
    overall = figures.slice()
    return Summary(
        passing=suite.passing.text if suite.passing else "",
        figures=figures,
        patterns=find_patterns(data),
        priorities=find_priorities(data, overall),
        reused=ReusedAnswers.of(table),
        codes=found_codes(data, overall),
        best_variant=_best_variant(data),
        repeats=int(columns.repeat.max()) + 1 - int(columns.repeat.min()) if columns.n else 1,
        method=_method(table, clustered=any(group.clustered for group in data.groups.values())),
        judge=_judge(data),
        judge_check=None if by_labels is None else by_labels.check(),
        confidence=_confidence(data),
        checks=check_details(data),
        flaky_cells=_flaky_cells(data),
        stability=_stability(data),
        latency=None if load is None else latency_details(table, suite, load),
        confusions=[] if contents is None else top_confusions(table, suite, contents()),
        failing_cells=failing_cells(data),
        samples=ListedSamples() if load is None else listed_samples(data),
    )


def _judge(data: RunData) -> JudgeDetails | None:
    if data.judged is None:
        return None
    from steelyard.analysis.judge.details import judge_details

    return judge_details(data)


def _label_columns(labels: RunLabels, data: RunData) -> LabelColumns:
    from steelyard.analysis.judge.corrected import LabelColumns

    return LabelColumns(labels, data)


def _confidence(data: RunData) -> ConfidenceTexts | None:
    if data.claims is None or not data.claims().n:
        return None
    from steelyard.analysis.confidence import run_confidence
    from steelyard.analysis.confidence_model import texts_of

    figures = data.once(run_confidence)
    return None if figures is None else texts_of(figures)


def _flaky_cells(data: RunData) -> list[FlakyCell]:
    if data.clean_repeats is None:
        return []
    from steelyard.analysis.flaky import flaky_cells

    return flaky_cells(data.clean_repeats, data.cells)


def _stability(data: RunData) -> StabilityDetails | None:
    if data.stability is None:
        return None
    from steelyard.analysis.stability import stability_details

    return stability_details(data)


def _best_variant(data: RunData) -> BestVariant | None:
    if len(data.table.variants) < 2:
        return None
    from steelyard.analysis.variants import compared_variants

    compared = data.once(compared_variants)
    return None if compared is None else compared.result


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
