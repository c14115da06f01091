"""From the plain data of a suite, however written, to a validated SuiteModel, or all its mistakes at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from steelyard import plugins
from steelyard.errors import UsageError
from steelyard.loading.chosen_judge import self_judged
from steelyard.loading.judge import build_judge, check_must_answer, judged_components
from steelyard.loading.target import build_target, build_variants, prompts_of
from steelyard.metrics.expression_checks import SuiteNames, check_gate, criteria_problems
from steelyard.metrics.expressions import parse_gate
from steelyard.suite.case import CaseSurvey
from steelyard.suite.cases import ListCases, build_source, survey_cases
from steelyard.suite.draft import Draft, own_code
from steelyard.suite.files import allowed
from steelyard.suite.judge import JudgeModel, dimension_code
from steelyard.suite.ledger import read_ledger
from steelyard.suite.models import (
    EXPECT,
    SCHEMA,
    AnswerShape,
    CheckDescription,
    Component,
    ComponentSettings,
    ExpectDescription,
    FindingKind,
    MeasureSettings,
    RequiredRepeats,
    SuiteModel,
    TargetSpec,
    Threshold,
)
from steelyard.suite.readers import read_schema
from steelyard.suite.redaction import RedactedCases, build_redactor
from steelyard.suite.yaml import Place, listed, meant, meant_or_listed, result, unknown_key
from steelyard.suite_code import PLACE, find_callable, source_digest

FORMAT = "FORMAT"
"""The code of an answer that cannot be read."""


def build_taxonomy(
    part: SuiteModel, components: tuple[Component, ...], judge: JudgeModel | None
) -> tuple[FindingKind, ...]:
    """Every kind of finding, in the order of detection: as declared, then as the scorers and the rubric give them."""
    declared = {kind.code: kind for kind in part.taxonomy}
    for component in components:
        # A scorer that a Python suite brought along need not have all that ours have.
        codes = component.scorer.finding_codes() if hasattr(component.scorer, "finding_codes") else {}
        for code, about in codes.items():
            declared.setdefault(code, FindingKind(code=code, about=about))
        if not codes:
            declared.setdefault(component.code, FindingKind(code=component.code, about=f"{component.name} is wrong"))
    kinds = []
    if judge is not None:
        for dimension in judge.rubric.dimensions:
            about = f"{dimension.name} below {judge.rubric.neutral}"
            kinds.append(FindingKind(code=dimension_code(dimension.name), about=about))
        for flag in judge.rubric.flags:
            about = flag.about or f"{flag.name} is set"
            severity: Any = "critical" if flag.fails else "warning"
            kinds.append(FindingKind(code=dimension_code(flag.name), about=about, severity=severity))
    kinds.append(FindingKind(code=FORMAT, about="The answer cannot be read, or is not in the shape asked for."))
    for kind in kinds:
        declared.setdefault(kind.code, kind)
    return tuple(declared.values())


def given_codes(suite: SuiteModel) -> list[str]:
    """The codes that findings can have; a scorer or check from elsewhere may give any that the suite lists."""
    available, judge = plugins.built_in("scorers") | plugins.built_in("expectations"), suite.judge
    if (judge is not None and judge.check is not None) or any(
        component.scorer_name not in available for component in suite.computed
    ):
        return [kind.code for kind in suite.taxonomy]
    given = [code for component in suite.computed for code in component.scorer.finding_codes() or (component.code,)]
    judged = [dimension_code(name) for name in judge.rubric.names] if judge else []
    return list(dict.fromkeys([*given, *judged, FORMAT]))


def report_idle_codes(part: SuiteModel, suite_names: SuiteNames, draft: Draft) -> None:
    """Tell of a code that no scorer gives: a gate on it could never fail."""
    for code in (kind.code for kind in part.taxonomy):
        if suite_names.codes is not None and code not in suite_names.codes:
            hint = meant(code, suite_names.codes) or f"; they give: {listed(suite_names.codes)}"
            draft.add_problem(f"findings.{code}: no scorer of this suite gives this code{hint}", ("findings", code))


OPTIONS = tuple(ComponentSettings.model_fields)
"""What a component may say besides its scorer."""

PYTHON, WITH, MEASURES = "python", "with", "measures"
"""The scorer that is a class or a function of the suite's own, its parameters, and what the function's dicts hold."""


def build_components(raw: Any, draft: Draft) -> tuple[Component, ...]:
    """The components that can be built; everything wrong with the others is noted."""
    if not isinstance(raw, dict):
        return ()
    built = [_component(name, part, ("score", name), draft) for name, part in raw.items()]
    components = tuple(component for component in built if component is not None)
    components += tuple(_measures(components, draft))
    for component in components:
        if "." in component.name or not component.name.strip():
            draft.add_problem("a component's name must not be empty or hold dots", ("score", component.name))
    return components


def _measures(components: tuple[Component, ...], draft: Draft) -> Iterator[Component]:
    """A component without weight for every measure that a scorer takes of each answer: gates and rules can name it."""
    taken = {component.name for component in components}
    for component in components:
        for measure, scale in getattr(component.scorer, "named", {}).items():
            if (name := f"{component.name}_{measure}") in taken:
                draft.add_problem(f"score.{name}: a measure of {component.name} has this name", ("score", name))
                continue
            of = component.scorer if component.scorer.answer is not None else component.scorer.at(component.name)
            scorer = plugins.find("functions", "measure")(of=of, measure=measure)
            options: dict[str, Any] = {"weight": 0.0, "when_unknown": "skip", "wrong_below": 0.0}
            yield Component(
                name=name, scorer=scorer, code=component.code, source=component.source, scale=scale, **options
            )


def _component(name: str, raw: Any, place: Place, draft: Draft) -> Component | None:
    if is_scorer(raw):
        return Component(name=name, scorer=raw, code=name.upper())
    if callable(raw):
        raw = {PYTHON: raw}
    if not isinstance(raw, dict):
        draft.add_problem(
            f"score.{name} must name a scorer, as in {{exact: {{expected: expected.{name}}}}}; {result(raw)}", place
        )
        return None
    options = draft.check(ComponentSettings, {key: value for key, value in raw.items() if key in OPTIONS}, place)
    scorer = _scorer(name, raw, place, draft)
    if options is None or scorer is None:
        return None
    kind, built, source = scorer
    settings = dict(options) | {"code": options.code or name.upper()}
    return Component(name=name, scorer=built, scorer_name=kind, source=source, **settings)


def _scorer(name: str, raw: dict[str, Any], place: Place, draft: Draft) -> tuple[str, Any, str] | None:
    """The registered name, the scorer and the hash of its source, the first or the last of them ""."""
    kinds = [key for key in raw if key == PYTHON or (key not in OPTIONS and plugins.is_known("scorers", key))]
    options = (*OPTIONS, WITH, MEASURES) if PYTHON in kinds else OPTIONS
    strange = [key for key in raw if key not in kinds and key not in options]
    available = [*plugins.names("scorers"), PYTHON] if strange or not kinds else []
    for key in strange:
        # A misspelt option is told apart from an unknown scorer by what it is closest to.
        hint = meant(key, (*available, *options)) or f"; there are: {listed(available)}"
        what = unknown_key(key, options) if kinds else f"unknown scorer {key!r}{hint}"
        draft.add_problem(f"score.{name}: {what}", (*place, key))
    if len(kinds) > 1:
        draft.add_problem(f"score.{name} names {len(kinds)} scorers ({listed(kinds)}): one component has one", place)
    elif not kinds and not strange:
        draft.add_problem(f"score.{name} names no scorer; there are: {listed(available)}", place)
    if len(kinds) != 1:
        return None
    kind = kinds[0]
    if kind == PYTHON:
        return _own_scorer(name, raw, place, draft)
    parameters = raw[kind] if raw[kind] is not None else {}
    scorer = draft.registered("scorers", kind, (*place, kind), f"score.{name}: ")
    built = None if scorer is None else draft.check_part(scorer, parameters, (*place, kind))
    return None if built is None else (kind, built, "")


def _own_scorer(name: str, raw: dict[str, Any], place: Place, draft: Draft) -> tuple[str, Any, str] | None:
    """A scorer of the suite's own: `module:Class` or `module:function`, or in Python the class or function itself."""
    given, where, before = raw[PYTHON], (*place, PYTHON), len(draft.problems)
    if not callable(given) and not (isinstance(given, str) and PLACE.match(given)):
        draft.add_problem(
            f"score.{name}.python must be a function or a class: write module:name; {result(given)}", where
        )
        return None
    scorer: Any = None
    with draft.noting(where, f"score.{name}: "):
        scorer = find_callable(given, draft.folder, "scorer") if isinstance(given, str) else given
        if isinstance(scorer, type) and not (issubclass(scorer, BaseModel) and is_scorer(scorer)):
            text = given if isinstance(given, str) else given.__qualname__
            raise ValueError(f"{text} is no scorer: write a function, or a class that derives from steelyard.Scorer")
        if isinstance(scorer, type) and MEASURES in raw:
            raise ValueError("measures are for functions: a class declares its own")
    if len(draft.problems) > before:
        return None
    parameters = raw[WITH] if raw.get(WITH) is not None else {}
    source = source_digest(scorer, data=True) or ""
    if isinstance(scorer, type):
        built = draft.check_part(scorer, parameters, (*place, WITH))
    else:
        built = _function(name, scorer, raw, parameters, draft)
    return None if built is None else ("" if isinstance(scorer, type) else PYTHON, built, source)


