"""The tables of a judge's report card, before a view escapes and lays them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from steelyard.analysis.agreement import Confusion, FlagAgreement
from steelyard.analysis.judge_model import MOST_LISTED, DimensionHealth
from steelyard.analysis.model import Estimate
from steelyard.records import Mode
from steelyard.report import figures
from steelyard.report.judge_card import JudgeCard
from steelyard.report.signatures import OF_A_JUDGE
from steelyard.report.tables import Column, Kind, Table

_MOST_PAIRS = 10
_MOST_RULES = 20
_ACROSS = "~"
_DIMENSION = Column("Dimension", Kind.TEXT)
Cell = Callable[[DimensionHealth], str]


def thresholds(card: JudgeCard) -> Table:
    """Every threshold with value, n, interval and verdict, in the suite's order."""
    rows = [
        (
            threshold.text,
            figures.told_apart(result.value, threshold.unit, threshold.threshold),
            figures.bare_base(result.estimate),
            figures.interval(result.estimate, threshold.unit) + (f" {_ACROSS}" if result.across else ""),
            result.verdict.value,
        )
        for threshold, result in card.checks
    ]
    columns = (Column("Threshold", Kind.TEXT), *map(Column, ("Value", "n", "95 % interval", "Verdict")))
    doubt = [threshold.text for threshold, result in card.checks if result.across]
    note = f"{_ACROSS} the interval reaches across the threshold, more texts would make it surer: {', '.join(doubt)}"
    return Table("Thresholds", columns, rows, note if doubt else "", signature=OF_A_JUDGE)


def agreement(card: JudgeCard) -> tuple[Table, ...]:
    """The judge against the labels: one wide table, or two narrow ones of the same figures."""
    if not card.health.n_labelled:
        return (Table("", (), []),)
    shares: list[tuple[str, Cell]] = [
        ("In range", lambda each: _share(each.agreement.exact)),
        ("Within one", lambda each: _share(each.agreement.within_one)),
    ]
    chance: list[tuple[str, Cell]] = [
        ("Kappa", lambda each: _points(each.agreement.kappa)),
        ("Alpha", lambda each: _points(each.agreement.alpha)),
        ("Bias", lambda each: _bias(each.agreement.bias)),
    ]
    bound: list[tuple[str, Cell]] = [("In range, bound", lambda each: _share(each.bound_exact))]
    note = (
        "in range: inside what the reviewer allows; within one: at most a point outside; bound: after rules and checks"
    )
    told = "kappa: quadratic weights; alpha: Krippendorff's, ordinal; bias: judge minus best, above 0 is lenient"
    title = "Against labels"
    return (
        _by_dimension(card, title, [*shares, *chance, *bound], f"{note}; {told}"),
        _by_dimension(card, f"{title}: in range", [*shares, *bound], note),
        _by_dimension(card, f"{title}: beyond chance", chance, told),
    )


def _by_dimension(card: JudgeCard, title: str, cells: list[tuple[str, Cell]], note: str) -> Table:
    rows = [
        (name, _base(each.agreement.exact), *(cell(each) for _, cell in cells))
        for name, each in card.health.dimensions.items()
    ]
    columns = (_DIMENSION, Column("n", Kind.STACKED), *(Column(name, Kind.STACKED) for name, _ in cells))
    return Table(title, columns, rows, note, signature=OF_A_JUDGE)


def flags(card: JudgeCard) -> Table:
    """Precision and recall of every flag, as the judge set it and as it counts."""
    rows = []
    for name, each in card.health.flags.items():
        said, counts = each.agreement, each.bound
        if said.hits + said.false_alarms + said.missed + said.quiet == 0:
            continue
        rows.append(_flag(name, said))
        if counts != said:
            rows.append(_flag(f"{name}, after rules", counts))
    titles = ("Precision", "Recall", "Hits", "False alarms", "Missed", "Quiet")
    columns = (Column("Flag", Kind.TEXT), *(Column(title, Kind.STACKED) for title in titles))
    note = "precision: of the texts flagged; recall: of those that the reviewer flags" if rows else ""
    return Table("Flags against labels", columns, rows, note, signature=OF_A_JUDGE)


def _flag(name: str, found: FlagAgreement) -> tuple[str, ...]:
    rates = (f"{_share(each)}\n{figures.base(each.n, each.n_missing)}" for each in (found.precision, found.recall))
    counts = (found.hits, found.false_alarms, found.missed, found.quiet)
    return (name, *rates, *(f"{count:,}" for count in counts))


