"""Binding rules as people write them: `when not a.complete or a.coverage < 90 % then tone <= 3 and unsafe`.

Parsed here and never run as Python: a condition compares measured values, and nothing else can be said in it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NoReturn

from steelyard.suite.judge import BindingRule
from steelyard.suite.yaml import listed, meant, result

Metrics = Mapping[str, Any]
"""By component, what it measured by name."""
Value = Callable[[Metrics], Any]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_WORDS = frozenset({"and", "or", "not", "true", "false"})
RESERVED = _WORDS | {"when", "then"}
"""Words of the language, which no dimension or flag can be called."""
_RULE = re.compile(r"\s*when\b(?P<condition>.*?)\bthen\b(?P<effect>.*)", re.DOTALL)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*(?P<percent>%)?"
    r"|(?P<name>[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)|(?P<sign><=|>=|==|!=|<|>|\(|\)))"
)
_EFFECT = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*(?:(?P<sign><=|>=|==|!=|<|>|=)\s*(?P<right>[^\s].*?))?\s*", re.DOTALL)
_SHAPE = "write when <condition> then <dimension> <= <score>, for instance: when a.coverage < 90 % then tone <= 3"
_MOST_DEPTH = 50
_MOST_WORDS = 400


SCORE = "score"
"""What a component scored, as a share of its scale, in the conditions of rules."""


def rule_measures(scorer: Any) -> tuple[str, ...]:
    """What rules may use of any scorer besides the metrics that it declares: its score and its measures."""
    own = getattr(scorer, "metrics", ())
    return tuple(name for name in (SCORE, *getattr(scorer, "measures", ())) if name not in own)


def names_in_rules(rules: Iterable[BindingRule], component: str, scorer: Any) -> list[str]:
    """Those of these that the rules speak of."""
    named = {metric for rule in rules for owner, metric in rule.names if owner == component}
    return [name for name in rule_measures(scorer) if name in named]


def measured_for_rules(
    names: Iterable[str], scorer: Any, counts: Mapping[str, int], share: float | None
) -> dict[str, float | None]:
    """The score and the measures of one answer by name; None where there is nothing to score or to count."""
    measured = {}
    for name in names:
        ratio = None if name == SCORE else scorer.measures[name]
        below = None if ratio is None else counts.get(ratio.denominator)
        measured[name] = share if ratio is None else counts.get(ratio.numerator, 0) / below if below else None
    return measured


def parse_rule(
    text: str,
    dimensions: Collection[str],
    flags: Collection[str],
    metrics: Mapping[str, Collection[str] | None],
    scale: tuple[float, float] = (1, 5),
    measures: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> BindingRule:
    """The rule that a text says; ValueError with a message for a person when it says none or can never bind.

    `metrics` are the names that each component measures; None where they could not be read. `measures` are its score
    and its measures, which an answer may not have: then the rule does not bind.
    """
    metrics = {name: None if own is None else (*own, *measures.get(name, ())) for name, own in metrics.items()}
    parts = _RULE.fullmatch(text)
    if parts is None:
        raise ValueError(f"rule {text!r}: {_SHAPE}")
    condition = _Condition(text, parts["condition"], metrics)
    value = condition.parse()
    names = tuple(condition.names)
    if not names:
        raise ValueError(f"rule {text!r} names no metric: add one, as in a.coverage < 90 %")
    caps, raises = _effect(text, parts["effect"], dimensions, flags, scale)

    def holds(measured: Metrics) -> bool:
        # All of them first: whether a metric that is not there is noticed must not depend on the others' values.
        absent = [(component, metric) for component, metric in names if metric in measures.get(component, ())]
        if any(measured.get(component, {}).get(metric) is None for component, metric in absent):
            return False
        for component, metric in names:
            _measured(measured, component, metric, text)
        return bool(value(measured))

    return BindingRule(text.strip(), holds, caps, raises, names)


class _Condition:
    """A condition while it is read, from the loosest binding (or) to the tightest (a comparison)."""

    def __init__(self, rule: str, text: str, metrics: Mapping[str, Collection[str] | None]) -> None:
        self.rule = rule
        self.metrics = metrics
        self.names: dict[tuple[str, str], None] = {}
        self.tokens = self._split(text)
        self.at = 0
        self.depth = 0

    def parse(self) -> Value:
        value = self._any()
        if self._next() is not None:
            self._fail(f"{self._next()!r} is not expected there")
        return value

    def _split(self, text: str) -> list[str]:
        tokens, place = [], 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                self._fail(f"{text[place:].strip()[:20]!r} cannot be read in a condition")
            number = match["number"]
            if number and match["percent"]:
                number = str(Decimal(number) / 100)
            tokens.append(number or re.sub(r"\s+", "", match["name"] or match["sign"]))
            place = match.end()
            if len(tokens) > _MOST_WORDS:
                self._fail(f"the condition is too long: at most {_MOST_WORDS} words and signs")
        return tokens

    def _next(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _take(self, *wanted: str) -> str | None:
        if self._next() in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def _any(self) -> Value:
        left = self._all()
        while self._take("or"):
            left = _either(left, self._all())
        return left

    def _all(self) -> Value:
        left = self._denied()
        while self._take("and"):
            left = _both(left, self._denied())
        return left

    def _denied(self) -> Value:
        if self._take("not"):
            self._deeper()
            inner = self._denied()
            self.depth -= 1
            return lambda measured: not inner(measured)
        return self._compared()

    def _compared(self) -> Value:
        left = self._single()
        links: list[tuple[str, Value]] = []
        while sign := self._take(*_COMPARE):
            links.append((sign, self._single()))
        return _chain(left, links) if links else left

    def _single(self) -> Value:
        token = self._next()
        if token is None:
            self._fail("the condition breaks off")
        self.at += 1
        if token == "(":  # noqa: S105 - a bracket, not a password
            self._deeper()
            inner = self._any()
            if not self._take(")"):
                self._fail("a bracket is not closed")
            self.depth -= 1
            return inner
        if token in ("true", "false"):
            return _constant(token == "true")  # noqa: S105
        if token[0].isdigit() or token[0] in "-.":
            number = _number(token)
            if not math.isfinite(number):
                self._fail(f"{token} is beyond every number that can be measured")
            return _constant(number)
        if token in _WORDS or not token[0].isidentifier():
            self._fail(f"{token!r} is not expected there")
        return self._metric(token)

    def _metric(self, token: str) -> Value:
        component, dot, metric = token.partition(".")
        if not dot or "." in metric:
            self._fail(f"{token!r} is no metric: write <component>.<metric>{self._available()}")
        if component not in self.metrics:
            hint = meant(component, self.metrics) or self._available()
            self._fail(f"there is no component {component!r}{hint}")
        names = self.metrics[component]
        if names is not None and metric not in names:
            hint = meant(metric, names) or (f"; there are: {listed(names)}" if names else "; it measures nothing")
            self._fail(f"there is no metric {metric!r} of {component}{hint}")
        self.names[component, metric] = None
        rule = self.rule
        return lambda measured: _measured(measured, component, metric, rule)

    def _available(self) -> str:
        names = [f"{component}.{name}" for component, inner in self.metrics.items() for name in inner or ()]
        return f"; there are: {listed(names)}" if names else "; no component of this suite measures anything"

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            self._fail("the condition is nested too deeply")

    def _fail(self, message: str) -> NoReturn:
        raise ValueError(f"rule {self.rule!r}: {message}")


def _constant(value: Any) -> Value:
    return lambda _: value


def _both(left: Value, right: Value) -> Value:
    return lambda measured: left(measured) and right(measured)


def _either(left: Value, right: Value) -> Value:
    return lambda measured: left(measured) or right(measured)


def _chain(first: Value, links: list[tuple[str, Value]]) -> Value:
    def value(measured: Metrics) -> bool:
        left = first(measured)
        for sign, other in links:
            right = other(measured)
            if not _COMPARE[sign](left, right):
                return False
            left = right
        return True

    return value


def _number(token: str) -> int | float:
    return int(token) if token.lstrip("-").isdigit() and len(token) < 300 else float(token)


def _measured(measured: Metrics, component: str, metric: str, rule: str) -> Any:
    """The measured value; ValueError, and so a broken scale, when it is absent or neither a number nor true/false."""
    values = measured.get(component)
    if not isinstance(values, Mapping) or metric not in values:
        raise ValueError(f"rule {rule!r}: {component}.{metric} was not measured")
    value = values[metric]
    if not isinstance(value, (bool, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"rule {rule!r}: {component}.{metric} is neither a number nor true or false; {result(value)}")
    return value


def _effect(
    text: str, effect: str, dimensions: Collection[str], flags: Collection[str], scale: tuple[float, float]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The caps by dimension and the flags that are raised."""
    caps: dict[str, float] = {}
    raises: list[str] = []
    for part in re.split(r"\band\b", effect):
        read = _EFFECT.fullmatch(part)
        if read is None:
            raise ValueError(f"rule {text!r}: {part.strip()!r} is no consequence; {_SHAPE}")
        name = read["name"]
        if name in caps or name in raises:
            raise ValueError(f"rule {text!r} names {name} twice")
        if name in dimensions:
            caps[name] = _cap(text, name, read["sign"], read["right"], scale)
        elif name in flags:
            _raised(text, name, read["sign"], read["right"])
            raises.append(name)
        else:
            available = [*dimensions, *flags]
            hint = meant(name, available) or f"; there are: {listed(available)}"
            raise ValueError(f"rule {text!r}: there is no dimension or flag {name!r}{hint}")
    return caps, tuple(raises)


def _cap(text: str, name: str, sign: str | None, right: str | None, scale: tuple[float, float]) -> float:
    if sign != "<=" or right is None:
        raise ValueError(f"rule {text!r}: a rule caps a dimension: write {name} <= <score>")
    try:
        cap = float(right)
    except ValueError:
        raise ValueError(f"rule {text!r}: {right!r} is not a score") from None
    low, high = scale
    if not low <= cap <= high:
        raise ValueError(f"rule {text!r}: {right} is not on the scale from {low:g} to {high:g}")
    if cap >= high:
        raise ValueError(f"rule {text!r} never caps anything: {name} is never above {high:g}")
    return cap


def _raised(text: str, name: str, sign: str | None, right: str | None) -> None:
    if sign is None or (sign in ("=", "==") and right == "true"):
        return
    raise ValueError(f"rule {text!r}: a rule can only raise a flag: write {name}, or {name} = true")
