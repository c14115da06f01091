"""Conditions over repeats, as people write them: `valid in >= 2 of 3 repeats`, `score >= 80 % in >= 1 of 2 runs`.

Parsing only; `analysis` looks at every case under every variant, `release.criteria` says what comes of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from steelyard.suite.gates import Gate, parse_gate

CONDITIONS = ("valid", "passed", "score >= 80 %", "findings.CODE == 0")
"""What may be asked of one sample, as it is written."""


@dataclass(frozen=True, slots=True)
class RepeatsRule:
    """In how many of the repeats of a case a condition on one sample must hold.

    `condition` names the figure of one sample that is compared: "valid" and "passed" are 1 or 0 and must be >= 1,
    "score" lies in 0..1, "findings" is how many findings of `code` it has.
    """

    text: str
    condition: str
    operator: str
    threshold: float
    code: str
    """Of "findings"; "" for the others."""
    at_least: int
    of: int

    @property
    def unit(self) -> str:
        """How the compared figure is measured."""
        return "count" if self.condition == "findings" else "share"

    @property
    def once(self) -> str:
        """The same condition asked of a single run: `valid in >= 1 of 1 repeats`."""
        figure = f'findings."{self.code}"' if self.condition == "findings" else self.condition
        compared = "" if self.condition in ("valid", "passed") else f" {self.operator} {self.threshold}"
        return f"{figure}{compared} in >= 1 of 1 repeats"


_RULE = re.compile(
    r"\s*(?P<condition>.*?)\s*\bin\s*>=\s*(?P<at_least>\d{1,9})\s+of\s+(?P<of>\d{1,9})\s+(?:repeats?|runs?)\s*",
    re.DOTALL,
)
_MEANT = re.compile(
    r"""\s*(?:valid|passed)\b.*"""
    r"""|.*\bin\b[^"']*\b(?:repeats?|runs?)\s*"""
    r"""|.*\bin\s*(?:>=|<=|==|!=|>|<|=)?\s*\d+\s+of\b[^<>=!"']*""",
    re.DOTALL,
)
"""What somebody wrote who meant such a rule."""
_SHAPE = "write <condition> in >= <k> of <n> repeats, for instance: valid in >= 2 of 3 repeats"


def parse_repeats(text: str) -> RepeatsRule | None:
    """The rule that a text says, None when it is of another form; ValueError with a sentence when it is broken."""
    found = _RULE.fullmatch(text)
    if found is None:
        if _MEANT.fullmatch(text):
            raise ValueError(f"{text!r} does not say in how many of how many repeats; {_SHAPE}")
        return None
    at_least, of = int(found["at_least"]), int(found["of"])
    if at_least < 1:
        raise ValueError(f"{text!r}: what is asked for in 0 repeats always holds; the least is 1")
    if at_least > of:
        raise ValueError(f"{text!r}: {at_least} of {of} repeats can never be")
    figure, operator, threshold, code = _condition(text, found["condition"])
    return RepeatsRule(text.strip(), figure, operator, threshold, code, at_least, of)


def _condition(text: str, condition: str) -> tuple[str, str, float, str]:
    """The figure of one sample, how it is compared, with what, and the code of findings."""
    if condition in ("valid", "passed"):
        return condition, ">=", 1.0, ""
    if re.match(r"score\s*[<>=!]", condition):
        # The score of one sample is written like the average of many.
        gate = _as_gate(text, "average" + condition.removeprefix("score"))
        return "score", gate.operator, gate.threshold, ""
    if not re.match(r"findings\s*\.", condition):
        raise ValueError(f"{text!r}: {condition!r} is no condition on one sample; there are: {', '.join(CONDITIONS)}")
    gate = _as_gate(text, condition)
    if gate.pattern != "findings.<code>":
        raise ValueError(f"{text!r}: of one sample write findings.CODE, as in findings.FORMAT == 0")
    if not gate.threshold.is_integer():
        raise ValueError(f"{text!r}: findings are counted, and {gate.threshold:g} is not a whole number")
    return "findings", gate.operator, gate.threshold, gate.subject


def _as_gate(text: str, condition: str) -> Gate:
    try:
        gate = parse_gate(condition)
    except ValueError as error:
        raise ValueError(str(error).replace(f"gate {condition!r}", repr(text))) from None
    if gate.baseline:
        raise ValueError(f"{text!r}: one sample is held against a number, not against {gate.baseline!r}")
    if gate.min_n > 1:
        raise ValueError(f"{text!r}: with n >= {gate.min_n} has no meaning for one sample; leave it out")
    return gate
