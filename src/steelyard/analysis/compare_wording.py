"""The answer of a comparison in words: better, worse, the same or nobody can tell, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.compare_model import Headline, MetricChange, Moved, Pairs
from steelyard.analysis.compared_figures import verdict_of
from steelyard.analysis.number_text import percent, percentage
from steelyard.stats.paired import FEWEST_TO_SHOW
from steelyard.suite.models import SuiteDescription
from steelyard.suite.values import MIN_PAIRED

_NAMES = {"pass_rate": "pass rate", "average": "average score"}
_SURE = ((0.001, "very sure"), (0.01, "sure"), (1.0, "fairly sure"))


def headline(
    metrics: Sequence[MetricChange],
    pairs: Pairs,
    hindered_by: Sequence[str],
    *,
    moved_beside: int = 0,
    anyway: bool = False,
    doubt: str = "",
) -> Headline:
    """The answer; `metrics` are those of the headline, the one that decides first, and `moved_beside` says how many
    figures that have no part in it moved beyond noise. With a `doubt` that no figure shows nobody is more than fairly
    sure."""
    main = metrics[0]
    hindered = () if anyway else tuple(hindered_by)
    verdict = _verdict(metrics, hindered)
    return Headline(
        verdict=verdict,
        sentence=_sentence(verdict, metrics, pairs, hindered) + _beside(verdict, moved_beside),
        how_sure=_how_sure(verdict, main, hindered, doubt),
        metric=main.name,
        smallest=_smallest(main),
        hindered_by=hindered,
        in_spite_of=tuple(hindered_by) if anyway else (),
    )


def too_few_paired(suite: SuiteDescription, n: int, answered: int) -> str:
    """Says that fewer cases that either run answered are in pairs than the suite asks for; "" when enough are."""
    if not n or n >= suite.min_paired * answered:
        return ""
    return f"{on_cases(n, answered)} can be compared, and a verdict asks for {percent(suite.min_paired, 0)} of them"


def turns_on_truth(by_b: MetricChange, by_a: MetricChange) -> str:
    """Says that the change comes to something else by A's truth than by B's; "" when it does not."""
    if verdict_of(by_b, by_b.p) is verdict_of(by_a, by_a.p):
        return ""
    return f"it turns on the truth edits: {_told(by_b, with_p=True)} by B's truth, {_told(by_a, with_p=True)} by A's"


def on_cases(n: int, answered: int) -> str:
    """`20 of 120 cases that either run answered`."""
    return f"{n:,} of {answered:,} cases that either run answered"


def _on_few(pairs: Pairs) -> str:
    """What a verdict on few of all cases says of itself."""
    return "" if pairs.n_cases >= MIN_PAIRED * pairs.n_answered else f"; on {on_cases(pairs.n_cases, pairs.n_answered)}"


def _verdict(metrics: Sequence[MetricChange], hindered: Sequence[str]) -> Moved:
    if hindered:
        return Moved.CANNOT_TELL
    main = metrics[0]
    if main.verdict is Moved.SAME and any(each.verdict is not Moved.SAME for each in metrics):
        return Moved.CANNOT_TELL
    return main.verdict


def _sentence(verdict: Moved, metrics: Sequence[MetricChange], pairs: Pairs, hindered: Sequence[str]) -> str:
    main = metrics[0]
    if not pairs.comparable:
        why = ", ".join(f"{each.count:,} {reason}" for reason, each in pairs.not_comparable.items())
        return "cannot tell: no sample of A can be compared with one of B" + (f" ({why})" if why else "")
    if verdict is Moved.SAME:
        return f"no change: {_told(main)}, the same in every pair{_on_few(pairs)}"
    if verdict is not Moved.CANNOT_TELL:
        return f"B is {verdict}: {_told(main)}{_but(metrics)}{_on_few(pairs)}"
    if hindered:
        return f"cannot tell: {hindered[0]}"
    return f"cannot tell whether B is better: {_told(main)}{_but(metrics)}{_on_few(pairs)}"


def _beside(verdict: Moved, n: int) -> str:
    if verdict is not Moved.SAME or not n:
        return ""
    return f"; but {n} other figure{'' if n == 1 else 's'} moved beyond noise"


def _but(metrics: Sequence[MetricChange]) -> str:
    """What the other figures of the headline show and the one that decides does not: scores may fall, and no sample
    change sides."""
    main, others = metrics[0], metrics[1:]
    told = ""
    for each in others:
        if each.verdict in (Moved.BETTER, Moved.WORSE) and each.verdict is not main.verdict:
            way = "rose" if (each.difference.value or 0.0) > 0 else "fell"
            told += f"; but the {_named(each)} {way} beyond noise: {_told(each, with_p=True)}"
        elif main.verdict is Moved.SAME and each.verdict is not Moved.SAME:
            told += f"; {_told(each)}"
    return told


def _named(change: MetricChange) -> str:
    return _NAMES.get(change.name, change.name)


def _told(change: MetricChange, *, with_p: bool = False) -> str:
    name = _named(change)
    before, after, by = change.a.value, change.b.value, change.difference
    if before is None or after is None or by.value is None:
        return f"{name} n/a"
    interval = "" if by.low is None or by.high is None else f" [{percentage(by.low):+.1f}, {percentage(by.high):+.1f}]"
    cases = f"{by.n} {change.counts}{'' if by.n == 1 else 's'}"
    if with_p and change.p_adjusted is not None:
        cases += ", p < 0.001" if change.p_adjusted < 0.001 else f", p {change.p_adjusted:.3f}"
    return f"{name} {percent(before)} -> {percent(after)} ({percentage(by.value):+.1f} points{interval}, {cases})"


def _how_sure(verdict: Moved, main: MetricChange, hindered: Sequence[str], doubt: str) -> str:
    if hindered:
        return "not at all: " + "; ".join(hindered)
    if main.p is None:
        return "undefined: " + (
            f"one {main.counts} shows no spread" if main.difference.n else "nothing can be compared"
        )
    if verdict is Moved.SAME:
        return "no pair differs in pass or score; that says nothing about answers that may come"
    if verdict is Moved.CANNOT_TELL:
        if main.difference.n < FEWEST_TO_SHOW:
            few = f"{main.difference.n} {main.counts}s are too few to show anything"
            return f"not sure: {few}, {FEWEST_TO_SHOW} are the fewest"
        return f"not sure: chance alone shows as large a difference in {_in_words(main.p)} comparisons"
    word = _SURE[-1][1] if doubt else next(word for below, word in _SURE if main.p <= below)
    but = f"; but {doubt}" if doubt else ""
    return f"{word}: chance alone shows as large a difference in {_in_words(main.p)} comparisons{but}"


def _in_words(p: float) -> str:
    if p < 0.001:
        return "fewer than 1 of 1,000"
    if p < 0.1:
        return f"{max(1, round(1000 * p))} of 1,000"
    return f"{round(100 * p)} of 100"


def _smallest(main: MetricChange) -> str:
    n, units = main.difference.n, f"{main.difference.n} {main.counts}s"
    if main.smallest is None:
        return f"{units} could not have shown any difference" if 0 < n < FEWEST_TO_SHOW else ""
    return f"a true difference of {percentage(main.smallest):.1f} points would be shown by {units} 4 times of 5"
