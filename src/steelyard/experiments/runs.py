"""The stored runs of an experiment: found again by the plan that they carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steelyard.errors import UsageError
from steelyard.experiments.plan import ARMS, ExperimentFile, changed_since
from steelyard.frozen import frozen
from steelyard.records import AbPlan, ExperimentPlan, RunHeader, RunState, Verdict
from steelyard.store.base import Store

AB_ARMS = ("a", "b")


@frozen
class Attempt:
    """One time that an experiment was run, as far as it got: both runs as they are in the store."""

    id: str
    """What both runs belong to."""
    a: RunHeader | None = None
    """How it is now: arm A, or the baseline. None when it was not begun."""
    b: RunHeader | None = None
    """How it may become: arm B, or the candidate."""
    stopped: str | None = None
    """Why an arm did not get to its end; None when all did, or nobody knows."""
    interrupted: bool = False

    @property
    def headers(self) -> tuple[RunHeader, ...]:
        """The runs that there are."""
        return tuple(header for header in (self.a, self.b) if header is not None)

    @property
    def ab_plan(self) -> AbPlan:
        """The plan of an A/B as it was stored before the first call."""
        return next((header.options.ab for header in self.headers if header.options.ab), AbPlan())

    @property
    def experiment_plan(self) -> ExperimentPlan | None:
        """The plan of an experiment's file as it was stored before the first call."""
        return self.headers[0].options.experiment if self.headers else None

    @property
    def ended(self) -> bool:
        """True when both arms have ended."""
        return len(self.headers) == 2 and all(header.state is RunState.ENDED for header in self.headers)

    @property
    def complete(self) -> bool:
        """True when nothing is left to run one after the other: a baseline that is INVALID ends it."""
        if self.a is not None and self.a.state is RunState.ENDED and self.a.verdict is Verdict.INVALID:
            return True
        return self.ended


def _attempts(
    store: Store,
    suite_name: str | None,
    plan_of: Callable[[RunHeader], AbPlan | ExperimentPlan | None],
    arms: tuple[str, str],
) -> dict[str, Attempt]:
    """Every attempt whose runs carry such a plan, newest first. Runs that were rescored are no arms."""
    found: dict[str, dict[str, RunHeader]] = {}
    for header in store.runs(suite_name):
        plan = plan_of(header)
        if plan is not None and header.rescored_from is None:
            found.setdefault(plan.id, {}).setdefault(plan.arm, header)
    a, b = arms
    return {number: Attempt(number, sides.get(a), sides.get(b)) for number, sides in found.items()}


def attempts_of(store: Store, name: str) -> list[Attempt]:
    """Every time that an experiment of this name was run, newest first."""

    def plan_of(header: RunHeader) -> ExperimentPlan | None:
        plan = header.options.experiment
        return plan if plan is not None and plan.name == name else None

    return list(_attempts(store, None, plan_of, ARMS).values())


def reopened(experiment: ExperimentFile, earlier: list[Attempt], *, resume: bool) -> Attempt | None:
    """The newest runs of the experiment; None when there are none.

    UsageError when they are of another plan, or are not finished and nobody asked to go on with them.
    """
    if not earlier:
        if resume:
            raise UsageError(f"there is no run of experiment {experiment.name} to resume: leave --resume out")
        return None
    latest, plan = earlier[0], experiment.plan()
    if latest.experiment_plan is None or latest.experiment_plan.digest != plan.digest:
        changed = ", ".join(changed_since(latest.experiment_plan, plan)) or "the plan"
        raise UsageError(
            f"{experiment.file.name}: since experiment {experiment.name} was run ({latest.id}) these have changed:"
            f" {changed}. Criteria that were not written beforehand decide nothing: undo the change, or run both"
            f" arms under the new plan with --restart"
        )
    if not latest.complete and not resume:
        raise UsageError(
            f"experiment {experiment.name} ({latest.id}) has not finished: --resume continues it, --restart starts"
            f" again"
        )
    return latest


def find_ab(store: Store, suite_name: str, name: str) -> Attempt:
    """An A/B by its name, or by nothing the suite's newest that has not ended; UsageError when there is none."""
    attempts = _attempts(store, suite_name, lambda header: header.options.ab, AB_ARMS)
    available = {number: attempt for number, attempt in attempts.items() if len(attempt.headers) == 2}
    if name:
        fitting = [number for number in available if number == name] or [
            item for item in available if item.startswith(name)
        ]
        if len(fitting) != 1:
            message = (
                f"{len(fitting)} begin so" if fitting else f"of suite {suite_name} there are: {_listed(available)}"
            )
            raise UsageError(f"there is no A/B {name}: {message}")
        return available[fitting[0]]
    for attempt in available.values():
        if not attempt.ended:
            return attempt
    raise UsageError(f"no unfinished A/B of suite {suite_name}: start one without --resume")


def _listed(attempts: Mapping[str, Attempt]) -> str:
    return ", ".join(list(attempts)[:5]) or "none yet"


def insist_on_plan(attempt: Attempt, asked: AbPlan, metric: str | None) -> None:
    """UsageError when something is asked for that was not planned: what is chosen after a look decides nothing."""
    given = {name for name in AbPlan.__dataclass_fields__ if getattr(asked, name) != getattr(AbPlan(), name)}
    given = given - {"metric"} | ({"metric"} if metric else set())
    other = [name for name in sorted(given) if getattr(asked, name) != getattr(attempt.ab_plan, name)]
    if other:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        raise UsageError(
            f"{attempt.id} was planned with other options: leave {options} out, or start a new one without --resume"
        )
