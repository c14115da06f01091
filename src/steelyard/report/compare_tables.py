"""The tables of a comparison as plain rows of text, before a view escapes and lays them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.compare_model import Comparison, MetricChange, Moved, PairList, SliceChange, Standing
from steelyard.analysis.compared_figures import BESIDE
from steelyard.report import compare_checks, compare_figures, compare_sentences, figures
from steelyard.report.signatures import of_changes
from steelyard.report.tables import Column, Kind, Table

VERDICT = "Verdict"
"""The title of the columns in which a word of `Moved` stands."""
_HEADING = ("headline", "components", "flags", "measures", "bands")
_SPENT = ("latency", "spending")
_FAILED = ("failures", "format")
_OF_CELLS = ("expectations", "stability")
_HOW = (
    "difference B minus A, shares in percentage points; n: pairs (of fewer cases); effect: standard deviations of a"
    " case's difference; W/T/L: cases better, the same and worse"
)
_OVER_FIGURES = "adjusted over all figures (Holm), the first alone"
_WITH_FIGURES = "adjusted with all figures (Holm)"
_OVER_TABLE = "adjusted over the table (Holm)"
_OVER_GROUPS = "adjusted over the groups (Holm)"


def main_figures(comparison: Comparison, limit: int) -> Table:
    """Pass rate, average, components, flags, measures and bands: A, B, difference, interval, p, n and verdict."""
    changes = [change for change in comparison.metrics if change.group in _HEADING]
    return _figures("Figures", changes, limit, _HOW, _OVER_FIGURES)


def of_cells(comparison: Comparison, limit: int) -> Table:
    """Cases and checks that hold, and how alike repeats are: what stands on a case with all its repeats."""
    changes = [change for change in comparison.metrics if change.group in _OF_CELLS]
    return _figures("Expectations and stability", changes, limit, "n: cases, or checks, of both runs")


def failures(comparison: Comparison, limit: int) -> Table:
    """How often target or judge failed or an answer had the wrong shape; no rows when nothing of it ever happened."""
    changes = [change for change in comparison.metrics if change.group in _FAILED]
    happened = [change for change in changes if change.a.value or change.b.value]
    return _figures("Failures", happened, limit, "of all pairs with the same question; malformed: of those answered")


def beside(comparison: Comparison, limit: int) -> Table:
    """Components that weigh nothing and what is counted, where it moved at all."""
    changes = [change for change in comparison.metrics if change.group in BESIDE and change.a.n]
    moved = [change for change in changes if change.verdict is not Moved.SAME]
    moved.sort(key=lambda change: _ORDER.index(change.verdict))
    still = len(changes) - len(moved)
    note = f"{still:,} of {len(changes):,} did not move" if still else ""
    return _figures("Beside the score", moved, limit, note)


def spending(comparison: Comparison, limit: int) -> Table:
    """Latency, tokens and cost, a sample each."""
    changes = [change for change in comparison.metrics if change.group in _SPENT]
    reasons = [f"latency and cost: {each.test}" for each in changes if each.verdict is Moved.NOT_TESTED]
    return _figures("Latency and cost, a sample", changes, limit, "; ".join(dict.fromkeys(reasons)), _WITH_FIGURES)


def _figures(
    title: str, changes: Sequence[MetricChange], limit: int, note: str = "", adjusted: str = _OVER_TABLE
) -> Table:
    known = _what_moved_first([change for change in changes if change.a.n], limit)
    rows = [(compare_figures.name(change), *_cells(change)) for change in known[:limit]]
    columns = (Column("Figure", Kind.TEXT), *_COLUMNS)
    signature = of_changes(known[:limit], adjusted)
    return Table(title, columns, rows, _note(note, len(known) - len(rows)), signature=signature)


def _what_moved_first(changes: list[MetricChange], limit: int) -> list[MetricChange]:
    """All of them in their order, unless some must be left off: then those that moved beyond noise come after the
    first two, which the verdict stands on."""
    if len(changes) <= limit:
        return changes
    moved = {Moved.WORSE, Moved.BETTER, Moved.CHANGED}
    others = changes[2:]
    beyond_noise = sorted((one for one in others if one.verdict in moved), key=_most_first)
    return [*changes[:2], *beyond_noise, *(one for one in others if one.verdict not in moved)]


_ORDER = (Moved.WORSE, Moved.BETTER, Moved.CHANGED, Moved.CANNOT_TELL, Moved.NOT_TESTED, Moved.SAME)
_COLUMNS = (
    Column("A"),
    Column("B"),
    Column("Difference"),
    Column("95 % interval"),
    Column("p"),
    Column("n", Kind.STACKED),
    Column("Effect"),
    Column("W/T/L"),
    Column(VERDICT),
)


def _cells(change: MetricChange) -> tuple[str, ...]:
    return (
        compare_figures.before(change),
        compare_figures.after(change),
        compare_figures.difference(change),
        compare_figures.interval(change),
        compare_figures.chance(change),
        compare_figures.base(change),
        compare_figures.effect(change),
        compare_figures.sides(change),
        change.verdict.value,
    )


def _note(told: str, left_off: int) -> str:
    return "; ".join(part for part in (told, f"{left_off:,} more are not shown" if left_off > 0 else "") if part)


def narrowed(table: Table) -> Table:
    """The table with what stands side by side one below the other, for a terminal with no room beside: interval below
    difference, cases below pairs, sides below effect, and two counts before A in one column."""
    titles = [column.title for column in table.columns]
    if "Difference" not in titles:
        return table
    at = titles.index("Difference")
    counts = range(1, at - 2)
    pairs = [[*counts]] if len(counts) == 2 else [[place] for place in counts]
    groups = [[0], *pairs, [at - 2], [at - 1], [at, at + 1], [at + 2], [at + 3], [at + 4, at + 5], [at + 6]]
    columns = tuple(_stacked(table.columns, group) for group in groups)
    rows = [tuple("\n".join(row[place] for place in group) for group in groups) for row in table.rows]
    n = groups.index([at + 3])
    return replace(
        table, columns=columns, rows=[(*row[:n], row[n].replace(" (", "\n("), *row[n + 1 :]) for row in rows]
    )


def _stacked(columns: Sequence[Column], places: Sequence[int]) -> Column:
    first = columns[places[0]]
    return first if len(places) == 1 else Column("\n".join(columns[place].title for place in places), Kind.STACKED)


def slices(comparison: Comparison, limit: int) -> list[Table]:
    """By factor the groups that moved at all, what is beyond noise first; groups that did not are counted."""
    return [
        _slices(factor, groups, comparison, limit) for factor, groups in comparison.slices.items() if len(groups) > 1
    ]


def _slices(factor: str, groups: Sequence[SliceChange], comparison: Comparison, limit: int) -> Table:
    moved = [(group, change) for group in groups for change in _moved(group)]
    moved.sort(key=lambda each: _most_first(each[1]))
    main = comparison.headline.metric
    rows = []
    for group, change in moved[:limit]:
        sides = (f"{group.fixed:,}", f"{group.broken:,}") if comparison.pairs.by_pass else ()
        told = group.name if change.name == main else f"{group.name}: {compare_figures.name(change)}"
        rows.append((told, *sides, *_cells(change)))
    sides_titles = (Column("Fixed"), Column("Broken")) if comparison.pairs.by_pass else ()
    columns = (Column(factor.capitalize(), Kind.TEXT), *sides_titles, *_COLUMNS)
    still = len(groups) - len({group.name for group, _ in moved})
    notes = [f"{still:,} of {len(groups):,} groups did not move"] if still else []
    note = _note("; ".join(notes), len(moved) - len(rows))
    signature = of_changes([change for _, change in moved[:limit]], _OVER_GROUPS)
    return Table(f"By {factor}: {_NAMES.get(main, main)}", columns, rows, note, signature=signature)


_NAMES = {"pass_rate": "pass rate", "average": "average score"}


def _moved(group: SliceChange) -> list[MetricChange]:
    """The first figure of the group that moved at all, and all others that did so beyond noise."""
    moved = [each for each in group.metrics if each.a.n and each.verdict is not Moved.SAME]
    return moved[:1] + [each for each in moved[1:] if each.verdict is not Moved.CANNOT_TELL]


def _most_first(change: MetricChange) -> tuple[int, float]:
    return _ORDER.index(change.verdict), -abs(change.difference.value or 0.0)


def unmoved_slices(comparison: Comparison) -> str:
    """Which factors have groups none of which moved; "" when there is no such factor."""
    still = [table.title for table in slices(comparison, 1) if not table.rows]
    return "" if not still else "nothing moved " + ", ".join(title.replace("By ", "by ", 1) for title in still)


def codes(comparison: Comparison, limit: int) -> Table:
    """Every code that was found, what moved most first: findings and samples on either side, noise or not."""
    by_name = {change.name: change for change in comparison.metrics}
    rows, tested = [], []
    for each in comparison.codes[:limit]:
        change = by_name.get(f"findings.{each.code}")
        tested += [] if change is None else [change]
        judged = ("", "") if change is None else (compare_figures.chance(change), change.verdict.value)
        counted = (f"{each.a:,}", f"{each.b:,}", f"{each.samples_a:,}", f"{each.samples_b:,}")
        rows.append((each.code, *counted, each.standing.value, *judged))
    columns = (
        Column("Code", Kind.TEXT),
        Column("A"),
        Column("B"),
        Column("Samples A"),
        Column("Samples B"),
        Column("Change"),
        Column("p"),
        Column(VERDICT),
    )
    note = _note(_of_pairs(comparison), len(comparison.codes) - len(rows))
    return Table("Findings", columns, rows, note, signature=of_changes(tested, _WITH_FIGURES, intervals=False))


def _of_pairs(comparison: Comparison) -> str:
    return f"in {figures.counted(comparison.pairs.comparable, 'comparable pair')}"


def confusions(comparison: Comparison, limit: int) -> Table:
    """What was taken for what, new ones first, then resolved ones, then those that moved."""
    found = comparison.confusions
    moved = [each for each in found.listed if each.standing is not Standing.SAME]
    rows = [
        (each.expected, each.got, each.code, f"{each.a:,}", f"{each.b:,}", each.standing.value)
        for each in moved[:limit]
    ]
    columns = (
        Column("Expected", Kind.TEXT),
        Column("Got", Kind.TEXT),
        Column("Code", Kind.TEXT),
        Column("A"),
        Column("B"),
        Column("Change"),
    )
    left_off = found.n - found.counts.get(Standing.SAME, 0) - len(rows)
    note = f"{compare_sentences.confusion_counts(comparison)}, {_of_pairs(comparison)}"
    return Table("Confusions", columns, rows, _note(note, left_off))


def sections(comparison: Comparison, limit: int) -> Table:
    """Findings a sample in each section of the texts, and how many there are."""
    known = [each for each in comparison.sections if each.rate.a.n]
    rows = [
        (each.section or compare_sentences.NO_SECTION, f"{each.a:,}", f"{each.b:,}", *_cells(each.rate))
        for each in known[:limit]
    ]
    found = (Column("Found A"), Column("Found B"))
    columns = (Column("Section", Kind.TEXT), *found, *_COLUMNS)
    note = _note("A, B and difference: findings a sample", len(known) - len(rows))
    signature = of_changes([each.rate for each in known[:limit]], _OVER_TABLE)
    return Table("Findings by section", columns, rows, note, signature=signature)


def section_codes(comparison: Comparison, limit: int) -> Table:
    """The codes that moved in each section, by how much."""
    moved = [
        (section.section or compare_sentences.NO_SECTION, each)
        for section in comparison.sections
        for each in section.codes
        if each.standing is not Standing.SAME
    ]
    moved.sort(key=lambda pair: -abs(pair[1].b - pair[1].a))
    rows = [(name, each.code, f"{each.a:,}", f"{each.b:,}", each.standing.value) for name, each in moved[:limit]]
    columns = (Column("Section", Kind.TEXT), Column("Code", Kind.TEXT), Column("A"), Column("B"), Column("Change"))
    return Table("Codes by section", columns, rows, _note(_of_pairs(comparison), len(moved) - len(rows)))


_UNPAIRED = {
    "headline": "figures",
    "components": "figures",
    "failures": "failures",
    "findings": "samples with a finding",
    "sections": "samples with a finding, by section",
    "confusions": "samples with a confusion",
}


def unpaired(comparison: Comparison, limit: int) -> list[Table]:
    """The figures of both runs side by side where there is no pair, a table a kind; the first says what it can show."""
    found = comparison.unpaired
    kinds: dict[str, list[MetricChange]] = {}
    for each in () if found is None else found.figures:
        kinds.setdefault(_UNPAIRED.get(each.group, f"by {each.group}"), []).append(each)
    sides = [column for side in "AB" for column in (Column(f"{side}\n95 %", Kind.STACKED), Column(f"n {side}"))]
    columns = (Column("Figure", Kind.TEXT), *sides, Column("B - A\n95 %", Kind.STACKED))
    told = iter(() if found is None else (found.sentence,))
    return [
        Table(
            f"Without pairs: {kind}",
            columns,
            [*map(_side_by_side, changes[:limit])],
            _note(next(told, ""), len(changes) - limit),
            signature="95 %: each side as in its own report; B - A: from both (Newcombe, Zou and Donner)",
        )
        for kind, changes in kinds.items()
    ]


def _side_by_side(change: MetricChange) -> tuple[str, ...]:
    cells = [compare_figures.unpaired_name(change)]
    for value, side in ((compare_figures.before(change), change.a), (compare_figures.after(change), change.b)):
        base = figures.bare_base(side)
        if side.n and (change.group in _COUNTED or change.name.endswith("pass_rate")):
            base = base.replace(f"{side.n:,}", figures.band_count(side), 1)
        cells += [f"{value}\n{figures.interval_on_scale(side, change.scale or (0.0, 1.0))}", base]
    return *cells, f"{compare_figures.difference(change)}\n{compare_figures.interval(change)}"


_COUNTED = ("failures", "findings", "sections", "confusions")


def instruments(comparison: Comparison) -> Table:
    """Everything that differs in how the runs were made."""
    rows = [
        (
            change.part,
            compare_sentences.MEANINGS[change.means],
            change.sentence,
            change.a,
            change.b,
            compare_sentences.cases_of(change),
        )
        for change in comparison.instruments.changes
    ]
    columns = tuple(Column(title, Kind.TEXT) for title in ("Part", "Means", "What differs", "A", "B", "Cases"))
    return Table("Instruments", columns, rows)


def pair_list(label: str, found: PairList, of: int | None = None) -> Table:
    """The first samples of a list with their scores."""
    rows = [
        (compare_sentences.pair_name(line), figures.percent(line.a), figures.percent(line.b)) for line in found.lines
    ]
    told = f"{label} {compare_sentences.listed(found, of)}"
    left_off = found.count - len(rows)
    note = f"the first {len(rows):,}; {left_off:,} more are not shown" if left_off else ""
    return Table(told, (Column("Sample", Kind.TEXT), Column("Score in A"), Column("Score in B")), rows, note)


def main_tables(comparison: Comparison, limit: int) -> list[Table]:
    """What a reader looks at first: the main figures or, without pairs, both sides of all that there is."""
    return [main_figures(comparison, limit)] if comparison.unpaired is None else unpaired(comparison, limit)


def everything(comparison: Comparison, limit: int) -> list[Table]:
    """All tables of figures in the order in which they are read."""
    return [
        *main_tables(comparison, limit),
        of_cells(comparison, limit),
        compare_checks.moved(comparison, limit),
        failures(comparison, limit),
        beside(comparison, limit),
        *slices(comparison, limit),
        codes(comparison, limit),
        confusions(comparison, limit),
        sections(comparison, limit),
        section_codes(comparison, limit),
        spending(comparison, limit),
    ]
