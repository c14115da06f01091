"""How a suite's figures went, run by run: plain data that every view of it is made from."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.analysis.model import Estimate


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """One run as the table shows it."""

    run_id: str
    answered_at: float
    """When its answers were asked for; of answers that were weighed again, when they first were."""
    verdict: str
    """PASS, FAIL, AMBIGUOUS, INVALID; "" without gates."""
    n: int
    """Samples that the average stands on."""
    n_missing: int
    figures: dict[str, Estimate]
    """By metric, as gates name it."""
    best_band: Estimate | None = None
    """Share of samples in the suite's highest band."""
    left_out: str = ""
    """Why it has no part in the trends; "" when it has."""
    rescored_from: str | None = None
    baselines: tuple[str, ...] = ()
    """Names of the baselines that stand for it now."""
    target: str = ""
    """What answered: its kind, and its model or place."""


@dataclass(frozen=True, slots=True)
class HistoryMark:
    """Something in how the runs were made that is another from this run on."""

    at: int
    """Place among the runs of the trends."""
    run_id: str
    when: float
    instrument: bool
    """True for judge, rules, scorers, shape, truth and cases: what moves then may be theirs. False for what is weighed:
    target, model, prompts."""
    parts: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
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
    instrument: bool
    """True when the instrument changed with it: then it is not put down to the system."""
    sentence: str


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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

    @property
    def in_trends(self) -> tuple[HistoryRun, ...]:
        """The runs that have a part in the trends, oldest first."""
        return tuple(run for run in self.runs if not run.left_out)


def figure_by_slice(history: History) -> str:
    """The figure that is followed slice by slice: `average`."""
    first = history.grouped[0]
    return first.metric.removeprefix(f"{history.by}.{first.title}.")