def _function(name: str, function: Any, raw: dict[str, Any], parameters: Any, draft: Draft) -> Any:
    """A plain function as a scorer; `answer` of its parameters is a path, the others are arguments."""
    place: Place = ("score", name)
    options = draft.check(ComponentSettings, {key: value for key, value in raw.items() if key in OPTIONS}, place)
    if not isinstance(parameters, dict):
        draft.add_problem(f"score.{name}.with holds arguments by name; {result(parameters)}", (*place, WITH))
        return None
    if options is None:
        return None
    measures = _measure_scales(name, raw.get(MEASURES, []), draft)
    if measures is None:
        return None
    settings = {
        "function": function,
        "arguments": {key: value for key, value in parameters.items() if key != "answer"},
        "measures": measures,
        "component": name,
        "code": options.code or name.upper(),
        "scale": options.scale,
    }
    return draft.check_part(
        plugins.find("functions", PYTHON), settings | {"answer": parameters.get("answer", "")}, (*place, WITH)
    )


def _measure_scales(name: str, raw: Any, draft: Draft) -> dict[str, Any] | None:
    """The scale of each measure of a function, from 0 to 1 unless declared; None with what is wrong noted."""
    place: Place = ("score", name, MEASURES)
    if not isinstance(raw, dict | list | tuple) or not all(isinstance(n, str) and _NAME.fullmatch(n) for n in raw):
        form = "a list of names, as in [polite, short], or names with scales, as in {polite: {scale: [1, 5]}, short: }"
        draft.add_problem(f"score.{name}.measures is {form}; {result(raw)}", place)
        return None
    given = raw if isinstance(raw, dict) else dict.fromkeys(raw)
    before = len(draft.problems)
    checked = {
        measure: draft.check(MeasureSettings, {} if part is None else part, (*place, measure))
        for measure, part in given.items()
    }
    failed = len(draft.problems) > before
    return None if failed else {measure: part.scale for measure, part in checked.items() if part is not None}


