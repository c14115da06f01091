"""The history of a suite: its runs, what changed between them, trends, and where levels changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from steelyard.analysis.criteria import HASHED, changed_values, criteria_of, has_criteria
from steelyard.analysis.stored import figures_of
from steelyard.analysis.target import changes_text, target_changes, target_description, target_name
from steelyard.decide.baselines import baselines
from steelyard.decide.gates import measure
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.expressions import EVERY, FACTORS, Gate, parse_gate, parse_metric
from steelyard.metrics.figures import Figures
from steelyard.metrics.registry import filled, quoted
from steelyard.pairing.by_run import smallest_that_matters
from steelyard.records import RunHeader, RunState, Signature, Verdict
from steelyard.run_history.deleted_runs import DeletedRuns, deletions
from steelyard.stats.change_points import METHOD, ChangePoint, Series, find_change_points
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Store
from steelyard.store.headers import all_cached, answers_from, arm_of, is_partial, is_reading, origin
from steelyard.suite.values import Band
from steelyard.suite.yaml import listed
from steelyard.wording import counted, day, in_unit, p_text


@frozen
class HistoryRun:
    """One run as the table shows it."""

    run_id: str
    answered_at: float
    """When its answers were asked for; of answers that were scored again, when they first were."""
    verdict: str
    """PASS, FAIL, AMBIGUOUS, INVALID; "" without gates."""
    n: int
    """Samples in the average."""
    n_missing: int
    figures: dict[str, Estimate]
    """By metric, as gates name it."""
    best_band: Estimate | None = None
    """Share of samples in the suite's highest band."""
    left_out: str = ""
    """Why it is not in the trends; "" when it is."""
    rescored_from: str | None = None
    baselines: tuple[str, ...] = ()
    """Names of the baselines that stand for it now."""
    target: str = ""
    """What answered: its kind, and its model or place."""
    cost: Estimate | None = None
    """What all its calls cost; n/a where they did not tell."""


@frozen
class HistoryMark:
    """Something in how the runs were made that is another from this run on."""

    at: int
    """Place among the runs of the trends."""
    run_id: str
    when: float
    signature_part: bool
    """True for judge, rules, scorers, shape, truth and cases: what moves then may be theirs. False for what is scored:
    target, model, prompts."""
    parts: tuple[str, ...]
    sentence: str


@frozen
class CriteriaMark:
    """A change of criteria (gates, limits, prices) from this run on."""

    run_id: str
    when: float
    sentence: str


def criteria_marks(headers: Sequence[RunHeader]) -> Iterator[CriteriaMark]:
    """Every run whose criteria differ from those of the run before it, rescored ones included."""
    before: RunHeader | None = None
    for header in sorted(headers, key=lambda header: header.created_at):
        if header.state is not RunState.ENDED:
            continue
        # Most runs of a suite are decided by the same: nothing of them is parsed.
        if before is None or _decided_by(before) != _decided_by(header):
            if not has_criteria(header):
                continue
            if before is not None and (changes := changed_values(criteria_of(before), criteria_of(header))):
                yield CriteriaMark(header.id, header.created_at, f"the criteria changed: {'; '.join(changes)}")
        before = header


def _decided_by(header: RunHeader) -> tuple[Any, ...]:
    """What the criteria of a run are made of: they are the same where this is."""
    options = header.options
    return header.suite, options.prices, options.strict, options.ab, options.experiment


@frozen
class NamedChange:
    """A change of level with what changed in the same run."""

    at: int
    run_id: str
    when: float
    before: float
    after: float
    n_before: int
    n_after: int
    p: float
    signature_part: bool
    """True when the signature changed with it: then it is not put down to the system."""
    sentence: str


@frozen
class Trend:
    """One figure over the runs that have a part in the trends, oldest first."""

    metric: str
    """As gates name it; of a slice, with the slice."""
    title: str
    """What a picture calls it."""
    unit: str
    values: tuple[Estimate, ...]
    """One for each run of the trends; n/a where it has none."""
    gates: tuple[tuple[str, float], ...] = ()
    """Thresholds of the newest run's gates on this figure, as operator and number."""
    changes: tuple[NamedChange, ...] = ()


