"""Comparisons and attributions in sentences and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steelyard.analysis.compare.attribution_model import Attribution, How, Portion, name_of, points
from steelyard.analysis.compare.attribution_steps import reason_in_words
from steelyard.analysis.compare.model import (
    CellMoves,
    ChecksChange,
    CodeChange,
    Comparison,
    Confusion,
    MetricChange,
    Moved,
    NotCompared,
    PairLine,
    PairList,
    Part,
    SignatureChange,
    SliceChange,
    Standing,
)
from steelyard.analysis.summary import target_name
from steelyard.records import RunHeader
from steelyard.report import format as fmt
from steelyard.report.compare import changes
from steelyard.report.document import Column, Kind, Table
from steelyard.report.format import clipped
from steelyard.stats.arrays import SEED
from steelyard.suite.case import cell_name

# Why the headline number moved, as tables and sentences that every view of a comparison shows.

WHY = "Why"
"""The label of the sentence on why the headline number moved."""
LEDGER = "Ledger"
_METRICS = {"pass_rate": "pass rate", "average": "average score"}
_MEASURED = {
    How.COUNTED: "counted",
    How.SCORED_AGAIN: "A's answers scored again by B's suite",
    How.ANCHORS: "measured on anchors",
    How.LEFT: "the remainder",
}


def shown(comparison: Comparison) -> Attribution | None:
    """The attribution where it says more than the comparison itself; None when only the system can have done it."""
    result = comparison.attribution
    return None if result is None or (result.only_the_system and result.portions) else result


def why(comparison: Comparison) -> list[tuple[str, str]]:
    """The sentence with its label, what the ledger says of the edits, and why some causes could not be separated."""
    result = shown(comparison)
    if result is None:
        return []
    rows = [(WHY, f"{_headline(result)}{result.sentence}"), *((LEDGER, message) for message in result.ledger)]
    return rows + [("Not split", message) for message in result.joined]


def _headline(attribution: Attribution) -> str:
    if attribution.total is None:
        return ""
    before, after = (fmt.percent(item.value) for item in (attribution.a, attribution.b))
    return f"{_METRICS[attribution.metric]} of all scored samples {before} -> {after}: "


def tables(comparison: Comparison) -> list[Table]:
    """The portions with their intervals, and the truth edits that moved the number."""
    result = shown(comparison)
    if result is None or result.total is None:
        return []
    return [_portions(result), *([_edits(result)] if result.truth_edits.listed else [])]


def method(comparison: Comparison) -> str:
    """How the comparison's figures were computed, those on why the number moved included where they are shown."""
    result = shown(comparison)
    return comparison.method if result is None else f"{comparison.method}; why: {result.method}"


def _portions(attribution: Attribution) -> Table:
    rows = [
        (
            name_of(portion),
            points(portion.change.value),
            _interval(portion),
            f"{portion.change.n:,}",
            _verdict(portion),
            portion.message or _MEASURED[portion.how],
        )
        for portion in attribution.portions
    ]
    if attribution.noise is not None:
        width = fmt.percentage(attribution.noise.half_width)
        rows.append(("noise, in the last", f"up to {width:.1f}", "", "", "", _repeats(attribution.noise.of_repeats)))
    rows.append(
        (
            "together",
            points(attribution.total),
            "",
            "",
            "",
            f"{attribution.a.n:,} scored samples of A, {attribution.b.n:,} of B",
        )
    )
    columns = (
        Column("Cause", Kind.TEXT),
        Column("Points"),
        Column("95 % interval"),
        Column("Cases"),
        Column("Significance"),
        Column("Based on", Kind.TEXT),
    )
    note = "figures are rounded after summing" if _rounding_shows(attribution) else ""
    signature = f"95 %: Student t over what each case adds; the remainder: as for the figures | seed {SEED}"
    return Table(f"Why the {_METRICS[attribution.metric]} moved", columns, rows, note, signature=signature)


def _verdict(portion: Portion) -> str:
    if portion.how in (How.COUNTED, How.SCORED_AGAIN):
        return "exact"
    return "cannot tell" if portion.cannot_tell else "beyond noise" if portion.change.value else "no change"


def _interval(portion: Portion) -> str:
    low, high = portion.change.low, portion.change.high
    return "no interval" if low is None or high is None else f"[{points(low)}, {points(high)}]"


def _repeats(share: float | None) -> str:
    message = "half the interval above"
    return message if share is None else f"{message}; {fmt.percent(share, 0)} of its variance is between repeats"


def _rounding_shows(attribution: Attribution) -> bool:
    printed = sum(fmt.percentage(portion.change.value or 0.0) for portion in attribution.portions)
    return abs(printed - fmt.percentage(attribution.total or 0.0)) > 0.05


