"""What changed from run A to run B: what differs in how they were made, the answer, how sure it is, what moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from steelyard.comparing import attribution_tables
from steelyard.comparing import change_texts as texts
from steelyard.comparing import sentences as words
from steelyard.comparing.model import Comparison, SliceChange
from steelyard.comparing.waterfall import waterfall
from steelyard.pairing.figures import EXTRA
from steelyard.pairing.model import MetricChange, Moved, PairList, Part, Standing
from steelyard.pairing.slices import DIFFERS
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import bullets, section, table_section
from steelyard.report.model import header_data
from steelyard.report.render.json import encode, encode_object
from steelyard.report.wording import signature_line
from steelyard.store.selection import OfRun, Selection
from steelyard.suite.case import cell_name
from steelyard.wording import HEADLINE_METRICS

FORMAT = "steelyard.compare/1"
_MOST_ROWS = 12
_MARKS = {Part.SCALE: doc.Tone.WARNING, Part.SUBJECT: doc.Tone.STRONG, Part.NOTED: doc.Tone.PLAIN}
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


def document(comparison: Comparison) -> doc.Document:
    """What differs, the answer, how sure it is and what moved; then the pairs, all figures, and what is left out."""
    pairs = section("Pairs", doc.Facts(words.pair_lists(comparison)), *_listed(comparison), main=True)
    why = [item for table in attribution_tables.tables(comparison) for item in table_section(table, main=True)]
    return _document(comparison, [*answer(comparison), *pairs, *why, *figures(comparison)])


def pages(comparison: Comparison) -> tuple[doc.Document, doc.Document]:
    """The same for a page that has the pairs in between: the answer with the causes drawn, then all figures."""
    differ, verdict = answer(comparison)
    return _document(comparison, [verdict, *_why(comparison), differ]), _document(comparison, figures(comparison))


def _why(comparison: Comparison) -> list[doc.Section]:
    result = comparison.attribution
    drawn = None if result is None else waterfall(result)
    if result is None or drawn is None:
        return []
    portions, *edits = attribution_tables.cause_tables(result)
    return section(portions.title, drawn, portions, *edits)


def _document(comparison: Comparison, blocks: Sequence[doc.Block]) -> doc.Document:
    sides = (("A", comparison.a), ("B", comparison.b))
    footer = [
        f"Method: {attribution_tables.method(comparison)}",
        *(f"{side}: {signature_line(run)}" for side, run in sides),
    ]
    context = [f"{side}: {text}" for side, text in words.runs(comparison)]
    return doc.Document(f"{words.title(comparison)}: A to B", blocks, context, footer)


def figures(comparison: Comparison) -> list[doc.Block]:
    """All figures, and what is left out."""
    changed = comparison.signatures.changes
    # The first of them are said at the top.
    changed = changed if len(changed) > words.MOST_DIFFERENCES else ()
    return [
        *(item for table in main_tables(comparison) for item in table_section(table, main=True)),
        *(item for table in other_tables(comparison) for item in table_section(table)),
        *section("Groups that did not move", doc.Text(unmoved_slices(comparison))),
        *section("Not compared", bullets(words.left_out(comparison.not_compared))),
        *section("All differences between the two runs' signatures", bullets(item.sentence for item in changed)),
        *section("Signatures", doc.Fold("All differences, part by part", [signatures(comparison)])),
    ]


def answer(comparison: Comparison, *, below_report_of_b: bool = False) -> list[doc.Block]:
    """What differs in how the runs were made, the verdict, how sure it is, and what moved."""
    differ = doc.Bullets([doc.Bullet(text, _MARKS[means]) for means, text in words.differences(comparison)])
    moved = doc.Section("What moved", [bullets(words.what_moved(comparison))])
    sure = [doc.Bullet(text, label=label) for label, text in words.significance(comparison)]
    # The report of B states its earlier runs with its verdict.
    sure = [item for item in sure if not (below_report_of_b and item.label == "B was")]
    verdict = comparison.headline.verdict.value
    headline = doc.Headline(verdict, words.answer(comparison), verdict.upper(), remarks=sure, extra=[moved])
    return [doc.Section("Differences in signature and load", [differ], main=True), headline]


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


def _listed(comparison: Comparison) -> Iterable[doc.Fold]:
    """Every list of pairs, to be opened: the first samples with their scores."""
    pairs = comparison.pairs
    for label, result in words.comparable_lists(comparison):
        yield doc.Fold(f"{label} {words.listed(result, pairs.comparable)}", [pair_list(result)])
    for why, result in pairs.not_comparable.items():
        yield doc.Fold(f"Not comparable, {why.value} {words.listed(result)}", [pair_list(result)])


def _figures(
    comparison: Comparison, title: str, groups: Iterable[str], note: str = "", adjusted: str = _OVER_TABLE
) -> doc.Table:
    changes = [change for change in comparison.metrics if change.group in groups]
    return _changed(comparison, title, changes, note, adjusted)


_Fields = Callable[[Any], dict[str, Any] | None]
"""Gives the samples behind an item as fields of a selection; None where no selection says it."""


def _leading(comparison: Comparison, columns: Iterable[doc.Written[Any]], of: _Fields) -> list[doc.Written[Any]]:
    """The columns, with figures of A and of B that lead to the samples behind them."""
    runs = {"A": comparison.a.id, "B": comparison.b.id}
    titled = [(head.title if isinstance(head, doc.Column) else head, head, cell) for head, cell in columns]
    return [
        (head, partial(_led, cell, of, runs[side]) if (side := title.rpartition(" ")[2]) in runs else cell)
        for title, head, cell in titled
    ]


def _led(cell: Callable[[Any], doc.Cell], of: _Fields, run: str, item: Any) -> doc.Cell:
    text, fields = cell(item), of(item)
    return text if text in doc.NOTHING or fields is None else doc.LinkedText(str(text), OfRun(**fields, run=run))


def _samples_of(change: MetricChange) -> dict[str, Any] | None:
    """Which samples of a run a figure is made of; None where no selection says it."""
    if change.group in ("headline", *_SPENT):
        return {}
    if change.group in _FAILED:
        return {"outcome": change.name.removesuffix("_rate")}
    kind, _, name = change.name.partition(".")
    fields = {"band": ("band", name), "score": ("component", name.rpartition(".")[0]), "findings": ("code", name)}
    return None if kind not in fields or name == "total" else dict([fields[kind]])


def main_figures(comparison: Comparison) -> doc.Table:
    """Pass rate, average, components, flags, measures and bands: A, B, difference, interval, p, n and verdict."""
    return _figures(comparison, "Figures", _HEADING, _HOW, _OVER_FIGURES)


def of_cells(comparison: Comparison) -> doc.Table:
    """Cases and checks that hold, and how alike repeats are: what stands on a case with all its repeats."""
    return _figures(comparison, "Expectations and stability", _OF_CELLS, "n: cases, or checks, of both runs")


def failures(comparison: Comparison) -> doc.Table:
    """How often target or judge failed or an answer had the wrong shape; no rows when nothing of it ever happened."""
    happened = [item for item in comparison.metrics if item.group in _FAILED and (item.a.value or item.b.value)]
    return _changed(
        comparison, "Failures", happened, "of all pairs with the same question; malformed: of those answered"
    )


def extra(comparison: Comparison) -> doc.Table:
    """Components that have no weight and what is counted, where it moved at all."""
    changes = [change for change in comparison.metrics if change.group in EXTRA and change.a.n]
    moved = [change for change in changes if change.verdict is not Moved.SAME]
    moved.sort(key=lambda change: _ORDER.index(change.verdict))
    still = len(changes) - len(moved)
    return _changed(
        comparison, "Without weight in the score", moved, f"{still:,} of {len(changes):,} did not move" if still else ""
    )


def spending(comparison: Comparison) -> doc.Table:
    """Latency, tokens and cost, a sample each."""
    untested = [item.test for item in comparison.metrics if item.group in _SPENT and item.verdict is Moved.NOT_TESTED]
    note = "; ".join(f"latency and cost: {test}" for test in dict.fromkeys(untested))
    return _figures(comparison, "Latency and cost, a sample", _SPENT, note)


def _changed(
    comparison: Comparison, title: str, changes: Iterable[MetricChange], note: str = "", adjusted: str = _OVER_TABLE
) -> doc.Table:
    available = _what_moved_first([change for change in changes if change.a.n])
    signature = texts.of_changes(available, adjusted)
    columns = (("Figure", texts.name), *_leading(comparison, _COLUMNS, _samples_of))
    return doc.table(title, available, *columns, note=note, signature=signature, most=_MOST_ROWS)


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
_COLUMNS: tuple[doc.Written[MetricChange], ...] = (
    ("A", texts.before),
    ("B", texts.after),
    ("Difference", texts.difference),
    (doc.Column("95 % interval", below=True), texts.interval),
    ("p", texts.chance),
    (doc.Column("n", doc.Kind.STACKED), texts.base),
    (doc.Column("Effect", optional=True), texts.effect),
    (doc.Column("W/T/L", below=True, optional=True), texts.sides),
    (doc.VERDICT, lambda change: change.verdict.value),
)


def _columns_of(of: Callable[[Any], MetricChange]) -> list[doc.Written[Any]]:
    """The columns of a change that stands in each item."""
    return [doc.inside(of, column) for column in _COLUMNS]


def slices(comparison: Comparison) -> list[doc.Table]:
    """By factor the groups that moved at all, what is beyond noise first; groups that did not are counted."""
    return [_slices(factor, groups, comparison) for factor, groups in comparison.slices.items() if len(groups) > 1]


def _slices(factor: str, groups: Sequence[SliceChange], comparison: Comparison) -> doc.Table:
    moved = [(group, change) for group in groups for change in _moved(group)]
    moved.sort(key=lambda item: _most_first(item[1]))
    main = comparison.headline.metric
    sides: list[doc.Written[tuple[SliceChange, MetricChange]]] = [
        ("Fixed", lambda row: f"{row[0].fixed:,}"),
        (doc.Column("Broken", below=True), lambda row: f"{row[0].broken:,}"),
    ]
    still = len(groups) - len({group.name for group, _ in moved})
    return doc.table(
        f"By {factor}: {HEADLINE_METRICS.get(main, main)}",
        moved,
        (
            fmt.heading(factor),
            lambda row: row[0].name if row[1].name == main else f"{row[0].name}: {texts.name(row[1])}",
        ),
        *(sides if comparison.pairs.by_pass else ()),
        *_leading(
            comparison,
            _columns_of(lambda row: row[1]),
            lambda row: None if row[0].name == DIFFERS else Selection.of_slice(factor, row[0].name).given(),
        ),
        note=f"{still:,} of {len(groups):,} groups did not move" if still else "",
        signature=texts.of_changes([change for _, change in moved], _OVER_GROUPS),
        most=_MOST_ROWS,
    )


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


def codes(comparison: Comparison) -> doc.Table:
    """Every code that was found, what moved most first: findings and samples on either side, noise or not."""
    findings = [change for change in comparison.metrics if change.name.startswith("findings.")]
    by_name = {change.name.removeprefix("findings."): change for change in findings}
    tested = [by_name[code.code] for code in comparison.codes if code.code in by_name]
    return doc.table(
        "Findings",
        comparison.codes,
        ("Code", lambda item: item.code),
        *_leading(comparison, (*_BOTH, *_SAMPLES), lambda item: {"code": item.code}),
        _CHANGE,
        ("p", lambda item: texts.chance(by_name[item.code]) if item.code in by_name else ""),
        (doc.VERDICT, lambda item: by_name[item.code].verdict.value if item.code in by_name else ""),
        note=_of_pairs(comparison),
        signature=texts.of_changes(tested, _OVER_TABLE, intervals=False),
        most=_MOST_ROWS,
    )


_BOTH: list[doc.Written[Any]] = [("A", lambda item: f"{item.a:,}"), ("B", lambda item: f"{item.b:,}")]
_SAMPLES: list[doc.Written[Any]] = [
    ("Samples A", lambda item: f"{item.samples_a:,}"),
    (doc.Column("Samples B", below=True), lambda item: f"{item.samples_b:,}"),
]
_CHANGE: doc.Written[Any] = ("Change", lambda item: item.standing.value)


def _of_pairs(comparison: Comparison) -> str:
    return f"in {fmt.counted(comparison.pairs.comparable, 'comparable pair')}"


def confusions(comparison: Comparison) -> doc.Table:
    """What was taken for what, new ones first, then resolved ones, then those that moved."""
    result = comparison.confusions
    return doc.table(
        "Confusions",
        [item for item in result.listed if item.standing is not Standing.SAME],
        ("Expected", lambda item: item.expected),
        (doc.words("Got"), lambda item: item.got),
        (doc.words("Code"), lambda item: item.code),
        *_leading(comparison, (*_BOTH, _CHANGE), lambda item: {"code": item.code}),
        note=f"{words.confusion_counts(comparison)}, {_of_pairs(comparison)}",
        total=result.n - result.counts.get(Standing.SAME, 0),
        most=_MOST_ROWS,
    )


def sections(comparison: Comparison) -> doc.Table:
    """Findings a sample in each section of the texts, and how many there are."""
    available = [item for item in comparison.sections if item.rate.a.n]
    return doc.table(
        "Findings by section",
        available,
        ("Section", lambda item: item.section or words.NO_SECTION),
        ("Findings A", lambda item: f"{item.a:,}"),
        (doc.Column("Findings B", below=True), lambda item: f"{item.b:,}"),
        *_columns_of(lambda item: item.rate),
        note="A, B and difference: findings a sample",
        signature=texts.of_changes([item.rate for item in available], _OVER_TABLE),
        most=_MOST_ROWS,
    )


def section_codes(comparison: Comparison) -> doc.Table:
    """The codes that moved in each section, by how much."""
    moved = [(section, code) for section in comparison.sections for code in section.codes]
    moved = [pair for pair in moved if pair[1].standing is not Standing.SAME]
    return doc.table(
        "Codes by section",
        sorted(moved, key=lambda pair: -abs(pair[1].b - pair[1].a)),
        ("Section", lambda pair: pair[0].section or words.NO_SECTION),
        (doc.words("Code"), lambda pair: pair[1].code),
        *(doc.inside(lambda pair: pair[1], column) for column in (*_BOTH, _CHANGE)),
        note=_of_pairs(comparison),
        most=_MOST_ROWS,
    )


_UNPAIRED = {
    "headline": "figures",
    "components": "figures",
    "failures": "failures",
    "findings": "samples with a finding",
    "sections": "samples with a finding, by section",
    "confusions": "samples with a confusion",
}


def unpaired(comparison: Comparison) -> list[doc.Table]:
    """The figures of both runs side by side where there is no pair, a table a kind; the first says what it can show."""
    result = comparison.unpaired
    kinds: dict[str, list[MetricChange]] = {}
    for item in () if result is None else result.figures:
        kinds.setdefault(_UNPAIRED.get(item.group, f"by {item.group}"), []).append(item)
    sides = [
        column for side in "AB" for column in (doc.Column(f"{side}\n95 %", doc.Kind.STACKED), doc.Column(f"n {side}"))
    ]
    columns = (doc.words("Figure"), *sides, doc.Column("B - A\n95 %", doc.Kind.STACKED))
    message = iter(() if result is None else (result.sentence,))
    return [
        doc.Table(
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


def signatures(comparison: Comparison) -> doc.Table:
    """Everything that differs in how the runs were made."""
    return doc.table(
        "Signatures",
        comparison.signatures.changes,
        ("Part", lambda change: change.part),
        (doc.words("Means"), lambda change: words.MEANINGS[change.means]),
        (doc.words("What differs"), lambda change: change.sentence),
        (doc.words("A"), lambda change: change.a),
        (doc.words("B"), lambda change: change.b),
        (
            doc.words("Cases"),
            lambda change: (
                f"{change.n_cases:,}: {words.some(change.cases, change.n_cases, 5)}" if change.n_cases else ""
            ),
        ),
    )


def pair_list(result: PairList) -> doc.Table:
    """The first samples of a list with their scores."""
    scores = (("Score in A", lambda line: fmt.percent(line.a)), ("Score in B", lambda line: fmt.percent(line.b)))
    return doc.table("", result.lines, ("Sample", words.pair_name), *scores, total=result.count)


def moved_checks(comparison: Comparison) -> doc.Table:
    """Every check that holds in one run and is broken in the other, those that broke first."""
    result = comparison.checks
    if result is None:
        return doc.NO_TABLE
    moved = [(line, word) for word in ("broken", "fixed") for line in getattr(result, word).lines]
    return doc.table(
        "Checks that moved",
        moved,
        ("Case", lambda row: cell_name(row[0].case_id, row[0].variant)),
        (doc.words("Check"), lambda row: row[0].name),
        ("A", lambda row: f"{row[0].passed_a} of {row[0].n_a}"),
        ("B", lambda row: f"{row[0].passed_b} of {row[0].n_b}"),
        ("Change", lambda row: row[1]),
        note="k of n: repeats in which it passed",
        total=result.broken.count + result.fixed.count,
        most=_MOST_ROWS,
    )


def main_tables(comparison: Comparison) -> list[doc.Table]:
    """What a reader looks at first: the main figures or, without pairs, both sides of all that there is."""
    return [main_figures(comparison)] if comparison.unpaired is None else unpaired(comparison)


def other_tables(comparison: Comparison) -> list[doc.Table]:
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
