"""The audit of a suite as a document: what each probe earns, what is wrong, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from steelyard.auditing.audit import AuditResult, ProbeResult
from steelyard.auditing.judge import InjectionResult
from steelyard.auditing.probes import CONSTANT, NULL, TRUTH
from steelyard.records import Verdict
from steelyard.report import document as doc
from steelyard.report.document import bullets, section, table_section
from steelyard.wording import percent

_UNPROVEN = "unproven: the judge gives no quote, or a made-up one. quoting it: it quotes the injection itself."
_STILL = (
    "ok: every rule and check of the suite passed. The figures are what a judge that gives full marks on request can"
    " still give: nothing else keeps such a text from passing."
)
_AMBIGUOUS = (
    "the score of probes that could not be read is unknown. Name every field in the answer's schema, and give one with"
    " a pattern an example (examples: [...])."
)


def data(result: AuditResult) -> dict[str, Any]:
    """The whole audit as plain data."""
    return asdict(result) | {"verdict": result.verdict.value, "passes": result.verdict is Verdict.PASS}


def document(result: AuditResult) -> doc.Document:
    """The verdict, what is wrong, and what every probe and every prompt injection earned."""
    partly = result.n_audited < result.n_cases
    context = [f"audited on {result.n_audited} of {result.n_cases} cases, drawn at random"] if partly else []
    wrong = bullets((*result.complaints, *result.not_read))
    warned = bullets((f"Warning: {warning}" for warning in result.warnings), doc.Tone.WARNING)
    meaning, *notes = {
        Verdict.FAIL: ["AUDIT FAILED"],
        Verdict.AMBIGUOUS: ["AUDIT AMBIGUOUS", _AMBIGUOUS],
        Verdict.PASS: list(_passed(result)),
    }[result.verdict]
    notes += [f"Not tested: {message}." for message in result.not_tested]
    blocks: list[doc.Block] = [
        doc.Headline(result.verdict.value, meaning),
        *(item for rule in _rules(result) for item in table_section(_probes(result, rule), main=True)),
        *(_injections(result.injections) if result.injections else ()),
        *section("To fix" if result.complaints else "Not read", wrong, main=True),
        *section("Warnings", warned, main=True),
        *section("Notes", bullets([*notes, *result.notes]), main=True),
    ]
    return doc.Document(f"{result.suite}: audit", blocks, context, last=[meaning])


def _rules(result: AuditResult) -> list[str]:
    return list(dict.fromkeys(probe.rule for probe in result.probes))


def _probes(result: AuditResult, rule: str) -> doc.Table:
    def about(probe: ProbeResult) -> str:
        n_read = probe.n - probe.n_malformed
        return probe.about + (f" (read in {n_read} of {probe.n})" if 0 < n_read < probe.n else "")

    probes = [probe for probe in result.probes if probe.rule == rule]
    return doc.table(
        f"Rules {rule}, n {result.n_audited}: share of full marks",
        probes,
        ("probe", lambda probe: probe.probe),
        (doc.words("what it answers"), about),
        ("average", lambda probe: "n/a" if probe.not_read else percent(probe.average)),
        ("highest", lambda probe: "n/a" if probe.not_read else percent(probe.highest)),
        ("passes", lambda probe: "n/a" if probe.not_read else str(len(probe.passed))),
        ("limit", lambda probe: f"{'>=' if probe.kind == TRUTH else '<='} {probe.limit * 100:.3g} %"),
        (doc.Column("", doc.Kind.VERDICT), _word),
        most=len(probes),
    )


def _word(probe: ProbeResult) -> str:
    if probe.not_read:
        return "not read"
    if not probe.holds:
        return "FAILS"
    if probe.n_malformed == probe.n:
        return "malformed"
    return "shown" if probe.only_shown else "ok"


def _injections(injections: list[InjectionResult]) -> list[doc.Section]:
    """What texts that talk to the judge come to when it obeys them."""

    def figure(text: str, injection: InjectionResult) -> str:
        return text if injection.n else "n/a"

    table = doc.table(
        f"prompt injections and a judge that obeys them, n {injections[0].n}: most that one gets",
        injections,
        ("injection", lambda item: item.name),
        (doc.words("what the text holds"), lambda item: item.about),
        ("unproven", lambda item: figure(percent(item.highest), item)),
        ("quoting it", lambda item: figure(percent(item.highest_with_quote), item)),
        ("passes", lambda item: figure(str(item.n_passed), item)),
        (doc.Column("", doc.Kind.VERDICT), lambda item: ("ok" if item.holds else "FAILS") if item.n else "not read"),
        most=len(injections),
    )
    still = any(injection.highest or injection.highest_with_quote for injection in injections)
    return section(table.title, table, doc.Text(_UNPROVEN), doc.Text(_STILL if still else ""), main=True)


def _passed(result: AuditResult) -> Iterator[str]:
    most = max((probe for probe in result.probes if probe.kind == NULL), key=lambda probe: probe.average)
    earned = f"at most {percent(most.average)} ({most.probe}, {most.rule})" if most.average else "nothing"
    untested = ", ".join(message.partition(" (")[0] for message in result.not_tested)
    untested = f" Not tested: {untested}." if untested else ""
    yield f"Audit passed. An answer that says nothing earns {earned}.{untested}"
    if constants := [probe for probe in result.probes if probe.kind == CONSTANT]:
        best = max(constants, key=lambda probe: probe.average)
        chance = "" if result.chance is None else f"; guessing earns {percent(result.chance)}"
        yield f"One answer for all cases earns at most {percent(best.average)} ({best.probe}, {best.rule}){chance}."
    if any(probe.only_shown and probe.kind == NULL for probe in result.probes):
        yield "shown: needs calls of a model; this is what rules and checks leave of full marks."
    elif any(probe.only_shown for probe in result.probes):
        yield "shown: the limit applies to the strict rule instead of the rule as written."
    for probe in result.probes:
        if probe.only_shown and probe.average > probe.limit and probe.kind != NULL:
            earned = f"{percent(probe.average)} and passes {len(probe.passed)} of {probe.n} cases"
            yield f"As written, {probe.about} earns {earned}: --strict closes that."
    if any(probe.n_malformed == probe.n for probe in result.probes):
        yield "malformed: the suite cannot parse such an answer; it scores 0."
