"""The first calls of a run: when they all fail so that asking again cannot help, no more are made."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.engine.costs import scorer_calls
from steelyard.engine.plan import Plan
from steelyard.engine.writer import Completed
from steelyard.failures import readable
from steelyard.records import Failure, Sample

_ENOUGH = 5
_CURES = {
    "http_401": "check the key: the environment variable that the suite names for it",
    "http_403": "check what the key may be used for",
    "http_404": "check the address and the name of the model",
    "refused": "start the service, or correct its address",
    "dns": "correct the name of the host",
    "unreachable": "check the network and the address",
    "tls": "check the certificate and the address",
}
"""By kind of failure that no further call will change, what will."""


class FirstCalls:
    """Holds back the first samples while all of them fail for good; a call that is answered lets them through."""

    def __init__(self, plan: Plan, *, recorded: bool, cures: Mapping[str, str]) -> None:
        """`recorded` says that the target only gives back what was answered before; `cures` are those that the caller
        knows better."""
        self._plan = plan
        self._cures = {kind: cures.get(kind, cure) for kind, cure in _CURES.items()}
        self._recorded = recorded
        self._held: list[tuple[Completed, str, Failure]] = []
        # In a small run the calls of all samples are soon under way: nothing is gained by a stop.
        self.watching = plan.n > 2 * _ENOUGH
        self.begun = 0
        """Samples that are asked for, or were: where none is left, nothing is gained by a stop."""
        self.why: str | None = None
        """Why no further call can help, once that is known."""

    def take(self, completed: Completed) -> list[Completed]:
        """What is to be stored now."""
        call = completed.sample.call_result
        if not self.watching or call.cached or call.tries == 0 or (self._recorded and call.failure is not None):
            return [completed]
        hopeless = self._hopeless(completed.sample)
        if hopeless is None or (self._held and self._held[0][1] != hopeless[0]):
            return [*self.release(), *([] if self.why and hopeless else [completed])]
        self._held.append((completed, *hopeless))
        self.why = self.why or self._reason()
        return []

    def release(self) -> list[Completed]:
        """What was held back; nothing of a run that was stopped by it: its calls are made again on `--resume`."""
        self.watching = False
        held, self._held = self._held, []
        return [] if self.why else [completed for completed, _, _ in held]

    def _hopeless(self, sample: Sample) -> tuple[str, Failure] | None:
        """Who failed for good, and how; None when that cannot be said."""
        if (failure := sample.call_result.failure) is not None:
            return ("the system under test", failure) if failure.kind in self._cures else None
        if sample.outcome.conclusive:
            return None
        judged = () if sample.judgement is None else sample.judgement.calls
        failures = [(f"judge {call.member}", call.call_result.failure) for call in judged]
        failures += [("the model that a scorer asks", call.call_result.failure) for call in scorer_calls(sample)]
        return next(((who, item) for who, item in failures if item is not None and item.kind in self._cures), None)

    def _reason(self) -> str | None:
        samples = [completed.sample for completed, _, _ in self._held]
        # What is not there may be so for one case or variant alone.
        of_cases = any(failure.kind == "http_404" for _, _, failure in self._held)
        cases = len({sample.case_id for sample in samples})
        enough = len(samples) >= _ENOUGH and (not of_cases or cases >= min(_ENOUGH, self._plan.n_cases))
        if (
            self.begun >= self._plan.n
            or not enough
            or len({sample.variant for sample in samples}) < len(self._plan.variants)
        ):
            return None
        _, who, failure = self._held[0]
        cure = self._cures[failure.kind]
        return (
            f"{who}: {readable(failure.message)}; {cure} ({failure.kind}: the first {len(samples)} samples all"
            " failed so, and asking again cannot help; --keep-going asks all the same)"
        )
