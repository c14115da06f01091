"""Score one answer of a case: components, checks, judge, caps and outcome."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import Problem, SuiteError
from steelyard.failures import BROKE_OFF, readable
from steelyard.frozen import frozen
from steelyard.records import Box, Check, CheckState, Claim, Finding, Item, Judgement, Mark, Outcome, Score
from steelyard.redact import learn_secrets, secrets_in
from steelyard.scoring.base import Answered, Reading
from steelyard.scoring.extract import extract_json
from steelyard.scoring.json_schema import SchemaValidator
from steelyard.scoring.judged import JUDGE, not_rebutted, read_judgement, said_scores
from steelyard.scoring.model_scorers import models_asked
from steelyard.scoring.recent import Recent
from steelyard.scoring.repeat_items import items_of
from steelyard.scoring.unknown import truth_parts, unknown
from steelyard.suite.case import Case
from steelyard.suite.judge import (
    ANSWER,
    PASSAGES,
)
from steelyard.suite.models import EXPECT, Component, SuiteModel
from steelyard.suite.paths import MISSING, compile_path, path_step
from steelyard.suite.patterns import Unsearchable
from steelyard.suite.rules import measured_for_rules, names_in_rules
from steelyard.user_code import UserCodeError, checked_call, is_own, place_in_words

if TYPE_CHECKING:
    from steelyard.scoring.expectations import Expectations


FORMAT: Final = "FORMAT"
"""The code of an answer that cannot be read or does not fit the schema."""

_PRECISION: Final = 12
"""Decimals that count: 0.7 + 0.05 reaches 0.75 however the sum was rounded on the way."""
_ROUNDING: Final = 10.0**-_PRECISION
_FRACTIONS: Final = (0.0, 1.0)
_LONGEST_QUOTE: Final = 300
_ERRORS: Final = 400
"""Statuses from here on are errors."""


@frozen
class Evaluated:
    """What one answer came to. `score` is a fraction 0..1."""

    outcome: Outcome
    score: float
    passed: bool | None
    band: str | None
    scores: tuple[Score, ...]
    findings: tuple[Finding, ...]
    step: str | None
    marks: tuple[Mark, ...] = ()
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By component, what it measured for the rules that bind a judge."""
    to_judge: str | None = None
    """The text that the suite's judge is to read; None when there is none to read, and `score` is final."""
    earned: float = 0.0
    weight: float = 0.0
    """The sum of the weights of the components, and of what they earned."""
    claims: tuple[Claim, ...] = ()
    checks: tuple[Check, ...] = ()
    """Every expectation that applies to the case."""
    items: tuple[Item, ...] | None = None
    """What repeats are compared by; None when the suite compares nothing, or the case expects an error."""


_LONGEST_STATED_ERROR = 200


