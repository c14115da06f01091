"""The arms of an experiment: a suite with another target, variant or judge."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from steelyard.errors import UsageError
from steelyard.experiments.plan import ARMS, ExperimentFile
from steelyard.frozen import frozen
from steelyard.loading.load import load_suite, with_judge, with_target
from steelyard.suite.models import SuiteModel
from steelyard.suite.yaml import listed, meant

JUDGE = ("judge", "judge_model", "judge_token", "judge_repeats", "judge_temperature")
KEYS = ("target", "variant", *JUDGE)
"""What is no setting of the target."""


@frozen
class ArmChoice:
    """What was asked for of one arm; everything else is as the suite says."""

    chosen: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def of(self, suite: SuiteModel) -> SuiteModel:
        """The suite as this arm uses it; UsageError when it has no such target, variant or judge."""
        target = self.chosen.get("target")
        if target is not None or self.settings:
            suite = with_target(suite, target, self.settings)
        suite = with_judge(suite, *(self.chosen.get(key) for key in JUDGE))
        return self._with_variant(suite)

    def _with_variant(self, suite: SuiteModel) -> SuiteModel:
        name = self.chosen.get("variant")
        if name is None:
            return suite
        names = [variant.name for variant in suite.variants if variant.name]
        if name not in names:
            available = f"; there are: {listed(names)}" if names else ", which has no variants"
            raise UsageError(f"suite {suite.name} has no variant {name!r}{meant(name, names) or available}")
        return suite.changed(variants=tuple(variant for variant in suite.variants if variant.name == name))


def loaded_suites(experiment: ExperimentFile) -> dict[str, SuiteModel]:
    """The suite as each arm uses it: a mistake in the second must not show after an hour of the first."""
    return {arm: _loaded(experiment, arm) for arm in ARMS}


def _loaded(experiment: ExperimentFile, arm: str) -> SuiteModel:
    part, settings = experiment.part, experiment.settings(arm)
    suite = load_suite(experiment.place(part.suite), None if part.cases is None else experiment.place(part.cases))
    chosen = dict(settings.get("set", {}))
    chosen |= {key: settings[key] for key in ("model", "base_url") if key in settings}
    return ArmChoice({key: settings[key] for key in ("target", *JUDGE) if key in settings}, chosen).of(suite)
