"""What a process needs to score as this one does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.frozen import frozen
from steelyard.loading.chosen_judge import as_recorded
from steelyard.loading.load import load_without_cases
from steelyard.loading.load import strict as with_strict_rules
from steelyard.suite.case import CaseSurvey
from steelyard.suite.models import SuiteModel
from steelyard.suite.signature import signature

_SCORES_BY = ("scorers", "schema", "judge", "rules")
"""The parts of a signature that say how an answer is scored."""


def as_rescored(suite: SuiteModel, described: SuiteModel | None, *, strict: bool) -> SuiteModel:
    """The suite as it scores: with strict rules, and with the judges of a run that was described so."""
    suite = with_strict_rules(suite) if strict else suite
    if described is not None and described.judge is not None and suite.judge is not None:
        suite = suite.changed(judge=as_recorded(suite.judge, described.judge))
    return suite


@frozen
class ScoringSetup:
    """How another process gets the scorers of a suite: it loads the suite, without its cases."""

    place: str
    survey: CaseSurvey
    strict: bool
    described: dict[str, Any] | None
    """The suite of the run whose answers are scored again, as it is stored."""
    parts: dict[str, Any]

    @classmethod
    def of(cls, suite: SuiteModel, *, strict: bool, described: dict[str, Any] | None = None) -> ScoringSetup | None:
        """None for a suite that is written in the program itself: to load it would be to run the program."""
        program = getattr(sys.modules.get("__main__"), "__file__", None)
        if not suite.path or (program and Path(program).resolve() == Path(suite.path).resolve()):
            return None
        return cls(suite.path, suite.survey, strict, described, _parts(suite))

    def suite(self) -> SuiteModel:
        """The suite; SteelyardError when it is not the same any more."""
        described = None if self.described is None else SuiteModel.from_data(self.described)
        suite = as_rescored(load_without_cases(self.place, self.survey), described, strict=self.strict)
        changed = [name for name, value in _parts(suite).items() if value != self.parts[name]]
        if changed:
            raise SteelyardError(f"the suite at {self.place} scores otherwise when it is loaded again: {changed}")
        return suite


def _parts(suite: SuiteModel) -> dict[str, Any]:
    signed = signature(suite)
    return {name: signed.part(name) for name in _SCORES_BY}
