"""The scores of a judge against those that a careful reviewer gives the same texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard.analysis.judge.define import JACKKNIFE, judge_metric, labelled_rows, rows_of, without_sign
from steelyard.analysis.judge.votes import Votes
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contribute, Contributions, Level
from steelyard.stats.agreement import krippendorff_alpha, score_correlation, spearman, weighted_kappa
from steelyard.stats.arrays import Array
from steelyard.stats.groups import mean
from steelyard.stats.intervals import Estimate

_HAIR = 1e-9
BY_LABELS: dict[str, Any] = {"needs": "labels", "of": "texts", "level": Level.LABEL}
LABELLED = "texts that a reviewer has labelled; of several votes on one, what they come to"
MEAN_INTERVAL = "Wilson's score interval by the standard error of the mean; texts of one case count as one cluster"


def _outside(votes: Votes, name: str, *, capped: bool = False) -> Array:
    """By text, how far its score is beyond the range that the reviewer allows; below 0 inside of it."""
    given, label = votes.capped(name) if capped else votes.uncapped(name), votes.labels.of(name)
    outside: Array = np.maximum(label.low - given, given - label.high)
    return outside


def _within(points: float, *, capped: bool = False) -> Contribute:
    def rows(votes: Votes, name: str) -> Contributions:
        outside, label = _outside(votes, name, capped=capped), votes.labels.of(name)
        hits = np.where(np.isnan(outside), np.nan, outside < points + _HAIR)
        return labelled_rows(votes, hits, ~(np.isnan(label.low) | np.isnan(label.high)), _both(votes, name))

    return rows_of(rows)


def _both(votes: Votes, name: str) -> Callable[[int], str]:
    given, label = votes.uncapped(name), votes.labels.of(name)
    return lambda text: f"judge {given[text]:g}, label {label.best[text]:g}"


def differences(votes: Votes, name: str) -> Contributions:
    """By text, the judge's score less the best score of its label."""
    label = votes.labels.of(name)
    return labelled_rows(votes, votes.uncapped(name) - label.best, ~np.isnan(label.best), _both(votes, name))


for _name, _about, _points in (
    ("exact", "scores inside the allowed range", 0.0),
    ("within_one", "scores in the allowed range or at most one point outside it", 1.0),
):
    judge_metric(
        f"agreement.<dimension>.{_name}",
        "share",
        _about,
        f"{_about} / labelled texts with a score",
        _within(_points),
        better="higher",
        counts=LABELLED,
        **BY_LABELS,
    )
    judge_metric(
        f"agreement.<dimension>.capped_{_name}",
        "share",
        f"{_about}, after rules and checks",
        f"{_about} after rules and checks / labelled texts with a score",
        _within(_points, capped=True),
        better="higher",
        gate=False,
        counts=LABELLED,
        **BY_LABELS,
    )


def _best(votes: Votes, name: str) -> Contributions:
    label = votes.labels.of(name)
    away = np.abs(votes.uncapped(name) - label.best)
    hits = np.where(np.isnan(away), np.nan, away < _HAIR)
    return labelled_rows(votes, hits, ~np.isnan(label.best), _both(votes, name))


judge_metric(
    "agreement.<dimension>.best",
    "share",
    "scores equal to the label",
    "scores equal to the best score of the label / labelled texts with a score",
    rows_of(_best),
    better="higher",
    gate=False,
    counts=LABELLED,
    **BY_LABELS,
)


def _of_labelled(figure: Callable[[Array, Array, Array], Estimate]) -> Callable[[Votes, str], Estimate]:
    """A figure of the labelled texts: of the judge's scores, the best scores of the labels, and their cases."""

    def of(votes: Votes, name: str) -> Estimate:
        best = votes.labels.of(name).best
        labelled = ~np.isnan(best)
        return figure(votes.uncapped(name)[labelled], best[labelled], votes.unit[labelled])

    return of