def is_scorer(value: Any) -> bool:
    """True for an instance of a scorer, as Python suites may bring along."""
    return callable(getattr(value, "read", None)) and callable(getattr(value, "truth", None))


_NAME = re.compile(r"[^\W\d][\w-]*")


def build_expectations(raw: dict[str, Any], answer: AnswerShape, draft: Draft, *, alone: bool) -> Component | None:
    """The component of the suite's `expect`, or None when it has none or everything wrong with it is noted."""
    given = raw.get(EXPECT)
    if given is None:
        if raw.get("required_repeats") is not None:
            draft.add_problem(
                "required_repeats says in how many repeats a check must pass: there is no expect", ("required_repeats",)
            )
        return None
    if not isinstance(given, dict):
        return None  # already told by the check of the whole file
    if not given:
        draft.add_problem(
            "expect is empty: give at least one check, as in {how_many: {count: items[], between: [1, 3]}}", (EXPECT,)
        )
        return None
    if isinstance(raw.get("score"), dict) and EXPECT in raw["score"]:
        draft.add_problem(
            "score.expect: this name is reserved for the checks of expect: choose another", ("score", EXPECT)
        )
    before = len(draft.problems)
    with_schema = answer.format == "json" and answer.json_schema is not None
    checks = {name: _check(str(name), part, answer, draft, with_schema=with_schema) for name, part in given.items()}
    if len(draft.problems) > before:
        return None
    required_repeats = (
        RequiredRepeats(raw["required_repeats"])
        if raw.get("required_repeats") in list(RequiredRepeats)
        else RequiredRepeats.ALL
    )
    parameters = {
        "answer": "",
        "checks": checks,
        "required_repeats": required_repeats,
        "with_schema": with_schema,
        "alone": alone,
    }
    scorer = draft.check_part(plugins.find("expectations", EXPECT), parameters, (EXPECT,))
    if scorer is None:
        return None
    # A failed check is a finding of its own, so that a low share is none.
    return Component(
        name=EXPECT, scorer=scorer, when_unknown="skip", wrong_below=0.0, code=EXPECT.upper(), scorer_name=EXPECT
    )


