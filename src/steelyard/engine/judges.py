"""The judges of a run, and asking them again.

With it comes the HTTP client, which a run without a judge may not need: it is imported where a suite has one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import field
from pathlib import Path
from typing import Self

from steelyard.engine.call import RetryPolicy, scorer_calls, spent
from steelyard.engine.limits import Breakers, Budget, Closed, Pace
from steelyard.engine.process import in_own_loop
from steelyard.engine.sample import Evaluation, ScoringThread
from steelyard.engine.writer import SCORER, Journal
from steelyard.errors import UsageError
from steelyard.frozen import frozen, slotted
from steelyard.judging.ask import Bench, Complete, CostEstimate, estimate_cost, prompt_characters, rules_judges
from steelyard.judging.evidence import complaint_check
from steelyard.judging.judgement import JudgeReader
from steelyard.records import CallResult, JudgeCall, Judgement, Sample, ScorerCall, Vote
from steelyard.scoring.evaluate import Evaluated, Evaluator
from steelyard.scoring.model_scorers import Wanted
from steelyard.store.base import Store
from steelyard.store.codec import decode
from steelyard.suite.case import Case, digest
from steelyard.suite.judge import JudgeModel
from steelyard.suite.models import Limits, SuiteModel
from steelyard.suite.prices import DECLARE_PRICE, price_of, read_prices
from steelyard.suite.redaction import Redactor
from steelyard.suite.signature import judge_asked
from steelyard.targets.base import Response, TargetContext
from steelyard.targets.chat import ChatWire
from steelyard.targets.embeddings import EmbeddingsConnection

# The judges of a run: asks those that are models, reads what any of them says, and calls nobody on a rescore.


class Judges:
    """Who judges in one run. Those that are models are asked inside `async with` only."""

    def __init__(
        self,
        judge: JudgeModel | None,
        folder: Path,
        *,
        models: Sequence[EmbeddingsConnection] = (),
        limits: Limits | None = None,
        target_context: TargetContext | None = None,
        redact: Redactor | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        """Without limits and context no call can be made: enough to read recorded answers again. `secrets` are
        those of the target, which a judge may have from its answers. `models` are those that scorers need."""
        self._redact = redact
        self._reader: JudgeReader | None = None
        members = () if judge is None else judge.members
        if judge is not None:
            self._reader = JudgeReader(judge, rules_judges(judge, folder), complaint_check(judge, folder))
        self.are_asked = bool(models) or any(member.kind != "python" for member in members)
        self._bench: Bench | None = None
        self._callers: dict[str, RetryPolicy] = {}
        self._paces: list[Pace] = []
        self._models: dict[str, ChatWire] = {}
        if limits is None or target_context is None:
            return
        for model in {_name(model): model for model in models}.values():
            wire = self._models[_name(model)] = ChatWire(model, target_context, _name(model))
            self._paces.append(Pace(limits.concurrency, None))
            self._callers[_name(model)] = RetryPolicy(limits, self._paces[-1], [*secrets, *wire.secrets()])
        if judge is not None and any(member.kind != "python" for member in members):
            self._bench = Bench(judge, target_context)
            secrets = [*secrets, *self._bench.secrets()]
            # Each judge has a pace of its own: one that throttles must not slow down the others or the target.
            for member in members:
                pace = Pace(limits.concurrency, None)
                self._paces.append(pace)
                self._callers[member.name] = RetryPolicy(limits, pace, secrets)

    def watched_by(self, breakers: Breakers) -> None:
        """Give each judge a circuit breaker of its own."""
        for (name, caller), pace in zip(self._callers.items(), self._paces, strict=True):
            caller.watched_by(breakers.of(pace, name if name in self._models else f"judge {name}"))

    def asked_by(self, complete: Complete, grace: float) -> None:
        """Let other processes make the calls; each watches the time of a call, and is given `grace` seconds more."""
        if self._bench is not None:
            self._bench.complete = complete
        for name, caller in self._callers.items():
            caller.grace = 0.0 if name in self._models else grace

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opening:
            for wire in self._models.values():
                await opening.enter_async_context(wire)
            if self._bench is not None:
                await opening.enter_async_context(self._bench)
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._open.aclose()

    async def look_up(
        self, evaluation: Evaluation, journal: Journal, budget: Budget, scoring: ScoringThread
    ) -> Evaluation:
        """The answer scored with what its scorers need of a model; calls that the journal holds are not made again."""
        if self._models and scoring.is_remote:
            evaluation = await scoring.run(evaluation.again)  # workers do not say what is wanted
        if not self._models or not evaluation.wanted:
            return evaluation
        asked = (self._ask(wanted, evaluation.case, journal, budget) for wanted in evaluation.wanted)
        ended = await asyncio.gather(*asked, return_exceptions=True)
        calls: list[ScorerCall] = []
        for call in ended:
            if isinstance(call, BaseException):
                raise call
            calls.append(call)
        return await scoring.run(lambda: evaluation.again(calls))

    async def _ask(self, wanted: Wanted, case: Case, journal: Journal, budget: Budget) -> ScorerCall:
        part, name = SCORER + wanted.key, _name(wanted.connection)
        call_result = journal.get(part)
        if call_result is None:
            caller = _RedactingCaller(self._callers[name], None, case, budget)
            wire, body = self._models[name], wanted.connection.body(wanted.texts)
            call_result = await caller.perform(lambda: wire.complete(body, None), wanted.connection.timeout)
            # A number is no text of the case; the body of a failure may quote one.
            if call_result.failure is not None and self._redact is not None:
                call_result = self._redact.redact_call(call_result, case.private)
            await journal.put(part, call_result)
        return ScorerCall(wanted.key, call_result)

    async def judge(self, evaluation: Evaluation, journal: Journal, budget: Budget, scoring: ScoringThread) -> None:
        """Ask about the text and add what is said, read by `scoring`; calls that the journal holds are not made again.

        Closed when the budget is spent before the last call: what was said so far is in the journal.
        """
        scored = evaluation.evaluated
        calls: tuple[JudgeCall, ...] = ()
        if self._bench is not None and scored is not None and scored.to_judge is not None:
            case = evaluation.case
            callers = {
                name: _RedactingCaller(caller, self._redact, case, budget) for name, caller in self._callers.items()
            }
            calls = await self._bench.ask(
                scored.to_judge, case, scored.metrics, callers.__getitem__, journal, scored.findings
            )
        await scoring.run(lambda: self._read(evaluation, calls))

    def close(self) -> None:
        """Start no further call."""
        for pace in self._paces:
            pace.close()

    def read_again(self, evaluation: Evaluation, calls: Sequence[JudgeCall]) -> None:
        """Add what recorded answers of the judges say of the text."""
        self._read(evaluation, tuple(calls))

    def read_recorded(self, evaluation: Evaluation, vote: Vote) -> None:
        """Add what a reply says that another tool recorded, whose calls nobody kept; code is asked again."""
        reader = self._reader
        if not self.are_asked or reader is None:
            self._read(evaluation, ())
            return
        evaluation.judge(
            lambda scored: reader.recorded(
                vote.response if vote.mode else None,
                scored.to_judge or "",
                evaluation.case,
                scored.metrics,
                message=vote.message,
                unanswered=not any(remark.code == "VIOLATION" for remark in vote.remarks),
                findings=scored.findings,
            )
        )

    def _read(self, evaluation: Evaluation, calls: tuple[JudgeCall, ...]) -> None:
        reader = self._reader
        if reader is None:
            raise RuntimeError("nobody judges")

        def read(scored: Evaluated) -> Judgement:
            try:
                return reader.read(calls, scored.to_judge or "", evaluation.case, scored.metrics, scored.findings)
            except ValueError as error:
                if calls:  # the code is broken, and what was paid for must not be lost: it can be read again
                    evaluation.sample.judgement = Judgement(
                        None, metrics=scored.metrics, calls=calls, message=str(error)
                    )
                raise

        evaluation.judge(read)


def _name(model: EmbeddingsConnection) -> str:
    """The same for the same model at the same place, asked with the same headers."""
    size = "" if model.dimensions is None else f" ({model.dimensions} dimensions)"
    headers = f" ({digest(model.identity())[:6]})" if model.headers else ""
    return f"embeddings {model.model} at {model.base_url}{size}{headers}"


@frozen
class _RedactingCaller:
    """A caller within the budget whose answers hold no personal data of the case: judges like to quote names."""

    caller: RetryPolicy
    redact: Redactor | None
    case: Case
    budget: Budget

    async def perform(self, send: Callable[[], Awaitable[Response]], seconds: float | None = None) -> CallResult:
        if self.budget.is_empty:
            raise Closed
        call_result = await self.caller.perform(send, seconds)
        self.budget.pay(call_result.cost)
        return call_result if self.redact is None else self.redact.redact_call(call_result, self.case.private)


# Asks a judge about answers it has not read, within a budget; what was paid for is kept and never bought twice.

Answered = tuple[Sample, Case]
"""A recorded answer with the case it is to be judged by."""


@slotted
class Rejudged:
    """What came of asking: samples by place in the list that was given, and why the rest was not asked."""

    samples: dict[int, Sample] = field(default_factory=dict)
    stopped: str = ""


class BoughtCalls(Journal):
    """The calls about one text, kept in a store under a name made of judge, text, case and measures."""

    def __init__(self, store: Store, name: str) -> None:
        super().__init__(0, {}, lambda entry: asyncio.to_thread(store.cache, [entry]))
        self._store, self._name = store, name

    def get(self, part: str) -> CallResult | None:
        """The answer that was bought earlier; None when there is none."""
        data = self._store.cached(self._key(part))
        return None if data is None else decode(CallResult, data)

    @property
    def any_bought(self) -> bool:
        """True when a call was made, and not all of them were known."""
        return bool(self.keys)

    def _key(self, part: str) -> str:
        return f"rejudge/{self._name}/{part}"


class Rejudging:
    """A suite's judge in front of recorded answers, with what it costs to ask it."""

    def __init__(self, suite: SuiteModel, answered: Sequence[Answered], store: Store, for_run: str) -> None:
        """UsageError when nobody could be asked. `store` keeps what is bought, for this run alone: what a judge said
        at the time of another does not show how it judged at the time of this one."""
        if suite.judge is None:
            raise UsageError(f"--rejudge: the suite {suite.name} has no judge")
        self._suite, self._judge, self._store = suite, suite.judge, store
        self._evaluator = Evaluator(suite)
        self._under_way = 0
        self._scoring = ScoringThread()
        self._name = digest([judge_asked(self._judge, suite.folder), for_run])
        self._weighings = [
            Evaluation(self._evaluator, case, sample.variant, sample.repeat, sample.call_result, scorer_calls(sample))
            for sample, case in answered
        ]

    def estimate(self) -> CostEstimate:
        """What asking takes, without what has been bought already."""
        return estimate_cost(self._judge, self._prompt_lengths(), read_prices(self._suite.folder))

    def _prompt_lengths(self) -> Iterator[int]:
        first = next((member.name for member in self._judge.members if member.is_model), "")
        for scoring in self._weighings:
            scored = scoring.evaluated
            if scored is None or scored.to_judge is None:
                continue
            if self._calls(scoring).get(f"judge/{first}/0/0") is None:
                yield prompt_characters(self._judge, scored.to_judge, scoring.case, scored.metrics, scored.findings)

    def ask(self, limits: Limits, env: Mapping[str, str], max_cost: float | None) -> Rejudged:
        """Let the judge read the answers until all are read or the budget is spent."""
        prices, asked = read_prices(self._suite.folder), [item for item in self._judge.members if item.is_model]
        if max_cost is not None and any(price_of(member.settings, prices) is None for member in asked):
            raise UsageError(f"--max-cost: the judge does not say what a call costs: {DECLARE_PRICE}, or leave it out")
        return in_own_loop(self._ask(limits, env, Budget(max_cost)))

    async def _ask(self, limits: Limits, env: Mapping[str, str], budget: Budget) -> Rejudged:
        suite, result = self._suite, Rejudged()
        context = TargetContext(
            folder=suite.folder,
            answer_schema=suite.answer.schema_data,
            env=dict(env),
            max_connections=limits.concurrency,
            prices=read_prices(suite.folder),
        )
        judges = Judges(self._judge, suite.folder, limits=limits, target_context=context, redact=suite.redactor)
        places = iter(range(len(self._weighings)))
        try:
            async with judges, asyncio.TaskGroup() as group:
                for _ in range(min(limits.concurrency, len(self._weighings))):
                    group.create_task(self._work(places, judges, budget, result))
        except BaseExceptionGroup as raised:
            raise raised.exceptions[0] from raised
        finally:
            self._scoring.close()
        return result

    async def _work(self, places: Iterator[int], judges: Judges, budget: Budget, result: Rejudged) -> None:
        while not result.stopped:
            # What is under way may cost less than it is taken for: nobody gives up before it has come to its end.
            while budget.awaits_first_price or (not budget.may_spend() and self._under_way):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            if not budget.may_spend():
                result.stopped = f"the spending limit of {budget.limit:g} leaves no room for another call"
            place = None if result.stopped else next(places, None)
            if place is None:
                return
            await self._read(place, judges, budget, result)

    async def _read(self, place: int, judges: Judges, budget: Budget, result: Rejudged) -> None:
        scoring, available = self._weighings[place], False
        calls = self._calls(scoring)
        budget.started()
        self._under_way += 1
        try:
            if scoring.to_judge is not None:
                await judges.judge(scoring, calls, budget, self._scoring)
            # What was bought earlier costs nothing now, and says nothing about the price of the next call.
            available = calls.any_bought and spent(scoring.sample) is not None
            result.samples[place] = scoring.sample
        except Closed:
            result.stopped = f"the spending limit of {budget.limit:g} is reached"
        finally:
            self._under_way -= 1
            # What judges cost has been paid call by call.
            budget.ended(0.0 if available else None)

    def _calls(self, evaluation: Evaluation) -> BoughtCalls:
        scored, case = evaluation.evaluated, evaluation.case
        measured = {} if scored is None else {name: dict(item) for name, item in scored.metrics.items()}
        messages = [self._name, evaluation.to_judge, measured, case.as_data()]
        return BoughtCalls(self._store, digest(messages))
