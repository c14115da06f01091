"""Every figure of a report by the name that `--explain` takes, and where it stands in `report --json`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from steelyard.analysis.explain_ballots import judge_explained, silence
from steelyard.analysis.explain_case_rows import case_figures
from steelyard.analysis.explain_check_rows import check_figures
from steelyard.analysis.explain_claims import claim_figures
from steelyard.analysis.explain_counts import count_figures, criterion_figure, failed_samples, samples_figure, slices_of
from steelyard.analysis.explain_findings import finding_figures
from steelyard.analysis.explain_patterns import pattern_figures
from steelyard.analysis.explain_things import Figure, Words, sliced
from steelyard.analysis.explain_times import time_figures
from steelyard.analysis.model import Slice
from steelyard.release.model import GateResult
from steelyard.report import error_tables
from steelyard.report.details import failed_alike
from steelyard.report.model import Report
from steelyard.report.sample_figures import sample_figures
from steelyard.suite.gates import READABLE
from steelyard.suite.repeats import parse_repeats

Named = tuple[tuple[str, ...], str]
"""The names of a gate's metric, and a place where it stands."""
_OUTSIDE = ".<>=!\"'"
_TOTALS = {"tokens_in": ("tokens", "in"), "tokens_out": ("tokens", "out"), "cost": ("cost", "total")}
_POINTS = ("mean", "min", "max", "p50", "p95", "p99")


def spelled(names: tuple[str, ...]) -> str:
    """The names as one metric; one that holds a dot or a sign is quoted."""
    return ".".join(_quoted(name) for name in names)


def _quoted(name: str) -> str:
    if name and name == name.strip() and not any(sign in name for sign in _OUTSIDE):
        return name
    if '"' not in name or "'" not in name:
        return f"'{name}'" if '"' in name else f'"{name}"'
    # Quoted pieces side by side are one name.
    return "".join(f"'{piece}'" if '"' in piece else f'"{piece}"' for piece in re.split('("+)', name) if piece)


def own_figures(report: Report, first_repeat: int) -> Iterator[Figure]:
    """The figures that no gate can name."""
    summary, suite = report.summary, report.header.suite
    yield samples_figure(report.n_samples)
    yield from count_figures(summary, suite)
    yield from _criteria(report)
    yield from finding_figures(summary, suite)
    yield from pattern_figures(summary, suite)
    yield from judge_explained(summary, suite, report.spending)
    yield from claim_figures(summary, suite)
    yield from check_figures(summary, suite, first_repeat)
    yield from time_figures(summary)
    yield from case_figures(summary, suite)
    yield from _why(report)
    yield from sample_figures(report)


def _criteria(report: Report) -> Iterator[Figure]:
    for gate, place, part in _gates(report):
        rule = parse_repeats(gate.gate) if gate.name else None
        if rule is not None and gate.value.value is not None:
            yield criterion_figure(rule, f"{place}.value", gate.value, part, report.header.suite)


def _gates(report: Report) -> Iterator[tuple[GateResult, str, Slice]]:
    """Every gate and criterion, its place and the part of the run it looks at."""
    whole = report.summary.overall
    for number, gate in enumerate(report.decision.gates):
        yield gate, f"gates[{number}]", whole
    variants = {part.name: part for part in report.summary.slices.get("variant", ())}
    for number, decision in enumerate(report.decision.by_variant):
        part = variants.get(decision.variant, whole)
        for at, criterion in enumerate(decision.criteria):
            yield criterion, f"by_variant[{number}].criteria[{at}]", part


def _why(report: Report) -> Iterator[Figure]:
    words = Words("samples that are inconclusive for that reason", "in the order of the report")
    told = report.summary.judge.why_failed if report.summary.judge is not None else {}
    for number, (why, n) in enumerate(report.why_inconclusive.items()):
        kind = next((kind for kind in report.summary.failures if f"{why} ".startswith(f"target: {kind} ")), "")
        same = failed_alike(why.removeprefix("target: ")) if n != report.summary.failures.get(kind) else None
        trace = silence(why) if why in told else failed_samples(kind, same)
        yield Figure(("inconclusive", str(number + 1)), f"why_inconclusive.{why}", n, words, trace)


