"""Why samples are inconclusive, and why calls failed, by reason: what reports list, most frequent first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from steelyard.failures import failure_reason
from steelyard.frozen import frozen
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.records import SCORER_ERROR, Outcome


@frozen
class _Reason:
    """One reason, in words, with the samples that have it."""

    words: str
    samples: tuple[int, ...]


def _by_reason(told: Iterable[tuple[int, str, str]]) -> list[_Reason]:
    """Samples by what tells their reasons from each other, each with its first wording, in the order they come."""
    words: dict[str, str] = {}
    samples: dict[str, list[int]] = {}
    for sample, key, text in told:
        words.setdefault(key, text)
        samples.setdefault(key, []).append(sample)
    return [_Reason(text, tuple(samples[key])) for key, text in words.items()]


def _frequent(reasons: Iterable[_Reason]) -> list[_Reason]:
    return sorted(reasons, key=lambda reason: -len(reason.samples))


def _causes(data: RunData) -> list[_Reason]:
    """Why calls of the system failed, most frequent first."""

    def told() -> Iterator[tuple[int, str, str]]:
        for at, (sample, _) in enumerate(data.read):
            if (failure := sample.call_result.failure) is not None:
                key, text = failure_reason(failure.kind, failure.message)
                yield at, key, f"target: {text}"

    return _frequent(_by_reason(told()))


def _silent(data: RunData) -> list[_Reason]:
    """Why the judge said nothing of texts, most frequent first."""
    if data.suite.judge is None:
        return []
    from steelyard.analysis.judge.reasons import reason_of

    judged = ((at, item.judgement) for at, (item, _) in enumerate(data.read))
    told = ((at, *reason_of(judgement)) for at, judgement in judged if judgement is not None and judgement.mode is None)
    # Of equally frequent ones, that of the first key.
    return _frequent(_by_reason(sorted(told, key=lambda item: item[1])))


def _broken(data: RunData) -> list[_Reason]:
    """Why scorers broke, in the order of the plan."""

    def told() -> Iterator[tuple[int, str, str]]:
        for at, (sample, wrong) in enumerate(data.read):
            kind, _, message = wrong.partition(": ")
            if sample.outcome is Outcome.JUDGE_FAILED and kind == SCORER_ERROR:
                yield at, *failure_reason("", message)

    return _by_reason(told())


def _inconclusive(data: RunData) -> list[_Reason]:
    return _frequent([*_silent(data), *_causes(data), *_broken(data)])


def _with_reason(reasons: Callable[[RunData], list[_Reason]]) -> Callable[[RunData, Names], Contributions]:
    """The samples with one of the reasons."""

    def contributions(data: RunData, names: Names) -> Contributions:
        reason = data.once(reasons)[int(names[0]) - 1]
        values = np.full(data.table.n, np.nan)
        values[list(reason.samples)] = 1.0
        return Contributions(
            values, not_missing=np.isnan(values), detail=lambda at: data.read[at][1] or reason.words, words=reason.words
        )

    return contributions


def _numbers(reasons: Callable[[RunData], list[_Reason]]) -> Callable[[RunData], list[Names]]:
    return lambda data: [(str(at + 1),) for at in range(len(data.once(reasons)))]


_INCONCLUSIVE = register(
    Metric(
        "inconclusive.<n>",
        "count",
        "samples that are inconclusive for one reason",
        "samples that are inconclusive for that reason",
        "in the order of the report",
        Aggregate.SUM,
        _with_reason(_inconclusive),
        "lower",
        gate=False,
        sliced=False,
        listed=True,
        all_names=_numbers(_inconclusive),
        stands_on="samples with that reason",
    )
)
register(
    same_but(
        _INCONCLUSIVE,
        name="failure_causes.<n>",
        about="samples whose call failed with one code and message",
        formula="samples whose call failed with that code and message",
        contributions=_with_reason(_causes),
        all_names=_numbers(_causes),
    )
)
