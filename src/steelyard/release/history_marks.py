"""What is another from one run to the next, and what a change of level is put down to: never to the system alone when
the instrument changed with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from steelyard.analysis.change_points import ChangePoint
from steelyard.analysis.number_text import in_unit
from steelyard.records import RunHeader
from steelyard.release.history_model import HistoryMark, HistoryRun, NamedChange, Trend

_INSTRUMENT = {
    "judge": "the judge",
    "rules": "the judge's rules",
    "scorers": "the scorers",
    "schema": "the shape asked of answers",
    "truth": "the truth",
    "cases": "the set of cases",
}
_SUBJECT = {"model": "the model", "prompts": "the prompts or variants", "target": "the target"}
_ABSENT_IS_SAID = ("judge", "rules", "model")
_MOST_NAMES = 60


def marks_between(headers: Sequence[RunHeader], when: Sequence[float]) -> list[HistoryMark]:
    """Every place where the instrument or what is weighed is another than in the run before."""
    marks = []
    for at, (before, after) in enumerate(pairwise(_as_last_said(headers)), start=1):
        for instrument, parts in ((True, _INSTRUMENT), (False, _SUBJECT)):
            changed = tuple(part for part in parts if _differs(part, before, after))
            if not instrument and "model" in changed:
                # Whoever names another model is another target, too.
                changed = tuple(part for part in changed if part != "target")
            if changed:
                told = _joined([parts[part] + _named(part, before, after) for part in changed])
                marks.append(HistoryMark(at, after.id, when[at], instrument, changed, f"{told} changed"))
    return marks


def _as_last_said(headers: Sequence[RunHeader]) -> Iterator[RunHeader]:
    """The runs, each with what the runs before it said where it does not say."""
    said: dict[str, Any] = {}
    for header in headers:
        said |= {
            part: value for part, value in header.signature.items() if value is not None and part not in _ABSENT_IS_SAID
        }
        yield replace(header, signature=header.signature | said)


def _differs(part: str, before: RunHeader, after: RunHeader) -> bool:
    signed = [header.signature.get(part) for header in (before, after)]
    # A run that does not say is no evidence of a change, except for having a judge at all.
    if part in _ABSENT_IS_SAID:
        return (signed[0] or "") != (signed[1] or "")
    return None not in signed and signed[0] != signed[1]


def _named(part: str, before: RunHeader, after: RunHeader) -> str:
    if part not in ("judge", "model"):
        return ""
    names = [
        _judges(header) if part == "judge" else str(header.signature.get("model") or "") for header in (before, after)
    ]
    if names[0] == names[1]:
        return ""
    return f" ({names[0][:_MOST_NAMES] or 'none'} -> {names[1][:_MOST_NAMES] or 'none'})"


def _judges(header: RunHeader) -> str:
    members = (header.suite.get("judge") or {}).get("members") or ()
    return ", ".join(str(each.get("model") or each.get("function") or each.get("name")) for each in members)


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def named_change(
    point: ChangePoint, trend: Trend, marks: Sequence[HistoryMark], at: int, run: HistoryRun
) -> NamedChange:
    """A change of level in words, with what changed in the same run."""
    instrument = [mark for mark in marks if mark.instrument]
    return NamedChange(
        at=at,
        run_id=run.run_id,
        when=run.answered_at,
        before=point.before,
        after=point.after,
        n_before=point.n_before,
        n_after=point.n_after,
        p=point.p,
        instrument=bool(instrument),
        sentence=" ".join(_sentence(point, trend, marks, run)),
    )


def _sentence(point: ChangePoint, trend: Trend, marks: Sequence[HistoryMark], run: HistoryRun) -> Iterator[str]:
    rose = "rose" if point.after > point.before else "fell"
    figures = f"from {in_unit(point.before, trend.unit)} to {in_unit(point.after, trend.unit)}"
    yield f"{trend.metric} {rose} on {day(run.answered_at)} {figures}"
    yield f"(mean of {_runs(point.n_before)} before, {point.n_after} after, {_p(point.p)}),"
    instrument = [mark.sentence for mark in marks if mark.instrument]
    subject = [mark.sentence for mark in marks if not mark.instrument]
    if instrument and subject:
        yield f"when {instrument[0]}; {subject[0]}, too: nobody can tell which of them did it"
    elif instrument:
        yield f"when {instrument[0]}: it may be the instrument, and is not put down to the system"
    elif subject:
        yield f"when {subject[0]}"
    else:
        yield "with the same instrument, target and prompts as before"


def day(moment: float) -> str:
    """A date as `2026-01-18`."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def days(moments: Sequence[float]) -> list[str]:
    """The date of each moment, with the time where a day has several."""
    dates = [day(moment) for moment in moments]
    several = {date for date, n in Counter(dates).items() if n > 1}
    return [
        datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M") if date in several else date
        for date, moment in zip(dates, moments, strict=True)
    ]


def _runs(n: int) -> str:
    return f"{n} run{'' if n == 1 else 's'}"


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p {value:.3f}"