def _edits(attribution: Attribution) -> Table:
    edits = attribution.truth_edits
    rows = [
        (edit.case_id, f"{edit.n:,}", points(edit.moved), points(edit.part), reason_in_words(edit.reason))
        for edit in edits.listed
    ]
    columns = (
        Column("Case", Kind.TEXT),
        Column("Pairs"),
        Column("Moved by"),
        Column("Of the headline"),
        Column("Reason", Kind.TEXT),
    )
    message = f"{edits.n_moved:,} of {fmt.counted(edits.n_cases, 'case')} with another truth moved the number"
    return Table("Truth edits", columns, rows, message, total=edits.n_moved)


# What a comparison says in words, the same in every view: the answer, how sure, what differs, what moved.

MEANINGS = {Part.SCALE: "blocks a verdict", Part.SUBJECT: "is compared", Part.NOTED: "noted"}
NO_SECTION = "(no section)"
_MOST_DIFFERENCES = 6
_MOST_FIGURES = 3
_MOST_SLICES = 2
_MOST_NAMED = 3
_LONGEST_NAME = 40
_FEWEST_TOGETHER = 3
_BEYOND_NOISE = (Moved.WORSE, Moved.BETTER, Moved.CHANGED)
_LAST_GROUPS = ("sections", "findings", "bands", "extra", "counts", "latency", "spending")
"""Groups of figures that are named after all others: they follow from them, or are no figures of quality."""


def title(comparison: Comparison) -> str:
    """The suite, or both."""
    names = dict.fromkeys((comparison.a.suite_name, comparison.b.suite_name))
    return " / ".join(names)


def verdict_word(comparison: Comparison) -> str:
    """BETTER, WORSE, SAME or CANNOT TELL."""
    return comparison.headline.verdict.value.upper()


def answer(comparison: Comparison) -> str:
    """The sentence beside the verdict's word, without the word where it begins with it."""
    return comparison.headline.sentence.removeprefix("cannot tell: ").removeprefix("cannot tell whether B is better: ")


def runs(comparison: Comparison) -> list[tuple[str, str]]:
    """Which run is A and which is B, when and of what it was made."""
    sizes = (comparison.pairs.n_a, comparison.pairs.n_b)
    sides = zip(("A", "B"), (comparison.a, comparison.b), sizes, strict=True)
    return [(side, _run(header, size)) for side, header, size in sides]


def _run(header: RunHeader, size: int) -> str:
    verdict = header.verdict.value if header.verdict else ""
    names = (
        clipped(header.id, _LONGEST_NAME),
        fmt.when(header.created_at),
        clipped(target_name(header), 60),
    )
    return ", ".join(part for part in (*names, fmt.counted(size, "sample"), verdict) if part)


def differences(comparison: Comparison) -> list[tuple[Part, str]]:
    """What differs in how the runs were made, what blocks a verdict first; the first few, and how many more."""
    changes = comparison.signatures.changes
    if not changes:
        return [(Part.NOTED, "no difference in signature or load is known")]
    results = [(change.means, change.sentence) for change in changes[:_MOST_DIFFERENCES]]
    if comparison.signatures.several:
        results.append((Part.SUBJECT, comparison.signatures.several))
    left_off = len(changes) - _MOST_DIFFERENCES
    return [*results, (Part.NOTED, f"and {left_off} more, below")] if left_off > 0 else results


def needs_table(comparison: Comparison) -> bool:
    """True when not every difference between the signatures is said at the top."""
    return len(comparison.signatures.changes) > _MOST_DIFFERENCES


def cases_of(change: SignatureChange) -> str:
    """The cases that a difference concerns: how many, and the first of them."""
    return "" if not change.n_cases else f"{change.n_cases:,}: {_named(list(change.cases), change.n_cases, 5)}"


def significance(comparison: Comparison) -> list[tuple[str, str]]:
    """How significant the answer is, as label and words; without what its sentence has said already."""
    headline = comparison.headline
    rows = [("Significance", "none" if headline.confounded_by else headline.significance)]
    rows += why(comparison)
    rows += [("Besides", reason) for reason in headline.confounded_by if reason not in headline.sentence]
    if headline.confounded_by and comparison.pairs.comparable:
        rows.append(("To override", "--allow-mismatch gives a verdict all the same"))
    rows += [("Overridden", reason) for reason in headline.in_spite_of]
    if effect := changes.effect_in_words(comparison.metrics[0]) if comparison.metrics else "":
        rows.append(("Effect", effect))
    if headline.smallest:
        rows.append(("Detectable", headline.smallest))
    return rows


def what_moved(comparison: Comparison) -> list[str]:
    """The counts, then everything that moved beyond noise or is new or resolved, in a few sentences."""
    results = [counts(comparison), checks_sentence(comparison), *_figures(comparison), *_slices(comparison)]
    unpaired = "" if comparison.unpaired is None else comparison.unpaired.sentence
    return [message for message in (*results, *_codes(comparison), *_confusions(comparison), unpaired) if message]