@frozen
class History:
    """The runs of a suite and how their figures went."""

    suite: str
    n_all: int
    """Runs that the store holds of it."""
    runs: tuple[HistoryRun, ...]
    """Oldest first; those without a part in the trends, too."""
    marks: tuple[HistoryMark, ...]
    trends: tuple[Trend, ...]
    grouped: tuple[Trend, ...] = ()
    """One figure by slice, or by finding code."""
    by: str = ""
    n_groups: int = 0
    """How many slices or codes there are; `grouped` holds those to look at first."""
    passing: str = ""
    best_band: str = ""
    method: str = ""
    criteria: tuple[CriteriaMark, ...] = ()
    """Where the criteria changed, oldest first, also in runs that have no part in the trends."""
    deleted: tuple[DeletedRuns, ...] = ()
    """Runs of the suite that were deleted."""

    @property
    def in_trends(self) -> tuple[HistoryRun, ...]:
        """The runs that have a part in the trends, oldest first."""
        return tuple(run for run in self.runs if not run.left_out)


def figure_by_slice(history: History) -> str:
    """The figure that is followed slice by slice: `average`."""
    first = history.grouped[0]
    return first.metric.removeprefix(f"{history.by}.{first.title}.")


_SUBJECT = {"model": "the model", "prompts": "the prompts or variants", "target": "the target"}
_ABSENT_IS_SAID = ("judge", "rules", "model")
_MOST_NAMES = 60


def marks_between(headers: Sequence[RunHeader], when: Sequence[float]) -> list[HistoryMark]:
    """Every place where the signature or what is scored is another than in the run before."""
    marks = []
    for at, (before, after) in enumerate(pairwise(_as_last_said(headers)), start=1):
        for signature_part, parts in ((True, HASHED), (False, _SUBJECT)):
            changed = tuple(part for part in parts if _differs(part, before, after))
            if not signature_part and "model" in changed:
                # Whoever names another model is another target, too.
                changed = tuple(part for part in changed if part != "target")
            if changed:
                message = _joined([parts[part] + _named(part, before, after) for part in changed]) + " changed"
                # What changed of the target stands by name, but for the model, which stands there already.
                settings = () if signature_part else target_changes(before, after)
                text = changes_text(tuple(item for item in settings if item.name != "model" or "model" not in changed))
                message += text and f": {text}"
                marks.append(HistoryMark(at, after.id, when[at], signature_part, changed, message))
    return marks


def _as_last_said(headers: Sequence[RunHeader]) -> Iterator[RunHeader]:
    """The runs, each with what the runs before it said where it does not say."""
    texts: dict[str, Any] = {}
    for header in headers:
        signed = header.signature.to_data()
        texts |= {part: value for part, value in signed.items() if value is not None and part not in _ABSENT_IS_SAID}
        yield replace(header, signature=Signature.from_data(signed | texts))


def _differs(part: str, before: RunHeader, after: RunHeader) -> bool:
    signed = [header.signature.part(part) for header in (before, after)]
    # A run that does not say is no evidence of a change, except for having a judge at all.
    if part in _ABSENT_IS_SAID:
        return (signed[0] or "") != (signed[1] or "")
    return None not in signed and signed[0] != signed[1]


def _named(part: str, before: RunHeader, after: RunHeader) -> str:
    if part not in ("judge", "model"):
        return ""
    names = [_judges(header) if part == "judge" else str(header.signature.model or "") for header in (before, after)]
    if names[0] == names[1]:
        return ""
    return f" ({names[0][:_MOST_NAMES] or 'none'} -> {names[1][:_MOST_NAMES] or 'none'})"


def _judges(header: RunHeader) -> str:
    judge = header.description.judge
    return "" if judge is None else ", ".join(member.label for member in judge.members)


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def named_change(
    point: ChangePoint, trend: Trend, marks: Sequence[HistoryMark], at: int, run: HistoryRun
) -> NamedChange:
    """A change of level in words, with what changed in the same run."""
    signature_part = [mark for mark in marks if mark.signature_part]
    return NamedChange(
        at=at,
        run_id=run.run_id,
        when=run.answered_at,
        before=point.before,
        after=point.after,
        n_before=point.n_before,
        n_after=point.n_after,
        p=point.p,
        signature_part=bool(signature_part),
        sentence=" ".join(_sentence(point, trend, marks, run)),
    )


