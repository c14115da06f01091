"""The document and the data of an A/B and of an experiment with criteria."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.target import target_name
from steelyard.comparing import report as compare
from steelyard.comparing import sentences as compared
from steelyard.comparing.model import Comparison
from steelyard.experiments.criteria import ExperimentArm, ExperimentReport
from steelyard.experiments.decision import AbReport, Decided
from steelyard.experiments.effects import Effect
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import bullets, section, table_section
from steelyard.report.format import one_line
from steelyard.report.render.json import encode, encode_object, picked
from steelyard.report.verdicts import exit_code
from steelyard.report.wording import signature_line
from steelyard.stats.resampling import SEED
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


def experiment_document(report: ExperimentReport) -> doc.Document:
    """The decision, what changed, the criteria, both arms, the comparison and how to see the raw runs."""
    ruling, arms = report.ruling, [arm for arm in (report.baseline, report.candidate) if arm is not None]
    blocks: list[doc.Block] = [
        doc.Headline(
            ruling.decided.value, MEANINGS[ruling.decided], remarks=[doc.Bullet(reason) for reason in ruling.reasons]
        ),
        *section("The experiment", doc.Facts(_about(report)), main=True),
        *table_section(_criteria(report), main=True),
        *table_section(_arms(arms), main=True),
        *([] if report.comparison is None else _comparison(report.comparison)),
        *section("The raw runs", doc.Facts(_raw_runs(report)), main=True),
    ]
    signed = zip(("baseline", "candidate"), arms, strict=False)
    plan = "stored with each run before its first call"
    if not report.beforehand:
        plan = "not stored with every run: nothing shows that it was written before them"
    footer = [f"plan {report.plan}, {plan}", *(f"{name}: {signature_line(arm.header)}" for name, arm in signed)]
    title = f"{report.name} (suite {report.baseline.header.suite_name})"
    return doc.Document(title, blocks, ("experiment",), footer)


def _comparison(comparison: Comparison) -> list[doc.Block]:
    """The first screen of the comparison, A being the baseline and B the candidate."""
    return [
        *section(
            f"The comparison, A the baseline and B the candidate: {compared.verdict_word(comparison)}",
            doc.Text(compared.answer(comparison), doc.Tone.STRONG),
            doc.Bullets([doc.Bullet(text, label=label) for label, text in compared.significance(comparison)]),
            bullets(compared.what_moved(comparison)),
            main=True,
        ),
        *table_section(compare.main_figures(comparison), main=True),
    ]


def experiment_data(report: ExperimentReport) -> dict[str, Any]:
    """The whole report as plain data."""
    changed = report.ruling.changed
    result = {"format": EXPERIMENT_FORMAT} | encode_object(report) | encode_object(report.ruling)
    result["changed"] = None if changed is None else encode_object(changed) | {"caution": changed.caution}
    for name, arm in (("baseline", report.baseline), ("candidate", report.candidate)):
        result[name] = (
            None if arm is None else {"run": arm.header.id} | picked(arm.header, "state", "verdict", "suspect")
        )
    return result | {"comparison": None if report.comparison is None else compare.data(report.comparison)}


def _about(report: ExperimentReport) -> list[tuple[str, str]]:
    """The hypothesis, and what changed, as label and words."""
    rows = [("Hypothesis", report.hypothesis), ("Factor", report.factor)]
    changed = report.ruling.changed
    if changed is not None:
        message = ", ".join(item.message for item in changed.as_declared)
        rows.append(("Changed", message or f"nothing that is the {report.factor}"))
        rows += [("Besides", ", ".join(item.message for item in changed.besides))] if changed.besides else []
        rows += [("Mind", changed.caution)] if changed.caution else []
    return rows + [("Mind", note) for note in report.notes]


def _arms(sides: list[ExperimentArm]) -> doc.Table:
    """Both runs side by side: what was asked, how it ended and its main figures."""
    labels = [_facts(arm) for arm in sides]
    rows = [
        (label, *(facts[label] for facts in labels)) for label in labels[0] if any(facts[label] for facts in labels)
    ]
    return doc.Table("Both arms", tuple(map(doc.words, ("", "Baseline", "Candidate")[: len(sides) + 1])), rows)


def _facts(arm: ExperimentArm) -> dict[str, str]:
    header, overall = arm.header, arm.summary.overall
    return {
        "run": header.id,
        "begun": fmt.when(header.created_at),
        "target": target_name(header),
        "repeats": str(header.description.repeats),
        "variants": ", ".join(name for name in header.description.variant_names if name),
        "load": load_in_words(header.options.load),
        "the suite's gates": header.verdict.value if header.verdict else "no gates",
        "pass rate": fmt.with_base(overall["pass_rate"]) if arm.summary.passing else "",
        "average": fmt.with_base(overall["average"]),
        "cases passed": fmt.with_base(overall["cases.passed"]) if "cases.passed" in overall else "",
        "checks passed": fmt.with_base(overall["checks.passed"]) if "checks.passed" in overall else "",
        "latency p95": fmt.with_base(overall["latency.p95"], "s") if "latency.p95" in overall else "",
    }


def _criteria(report: ExperimentReport) -> doc.Table:
    """Every criterion with its figure on both sides, and whether it holds."""
    note = "adopted when all criteria to adopt are met and none to reject; rejected when one to reject is met"
    if all(item.asks == "adopt" for item in report.ruling.criteria):
        note = "adopted when all are met; rejected when one is not"
    return doc.table(
        "Criteria, written beforehand" if report.beforehand else "Criteria",
        report.ruling.criteria,
        ("Criterion", lambda item: f"{item.asks} when {item.text}"),
        ("Baseline", lambda item: fmt.in_unit(item.baseline.value, item.unit) if item.baseline else ""),
        (
            doc.Column("Candidate", below=True),
            lambda item: fmt.in_unit(item.candidate.value, item.unit) if item.candidate else "",
        ),
        ("Outcome", lambda item: HOLDS[item.holds]),
        (doc.words("Why"), lambda item: item.reason),
        note=note,
    )


def _raw_runs(report: ExperimentReport) -> list[tuple[str, str]]:
    """How to see the raw runs: label and command."""
    runs = [("Baseline", report.baseline.header.id)]
    runs += [("Candidate", report.candidate.header.id)] if report.candidate is not None else []
    rows = [(name, f"steelyard report {run}   (every answer: steelyard export {run} FILE)") for name, run in runs]
    if len(runs) > 1:
        ids = " ".join(run for _, run in runs)
        rows.append(("Both", f"steelyard compare {ids}"))
        rows.append(("Decide again", f"steelyard experiment {report.file} --decide-only {ids}"))
    return rows


def ab_document(report: AbReport) -> doc.Document:
    """The decision, what it stands on and the checks."""
    # The reasons of an answer that is none come first.
    remarks = [doc.Bullet(text) for text in (*report.why[1:], *report.notes)]
    arms = [
        (_label(arm.letter, arm.name), ", ".join(f"{key} {value}" for key, value in arm.facts)) for arm in report.arms
    ]
    checks = doc.table(
        "Checks",
        report.checks,
        ("Check", lambda check: check.name),
        (
            doc.Column("State", doc.Kind.VERDICT),
            lambda check: "BROKEN" if check.invalidates else "ok" if check.fine else "look",
        ),
        (doc.words("Found"), lambda check: check.message),
    )
    blocks: list[doc.Block] = [
        doc.Headline(report.decided.value, ab_answer(report), ab_word(report), remarks=remarks),
        *section("Arms", doc.Facts(arms), main=True),
        *table_section(ab_figures(report), main=True),
        *table_section(checks, main=True),
    ]
    return doc.Document(report.title, blocks, footer=(f"Method: {report.method}", *report.signatures))


def ab_data(report: AbReport) -> dict[str, Any]:
    """The whole report as plain data."""
    texts = {"format": AB_FORMAT, "exit_code": exit_code(report.decided.value), "sentence": encode(ab_answer(report))}
    arms = [encode_object(arm) | {"facts": encode(dict(arm.facts))} for arm in report.arms]
    return texts | encode_object(report) | {"arms": arms}


def ab_word(report: AbReport) -> str:
    """The decision as a badge says it."""
    if report.decided not in (Decided.A, Decided.B):
        return report.decided.value
    arm = report.arms[report.decided is Decided.B]
    return f"{_label(arm.letter, arm.name)} is better"


def _label(letter: str, name: str) -> str:
    return letter if name == letter else f"{letter} ({one_line(name, _LONGEST_NAME)})"


def ab_answer(report: AbReport) -> str:
    """The decision in one sentence, with the figure that it stands on."""
    effect = report.quality
    if report.why:
        return report.why[0]
    if effect.difference is None:
        return f"cannot tell: there is no {effect.name} of both arms"
    before, after = (fmt.in_unit(value, effect.unit) for value in (effect.a, effect.b))
    ends = f"({_interval(effect)})" if effect.low is not None else "(interval undefined)"
    moved = f"{fmt.difference(effect.difference, effect.unit)} {ends}, n = {effect.n:,}"
    words = {Decided.A: ab_word(report), Decided.B: ab_word(report), Decided.SAME: "the same for all that matters"}
    return f"{words.get(report.decided, 'cannot tell')}: {effect.name} {before} -> {after}, {moved}"


def _interval(effect: Effect) -> str:
    """The ends of the interval of the difference."""
    if effect.low is None or effect.high is None:
        return "undefined"
    return " to ".join(_moved(end, effect) for end in (effect.low, effect.high))


def _moved(value: float | None, effect: Effect) -> str:
    if value is None:
        return fmt.NOT_AVAILABLE
    return fmt.difference(value, effect.unit, bare=effect.unit == "share")


def ab_figures(report: AbReport) -> doc.Table:
    """Quality first, then cost and latency, with their intervals."""
    effects = (report.quality, *report.extra)
    ways = list(dict.fromkeys(effect.method for effect in effects if effect.method))
    # Of all that can make an interval, only a test that was fixed before draws.
    seed = f"seed {SEED}" if any(way.startswith("fixed") for way in ways) else "nothing drawn"
    what = "cases scored in both arms" if report.kind == "offline" else "units"
    return doc.table(
        "Figures",
        effects,
        ("Figure", lambda effect: effect.name),
        (report.arms[0].name, lambda effect: fmt.in_unit(effect.a, effect.unit)),
        (report.arms[1].name, lambda effect: fmt.in_unit(effect.b, effect.unit)),
        ("Difference", lambda effect: _moved(effect.difference, effect)),
        ("95 % interval", _interval),
        ("n", lambda effect: f"{effect.n:,}"),
        ("Missing", lambda effect: f"{effect.n_missing:,}"),
        note=f"n are {what}; the first figure decides",
        signature=f"95 %: {'; '.join(ways)} | {seed}" if ways else "",
    )
