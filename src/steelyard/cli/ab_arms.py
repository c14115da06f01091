"""An arm of an A/B or of an experiment: what is asked for of it, and the suite as it uses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.shared_options import Finite, JudgeChoice, chosen_settings

if TYPE_CHECKING:
    from steelyard.suite.model import SuiteModel

JUDGE = ("judge", "judge_model", "judge_token", "judge_repeats", "judge_temperature")
KEYS = ("target", "variant", *JUDGE)
"""What is no setting of the target."""
_KINDS: dict[str, Callable[[str], Any]] = {
    "judge_repeats": click.IntRange(min=1),
    "judge_temperature": Finite(min=0),
}


@dataclass(frozen=True, slots=True)
class ArmChoice:
    """What was asked for of one arm; everything else is as the suite says."""

    chosen: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def of(self, suite: SuiteModel) -> SuiteModel:
        """The suite as this arm uses it; UserMistake when it has no such target, variant or judge."""
        from steelyard.suite.load import with_target

        target = self.chosen.get("target")
        if target is not None or self.settings:
            suite = with_target(suite, target, self.settings)
        suite = JudgeChoice(*(self.chosen.get(key) for key in JUDGE)).of(suite)
        return self._with_variant(suite)

    def _with_variant(self, suite: SuiteModel) -> SuiteModel:
        name = self.chosen.get("variant")
        if name is None:
            return suite
        from steelyard.errors import UserMistake
        from steelyard.suite.spelling import listed, meant

        names = [variant.name for variant in suite.variants if variant.name]
        if name not in names:
            known = f"; there are: {listed(names)}" if names else ", which has no variants"
            raise UserMistake(f"suite {suite.name} has no variant {name!r}{meant(name, names) or known}")
        return replace(suite, variants=tuple(variant for variant in suite.variants if variant.name == name))


def read_arm(letter: str, written: tuple[str, ...]) -> ArmChoice:
    """The arm that `--a` or `--b` says."""
    hint = f"--{letter}"
    chosen: dict[str, Any] = {}
    settings: list[str] = []
    for text in written:
        key, sign, value = text.partition("=")
        if not sign or not key or not value:
            raise click.BadParameter(f"{text!r}: write KEY=VALUE, such as model=NAME", param_hint=hint)
        if key in KEYS:
            chosen[key] = _typed(key, value, hint)
        else:
            settings.append(text.removeprefix("set."))
    return ArmChoice(chosen, chosen_settings(None, None, tuple(settings)))


def _typed(key: str, value: str, hint: str) -> Any:
    try:
        return _KINDS[key](value) if key in _KINDS else value
    except click.BadParameter as error:
        raise click.BadParameter(f"{key}: {error.message}", param_hint=hint) from None