def _sentence(point: ChangePoint, trend: Trend, marks: Sequence[HistoryMark], run: HistoryRun) -> Iterator[str]:
    rose = "rose" if point.after > point.before else "fell"
    figures = f"from {in_unit(point.before, trend.unit)} to {in_unit(point.after, trend.unit)}"
    yield f"{trend.metric} {rose} on {day(run.answered_at)} {figures}"
    yield f"(mean of {counted(point.n_before, 'run')} before, {point.n_after} after, {p_text(point.p)}),"
    signature_part = [mark.sentence for mark in marks if mark.signature_part]
    subject = [mark.sentence for mark in marks if not mark.signature_part]
    if signature_part and subject:
        yield f"when {signature_part[0]}; {subject[0]}, too: cannot tell which of them caused it"
    elif signature_part:
        yield f"when {signature_part[0]}: it may be due to the signature, and is not attributed to the system"
    elif subject:
        yield f"when {subject[0]}"
    else:
        yield "with the same signature, target and prompts as before"


def days(moments: Sequence[float]) -> list[str]:
    """The date of each moment, with the time where a day has several."""
    dates = [day(moment) for moment in moments]
    several = {date for date, n in Counter(dates).items() if n > 1}
    return [
        datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M") if date in several else date
        for date, moment in zip(dates, moments, strict=True)
    ]


CODE = "code"
DEFAULT_METRICS = ("average", "median", "pass_rate")
MOST_GROUPS = 16
"""Slices or codes that get a trend of their own: those that moved most."""


@frozen
class _Read:
    """A run with its figures."""

    header: RunHeader
    figures: Figures | None
    run: HistoryRun


@frozen
class HistoryOptions:
    """What is asked of a history: the newest `last` runs, which figures, one of them by slice or code, and of which
    target, by its name in the table or a part of it."""

    last: int | None = None
    metrics: tuple[str, ...] = ()
    by: str = ""
    target: str = ""


def read_history(store: Store, suite: str, options: HistoryOptions = HistoryOptions()) -> History:  # noqa: B008 - frozen
    """The runs of the suite of that name; UsageError when it has none, or a figure is asked for that is none."""
    headers = store.runs(suite)
    if not headers:
        raise UsageError(_no_runs(store, suite))
    load_metrics(headers[0])
    groupings = groupings_of(headers[0])
    if options.by not in ("", *groupings):
        raise UsageError(f"--by {options.by!r}: the newest run of {suite} has {listed(groupings)}")
    asked = {text: asked_metric(text) for text in dict.fromkeys((*DEFAULT_METRICS, *options.metrics))}
    headers = _of_target(headers, options.target)
    shown = headers[: options.last] if options.last else headers
    factors = {options.by, *(gate.factor or "" for gate in asked.values())} - {"", CODE}
    codes = options.by == CODE
    reader = _Reader(store, headers, asked)
    figures = figures_of(store, shown, None if codes else reader.names, factors)
    results = sorted(
        (reader.read(header, figures.get(header.id)) for header in shown),
        key=lambda item: (item.run.answered_at, item.header.created_at),
    )
    trended = [item for item in results if not item.run.left_out]
    marks = marks_between([item.header for item in trended], [item.run.answered_at for item in trended])
    names = [name for name in asked if name in options.metrics] or ["average", "pass_rate"]
    trends = [_trend(name, name, asked[name], trended) for name in names]
    for text in options.metrics:
        if not any(value.n for trend in trends if trend.metric == text for value in trend.values):
            raise UsageError(f"no run of {suite} that counts has {text}: see docs/reference/metrics.md for the names")
    trends = [trend for trend in trends if any(value.value is not None for value in trend.values)]
    grouped, n_groups = _groups(options, names, asked, trended)
    # The figures of the whole suite were asked for first: how many slices there are does not blur them.
    named = _named_changes(trends, marks, trended) | _named_changes(grouped, marks, trended)
    newest = results[-1]
    return History(
        suite=suite,
        n_all=len(headers),
        runs=tuple(item.run for item in results),
        marks=tuple(marks),
        trends=tuple(replace(trend, changes=named[trend.metric]) for trend in trends),
        grouped=tuple(replace(trend, changes=named[trend.metric]) for trend in grouped),
        by=options.by,
        n_groups=n_groups,
        passing=(newest.header.suite.get("passing") or {}).get("text", "") if newest.figures is not None else "",
        best_band="" if reader.best_band is None else reader.best_band.name,
        method=METHOD,
        criteria=tuple(criteria_marks([item.header for item in results])),
        deleted=deletions(store.deleted_runs(suite)),
    )


def groupings_of(header: RunHeader) -> tuple[str, ...]:
    """What a history of the suite can be followed by."""
    return (*FACTORS, *header.description.slices, CODE)


