"""What every view says in words of a judge: who it is, in which mode it read, and what it said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.records import RunHeader
from steelyard.report import figures
from steelyard.report.model import BallotDetail, JudgementDetail, Marked, Report


def mode_sentence(report: Report) -> str:
    """The mode of the figures and what is set aside: `38 judged by model, 2 by basic set aside`; "" without a judge."""
    main = described_judge(report.header).get("mode")
    if main is None:
        return ""
    modes = report.summary.modes
    n_main = modes[main].n if main in modes else 0
    others = [f"{each.n:,} {name} set aside, in no figure" for name, each in modes.items() if name != main]
    return ", ".join([f"{figures.counted(n_main, 'sample')} judged by {main}", *others])


def described_judge(header: RunHeader) -> dict[str, Any]:
    """The judge as the run's header describes it; empty without one."""
    judge = header.suite.get("judge")
    return judge if isinstance(judge, dict) else {}


def judged_by(header: RunHeader) -> str:
    """Who judged: `m-1 at http://localhost/v1`, or `rules (code: my.module:judge)`, with repeats and how they count."""
    judge = described_judge(header)
    members = [_member(each) for each in judge.get("members") or () if isinstance(each, dict)]
    repeats = judge.get("repeats", 1)
    told = ", ".join(members) or "an unknown judge"
    if repeats and repeats > 1:
        told += f"; each text {repeats} times"
    if len(members) > 1 or (repeats and repeats > 1):
        told += f", combined by {judge.get('combine', 'median')}"
    return told


def _member(member: dict[str, Any]) -> str:
    name = str(member.get("name", ""))
    if member.get("kind") == "python":
        return f"{name} (code: {member.get('function')})"
    model, address = str(member.get("model") or ""), member.get("address")
    told = model if name in ("", model) else f"{name} (model {model})"
    return f"{told} at {address}" if address else told


def judge_scale(header: RunHeader) -> tuple[float, float]:
    """Lowest and highest score of the rubric."""
    low, high = (described_judge(header).get("rubric") or {}).get("scale") or (1, 5)
    return float(low), float(high)


def flag_names(header: RunHeader) -> list[str]:
    """The flags of the rubric."""
    flags = (described_judge(header).get("rubric") or {}).get("flags") or ()
    return [str(each["name"]) for each in flags]


def judged_names(header: RunHeader) -> set[str]:
    """Dimensions and flags: what a judge says, beside what scorers compute."""
    dimensions = (described_judge(header).get("rubric") or {}).get("dimensions") or ()
    return {str(each["name"]) for each in dimensions} | set(flag_names(header))


def mark_words(mark: Marked) -> str:
    """`tone: 5 -> 4 (when not structure.complete then tone <= 4)`, `tone: 4`, `harm: no -> yes (...)`."""
    raw, bound = said(mark.raw), said(mark.bound)
    if raw == bound:
        return f"{mark.name}: {bound}"
    why = f" ({mark.bound_by})" if mark.bound_by else ""
    return f"{mark.name}: {raw} -> {bound}{why}"


def said(value: float | bool | None) -> str:
    """A score or a flag as it is said: `4`, `yes`."""
    if value is None:
        return figures.NOT_AVAILABLE
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:g}"


def judged_lines(judged: JudgementDetail) -> Iterator[str]:
    """What all ballots come to, line by line."""
    yield f"mode: {judged.mode or 'no reading'}" + (" (set aside)" if judged.aside else "")
    if judged.shortened:
        yield "a judge saw only the head and the tail of this text"
    if judged.told:
        yield judged.told
    yield from (mark_words(mark) for mark in judged.marks)
    yield from judged.remarks


def ballot_name(ballot: BallotDetail) -> str:
    """The member, with the number of its reading when that is not the first: `m-1 #2`."""
    return f"{ballot.member} #{ballot.repeat + 1}" if ballot.repeat else ballot.member


def ballot_lines(ballot: BallotDetail) -> Iterator[str]:
    """One ballot, line by line: how it was read, its marks, what else it said, and what is wrong with it."""
    yield f"read: {ballot.rung.replace('_', ' ')}; mode: {ballot.mode or 'no reading'}"
    if ballot.told:
        yield ballot.told
    yield from (mark_words(mark) for mark in ballot.marks)
    for name, text in ballot.said:
        yield f"{name}: {text}" if "\n" not in text else f"{name}:\n{text}"
    yield from ballot.remarks