def confusions(card: JudgeCard) -> list[Table]:
    """By dimension, how often the judge gave which score where the reviewer's best was which."""
    if not card.health.n_labelled:
        return []
    found = [(name, each.agreement.confusion) for name, each in card.health.dimensions.items()]
    return [_confusion(name, each) for name, each in found if any(map(sum, each.counts))]


def _confusion(name: str, found: Confusion) -> Table:
    levels = [f"{level:g}" for level in found.levels]
    rows = [
        (level, *(f"{count:,}" if count else "." for count in counts), f"{sum(counts):,}")
        for level, counts in zip(levels, found.counts, strict=True)
        if any(counts) or level.lstrip("-").isdigit()
    ]
    columns = (Column("best"), *(Column(level) for level in levels), Column("n"))
    return Table(name, columns, rows)


def rubric(card: JudgeCard) -> Table:
    """How the judge uses the scale."""
    low, high = card.health.scale
    rows = [
        (
            _named(name, each),
            _base(each.top_share),
            _share(each.top_share),
            f"{figures.percent(each.top_labelled.value)}\n{figures.base(each.top_labelled.n)}",
            _share(each.middle_share),
            figures.plain(each.spread.value),
        )
        for name, each in card.health.dimensions.items()
    ]
    titles = ("n", f"{high:g}s given", f"{high:g}s due", "Middle", "Spread")
    note = (
        f"as the judge said, on {low:g} to {high:g}; due: by the labels; middle: the neutral score and the next above;"
        " spread: standard deviation in points"
    )
    columns = (Column("Dimension", Kind.LINES), *(Column(title, Kind.STACKED) for title in titles))
    return Table("Against the rubric", columns, rows, note, signature=OF_A_JUDGE)


def _named(name: str, each: DimensionHealth) -> str:
    faults = [word for word, holds in (("inflated", each.inflated), ("constant", each.constant)) if holds]
    return f"{name}\n({', '.join(faults)})" if faults else name


def length(card: JudgeCard) -> Table:
    """Whether longer texts get more, from the judge and from the reviewer."""
    rows = [
        (
            name,
            figures.plain(each.length.value),
            figures.interval(each.length, "size"),
            figures.bare_base(each.length),
            figures.plain(each.length_labelled.value),
            figures.bare_base(each.length_labelled),
        )
        for name, each in card.health.dimensions.items()
    ]
    columns = (_DIMENSION, *map(Column, ("Judge", "95 % interval", "n", "Labels", "n")))
    return Table(
        "Correlation with the length of the text", columns, rows, "rank correlation, -1 to 1", signature=OF_A_JUDGE
    )


def _without_empty_end(table: Table) -> Table:
    """The table without its last column where nothing stands in it."""
    if any(row[-1] for row in table.rows):
        return table
    return replace(table, columns=table.columns[:-1], rows=[row[:-1] for row in table.rows])


def together(card: JudgeCard) -> Table:
    """The dimensions that move together most."""
    rows = [
        (
            f"{pair.first} and {pair.second}",
            figures.plain(pair.correlation.value),
            figures.interval(pair.correlation, "size"),
            figures.bare_base(pair.correlation),
            "always the same" if pair.identical else "always together" if pair.always else "",
        )
        for pair in card.health.pairs[:_MOST_PAIRS]
    ]
    columns = (Column("Dimensions", Kind.TEXT), *map(Column, ("Correlation", "95 % interval", "n", "")))
    left_off = len(card.health.pairs) - len(rows)
    note = f"the {len(rows)} closest of {len(card.health.pairs)} pairs" if left_off else ""
    return _without_empty_end(Table("Dimensions that move together", columns, rows, note, signature=OF_A_JUDGE))


def repeatability(card: JudgeCard) -> Table:
    """How far the judge agrees with itself on one text."""
    found = card.health.dimensions
    if not any(each.repeatability.n or each.reliability.n for each in found.values()):
        return Table("", (), [])
    rows = [
        (
            name,
            _share(each.repeatability),
            _base(each.repeatability),
            figures.plain(each.moved.value),
            _points(each.reliability),
            _base(each.reliability),
        )
        for name, each in found.items()
    ]
    titles = ("Same again", "n", "Points apart", "Alpha", "n")
    note = "same again: of the texts that one judge read several times; alpha: between all ballots on a text"
    columns = (_DIMENSION, *(Column(title, Kind.STACKED) for title in titles))
    return Table("Repeatability", columns, rows, note, signature=OF_A_JUDGE)


