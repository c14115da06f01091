"""What labels say of a run's texts, as figures: how many have some, how many of these pass, how often the judge errs.

The pass rate by judge and labels together, which gates can name, is `pass_rate.corrected` in `samples`.
"""

from __future__ import annotations

import numpy as np

from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contribute, Contributions, Level, Metric, Names, register, same_but
from steelyard.metrics.run_data import LabelledPasses, RunData
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate

_UNREAD = (("no reading of the judge", None),)


def _labels(data: RunData) -> LabelledPasses:
    if data.labels is None:
        raise ValueError("a run without labels has no metrics of them")
    return data.labels


def _rows(mask: Array, values: Array) -> Contributions:
    """A row for each sample that `mask` marks; `values` has one for every sample."""
    sample = np.flatnonzero(mask)
    return Contributions(values[sample], excluded=_UNREAD, sample=sample)


def _texts(which: str) -> Contribute:
    """Every judged text, and whether it is one of those."""

    def contributions(data: RunData, _: Names) -> Contributions:
        labels = _labels(data)
        return _rows(~np.isnan(labels.judged), getattr(labels, which).astype(float))

    return contributions


def _judged_as(passes: bool) -> Contribute:
    """The texts that pass by their labels, or do not, and whether the judge says so, too."""

    def contributions(data: RunData, _: Names) -> Contributions:
        labels = _labels(data)
        judged = np.where(np.isnan(labels.judged), np.nan, labels.judged == passes)
        return _rows(labels.passes == passes, judged)

    return contributions


def _passing(data: RunData, _: Names) -> Contributions:
    """The texts whose labels tell, and whether they pass by these."""
    labels = _labels(data)
    values = np.where(np.isnan(labels.judged), np.nan, labels.passes)
    return _rows((labels.passes == 0) | (labels.passes == 1), values)


def _share_passing(data: RunData, _: Names) -> Estimate:
    return _labels(data).corrected(np.arange(data.table.n)).labels


_TEXTS = register(
    Metric(
        "labels.texts",
        "count",
        "judged texts with labels that count",
        "judged texts with labels that count",
        "labels of all texts, of a random sample, or of chosen texts where there are no others; of a suite without a"
        " judge, a text is an answer with pass or fail",
        Aggregate.SUM,
        _texts("texts"),
        "",
        Level.LABEL,
        gate=False,
        sliced=False,
        of="texts",
        all_names=lambda data: [] if data.labels is None else [()],
        stands_on="judged texts",
    )
)
register(
    same_but(
        _TEXTS,
        name="labels.otherwise",
        about="judged texts whose case has labels of another text, or that do not say of which",
        formula="judged texts whose case has labels of another text, or that do not say of which",
        counts="their labels are in no figure",
        contributions=_texts("otherwise"),
    )
)
_SHARE = same_but(_TEXTS, unit="share", aggregate=Aggregate.RATE, better="higher", stands_on="texts whose labels tell")
register(
    same_but(
        _SHARE,
        name="pass_rate.labels",
        about="labeled texts that pass by their labels",
        formula="texts that pass by their labels / labeled texts that were judged",
        counts="texts on which people differ are left out; chosen texts give no interval",
        contributions=_passing,
        figure=_share_passing,
        better="",
    )
)
for _name, _about, _passes in (
    ("sensitivity", "texts that pass by their labels and that the judge passes", True),
    ("specificity", "texts that do not pass by their labels and that the judge does not pass", False),
):
    register(
        same_but(
            _SHARE,
            name=f"pass_rate.{_name}",
            about=_about,
            formula=f"{_about} / judged texts that {'pass' if _passes else 'do not pass'} by their labels",
            counts="texts on which people differ are left out",
            contributions=_judged_as(_passes),
        )
    )