def counts(comparison: Comparison) -> str:
    """How many pairs changed sides, and how many samples have no counterpart."""
    pairs = comparison.pairs
    words = ("fixed", "broken", "unchanged") if pairs.by_pass else ("rose", "fell", "level")
    message = ", ".join(f"{getattr(pairs, word).count:,} {word}" for word in words)
    base = f"{fmt.counted(pairs.comparable, 'comparable pair')} ({fmt.counted(pairs.n_cases, 'case')})"
    return f"{message} of {base}; {pairs.n_not_comparable:,} not comparable"


def _figures(comparison: Comparison) -> Iterator[str]:
    if comparison.headline.confounded_by and comparison.pairs.comparable:
        yield f"neither better nor worse: {changes.sentence(comparison.metrics[0])}"
    others = [change for change in comparison.metrics if not change.primary and change.a.n]
    others += [section.rate for section in comparison.sections if section.rate.a.n]
    message = comparison.headline.sentence
    moved = sorted((other for other in others if other.verdict in _BEYOND_NOISE), key=_worst_first)
    texts = [item for item in moved if item.group == "headline" and changes.change_of(item) in message]
    moved = [item for item in moved if item not in texts]
    for change in moved[:_MOST_FIGURES]:
        yield f"{change.verdict}: {changes.sentence(change)}"
    if len(moved) > _MOST_FIGURES:
        yield f"and {fmt.counted(len(moved) - _MOST_FIGURES, 'more figure')} beyond noise, below"
    quiet = comparison.headline.confounded_by or comparison.headline.verdict is Moved.SAME
    if not moved and others and not quiet:
        yield f"no other figure moved beyond noise ({len(others) - len(texts)} looked at)"


def _slices(comparison: Comparison) -> Iterator[str]:
    every = [item for result in comparison.slices.values() if len(result) > 1 for item in result]
    moved = [item for item in every if item.metrics and item.metrics[0].verdict in _BEYOND_NOISE]
    for item in sorted(moved, key=lambda item: _worst_first(item.metrics[0]))[:_MOST_SLICES]:
        yield f"{item.metrics[0].verdict} in {slice_name(item)}: {changes.sentence(item.metrics[0])}"
    if len(moved) > _MOST_SLICES:
        yield f"and {fmt.counted(len(moved) - _MOST_SLICES, 'more group')} beyond noise, below"


def _worst_first(change: MetricChange) -> tuple[int, int]:
    late = _LAST_GROUPS.index(change.group) + 1 if change.group in _LAST_GROUPS else 0
    return late, _BEYOND_NOISE.index(change.verdict)


def slice_name(slice_change: SliceChange) -> str:
    """A group with its factor: `category levers`."""
    return f"{slice_change.factor} {clipped(slice_change.name, _LONGEST_NAME)}"


def _codes(comparison: Comparison) -> Iterator[str]:
    for standing in (Standing.NEW, Standing.RESOLVED):
        results = [code for code in comparison.codes if code.standing is standing]
        if results:
            shown = _some([_code(item) for item in results], len(results), _MOST_NAMED)
            yield f"{standing} findings, in {comparison.pairs.comparable:,} pairs: {shown}"


def _code(code_change: CodeChange) -> str:
    return f"{clipped(code_change.code, _LONGEST_NAME)} {code_change.a:,} -> {code_change.b:,}"


def _confusions(comparison: Comparison) -> Iterator[str]:
    result = comparison.confusions
    if not any(result.counts.get(standing) for standing in (Standing.NEW, Standing.RESOLVED)):
        return
    first = [item for item in result.listed if item.standing in (Standing.NEW, Standing.RESOLVED)]
    yield f"{confusion_counts(comparison)}: {_some([_confusion(item) for item in first], len(first), 2)}"


def _confusion(confusion: Confusion) -> str:
    code, expected, got = (clipped(text, _LONGEST_NAME) for text in (confusion.code, confusion.expected, confusion.got))
    return f"{code} {got} for {expected} {confusion.a:,} -> {confusion.b:,}"


def confusion_counts(comparison: Comparison) -> str:
    """How many different confusions there are, by what became of them: `12 confusions, 3 new, 2 resolved`."""
    result = comparison.confusions
    parts = [f"{result.counts[standing]:,} {standing}" for standing in Standing if result.counts.get(standing)]
    return ", ".join([fmt.counted(result.n, "confusion"), *parts])


def pair_lists(comparison: Comparison) -> list[tuple[str, str]]:
    """Every list with its count and the first few samples in it; the reasons of those that cannot be compared last."""
    pairs = comparison.pairs
    rows = [(label, listed(result, pairs.comparable)) for label, result in comparable_lists(comparison)]
    rows.append(("Not comparable", f"{pairs.n_not_comparable:,}, in no figure"))
    rows += [(f"  {why}", listed(result)) for why, result in pairs.not_comparable.items()]
    return rows


