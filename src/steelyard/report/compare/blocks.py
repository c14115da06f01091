"""What changed from run A to run B: what differs in how they were made, the answer, how sure it is, what moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from steelyard.analysis.compare.metrics import EXTRA
from steelyard.analysis.compare.model import (
    CheckMove,
    Comparison,
    MetricChange,
    Moved,
    PairList,
    Part,
    SliceChange,
    Standing,
)
from steelyard.report import format as fmt
from steelyard.report.compare import changes as texts
from steelyard.report.compare import sentences
from steelyard.report.compare import sentences as words
from steelyard.report.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    Document,
    Facts,
    Fold,
    Headline,
    Kind,
    Section,
    Table,
    Text,
    Tone,
    bullets,
    section,
    table_section,
)
from steelyard.report.model import header_data
from steelyard.report.render.json import encode, encode_object
from steelyard.report.wording import signature_line
from steelyard.suite.case import cell_name

FORMAT = "steelyard.compare/1"
VERDICT = Column("Verdict", Kind.VERDICT)
_MOST_ROWS = 12
_MARKS = {Part.SCALE: Tone.WARNING, Part.SUBJECT: Tone.STRONG, Part.NOTED: Tone.PLAIN}
_HEADING = ("headline", "components", "flags", "measures", "bands")
_SPENT = ("latency", "spending")
_FAILED = ("failures", "format")
_OF_CELLS = ("expectations", "stability")
_HOW = (
    "difference: B minus A, shares in percentage points; n: pairs (of fewer cases); effect: in standard deviations"
    " of a case's difference; W/T/L: cases better, the same and worse"
)
_OVER_FIGURES = "adjusted over the table (Holm), except the first"
_OVER_TABLE = "adjusted over the table (Holm)"
_OVER_GROUPS = "adjusted over the groups (Holm)"


def document(comparison: Comparison) -> Document:
    """What differs, the answer, how sure it is and what moved; then the pairs, all figures, and what is left out."""
    main = [*sentences.tables(comparison), *main_tables(comparison)]
    changed = comparison.signatures.changes if words.needs_table(comparison) else ()
    blocks: list[Block] = [
        *answer(comparison),
        *section("Pairs", Facts(words.pair_lists(comparison)), *_listed(comparison), main=True),
        *(item for table in main for item in table_section(table, main=True)),
        *(item for table in other_tables(comparison) for item in table_section(table)),
        *section("Groups that did not move", Text(unmoved_slices(comparison))),
        *section("Not compared", bullets(words.left_out(comparison.not_compared))),
        *section("All differences between the two runs' signatures", bullets(item.sentence for item in changed)),
        *section("SignaturePair", Fold("All differences, part by part", [signatures(comparison)])),
    ]
    sides = (("A", comparison.a), ("B", comparison.b))
    footer = [f"Method: {sentences.method(comparison)}", *(f"{side}: {signature_line(run)}" for side, run in sides)]
    context = [f"{side}: {text}" for side, text in words.runs(comparison)]
    return Document(f"{words.title(comparison)}: A to B", blocks, context, footer)


def answer(comparison: Comparison) -> list[Block]:
    """What differs in how the runs were made, the verdict, how sure it is, and what moved."""
    differ = Bullets([Bullet(text, _MARKS[means]) for means, text in words.differences(comparison)])
    moved = Section("What moved", [bullets(words.what_moved(comparison))])
    sure = [Bullet(text, label=label) for label, text in words.significance(comparison)]
    verdict = comparison.headline.verdict.value
    headline = Headline(verdict, words.answer(comparison), verdict.upper(), remarks=sure, extra=[moved])
    return [Section("Differences in signature and load", [differ], main=True), headline]


def data(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison as plain data."""
    excluded = [{"why": why.value} | encode_object(result) for why, result in comparison.pairs.not_comparable.items()]
    counted = {"not_comparable": excluded, "n_not_comparable": comparison.pairs.n_not_comparable}
    results = {
        "format": FORMAT,
        "verdict": comparison.headline.verdict.value,
        "moved": encode(words.what_moved(comparison)),
        **encode_object(comparison),
        "a": header_data(comparison.a),
        "b": header_data(comparison.b),
    }
    return results | {"pairs": results["pairs"] | counted}


def _listed(comparison: Comparison) -> Iterable[Fold]:
    """Every list of pairs, to be opened: the first samples with their scores."""
    pairs = comparison.pairs
    for label, result in words.comparable_lists(comparison):
        yield Fold(f"{label} {words.listed(result, pairs.comparable)}", [pair_list(result)])
    for why, result in pairs.not_comparable.items():
        yield Fold(f"Not comparable, {why.value} {words.listed(result)}", [pair_list(result)])


