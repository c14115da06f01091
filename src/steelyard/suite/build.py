"""From the plain data of a suite, however written, to a validated SuiteModel, or all its mistakes at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from steelyard.suite.alert_settings import build_alerts
from steelyard.suite.answer_shape import build_answer
from steelyard.suite.bounds import Bounds
from steelyard.suite.case_files import build_source
from steelyard.suite.components import build_components
from steelyard.suite.confidence import build_confidence
from steelyard.suite.criteria import check_criteria
from steelyard.suite.declared_judges import self_judged
from steelyard.suite.declared_targets import build_target, prompts_of
from steelyard.suite.draft import Draft
from steelyard.suite.expectations import EXPECT, SCHEMA, build_expectations, tell_unreachable_errors
from steelyard.suite.file import SuitePart
from steelyard.suite.gate_checks import Known, check_gate
from steelyard.suite.gates import parse_gate
from steelyard.suite.judge_model import JudgeModel
from steelyard.suite.judges import build_judge
from steelyard.suite.latency import build_latency
from steelyard.suite.ledger import read_ledger
from steelyard.suite.model import (
    AuditLimits,
    Band,
    CaseSurvey,
    Component,
    Criterion,
    FindingKind,
    Hold,
    Limits,
    SuiteModel,
    TargetSpec,
    Threshold,
    Variant,
)
from steelyard.suite.own_code import own_code
from steelyard.suite.redaction import RedactedCases, build_redactor
from steelyard.suite.shares import passing, share
from steelyard.suite.spelling import found, listed, meant
from steelyard.suite.stability import PRESENCE, build_stability
from steelyard.suite.survey import survey_cases
from steelyard.suite.taxonomy import build_taxonomy, given_codes, tell_idle_codes
from steelyard.suite.variants import build_variants


def build_suite(draft: Draft, path: str) -> SuiteModel:
    """The suite in the draft; SuiteError with every mistake when there are any."""
    raw = draft.located.data
    draft.mistakes.extend(draft.located.mistakes)
    if not isinstance(raw, dict):
        draft.tell(f"a suite is a group of keys (suite, cases, target, score, ...); {found(raw)}")
        draft.finish()
    part = draft.check(SuitePart, raw)
    components = build_components(raw.get("score"), draft)
    target, targets = _targets(raw, draft)
    answer = build_answer(raw.get("answer"), draft)
    variants, variant_prompts = build_variants(raw.get("variants"), draft)
    score = raw["score"] if isinstance(raw.get("score"), dict) else {}
    judge = build_judge(raw.get("judge"), draft, components, answer, list(score))
    expectations = build_expectations(raw, answer, draft, alone=not score and raw.get("judge") is None)
    tell_unreachable_errors(expectations, target, draft)
    components = components if expectations is None else (*components, expectations)
    _check_weights(raw, components, judge, draft)
    if judge is not None and (wrong := self_judged(target, judge, variants)):
        draft.tell(wrong, ("judge",))
    redactor = build_redactor(raw.get("redact"), draft)
    confidence = build_confidence(raw.get("confidence"), draft)
    stability = build_stability(raw.get("stability"), answer, draft)
    latency = build_latency(raw.get("latency"), draft)
    source = build_source(raw.get("cases"), draft)
    ledger = read_ledger(draft)
    noted = {line.case for line in ledger if line.case is not None}
    survey = survey_cases(source, components, draft, judge, redactor, noted) if source is not None else CaseSurvey()
    for component in components:
        if answer.format != "json" and getattr(component.scorer, "needs_json", False):
            name = f"score.{component.name}: {component.scorer_name}"
            draft.tell(f"{name} reads JSON: write answer: {{format: json}}, or a schema", ("score", component.name))
    bands = _bands(raw.get("bands"), draft)
    taxonomy = build_taxonomy(part, components, judge)
    known = _known(raw, components, judge, taxonomy, bands, variants, survey)
    tell_idle_codes(part, known, draft)
    _check_gates(raw.get("gates"), known, draft)
    check_criteria(raw.get("criteria"), known, draft)
    alerts = build_alerts(raw.get("alerts"), draft, known)
    snapshots = own_code(raw.get("snapshots"), ("snapshots",), draft, methods=("read", "write"))
    prompts = prompts_of(target, ("target",), draft) | variant_prompts
    draft.finish()
    if part is None or target is None or source is None:
        raise AssertionError("a suite that could not be built must have a mistake")
    return SuiteModel(
        name=part.suite,
        folder=draft.folder,
        path=path,
        cases=source if redactor is None else RedactedCases(source, redactor),
        target=target,
        components=components,
        about=part.about,
        answer=answer,
        passing=_passing(part),
        bands=bands,
        gates=tuple(part.gates),
        criteria=tuple(
            Criterion(name, criterion.pass_, criterion.fail, criterion.secondary, criterion.about)
            for name, criterion in part.criteria.items()
        ),
        variants=variants,
        repeats=part.repeats,
        taxonomy=taxonomy,
        limits=Limits(**(part.limits.model_dump() | {"concurrency": part.limits.most_under_way})),
        audit=AuditLimits(**part.audit.model_dump()),
        prompts=prompts,
        survey=survey,
        targets=targets,
        version=part.version,
        judge=judge,
        confidence=confidence,
        redactor=redactor,
        snapshots=snapshots,
        hold=Hold(part.hold or Hold.ALL),
        stability=stability,
        latency=latency,
        alerts=alerts,
        ledger=ledger,
    )


def _passing(part: SuitePart) -> Threshold | None:
    """The pass rule; where checks are expected and none is given, all of them must pass."""
    if part.pass_ is not None:
        return Threshold(passing(part.pass_), _rule(part.pass_))
    return Threshold(1.0, "score >= 100 %") if part.expect else None


def _check_weights(
    raw: dict[str, Any], components: tuple[Component, ...], judge: JudgeModel | None, draft: Draft
) -> None:
    """Tell of a suite in which nothing counts; a part that is broken is told elsewhere."""
    if raw.get("expect") is not None:
        return
    if raw.get("judge") is None and not raw.get("score"):
        if isinstance(raw.get("score"), dict):
            draft.tell("score is empty: give at least one component, expect or a judge", ("score",))
        elif "score" not in raw:
            draft.tell("score is missing: give at least one component, expect or a judge")
        return
    score = raw.get("score", {})
    if (raw.get("judge") is not None and judge is None) or not isinstance(score, dict) or len(components) < len(score):
        return
    weights = [component.weight for component in components]
    weights += [dimension.weight for dimension in judge.rubric.dimensions] if judge else []
    if not any(weights):
        place = "score" if components else "judge"
        draft.tell("nothing to weigh: every weight is 0; give one component or dimension a weight", (place,))


def _targets(raw: dict[str, Any], draft: Draft) -> tuple[TargetSpec | None, dict[str, TargetSpec]]:
    named: dict[str, TargetSpec] = {}
    declared = raw.get("targets")
    for name, given in (declared if isinstance(declared, dict) else {}).items():
        built = build_target(given, ("targets", name), draft)
        if built is not None:
            named[name] = built
            prompts_of(built, ("targets", name), draft)
    given = raw.get("target")
    if given is None:
        draft.tell("target is missing: name the system under test, as in target: {recorded: answers.jsonl}")
        return None, named
    if isinstance(given, str) and isinstance(declared, dict) and declared:
        if given not in declared:
            names = list(declared)
            hint = meant(given, names) or f"; there are: {listed(names)}"
            draft.tell(f"no target is called {given!r}{hint}", ("target",))
        return named.get(given), named
    return build_target(given, ("target",), draft), named


def _bands(raw: Any, draft: Draft) -> tuple[Band, ...]:
    if not isinstance(raw, dict) or not raw:
        return ()
    bands: list[Band] = []
    for name, value in raw.items():
        try:
            bands.append(Band(name, share(value)))
        except ValueError:
            return ()  # already told by the check of the whole file
    by_start: dict[float, str] = {}
    for band in bands:
        if band.at_least in by_start:
            other = by_start[band.at_least]
            draft.tell(f"bands {other} and {band.name} start at the same score", ("bands", band.name))
        by_start[band.at_least] = band.name
    for better, worse in pairwise(bands):
        if better.at_least < worse.at_least:
            told = f"bands go from the best to the worst: {worse.name} starts above {better.name}"
            draft.tell(told, ("bands", worse.name))
    if min(band.at_least for band in bands) > 0:
        draft.tell(
            f"the lowest band, {bands[-1].name}, must start at 0, so that every score has one",
            ("bands", bands[-1].name),
        )
    return tuple(sorted(bands, key=lambda band: -band.at_least))


def _known(
    raw: dict[str, Any],
    components: tuple[Component, ...],
    judge: JudgeModel | None,
    taxonomy: tuple[FindingKind, ...],
    bands: tuple[Band, ...],
    variants: tuple[Variant, ...],
    survey: CaseSurvey,
) -> Known:
    """What gates and criteria may speak of; a part that is broken is told elsewhere and must not be told twice."""
    score = raw.get("score")
    measures: dict[str, list[str] | None] = dict.fromkeys(score if isinstance(score, dict) else ())
    if raw.get("expect") is not None:
        measures |= {EXPECT: None}
    broken = len(components) < len(measures) or (judge is None and raw.get("judge") is not None)
    measures |= {component.name: _measured(component) for component in components}
    scales: dict[str, Bounds] = {component.name: component.scale for component in components}
    if judge is not None:
        rubric = judge.rubric
        measures |= {dimension.name: [] for dimension in rubric.dimensions} | {
            one.name: ["rate"] for one in rubric.flags
        }
        scales |= {dimension.name: (rubric.low, rubric.high) for dimension in rubric.dimensions}
        scales |= {flag.name: (0.0, 1.0) for flag in rubric.flags}
        measures |= {each.name: [] for each in judge.means} | {each.name: list(each.words) for each in judge.counts}
        scales |= {each.name: each.scale for each in judge.means}
    slices = {
        "category": list(survey.categories),
        "difficulty": list(survey.difficulties),
        "tag": list(survey.tags),
        "variant": [variant.name for variant in variants if variant.name],
    }
    return Known(
        components=None if judge is None and raw.get("judge") is not None else measures,
        means={component.name: list(getattr(component.scorer, "means", ())) for component in components},
        codes=None if broken else given_codes(components, judge, taxonomy),
        bands=[band.name for band in bands],
        slices=slices if survey.n else None,
        passing=raw.get("pass") is not None or raw.get("expect") is not None,
        scales=scales,
        checks=_checks(raw),
        stability=_compared(raw.get("stability")),
    )


def _checks(raw: dict[str, Any]) -> list[str] | None:
    """The names of all checks; None when they cannot be told."""
    given, answer = raw.get(EXPECT), raw.get("answer")
    if not given:
        return []
    if not isinstance(given, dict):
        return None
    return [SCHEMA, *map(str, given)] if isinstance(answer, dict) and answer.get("schema") else list(map(str, given))


def _compared(raw: Any) -> list[str] | None:
    """What repeats are compared in; None when it cannot be told."""
    if raw is None:
        return []
    fields = raw.get("fields", {}) if isinstance(raw, dict) else None
    return [PRESENCE, *map(str, fields)] if isinstance(fields, dict) else None


def _measured(component: Component) -> list[str]:
    """The names of what its scorer measures over all samples."""
    return [*getattr(component.scorer, "measures", ()), *getattr(component.scorer, "means", ())]


def _check_gates(gates: Any, known: Known, draft: Draft) -> None:
    for at, text in enumerate(gates if isinstance(gates, list) else []):
        if not isinstance(text, str):
            continue
        try:
            wrong = check_gate(parse_gate(text), known)
        except ValueError as error:
            wrong = str(error)
        if wrong:
            draft.tell(wrong, ("gates", at))


def _rule(text: str) -> str:
    """The pass rule as it is printed beside every pass rate: a bare share is the score's."""
    return text.strip() if "score" in text else f"score >= {text.strip()}"
