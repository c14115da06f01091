"""A plain function as a scorer: `def f(answer, case) -> float | dict | Reading`, its result checked at the border."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field, field_serializer

from steelyard.records import Finding
from steelyard.scoring.async_scorers import awaited
from steelyard.scoring.base import Reading, Scorer
from steelyard.scoring.function_source import FINDING_FIELDS, returned_dicts, written_codes
from steelyard.suite.case import Case
from steelyard.suite.values import Scale
from steelyard.suite.yaml import listed, meant_or_listed
from steelyard.suite_code import bound_values, place_of
from steelyard.user_code import UserCodeError, checked_call, in_one_line, number, place_in_words

_ALLOWED = "a number from {} to {}, true or false, a dict or a Reading"
_FRACTIONS = (0.0, 1.0)
_OWN_KEYS = ("score", "note", "findings")
"""What a dict may hold besides its measures."""


class FunctionScorer(Scorer):
    """Asks the function. `with` gives it further arguments by name; `answer` there is a path into the answer."""

    case_paths: ClassVar[tuple[str, ...]] = ()

    answer: str | None = ""
    function: Any
    arguments: dict[str, Any] = Field(default_factory=dict)
    named: dict[str, Scale] = Field(default_factory=dict, alias="measures")
    """Its measures with their scales."""
    bound: Any = None
    """What the function holds besides its source: values of a closure or a partial."""
    component: str = Field(exclude=True)
    code: str = Field(exclude=True)
    scale: Scale = Field(exclude=True)

    def model_post_init(self, _context: Any) -> None:
        """Refuse a function that cannot be called with an answer, a case and the arguments."""
        try:
            inspect.signature(self.function).bind(None, None, **self.arguments)
        except TypeError as error:
            more = "".join(f", {name}" for name in self.arguments)
            call = f"it is called as f(answer, case{more})"
            raise ValueError(f"{place_of(self.function)} does not fit, {call}: {error}") from None
        except ValueError:  # a builtin that does not say what it takes
            pass
        self.__dict__["bound"] = bound_values(self.function)

    @field_serializer("function")
    def _as_text(self, function: Any) -> str:
        return place_of(function)

    @field_serializer("named")
    def _named_as_written(self, named: dict[str, Scale]) -> list[str] | dict[str, Any]:
        if all(scale == _FRACTIONS for scale in named.values()):
            return list(named)
        return {name: {"scale": list(scale)} for name, scale in named.items()}

    @property
    def metrics(self) -> Mapping[str, str]:  # type: ignore[override]  # ours are of the instance
        """Its measures, for the rules of a judge."""
        return dict.fromkeys(self.named, f"as {place_of(self.function)} measures it")

    @cached_property
    def _last(self) -> list[tuple[Any, Case, Reading]]:
        return []

    def read(self, answer: Any, case: Case) -> Reading:
        who = f"the scorer of {self.component}, {place_of(self.function)},"
        part = self.answer_value(answer) if self.answer else answer
        result = checked_call(who, self._call, part, case, returns=object, written=self.function)
        try:
            reading = self._reading(result, who, part)
        except _Refused as error:
            # The place first and the rest short: a report on one screen shows the beginning of a message.
            who = f"the scorer of {self.component}{place_in_words(self.function)}"
            raise UserCodeError(f"{who} returned {error}") from None
        if self.named:
            self._last[:] = [(answer, case, reading)]
        return reading

    def measured(self, answer: Any, case: Case) -> Mapping[str, Any]:
        """Its measures of that answer; the function is not asked again for the answer that it was asked for last."""
        for last_answer, last_case, reading in self._last[:]:
            if last_answer is answer and last_case is case:
                return reading.metrics
        return self.read(answer, case).metrics

    def _call(self, part: Any, case: Case) -> Any:
        result = self.function(part, case, **self.arguments)
        return awaited(result) if inspect.isawaitable(result) else result

    def _reading(self, result: Any, who: str, part: Any) -> Reading:
        low, high = self.scale
        if isinstance(result, Reading):
            reading: Reading = checked_call(who, lambda: result, returns=Reading, written=self.function)
            if reading.value is not None:
                _number(reading.value, low, high, "Reading.value: ")
            if any(name not in reading.metrics for name in self.named):
                raise _Refused(f"a Reading without the metrics {listed(self.named)}, which the suite's measures name")
            for name in self.named:
                self._measure(name, reading.metrics[name], f"Reading.metrics.{name}: ")
            return reading
        if isinstance(result, Mapping):
            return self._of_dict(result, part)
        value = _number(result, low, high, "", _ALLOWED.format(f"{low:g}", f"{high:g}"))
        if self.named:
            raise _Refused(f"{in_one_line(result)}, not a dict with the measures {listed(self.named)}")
        return Reading(value, got=part if self.answer else None)

    def _of_dict(self, result: Mapping[Any, Any], part: Any) -> Reading:
        low, high = self.scale
        for key in result:
            if key not in (*_OWN_KEYS, *self.named):
                declared = ", ".join([*self.named, *([key] if isinstance(key, str) else ())])
                allowed = f"allowed are {listed(_OWN_KEYS)} and declared measures, as in measures: [{declared}]"
                raise _Refused(f"a dict with the key {in_one_line(key)}; {allowed}")
        if lacking := [name for name in self.named if name not in result]:
            raise _Refused(f"a dict without {listed(lacking)}: write None for what cannot be measured")
        metrics = {name: self._measure(name, result[name], f"{name}: ") for name in self.named}
        shares = [(value, self.named[name]) for name, value in metrics.items() if value is not None]
        measured = [(value - bottom) / (top - bottom) for value, (bottom, top) in shares]
        if result.get("score") is not None:
            value = _number(result["score"], low, high, "score: ")
        elif measured:
            value = low + math.fsum(measured) / len(measured) * (high - low)
        else:
            raise _Refused("a dict without a score and without any measure: to score nothing, return Reading(None)")
        note = result.get("note") or ""
        if not isinstance(note, str):
            raise _Refused(f"note: {in_one_line(note)} ({type(note).__name__}), not a text")
        share = (value - low) / (high - low)
        findings = self._findings(result.get("findings"), 1.0 - share)
        return Reading(value, got=part if self.answer else None, note=note, findings=findings, metrics=metrics)

    def _measure(self, name: str, value: Any, where: str) -> float | None:
        return None if value is None else _number(value, *self.named[name], where)

    def _findings(self, given: Any, missing: float) -> tuple[Finding, ...]:
        """Each is a text, a dict or a Finding; texts, and dicts without a gain, share what the value lacks."""
        if given is None:
            return ()
        if not isinstance(given, list | tuple):
            raise _Refused(f"findings: {in_one_line(given)} ({type(given).__name__}), not a list")
        share = missing / len(given) if given else 0.0
        findings = tuple([self._finding(item, share) for item in given])
        who, returns = f"the scorer of {self.component}", tuple[Finding, ...]
        checked: tuple[Finding, ...] = checked_call(who, lambda: findings, returns=returns, written=self.function)
        return checked

    def _finding(self, item: Any, share: float) -> Finding:
        if isinstance(item, Finding):
            return item
        if isinstance(item, str):
            return Finding(self.code, evidence=item, gain=share)
        if not isinstance(item, Mapping) or (strange := [key for key in item if key not in FINDING_FIELDS]):
            what = in_one_line(item) if not isinstance(item, Mapping) else f"the key {in_one_line(strange[0])}"
            raise _Refused(
                f"findings: {what}; a finding is a text, a steelyard.Finding or a dict of {listed(FINDING_FIELDS)}"
            )
        gain = _number(item.get("gain", share), 0, 1, "findings.gain: ")
        return Finding(**{"code": self.code, **item, "gain": gain})

    def problems(self, codes: Collection[str]) -> Iterator[str]:
        """What its source shows that it will return and the suite does not declare: finding codes that are not among
        `codes`, and measures. What it computes shows only when it is called."""
        for line, code in dict.fromkeys(written_codes(self.function, set())):
            if code not in codes:
                hint = meant_or_listed(code, list(codes))
                yield f"{line} names the finding code {code!r}, which the suite's findings do not list{hint}"
        for line, keys, is_whole in returned_dicts(self.function):
            strange = [key for key in keys if key not in (*_OWN_KEYS, *self.named)]
            lacking = [name for name in self.named if name not in keys] if is_whole else []
            if strange:
                declare = f"measures: [{', '.join([*self.named, strange[0]])}]"
                yield f"{line} returns the measure {strange[0]!r}, which is not declared: write {declare}"
            elif lacking:
                yield f"{line} returns a dict without the declared measure {lacking[0]!r}"


class FunctionMeasure(Scorer):
    """A measure that a scorer takes of every answer, as one of a function's dict, as a component without weight."""

    needs_truth: ClassVar[bool] = False
    case_paths: ClassVar[tuple[str, ...]] = ()

    answer: str | None = ""
    of: Any = Field(exclude=True)
    """The scorer, with a method `measured`."""
    measure: str

    def read(self, answer: Any, case: Case) -> Reading:
        return Reading(self.of.measured(answer, case)[self.measure])


class _Refused(Exception):
    """What was returned, and what is allowed."""


def _number(value: Any, low: float, high: float, where: str, allowed: str = "") -> float:
    """The value as a number from `low` to `high`, which are false and true."""
    plain = value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 else value
    result = (high if plain else low) if isinstance(plain, bool) else number(value)
    if result is None or not low <= result <= high:  # NaN is on no scale
        allowed = allowed or f"a number from {low:g} to {high:g}"
        raise _Refused(f"{where}{in_one_line(value)} ({type(value).__name__}), not {allowed}")
    return float(result)
