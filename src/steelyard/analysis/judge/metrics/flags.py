"""The flags of a judge: how often it sets them, and whether a careful reviewer sets them as well."""

from __future__ import annotations

from functools import partial

import numpy as np

from steelyard.analysis.judge.define import judge_metric, labelled_rows, rows_of, share_of_texts
from steelyard.analysis.judge.metrics.labels import BY_LABELS, LABELLED
from steelyard.analysis.judge.metrics.scale import NO_SCORE
from steelyard.analysis.judge.votes import Votes, text_rows
from steelyard.metrics.registry import Contribute, Contributions
from steelyard.stats.arrays import Array
from steelyard.stats.groups import of_some, share
from steelyard.stats.intervals import Estimate

_RATE = "Wilson's score interval; texts of one case count as one cluster"


def _flagged(votes: Votes, name: str, *, capped: bool) -> tuple[Array, Array, Array]:
    """By labelled text, what the judge and the reviewer say of a flag, and its case."""
    label = votes.labels.flag(name)
    labelled = ~np.isnan(label)
    given = votes.capped(name) if capped else votes.uncapped(name)
    return given[labelled], label[labelled], votes.unit[labelled]


def _precision(votes: Votes, name: str, *, capped: bool = False) -> Estimate:
    given, label, case = _flagged(votes, name, capped=capped)
    return of_some(share(label == 1, given == 1, case), int(np.isnan(given).sum()))


def _recall(votes: Votes, name: str, *, capped: bool = False) -> Estimate:
    given, label, case = _flagged(votes, name, capped=capped)
    known = ~np.isnan(given)
    return of_some(share(given == 1, (label == 1) & known, case), int(((label == 1) & ~known).sum()))


def _flag_rows(which: str, *, capped: bool) -> Contribute:
    """Of precision the texts that the judge flagged and whether the reviewer does; of recall the other way round."""

    def rows(votes: Votes, name: str) -> Contributions:
        given, label = votes.capped(name) if capped else votes.uncapped(name), votes.labels.flag(name)
        inside, of = (given == 1, label) if which == "precision" else (label == 1, given)
        return labelled_rows(votes, of, inside & ~np.isnan(label))

    return rows_of(rows)


for _name, _rate, _about, _formula in (
    (
        *("precision", _precision, "labelled true, among those the judge flagged"),
        "texts flagged by both / labelled texts that the judge flagged",
    ),
    (
        *("recall", _recall, "flagged by the judge, among those labelled true"),
        "texts flagged by both / texts that the reviewer flags",
    ),
):
    for _capped in (False, True):
        judge_metric(
            f"flag.<flag>.{'capped_' if _capped else ''}{_name}",
            "share",
            f"{_about}{', after rules and checks' if _capped else ''}",
            _formula,
            _flag_rows(_name, capped=_capped),
            better="higher",
            gate=not _capped,
            figure=partial(_rate, capped=_capped),
            interval=_RATE,
            counts=LABELLED,
            **BY_LABELS,
        )
judge_metric(
    "flag.<flag>.share",
    "share",
    "texts that the judge flagged",
    "texts that the judge flagged / texts with a reading",
    rows_of(
        lambda votes, name: text_rows(
            votes, share_of_texts(votes.uncapped(name) == 1, ~np.isnan(votes.uncapped(name))), NO_SCORE
        )
    ),
    better="",
    gate=False,
    of="texts",
)
