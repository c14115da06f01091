"""The answer of a comparison: better, worse, the same or cannot tell, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from steelyard.comparing.model import Headline
from steelyard.pairing.changes import verdict_of
from steelyard.pairing.confounders import on_cases
from steelyard.pairing.figures import UNTOUCHED
from steelyard.pairing.model import MetricChange, Moved, Pairs
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.stats.paired import FEWEST_TO_SHOW
from steelyard.store.headers import is_partial
from steelyard.suite.values import MIN_PAIRED
from steelyard.wording import HEADLINE_METRICS, counted, percent, percentage


def headline(
    metrics: Sequence[MetricChange],
    pairs: Pairs,
    confounded_by: Sequence[str],
    *,
    moved_beside: int = 0,
    allow_mismatch: bool = False,
    doubt: str = "",
    reused: Sequence[str] = (),
) -> Headline:
    """The answer; `metrics` are those of the headline, the one that decides first, and `moved_beside` says how many
    figures that have no part in it moved beyond noise. With a `doubt` that no figure shows nobody is more than fairly
    sure. `reused` says which answers were not requested again."""
    main = metrics[0]
    confounded = () if allow_mismatch else tuple(confounded_by)
    verdict = _verdict(metrics, confounded)
    old = f"{' and '.join(reused)}: answers that were not requested again are no new evidence" if reused else ""
    return Headline(
        verdict=verdict,
        sentence=_sentence(verdict, metrics, pairs, confounded) + _extra(verdict, moved_beside) + (old and f"; {old}"),
        significance=_significance(verdict, main, confounded, "; ".join(filter(None, [doubt, old]))),
        metric=main.name,
        smallest=_smallest(main),
        confounded_by=confounded,
        in_spite_of=tuple(confounded_by) if allow_mismatch else (),
    )


def with_sides(headline: Headline, *runs: RunHeader) -> Headline:
    """The headline with what is wrong with run A or run B itself."""
    notes = [note for name, run in zip("AB", runs, strict=True) for note in _wrong_with(name, run)]
    added = "".join(f"; {note}" for note in notes if note.partition(":")[0] not in headline.sentence)
    return replace(headline, sentence=headline.sentence + added, sides=tuple(notes))


def _wrong_with(name: str, run: RunHeader) -> Iterator[str]:
    if run.state is not RunState.ENDED:
        yield f"run {name} has not ended"
    elif run.verdict is Verdict.INVALID:
        yield f"run {name} is INVALID"
    if run.suspect:
        yield f"run {name} is SUSPECT: {run.suspect[0].partition(';')[0]}"
    if is_partial(run):
        yield f"run {name} is partial: it covers only a part of its suite"


def turns_on_truth(by_b: MetricChange, by_a: MetricChange) -> str:
    """Says that the change comes to something else by A's truth than by B's; "" when it does not."""
    if verdict_of(by_b, by_b.p) is verdict_of(by_a, by_a.p):
        return ""
    now, then = (change_text(change, with_p=True) for change in (by_b, by_a))
    return f"it turns on the truth edits: {now} by B's truth, {then} by A's"


def _on_few(pairs: Pairs) -> str:
    """What a verdict on few of all cases says of itself."""
    return "" if pairs.n_cases >= MIN_PAIRED * pairs.n_answered else f"; on {on_cases(pairs.n_cases, pairs.n_answered)}"


def not_same(changes: Iterable[MetricChange]) -> list[MetricChange]:
    """The changes where answers were not requested again: what does not differ cannot be called the same."""
    return [
        replace(change, verdict=Moved.CANNOT_TELL)
        if change.verdict is Moved.SAME and change.group not in UNTOUCHED
        else change
        for change in changes
    ]


def _verdict(metrics: Sequence[MetricChange], confounded: Sequence[str]) -> Moved:
    if confounded:
        return Moved.CANNOT_TELL
    main = metrics[0]
    if main.verdict is Moved.SAME and any(metric.verdict is not Moved.SAME for metric in metrics):
        return Moved.CANNOT_TELL
    return main.verdict


def _sentence(verdict: Moved, metrics: Sequence[MetricChange], pairs: Pairs, confounded: Sequence[str]) -> str:
    main = metrics[0]
    if not pairs.comparable and not confounded:
        why = ", ".join(f"{item.count:,} {reason}" for reason, item in pairs.not_comparable.items())
        return "cannot tell: no sample of A can be compared with one of B" + (f" ({why})" if why else "")
    if verdict is Moved.SAME:
        return f"no change: {change_text(main)}, the same in every pair{_on_few(pairs)}"
    if verdict is not Moved.CANNOT_TELL:
        return f"B is {verdict}: {change_text(main)}{_but(metrics)}{_on_few(pairs)}"
    if confounded:
        return f"cannot tell: {confounded[0]}"
    return f"cannot tell whether B is better: {change_text(main)}{_but(metrics)}{_on_few(pairs)}"


def _extra(verdict: Moved, n: int) -> str:
    if verdict is not Moved.SAME or not n:
        return ""
    return f"; but {counted(n, 'other figure')} moved beyond noise"


def _but(metrics: Sequence[MetricChange]) -> str:
    """What the other figures of the headline show and the one that decides does not: scores may fall, and no sample
    change sides."""
    main, others = metrics[0], metrics[1:]
    message = ""
    for other in others:
        if other.verdict in (Moved.BETTER, Moved.WORSE) and other.verdict is not main.verdict:
            way = "rose" if (other.difference.value or 0.0) > 0 else "fell"
            message += f"; but the {_named(other)} {way} beyond noise: {change_text(other, with_p=True)}"
        elif main.verdict is Moved.SAME and other.verdict is not Moved.SAME:
            message += f"; {change_text(other)}"
    return message


def _named(change: MetricChange) -> str:
    return HEADLINE_METRICS.get(change.name, change.name)


def change_text(change: MetricChange, *, with_p: bool = False) -> str:
    """`pass rate 50.0 % -> 90.0 % (+40.0 points [+14.3, +57.9], 20 cases)`."""
    name = _named(change)
    before, after, by = change.a.value, change.b.value, change.difference
    if before is None or after is None or by.value is None:
        return f"{name} n/a"
    interval = "" if by.low is None or by.high is None else f" [{percentage(by.low):+.1f}, {percentage(by.high):+.1f}]"
    cases = counted(by.n, change.counts)
    if with_p and change.p_adjusted is not None:
        cases += f", {p_value(change.p_adjusted)}"
    return f"{name} {percent(before)} -> {percent(after)} ({percentage(by.value):+.1f} points{interval}, {cases})"


def _significance(verdict: Moved, main: MetricChange, confounded: Sequence[str], doubt: str) -> str:
    if confounded:
        return "none: " + "; ".join(confounded)
    if main.p is None:
        return "undefined: " + (
            f"one {main.counts} shows no spread" if main.difference.n else "nothing can be compared"
        )
    if verdict is Moved.SAME:
        return "no pair differs in pass or score; that does not generalise to other answers"
    if verdict is Moved.CANNOT_TELL:
        if main.difference.n < FEWEST_TO_SHOW:
            few = f"{main.difference.n} {main.counts}s are too few to show anything"
            return f"not sure: {few}, {FEWEST_TO_SHOW} are the fewest"
        return f"not significant: {p_value(main.p)}"
    return f"limited: {p_value(main.p)}, but {doubt}" if doubt else p_value(main.p)


def p_value(p: float) -> str:
    """`p = 0.021`, or `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _smallest(main: MetricChange) -> str:
    n, units = main.difference.n, f"{main.difference.n} {main.counts}s"
    if main.smallest is None:
        return f"{units} could not have shown any difference" if 0 < n < FEWEST_TO_SHOW else ""
    return f"minimum detectable difference {percentage(main.smallest):.1f} points, with {units} and 80 % power"