def main_figures(comparison: Comparison) -> Table:
    """Pass rate, average, components, flags, measures and bands: A, B, difference, interval, p, n and verdict."""
    changes = [change for change in comparison.metrics if change.group in _HEADING]
    return _figures("Figures", changes, _HOW, _OVER_FIGURES)


def of_cells(comparison: Comparison) -> Table:
    """Cases and checks that hold, and how alike repeats are: what stands on a case with all its repeats."""
    changes = [change for change in comparison.metrics if change.group in _OF_CELLS]
    return _figures("Expectations and stability", changes, "n: cases, or checks, of both runs")


def failures(comparison: Comparison) -> Table:
    """How often target or judge failed or an answer had the wrong shape; no rows when nothing of it ever happened."""
    changes = [change for change in comparison.metrics if change.group in _FAILED]
    happened = [change for change in changes if change.a.value or change.b.value]
    return _figures("Failures", happened, "of all pairs with the same question; malformed: of those answered")


def extra(comparison: Comparison) -> Table:
    """Components that have no weight and what is counted, where it moved at all."""
    changes = [change for change in comparison.metrics if change.group in EXTRA and change.a.n]
    moved = [change for change in changes if change.verdict is not Moved.SAME]
    moved.sort(key=lambda change: _ORDER.index(change.verdict))
    still = len(changes) - len(moved)
    note = f"{still:,} of {len(changes):,} did not move" if still else ""
    return _figures("Without weight in the score", moved, note)


def spending(comparison: Comparison) -> Table:
    """Latency, tokens and cost, a sample each."""
    changes = [change for change in comparison.metrics if change.group in _SPENT]
    reasons = [f"latency and cost: {change.test}" for change in changes if change.verdict is Moved.NOT_TESTED]
    return _figures("Latency and cost, a sample", changes, "; ".join(dict.fromkeys(reasons)))


def _figures(title: str, changes: Sequence[MetricChange], note: str = "", adjusted: str = _OVER_TABLE) -> Table:
    available = _what_moved_first([change for change in changes if change.a.n])
    rows = [(texts.name(change), *_cells(change)) for change in available]
    columns = (Column("Figure", Kind.TEXT), *_COLUMNS)
    return Table(title, columns, rows, note, signature=texts.of_changes(available, adjusted), most=_MOST_ROWS)


def _what_moved_first(changes: list[MetricChange]) -> list[MetricChange]:
    """All of them in their order, unless some must be left off: then those that moved beyond noise come after the
    first two, which the verdict stands on."""
    if len(changes) <= _MOST_ROWS:
        return changes
    moved = {Moved.WORSE, Moved.BETTER, Moved.CHANGED}
    others = changes[2:]
    beyond_noise = sorted((other for other in others if other.verdict in moved), key=_most_first)
    return [*changes[:2], *beyond_noise, *(other for other in others if other.verdict not in moved)]


_ORDER = (Moved.WORSE, Moved.BETTER, Moved.CHANGED, Moved.CANNOT_TELL, Moved.NOT_TESTED, Moved.SAME)
_COLUMNS = (
    Column("A"),
    Column("B"),
    Column("Difference"),
    Column("95 % interval", below=True),
    Column("p"),
    Column("n", Kind.STACKED),
    Column("Effect", optional=True),
    Column("W/T/L", below=True, optional=True),
    VERDICT,
)


def _cells(change: MetricChange) -> tuple[str, ...]:
    return (
        texts.before(change),
        texts.after(change),
        texts.difference(change),
        texts.interval(change),
        texts.chance(change),
        texts.base(change),
        texts.effect(change),
        texts.sides(change),
        change.verdict.value,
    )


def slices(comparison: Comparison) -> list[Table]:
    """By factor the groups that moved at all, what is beyond noise first; groups that did not are counted."""
    return [_slices(factor, groups, comparison) for factor, groups in comparison.slices.items() if len(groups) > 1]


