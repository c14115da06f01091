"""What a suite or a project declares of alerts: rules, channels, and the window of earlier runs.

Secrets of channels are named by environment variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, field_validator, model_validator

from steelyard.errors import SuiteError
from steelyard.frozen import frozen
from steelyard.metrics.expression_checks import SuiteNames, missing_name
from steelyard.metrics.expressions import EVERY, baseline_name_problem, parse_gate, parse_metric
from steelyard.metrics.registry import gate_metrics
from steelyard.metrics.units import read_difference
from steelyard.records import BASELINE_SIGN
from steelyard.suite.draft import Draft
from steelyard.suite.values import Share
from steelyard.suite.yaml import Place, listed, meant, result

if TYPE_CHECKING:
    from steelyard.suite.models import SuiteModel

_SHARE_OR_TEXT = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "examples": ["3 points", "200 ms"]}]}


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: ClassVar[str]

    @property
    def label(self) -> str:
        """What tells this rule from the others of a suite; part of the name of every cause."""
        return self.kind


class GateFailed(_Rule):
    """A gate or criterion of the suite fails."""

    kind: ClassVar[str] = "gate_failed"

    secondary: bool = Field(default=False, description="Also alert on secondary criteria.")


class RunInvalid(_Rule):
    """The run is INVALID, or a health check finds it suspect."""

    kind: ClassVar[str] = "run_invalid"

    suspect: bool = Field(default=True, description="Also alert on suspect runs.")


class Regression(_Rule):
    """A figure is worse than it was, beyond noise."""

    kind: ClassVar[str] = "regression"

    metric: str = Field(
        default="", description="As gates name it, also of slices: category.*.average. Left out: pass_rate, or average."
    )
    against: str = Field(default="", description="A baseline, such as release. Left out: the window of earlier runs.")
    by: Annotated[str | float | None, WithJsonSchema(_SHARE_OR_TEXT)] = Field(
        default=None, description="The smallest change worth an alert: 3 points, 200 ms. Left out: any beyond noise."
    )
    worse: Literal["lower", "higher"] | None = Field(
        default=None, description="Which direction is worse, for a figure that declares none. Left out: lower."
    )

    @field_validator("metric")
    @classmethod
    def _is_a_metric(cls, text: str) -> str:
        if text:
            parse_metric(text)
        return text

    @field_validator("against")
    @classmethod
    def _is_a_name(cls, text: str) -> str:
        name = text.removeprefix(BASELINE_SIGN)
        if text and (wrong := baseline_name_problem(name)):
            raise ValueError(wrong)
        return name

    @property
    def label(self) -> str:
        """Kind, metric and what it is compared with."""
        return f"{self.kind} of {self.metric or 'the headline'} against {self.against or 'earlier runs'}"

    def least(self, unit: str) -> float:
        """The smallest change worth an alert, in the figure's own measure; ValueError when it cannot be read."""
        if self.by is None:
            return 0.0
        try:
            return read_difference(str(self.by), unit, self.metric)
        except ValueError as error:
            raise ValueError(f"by: {error}") from None


class NewFinding(_Rule):
    """A finding code that no run of the window has."""

    kind: ClassVar[str] = "new_finding"

    samples: int = Field(default=1, ge=1, description="In how many samples it must be.")


class NewConfusion(_Rule):
    """One thing is taken for another that no run of the window took it for."""

    kind: ClassVar[str] = "new_confusion"

    samples: int = Field(default=2, ge=1, description="In how many samples it must be.")


class FlagRate(_Rule):
    """A flag of the judge, such as one for safety, is raised too often."""

    kind: ClassVar[str] = "flag_rate"

    flag: str = Field(default="", description="The flag. Left out: every flag of the rubric.")
    above: Share = Field(default=0.0, description="The share of texts that may carry it.")

    @property
    def label(self) -> str:
        """Kind and flag."""
        return f"{self.kind} of {self.flag}" if self.flag else self.kind


class JudgeDrift(_Rule):
    """The judge reads otherwise than it did: the same answers, or its own rules."""

    kind: ClassVar[str] = "judge_drift"

    by: Share = Field(default=0.0, description="The smallest shift on identical answers worth an alert: 2 %.")


class LatencyRise(_Rule):
    """Answers take longer than in earlier runs under the same load, beyond noise."""

    kind: ClassVar[str] = "latency_rise"

    metric: Annotated[str, WithJsonSchema({"type": "string", "pattern": r"^latency\."})] = Field(
        default="latency.p95", description="Which latency."
    )
    by: Share = Field(default=0.2, description="The smallest rise worth an alert, as a share of what it was.")

    @field_validator("metric")
    @classmethod
    def _is_a_latency(cls, text: str) -> str:
        names = [
            metric.name
            for metric in gate_metrics().values()
            if metric.group == "latency" and (metric.point is not None or metric.aggregate.is_mean)
        ]
        if text not in names:
            raise ValueError(f"there is no such latency{meant(text, names)}; there are: {', '.join(names)}")
        return text

    @property
    def label(self) -> str:
        """Kind and metric."""
        return f"{self.kind} of {self.metric}"


