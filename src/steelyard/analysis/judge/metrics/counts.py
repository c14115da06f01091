"""How many texts and votes a judge had, what they are counted by, and why texts came to nothing, reason by reason."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.analysis.judge.define import judge_metric, rows_of, share_of_texts
from steelyard.analysis.judge.reasons import excluded_texts, silent_texts
from steelyard.analysis.judge.votes import Votes, text_rows, vote_rows, votes_in
from steelyard.metrics.registry import Contribute, Contributions, Names
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array

_IN_ORDER = "numbered in the order of the report"


def _texts(mask: Callable[[Votes], Array]) -> Contribute:
    return rows_of(lambda votes: text_rows(votes, mask(votes).astype(float)))


for _name, _about, _mask in (
    ("texts", "texts that came before the judge", lambda votes: np.ones(votes.n_texts)),
    ("texts.failed", "texts whose judgement came to nothing", lambda votes: votes.silent),
    ("texts.excluded", "texts whose judgement is in another mode", lambda votes: ~(votes.in_mode | votes.silent)),
    ("texts.labelled", "texts that a reviewer has labelled", lambda votes: votes.labels.any),
    (
        "texts.labelled_otherwise",
        "texts with labels that were given for another text, or do not say for which",
        lambda votes: votes.labels.otherwise,
    ),
):
    judge_metric(_name, "count", _about, _about, _texts(_mask), better="", gate=False, of="texts")


judge_metric(
    "votes",
    "count",
    "votes of the judge",
    "votes",
    lambda data, _: vote_rows(data, votes_in(data), np.ones(votes_in(data).n)),
    better="",
    gate=False,
)


def _mode(data: RunData, names: Names) -> Contributions:
    votes = votes_in(data)
    return vote_rows(data, votes, (votes.mode == votes.mode_names.get(names[0], -2)).astype(float))


def _step(data: RunData, names: Names) -> Contributions:
    votes = votes_in(data)
    return vote_rows(data, votes, (votes.step == votes.step_names.get(names[0], -1)).astype(float))


def _remark(data: RunData, names: Names) -> Contributions:
    votes = votes_in(data)
    hits = share_of_texts(votes.remarked(names[0]), votes.main)
    return vote_rows(data, votes, hits, "another mode than the run's, or no scores")


for _kind, _rows, _there in (
    ("mode", _mode, lambda votes: votes.modes),
    ("step", _step, lambda votes: votes.steps),
    ("remark", _remark, lambda votes: votes.remarks),
):
    judge_metric(
        f"{_kind}.<{_kind}>",
        "count",
        f"votes with that {_kind}",
        f"votes with that {_kind}",
        _rows,
        better="",
        gate=False,
        names=lambda votes, there=_there: [(name,) for name in there(votes)],  # type: ignore[misc]
    )


def _of_reason(
    reasons: Callable[[Votes], dict[str, int]], texts: Callable[[RunData, str], Contributions]
) -> Contribute:
    """The texts whose judgement has the reason of a number."""

    def rows(data: RunData, names: Names) -> Contributions:
        return texts(data, list(reasons(votes_in(data)))[int(names[0]) - 1])

    return rows


for _name, _about, _reasons, _of_one in (
    ("why_failed", "texts that are inconclusive for that reason", lambda votes: votes.why_failed, silent_texts),
    (
        *("why_excluded", "texts whose judgement is not in the mode that was asked for, for that reason"),
        *(lambda votes: votes.why_excluded, excluded_texts),
    ),
):
    judge_metric(
        f"{_name}.<n>",
        "count",
        _about,
        _about,
        _of_reason(_reasons, _of_one),
        gate=False,
        of="texts",
        counts=_IN_ORDER,
        listed=True,
        names=lambda votes, reasons=_reasons: [(str(at + 1),) for at in range(len(reasons(votes)))],  # type: ignore[misc]
    )
