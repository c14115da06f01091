"""Experiments and A/Bs: the decision, what changed between the arms, the criteria or figures it stands on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steelyard.analysis.compare_model import Comparison
from steelyard.decide.experiment import AbReport, Arm, Decided, Effect, Held, Ruling
from steelyard.decide.experiment import Decided as AbDecided
from steelyard.records import RunHeader
from steelyard.report import compare
from steelyard.report import compare_sentences as compared
from steelyard.report import format as fmt
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
from steelyard.report.wording import signature_line, target_name
from steelyard.stats.arrays import SEED
from steelyard.suite.values import load_in_words

EXPERIMENT_FORMAT = "steelyard.experiment/1"
AB_FORMAT = "steelyard.ab/1"
MEANINGS = {
    Decided.ADOPT: "the candidate meets the criteria",
    Decided.REJECT: "the criteria speak against the candidate",
    Decided.CANNOT_TELL: "neither to adopt nor to reject",
    Decided.INVALID: "an arm is no reading: nothing can be decided",
}
HOLDS = {True: "holds", False: "does not hold", None: "cannot tell"}
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
    """What a reader has to know about how it came about: run before, or a plan that nobody saw beforehand."""


def document(report: ExperimentReport) -> Document:
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
    sure = [Bullet(text, label=label) for label, text in compared.how_sure(comparison)]
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


def data(report: ExperimentReport) -> dict[str, Any]:
    """The whole report as plain data."""
    changed = report.ruling.changed
    arms_data = {name: None if arm is None else _arm_data(arm) for name, arm in _sides_of(report)}
    caution = None if changed is None else encode_object(changed) | {"caution": changed.caution}
    compared_data = None if report.comparison is None else compare.data(report.comparison)
    found = {"format": EXPERIMENT_FORMAT} | encode_object(report) | encode_object(report.ruling)
    return found | {"changed": caution} | arms_data | {"comparison": compared_data}


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
    said = {"format": AB_FORMAT, "exit_code": code, "sentence": encode(ab_answer(report))}
    return said | encode_object(report) | {"arms": arms_data}


def title(report: ExperimentReport) -> str:
    """The experiment and its suite."""
    return f"{report.name} (suite {report.baseline.header.suite_name})"


def about(report: ExperimentReport) -> list[tuple[str, str]]:
    """The hypothesis, and what changed, as label and words."""
    rows = [("Hypothesis", report.hypothesis), ("Factor", report.factor)]
    changed = report.ruling.changed
    if changed is not None:
        told = ", ".join(one.told for one in changed.as_declared)
        rows.append(("Changed", told or f"nothing that is the {report.factor}"))
        if changed.besides:
            rows.append(("Besides", ", ".join(one.told for one in changed.besides)))
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
    return Table("Both arms", (Column("", Kind.TEXT), *(Column(one, Kind.TEXT) for one in titles)), rows)


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
        "cases held": "" if checks is None else fmt.with_base(checks.cells_rate),
        "checks held": "" if checks is None else fmt.with_base(checks.checks_rate),
        "latency p95": fmt.with_base(overall.latency["p95"], "s") if "p95" in overall.latency else "",
    }


def criteria(report: ExperimentReport) -> Table:
    """Every criterion with its figure on both sides, and whether it holds."""
    rows = [
        (f"{each.asks} when {each.text}", *_sides(each), HOLDS[each.holds], each.reason)
        for each in report.ruling.criteria
    ]
    columns = (
        Column("Criterion", Kind.TEXT),
        Column("Baseline"),
        Column("Candidate", below=True),
        Column("Came out"),
        Column("Why", Kind.TEXT),
    )
    note = "adopted when all to adopt hold and none to reject does; rejected when one to reject holds"
    if rows and all(each.asks == "adopt" for each in report.ruling.criteria):
        note = "adopted when all hold; rejected when one does not"
    return Table(criteria_title(report), columns, rows, note)


def criteria_title(report: ExperimentReport) -> str:
    """`Criteria`, and that they were there before the first call where the runs show it."""
    return "Criteria, written beforehand" if report.beforehand else "Criteria"


def plan_line(report: ExperimentReport) -> str:
    """Which plan it was, and when it was stored."""
    if report.beforehand:
        return f"plan {report.plan}, stored with each run before its first call"
    return f"plan {report.plan}, which not every run carries: nothing shows that it was there before them"


def _sides(each: Held) -> tuple[str, str]:
    found = ["" if one is None else fmt.in_unit(one.value, each.unit) for one in (each.baseline, each.candidate)]
    return found[0], found[1]


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
    told = f"{effect.name} {_in_unit(effect.a, effect)} -> {_in_unit(effect.b, effect)}, {_difference(effect)}"
    if decided in (AbDecided.A, AbDecided.B):
        return f"{ab_word(report)}: {told}"
    if decided is AbDecided.SAME:
        return f"the same for all that matters: {told}"
    return f"cannot tell: {told}"


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
        for effect in (report.quality, *report.beside)
    ]
    a, b = (arm.name for arm in report.arms)
    heads = ("Figure", a, b, "Difference", "95 % interval", "n", "Missing")
    what = "cases that both arms have a reading of" if report.kind == "offline" else "units"
    note = f"n are {what}; the first figure decides"
    return Table("Figures", _columns(heads), rows, note, signature=_signature(report))


def _signature(report: AbReport) -> str:
    """How the intervals were made; of all that can make one, only a test that was fixed before draws."""
    ways = list(dict.fromkeys(effect.method for effect in (report.quality, *report.beside) if effect.method))
    drawn = any(way.startswith("fixed") for way in ways)
    return f"95 %: {'; '.join(ways)} | {f'seed {SEED}' if drawn else 'nothing drawn'}" if ways else ""


def ab_checks(report: AbReport) -> Table:
    """Everything that must be so, and whether it is."""
    rows = [
        (check.name, _BROKEN if check.invalidates else _FINE if check.fine else _NOT_FINE, check.told)
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
