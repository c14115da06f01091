"""What a suite or a project says of alerts: the rules, the channels, and the window of earlier runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from steelyard.suite.alert_channels import CHANNELS, Channel
from steelyard.suite.alert_rules import RULES, FlagRate, Regression, Rule, figure_named
from steelyard.suite.draft import Draft
from steelyard.suite.file import Share
from steelyard.suite.gate_checks import Known, missing_name
from steelyard.suite.gates import EVERY, parse_gate
from steelyard.suite.problems import Place
from steelyard.suite.spelling import found, listed, meant


class WindowPart(BaseModel):
    """The earlier runs that a run is held against: of the same instrument, sound, and of the whole suite."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    runs: int = Field(default=10, ge=1, le=1_000, description="The newest so many.")
    min_runs: int = Field(default=3, ge=1, description="With fewer nobody can tell.")
    min_n: int = Field(default=30, ge=1, description="With fewer samples in all of them together nobody can tell.")


class AlertsPart(BaseModel):
    """What to tell of, and where to."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    rules: list[Any] | None = Field(default=None, description="What to tell of: kinds of rules, with their settings.")
    channels: list[Any] | None = Field(default=None, description="Where to: kinds of channels with their settings.")
    window: WindowPart | None = Field(default=None, description="The earlier runs that a run is held against.")
    sure: Share | None = Field(
        default=None,
        description="How sure a change must be. Left out: 99 %, since a run a night is many chances to err.",
    )


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """What a suite, or a project, says of alerts; None where it does not say."""

    rules: tuple[Rule, ...] | None = None
    channels: tuple[Channel, ...] | None = None
    window: WindowPart | None = None
    sure: float | None = None

    def over(self, project: AlertSettings | None) -> AlertSettings:
        """These settings, with what they leave out taken from those of the project."""
        if project is None:
            return self
        return AlertSettings(
            project.rules if self.rules is None else self.rules,
            project.channels if self.channels is None else self.channels,
            self.window or project.window,
            project.sure if self.sure is None else self.sure,
        )

    @property
    def max_p(self) -> float:
        """Above this a change is noise."""
        return 1.0 - (0.99 if self.sure is None else self.sure)

    def as_data(self) -> dict[str, Any]:
        """As a run's header keeps it; secrets are in it by the names of their variables alone."""
        window = self.window
        kept = {
            "rules": None if self.rules is None else [{each.kind: _given(each)} for each in self.rules],
            "channels": None if self.channels is None else [{each.kind: _given(each)} for each in self.channels],
            "window": None if window is None else window.model_dump(),
            "sure": self.sure,
        }
        return {key: value for key, value in kept.items() if value is not None}


def settings_from(data: Mapping[str, Any] | None) -> AlertSettings | None:
    """The settings back from what a run's header keeps; None when it keeps none."""
    if data is None:
        return None
    rules, channels, window = data.get("rules"), data.get("channels"), data.get("window")
    return AlertSettings(
        None if rules is None else tuple(RULES[kind].model_validate(given) for kind, given in _pairs(rules)),
        None if channels is None else tuple(CHANNELS[kind].model_validate(given) for kind, given in _pairs(channels)),
        None if window is None else WindowPart.model_validate(window),
        data.get("sure"),
    )


def _pairs(items: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    return (pair for item in items for pair in item.items())


def _given(part: BaseModel) -> dict[str, Any]:
    return part.model_dump(mode="json", by_alias=True, exclude_unset=True)


def build_alerts(
    raw: Any, draft: Draft, known: Known | None = None, place: Place = ("alerts",)
) -> AlertSettings | None:
    """The settings; None when there are none, or with everything wrong noted."""
    if raw is None:
        return None
    part = draft.check_part(AlertsPart, raw, place)
    if part is None:
        return None
    rules = None if part.rules is None else tuple(_parts(part.rules, RULES, "rule", draft, (*place, "rules")))
    channels = (
        None
        if part.channels is None
        else tuple(_parts(part.channels, CHANNELS, "channel", draft, (*place, "channels")))
    )
    for name, items in (("rules", rules), ("channels", channels)):
        if items is not None:
            _tell_doubles([each.label for each in items], draft, (*place, name))
    for number, rule in enumerate(rules or ()):
        if wrong := _wrong_in(rule, known):
            draft.tell(f"alerts.rules[{number}]: {wrong}", (*place, "rules", number))
    return AlertSettings(rules, channels, part.window, part.sure)


def _parts(items: list[Any], kinds: Mapping[str, Any], what: str, draft: Draft, place: Place) -> Iterator[Any]:
    """Every item as its model; those that are none are told."""
    for number, item in enumerate(items):
        here = (*place, number)
        kind, given = (item, {}) if isinstance(item, str) else _only(item)
        if kind is None:
            draft.tell(f"a {what} is one kind with its settings, as in - {next(iter(kinds))}; {found(item)}", here)
        elif kind not in kinds:
            draft.tell(
                f"there is no {what} {kind!r}{meant(kind, list(kinds)) or f'; there are: {listed(list(kinds))}'}", here
            )
        else:
            model = kinds[kind]
            short = getattr(model, "shorthand", "")
            plain = given is not None and not isinstance(given, Mapping)
            checked = draft.check_part(model, {short: given} if short and plain else given or {}, (*here, kind))
            if checked is not None:
                yield checked


def _only(item: Any) -> tuple[str | None, Any]:
    if isinstance(item, Mapping) and len(item) == 1:
        kind, given = next(iter(item.items()))
        return str(kind), given
    return None, None


def _tell_doubles(labels: list[str], draft: Draft, place: Place) -> None:
    for number, label in enumerate(labels):
        if label in labels[:number]:
            draft.tell(f"{label} is there twice: each once", (*place, number))


def _wrong_in(rule: Rule, known: Known | None) -> str:
    """What a rule speaks of that the suite does not have; "" when nothing is wrong."""
    if isinstance(rule, Regression):
        return _wrong_metric(rule, known)
    if isinstance(rule, FlagRate) and rule.flag and known is not None:
        return (missing_name(parse_gate(f'score."{rule.flag}".rate >= 0'), known) or "").replace("gate ", "", 1)
    return ""


def _wrong_metric(rule: Regression, known: Known | None) -> str:
    if not rule.metric:
        return "by needs a metric, which says what it is measured in" if rule.by is not None else ""
    figure = figure_named(rule.metric)
    try:
        rule.least(figure.unit)
    except ValueError as error:
        return str(error)
    if known is None or (figure.slice == EVERY and known.slices is None):
        return ""
    lacking = missing_name(figure, known) or ""
    return lacking.replace(f"gate '{figure.text}'", f"metric {rule.metric!r}")