class Evaluator:
    """Scores the answers of a suite: set up once and used for every answer."""

    def __init__(self, suite: SuiteModel) -> None:
        # Scorers in code see them.
        learn_secrets(secrets_in(os.environ))
        self._is_json = suite.answer.format == "json"
        self._repair = suite.answer.repair
        schema = suite.answer.schema_data
        self._validator = SchemaValidator(schema) if self._is_json and schema is not None else None
        json_shape = "JSON that fits the suite's schema" if self._validator else "a JSON object or array"
        self._shape = json_shape if self._is_json else "a text"
        self.components = tuple((component, placed(component, suite)) for component in suite.computed)
        self._readers = [_reader(component, scorer) for component, scorer in self.components]
        self._pass_at = None if suite.passing is None else round(suite.passing.at_least, _PRECISION)
        self._bands = [(band.name, round(band.at_least, _PRECISION)) for band in suite.bands]
        self._severity = {kind.code: kind.severity for kind in suite.taxonomy}
        self._order = {kind.code: place for place, kind in enumerate(suite.taxonomy)}
        self._judge = suite.judge
        self._pending = bool(suite.pending_of)
        self._judged_place = compile_path(suite.judge.of) if suite.judge is not None and suite.judge.of else None
        expected = (scorer for component, scorer in self.components if component.scorer_name == EXPECT)
        self._expect: Expectations | None = next(expected, None)
        self._for_rules = {
            component.name: names_in_rules(suite.judge.rules if suite.judge else (), component.name, scorer)
            for component, scorer in self.components
        }
        self._stability = suite.stability
        self.slices = suite.slices
        """The fields of cases that samples are sliced by."""
        self._recent: Recent[Evaluated] = Recent()
        self.needs_models = bool(models_asked(suite.computed))

    def evaluate(self, text: str, case: Case, status: int | None = None, *, cut_off: bool = False) -> Evaluated:
        """What the answer is worth; an answer in the wrong shape is worth 0 and has the single finding FORMAT.

        `status` is the HTTP status it came with. A case that expects an error is not checked by the schema. JSON that
        was `cut_off` at the limit of tokens is not fixed: whatever is missing was never said.
        """
        if self._judge is not None or self.needs_models:
            # A judge that is code is given what was measured, and may write into it: each sample has its own.
            return self._evaluated(text, case, status, cut_off)
        texts = (text, status, cut_off)
        available = self._recent.get(case, texts)
        return (
            self._recent.keep(case, texts, self._evaluated(text, case, status, cut_off))
            if available is None
            else available
        )

    def _evaluated(self, text: str, case: Case, status: int | None, cut_off: bool) -> Evaluated:
        if self._judge is not None and not text.strip():
            return self._malformed(text, case, ["the answer is empty: there is nothing to judge"])
        expects_error = self.expects_error(case)
        if self._expect is not None and self._expect.needs_status and not expects_error and (status or 0) >= _ERRORS:
            stated = readable(text)[:_LONGEST_STATED_ERROR]
            problem = f"it came with status {status}, and no error is expected" + (f": {stated}" if stated else "")
            return self._malformed(text, case, [problem])
        if not self._is_json:
            return self._evaluate(text, Answered(text, text, status), case, None)
        extracted = extract_json(text, None if expects_error else self._validator, repair=self._repair and not cut_off)
        if extracted.step is None and not expects_error:
            return self._malformed(text, case, (BROKE_OFF, *extracted.problems) if cut_off else extracted.problems)
        try:
            return self._evaluate(text, Answered(text, extracted.value, status), case, extracted.step)
        except Unsearchable as error:
            # The items that repeats are compared by cannot be looked for.
            return self._malformed(text, case, [str(error)], fits=True)

    def expects_error(self, case: Case) -> bool:
        """True when the right answer to the case is an error."""
        return self._expect is not None and self._expect.expects_error(case)

    def _items(self, answer: Any, case: Case) -> tuple[Item, ...] | None:
        return None if self._stability is None or self.expects_error(case) else items_of(self._stability, answer)

    def unrun(self, case: Case, why: str) -> tuple[Check, ...]:
        """The checks of a case for which no answer could be scored: none of them ran."""
        return () if self._expect is None else self._expect.unrun(case, why)

    def _evaluate(self, text: str, answered: Answered, case: Case, step: str | None) -> Evaluated:
        answer = answered.answer
        checks: tuple[Check, ...] = ()
        scores: list[Score] = []
        findings: list[Finding] = []
        marks: tuple[Mark, ...] = ()
        metrics: dict[str, Mapping[str, Any]] = {}
        claims: tuple[Claim, ...] = ()
        earned = weight = 0.0
        skipped = False
        for (component, scorer), read in zip(self.components, self._readers, strict=True):
            reading = read(answered, case)
            if reading.misshapen:
                return self._malformed(text, case, [reading.misshapen], fits=True)
            checks += reading.checks
            if reading.metrics:
                metrics[component.name] = reading.metrics
            skipped = skipped or reading.skipped
            if reading.value is None and not reading.skipped:
                reading = unknown(component, scorer, answer, case)
            value = reading.value
            counts, calls = reading.counts, reading.calls
            scores.append(Score(component.name, value, component.weight, note=reading.note, counts=counts, calls=calls))
            try:
                share = None if value is None else self._share_and_findings(component, scorer, reading, findings)
            except ValueError as error:
                who = f"the scorer of {component.name}"
                raise UserCodeError(f"{who} {error}{place_in_words(scorer.read)}") from error
            if names := self._for_rules[component.name]:
                measured = measured_for_rules(names, scorer, reading.counts, share)
                metrics[component.name] = {**metrics.get(component.name, {}), **measured}
            if share is None:
                continue
            earned += component.weight * share
            weight += component.weight
            claims += reading.claims
            marks += reading.marks
        if self._pending:
            return Evaluated(Outcome.SCORED, math.nan, None, None, (), (), step)
        if weight <= 0 and self._judge is None and not skipped:
            raise SuiteError(_nothing_to_score(case))
        score = round(earned / weight, _PRECISION) if weight > 0 else 0.0
        scored = Evaluated(
            Outcome.SCORED,
            score,
            self._passed(score, checks),
            self._band(score),
            tuple(scores),
            tuple(findings),
            step,
            marks,
            metrics,
            None,
            earned,
            weight,
            claims,
            checks,
            self._items(answer, case),
        )
        return scored if self._judge is None else self._for_judge(scored, text, answer, case)

    def _share_and_findings(
        self, component: Component, scorer: Any, reading: Reading, findings: list[Finding]
    ) -> float:
        """The value as a share of its scale, and its findings added; ValueError for what the suite does not know."""
        value = reading.value or 0.0
        within = component.scale == _FRACTIONS and 0.0 <= value <= 1.0
        share = value if within else _share(value, component.scale)
        for mark in reading.marks:
            _checked(mark.box)
        if reading.findings:
            findings.extend([self._listed(item, component) for item in reading.findings])
        elif share < component.wrong_below - _ROUNDING:
            findings.append(self._finding(component, scorer.answer, reading, 1.0 - share))
        return share

    def _for_judge(self, scored: Evaluated, text: str, answer: Any, case: Case) -> Evaluated:
        to_judge = self._text_to_judge(text, answer)
        if not to_judge.strip():
            missing = "the part of the answer that is to be judged is missing or empty"
            return self._malformed(text, case, [missing], fits=True)
        evidence = None if self._judge is None else self._judge.evidence
        if evidence is None or evidence.of_answer is None:
            return replace(scored, to_judge=to_judge)
        quoted = {ANSWER: {PASSAGES: evidence.in_answer(answer)}}
        return replace(scored, to_judge=to_judge, metrics={**scored.metrics, **quoted})

    def _text_to_judge(self, text: str, answer: Any) -> str:
        """The part of the answer that the suite has judged; "" when it is not there."""
        if self._judged_place is None:
            return text
        part = self._judged_place(answer)
        if part is MISSING or part is None:
            return ""
        return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, indent=2)

    def judged(self, scored: Evaluated, judgement: Judgement) -> Evaluated:
        """The answer with what its judge said of it: a score for each dimension and flag, and a finding for each
        dimension below the neutral one. A judgement that comes to nothing makes it inconclusive."""
        if judgement.mode is None:
            finding = Finding(JUDGE, evidence=judgement.message)
            return replace(scored, outcome=Outcome.JUDGE_FAILED, findings=(finding,), to_judge=None)
        if self._judge is None:
            raise ValueError("a suite without a judge has no judgements")
        rubric = self._judge.rubric
        earned, weight = scored.earned, scored.weight
        for dimension in rubric.dimensions:
            if dimension.name not in judgement.capped:
                continue  # the case does not hold what it needs
            earned += dimension.weight * _share(float(judgement.capped[dimension.name]), (rubric.low, rubric.high))
            weight += dimension.weight
        score = round(earned / weight, _PRECISION)
        flagged = any(flag.fails and judgement.capped[flag.name] for flag in rubric.flags)
        scores, findings = read_judgement(rubric, judgement, self._severity)
        return replace(
            scored,
            score=score,
            passed=self._passed(score, scored.checks, flagged=flagged),
            band=self._band(score),
            scores=scored.scores + scores + said_scores(self._judge, judgement),
            findings=not_rebutted(self._judge, scored.findings, judgement)
            + findings
            + tuple([self._complaint(finding) for finding in judgement.findings]),
            # A truth knows better than a judge what is right.
            claims=scored.claims or judgement.claims,
            to_judge=None,
        )

    def by_judge_alone(self, judgement: Judgement, score: float | None = None) -> Evaluated:
        """What an answer that was not kept came to by its judge; `score` where that gave no scores by dimension."""
        if score is None:
            return self.judged(Evaluated(Outcome.SCORED, 0.0, None, None, (), (), None), judgement)
        return Evaluated(Outcome.SCORED, score, self._passed(score), self._band(score), (), (), None)

    def _complaint(self, finding: Finding) -> Finding:
        """What the judge names, as severe as the suite says unless the judge says otherwise."""
        if finding.code not in self._order:
            raise UserCodeError(
                f"the check of the judge gave the finding code {finding.code!r}, which the suite's findings do not list"
            )
        severity = self._severity[finding.code]
        return replace(finding, severity=severity) if finding.severity == "error" else finding

    def _malformed(self, text: str, case: Case, problems: Sequence[str], *, fits: bool = False) -> Evaluated:
        """Worth nothing; `fits` says that the schema is not to blame."""
        finding = Finding(
            FORMAT,
            expected=self._shape,
            got=_quoted(text),
            evidence="; ".join(problems),
            severity=self._severity.get(FORMAT, "error"),
            gain=1.0,
        )
        scores = self._counted_as_nothing(case)
        checks = () if self._expect is None else self._expect.unread(case, finding.evidence, fits=fits)
        passed, band = self._passed(0.0, checks), self._band(0.0)
        return Evaluated(Outcome.MALFORMED, 0.0, passed, band, scores, (finding,), None, checks=checks)

    def _counted_as_nothing(self, case: Case) -> tuple[Score, ...]:
        """Lowest scores, with the counts of what should have been answered; of a component that cases may skip, only
        where this case has a truth for it."""
        results = []
        for component, scorer in self.components:
            who, counts = f"the scorer of {component.name}", {}
            if getattr(scorer, "measures", None):
                counts = checked_call(who, scorer.nothing, case, returns=Mapping[str, int])
            may_skip = component.when_unknown == "skip" and component.scorer_name != EXPECT
            if counts or (may_skip and checked_call(who, truth_parts, component, scorer, case, returns=object)):
                results.append(Score(component.name, component.scale[0], component.weight, counts=counts))
        return tuple(results)

    def _listed(self, finding: Finding | Sequence[Finding], component: Component) -> Finding:
        """A copy of a scorer's finding with its component, and as severe as the suite says unless the scorer says
        otherwise; of several that fit, the one whose code the suite lists first. A copy, since a scorer may return one
        object for many answers."""
        if not isinstance(finding, Finding):
            last = len(self._order)
            finding = min(finding, key=lambda item: self._order.get(item.code, last))
        code, severity = finding.code, finding.severity
        if code not in self._order:
            raise ValueError(f"gave the finding code {code!r}, which the suite's findings do not list")
        if finding.box is not None:
            _checked(finding.box)
        copy = Finding(code, finding.place, finding.expected, finding.got, finding.evidence)
        copy.severity = self._severity[code] if severity == "error" else severity
        copy.component, copy.gain = component.name, finding.gain
        copy.box, copy.span, copy.section = finding.box, finding.span, finding.section
        return copy

    def _finding(self, component: Component, place: str | None, reading: Reading, gain: float) -> Finding:
        code = component.code or component.name.upper()
        return Finding(
            code,
            place=place or component.name,
            expected=reading.expected,
            got=_quoted(reading.got) if isinstance(reading.got, str) else reading.got,
            evidence=reading.note,
            severity=self._severity.get(code, "error"),
            component=component.name,
            gain=gain,
        )

    def _passed(self, score: float, checks: Sequence[Check] = (), *, flagged: bool = False) -> bool | None:
        return None if self._pass_at is None else passes(score, self._pass_at, checks, flagged=flagged)

    def _band(self, score: float) -> str | None:
        for name, at_least in self._bands:
            if score >= at_least:
                return name
        return None


