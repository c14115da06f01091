"""Criteria as tables: what each asks and comes to, over the run and variant by variant."""

from __future__ import annotations

from steelyard.analysis.model import Estimate
from steelyard.records import Verdict
from steelyard.release.model import GateResult, VariantDecision
from steelyard.report import figures
from steelyard.report.model import Report
from steelyard.report.tables import Column, Kind, Table
from steelyard.suite.repeats import parse_repeats

_TITLE = "Criteria by variant"
_IN_WORDS = {Verdict.PASS: "ok", Verdict.FAIL: "fails", Verdict.INVALID: "invalid"}


def declared(report: Report) -> list[GateResult]:
    """The criteria among all that decides."""
    return [each for each in report.decision.gates if each.name]


def criteria(report: Report, *, with_reasons: bool = False) -> Table:
    """Every criterion with what it asks, its value, n and verdict; for wide places also with the reason."""
    rows = []
    for each in declared(report):
        figure = (value(each), figures.bare_base(each.value), figures.interval(each.value, each.unit))
        row = (rule(each), *figure, each.word)
        rows.append((title(each), *row, said(each)) if with_reasons else (title(each, "\n"), *row))
    columns: tuple[Column, ...] = (
        Column("Criterion", Kind.TEXT if with_reasons else Kind.LINES),
        Column("Passes when", Kind.LINES),
        Column("Value"),
        Column("n"),
        Column("95 % interval"),
        Column("Verdict"),
    )
    return Table("Criteria", (*columns, Column("Reason", Kind.TEXT)) if with_reasons else columns, rows)


def title(criterion: GateResult, between: str = " ") -> str:
    """Its name, and plainly whether it decides."""
    return f"{criterion.name}{between}(secondary)" if criterion.secondary else criterion.name


def rule(criterion: GateResult) -> str:
    """When it passes and, on a second line, when it fails; the metric is said again only when it is another one."""
    if not criterion.fails:
        return criterion.gate
    same = (
        criterion.fails.removeprefix(f"{criterion.metric} ") if criterion.metric in criterion.gate else criterion.fails
    )
    return f"{criterion.gate}\nfails: {same}"


def said(criterion: GateResult) -> str:
    """The reason, and what the suite says of the criterion where it does not pass."""
    about = criterion.about if criterion.verdict is not Verdict.PASS else ""
    return ". ".join(part.strip().rstrip(".") for part in (criterion.reason, about) if part.strip())


def unmet(report: Report) -> list[tuple[str, str]]:
    """Criteria that do not pass, with what the suite says of them where the reasons of the verdict do not say it."""
    open_ = [each for each in declared(report) if each.about.strip() and each.verdict is not Verdict.PASS]
    told = "\n".join(report.decision.reasons)
    return [(each.name, each.about) for each in open_ if each.about.strip().rstrip(".") not in told]


def value(criterion: GateResult) -> str:
    """Its figure; over repeats, how many cases and variants it holds in: `23 of 24`."""
    if over_repeats(criterion):
        return figures.band_count(criterion.value)
    return figures.told_apart(criterion.value.value, criterion.unit, criterion.threshold)


def over_repeats(criterion: GateResult) -> bool:
    """True when it asks for a condition in some of the repeats of every case."""
    try:
        return parse_repeats(criterion.gate) is not None
    except ValueError:
        return False


def standing(criterion: GateResult) -> str:
    """One word for a small place: ok, fails, between (neither passes nor fails), undecided, or invalid."""
    if criterion.verdict in _IN_WORDS:
        return _IN_WORDS[criterion.verdict]
    told = criterion.reason
    is_between = bool(criterion.fails) and ("lies between" in told or told.startswith("neither passes nor fails"))
    return "between" if is_between else "undecided"


def by_variant(report: Report) -> tuple[Table, Table]:
    """Every criterion of every variant: a row a variant, and the same as one row a figure for narrow places."""
    decisions = report.decision.by_variant
    names = criterion_names(report)
    wide, long = [], []
    for decision in decisions:
        found = {each.name: each for each in decision.criteria}
        cells = [f"{value(found[name])}\n{standing(found[name])}" if name in found else "" for name in names]
        base = figures.bare_base(weighed(report, decision))
        wide.append((decision.variant, decision.verdict.value, *cells, base))
        long.append((decision.variant, "verdict", "", base, decision.verdict.value))
        long += [
            ("", title(each), value(each), figures.bare_base(each.value), standing(each)) for each in decision.criteria
        ]
    variant = Column("Variant", Kind.TEXT)
    columns = (variant, Column("Verdict"), *(Column(name, Kind.STACKED) for name in names), Column("n"))
    narrow = (variant, Column("Criterion", Kind.TEXT), Column("Value"), Column("n"), Column("Comes to"))
    note = _secondary_note(report) if decisions else ""
    sentence = best(report) if decisions else ""
    return Table(_TITLE, columns, wide, note, sentence), Table(_TITLE, narrow, long, note, sentence)


def criterion_names(report: Report) -> list[str]:
    """The criteria that were looked at variant by variant, in the suite's order."""
    return list(dict.fromkeys(each.name for one in report.decision.by_variant for each in one.criteria))


def weighed(report: Report, decision: VariantDecision) -> Estimate:
    """The average of the variant's samples, with its n and missing."""
    groups = report.summary.slices.get("variant", [])
    return next((group.average for group in groups if group.name == decision.variant), Estimate(None, 0))


def best(report: Report) -> str:
    """Which variant is best, or why nobody can tell; "" without variants."""
    return report.summary.best_variant.sentence if report.summary.best_variant else ""


def _secondary_note(report: Report) -> str:
    found = [each for one in report.decision.by_variant for each in one.criteria if each.secondary]
    names = list(dict.fromkeys(each.name for each in found))
    return f"secondary, does not decide: {', '.join(names)}" if names else ""
