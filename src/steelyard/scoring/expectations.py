"""The scorer of all checks of a case."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from pydantic import Field, SerializeAsAny, field_validator

from steelyard.frozen import frozen
from steelyard.records import Check, CheckState, Finding
from steelyard.scoring.base import UNKNOWN, Answered, Reading, Scorer
from steelyard.scoring.building import build_answer
from steelyard.scoring.check_rules import AnswerNeed, CheckResult, CheckRule, HowMany, ReadyCheck
from steelyard.suite.case import Case
from steelyard.suite.models import RequiredRepeats
from steelyard.suite.paths import EVERY
from steelyard.suite.patterns import Unsearchable
from steelyard.user_code import checked_call, is_own

SCHEMA: Final = "schema"
"""The check that an answer fits the suite's schema."""
_FITS = "fits the schema"
_LONGEST_DETAIL = 300


@frozen
class _Named:
    """One check of one case under its full name."""

    name: str
    code: str
    asked: ReadyCheck


@frozen
class _Plan:
    """All that is asked of an answer to one case."""

    case: Case
    named: tuple[_Named, ...]
    expects_error: bool


class Expectations(Scorer):
    """The share of a case's checks that an answer passes; 0 when it holds nothing of what the case asks for."""

    needs_truth: ClassVar[bool] = False
    answer_paths: ClassVar[tuple[str, ...]] = ()
    case_paths: ClassVar[tuple[str, ...]] = ()

    checks: dict[str, SerializeAsAny[CheckRule]] = Field(min_length=1, description="The declared checks by name.")
    required_repeats: RequiredRepeats = Field(
        default=RequiredRepeats.ALL, description="In how many repeats a check must pass."
    )
    with_schema: bool = Field(default=False, description="Whether fitting the suite's schema is a check, too.")
    alone: bool = Field(default=False, description="Whether nothing else scores the answers.")

    @field_validator("checks", mode="before")
    @classmethod
    def _are_checks(cls, given: Any) -> Any:
        if not all(isinstance(rule, CheckRule) for rule in given.values()):
            raise ValueError("checks are built by the suite")
        return given

    @property
    def needs_status(self) -> bool:
        """True when a check looks at the HTTP status."""
        return any(not rule.reads_json for rule in self.checks.values())

    def code_of(self, name: str) -> str:
        """The code of the finding that a failed check gives."""
        return self.checks[name].code or name.upper()

    def expects_error(self, case: Case) -> bool:
        """True when the right answer to the case is an error, which no schema of answers fits."""
        return self._plan(case).expects_error

    def read(self, answer: Any, case: Case) -> Reading:
        return self.evaluate(Answered(answer if isinstance(answer, str) else "", answer), case)

    def evaluate(self, answered: Answered, case: Case) -> Reading:
        """Every check of the case on an answer that could be read; ValueError when one cannot look at all."""
        named = self._named(case)
        results = [(item, self._look(item, answered)) for item in named]
        schema = self._schema(case, CheckState.PASSED, _FITS)
        if not results and not schema:
            return UNKNOWN
        passed = [result.passed for _, result in results]
        asks = [item.asked.asks for item in named]
        n_schema = len(schema)
        value = _worth(passed, asks, n_schema)
        findings = tuple(
            Finding(
                item.code,
                item.name,
                result.expected,
                result.got,
                result.detail,
                gain=_worth(_fixed(passed, at), asks, n_schema) - value,
            )
            for at, (item, result) in enumerate(results)
            if not result.passed
        )
        n_passed, n = sum(passed) + n_schema, len(passed) + n_schema
        return Reading(
            value,
            expected=f"{n} checks passed",
            got=f"{n_passed} passed",
            note=f"{n_passed} of {n} checks passed",
            findings=findings,
            checks=schema + tuple([_check(item, result) for item, result in results]),
        )

    def unread(self, case: Case, why: str, *, fits: bool = False) -> tuple[Check, ...]:
        """The checks of an answer that cannot be read: the schema failed, unless it `fits`; the rest did not run."""
        schema = self._schema(case, CheckState.PASSED, _FITS) if fits else self._schema(case, CheckState.FAILED, why)
        return schema + self._not_run(case, "the answer could not be read")

    def unrun(self, case: Case, why: str) -> tuple[Check, ...]:
        """The checks of a call that brought no answer: none of them ran."""
        return self._schema(case, CheckState.NOT_RUN, why) + self._not_run(case, why)

    def _not_run(self, case: Case, why: str) -> tuple[Check, ...]:
        state, message = CheckState.NOT_RUN, _cut(why)
        return tuple(
            [Check(item.name, state, message, None, item.asked.low, item.asked.high) for item in self._named(case)]
        )

    def _schema(self, case: Case, state: CheckState, detail: str) -> tuple[Check, ...]:
        if not self.with_schema or self.expects_error(case):
            return ()
        return (Check(SCHEMA, state, _cut(detail)),)

    def _named(self, case: Case) -> tuple[_Named, ...]:
        return self._plan(case).named

    def _plan(self, case: Case) -> _Plan:
        """The plan of the case; the last one is kept, since one answer asks for it several times."""
        last: _Plan | None = self.__dict__.get("_last")
        if last is not None and last.case is case:
            return last
        asked = [(name, rule, rule.asked(case)) for name, rule in self.checks.items()]
        named = [
            _Named(f"{name}:{item.wanted}" if item.wanted else name, self.code_of(name), item)
            for name, _, of_rule in asked
            for item in of_rule
        ]
        plan = _Plan(case, tuple(named), any(of_rule and rule.wants_error for _, rule, of_rule in asked))
        self.__dict__["_last"] = plan
        return plan

    def _look(self, named: _Named, answered: Answered) -> CheckResult:
        if is_own(named.asked.look):
            result: CheckResult = checked_call(
                f"the check {named.name}", named.asked.look, answered, returns=CheckResult
            )
            return result
        try:
            return named.asked.look(answered)
        except Unsearchable as error:
            return CheckResult(False, str(error), "an answer that can be searched", "one that is too large or too deep")
        except ValueError as error:
            raise ValueError(f"check {named.name} {error}") from error

    def finding_codes(self) -> Mapping[str, str]:
        return {self.code_of(name): f"the check {name} failed" for name in self.checks}

    def truth_paths(self) -> Mapping[str, str]:
        return {f"{name}.{key}": path for name, rule in self.checks.items() for key, path in rule.case_paths().items()}

    def check(self, case: Case) -> str | None:
        for name, rule in self.checks.items():
            if message := rule.problem(case):
                return f"case {case.id}: check {name}: {message}"
        if self.alone and not self._named(case) and not self._schema(case, CheckState.NOT_RUN, ""):
            return f"case {case.id}: nothing to score: no check of expect applies to it"
        return None

    def asks_nothing(self, case: Case) -> bool:
        return not self.expects_error(case) and all(item.asked.asks is AnswerNeed.NOTHING for item in self._named(case))

    def truth_at(self, case: Case) -> dict[str, Any]:
        """What would pass the checks of the case, as far as they say; empty where an error is expected."""
        return self.passing([case])

    def passing(self, cases: Sequence[Case], most: int | None = None) -> dict[str, Any]:
        """By path, one answer that is made to pass as many checks of these cases as it can: the most frequent values,
        and in lists all of them, or `most`."""
        single: dict[str, Counter[str]] = {}
        columns: dict[str, dict[str, Counter[str]]] = {}
        fewest: Counter[str] = Counter()
        highest: dict[str, float] = {}
        rules = [(rule, case) for case in cases if not self.expects_error(case) for rule in self.checks.values()]
        for rule, case in rules:
            for path, value in rule.passing(case).items() if rule.asked(case) else ():
                head, every, rest = path.partition(EVERY)
                if isinstance(value, HowMany):
                    fewest[head] = max(fewest[head], value.fewest)
                    highest[head] = min(highest.get(head, math.inf), value.most)
                elif every:
                    counts = columns.setdefault(head, {}).setdefault(rest.lstrip("."), Counter())
                    counts.update(map(json.dumps, value if isinstance(value, list) else [value]))
                else:
                    single.setdefault(path, Counter())[json.dumps(value)] += 1
        parts = {path: json.loads(counts.most_common(1)[0][0]) for path, counts in single.items()}
        for head in dict.fromkeys([*columns, *fewest]):
            values = {
                rest: [json.loads(text) for text, _ in n.most_common()] for rest, n in columns.get(head, {}).items()
            }
            n = max([fewest[head], *map(len, values.values())])
            n = int(min(n, highest.get(head, n), n if most is None else most))
            rows = [{rest: column[at % len(column)] for rest, column in values.items()} for at in range(n)]
            parts[head] = [build_answer(row) if row else {} for row in rows]
        return parts

    def everything_at(self, cases: Sequence[Case]) -> dict[str, Any]:
        """Of no cases: an answer whose lists are all empty; for that of some, see `passing`."""
        if cases:
            return {}
        places = [place for rule in self.checks.values() for place in rule.answer_places()]
        return {
            place.start_text: []
            for place in places
            if place.start and not place.single and all(isinstance(step, str) for step in place.start)
        }


def _worth(passed: Sequence[bool], asks: Sequence[AnswerNeed], n_schema: int) -> float:
    """The share of all checks that passed, the schema among them.

    It is 0 unless one passed of those that ask for the most. What only forbids, or is the same for every case, can be
    passed by an answer that holds nothing, and must not earn where something was asked for.
    """
    most = max(asks, default=AnswerNeed.NOTHING)
    if most > AnswerNeed.NOTHING and not any(ok for ok, how_much in zip(passed, asks, strict=True) if how_much == most):
        return 0.0
    return (sum(passed) + n_schema) / (len(passed) + n_schema)


def _fixed(passed: Sequence[bool], at: int) -> list[bool]:
    return [*passed[:at], True, *passed[at + 1 :]]


def _check(named: _Named, result: CheckResult) -> Check:
    state = CheckState.PASSED if result.passed else CheckState.FAILED
    return Check(named.name, state, _cut(result.detail), result.value, named.asked.low, named.asked.high)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_DETAIL else text[: _LONGEST_DETAIL - 1] + "…"