def comparable_lists(comparison: Comparison) -> list[tuple[str, PairList]]:
    """The lists of comparable pairs, each with its label; scores only where they say more than the pass rule."""
    pairs = comparison.pairs
    passed = [("Fixed", pairs.fixed), ("Broken", pairs.broken), ("Unchanged", pairs.unchanged)]
    scored = [("Score rose", pairs.rose), ("Score fell", pairs.fell), ("Score level", pairs.level)]
    if not pairs.by_pass:
        return scored
    alike = (pairs.rose.count, pairs.fell.count) == (pairs.fixed.count, pairs.broken.count)
    return passed if alike else [*passed, *scored[:2]]


def listed(pair_list: PairList, of: int | None = None) -> str:
    """A list in a line: `9 of 20: c10, c11, c12, c13 and 5 more`."""
    message = f"{pair_list.count:,}" if of is None else f"{pair_list.count:,} of {of:,}"
    names = _named([pair_name(line) for line in pair_list.lines], pair_list.count, 4)
    return f"{message}: {names}" if names else message


def pair_name(line: PairLine) -> str:
    """A sample by its case, with variant and repeat where there are more."""
    return cell_name(line.case_id, line.variant) + (f" #{line.repeat + 1}" if line.repeat else "")


def _named(names: list[str], count: int, most: int) -> str:
    return _some([clipped(name, _LONGEST_NAME) for name in names], count, most)


def _some(names: list[str], count: int, most: int) -> str:
    shown = ", ".join(names[:most])
    more = count - min(len(names), most)
    return f"{shown} and {more:,} more" if more > 0 else shown


def checks_sentence(comparison: Comparison) -> str:
    """How many cases and checks were fixed and broken; "" when a run has no expectations."""
    result = comparison.checks
    if result is None:
        return ""
    cells = _became(
        f"{result.cells_fixed.count:,} fixed{_cells_named(result.cells_fixed)}",
        f"{result.cells_failed.count:,} broken{_cells_named(result.cells_failed)}",
        result.cells_unchanged,
        result.cells_cannot_tell,
    )
    checks = _became(
        f"{result.fixed.count:,} fixed", f"{result.broken.count:,} broken", result.unchanged, result.cannot_tell
    )
    extra = _only_in(result) + (f"; {result.confounded}" if result.confounded else "")
    of = f"expectations of {fmt.counted(result.n_cells, 'case')}"
    return f"{of}: {cells}; {fmt.counted(result.n, 'check')}: {checks}{extra}"


def _became(fixed: str, broken: str, unchanged: int, cannot_tell: int) -> str:
    message = f"{fixed}, {broken}, {unchanged:,} unchanged"
    return f"{message}, {cannot_tell:,} cannot tell" if cannot_tell else message


def _cells_named(cell_moves: CellMoves) -> str:
    names = [clipped(cell_name(*name), _LONGEST_NAME) for name in cell_moves.names[:_MOST_NAMED]]
    if not names:
        return ""
    more = cell_moves.count - len(names)
    return f" ({', '.join(names)}{f' and {more:,} more' if more else ''})"


def _only_in(checks_change: ChecksChange) -> str:
    sides = [f"{n:,} only in {side}" for side, n in (("A", checks_change.only_a), ("B", checks_change.only_b)) if n]
    return f"; {' and '.join(sides)}" if sides else ""


def left_out(not_compareds: Iterable[NotCompared]) -> list[str]:
    """One sentence for each, three and more of one kind as one: `54 measures of spans: only B has them (...)`."""
    alike: dict[tuple[str, str, str], list[NotCompared]] = {}
    for item in not_compareds:
        alike.setdefault((item.what, _owner(item), item.why), []).append(item)
    return [message for some in alike.values() for message in _left_out(some)]


def _owner(not_compared: NotCompared) -> str:
    """The component that a measure or count is of."""
    return not_compared.name.rpartition(".")[0] if not_compared.what in ("measure", "count") else ""


def _left_out(some: list[NotCompared]) -> list[str]:
    if len(some) < _FEWEST_TOGETHER:
        return [item.sentence for item in some]
    first, owner = some[0], _owner(some[0])
    names = [clipped(item.name.removeprefix(f"{owner}.") if owner else item.name, _LONGEST_NAME) for item in some]
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    of = f" of {clipped(owner, _LONGEST_NAME)}" if owner else ""
    why = first.why.replace("has it", "has them").replace("have it", "have them")
    kind = f"{first.what} ({len(some):,})" if " " in first.what else fmt.counted(len(some), first.what)
    return [f"{kind}{of}: {why} ({shown})"]
