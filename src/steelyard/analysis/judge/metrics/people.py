"""Several people beside a judge: how far they agree with each other, and with the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from steelyard.analysis.judge.define import JACKKNIFE, judge_metric, rows_of
from steelyard.analysis.judge.metrics.labels import BY_LABELS, LABELLED, MEAN_INTERVAL, differences
from steelyard.analysis.judge.votes import Votes
from steelyard.metrics.kinds import NO_INTERVAL
from steelyard.metrics.registry import Names
from steelyard.stats.intervals import Estimate


def _with_people(votes: Votes) -> Iterable[Names]:
    return [(name,) for name in votes.rubric.dimensions if votes.people(name) is not None]


def _of_people(figure: Callable[[Any], Estimate]) -> Callable[[Votes, str], Estimate]:
    return lambda votes, name: figure(votes.people(name))


for _name, _unit, _about, _formula, _beside, _interval in (
    (
        *("kappa", "kappa", "kappa between two people: the ceiling of a judge's"),
        "Cohen's kappa with quadratic weights between two people, over all pairs of them",
        lambda people: people.kappa,
        JACKKNIFE,
    ),
    (
        *("judge_kappa", "kappa", "kappa between the judge and one person"),
        "Cohen's kappa with quadratic weights between the judge and one person, over all people",
        lambda people: people.judge_kappa,
        JACKKNIFE,
    ),
    (
        *("alpha", "alpha", "Krippendorff's alpha of all people"),
        "Krippendorff's alpha, ordinal, between all people",
        lambda people: people.alpha,
        JACKKNIFE,
    ),
    (
        *("advantage", "share", "how often the judge is at least as near to the others as a person is"),
        "mean over people of the share of texts on which the judge is at least as near to the others",
        lambda people: people.test.advantage,
        MEAN_INTERVAL,
    ),
    (
        *("winning_rate", "share", "people than whom the judge is worse by less than epsilon"),
        "people than whom the judge is worse by less than epsilon, beyond noise / people with enough texts",
        lambda people: Estimate(people.test.winning_rate, people.test.n_people),
        NO_INTERVAL,
    ),
):
    judge_metric(
        f"people.<dimension>.{_name}",
        _unit,
        _about,
        _formula,
        rows_of(differences),
        better="higher",
        gate=False,
        figure=_of_people(_beside),
        interval=_interval,
        names=_with_people,
        counts=f"{LABELLED}; the difference of the judge's score and the label is listed",
        **BY_LABELS,
    )
