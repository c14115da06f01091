"""Score recorded answers again without a call, or ask only for those that failed."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

from steelyard.engine.call import model_calls, scorer_calls
from steelyard.engine.health import Health
from steelyard.engine.plan import Plan
from steelyard.engine.pool import ScoresRecorded, Task
from steelyard.engine.sample import Evaluation
from steelyard.engine.writer import SCORER, TARGET, Counts, Progress
from steelyard.errors import SteelyardError, TargetFailure, UsageError
from steelyard.frozen import slotted
from steelyard.loading.chosen_judge import as_recorded
from steelyard.records import CallResult, Failure, Judgement, Outcome, Retried, RunHeader, RunState, Sample
from steelyard.scoring.evaluate import Evaluator
from steelyard.store.base import Store
from steelyard.store.codec import encode
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.models import SuiteModel
from steelyard.targets.base import Request, Response

if TYPE_CHECKING:
    from steelyard.engine.judges import Judges

_CHUNK = 500


@slotted
class Rescored:
    """What was scored again, and what could not be: answers to questions that have changed or are gone."""

    counts: Counts
    health: Health
    changed_questions: int = 0
    gone_cases: int = 0


def rescore(
    store: Store,
    *,
    from_run: str,
    run_id: str,
    cases: Iterator[Case],
    scoring: ScoresRecorded,
    progress: Progress,
    planned: int,
) -> Rescored:
    """Score every attempt of `from_run` whose question still stands, and keep the samples under `run_id`.

    What that run holds already is left as it is.
    """
    result = Rescored(Counts(planned=planned), Health())
    seen = 0
    # The next chunk is read while processes score the one before.
    under_way: deque[tuple[Sequence[Future[list[Sample]]], list[Case]]] = deque()

    def keep_first() -> None:
        scored, used = under_way.popleft()
        samples = [sample for piece in scored for sample in piece.result()]
        _keep(store, run_id, from_run, samples, used, result)
        progress.update(result.counts, samples)

    while chunk := list(islice(cases, _CHUNK)):
        now = {case.id: case for case in chunk}
        tasks: list[Task] = []
        used: dict[str, Case] = {}
        done = store.done(run_id, list(now))
        for sample, then in store.samples(from_run, case_ids=list(now)):
            seen += 1
            case = now[sample.case_id]
            if sample.key in done:
                continue
            if not same_question(case, then):
                result.changed_questions += 1
                continue
            calls = () if sample.judgement is None else sample.judgement.calls
            asked = scorer_calls(sample)
            tasks.append(Task(case, sample.variant, sample.repeat, sample.call_result, calls, asked))
            used[case.id] = case
        if tasks:
            under_way.append((scoring.submit(tasks), list(used.values())))
        if len(under_way) > scoring.ahead:
            keep_first()
    while under_way:
        keep_first()
    result.gone_cases = planned - seen
    return result


def same_question(case: Case, other: Case) -> bool:
    """True when an answer to one is an answer to the other, whatever has become of their truth."""
    return case.question == other.question


def _keep(
    store: Store, run_id: str, from_run: str, samples: Sequence[Sample], cases: Sequence[Case], result: Rescored
) -> None:
    if not samples:
        return
    store.add_rescored(run_id, from_run, samples, cases)
    for sample in samples:
        result.health.watch(sample)
        result.counts.add(sample.outcome)


# The answers of an earlier run in the place of the system under test, so that only the judges are asked again.


class ReplayTarget:
    """Gives each case the answer that the earlier run was given. It is known to runs by the name of its answers."""

    sends_attachments: ClassVar[bool] = False
    makes_no_calls: ClassVar[bool] = True

    def __init__(self, store: Store, earlier: RunHeader) -> None:
        self._store = store
        self._earlier = earlier

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        return None

    async def ask(self, ask: Request) -> Response:
        """Not called: a run takes the recorded call from `replayed`, with what it cost and how long it took."""
        raise TargetFailure("not_recorded", f"{ask.case.id}: recorded answers are replayed, not requested", retry=False)

    async def replayed(self, ask: Request) -> CallResult:
        """The recorded call as it was; a failed one where there is none, or where it answers another question."""
        return await asyncio.to_thread(self._call_result, ask)

    def identity(self) -> dict[str, Any]:
        """That of the system which gave the answers."""
        return self._earlier.target.to_data()

    def request_key(self, ask: Request) -> Any:  # noqa: ARG002 - part of the protocol
        """None: the answers are in the store already."""
        return None

    def secrets(self) -> list[str]:
        """None are needed."""
        return []

    def _call_result(self, ask: Request) -> CallResult:
        for sample, case in self._store.samples(self._earlier.id, case_ids=[ask.case.id]):
            if (sample.variant, sample.repeat) == (ask.variant.name, ask.repeat):
                if not same_question(case, ask.case):
                    return _not_replayed("other_question", "the question has changed since it was answered")
                return sample.call_result
        return _not_replayed("not_recorded", f"run {self._earlier.id} holds no answer for this")


def _not_replayed(kind: str, message: str) -> CallResult:
    return CallResult(failure=Failure(kind, message), started_at=time.time(), tries=0)


# Recorded answers of one run scored by the suite of another, in memory: nothing is stored, and no call is made.

NOT_KEPT = "the recorded answers of A's judge cannot be scored by B's rules: "


class OtherBalance:
    """A suite that scores what another run has recorded. `judge_then` is that run's judge as its header describes it.

    With `same_judge` a judge that is code is asked again; otherwise it is another code than then, and its recorded
    judgement stands.
    """

    def __init__(self, suite: SuiteModel, judge_then: JudgeModel | None, *, same_judge: bool) -> None:
        self._suite = suite
        self._evaluator = Evaluator(suite)
        self._as_judged_then: Judges | None = None
        self.why_no_words = ""
        """Why what the judge said then cannot be read again; "" when it can, or nobody judged."""
        if suite.judge is None:
            self.why_no_words = "" if judge_then is None else "A has a judge, and B has none"
        elif judge_then is None:
            self.why_no_words = "A has no judge, and B has one"
        elif same_judge or any(member.kind != "python" for member in judge_then.members):
            from steelyard.engine.judges import Judges

            try:
                self._as_judged_then = Judges(as_recorded(suite.judge, judge_then), suite.folder)
            except UsageError:
                message = "they were given on another scale or for other dimensions"
                self.why_no_words = NOT_KEPT + message

    @property
    def asks_no_model(self) -> bool:
        """True when everything that the suite says of an answer can be said again without a call."""
        judge = self._suite.judge
        if self._evaluator.needs_models:
            return False
        return judge is None or all(member.kind == "python" for member in judge.members)

    @cached_property
    def _now(self) -> Judges | None:
        if self._suite.judge is None:
            return None
        from steelyard.engine.judges import Judges

        return Judges(self._suite.judge, self._suite.folder)

    def evaluate(self, sample: Sample, case: Case) -> Sample:
        """The answer by this suite and the truth of `case`, with what its judge said then."""
        return self._evaluated(sample, case, again=False)

    def judge(self, sample: Sample, case: Case) -> Sample:
        """The answer by this suite and its own judge, which must be code."""
        return self._evaluated(sample, case, again=True)

    def _evaluated(self, sample: Sample, case: Case, *, again: bool) -> Sample:
        try:
            to_score = (self._evaluator, case, sample.variant, sample.repeat, sample.call_result)
            scoring = Evaluation(*to_score, scorer_calls(sample))
            if scoring.to_judge is not None:
                self._judged(scoring, sample.judgement, again=again)
        except SteelyardError:  # the suite has no reading of this truth: no reading, and no reason to end
            return replace(sample, outcome=Outcome.JUDGE_FAILED, score=None, passed=None)
        return scoring.sample

    def _judged(self, evaluation: Evaluation, then: Judgement | None, *, again: bool) -> None:
        if again and self._now is not None:
            self._now.read_again(evaluation, ())
        elif self._as_judged_then is not None and then is not None and then.votes[:1] and not then.calls:
            self._as_judged_then.read_recorded(evaluation, then.votes[0])
        elif self._as_judged_then is not None:
            self._as_judged_then.read_again(evaluation, () if then is None else then.calls)
        else:
            evaluation.judge(lambda _: Judgement(None, message="it was not judged") if then is None else then)


def reading_of(sample: Sample, *, by_pass: bool) -> float:
    """What a sample adds to the headline number; NaN without a reading."""
    if not sample.outcome.conclusive or sample.score is None:
        return float("nan")
    if sample.outcome is Outcome.MALFORMED:
        return 0.0
    if not by_pass:
        return sample.score
    return float("nan") if sample.passed is None else float(sample.passed)


# A new run that asks for the failed samples of an earlier one alone, and takes over the others as they are.

_FAILED_AT_ONCE = 500


def find_failed(store: Store, name: str, suite_name: str) -> RunHeader:
    """The run whose failed samples are to be asked for again; UsageError when that cannot be done."""
    earlier = store.run(name)
    if earlier.suite_name != suite_name:
        raise UsageError(f"run {earlier.id} is of suite {earlier.suite_name}, not of {suite_name}")
    if earlier.state is not RunState.ENDED:
        raise UsageError(f"run {earlier.id} has not ended: resume it first, with --resume {earlier.id}")
    if earlier.options.imported is not None:
        raise UsageError(f"run {earlier.id} was made by another tool: only a run of this suite can be retried")
    if earlier.options.ab is not None:
        raise UsageError(f"run {earlier.id} is an arm of an A/B: its samples belong together with the other arm's")
    return earlier


def retried(store: Store, earlier: RunHeader, plan: Plan) -> Retried:
    """What a run takes over, as its header has it: from which run, how many samples, and how many are asked for again.

    UsageError when nothing failed, or the samples are not those of the plan.
    """
    retained = sum(not is_failed(sample) for sample in planned_samples(store, earlier, plan))
    if retained == plan.n:
        raise UsageError(f"run {earlier.id} has no failed samples: there is nothing to retry")
    asked, before = plan.n - retained, earlier.options.retried
    total, retries = (0, 0) if before is None else (before.total or before.asked, before.retries)
    return Retried(earlier.id, retained, asked, total=asked + total, retries=retries + 1)


def planned_samples(store: Store, earlier: RunHeader, plan: Plan) -> Iterator[Sample]:
    """The samples of a run, each at its place in the plan; UsageError when one has another place there."""
    asks = plan.asks()
    for sample, _ in store.samples(earlier.id):
        planned = next((ask for ask in asks if ask.position == sample.position), None)
        if planned is None or (planned.case.id, planned.ask.variant.name, planned.ask.repeat) != sample.key:
            raise UsageError(f"the cases are in another order than in run {earlier.id}: start a new run")
        yield sample


def is_failed(sample: Sample) -> bool:
    """True when a call failed, of the target or of a judge that is missed; not for a scorer that broke."""
    if sample.outcome is Outcome.JUDGE_FAILED:
        return any(call.failure is not None for call in model_calls(sample))
    return sample.outcome is Outcome.TARGET_FAILED


def take_over(store: Store, earlier: str, run_id: str) -> None:
    """Put into the run what it takes over and does not hold yet: whole samples and, of those whose judge failed, the
    answer and what the judges said, so that only the calls that failed are made again."""
    pairs = store.samples(earlier)
    while chunk := list(islice(pairs, _FAILED_AT_ONCE)):
        done = store.done(run_id, [sample.case_id for sample, _ in chunk])
        missing = [(sample, case) for sample, case in chunk if sample.key not in done]
        retained = [(sample, case) for sample, case in missing if not is_failed(sample)]
        cases: dict[str, Case] = {case.id: case for _, case in retained}
        store.add_rescored(run_id, earlier, [sample for sample, _ in retained], list(cases.values()))
        store.journal(run_id, [entry for sample, _ in missing if is_failed(sample) for entry in _answered(sample)])


def _answered(sample: Sample) -> Iterator[tuple[str, dict[str, Any]]]:
    calls = () if sample.judgement is None else sample.judgement.calls
    parts = [(TARGET, sample.call_result)]
    parts += [(SCORER + call.key, call.call_result) for call in scorer_calls(sample)]
    parts += [(f"judge/{call.member}/{call.repeat}/{call.turn}", call.call_result) for call in calls]
    for part, call_result in parts:
        if call_result.failure is None:
            yield f"{sample.position}/{part}", encode(call_result)