def _slices(factor: str, groups: Sequence[SliceChange], comparison: Comparison) -> Table:
    moved = [(group, change) for group in groups for change in _moved(group)]
    moved.sort(key=lambda item: _most_first(item[1]))
    main = comparison.headline.metric
    rows = []
    for group, change in moved:
        sides = (f"{group.fixed:,}", f"{group.broken:,}") if comparison.pairs.by_pass else ()
        message = group.name if change.name == main else f"{group.name}: {texts.name(change)}"
        rows.append((message, *sides, *_cells(change)))
    sides_titles = (Column("Fixed"), Column("Broken", below=True)) if comparison.pairs.by_pass else ()
    columns = (Column(factor.capitalize(), Kind.TEXT), *sides_titles, *_COLUMNS)
    still = len(groups) - len({group.name for group, _ in moved})
    note = f"{still:,} of {len(groups):,} groups did not move" if still else ""
    signature = texts.of_changes([change for _, change in moved], _OVER_GROUPS)
    return Table(f"By {factor}: {_NAMES.get(main, main)}", columns, rows, note, signature=signature, most=_MOST_ROWS)


_NAMES = {"pass_rate": "pass rate", "average": "average score"}


def _moved(group: SliceChange) -> list[MetricChange]:
    """The first figure of the group that moved at all, and all others that did so beyond noise."""
    moved = [metric for metric in group.metrics if metric.a.n and metric.verdict is not Moved.SAME]
    return moved[:1] + [item for item in moved[1:] if item.verdict is not Moved.CANNOT_TELL]


def _most_first(change: MetricChange) -> tuple[int, float]:
    return _ORDER.index(change.verdict), -abs(change.difference.value or 0.0)


def unmoved_slices(comparison: Comparison) -> str:
    """Which factors have groups none of which moved; "" when there is no such factor."""
    still = [table.title for table in slices(comparison) if not table.rows]
    return "" if not still else "nothing moved " + ", ".join(title.replace("By ", "by ", 1) for title in still)


def codes(comparison: Comparison) -> Table:
    """Every code that was found, what moved most first: findings and samples on either side, noise or not."""
    by_name = {change.name: change for change in comparison.metrics}
    rows, tested = [], []
    for code in comparison.codes:
        change = by_name.get(f"findings.{code.code}")
        tested += [] if change is None else [change]
        judged = ("", "") if change is None else (texts.chance(change), change.verdict.value)
        counted = (f"{code.a:,}", f"{code.b:,}", f"{code.samples_a:,}", f"{code.samples_b:,}")
        rows.append((code.code, *counted, code.standing.value, *judged))
    columns = (
        Column("Code", Kind.TEXT),
        Column("A"),
        Column("B"),
        Column("Samples A"),
        Column("Samples B", below=True),
        Column("Change"),
        Column("p"),
        VERDICT,
    )
    signature = texts.of_changes(tested, _OVER_TABLE, intervals=False)
    return Table("Findings", columns, rows, _of_pairs(comparison), signature=signature, most=_MOST_ROWS)


def _of_pairs(comparison: Comparison) -> str:
    return f"in {fmt.counted(comparison.pairs.comparable, 'comparable pair')}"


def confusions(comparison: Comparison) -> Table:
    """What was taken for what, new ones first, then resolved ones, then those that moved."""
    result = comparison.confusions
    moved = [item for item in result.listed if item.standing is not Standing.SAME]
    rows = [(item.expected, item.got, item.code, f"{item.a:,}", f"{item.b:,}", item.standing.value) for item in moved]
    columns = (
        Column("Expected", Kind.TEXT),
        Column("Got", Kind.TEXT),
        Column("Code", Kind.TEXT),
        Column("A"),
        Column("B"),
        Column("Change"),
    )
    note = f"{words.confusion_counts(comparison)}, {_of_pairs(comparison)}"
    in_all = result.n - result.counts.get(Standing.SAME, 0)
    return Table("Confusions", columns, rows, note, total=in_all, most=_MOST_ROWS)


def sections(comparison: Comparison) -> Table:
    """Findings a sample in each section of the texts, and how many there are."""
    available = [item for item in comparison.sections if item.rate.a.n]
    rows = [(item.section or words.NO_SECTION, f"{item.a:,}", f"{item.b:,}", *_cells(item.rate)) for item in available]
    results = (Column("Findings A"), Column("Findings B", below=True))
    columns = (Column("Section", Kind.TEXT), *results, *_COLUMNS)
    note = "A, B and difference: findings a sample"
    signature = texts.of_changes([item.rate for item in available], _OVER_TABLE)
    return Table("Findings by section", columns, rows, note, signature=signature, most=_MOST_ROWS)


def section_codes(comparison: Comparison) -> Table:
    """The codes that moved in each section, by how much."""
    moved = [
        (section.section or words.NO_SECTION, code)
        for section in comparison.sections
        for code in section.codes
        if code.standing is not Standing.SAME
    ]
    moved.sort(key=lambda pair: -abs(pair[1].b - pair[1].a))
    rows = [(name, item.code, f"{item.a:,}", f"{item.b:,}", item.standing.value) for name, item in moved]
    columns = (Column("Section", Kind.TEXT), Column("Code", Kind.TEXT), Column("A"), Column("B"), Column("Change"))
    return Table("Codes by section", columns, rows, _of_pairs(comparison), most=_MOST_ROWS)