def _of_target(headers: list[RunHeader], name: str) -> list[RunHeader]:
    names = {header.id: target_name(header) for header in headers}
    exact = [header for header in headers if not name or name in (names[header.id], target_description(header))]
    result = exact or [header for header in headers if name.casefold() in names[header.id].casefold()]
    if not result:
        raise UsageError(f"no run with a target {name!r}; there are: {listed(sorted(set(names.values())))}")
    return result


def asked_metric(text: str) -> Gate:
    """The figure that a text names as gates do: `average`, `category.art.pass_rate`; UsageError when it is none."""
    try:
        gate = parse_metric(text, "--metric")
    except ValueError as error:
        raise UsageError(str(error)) from None
    if gate.slice == EVERY:
        raise UsageError(f"{gate.label}: name one {gate.factor}, or see all of them with --by {gate.factor}")
    return gate


def _no_runs(store: Store, suite: str) -> str:
    names = list(dict.fromkeys(header.suite_name for header in store.runs(limit=200)))
    there = f"; there are runs of: {listed(sorted(names))}" if names else ""
    there += "".join(f"; {item.sentence}" for item in deletions(store.deleted_runs(suite)))
    return f"no runs of a suite {suite!r}{there}. Make one: steelyard run SUITE"


class _Reader:
    """Reads runs with the figures that were asked for."""

    def __init__(self, store: Store, headers: Sequence[RunHeader], asked: dict[str, Gate]) -> None:
        self._asked = asked
        self._by_id = {header.id: header for header in headers}
        # However often answers were scored, they are one reading: the newest.
        self._newest = {origin(header, self._by_id): header.id for header in reversed(headers) if is_reading(header)}
        arms = Counter(number for number, _ in set(map(arm_of, headers)))
        self._apart = {number for number, n in arms.items() if n > 1}
        self._suite, self.best_band = headers[0].suite, _highest_band(headers[0])
        self._locks: dict[str, list[str]] = {}
        for lock in baselines(store, headers[0].suite_name):
            self._locks.setdefault(lock.run_id, []).append(lock.name)

    @property
    def names(self) -> set[str]:
        """The figures that are read of every run."""
        spelled = [(gate.of.name, gate.names) for gate in self._asked.values()]
        asked = {spell(*of) for of in spelled for spell in (filled, quoted)}
        return asked | {"cost.total"} | ({f"band.{self.best_band.name}"} if self.best_band else set())

    def read(self, header: RunHeader, known: Figures | None) -> _Read:
        figures = {} if known is None else {name: _figure(gate, known) for name, gate in self._asked.items()}
        average = figures.get("average", Estimate(None, 0, header.n_planned))
        # A highest band that begins elsewhere is another figure, whatever its name.
        own = self.best_band if header.suite == self._suite else _highest_band(header)
        best = None if known is None or not own or own != self.best_band else known.slice()[f"band.{own.name}"]
        run = HistoryRun(
            run_id=header.id,
            answered_at=self._answered_at(header),
            verdict=header.verdict.value if header.verdict else "",
            n=average.n,
            n_missing=average.n_missing,
            figures=figures,
            best_band=best,
            left_out=self._left_out(header),
            rescored_from=answers_from(header),
            baselines=tuple(self._locks.get(header.id, ())),
            target=target_name(header),
            cost=None if known is None else known.slice()["cost.total"],
        )
        return _Read(header, known, run)

    def _answered_at(self, header: RunHeader) -> float:
        return self._by_id.get(origin(header, self._by_id), header).created_at

    def _left_out(self, header: RunHeader) -> str:
        if why := why_no_trend(header):
            return why
        number, arm = arm_of(header)
        if number in self._apart:
            return f"arm {arm} of {number}, whose arms are two systems: --target NAME shows one"
        newest = self._newest[origin(header, self._by_id)]
        return "" if newest == header.id else f"scored again as {newest}"


def why_no_trend(header: RunHeader) -> str:
    """Why a run has no part in trends, whatever other runs there are; "" when it may have one."""
    if header.state is not RunState.ENDED:
        return f"not finished ({header.state.value})"
    if header.verdict is Verdict.INVALID:
        return "INVALID"
    if header.suspect:
        return f"suspect: {header.suspect[0]}"
    if all_cached(header):
        return "all answers from the cache"
    return "only a part of the suite" if is_partial(header) else ""


def _highest_band(header: RunHeader) -> Band | None:
    return next(iter(header.description.bands), None)