class CostRise(_Rule):
    """A call costs more than in earlier runs, beyond noise."""

    kind: ClassVar[str] = "cost_rise"

    metric: Literal["cost", "tokens.in", "tokens.out"] = Field(default="cost", description="What is spent.")
    by: Share = Field(default=0.1, description="The smallest rise worth an alert, as a share of what it was.")

    @property
    def label(self) -> str:
        """Kind and metric."""
        return f"{self.kind} of {self.metric}"


Rule = GateFailed | RunInvalid | Regression | NewFinding | NewConfusion | FlagRate | JudgeDrift | LatencyRise | CostRise
RULES: dict[str, type[Rule]] = {
    rule.kind: rule
    for rule in (
        GateFailed,
        RunInvalid,
        Regression,
        NewFinding,
        NewConfusion,
        FlagRate,
        JudgeDrift,
        LatencyRise,
        CostRise,
    )
}


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = re.compile(r"[^@\s,;<>\"]+@[^@\s,;<>\"]+")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError(
            "the value is not the name of an environment variable; if it is the secret itself, take it out of the"
            " file, export it, and write the variable's name"
        )
    return name


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError(f"{text!r} is no e-mail address: write name@example.org")
    return text


Variable = Annotated[str, AfterValidator(_variable)]
Address = Annotated[str, AfterValidator(_address)]


class _Channel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    kind: ClassVar[str]
    shorthand: ClassVar[str] = ""
    """The setting that a bare text or list sets."""

    @property
    def label(self) -> str:
        """What tells this channel from the others, with nothing secret in it."""
        return self.kind

    @property
    def secrets(self) -> tuple[str, ...]:
        """The environment variables that it reads."""
        return ()


class Webhook(_Channel):
    """A POST of JSON."""

    kind: ClassVar[str] = "webhook"
    shorthand: ClassVar[str] = "url"

    url: Variable = Field(description="The environment variable that holds the address.")
    token: Variable | None = Field(
        default=None, description="The environment variable that holds a key, sent as `Authorization: Bearer`."
    )

    @property
    def label(self) -> str:
        """Kind and variable."""
        return f"{self.kind} ${self.url}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Address and key."""
        return (self.url,) if self.token is None else (self.url, self.token)


class Slack(Webhook):
    """A POST in the shape of Slack's incoming webhooks, which others (Mattermost, Rocket.Chat) take, too."""

    kind: ClassVar[str] = "slack"


class Mail(_Channel):
    """An e-mail over SMTP."""

    kind: ClassVar[str] = "mail"

    to: list[Address] = Field(min_length=1, description="Who gets it.")
    from_: Address = Field(alias="from", description="Whom it is from.")
    host: str = Field(min_length=1, description="The server that takes it.")
    port: int | None = Field(
        default=None, ge=1, le=65_535, description="Its port. Left out: 587, 465 or 25, by the security."
    )
    security: Literal["starttls", "tls", "none"] = Field(default="starttls", description="How the line is encrypted.")
    user: Variable | None = Field(default=None, description="The environment variable that holds the user's name.")
    password: Variable | None = Field(default=None, description="The environment variable that holds the password.")

    @model_validator(mode="after")
    def _keeps_the_password(self) -> Self:
        if (self.user is None) is not (self.password is None):
            raise ValueError("user and password go together: give both, or neither")
        if self.security == "none" and self.password is not None and self.host not in _LOCAL:
            raise ValueError(
                f"security: none would send the password to {self.host} in the clear: write starttls or tls"
            )
        return self

    @property
    def at_port(self) -> int:
        """The port, as given or as is usual."""
        return self.port or _PORTS[self.security]

    @property
    def label(self) -> str:
        """Kind and whom it goes to."""
        return f"{self.kind} {', '.join(self.to)}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Name and password."""
        return () if self.user is None or self.password is None else (self.user, self.password)


class Command(_Channel):
    """A program that gets the alerts as JSON on its standard input; no shell is between."""

    kind: ClassVar[str] = "command"
    shorthand: ClassVar[str] = "argv"

    argv: list[str] = Field(min_length=1, description="The program and its arguments.")

    @property
    def label(self) -> str:
        """Kind and program."""
        return f"{self.kind} {' '.join(self.argv)}"[:200]