def behaviour(card: JudgeCard) -> Table:
    """What the judge did against its instructions, and how its answers could be read."""
    itself = card.health.itself
    named = [
        ("broke a rule", itself.broken_rules),
        ("made up a quote", itself.made_up_quotes),
        ("high score without a quote", itself.unproven),
        ("too few reasons", itself.too_few_reasons),
        ("could not be used", itself.failed),
        ("never came", itself.unanswered),
    ]
    if itself.cut_off.n and card.health.mode != Mode.RULES:
        named.insert(-1, ("broke off at the limit of tokens", itself.cut_off))
    if itself.contradictions.n:
        named.insert(-1, ("complained of what is not so", itself.contradictions))
    if itself.disagreement.n:
        named.append(("texts with ballots far apart", itself.disagreement))
    named += [(f"read: {rung.replace('_', ' ')}", share) for rung, share in itself.rungs.items() if rung != "failed"]
    rows = [
        (
            name,
            figures.band_count(share) if share.value is not None else "",
            figures.percent(share.value),
            figures.interval(share),
            figures.bare_base(share),
        )
        for name, share in named
    ]
    columns = (Column("Ballots that", Kind.TEXT), *map(Column, ("Counted", "Share", "95 % interval", "n")))
    return Table("Against itself", columns, rows, signature=OF_A_JUDGE)


def rules(card: JudgeCard) -> Table:
    """Which rules the judge broke, most frequent first."""
    n = card.health.itself.broken_rules.n
    found = card.health.itself.by_rule
    rows = [(rule, f"{count:,} of {n:,}") for rule, count in list(found.items())[:_MOST_RULES]]
    return Table("Rules broken", (Column("Rule", Kind.TEXT), Column("Ballots")), rows)


def disagreements(card: JudgeCard, most: int = MOST_LISTED) -> Table:
    """By dimension, at most so many of the texts farthest outside what the reviewer allows."""
    rows, left_off = [], []
    for name, each in card.health.dimensions.items():
        listed = each.disagreements[:most]
        rows += [
            (name, far.case_id, f"{far.best:g} ({far.low:g} to {far.high:g})", f"{far.said:g}", f"{far.outside:+g}")
            for far in listed
        ]
        more = each.n_disagreements - len(listed)
        left_off += [f"and {more:,} more of {name}"] if more else []
    columns = (_DIMENSION, Column("Case", Kind.TEXT), *map(Column, ("Label", "Judge", "Outside by")))
    note = "; ".join(["label: the reviewer's best score and the range allowed; judge: as it said", *left_off])
    return Table("Farthest from the labels", columns, rows, note if rows else "")


def flagged_wrongly(card: JudgeCard, most: int = MOST_LISTED) -> Table:
    """At most so many of the texts whose flag the judge missed, and of those that it flagged for nothing."""
    rows, left_off = [], []
    for name, each in card.health.flags.items():
        for told, cases, count in (
            ("missed", each.missed, each.agreement.missed),
            ("raised wrongly", each.false_alarms, each.agreement.false_alarms),
        ):
            rows += [(name, case_id, told) for case_id in cases[:most]]
            more = count - min(len(cases), most)
            left_off += [f"and {more:,} more {told}"] if more else []
    columns = (Column("Flag", Kind.TEXT), Column("Case", Kind.TEXT), Column("The judge's flag"))
    return Table("Flags missed or raised wrongly", columns, rows, "; ".join(left_off))


def has_readings(card: JudgeCard) -> bool:
    """Whether any ballot is of the mode that counts."""
    return bool(card.health.modes.get(card.health.mode))


def all_tables(card: JudgeCard) -> Iterator[Table]:
    """Every table but the thresholds and the confusions, wide, for views that have room.

    Where nothing was read only what became of the answers is told: all else is n/a.
    """
    if not has_readings(card):
        yield behaviour(card)
        return
    wide, *_ = agreement(card)
    yield from (wide, flags(card), disagreements(card), flagged_wrongly(card))
    yield from (rubric(card), length(card), together(card))
    yield from (repeatability(card), behaviour(card), rules(card))


def _share(estimate: Estimate) -> str:
    return _with_interval(figures.percent(estimate.value), estimate, "share")


def _points(estimate: Estimate) -> str:
    return _with_interval(figures.plain(estimate.value), estimate, "kappa")


def _bias(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return figures.signed(estimate.value)
    return f"{figures.signed(estimate.value)}\n[{figures.signed(estimate.low)}, {figures.signed(estimate.high)}]"


def _with_interval(figure: str, estimate: Estimate, unit: str) -> str:
    return figure if estimate.value is None else f"{figure}\n{figures.interval(estimate, unit)}"


def _base(estimate: Estimate) -> str:
    return figures.bare_base(estimate).replace(", ", "\n")