def _figure(gate: Gate, figures: Figures) -> Estimate:
    return measure(gate, figures.slice(gate.factor or "", gate.slice or ""))


def _trend(
    metric: str, title: str, gate: Gate, runs: Sequence[_Read], value: Callable[[_Read], Estimate] | None = None
) -> Trend:
    read = value or (lambda item: item.run.figures.get(metric, Estimate(None, 0)))
    gates = tuple(_thresholds(runs[-1].header, gate)) if runs else ()
    return Trend(metric, title, gate.unit, tuple(read(run) for run in runs), gates)


def _thresholds(header: RunHeader, figure: Gate) -> Iterator[tuple[str, float]]:
    """The gates of a run on a figure, as operator and number; those on a baseline have no number of their own."""
    for text in header.description.gates:
        try:
            gate = parse_gate(text)
        except ValueError:
            # Of a run of another version, whose gates may say more.
            continue
        same = (gate.factor, gate.metric) == (figure.factor, figure.metric) and gate.slice in (EVERY, figure.slice)
        if same and not gate.baseline:
            yield gate.operator, gate.threshold


def _groups(
    options: HistoryOptions, names: Sequence[str], asked: dict[str, Gate], runs: Sequence[_Read]
) -> tuple[list[Trend], int]:
    """A trend for each slice of a factor, or for each finding code, those that moved most first; and how many are."""
    if not options.by:
        return [], 0
    if options.by == CODE:
        found = [run.figures.slice().counts("findings.<code>") for run in runs if run.figures]
        every = dict.fromkeys(code for counts in found for code in counts)
        results = [_code_trend(code, runs) for code in sorted(every)]
    else:
        metric = next((name for name in names if asked[name].factor is None), "average")
        of = [run.figures.slices(options.by) if run.figures else [] for run in runs]
        every = dict.fromkeys(part.name for parts in of for part in parts)
        results = [_slice_trend(options.by, name, metric, runs) for name in every]
    results = [trend for trend in results if any(value.value is not None for value in trend.values)]
    return sorted(results, key=_moved, reverse=True)[:MOST_GROUPS], len(results)


def _moved(trend: Trend) -> float:
    available = [value.value for value in trend.values if value.value is not None]
    return max(available) - min(available)


def _code_trend(code: str, runs: Sequence[_Read]) -> Trend:
    quoted = f'"{code}"' if '"' not in code else f"'{code}'"
    metric = f"findings.{code}.rate"

    def rate(read: _Read) -> Estimate:
        return _figure(gate, read.figures) if read.figures else Estimate(None, 0)

    gate = parse_metric(f"findings.{quoted}.rate")
    return _trend(metric, code, gate, runs, rate)


def _slice_trend(factor: str, name: str, metric: str, runs: Sequence[_Read]) -> Trend:
    gate = replace(parse_metric(metric), factor=factor, slice=name)

    def value(read: _Read) -> Estimate:
        return _figure(gate, read.figures) if read.figures else Estimate(None, 0)

    return _trend(f"{factor}.{name}.{metric}", name, gate, runs, value)


def _named_changes(
    trends: Sequence[Trend], marks: Sequence[HistoryMark], runs: Sequence[_Read]
) -> dict[str, tuple[NamedChange, ...]]:
    """By metric, where its level changed, with what else changed there; all trends are looked at together."""
    places = {trend.metric: [i for i, value in enumerate(trend.values) if value.value is not None] for trend in trends}
    breaks = [mark.at for mark in marks if mark.signature_part]
    series = [
        Series(
            trend.metric,
            [trend.values[i].value or 0.0 for i in places[trend.metric]],
            [sum(i < at for i in places[trend.metric]) for at in breaks],
        )
        for trend in trends
    ]
    named_changes: dict[str, list[NamedChange]] = {trend.metric: [] for trend in trends}
    by_metric = {trend.metric: trend for trend in trends}
    for point in find_change_points(series):
        available = places[point.series]
        at, previous = available[point.at], available[point.at - 1]
        unit, by = by_metric[point.series].unit, abs(point.after - point.before)
        if unit in ("s", "cost") and by <= smallest_that_matters(runs[at].header.description, unit, point.before):
            continue
        here = [mark for mark in marks if previous < mark.at <= at]
        run = runs[at].run
        named_changes[point.series].append(named_change(point, by_metric[point.series], here, at, run))
    return {metric: tuple(changes) for metric, changes in named_changes.items()}
