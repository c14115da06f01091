"""Whether a judge tells texts apart: one that gives all, or nearly all, of them one score may tell nothing."""

from __future__ import annotations

from steelyard.analysis.model import JudgeFigures, UsualScore
from steelyard.stats.intervals import wilson

FEWEST_ALIKE = 5
"""Fewer texts that have the same scores show no habit."""
_FEWEST_NEARLY = 20
_NEARLY_ALL = 0.95


def constant_judge(figures: JudgeFigures, scale: tuple[float, float]) -> str:
    """Why the scores of a judge tell nothing of texts that differ; "" when they do, or when one score may be due.

    A judge that gives all texts the same scores is suspect. Labels that are all alike allow it, and so does a scale of
    two, on which a system that is always right has one score. In a single dimension, and where it is nearly all texts,
    the labels must contradict it: they refuse the score to more texts than the judge does.
    """
    usual = {name: each.usual for name, each in figures.dimensions.items() if each.usual is not None}
    usual = {name: each for name, each in usual.items() if each.n_texts >= FEWEST_ALIKE}
    if usual and all(each.n == each.n_texts for each in usual.values()) and not _may_be_due(usual, scale):
        given = ", ".join(f"{name} {each.score:g}" for name, each in usual.items())
        n = max(each.n_texts for each in usual.values())
        return f"the judge gives all {n:,} texts the same scores ({given}) although the texts differ"
    refused = [
        f"{name} {each.score:g} to {each.n:,} of {each.n_texts:,}; labels refuse it to"
        f" {each.n_refused:,} of {each.n_labelled:,}"
        for name, each in usual.items()
        if _is_contradicted(each)
    ]
    return f"the judge hardly tells texts apart that differ by their labels ({', '.join(refused)})" if refused else ""


def hardly_tells_apart(usual: UsualScore | None, scale: tuple[float, float]) -> bool:
    """True when nearly all texts have one score on a scale of more than two, and no labels show that it is due."""
    if usual is None or usual.n == usual.n_texts or scale[1] - scale[0] == 1:
        return False
    return _is_nearly_constant(usual) and (usual.n_labelled < FEWEST_ALIKE or _is_contradicted(usual))


def _may_be_due(usual: dict[str, UsualScore], scale: tuple[float, float]) -> bool:
    if any(each.labels_differ for each in usual.values()):
        return False
    labelled, refused = (sum(getattr(each, name) for each in usual.values()) for name in ("n_labelled", "n_refused"))
    return (labelled >= FEWEST_ALIKE and not refused) or (scale[1] - scale[0] == 1 and not refused)


def _is_nearly_constant(usual: UsualScore) -> bool:
    return usual.n == usual.n_texts or (usual.n_texts >= _FEWEST_NEARLY and usual.n >= _NEARLY_ALL * usual.n_texts)


def _is_contradicted(usual: UsualScore) -> bool:
    if usual.n_labelled < FEWEST_ALIKE or not _is_nearly_constant(usual):
        return False
    bounds = wilson(usual.n_refused / usual.n_labelled, usual.n_labelled)
    # At the lower end the labels must still differ from that score more than twice as often as the judge does.
    return bounds is not None and bounds[0] > max(1 - _NEARLY_ALL, 2 * (1 - usual.n / usual.n_texts))
