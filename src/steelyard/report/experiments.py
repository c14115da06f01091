"""Blocks of A/B tests, experiments and power."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from steelyard.analysis.compare.model import Comparison
from steelyard.analysis.summary import target_name
from steelyard.decide.experiment import AbReport, Arm, Decided, Effect, Held, Ruling
from steelyard.decide.experiment import Decided as AbDecided
from steelyard.records import RunHeader
from steelyard.report import format as fmt
from steelyard.report.compare import blocks as compare
from steelyard.report.compare import sentences as compared
from steelyard.report.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    Document,
    Facts,
    Headline,
    Kind,
    Table,
    Text,
    Tone,
    bullets,
    section,
    table_section,
)
from steelyard.report.format import one_line
from steelyard.report.render.json import HIDDEN, encode, encode_object
from steelyard.report.verdicts import exit_code
from steelyard.report.wording import signature_line
from steelyard.stats.arrays import SEED
from steelyard.stats.paired import SIGNIFICANT
from steelyard.stats.power import POWER, Design, PowerFigures
from steelyard.suite.values import load_in_words

EXPERIMENT_FORMAT = "steelyard.experiment/1"
AB_FORMAT = "steelyard.ab/1"
MEANINGS = {
    Decided.ADOPT: "the candidate meets the criteria",
    Decided.REJECT: "the criteria speak against the candidate",
    Decided.CANNOT_TELL: "neither to adopt nor to reject",
    Decided.INVALID: "an arm is INVALID: nothing can be decided",
}
HOLDS = {True: "met", False: "not met", None: "cannot tell"}
_LONGEST_NAME = 60
_FINE, _NOT_FINE, _BROKEN = "ok", "look", "BROKEN"


@dataclass(frozen=True, slots=True)
class ExperimentReport:
    """Everything that the views of an experiment show."""

    name: str
    hypothesis: str
    factor: str
    file: str
    plan: str
    """The hash of the plan."""
    baseline: Arm = field(metadata=HIDDEN)
    candidate: Arm | None = field(metadata=HIDDEN)
    comparison: Comparison | None = field(metadata=HIDDEN)
    ruling: Ruling = field(metadata=HIDDEN)
    beforehand: bool = True
    """Whether both runs carry this very plan, stored before their first call."""
    notes: tuple[str, ...] = ()
    """Notes on how it was made: run before, or a plan that was not stored beforehand."""


def experiment_document(report: ExperimentReport) -> Document:
    """The decision, what changed, the criteria, both arms, the comparison and how to see the raw runs."""
    ruling = report.ruling
    reasons = [Bullet(reason) for reason in ruling.reasons]
    blocks: list[Block] = [
        Headline(ruling.decided.value, MEANINGS[ruling.decided], remarks=reasons),
        *section("The experiment", Facts(about(report)), main=True),
        *table_section(criteria(report), main=True),
        *table_section(arms(report), main=True),
        *([] if report.comparison is None else _comparison(report.comparison)),
        *section("The raw runs", Facts(raw_runs(report)), main=True),
    ]
    sides = [("baseline", report.baseline), ("candidate", report.candidate)]
    signed = [f"{name}: {signature_line(arm.header)}" for name, arm in sides if arm is not None]
    return Document(title(report), blocks, ("experiment",), (plan_line(report), *signed))


def _comparison(comparison: Comparison) -> list[Block]:
    """The first screen of the comparison, A being the baseline and B the candidate."""
    word = compared.verdict_word(comparison)
    sure = [Bullet(text, label=label) for label, text in compared.significance(comparison)]
    return [
        *section(
            f"The comparison, A the baseline and B the candidate: {word}",
            Text(compared.answer(comparison), Tone.STRONG),
            Bullets(sure),
            bullets(compared.what_moved(comparison)),
            main=True,
        ),
        *table_section(compare.main_figures(comparison), main=True),
    ]


def experiment_data(report: ExperimentReport) -> dict[str, Any]:
    """The whole report as plain data."""
    changed = report.ruling.changed
    arms_data = {name: None if arm is None else _arm_data(arm) for name, arm in _sides_of(report)}
    caution = None if changed is None else encode_object(changed) | {"caution": changed.caution}
    compared_data = None if report.comparison is None else compare.data(report.comparison)
    result = {"format": EXPERIMENT_FORMAT} | encode_object(report) | encode_object(report.ruling)
    return result | {"changed": caution} | arms_data | {"comparison": compared_data}


def _sides_of(report: ExperimentReport) -> tuple[tuple[str, Arm | None], ...]:
    return ("baseline", report.baseline), ("candidate", report.candidate)


def _arm_data(arm: Arm) -> dict[str, Any]:
    return {"run": arm.header.id} | {
        name: encode(getattr(arm.header, name)) for name in ("state", "verdict", "suspect")
    }


def ab_document(report: AbReport) -> Document:
    """The decision, what it stands on and the checks."""
    blocks: list[Block] = [
        Headline(
            report.decided.value, ab_answer(report), ab_word(report), remarks=[Bullet(x) for x in _ab_remarks(report)]
        ),
        *section("Arms", Facts(_ab_arms(report)), main=True),
        *table_section(ab_figures(report), main=True),
        *table_section(ab_checks(report), main=True),
    ]
    return Document(report.title, blocks, footer=(f"Method: {report.method}", *report.signatures))


def ab_data(report: AbReport) -> dict[str, Any]:
    """The whole report as plain data."""
    code = exit_code(report.decided.value)
    arms_data = [encode_object(arm) | {"facts": encode(dict(arm.facts))} for arm in report.arms]
    texts = {"format": AB_FORMAT, "exit_code": code, "sentence": encode(ab_answer(report))}
    return texts | encode_object(report) | {"arms": arms_data}


def title(report: ExperimentReport) -> str:
    """The experiment and its suite."""
    return f"{report.name} (suite {report.baseline.header.suite_name})"


def about(report: ExperimentReport) -> list[tuple[str, str]]:
    """The hypothesis, and what changed, as label and words."""
    rows = [("Hypothesis", report.hypothesis), ("Factor", report.factor)]
    changed = report.ruling.changed
    if changed is not None:
        message = ", ".join(item.message for item in changed.as_declared)
        rows.append(("Changed", message or f"nothing that is the {report.factor}"))
        if changed.besides:
            rows.append(("Besides", ", ".join(item.message for item in changed.besides)))
        if changed.caution:
            rows.append(("Mind", changed.caution))
    rows += [("Mind", note) for note in report.notes]
    return rows


def arms(report: ExperimentReport) -> Table:
    """Both runs side by side: what was asked, how it ended and its main figures."""
    sides = [arm for arm in (report.baseline, report.candidate) if arm is not None]
    labels = [_facts(arm) for arm in sides]
    rows = [
        (label, *(facts[label] for facts in labels)) for label in labels[0] if any(facts[label] for facts in labels)
    ]
    titles = ("Baseline", "Candidate")[: len(sides)]
    return Table("Both arms", (Column("", Kind.TEXT), *(Column(item, Kind.TEXT) for item in titles)), rows)


def _facts(arm: Arm) -> dict[str, str]:
    header, overall = arm.header, arm.summary.overall
    verdict = header.verdict.value if header.verdict else "no gates"
    checks = arm.summary.checks
    return {
        "run": header.id,
        "begun": fmt.when(header.created_at),
        "target": target_name(header),
        "repeats": str(header.description.repeats),
        "variants": ", ".join(name for name in header.description.variants if name),
        "load": load_in_words(header.options.get("load")),
        "the suite's gates": verdict,
        "pass rate": fmt.with_base(overall.pass_rate) if arm.summary.passing else "",
        "average": fmt.with_base(overall.average),
        "cases passed": "" if checks is None else fmt.with_base(checks.cells_rate),
        "checks passed": "" if checks is None else fmt.with_base(checks.checks_rate),
        "latency p95": fmt.with_base(overall.latency["p95"], "s") if "p95" in overall.latency else "",
    }


def criteria(report: ExperimentReport) -> Table:
    """Every criterion with its figure on both sides, and whether it holds."""
    rows = [
        (f"{item.asks} when {item.text}", *_sides(item), HOLDS[item.holds], item.reason)
        for item in report.ruling.criteria
    ]
    columns = (
        Column("Criterion", Kind.TEXT),
        Column("Baseline"),
        Column("Candidate", below=True),
        Column("Outcome"),
        Column("Why", Kind.TEXT),
    )
    note = "adopted when all criteria to adopt are met and none to reject; rejected when one to reject is met"
    if rows and all(item.asks == "adopt" for item in report.ruling.criteria):
        note = "adopted when all are met; rejected when one is not"
    return Table(criteria_title(report), columns, rows, note)


def criteria_title(report: ExperimentReport) -> str:
    """`Criteria`, and that they were there before the first call where the runs show it."""
    return "Criteria, written beforehand" if report.beforehand else "Criteria"


def plan_line(report: ExperimentReport) -> str:
    """Which plan it was, and when it was stored."""
    if report.beforehand:
        return f"plan {report.plan}, stored with each run before its first call"
    return f"plan {report.plan}, not stored with every run: nothing shows that it was written before them"


def _sides(held: Held) -> tuple[str, str]:
    results = ["" if item is None else fmt.in_unit(item.value, held.unit) for item in (held.baseline, held.candidate)]
    return results[0], results[1]


def raw_runs(report: ExperimentReport) -> list[tuple[str, str]]:
    """How to see the raw runs: label and command."""
    rows = [("Baseline", _command(report.baseline.header))]
    if report.candidate is not None:
        rows.append(("Candidate", _command(report.candidate.header)))
        ids = f"{report.baseline.header.id} {report.candidate.header.id}"
        rows.append(("Both", f"steelyard compare {ids}"))
        rows.append(("Decide again", f"steelyard experiment {report.file} --decide-only {ids}"))
    return rows


def _command(header: RunHeader) -> str:
    return f"steelyard report {header.id}   (every answer: steelyard export {header.id} FILE)"


def ab_word(report: AbReport) -> str:
    """The decision as a badge says it."""
    if report.decided in (AbDecided.A, AbDecided.B):
        return f"{_named(report, report.decided is AbDecided.B)} is better"
    return report.decided.value


def ab_answer(report: AbReport) -> str:
    """The decision in one sentence, with the figure that it stands on."""
    effect, decided = report.quality, report.decided
    if report.why:
        return report.why[0]
    if effect.difference is None:
        return f"cannot tell: there is no {effect.name} of both arms"
    message = f"{effect.name} {_in_unit(effect.a, effect)} -> {_in_unit(effect.b, effect)}, {_difference(effect)}"
    if decided in (AbDecided.A, AbDecided.B):
        return f"{ab_word(report)}: {message}"
    if decided is AbDecided.SAME:
        return f"the same for all that matters: {message}"
    return f"cannot tell: {message}"


def _difference(effect: Effect) -> str:
    """The difference with its interval and what it stands on."""
    if effect.difference is None:
        return fmt.NOT_AVAILABLE
    moved = fmt.difference(effect.difference, effect.unit)
    ends = f"({_interval(effect)})" if effect.low is not None else "(interval undefined)"
    return f"{moved} {ends}, n = {effect.n:,}"


def _interval(effect: Effect) -> str:
    """The ends of the interval of the difference."""
    if effect.low is None or effect.high is None:
        return "undefined"
    bare = effect.unit == "share"
    low, high = (fmt.difference(end, effect.unit, bare=bare) for end in (effect.low, effect.high))
    return f"{low} to {high}"


def _in_unit(value: float | None, effect: Effect) -> str:
    """A figure of one arm."""
    return fmt.in_unit(value, effect.unit)


def ab_figures(report: AbReport) -> Table:
    """Quality first, then cost and latency, with their intervals."""
    rows = [
        (
            effect.name,
            _in_unit(effect.a, effect),
            _in_unit(effect.b, effect),
            fmt.NOT_AVAILABLE
            if effect.difference is None
            else fmt.difference(effect.difference, effect.unit, bare=effect.unit == "share"),
            _interval(effect),
            f"{effect.n:,}",
            f"{effect.n_missing:,}",
        )
        for effect in (report.quality, *report.extra)
    ]
    a, b = (arm.name for arm in report.arms)
    heads = ("Figure", a, b, "Difference", "95 % interval", "n", "Missing")
    what = "cases scored in both arms" if report.kind == "offline" else "units"
    note = f"n are {what}; the first figure decides"
    return Table("Figures", _columns(heads), rows, note, signature=_signature(report))


def _signature(report: AbReport) -> str:
    """How the intervals were made; of all that can make one, only a test that was fixed before draws."""
    ways = list(dict.fromkeys(effect.method for effect in (report.quality, *report.extra) if effect.method))
    drawn = any(way.startswith("fixed") for way in ways)
    return f"95 %: {'; '.join(ways)} | {f'seed {SEED}' if drawn else 'nothing drawn'}" if ways else ""


def ab_checks(report: AbReport) -> Table:
    """Everything that must be so, and whether it is."""
    rows = [
        (check.name, _BROKEN if check.invalidates else _FINE if check.fine else _NOT_FINE, check.message)
        for check in report.checks
    ]
    columns = (Column("Check", Kind.TEXT), Column("State", Kind.VERDICT), Column("Found", Kind.TEXT))
    return Table("Checks", columns, rows)


def _ab_arms(report: AbReport) -> list[tuple[str, str]]:
    """What each arm is."""
    return [
        (_label(arm.letter, arm.name), ", ".join(f"{key} {value}" for key, value in arm.facts)) for arm in report.arms
    ]


def _ab_remarks(report: AbReport) -> list[str]:
    """What else the reader must know, the reasons of an answer that is none first."""
    return [*report.why[1:], *report.notes]


def _named(report: AbReport, second: bool) -> str:
    arm = report.arms[second]
    return _label(arm.letter, arm.name)


def _label(letter: str, name: str) -> str:
    return letter if name == letter else f"{letter} ({one_line(name, _LONGEST_NAME)})"


def _columns(heads: tuple[str, ...]) -> tuple[Column, ...]:
    return (Column(heads[0], Kind.TEXT), *(Column(head) for head in heads[1:]))


# What a suite can detect: the smallest change that a comparison of two runs shows, and what a smaller one takes.

_NAMES = {"pass_rate": "pass rate", "average": "average score"}
METHOD = (
    f"paired comparison of two runs, two-sided at 5 %, {100 * POWER:.0f} % power; the pass rate of single samples by"
    " the exact McNemar test, else sign flips over cases or clusters; a pass rate moves by chances that are beta"
    " distributed before and after, rise and fall averaged; no random numbers"
)


def power_document(power_figures: PowerFigures) -> Document:
    """The answer, where the noise comes from, and what more cases or repeats would do."""
    blocks: list[Block] = [
        Text(headline(power_figures)),
        *section("Noise", Facts(facts(power_figures))),
        *table_section(smallest_changes(power_figures)),
        *table_section(needed(power_figures)),
    ]
    return Document(f"Power of {power_figures.suite}", blocks, footer=(f"Method: {METHOD}",))


def power_data(power_figures: PowerFigures) -> dict[str, Any]:
    """The figures as plain data; shares from 0 to 1: a change of 0.03 is 3 points; null for what nobody knows."""
    texts = {"sentence": headline(power_figures), "alpha": SIGNIFICANT, "power": POWER, "method": METHOD}
    designs = [encode_object(design) | {"smallest": value} for design, value in power_figures.table]
    return texts | encode_object(power_figures) | {"table": designs}


def headline(power_figures: PowerFigures) -> str:
    """The answer in one sentence."""
    spread = power_figures.spread
    today = f"{fmt.counted(spread.n_cases, 'case')} x {fmt.counted(spread.repeats, 'repeat')}"
    if spread.per_unit > 1:
        today += f" in {fmt.counted(round(spread.n_cases / spread.per_unit), 'cluster')}"
    if power_figures.now is None:
        return f"{today} can show no change of the {_NAMES[power_figures.metric]}: it takes more cases"
    if power_figures.now <= 0:
        return f"{today} show no noise: nothing changed between these runs, and any change would be detected"
    points = f"{in_points(power_figures.now)} points of {_NAMES[power_figures.metric]}"
    if power_figures.at_worst:
        return f"{today} detect a change of {points} at worst: how much of it is noise is not known yet"
    return f"{today} detect a change of {points} with 80 % power"


def facts(power_figures: PowerFigures) -> list[tuple[str, str]]:
    """Where the noise comes from, and which runs say so."""
    spread = power_figures.spread
    rows = [("Runs", _runs(power_figures)), ("Between cases", f"SD {in_points(math.sqrt(spread.between))} points")]
    rows.append(("Between repeats", _within(power_figures)))
    if power_figures.metric == "pass_rate" and spread.within is not None:
        share = fmt.percent(2 * spread.within)
        rows.append(("Discordance", f"{share} of single answers change between pass and fail when a case is repeated"))
    rows.append(("Between runs", _response(power_figures)))
    return rows


def _runs(power_figures: PowerFigures) -> str:
    message = f"{fmt.counted(len(power_figures.runs), 'run')}, the newest {power_figures.runs[0]}"
    left = ", ".join(f"{count} {why}" for why, count in power_figures.left_out.items())
    return f"{message}; left out: {left}" if left else message


def _within(power_figures: PowerFigures) -> str:
    within = power_figures.spread.within
    if within is None:
        return "unknown: no case was repeated; steelyard run SUITE --repeats 3 measures it"
    return f"SD {in_points(math.sqrt(within))} points"


def _response(power_figures: PowerFigures) -> str:
    spread = power_figures.spread
    if spread.change is None:
        return "unknown: it takes two runs; all cases are assumed to change alike"
    if spread.response is None:
        message = f"SD {in_points(math.sqrt(spread.change))} points of a case's change, noise of repeats in it"
    else:
        message = f"SD {in_points(math.sqrt(spread.response))} points of a case's change beyond the noise of repeats"
    return f"{message} ({fmt.counted(spread.n_pairs, 'pair')} of runs)"


def smallest_changes(power_figures: PowerFigures) -> Table:
    """The smallest change that is detected, by repeats and cases."""
    cases = sorted({design.cases for design, _ in power_figures.table})
    by_design = dict(power_figures.table)
    repeats = sorted({design.repeats for design, _ in power_figures.table})
    rows = [(f"{repeat:,}", *(_change(by_design[Design(n, repeat)]) for n in cases)) for repeat in repeats]
    columns = (Column("Repeats"), *(Column(f"{n:,} cases") for n in cases))
    note = "points; today's cases first" + _no_repeats(power_figures)
    return Table("Minimum detectable difference", columns, rows, note)


def needed(power_figures: PowerFigures) -> Table:
    """How many cases a change takes, by repeats; no rows when none was asked for."""
    rows = [
        (
            f"{item.repeats:,}",
            "more than 1,000,000" if item.cases is None else f"{item.cases:,}",
            "" if item.cases is None else f"{item.cases * item.repeats * power_figures.spread.variants:,}",
        )
        for item in power_figures.needed
    ]
    columns = (Column("Repeats"), Column("Cases"), Column("Calls"))
    title = "" if power_figures.detect is None else f"To detect {in_points(power_figures.detect)} points"
    return Table(title, columns, rows, _by_repeats(power_figures) + _no_repeats(power_figures))


def _by_repeats(power_figures: PowerFigures) -> str:
    n = fmt.counted(power_figures.spread.n_cases, "case")
    if power_figures.spread.within is None:
        return f"the number of repeats of today's {n} is not known"
    if power_figures.repeats_needed is None:
        return f"no number of repeats of today's {n} would do"
    return f"or today's {n} with {fmt.counted(power_figures.repeats_needed, 'repeat')} each"


def _no_repeats(power_figures: PowerFigures) -> str:
    return "; other repeats are unknown while no case is repeated" if power_figures.spread.within is None else ""


def _change(value: float | None) -> str:
    return "none" if value is None else in_points(value)


def in_points(share: float) -> str:
    """A share as percentage points."""
    return f"{fmt.percentage(share):.1f}"
