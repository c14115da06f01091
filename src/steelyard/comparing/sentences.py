"""What a comparison says, the same in every view: the answer, how sure it is, what differs, what moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from steelyard.analysis.target import target_label
from steelyard.comparing import change_texts as changes
from steelyard.comparing.attribution_tables import why
from steelyard.comparing.length import length_in_words
from steelyard.comparing.model import Comparison
from steelyard.decide.provenance import run_before
from steelyard.pairing.model import (
    CellMoves,
    Confusion,
    MetricChange,
    Moved,
    NotCompared,
    PairLine,
    PairList,
    Part,
    Standing,
)
from steelyard.report import format as fmt
from steelyard.report.format import clipped
from steelyard.suite.case import cell_name

MEANINGS = {Part.SCALE: "blocks a verdict", Part.SUBJECT: "is compared", Part.NOTED: "noted"}
NO_SECTION = "(no section)"
MOST_DIFFERENCES = 6
_MOST_FIGURES = 3
_MOST_SLICES = 2
DROPPED = "dropped"
_LARGE_DROP = 0.2
"""A group whose rate fell by this share or more is named even where its few cases cannot show a change."""
_MOST_DROPS = 3
_MOST_NAMED = 3
_LONGEST_NAME = 40
_LONGEST_MOVE = 200
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
    sides = (("A", comparison.a, comparison.pairs.n_a), ("B", comparison.b, comparison.pairs.n_b))
    rows = []
    for side, header, size in sides:
        when, target = fmt.when(header.created_at), clipped(target_label(header), 60)
        verdict = header.verdict.value if header.verdict else ""
        variant = header.description.variant_names[0] if len(header.description.variant_names) == 1 else ""
        variant = variant and f"variant {clipped(variant, _LONGEST_NAME)}"
        parts = (clipped(header.id, _LONGEST_NAME), when, target, variant, fmt.counted(size, "sample"), verdict)
        rows.append((side, ", ".join(filter(None, parts))))
    return rows


def differences(comparison: Comparison) -> list[tuple[Part, str]]:
    """What differs in how the runs were made, what blocks a verdict first; the first few, and how many more."""
    changes = comparison.signatures.changes
    if not changes:
        return [(Part.NOTED, "no difference in signature or load is known ")]
    results = [(change.means, change.sentence) for change in changes[:MOST_DIFFERENCES]]
    if comparison.signatures.several:
        results.append((Part.SUBJECT, comparison.signatures.several))
    left_off = len(changes) - MOST_DIFFERENCES
    return [*results, (Part.NOTED, f"and {left_off} more, below")] if left_off > 0 else results


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
    if comparison.length is not None:
        rows.append(("Length", length_in_words(comparison.length)))
    if headline.smallest:
        rows.append(("Detectable", headline.smallest))
    for side, header in (("A", comparison.a), ("B", comparison.b)):
        if sentence := run_before(header.options.earlier):
            rows.append((f"{side} was", sentence))
    return rows


def what_moved(comparison: Comparison) -> list[str]:
    """The counts, then everything that moved beyond noise or is new or resolved, in a few sentences."""
    results = [counts(comparison), checks_sentence(comparison), *_figures(comparison), *_slices(comparison)]
    results += drops(comparison)
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
        change, name = item.metrics[0], f"{item.factor} {clipped(item.name, _LONGEST_NAME)}"
        yield f"{change.verdict} in {name}: {changes.sentence(change)}"
    if len(moved) > _MOST_SLICES:
        yield f"and {fmt.counted(len(moved) - _MOST_SLICES, 'more group')} beyond noise, below"


def drops(comparison: Comparison) -> list[str]:
    """The groups that fell far, most lost first, although so few cases cannot show it: where to look."""
    if comparison.headline.confounded_by:
        return []
    fallen = []
    for items in comparison.slices.values():
        for item in items if len(items) > 1 else ():
            change = item.metrics[0] if item.metrics else None
            fell = -(change.difference.value or 0.0) if change is not None and change.unit == "share" else 0.0
            if change is not None and fell >= _LARGE_DROP and change.verdict not in _BEYOND_NOISE:
                fallen.append((-fell * item.n, item, change))
    fallen.sort(key=lambda entry: entry[0])
    lines = [
        f"{DROPPED} in {item.factor} {clipped(item.name, _LONGEST_NAME)}, not significant: {changes.sentence(change)}"
        for _, item, change in fallen[:_MOST_DROPS]
    ]
    left = len(fallen) - len(lines)
    return [*lines, f"{DROPPED} in {fmt.counted(left, 'more group')}, not significant, below"] if left > 0 else lines


def _worst_first(change: MetricChange) -> tuple[int, int]:
    late = _LAST_GROUPS.index(change.group) + 1 if change.group in _LAST_GROUPS else 0
    return late, _BEYOND_NOISE.index(change.verdict)


def _codes(comparison: Comparison) -> Iterator[str]:
    for standing in (Standing.NEW, Standing.RESOLVED):
        results = [
            f"{clipped(code.code, _LONGEST_NAME)} {code.a:,} -> {code.b:,}"
            for code in comparison.codes
            if code.standing is standing
        ]
        if results:
            shown = some(results, len(results), _MOST_NAMED, _LONGEST_MOVE)
            yield f"{standing} findings, in {comparison.pairs.comparable:,} pairs: {shown}"


def _confusions(comparison: Comparison) -> Iterator[str]:
    result, moved = comparison.confusions, (Standing.NEW, Standing.RESOLVED)
    if any(result.counts.get(standing) for standing in moved):
        first = [_confusion(item) for item in result.listed if item.standing in moved]
        yield f"{confusion_counts(comparison)}: {some(first, len(first), 2, _LONGEST_MOVE)}"


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
    names = some([pair_name(line) for line in pair_list.lines], pair_list.count, 4)
    return f"{message}: {names}" if names else message


def pair_name(line: PairLine) -> str:
    """A sample by its case, with variant and repeat where there are more."""
    return cell_name(line.case_id, line.variant) + (f" #{line.repeat + 1}" if line.repeat else "")


def some(names: Sequence[str], count: int, most: int, longest: int = _LONGEST_NAME) -> str:
    """The first names and how many more there are: `c10, c11 and 5 more`."""
    shown = ", ".join(clipped(name, longest) for name in names[:most])
    more = count - min(len(names), most)
    return f"{shown} and {more:,} more" if more > 0 else shown


def checks_sentence(comparison: Comparison) -> str:
    """How many cases and checks were fixed and broken; "" when a run has no expectations."""
    result = comparison.checks
    if result is None:
        return ""
    moved = (("fixed", result.cells_fixed), ("broken", result.cells_failed))
    cells = [f"{moves.count:,} {word}{_cells_named(moves)}" for word, moves in moved]
    cells += [f"{result.cells_unchanged:,} unchanged"]
    cells += [f"{result.cells_cannot_tell:,} cannot tell"] if result.cells_cannot_tell else []
    checks = [f"{result.fixed.count:,} fixed", f"{result.broken.count:,} broken", f"{result.unchanged:,} unchanged"]
    checks += [f"{result.cannot_tell:,} cannot tell"] if result.cannot_tell else []
    alone = " and ".join(f"{n:,} only in {side}" for side, n in (("A", result.only_a), ("B", result.only_b)) if n)
    parts = [
        f"expectations of {fmt.counted(result.n_cells, 'case')}: {', '.join(cells)}",
        f"{fmt.counted(result.n, 'check')}: {', '.join(checks)}",
    ]
    return "; ".join(filter(None, [*parts, alone, result.confounded]))


def _cells_named(cell_moves: CellMoves) -> str:
    names = some([cell_name(*name) for name in cell_moves.names], cell_moves.count, _MOST_NAMED)
    return f" ({names})" if cell_moves.names else ""


def left_out(not_compareds: Iterable[NotCompared]) -> list[str]:
    """One sentence for each, three and more of one kind as one: `54 measures of spans: only B has them (...)`."""
    alike: dict[tuple[str, str, str], list[NotCompared]] = {}
    for item in not_compareds:
        alike.setdefault((item.what, _owner(item), item.why), []).append(item)
    return [message for items in alike.values() for message in _left_out(items)]


def _owner(not_compared: NotCompared) -> str:
    """The component that a measure or count is of."""
    return not_compared.name.rpartition(".")[0] if not_compared.what in ("measure", "count") else ""


def _left_out(alike: list[NotCompared]) -> list[str]:
    if len(alike) < _FEWEST_TOGETHER:
        return [item.sentence for item in alike]
    first, owner = alike[0], _owner(alike[0])
    names = [item.name.removeprefix(f"{owner}.") if owner else item.name for item in alike]
    of = f" of {clipped(owner, _LONGEST_NAME)}" if owner else ""
    why = first.why.replace("has it", "has them").replace("have it", "have them")
    kind = f"{first.what} ({len(alike):,})" if " " in first.what else fmt.counted(len(alike), first.what)
    return [f"{kind}{of}: {why} ({some(names, len(names), _MOST_NAMED)})"]