def passes(score: float, at_least: float, checks: Sequence[Check], *, flagged: bool = False) -> bool:
    """Whether an answer passes under all its rules: its score reaches the pass rule, no failing flag is set and every
    check passed."""
    return score >= at_least and not flagged and all(check.state is CheckState.PASSED for check in checks)


def _reader(component: Component, scorer: Any) -> Callable[[Answered, Case], Reading]:
    """What the scorer says of an answer; UserCodeError when it breaks."""
    who = f"the scorer of {component.name}"
    if component.scorer_name == EXPECT:
        return lambda answered, case: checked_call(who, scorer.evaluate, answered, case, returns=object)
    # Steelyard's own scorers keep to their types, which saves the time to look.
    returns = Reading if is_own(type(scorer)) else object
    return lambda answered, case: checked_call(who, scorer.read, answered.answer, case, returns=returns)


def placed(component: Component, suite: SuiteModel) -> Any:
    """The component's scorer looking at its place: its own name in a JSON answer, the whole of a text."""
    scorer = component.scorer
    if scorer.answer is not None:
        return scorer
    return scorer.at(path_step(component.name) if suite.answer.format == "json" else "")


def _share(value: float, scale: tuple[float, float]) -> float:
    """The value as a fraction of its scale; ValueError for what is not on it."""
    low, high = scale
    share = (value - low) / (high - low)
    if not -_ROUNDING <= share <= 1.0 + _ROUNDING:
        raise ValueError(f"gave {value}, which is not on its scale from {low:g} to {high:g}")
    return min(1.0, max(0.0, share))


def _checked(box: Box) -> Box:
    """The box; ValueError when one of its sides is no number."""
    if not all(map(math.isfinite, box)):
        raise ValueError(f"gave {box!r}, which is no box: left, top, right and bottom as fractions")
    return box


def _nothing_to_score(case: Case) -> list[Problem]:
    return [Problem(f"case {case.id}: nothing to score: every component's truth is missing and skipped", case.source)]


def _quoted(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
