"""Asks a judge about answers it has not read, within a budget; what was paid for is kept and never bought twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from steelyard.engine.costs import scorer_calls, spent
from steelyard.engine.journal import Journal
from steelyard.engine.judges import Judges
from steelyard.engine.limits import Budget, Closed
from steelyard.engine.process import in_own_loop
from steelyard.engine.sample import Evaluation
from steelyard.engine.scoring_thread import ScoringThread
from steelyard.errors import UsageError
from steelyard.frozen import slotted
from steelyard.judging.cost_estimate import CostEstimate, estimate_cost, prompt_characters
from steelyard.records import CallResult, Sample
from steelyard.scoring.evaluate import Evaluator
from steelyard.store.base import Store
from steelyard.store.codec import decode
from steelyard.suite.case import Case, digest
from steelyard.suite.models import Limits, SuiteModel
from steelyard.suite.prices import DECLARE_PRICE, price_of, read_prices
from steelyard.suite.signature import judge_asked
from steelyard.targets.base import TargetContext

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
