"""Whether a judge tells texts apart: one that gives all, or nearly all, of them one score may tell nothing."""

from __future__ import annotations

from collections.abc import Collection

from steelyard.analysis.model import JudgeDetails, UsualScore
from steelyard.stats.intervals import wilson

FEWEST_ALIKE = 5
"""Fewer texts that have the same scores show no habit."""
_FEWEST_NEARLY = 20
_NEARLY_ALL = 0.95


def constant_judge(figures: JudgeDetails, scale: tuple[float, float], expected: Collection[str] = ()) -> str:
    """Why the scores of a judge tell nothing of texts that differ; "" when they do, or when one score may be due.

    In the dimensions of `expected` the suite declares that one score is, unless labels contradict it.

    A judge that gives all texts the same scores is suspect. Labels that are all alike allow it, and so does a scale of
    two, on which a system that is always right has one score. In a single dimension, and where it is nearly all texts,
    the labels must contradict it: they refuse the score to more texts than the judge does.
    """
    usual = {name: item for name, item in figures.usual.items() if item.n_texts >= FEWEST_ALIKE}
    open_to_doubt = {name: item for name, item in usual.items() if name not in expected}
    constant = bool(open_to_doubt) and all(item.n == item.n_texts for item in usual.values())
    if constant and not _may_be_due(open_to_doubt, scale):
        given = ", ".join(f"{name} {item.score:g}" for name, item in open_to_doubt.items())
        n = max(item.n_texts for item in open_to_doubt.values())
        return f"the judge gives all {n:,} texts the same scores ({given}) although the texts differ"
    refused = [
        f"{name} {item.score:g} to {item.n:,} of {item.n_texts:,}; labels refuse it to"
        f" {item.n_refused:,} of {item.n_labelled:,}"
        for name, item in usual.items()
        if _is_contradicted(item)
    ]
    return f"the judge hardly separates texts that differ by their labels ({', '.join(refused)})" if refused else ""


def hardly_distinguishes(usual: UsualScore | None, scale: tuple[float, float]) -> bool:
    """True when nearly all texts have one score on a scale of more than two, and no labels show that it is due."""
    if usual is None or usual.n == usual.n_texts or scale[1] - scale[0] == 1:
        return False
    return _is_nearly_constant(usual) and (usual.n_labelled < FEWEST_ALIKE or _is_contradicted(usual))


def _may_be_due(usual: dict[str, UsualScore], scale: tuple[float, float]) -> bool:
    if any(item.labels_differ for item in usual.values()):
        return False
    labelled, refused = (sum(getattr(item, name) for item in usual.values()) for name in ("n_labelled", "n_refused"))
    return (labelled >= FEWEST_ALIKE and not refused) or (scale[1] - scale[0] == 1 and not refused)


def _is_nearly_constant(usual: UsualScore) -> bool:
    return usual.n == usual.n_texts or (usual.n_texts >= _FEWEST_NEARLY and usual.n >= _NEARLY_ALL * usual.n_texts)


def _is_contradicted(usual: UsualScore) -> bool:
    if usual.n_labelled < FEWEST_ALIKE or not _is_nearly_constant(usual):
        return False
    bounds = wilson(usual.n_refused / usual.n_labelled, usual.n_labelled)
    # At the lower end the labels must still differ from that score more than twice as often as the judge does.
    return bounds is not None and bounds[0] > max(1 - _NEARLY_ALL, 2 * (1 - usual.n / usual.n_texts))