_UNPAIRED = {
    "headline": "figures",
    "components": "figures",
    "failures": "failures",
    "findings": "samples with a finding",
    "sections": "samples with a finding, by section",
    "confusions": "samples with a confusion",
}


def unpaired(comparison: Comparison) -> list[Table]:
    """The figures of both runs side by side where there is no pair, a table a kind; the first says what it can show."""
    result = comparison.unpaired
    kinds: dict[str, list[MetricChange]] = {}
    for item in () if result is None else result.figures:
        kinds.setdefault(_UNPAIRED.get(item.group, f"by {item.group}"), []).append(item)
    sides = [column for side in "AB" for column in (Column(f"{side}\n95 %", Kind.STACKED), Column(f"n {side}"))]
    columns = (Column("Figure", Kind.TEXT), *sides, Column("B - A\n95 %", Kind.STACKED))
    message = iter(() if result is None else (result.sentence,))
    return [
        Table(
            f"Without pairs: {kind}",
            columns,
            [*map(_side_by_side, changes)],
            next(message, ""),
            signature="95 %: each side as in its own report; B - A: from both (Newcombe, Zou and Donner)",
            most=_MOST_ROWS,
        )
        for kind, changes in kinds.items()
    ]


def _side_by_side(change: MetricChange) -> tuple[str, ...]:
    cells = [texts.unpaired_name(change)]
    for value, side in ((texts.before(change), change.a), (texts.after(change), change.b)):
        base = fmt.bare_base(side)
        if side.n and (change.group in _COUNTED or change.name.endswith("pass_rate")):
            base = base.replace(f"{side.n:,}", fmt.band_count(side), 1)
        cells += [f"{value}\n{fmt.interval_on_scale(side, change.scale or (0.0, 1.0))}", base]
    return *cells, f"{texts.difference(change)}\n{texts.interval(change)}"


_COUNTED = ("failures", "findings", "sections", "confusions")


def signatures(comparison: Comparison) -> Table:
    """Everything that differs in how the runs were made."""
    rows = [
        (
            change.part,
            words.MEANINGS[change.means],
            change.sentence,
            change.a,
            change.b,
            words.cases_of(change),
        )
        for change in comparison.signatures.changes
    ]
    columns = tuple(Column(title, Kind.TEXT) for title in ("Part", "Means", "What differs", "A", "B", "Cases"))
    return Table("SignaturePair", columns, rows)


def pair_list(result: PairList) -> Table:
    """The first samples of a list with their scores."""
    rows = [(words.pair_name(line), fmt.percent(line.a), fmt.percent(line.b)) for line in result.lines]
    columns = (Column("Sample", Kind.TEXT), Column("Score in A"), Column("Score in B"))
    return Table("", columns, rows, total=result.count)


def moved_checks(comparison: Comparison) -> Table:
    """Every check that holds in one run and is broken in the other, those that broke first."""
    result = comparison.checks
    if result is None:
        return Table("", (), [])
    rows = [*_check_rows(result.broken.lines, "broken"), *_check_rows(result.fixed.lines, "fixed")]
    columns = (Column("Case", Kind.TEXT), Column("Check", Kind.TEXT), Column("A"), Column("B"), Column("Change"))
    total = result.broken.count + result.fixed.count
    return Table("Checks that moved", columns, rows, "k of n: repeats in which it passed", total=total, most=_MOST_ROWS)


def _check_rows(lines: Sequence[CheckMove], change: str) -> list[tuple[str, ...]]:
    return [
        (
            cell_name(line.case_id, line.variant),
            line.name,
            f"{line.passed_a} of {line.n_a}",
            f"{line.passed_b} of {line.n_b}",
            change,
        )
        for line in lines
    ]


def main_tables(comparison: Comparison) -> list[Table]:
    """What a reader looks at first: the main figures or, without pairs, both sides of all that there is."""
    return [main_figures(comparison)] if comparison.unpaired is None else unpaired(comparison)


def other_tables(comparison: Comparison) -> list[Table]:
    """All other tables of figures in the order in which they are read."""
    return [
        of_cells(comparison),
        moved_checks(comparison),
        failures(comparison),
        extra(comparison),
        *slices(comparison),
        codes(comparison),
        confusions(comparison),
        sections(comparison),
        section_codes(comparison),
        spending(comparison),
    ]