class GitHub(_Channel):
    """Annotations and the job summary, inside GitHub Actions; elsewhere nothing."""

    kind: ClassVar[str] = "github"


Channel = Webhook | Slack | Mail | Command | GitHub
CHANNELS: dict[str, type[Channel]] = {item.kind: item for item in (Webhook, Slack, Mail, Command, GitHub)}


class WindowPart(BaseModel):
    """The earlier runs that a run is compared with: of the same signature, sound, and of the whole suite."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    runs: int = Field(default=10, ge=1, le=1_000, description="How many of the newest runs.")
    min_runs: int = Field(default=3, ge=1, description="With fewer runs the rule does not decide.")
    min_n: int = Field(
        default=30, ge=1, description="With fewer samples in all of them together the rule does not decide."
    )


class AlertsPart(BaseModel):
    """Rules and channels of alerts."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    rules: list[Any] | None = Field(default=None, description="What to alert on: kinds of rules, with their settings.")
    channels: list[Any] | None = Field(
        default=None, description="Where to send alerts: kinds of channels with their settings."
    )
    window: WindowPart | None = Field(default=None, description="The earlier runs that a run is compared with.")
    sure: Share | None = Field(
        default=None,
        description="The confidence level of a change. Left out: 99 %, since nightly runs are many tests.",
    )


@frozen
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
        retained = {
            "rules": None if self.rules is None else [{item.kind: _given(item)} for item in self.rules],
            "channels": None
            if self.channels is None
            else [{channel.kind: _given(channel)} for channel in self.channels],
            "window": None if window is None else window.model_dump(),
            "sure": self.sure,
        }
        return {key: value for key, value in retained.items() if value is not None}


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
    raw: Any, draft: Draft, suite_names: SuiteNames | None = None, suite: SuiteModel | None = None
) -> AlertSettings | None:
    """The settings; None when there are none, or with everything wrong noted, rules that could never fire included."""
    place: Place = ("alerts",)
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
            _report_duplicates([item.label for item in items], draft, (*place, name))
    settings = AlertSettings(rules, channels, part.window, part.sure)
    for number, rule in enumerate(rules or ()):
        wrong = _wrong_in(rule, suite_names)
        if not wrong and suite is not None and (never := _never_fires(rule, settings, suite)):
            wrong = f"{rule.label} can never fire: {never}"
        if wrong:
            draft.add_problem(f"alerts.rules[{number}]: {wrong}", (*place, "rules", number))
    return settings


def _never_fires(rule: Rule, settings: AlertSettings, suite: SuiteModel) -> str:
    """Why a rule could never fire with the settings that will hold: what the suite leaves out the project may set."""
    from steelyard.loading.alert_reach import reach
    from steelyard.loading.load import project_alerts

    # A mistake in the project's file is reported where that file is used.
    with suppress(SuiteError):
        settings = settings.over(project_alerts(Path.cwd()))
    return reach(rule, settings, suite).never


def _parts(items: list[Any], kinds: Mapping[str, Any], what: str, draft: Draft, place: Place) -> Iterator[Any]:
    """Every item as its model; problems are reported."""
    for number, item in enumerate(items):
        here = (*place, number)
        kind, given = (item, {}) if isinstance(item, str) else _only(item)
        if kind is None:
            draft.add_problem(
                f"a {what} is one kind with its settings, as in - {next(iter(kinds))}; {result(item)}", here
            )
        elif kind not in kinds:
            draft.add_problem(
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


def _report_duplicates(labels: list[str], draft: Draft, place: Place) -> None:
    for number, label in enumerate(labels):
        if label in labels[:number]:
            draft.add_problem(f"{label} is declared twice: write it once", (*place, number))


def _wrong_in(rule: Rule, suite_names: SuiteNames | None) -> str:
    """What a rule speaks of that the suite does not have; "" when nothing is wrong."""
    if isinstance(rule, Regression):
        return _wrong_metric(rule, suite_names)
    if isinstance(rule, FlagRate) and rule.flag and suite_names is not None:
        return missing_name(parse_gate(f'score."{rule.flag}".rate >= 0', ""), suite_names) or ""
    return ""


def _wrong_metric(rule: Regression, suite_names: SuiteNames | None) -> str:
    if not rule.metric:
        return "by needs a metric, which says what it is measured in" if rule.by is not None else ""
    figure = parse_metric(rule.metric)
    if figure.of.of_judge:
        return f"{rule.metric} is not compared between runs: name it in gates, or in judge.health"
    try:
        rule.least(figure.unit)
    except ValueError as error:
        return str(error)
    if suite_names is None or (figure.slice == EVERY and suite_names.slices is None):
        return ""
    return missing_name(figure, suite_names) or ""
