"""What labels say of a run's texts, as figures: how many have some, how many of these pass, how often the judge errs.

The pass rate by judge and labels together, which gates can name, is `pass_rate.corrected` in `samples`.
"""

from __future__ import annotations

from collections.abc import Callable

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


def _rows(make: Callable[[LabelledPasses], tuple[Array, Array]]) -> Contribute:
    """A row for each text that the first column marks, with its value in the second."""

    def contributions(data: RunData, _: Names) -> Contributions:
        mask, values = make(_labels(data))
        sample = np.flatnonzero(mask)
        return Contributions(values[sample].astype(float), excluded=_UNREAD, sample=sample)

    return contributions


def _if_judged(labels: LabelledPasses, values: Array) -> Array:
    return np.where(np.isnan(labels.judged), np.nan, values)


def _judged_as(passes: int) -> Contribute:
    """The texts that pass by their labels, or do not, and whether the judge says so, too."""
    return _rows(lambda labels: (labels.passes == passes, _if_judged(labels, labels.judged == passes)))


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
        _rows(lambda labels: (~np.isnan(labels.judged), labels.texts)),
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
        contributions=_rows(lambda labels: (~np.isnan(labels.judged), labels.otherwise)),
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
        contributions=_rows(lambda labels: (np.isin(labels.passes, (0, 1)), _if_judged(labels, labels.passes))),
        figure=_share_passing,
        better="",
    )
)
for _name, _passes, _verb in (("sensitivity", 1, "pass"), ("specificity", 0, "do not pass")):
    _about = f"texts that {_verb} by their labels and that the judge {'passes' if _passes else 'does not pass'}"
    register(
        same_but(
            _SHARE,
            name=f"pass_rate.{_name}",
            about=_about,
            formula=f"{_about} / judged texts that {_verb} by their labels",
            counts="texts on which people differ are left out",
            contributions=_judged_as(_passes),
        )
    )
