"""Gates and criteria: what each asks and comes to, over the run and variant by variant."""

from __future__ import annotations

from steelyard.decide.gates import GateResult, VariantDecision
from steelyard.metrics.expressions import parse_repeats
from steelyard.records import Verdict
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.document import Column, Kind, Section, Table, bullets, section, table_section
from steelyard.report.format import AND_BASELINES, OF_A_RUN
from steelyard.report.model import Report
from steelyard.stats.intervals import Estimate

_MOST_GATES = 40
_IN_WORDS = {Verdict.PASS: "ok", Verdict.FAIL: "fails", Verdict.INVALID: "invalid"}


def sections(report: Report) -> list[Section]:
    """Every gate, every criterion with what the suite says of those that do not pass, and criteria by variant."""
    about = bullets(f"{name}: {about}" for name, about in unmet(report))
    return [
        *table_section(gates(report), main=True),
        *section("Criteria", criteria(report), about, main=True),
        *table_section(by_variant(report), main=True),
    ]


def gates(report: Report) -> Table:
    """Every gate with its value, n, interval and verdict; criteria have a table of their own."""
    rows = [
        (
            wording.gate_name(gate),
            fmt.distinguished(gate.value.value, gate.unit, gate.threshold),
            fmt.bare_base(gate.value),
            fmt.interval(gate.value, gate.unit),
            gate.word,
            gate.reason,
        )
        for gate in report.decision.gates
        if not gate.name
    ]
    columns = (
        Column("Gate", Kind.TEXT),
        Column("Value"),
        Column("n"),
        Column("95 % interval"),
        Column("Verdict", Kind.VERDICT),
        Column("Reason", Kind.TEXT, optional=True),
    )
    paired = any(gate.baseline for gate in report.decision.gates)
    return Table("Gates", columns, rows, signature=AND_BASELINES if paired else OF_A_RUN, most=_MOST_GATES)


def declared(report: Report) -> list[GateResult]:
    """The criteria among all that decides."""
    return [gate for gate in report.decision.gates if gate.name]


def criteria(report: Report) -> Table:
    """Every criterion with what it asks, its value, n, verdict and reason."""
    rows = [
        (
            title(item, "\n"),
            rule(item),
            value(item),
            fmt.bare_base(item.value),
            fmt.interval(item.value, item.unit),
            item.word,
            item.reason,
        )
        for item in declared(report)
    ]
    columns = (
        Column("Criterion", Kind.LINES),
        Column("Passes when", Kind.LINES),
        Column("Value"),
        Column("n", below=True),
        Column("95 % interval"),
        Column("Verdict", Kind.VERDICT),
        Column("Reason", Kind.TEXT, optional=True),
    )
    return Table("Criteria", columns, rows, signature=OF_A_RUN)


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


def stated(criterion: GateResult) -> str:
    """The reason, and what the suite says of the criterion where it does not pass."""
    about = criterion.about if criterion.verdict is not Verdict.PASS else ""
    return ". ".join(part.strip().rstrip(".") for part in (criterion.reason, about) if part.strip())


def unmet(report: Report) -> list[tuple[str, str]]:
    """Criteria that do not pass, with what the suite says of them where the reasons of the verdict do not say it."""
    open_ = [item for item in declared(report) if item.about.strip() and item.verdict is not Verdict.PASS]
    message = "\n".join(report.decision.reasons)
    return [(item.name, item.about) for item in open_ if item.about.strip().rstrip(".") not in message]


def value(criterion: GateResult) -> str:
    """Its figure; over repeats, how many cases and variants it holds in: `23 of 24`."""
    if over_repeats(criterion):
        return fmt.band_count(criterion.value)
    return fmt.distinguished(criterion.value.value, criterion.unit, criterion.threshold)


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
    message = criterion.reason
    is_between = bool(criterion.fails) and ("lies between" in message or message.startswith("neither passes nor fails"))
    return "between" if is_between else "undecided"


def by_variant(report: Report) -> Table:
    """Every criterion of every variant, a row a variant."""
    names, rows = criterion_names(report), []
    for decision in report.decision.by_variant:
        results = {item.name: item for item in decision.criteria}
        cells = [f"{value(results[name])}\n{standing(results[name])}" if name in results else "" for name in names]
        rows.append((decision.variant, decision.verdict.value, *cells, fmt.bare_base(evaluated(report, decision))))
    criteria_columns = (Column(name, Kind.STACKED) for name in names)
    columns = (Column("Variant", Kind.TEXT), Column("Verdict", Kind.VERDICT), *criteria_columns, Column("n"))
    note, conclusion = (_secondary_note(report), best(report)) if rows else ("", "")
    return Table("Criteria by variant", columns, rows, note, conclusion)


def criterion_names(report: Report) -> list[str]:
    """The criteria that were looked at variant by variant, in the suite's order."""
    return list(dict.fromkeys(entry.name for item in report.decision.by_variant for entry in item.criteria))


def evaluated(report: Report, decision: VariantDecision) -> Estimate:
    """The average of the variant's samples, with its n and missing."""
    groups = report.summary.slices.get("variant", [])
    return next((group.average for group in groups if group.name == decision.variant), Estimate(None, 0))


def best(report: Report) -> str:
    """Which variant is best, or why cannot tell; "" without variants."""
    return report.summary.best_variant.sentence if report.summary.best_variant else ""


def _secondary_note(report: Report) -> str:
    results = [entry for item in report.decision.by_variant for entry in item.criteria if entry.secondary]
    names = list(dict.fromkeys(item.name for item in results))
    return f"secondary, does not decide: {', '.join(names)}" if names else ""