def report_unreachable_errors(expectations: Component | None, target: TargetSpec | None, draft: Draft) -> None:
    """Note each check of an error status that can never pass: the target counts every error as a failed call."""
    if expectations is None or target is None or target.kind != "http" or target.settings.expect_errors:
        return
    for name, check in expectations.scorer.checks.items():
        wanted = getattr(check, "status", None)
        statuses = [str(status) for status in (wanted if isinstance(wanted, list) else [wanted])]
        if wanted is not None and all(status[0] not in "12" for status in statuses):
            text = ", ".join(statuses)
            draft.add_problem(
                f"expect.{name} asks for status {text}, and the target takes every error for a failed call: "
                f"write expect_errors: {{status: [{text}]}} into it",
                (EXPECT, name),
            )


def _check(name: str, part: Any, answer: AnswerShape, draft: Draft, *, with_schema: bool) -> Any:
    """The check of that name, or None with everything wrong noted."""
    place: Place = (EXPECT, name)
    _check_name(name, place, draft, with_schema=with_schema)
    kinds = plugins.names("checks")
    if not isinstance(part, dict):
        draft.add_problem(
            f"expect.{name} must be one check, as in {{count: items[], between: [1, 3]}}; {result(part)}", place
        )
        return None
    named = [key for key in part if key in kinds]
    if len(named) != 1:
        _report_kind(name, part, named, kinds, draft)
        return None
    rule = draft.registered("checks", named[0], (*place, named[0]), f"expect.{name}: ")
    built = None if rule is None else draft.check_part(rule, part, place)
    if built is not None and answer.format != "json" and built.reads_json:
        draft.add_problem(f"expect.{name}: {named[0]} reads JSON: write answer: {{format: json}}, or a schema", place)
    return built


def _check_name(name: str, place: Place, draft: Draft, *, with_schema: bool) -> None:
    if not _NAME.fullmatch(name):
        draft.add_problem(
            f"expect: a check's name is letters, digits, _ and -, and starts with a letter; found {name!r}", place
        )
    elif name == SCHEMA and with_schema:
        draft.add_problem(
            "expect.schema: this name is reserved for the suite's schema, which is checked anyway: choose another",
            place,
        )


