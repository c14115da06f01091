"""What every view says in words of a judge: who it is, in which mode it read, and what it said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.analysis.judge_model import INFLATION
from steelyard.analysis.model import Estimate
from steelyard.records import BROKE_OFF, Mode, RunHeader
from steelyard.report import figures
from steelyard.report.model import BallotDetail, JudgementDetail, Marked, Report
from steelyard.report.safe_text import clipped

_MEND_CUT_OFF = "give the judge more max_tokens, then steelyard rescore --judge-again"
_MEND_ASIDE = (
    "let it be asked again with ask_again, or take one that keeps to the response's schema,"
    " then steelyard rescore --judge-again"
)

_LONGEST_PROBLEM = 300
_FEWEST = 10
"""Fewer texts than this show no habit."""
_MUCH_BROKEN, _MUCH_MADE_UP, _MUCH_DISAGREEMENT = 0.10, 0.05, 0.20


def mode_sentence(report: Report) -> str:
    """The mode of the figures and what is set aside: `38 judged by model, 2 by basic set aside`; "" without a judge."""
    main = described_judge(report.header).get("mode")
    if main is None:
        return ""
    modes = report.summary.modes
    n_main = modes[main].n if main in modes else 0
    others = [f"{each.n:,} {name} set aside, in no figure" for name, each in modes.items() if name != main]
    return ", ".join([f"{figures.counted(n_main, 'sample')} judged by {main}", *others])


def aside_sentence(report: Report) -> str:
    """Why samples are set aside, or all are basic, by the first of them, and what to do; "" when none is."""
    judged = [each.judgement for each in report.details if each.judgement]
    if described_judge(report.header).get("mode") == Mode.BASIC:
        problem = next((ballot.told for each in judged for ballot in each.ballots if ballot.told), "")
        detail = f": {clipped(problem, _LONGEST_PROBLEM)}" if problem else ""
        return f"basic: of the judge's answers no more than the scores could be read{detail}"
    why = [each.aside_why for each in judged if each.aside]
    if not why:
        return ""
    if Mode.BASIC not in report.summary.modes:
        return f"set aside: {why[0]}; judge all of them alike"
    cut_off = next((each for each in why if BROKE_OFF in each), None)
    return f"set aside: {cut_off or why[0]}; {_MEND_CUT_OFF if cut_off else _MEND_ASIDE}"


def judge_warnings(report: Report) -> list[str]:
    """What a reader must know of the judge before trusting a figure; no verdict stands on it."""
    judge = report.summary.judge
    if judge is None:
        return []
    top = judge_scale(report.header)[1]
    found = [
        _warning(judge.broken_rules, _MUCH_BROKEN, "ballots broke a rule of the suite"),
        _warning(judge.made_up_quotes, _MUCH_MADE_UP, "ballots quote what the text does not say"),
        _warning(judge.disagreement, _MUCH_DISAGREEMENT, "texts have readings that lie far apart"),
    ]
    # Code has no habits: of what it computes, all may well be due the highest score.
    habits = {} if judge.mode == Mode.RULES else judge.dimensions
    enough = {name: each for name, each in habits.items() if each.top_share.n >= _FEWEST}
    same = [name for name, each in enough.items() if each.constant]
    inflated = [
        f"{name} {figures.band_count(each.top_share)}"
        for name, each in enough.items()
        if not each.constant and (each.top_share.low or 0.0) > INFLATION
    ]
    if inflated:
        found.append(f"{top:g} of {top:g} for more than 1 in 10 texts is inflation: {', '.join(inflated)}")
    if same:
        found.append(f"the same score for every text tells none from another: {', '.join(same)}")
    return [f"{each}; see steelyard judge check" for each in found if each]


def _warning(share: Estimate, limit: float, words: str) -> str:
    return f"{figures.band_count(share)} {words}" if (share.value or 0.0) > limit else ""


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


def failing_flags(header: RunHeader) -> list[str]:
    """The flags that fail a text which carries them."""
    flags = (described_judge(header).get("rubric") or {}).get("flags") or ()
    return [str(each["name"]) for each in flags if each.get("fails")]


def judge_name(header: RunHeader) -> str:
    """Who judged in one or two words: `rules`, `model qwen2.5`; "" without a judge."""
    judge = described_judge(header)
    names = [str(each.get("name") or each.get("model") or "") for each in judge.get("members") or ()]
    mode = str(judge.get("mode") or "")
    return " ".join(dict.fromkeys([mode, ", ".join(names)])).strip()


def judged_names(header: RunHeader) -> set[str]:
    """Dimensions, flags and further figures: what a judge says, beside what scorers compute."""
    dimensions = (described_judge(header).get("rubric") or {}).get("dimensions") or ()
    further = [each for each in header.suite.get("components") or () if each.get("kind") == "said"]
    return {str(each["name"]) for each in (*dimensions, *further)} | set(flag_names(header))


def mark_words(mark: Marked) -> str:
    """`tone: 5 -> 4 (when not structure.complete then tone <= 4)`, `tone: 4`, `harm: no -> yes (...)`."""
    raw, bound = said(mark.raw), said(mark.bound)
    label = f"; label {mark.label}" if mark.label else ""
    if raw == bound:
        return f"{mark.name}: {bound}{label}"
    why = f" ({mark.bound_by})" if mark.bound_by else ""
    return f"{mark.name}: {raw} -> {bound}{why}{label}"


def said(value: float | bool | None) -> str:
    """A score or a flag as it is said: `4`, `yes`."""
    if value is None:
        return figures.NOT_AVAILABLE
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:g}"


def judged_lines(judged: JudgementDetail) -> Iterator[str]:
    """What all ballots come to, line by line."""
    yield f"mode: {judged.mode or 'no reading'}" + (f" (set aside: {judged.aside_why})" if judged.aside else "")
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