for _name, _unit, _gate, _about, _formula, _figure in (
    (
        *("kappa", "kappa", True, "weighted kappa between judge and labels", "Cohen's kappa with quadratic weights"),
        lambda judge, best, case: weighted_kappa(judge, best, case=case),
    ),
    (
        *("kappa_linear", "kappa", False, "kappa with linear weights", "Cohen's kappa with linear weights"),
        lambda judge, best, case: weighted_kappa(judge, best, power=1, case=case),
    ),
    (
        *("alpha", "alpha", True, "Krippendorff's alpha of judge and labels", "Krippendorff's alpha, ordinal"),
        lambda judge, best, case: krippendorff_alpha(np.stack((judge, best)), case=case),
    ),
    (
        *("alpha_interval", "alpha", False, "Krippendorff's alpha of the points"),
        "Krippendorff's alpha of intervals",
        lambda judge, best, case: krippendorff_alpha(np.stack((judge, best)), level="interval", case=case),
    ),
    (
        *("pearson", "kappa", True, "Pearson's correlation of judge and labels", "Pearson's correlation"),
        lambda judge, best, case: score_correlation(judge, best, "pearson", case),
    ),
    (
        *("spearman", "kappa", True, "Spearman's correlation of judge and labels", "Spearman's correlation"),
        lambda judge, best, case: score_correlation(judge, best, "spearman", case),
    ),
    (
        *("kendall", "kappa", True, "Kendall's tau-b of judge and labels", "Kendall's tau-b, which allows for ties"),
        lambda judge, best, case: score_correlation(judge, best, "kendall", case),
    ),
):
    judge_metric(
        f"agreement.<dimension>.{_name}",
        _unit,
        _about,
        f"{_formula}, of the judge's score and the best score of the label",
        rows_of(differences),
        better="higher",
        gate=_gate,
        figure=_of_labelled(_figure),
        interval=JACKKNIFE,
        counts=f"{LABELLED}; the difference of the two is listed",
        **BY_LABELS,
    )


def _bias(votes: Votes, name: str) -> Estimate:
    width = votes.rubric.high - votes.rubric.low
    return _of_labelled(lambda judge, best, case: mean(judge - best, case, (-width, width)))(votes, name)


judge_metric(
    "agreement.<dimension>.difference",
    "points",
    "mean of judge minus label: above 0 the judge is lenient",
    "sum of (score - best score of the label) / labelled texts with a score",
    rows_of(differences),
    better="",
    gate=False,
    figure=lambda votes, name: votes.once(_bias, name),
    interval=MEAN_INTERVAL,
    counts=LABELLED,
    **BY_LABELS,
)
judge_metric(
    "agreement.<dimension>.bias",
    "points",
    "mean of judge minus best, without its sign",
    "sum of (score - best score of the label) / labelled texts with a score, without its sign",
    rows_of(differences),
    figure=lambda votes, name: without_sign(votes.once(_bias, name)),
    interval=MEAN_INTERVAL,
    counts=LABELLED,
    **BY_LABELS,
)


def _far(votes: Votes, name: str) -> Contributions:
    outside = np.nan_to_num(np.round(_outside(votes, name), 9), nan=0.0) > 0
    return labelled_rows(votes, outside, ~np.isnan(votes.labels.of(name).best), _both(votes, name))


judge_metric(
    "agreement.<dimension>.outside",
    "count",
    "texts with a score outside the allowed range",
    "labelled texts with a score outside the range that the reviewer allows",
    rows_of(_far),
    gate=False,
    counts=LABELLED,
    **BY_LABELS,
)


def _top_of_labels(votes: Votes, name: str) -> Contributions:
    best = votes.labels.of(name).best
    return labelled_rows(votes, best == votes.rubric.high, ~np.isnan(best))


def _top_beyond(votes: Votes, name: str) -> Contributions:
    given, best, highest = votes.uncapped(name), votes.labels.of(name).best, votes.rubric.high
    apart = (given == highest).astype(float) - (best == highest)
    return labelled_rows(votes, apart, ~(np.isnan(given) | np.isnan(best)), _both(votes, name))


judge_metric(
    "top_labelled.<dimension>",
    "share",
    "labelled texts that deserve the highest score",
    "texts with the highest score of the scale as their label / labelled texts",
    rows_of(_top_of_labels),
    better="",
    gate=False,
    counts=LABELLED,
    **BY_LABELS,
)
judge_metric(
    "top_beyond.<dimension>",
    "points",
    "how much more often the judge gives the highest score than the labels",
    "share of labelled texts with the highest score by the judge - share of those with it by the labels",
    rows_of(_top_beyond),
    gate=False,
    aggregate=Aggregate.MEAN,
    scale=lambda _: (-1.0, 1.0),
    counts=LABELLED,
    **BY_LABELS,
)


def _length_of_labels(votes: Votes, name: str) -> Estimate:
    best = votes.labels.of(name).best
    labelled = ~np.isnan(best)
    return spearman(best[labelled], votes.length[labelled], votes.unit[labelled])


judge_metric(
    "length.<dimension>.labels",
    "size",
    "correlation of the label with the length of the text",
    "Spearman's correlation of the best score of the label and characters",
    rows_of(lambda votes, name: labelled_rows(votes, (best := votes.labels.of(name).best), ~np.isnan(best))),
    better="",
    gate=False,
    figure=_length_of_labels,
    counts=LABELLED,
    **BY_LABELS,
)