def gate_figures(report: Report) -> Iterator[Named]:
    """The figures that gates can name."""
    summary = report.summary
    for place, part in slices_of(summary):
        for names, where in _of_slice(part):
            yield (*sliced(part.factor, part.name), *names), f"{place}.{where}"
    for name, names in _TOTALS.items():
        yield names, name
    for gate, place, part in _gates(report):
        over_repeats = gate.name and parse_repeats(gate.gate) is not None
        if gate.value.value is not None and not gate.baseline and not over_repeats:
            head, names = sliced(part.factor, part.name), _written(gate.metric, report)
            yield (names if names[:2] == head else (*head, *names)), f"{place}.value"
    yield from _of_codes(report)
    if summary.latency is not None:
        for point in _POINTS:
            yield ("latency", point), f"latency.overall.{point}"
        yield ("latency", "p50"), "latency.overall.n"
    yield from _over_repeats(report)


def _written(metric: str, report: Report) -> tuple[str, ...]:
    """The names of a gate's result, which says them without quotes."""
    for _, part in slices_of(report.summary):
        for names, _where in _of_slice(part):
            whole = (*sliced(part.factor, part.name), *names)
            if ".".join(whole) == metric:
                return whole
    return tuple(metric.split("."))


def _of_slice(part: Slice) -> Iterator[Named]:
    for name in ("average", "median", "pass_rate"):
        yield (name,), name
    for place, there, names_of in _BY_NAME:
        for name in there(part):
            for names in names_of(name):
                yield names, f"{place}.{name}"
    for name, measures in part.measures.items():
        for measure in measures:
            whole, readable, _ = measure.partition(READABLE)
            yield ("score", name, whole, *([READABLE[1:]] if readable else [])), f"measures.{name}.{measure}"


_BY_NAME: tuple[tuple[str, Callable[[Slice], Iterable[str]], Callable[[str], list[tuple[str, ...]]]], ...] = (
    ("bands", lambda part: part.bands, lambda name: [("band", name)]),
    ("components", lambda part: part.components, lambda name: [("score", name, of) for of in ("points", "average")]),
    ("findings", lambda part: part.findings, lambda name: [("findings", name)]),
    ("finding_samples", lambda part: part.finding_samples, lambda name: [("findings", name, "samples")]),
    ("finding_rates", lambda part: part.finding_rates, lambda name: [("findings", name, "rate")]),
    ("latency", lambda part: part.latency, lambda name: [("latency", name)]),
    ("outcome_rates", lambda part: part.outcome_rates, lambda name: [(f"{name}_rate",)]),
    ("totals", lambda part: part.totals, lambda name: [_TOTALS[name]]),
    ("over_repeats", lambda part: part.over_repeats, lambda name: [_over(name)]),
)
"""By its place in a slice, what is there by name, and the metrics of one name."""


def _over(name: str) -> tuple[str, ...]:
    """`check.v1.0.held` in its parts: what stands between the first and the last dot is one name."""
    head, _, rest = name.partition(".")
    if head == "check":
        return head, rest.removesuffix(".held"), "held"
    return (head, rest) if rest else (head,)


def _of_codes(report: Report) -> Iterator[Named]:
    for number, figure in enumerate(report.summary.codes):
        names, place = ("findings", figure.code), f"codes[{number}]"
        yield names, f"{place}.count"
        yield (*names, "rate"), f"{place}.samples"
        yield names, f"{place}.n_items"
        for at, each in enumerate(error_tables.counts_by_slice(report, figure.code)):
            head, where = sliced(each.factor, each.name), f"{place}.slices[{at}]"
            yield (*head, *names), f"{where}.count"
            yield (*head, *names, "rate"), f"{where}.samples"
    codes = {figure.code for figure in report.summary.codes}
    for number, priority in enumerate(report.summary.priorities):
        if priority.component not in codes and priority.component in report.summary.overall.components:
            yield ("score", priority.component, "points"), f"priorities[{number}].average"


def _over_repeats(report: Report) -> Iterator[Named]:
    checks, stability = report.summary.checks, report.summary.stability
    if checks is not None:
        yield ("cases", "held"), "checks.cells_rate"
        yield ("checks", "held"), "checks.checks_rate"
        yield ("flaky_rate",), "checks.flaky"
        for name in checks.held:
            yield ("check", name, "held"), f"checks.held.{name}"
        for k in checks.all_of:
            yield ("pass_all", str(k)), f"checks.all_of.{k}"
    if stability is not None:
        yield ("stability", "presence"), "stability.presence"
        for name in stability.fields:
            yield ("stability", name), f"stability.fields.{name}"
