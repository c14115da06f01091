"""What a report lists of a run's judge besides its figures: why texts have no reading, rebuttals, usual scores."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.judge.votes import Votes, votes_in
from steelyard.analysis.model import JudgeDetails, UsualScore
from steelyard.metrics.run_data import RunData


def judge_details(data: RunData) -> JudgeDetails | None:
    """The lists of a run's judge; None for a run without one, and where nobody asks what it did."""
    if data.suite.judge is None or data.judged is None:
        return None
    votes = votes_in(data)
    usual = {name: usual_score(votes, name) for name in votes.rubric.dimensions}
    return JudgeDetails(
        mode=votes.rubric.mode,
        why_failed=votes.why_failed,
        why_excluded=votes.why_excluded,
        rebuttals=votes.rebuttals,
        constant=constant_dimensions(votes, data.suite.judge.constant),
        usual={name: item for name, item in usual.items() if item is not None},
    )


def constant_dimensions(votes: Votes, expected: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The dimensions in which at least two texts have a score and all have the same, but for those in which the suite
    expects it."""
    return tuple(name for name in votes.rubric.dimensions if name not in expected and _is_constant(votes, name))


def _is_constant(votes: Votes, name: str) -> bool:
    given = votes.uncapped(name)
    given = given[~np.isnan(given)]
    return len(given) > 1 and bool((given == given[0]).all())


def usual_score(votes: Votes, name: str) -> UsualScore | None:
    """The score that a dimension has most often; None without any. Its repeats give a unit of evidence one label."""
    every, label = votes.uncapped(name), votes.labels.of(name)
    given = ~np.isnan(every)
    scores, first, times = np.unique(every[given], return_index=True, return_counts=True)
    if not len(scores):
        return None
    # Of scores that are as frequent, the one that came first.
    at = int(np.lexsort((first, -times))[0])
    labelled = given & ~np.isnan(label.best)
    rows = np.column_stack([column[labelled] for column in (votes.unit, label.best, label.low, label.high)])
    _, best, low, high = np.unique(rows, axis=0).T
    score = float(scores[at])
    return UsualScore(
        score,
        int(times[at]),
        n_texts=int(given.sum()),
        n_labelled=len(best),
        n_refused=int(((score < low) | (score > high)).sum()),
        labels_differ=len(np.unique(best)) > 1,
    )