def _report_kind(name: str, part: dict[str, Any], named: list[str], kinds: list[str], draft: Draft) -> None:
    place: Place = (EXPECT, name)
    if named:
        draft.add_problem(
            f"expect.{name} names {len(named)} kinds of check ({listed(named)}): one check has one", place
        )
        return
    for key in part:
        if hint := meant(str(key), kinds):
            draft.add_problem(f"expect.{name}: unknown kind of check {key!r}{hint}", (*place, key))
            return
    draft.add_problem(f"expect.{name} names no kind of check; there are: {listed(kinds)}", place)


def _keys(draft: Draft) -> dict[str, Any]:
    """The keys of the file; SuiteError when there are none at all."""
    raw = draft.located.data
    draft.problems.extend(draft.located.problems)
    if not isinstance(raw, dict):
        draft.add_problem(f"a suite is a group of keys (suite, cases, target, score, ...); {result(raw)}")
        draft.finish()
    if raw.get("latency") == {}:
        draft.add_problem(
            "latency is empty: write below: 100 ms, above: 10 s, smallest: 5 ms, or one of them", ("latency",)
        )
    return dict(raw)


SURVEYED: ContextVar[CaseSurvey | None] = ContextVar("surveyed", default=None)
"""What is known of the cases of a suite that is loaded again to score answers: they are not read then."""


def build_suite(draft: Draft, path: str) -> SuiteModel:
    """The suite in the draft; SuiteError with every mistake when there are any."""
    surveyed = SURVEYED.get()
    raw = _keys(draft)
    part, wrong = draft.check_keys(SuiteModel, raw)
    with draft.noting(("allow",), "allow: "):
        draft.allow = allowed(draft.folder, part.allow)
    score: dict[str, Any] = raw["score"] if "score" in raw and "score" not in wrong else {}
    components = build_components(score, draft)
    target, targets = _targets(raw, draft)
    answer = build_answer(AnswerShape(format="json") if "answer" in wrong else part.answer, draft)
    variants, variant_prompts = build_variants(raw.get("variants"), draft)
    judge = build_judge(raw.get("judge"), draft, components, answer, list(score))
    expectations = build_expectations(raw, answer, draft, alone=not score and raw.get("judge") is None)
    report_unreachable_errors(expectations, target, draft)
    components = components if expectations is None else (*components, expectations)
    redactor = build_redactor(raw.get("redact"), draft)
    _check_weights(raw, components, judge, draft)
    _check_reads_json(raw, components, answer, draft)
    if judge is not None and (itself := self_judged(target, judge, variants)):
        draft.add_problem(itself, ("judge",))
    source = build_source(raw.get("cases"), draft) if surveyed is None else ListCases(draft.folder, ())
    ledger = read_ledger(draft)
    noted = {line.case for line in ledger if line.case is not None}
    suite = part.changed(
        folder=draft.folder,
        path=path,
        cases=source if redactor is None or source is None else RedactedCases(source, redactor),
        target=target,
        targets=targets,
        components=components if judge is None else (*components, *judged_components(judge)),
        answer=answer,
        passing=_passing(part, judge),
        variants=variants,
        taxonomy=build_taxonomy(part, components, judge),
        prompts=prompts_of(target, ("target",), draft) | variant_prompts,
        survey=surveyed
        or (
            CaseSurvey()
            if source is None
            else survey_cases(source, components, draft, judge, redactor, noted, part.slices)
        ),
        judge=judge,
        redactor=redactor,
        snapshots=own_code(raw.get("snapshots"), ("snapshots",), draft, methods=("read", "write")),
        expect=None if expectations is None else _expected(expectations.scorer, part.required_repeats),
        metrics=_metrics(raw.get("metrics"), draft),
        ledger=ledger,
    )
    names = _names(suite, raw, wrong)
    report_idle_codes(part, names, draft)
    codes = [kind.code for kind in suite.taxonomy]
    for component in components:
        problems = getattr(component.scorer, "problems", None)  # of a function
        if problems is not None and "findings" not in wrong:
            for problem in problems(codes):
                draft.add_problem(f"score.{component.name}: {problem}", ("score", component.name))
    if judge is not None:
        check_must_answer(judge.must_answer, [kind.code for kind in suite.taxonomy], draft)
    _check_conditions(raw, names, draft)
    if raw.get("alerts") is not None:
        from steelyard.loading.alerts import build_alerts

        suite = suite.changed(alerts=build_alerts(raw["alerts"], draft, names, suite))
    draft.finish()
    return suite


