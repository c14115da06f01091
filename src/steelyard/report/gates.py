"""Gates and criteria: what each asks and comes to, over the run and variant by variant."""

from __future__ import annotations

from typing import Any

from steelyard.decide.gates import GateResult, VariantDecision
from steelyard.metrics.expressions import parse_gate, parse_repeats
from steelyard.records import Verdict
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.document import Section, Table, bullets, section, table_section
from steelyard.report.figures import selection_of
from steelyard.report.format import AND_BASELINES, OF_A_RUN
from steelyard.report.model import Report
from steelyard.stats.intervals import Estimate
from steelyard.store.figures import Kind
from steelyard.store.selection import Selection

_MOST_GATES = 40
_IN_A_LINE, _WITH_VALUES = 10, 6
"""Gates that are named one behind the other, and up to how many of them have their values there."""
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
    paired = any(gate.baseline for gate in report.decision.gates)
    results = [gate for gate in report.decision.gates if not gate.name]
    n_open = sum(gate.verdict is not Verdict.PASS for gate in results)
    if len(results) > _MOST_GATES:
        # What does not pass is never among those that are not shown.
        results.sort(key=lambda gate: gate.verdict is Verdict.PASS)
    return doc.table(
        "Gates",
        results,
        ("Gate", wording.gate_name),
        ("Value", lambda gate: fmt.distinguished(gate.value.value, gate.unit, gate.threshold)),
        *_decided(),
        selection=gate_selection,
        signature=AND_BASELINES if paired else OF_A_RUN,
        most=max(_MOST_GATES, n_open),
    )


def _decided(**settings: Any) -> list[doc.Written[GateResult]]:
    """What a gate or criterion stands on and comes to."""
    return [
        (doc.Column("n", **settings), lambda gate: fmt.bare_base(gate.value)),
        ("95 % interval", lambda gate: fmt.interval(gate.value, gate.unit)),
        (doc.VERDICT, lambda gate: gate.word),
        (doc.words("Reason", optional=True), lambda gate: gate.reason),
    ]


def gate_selection(gate: GateResult) -> Selection | None:
    """The samples that a gate's figure comes from: those of its slice, with the band, code or check that it names."""
    try:
        on = parse_gate(gate.gate)
    except ValueError:
        # A rule over repeats, or a metric of the suite's own that is not at hand: all samples have a part in it.
        return Selection()
    name = gate.metric.removeprefix(f"{on.factor}.").removesuffix(f".{on.metric}")
    return selection_of(on.factor or "", name, Kind(on.pattern, on.names))


def failing(report: Report, most: int) -> list[Section]:
    """The gates and criteria that do not pass: `most` with their figures, the others by name and value.

    A secondary one does not decide.
    """
    results = report.decision.gates
    open_ = [gate for gate in results if gate.verdict is not Verdict.PASS and not gate.left_out]
    n, interval, verdict, _ = _decided()
    note = f"{len(results) - len(open_):,} of {len(results):,} pass"
    columns = (("Gate", wording.gate_name), ("Value", value), interval, n, verdict)
    title = "Gates that do not pass"
    # One more line is as good as its name below.
    most = most + 1 if len(open_) == most + 1 else most
    table = doc.table(title, open_[:most], *columns, note=note)
    by_verdict: dict[str, list[str]] = {}
    for gate in (rest := open_[most:]):
        figure = f" ({value(gate)})" if len(rest) <= _WITH_VALUES else ""
        by_verdict.setdefault(gate.word, []).append(f"{wording.gate_name(gate)}{figure}")
    others = [
        f"{word}, too: {', '.join(names[start : start + _IN_A_LINE])}"
        for word, names in by_verdict.items()
        for start in range(0, len(names), _IN_A_LINE)
    ]
    return section(title, table, bullets(others))


def criteria(report: Report) -> Table:
    """Every criterion with what it asks, its value, n, verdict and reason."""
    return doc.table(
        "Criteria",
        [gate for gate in report.decision.gates if gate.name],
        (
            doc.Column("Criterion", doc.Kind.LINES),
            lambda item: f"{item.name}\n(secondary)" if item.secondary else item.name,
        ),
        (doc.Column("Passes when", doc.Kind.LINES), rule),
        ("Value", value),
        *_decided(below=True),
        selection=gate_selection,
        signature=OF_A_RUN,
    )


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
    open_ = [gate for gate in report.decision.gates if gate.name and gate.verdict is not Verdict.PASS]
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
    results = [entry for item in report.decision.by_variant for entry in item.criteria]
    secondary = list(dict.fromkeys(entry.name for entry in results if entry.secondary))
    averages = {group.name: group["average"] for group in report.summary.slices.get("variant", [])}
    return doc.table(
        "Criteria by variant",
        report.decision.by_variant,
        ("Variant", lambda decision: decision.variant),
        (doc.VERDICT, lambda decision: decision.verdict.value),
        *map(_of_variant, dict.fromkeys(entry.name for entry in results)),
        ("n", lambda decision: fmt.bare_base(averages.get(decision.variant, Estimate(None, 0)))),
        selection=lambda decision: Selection(variant=decision.variant),
        note=f"secondary, does not decide: {', '.join(secondary)}" if secondary else "",
        conclusion=report.summary.best_variant.sentence if report.summary.best_variant else "",
    )


def _of_variant(name: str) -> doc.Written[VariantDecision]:
    def cell(decision: VariantDecision) -> str:
        results = [item for item in decision.criteria if item.name == name]
        return f"{value(results[0])}\n{standing(results[0])}" if results else ""

    return doc.Column(name, doc.Kind.STACKED), cell
