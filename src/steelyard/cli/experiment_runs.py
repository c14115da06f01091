"""The runs of an experiment: found again in the store by the plan they carry, and made by the engine, arm by arm."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.cli.ab_arms import JUDGE, ArmChoice
from steelyard.cli.show import progress_of
from steelyard.engine.options import RunOptions, Selection, parse_only
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.store.ids import new_run_id
from steelyard.suite.experiment_file import ARMS, Experiment
from steelyard.suite.load import load_suite
from steelyard.suite.model import SuiteModel

if TYPE_CHECKING:
    from steelyard.store.base import Store


@dataclass(frozen=True, slots=True)
class Attempt:
    """One time that the experiment was run, as far as it got."""

    id: str
    baseline: RunHeader | None = None
    candidate: RunHeader | None = None

    @property
    def plan(self) -> dict[str, Any]:
        """What was stored before the first call."""
        first = self.baseline or self.candidate
        return {} if first is None else dict(first.options["experiment"])

    @property
    def complete(self) -> bool:
        """True when nothing is left to be asked: a baseline that is no reading ends it."""
        if self.baseline is None or self.baseline.state is not RunState.ENDED:
            return False
        if self.baseline.verdict is Verdict.INVALID:
            return True
        return self.candidate is not None and self.candidate.state is RunState.ENDED


def attempts(store: Store, name: str) -> list[Attempt]:
    """Every time that an experiment of this name was run, newest first. Runs that were rescored are no arms."""
    found: dict[str, dict[str, RunHeader]] = {}
    for header in store.runs():
        plan = header.options.get("experiment")
        if isinstance(plan, dict) and plan.get("name") == name and header.rescored_from is None:
            found.setdefault(str(plan.get("attempt")), {}).setdefault(str(plan.get("arm")), header)
    return [Attempt(number, arms.get(ARMS[0]), arms.get(ARMS[1])) for number, arms in found.items()]


def changed_since(plan: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The parts of a stored plan that are others in the file now, by the names they have in it."""
    found = [key for key in ("hypothesis", "suite", "factor", "cases") if plan.get(key) != now.get(key)]
    for group, keys in (("criteria", ("adopt", "reject")), ("arms", ARMS)):
        before, after = plan.get(group) or {}, now[group]
        prefix = "criteria." if group == "criteria" else ""
        found += [f"{prefix}{key}" for key in keys if before.get(key) != after.get(key)]
    return found


@dataclass(frozen=True, slots=True)
class Ran:
    """How far the arms got."""

    attempt: Attempt
    stopped: str | None = None
    """Why an arm did not get to its end; None when all did."""
    interrupted: bool = False


def loaded_suites(experiment: Experiment) -> dict[str, SuiteModel]:
    """The suite as each arm uses it: a mistake in the second must not show after an hour of the first."""
    return {arm: _loaded(experiment, arm) for arm in ARMS}


def _loaded(experiment: Experiment, arm: str) -> SuiteModel:
    part, settings = experiment.part, experiment.settings(arm)
    suite = load_suite(experiment.place(part.suite), None if part.cases is None else experiment.place(part.cases))
    chosen = dict(settings.get("set", {}))
    chosen |= {key: settings[key] for key in ("model", "base_url") if key in settings}
    return ArmChoice({key: settings[key] for key in ("target", *JUDGE) if key in settings}, chosen).of(suite)


def run_arms(experiment: Experiment, suites: Mapping[str, SuiteModel], store: Store, begun: Attempt | None) -> Ran:
    """Run what is not there yet, the baseline first; a candidate is not asked when its baseline is no reading."""
    attempt = begun or Attempt(new_run_id(experiment.name, time.time()))
    headers: dict[str, RunHeader | None] = {arm: getattr(attempt, arm) for arm in ARMS}
    for arm in ARMS:
        header = headers[arm]
        if header is None or header.state is not RunState.ENDED:
            options = _options(experiment, arm, attempt.id, resume=None if header is None else header.id)
            header, stopped, interrupted = _run(suites[arm], store, options, f"{experiment.name}, {arm}")
            headers[arm] = header
            if stopped is not None:
                return Ran(Attempt(attempt.id, headers[ARMS[0]], headers[ARMS[1]]), stopped, interrupted)
        if header.verdict is Verdict.INVALID:
            break
    return Ran(Attempt(attempt.id, headers[ARMS[0]], headers[ARMS[1]]))


def _run(suite: SuiteModel, store: Store, options: RunOptions, what: str) -> tuple[RunHeader, str | None, bool]:
    from steelyard import weighing

    # Whatever the system under test prints must not get into the report.
    with progress_of(what, quiet=False) as progress, contextlib.redirect_stdout(sys.stderr):
        header, ending = weighing.run(suite, store, options, progress)
    return header, ending.stopped, ending.interrupted


def _options(experiment: Experiment, arm: str, attempt: str, *, resume: str | None) -> RunOptions:
    part, settings = experiment.part, experiment.settings(arm)
    only = [*part.only, *_variant(settings)]
    return RunOptions(
        selection=Selection(parse_only(tuple(only)), part.limit),
        repeats=settings.get("repeats"),
        concurrency=settings.get("concurrency"),
        timeout=settings.get("timeout"),
        retries=settings.get("retries"),
        requests_per_second=settings.get("rps"),
        rate=settings.get("rate"),
        warm_up=settings.get("warm_up"),
        max_cost=settings.get("max_cost"),
        max_inconclusive=settings.get("max_inconclusive"),
        cache=part.cache,
        strict=part.strict,
        resume=resume,
        experiment=experiment.plan() | {"arm": arm, "attempt": attempt},
    )


def _variant(settings: dict[str, Any]) -> Iterator[str]:
    if "variant" in settings:
        yield f"variant={settings['variant']}"