def _check_reads_json(
    raw: dict[str, Any], components: tuple[Component, ...], answer: AnswerShape, draft: Draft
) -> None:
    """Tell of parts that read JSON in a suite whose answers are text."""
    reads_json = "reads JSON: write answer: {format: json}, or a schema"
    if raw.get("stability") is not None and answer.format != "json":
        draft.add_problem(f"stability {reads_json}", ("stability",))
    for component in components:
        if answer.format != "json" and getattr(component.scorer, "needs_json", False):
            place = ("score", component.name)
            draft.add_problem(f"score.{component.name}: {component.scorer_name} {reads_json}", place)


def _metrics(raw: Any, draft: Draft) -> tuple[dict[str, Any], ...]:
    """The metrics that the suite brings along, ready to be named by its gates."""
    metrics: dict[str, dict[str, Any]] = {}
    for at, given in enumerate(raw if isinstance(raw, list) else []):
        code = own_code(given, ("metrics", at), draft)
        if code is None:
            continue
        from steelyard.metrics.own import add_metric, describe_metric

        with draft.noting(("metrics", at)):
            function = find_callable(code, draft.folder, "metric") if isinstance(code, str) else code
            declared = describe_metric(function) | ({"code": code} if isinstance(code, str) else {})
            if declared["name"] in metrics:
                raise UsageError(f"metrics has {declared['name']} twice")
            add_metric(declared, function)
            metrics[declared["name"]] = declared
    return tuple(metrics.values())


def _passing(part: SuiteModel, judge: JudgeModel | None) -> Threshold | None:
    """The pass rule in full: with the checks, which must all pass, and what a sample must not be flagged with. A score
    of 100 % says already that every check passed."""
    rule = part.passing or (Threshold(at_least=1.0, text="score >= 100 %") if part.expect else None)
    if rule is None:
        return rule
    more = [" and every check"] if part.expect and rule.at_least < 1 else []
    more += [f" and no {flag.name}" for flag in judge.rubric.flags if flag.fails] if judge is not None else []
    return Threshold(at_least=rule.at_least, text="".join([rule.text, *more]))


def _expected(expect: Any, written: str | None) -> ExpectDescription:
    """The declared checks in their order, each with its code and how often it must pass."""
    required = RequiredRepeats(written or RequiredRepeats.ALL)
    checks = [
        CheckDescription(name=name, code=expect.code_of(name), required_repeats=rule.required_repeats or required)
        for name, rule in expect.checks.items()
    ]
    schema = [CheckDescription(name=SCHEMA, code=FORMAT, required_repeats=required)] if expect.with_schema else []
    return ExpectDescription(required_repeats=required, checks=(*schema, *checks))


def _check_weights(
    raw: dict[str, Any], components: tuple[Component, ...], judge: JudgeModel | None, draft: Draft
) -> None:
    """Report a suite in which nothing counts; a part that is broken is reported elsewhere."""
    if raw.get("expect") is not None:
        return
    if raw.get("judge") is None and not raw.get("score"):
        if isinstance(raw.get("score"), dict):
            draft.add_problem("score is empty: give at least one component, expect or a judge", ("score",))
        elif "score" not in raw:
            draft.add_problem("score is missing: give at least one component, expect or a judge")
        return
    score = raw.get("score", {})
    if (raw.get("judge") is not None and judge is None) or not isinstance(score, dict) or len(components) < len(score):
        return
    weights = [component.weight for component in components]
    weights += [dimension.weight for dimension in judge.rubric.dimensions] if judge else []
    if not any(weights):
        place = "score" if components else "judge"
        draft.add_problem("nothing to score: every weight is 0; give one component or dimension a weight", (place,))


