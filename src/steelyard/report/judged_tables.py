"""What a judge said and did in a run, as tables: dimensions in points, flags, and the judge itself."""

from __future__ import annotations

from steelyard.analysis.ballots import FAILED
from steelyard.analysis.model import Estimate, JudgeFigures
from steelyard.report import figures, judged_wording, wording
from steelyard.report.model import Report
from steelyard.report.tables import Column, Kind, Table
from steelyard.store.base import Spending

_RATE = "rate"
_SHOWN_ALWAYS = ("RULE_BROKEN", "MADE_UP_QUOTE", "CONTRADICTION", "CUT_OFF")


def dimensions(report: Report) -> Table:
    """Every dimension in points: the mean that counts, the mean as the judge said, and how often they differ."""
    judge = report.summary.judge
    if judge is None:
        return Table("", (), [])
    low, high = judged_wording.judge_scale(report.header)
    rows = [
        (
            name,
            wording.weight_of(report.header, name),
            figures.plain(each.bound_mean.value),
            figures.interval(each.bound_mean, "points"),
            figures.plain(each.raw_mean.value),
            figures.percent(each.bound.value),
            figures.bare_base(each.bound_mean),
        )
        for name, each in judge.dimensions.items()
    ]
    titles = ("Weight", "Mean", "95 % interval", "As judged", "Bound", "n")
    note = "mean: after rules and checks, in points; as judged: before; bound: share of the texts that differ"
    columns = (Column("Dimension", Kind.TEXT), *map(Column, titles))
    return Table(f"Dimensions (scores {low:g} to {high:g})", columns, rows, note if rows else "")


def flags(report: Report) -> Table:
    """How many texts carry each flag after the rules."""
    rows = []
    for name in judged_wording.flag_names(report.header):
        ratio = report.summary.overall.measures.get(name, {}).get(_RATE)
        if ratio is not None:
            rate = ratio.estimate
            shown = (figures.percent(rate.value), figures.interval(rate), figures.bare_base(rate))
            rows.append((name, f"{ratio.numerator:,} of {ratio.denominator:,}", *shown))
    columns = (Column("Flag", Kind.TEXT), *map(Column, ("Flagged", "Share", "95 % interval", "n")))
    return Table("Flags", columns, rows)


def judge(report: Report) -> list[tuple[str, str]]:
    """Who judged, in which mode, how the answers were read, what was wrong with them, and what it took."""
    found = report.summary.judge
    if found is None:
        return []
    rows = [
        ("Judged by", judged_wording.judged_by(report.header)),
        ("Mode", judged_wording.mode_sentence(report)),
        ("Read", _rungs(found)),
        ("Broken rules", _share(found.broken_rules)),
        ("Made-up quotes", _share(found.made_up_quotes)),
        ("Not usable", _share(found.failed)),
    ]
    if found.contradictions.n:
        rows.insert(-1, ("Contradicted by the answer", _share(found.contradictions)))
    if found.cut_off.value:
        rows.append(("Cut off at the limit", _share(found.cut_off)))
    if found.unanswered.value:
        rows.append(("Unanswered", _share(found.unanswered)))
    others = [f"{code} {count:,}" for code, count in found.remarks.items() if code not in _SHOWN_ALWAYS]
    if others:
        of = figures.counted(found.broken_rules.n, "ballot")
        rows.append(("Also remarked", f"{', '.join(others)} of {of} in mode {found.mode}"))
    if report.spending is not None and report.spending.calls:
        rows.append(("Judging took", spending_words(report.spending)))
    return rows


def spending_words(spent: Spending) -> str:
    """What calling a judge took; each sum with how many calls it stands on."""
    calls = figures.counted(spent.calls, "call")
    calls += f", {figures.counted(spent.tries, 'try', 'tries')}" if spent.tries > spent.calls else ""
    more = [f"{spent.failed:,} failed"] if spent.failed else []
    more += [f"{spent.cached:,} from the cache"] if spent.cached else []
    parts = [f"{calls} ({', '.join(more)})" if more else calls]
    if spent.n_tokens:
        told = f"n {spent.n_tokens:,}"
        parts.append(f"{spent.tokens_in:,} tokens in, {spent.tokens_out:,} out ({told})")
    parts.append(f"cost {figures.money(spent.cost)} (n {spent.n_cost:,})" if spent.n_cost else "price unknown")
    answered = spent.calls - spent.failed
    if answered:
        parts.append(f"{figures.seconds(spent.latency / answered)} a call (n {answered:,})")
    return "; ".join(parts)


def _rungs(found: JudgeFigures) -> str:
    silent = round((found.unanswered.value or 0.0) * found.unanswered.n)
    named = [(count, rung.replace("_", " ")) for rung, count in found.rungs.items() if rung != FAILED]
    named += [(found.rungs.get(FAILED, 0) - silent, "not usable"), (silent, "unanswered")]
    told = ", ".join(f"{count:,} {words}" for count, words in named if count > 0)
    return f"{told} (n {figures.counted(found.n_ballots, 'ballot')})" if told else "no ballots"


def _share(estimate: Estimate) -> str:
    """A share of ballots: `5.0 % [1.4, 16.5] n 40 ballots, 2 missing`."""
    interval = "" if estimate.low is None else f" {figures.interval(estimate)}"
    missing = f", {estimate.n_missing:,} missing" if estimate.n_missing else ""
    return f"{figures.percent(estimate.value)}{interval} n {figures.counted(estimate.n, 'ballot')}{missing}"
