"""What a comparison says in words, the same in every view: the answer, how sure, what differs, what moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steelyard.analysis.compare_model import (
    CodeChange,
    Comparison,
    Confusion,
    InstrumentChange,
    MetricChange,
    Moved,
    PairLine,
    PairList,
    Part,
    SliceChange,
    Standing,
)
from steelyard.analysis.compared_checks_model import CellMoves, ChecksChange
from steelyard.analysis.not_compared import NotCompared
from steelyard.records import RunHeader
from steelyard.report import attribution, changes, wording
from steelyard.report import format as fmt
from steelyard.report.format import clipped
from steelyard.report.wording import cell_name

MEANINGS = {Part.SCALE: "hinders a verdict", Part.SUBJECT: "is compared", Part.NOTED: "noted"}
NO_SECTION = "(no section)"
_MOST_DIFFERENCES = 6
_MOST_FIGURES = 3
_MOST_SLICES = 2
_MOST_NAMED = 3
_LONGEST_NAME = 40
_FEWEST_TOGETHER = 3
_BEYOND_NOISE = (Moved.WORSE, Moved.BETTER, Moved.CHANGED)
_LAST_GROUPS = ("sections", "findings", "bands", "beside", "counts", "latency", "spending")
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
        clipped(wording.target_name(header), 60),
    )
    return ", ".join(part for part in (*names, fmt.counted(size, "sample"), verdict) if part)


def differences(comparison: Comparison) -> list[tuple[Part, str]]:
    """What differs in how the runs were made, what hinders a verdict first; the first few, and how many more."""
    changes = comparison.instruments.changes
    if not changes:
        return [(Part.NOTED, "nothing is known to differ in how the two runs were made")]
    found = [(change.means, change.sentence) for change in changes[:_MOST_DIFFERENCES]]
    if comparison.instruments.several:
        found.append((Part.SUBJECT, comparison.instruments.several))
    left_off = len(changes) - _MOST_DIFFERENCES
    return [*found, (Part.NOTED, f"and {left_off} more, below")] if left_off > 0 else found


def needs_table(comparison: Comparison) -> bool:
    """True when not every difference between the instruments is said at the top."""
    return len(comparison.instruments.changes) > _MOST_DIFFERENCES


def cases_of(change: InstrumentChange) -> str:
    """The cases that a difference concerns: how many, and the first of them."""
    return "" if not change.n_cases else f"{change.n_cases:,}: {_named(list(change.cases), change.n_cases, 5)}"


def how_sure(comparison: Comparison) -> list[tuple[str, str]]:
    """How sure the answer is, as label and words; without what its sentence has said already."""
    headline = comparison.headline
    rows = [("How sure", "not at all" if headline.hindered_by else headline.how_sure)]
    rows += attribution.why(comparison)
    rows += [("Besides", reason) for reason in headline.hindered_by if reason not in headline.sentence]
    if headline.hindered_by and comparison.pairs.comparable:
        rows.append(("To ask", "--anyway gives a verdict in spite of it"))
    rows += [("In spite of", reason) for reason in headline.in_spite_of]
    if effect := changes.effect_in_words(comparison.metrics[0]) if comparison.metrics else "":
        rows.append(("Effect", effect))
    if headline.smallest:
        rows.append(("Could show", headline.smallest))
    return rows


def what_moved(comparison: Comparison) -> list[str]:
    """The counts, then everything that moved beyond noise or is new or resolved, in a few sentences."""
    found = [counts(comparison), checks_sentence(comparison), *_figures(comparison), *_slices(comparison)]
    unpaired = "" if comparison.unpaired is None else comparison.unpaired.sentence
    return [told for told in (*found, *_codes(comparison), *_confusions(comparison), unpaired) if told]


def counts(comparison: Comparison) -> str:
    """How many pairs changed sides, and how many samples have no counterpart."""
    pairs = comparison.pairs
    words = ("fixed", "broken", "unchanged") if pairs.by_pass else ("rose", "fell", "level")
    told = ", ".join(f"{getattr(pairs, word).count:,} {word}" for word in words)
    base = f"{fmt.counted(pairs.comparable, 'comparable pair')} ({fmt.counted(pairs.n_cases, 'case')})"
    return f"{told} of {base}; {pairs.n_not_comparable:,} not comparable"


def _figures(comparison: Comparison) -> Iterator[str]:
    if comparison.headline.hindered_by and comparison.pairs.comparable:
        yield f"neither better nor worse: {changes.sentence(comparison.metrics[0])}"
    others = [change for change in comparison.metrics if not change.primary and change.a.n]
    others += [each.rate for each in comparison.sections if each.rate.a.n]
    told = comparison.headline.sentence
    moved = sorted((each for each in others if each.verdict in _BEYOND_NOISE), key=_worst_first)
    said = [each for each in moved if each.group == "headline" and changes.change_of(each) in told]
    moved = [each for each in moved if each not in said]
    for change in moved[:_MOST_FIGURES]:
        yield f"{change.verdict}: {changes.sentence(change)}"
    if len(moved) > _MOST_FIGURES:
        yield f"and {fmt.counted(len(moved) - _MOST_FIGURES, 'more figure')} beyond noise, below"
    quiet = comparison.headline.hindered_by or comparison.headline.verdict is Moved.SAME
    if not moved and others and not quiet:
        yield f"no other figure moved beyond noise ({len(others) - len(said)} looked at)"


def _slices(comparison: Comparison) -> Iterator[str]:
    every = [each for found in comparison.slices.values() if len(found) > 1 for each in found]
    moved = [each for each in every if each.metrics and each.metrics[0].verdict in _BEYOND_NOISE]
    for each in sorted(moved, key=lambda one: _worst_first(one.metrics[0]))[:_MOST_SLICES]:
        yield f"{each.metrics[0].verdict} in {slice_name(each)}: {changes.sentence(each.metrics[0])}"
    if len(moved) > _MOST_SLICES:
        yield f"and {fmt.counted(len(moved) - _MOST_SLICES, 'more group')} beyond noise, below"


def _worst_first(change: MetricChange) -> tuple[int, int]:
    late = _LAST_GROUPS.index(change.group) + 1 if change.group in _LAST_GROUPS else 0
    return late, _BEYOND_NOISE.index(change.verdict)


def slice_name(each: SliceChange) -> str:
    """A group with its factor: `category levers`."""
    return f"{each.factor} {clipped(each.name, _LONGEST_NAME)}"


def _codes(comparison: Comparison) -> Iterator[str]:
    for standing in (Standing.NEW, Standing.RESOLVED):
        found = [each for each in comparison.codes if each.standing is standing]
        if found:
            shown = _some([_code(each) for each in found], len(found), _MOST_NAMED)
            yield f"{standing} findings, in {comparison.pairs.comparable:,} pairs: {shown}"


def _code(each: CodeChange) -> str:
    return f"{clipped(each.code, _LONGEST_NAME)} {each.a:,} -> {each.b:,}"


def _confusions(comparison: Comparison) -> Iterator[str]:
    found = comparison.confusions
    if not any(found.counts.get(standing) for standing in (Standing.NEW, Standing.RESOLVED)):
        return
    first = [each for each in found.listed if each.standing in (Standing.NEW, Standing.RESOLVED)]
    yield f"{confusion_counts(comparison)}: {_some([_confusion(each) for each in first], len(first), 2)}"


def _confusion(each: Confusion) -> str:
    code, expected, got = (clipped(text, _LONGEST_NAME) for text in (each.code, each.expected, each.got))
    return f"{code} {got} for {expected} {each.a:,} -> {each.b:,}"


def confusion_counts(comparison: Comparison) -> str:
    """How many different confusions there are, by what became of them: `12 confusions, 3 new, 2 resolved`."""
    found = comparison.confusions
    parts = [f"{found.counts[standing]:,} {standing}" for standing in Standing if found.counts.get(standing)]
    return ", ".join([fmt.counted(found.n, "confusion"), *parts])


def pair_lists(comparison: Comparison) -> list[tuple[str, str]]:
    """Every list with its count and the first few samples in it; the reasons of those that cannot be compared last."""
    pairs = comparison.pairs
    rows = [(label, listed(found, pairs.comparable)) for label, found in comparable_lists(comparison)]
    rows.append(("Not comparable", f"{pairs.n_not_comparable:,}, no part of any figure"))
    rows += [(f"  {why}", listed(found)) for why, found in pairs.not_comparable.items()]
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


def listed(found: PairList, of: int | None = None) -> str:
    """A list in a line: `9 of 20: c10, c11, c12, c13 and 5 more`."""
    told = f"{found.count:,}" if of is None else f"{found.count:,} of {of:,}"
    names = _named([pair_name(line) for line in found.lines], found.count, 4)
    return f"{told}: {names}" if names else told


def pair_name(line: PairLine) -> str:
    """A sample by its case, with variant and repeat where there are more."""
    variant = f" [{line.variant}]" if line.variant else ""
    return f"{line.case_id}{variant}" + (f" #{line.repeat + 1}" if line.repeat else "")


def _named(names: list[str], count: int, most: int) -> str:
    return _some([clipped(name, _LONGEST_NAME) for name in names], count, most)


def _some(names: list[str], count: int, most: int) -> str:
    shown = ", ".join(names[:most])
    more = count - min(len(names), most)
    return f"{shown} and {more:,} more" if more > 0 else shown


def checks_sentence(comparison: Comparison) -> str:
    """How many cases and checks were fixed and broken; "" when a run has no expectations."""
    found = comparison.checks
    if found is None:
        return ""
    cells = _became(
        f"{found.cells_fixed.count:,} fixed{_cells_named(found.cells_fixed)}",
        f"{found.cells_broken.count:,} broken{_cells_named(found.cells_broken)}",
        found.cells_unchanged,
        found.cells_cannot_tell,
    )
    checks = _became(
        f"{found.fixed.count:,} fixed", f"{found.broken.count:,} broken", found.unchanged, found.cannot_tell
    )
    beside = _only_in(found) + (f"; {found.hindered}" if found.hindered else "")
    of = f"expectations of {fmt.counted(found.n_cells, 'case')}"
    return f"{of}: {cells}; {fmt.counted(found.n, 'check')}: {checks}{beside}"


def _became(fixed: str, broken: str, unchanged: int, cannot_tell: int) -> str:
    told = f"{fixed}, {broken}, {unchanged:,} unchanged"
    return f"{told}, {cannot_tell:,} cannot tell" if cannot_tell else told


def _cells_named(found: CellMoves) -> str:
    names = [clipped(cell_name(*each), _LONGEST_NAME) for each in found.names[:_MOST_NAMED]]
    if not names:
        return ""
    more = found.count - len(names)
    return f" ({', '.join(names)}{f' and {more:,} more' if more else ''})"


def _only_in(found: ChecksChange) -> str:
    sides = [f"{n:,} only in {side}" for side, n in (("A", found.only_a), ("B", found.only_b)) if n]
    return f"; {' and '.join(sides)}" if sides else ""


def left_out(found: Iterable[NotCompared]) -> list[str]:
    """One sentence for each, three and more of one kind as one: `54 measures of spans: only B has them (...)`."""
    alike: dict[tuple[str, str, str], list[NotCompared]] = {}
    for each in found:
        alike.setdefault((each.what, _owner(each), each.why), []).append(each)
    return [told for some in alike.values() for told in _left_out(some)]


def _owner(each: NotCompared) -> str:
    """The component that a measure or count is of."""
    return each.name.rpartition(".")[0] if each.what in ("measure", "count") else ""


def _left_out(some: list[NotCompared]) -> list[str]:
    if len(some) < _FEWEST_TOGETHER:
        return [each.sentence for each in some]
    first, owner = some[0], _owner(some[0])
    names = [clipped(each.name.removeprefix(f"{owner}.") if owner else each.name, _LONGEST_NAME) for each in some]
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    of = f" of {clipped(owner, _LONGEST_NAME)}" if owner else ""
    why = first.why.replace("has it", "has them").replace("have it", "have them")
    kind = f"{first.what} ({len(some):,})" if " " in first.what else fmt.counted(len(some), first.what)
    return [f"{kind}{of}: {why} ({shown})"]