def _targets(raw: dict[str, Any], draft: Draft) -> tuple[TargetSpec | None, dict[str, TargetSpec]]:
    named: dict[str, TargetSpec] = {}
    declared = raw.get("targets")
    for name, given in (declared if isinstance(declared, dict) else {}).items():
        built = build_target(given, ("targets", name), draft)
        if built is not None:
            named[name] = built if built.name else replace(built, name=str(name))
            prompts_of(built, ("targets", name), draft)
    given = raw.get("target")
    cases = raw.get("cases")
    if given is None and isinstance(cases, dict) and isinstance(cases.get("otlp"), str):
        # A trace holds what was answered, too.
        given = {"recorded": {"file": cases["otlp"], "format": "otlp"}}
    if given is None:
        draft.add_problem("target is missing: name the system under test, as in target: {recorded: answers.jsonl}")
        return None, named
    if isinstance(given, str) and isinstance(declared, dict) and declared:
        if given not in declared:
            draft.add_problem(f"no target is called {given!r}{meant_or_listed(given, declared)}", ("target",))
        return named.get(given), named
    return build_target(given, ("target",), draft), named


def build_answer(written: AnswerShape, draft: Draft) -> AnswerShape:
    """The shape of answers, its schema read; one that cannot be read or is none is noted."""
    if written.json_schema is None:
        return written.model_copy(update={"format": written.format or "text"})
    if written.format == "text":
        draft.add_problem("answer: a schema is for JSON answers: leave out format: text", ("answer", "format"))
    schema = read_schema(written.json_schema, ("answer", "schema"), draft)
    return written.model_copy(update={"format": "json", "json_schema": schema})


def _names(suite: SuiteModel, raw: dict[str, Any], wrong: Collection[str]) -> SuiteNames:
    """What gates and criteria may speak of; a broken part is reported elsewhere and must not be reported twice."""
    score, names = raw.get("score"), SuiteNames.of_suite(suite)
    declared = [*(score if isinstance(score, dict) else ()), *([EXPECT] if raw.get(EXPECT) is not None else ())]
    no_judge = suite.judge is None and raw.get("judge") is not None
    return replace(
        names,
        has_judge=names.has_judge or no_judge,
        components=None if no_judge else {**dict.fromkeys(declared), **(names.components or {})},
        codes=None if no_judge or len(suite.computed) < len(declared) else given_codes(suite),
        bands=list(map(str, raw["bands"])) if isinstance(raw.get("bands"), dict) else [],
        passing=raw.get("pass") is not None or raw.get(EXPECT) is not None,
        checks=_checks(raw),
        stability=None if "stability" in wrong else names.stability,
    )


def _checks(raw: dict[str, Any]) -> list[str] | None:
    """The names of all checks; None when they cannot be told."""
    given, answer = raw.get(EXPECT), raw.get("answer")
    if not given:
        return []
    if not isinstance(given, dict):
        return None
    return [SCHEMA, *map(str, given)] if isinstance(answer, dict) and answer.get("schema") else list(map(str, given))


def _check_conditions(raw: dict[str, Any], suite_names: SuiteNames, draft: Draft) -> None:
    """Tell of gates and criteria that name what the suite does not have."""
    gates = raw.get("gates")
    for at, text in enumerate(gates if isinstance(gates, list) else []):
        with draft.noting(("gates", at)):
            if isinstance(text, str) and (problem := check_gate(parse_gate(text), suite_names)):
                raise ValueError(problem)
    for message, place in criteria_problems(raw.get("criteria"), suite_names):
        draft.add_problem(message, place)
