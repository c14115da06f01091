"""Asks a judge about answers it has not read, within a budget; what was paid for is kept and never bought twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.engine.costs import spent
from steelyard.engine.journal import Journal
from steelyard.engine.judges import Judges
from steelyard.engine.own_loop import in_own_loop
from steelyard.engine.pace import Closed, Purse
from steelyard.engine.sample import Weighing
from steelyard.engine.scoring_thread import ScoringThread
from steelyard.errors import UserMistake
from steelyard.judging.estimate import CostEstimate, estimate_cost, prompt_characters
from steelyard.records import Attempt, Sample
from steelyard.scoring.weigh import Weigher
from steelyard.store.base import Store
from steelyard.store.codec import decode
from steelyard.suite.case import Case, digest
from steelyard.suite.judge import JudgeModel
from steelyard.suite.models import Limits, SuiteModel
from steelyard.suite.signature import judge_asked
from steelyard.targets.base import Surroundings

Answered = tuple[Sample, Case]
"""A recorded answer with the case it is to be judged by."""


@dataclass(slots=True)
class Rejudged:
    """What came of asking: samples by place in the list that was given, and why the rest was not asked."""

    samples: dict[int, Sample] = field(default_factory=dict)
    stopped: str = ""


class BoughtCalls(Journal):
    """The calls about one text, kept in a store under a name made of judge, text, case and measures."""

    def __init__(self, store: Store, name: str) -> None:
        super().__init__(0, {}, lambda entry: asyncio.to_thread(store.cache, [entry]))
        self._store, self._name = store, name

    def get(self, part: str) -> Attempt | None:
        """The answer that was bought earlier; None when there is none."""
        data = self._store.cached(self._key(part))
        return None if data is None else decode(Attempt, data)

    @property
    def any_bought(self) -> bool:
        """True when a call was made, and not all of them were known."""
        return bool(self.keys)

    def _key(self, part: str) -> str:
        return f"rejudge/{self._name}/{part}"


class Rejudging:
    """A suite's judge in front of recorded answers, with what it costs to ask it."""

    def __init__(self, suite: SuiteModel, answered: Sequence[Answered], store: Store, for_run: str) -> None:
        """UserMistake when nobody could be asked. `store` keeps what is bought, for this run alone: what a judge said
        at the time of another does not show how it judged at the time of this one."""
        if suite.judge is None:
            raise UserMistake(f"--rejudge: the suite {suite.name} has no judge")
        self._suite, self._judge, self._store = suite, suite.judge, store
        self._weigher = Weigher(suite)
        self._under_way = 0
        self._scoring = ScoringThread()
        self._name = digest([judge_asked(self._judge, suite.folder), for_run])
        self._weighings = [
            Weighing(self._weigher, case, sample.variant, sample.repeat, sample.attempt) for sample, case in answered
        ]

    def estimate(self) -> CostEstimate:
        """What asking takes, without what has been bought already."""
        return estimate_cost(self._judge, self._prompt_lengths())

    def _prompt_lengths(self) -> Iterator[int]:
        first = next((member.name for member in self._judge.members if member.kind == "chat"), "")
        for weighing in self._weighings:
            weighed = weighing.weighed
            if weighed is None or weighed.to_judge is None:
                continue
            if self._calls(weighing).get(f"judge/{first}/0/0") is None:
                yield prompt_characters(self._judge, weighed.to_judge, weighing.case, weighed.metrics)

    def ask(self, limits: Limits, env: Mapping[str, str], max_cost: float | None) -> Rejudged:
        """Let the judge read the answers until all are read or the budget is spent."""
        _insist_on_price(self._judge, max_cost)
        return in_own_loop(self._ask(limits, env, Purse(max_cost)))

    async def _ask(self, limits: Limits, env: Mapping[str, str], purse: Purse) -> Rejudged:
        suite, result = self._suite, Rejudged()
        surroundings = Surroundings(
            folder=suite.folder,
            answer_schema=suite.answer.schema_data,
            env=dict(env),
            max_connections=limits.concurrency,
        )
        judges = Judges(self._judge, suite.folder, limits=limits, surroundings=surroundings, redact=suite.redactor)
        places = iter(range(len(self._weighings)))
        try:
            async with judges, asyncio.TaskGroup() as group:
                for _ in range(min(limits.concurrency, len(self._weighings))):
                    group.create_task(self._work(places, judges, purse, result))
        except BaseExceptionGroup as raised:
            raise raised.exceptions[0] from raised
        finally:
            self._scoring.close()
        return result

    async def _work(self, places: Iterator[int], judges: Judges, purse: Purse, result: Rejudged) -> None:
        while not result.stopped:
            # What is under way may cost less than it is taken for: nobody gives up before it has come to its end.
            while purse.awaits_first_price or (not purse.may_spend() and self._under_way):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            if not purse.may_spend():
                result.stopped = f"the spending limit of {purse.limit:g} leaves no room for another call"
            place = None if result.stopped else next(places, None)
            if place is None:
                return
            await self._read(place, judges, purse, result)

    async def _read(self, place: int, judges: Judges, purse: Purse, result: Rejudged) -> None:
        weighing, known = self._weighings[place], False
        calls = self._calls(weighing)
        purse.started()
        self._under_way += 1
        try:
            if weighing.to_judge is not None:
                await judges.judge(weighing, calls, purse, self._scoring)
            # What was bought earlier costs nothing now, and says nothing about the price of the next call.
            known = calls.any_bought and spent(weighing.sample) is not None
            result.samples[place] = weighing.sample
        except Closed:
            result.stopped = f"the spending limit of {purse.limit:g} is reached"
        finally:
            self._under_way -= 1
            # What judges cost has been paid call by call.
            purse.ended(0.0 if known else None)

    def _calls(self, weighing: Weighing) -> BoughtCalls:
        weighed, case = weighing.weighed, weighing.case
        measured = {} if weighed is None else {name: dict(each) for name, each in weighed.metrics.items()}
        told = [self._name, weighing.to_judge, measured, case.as_data()]
        return BoughtCalls(self._store, digest(told))


def _insist_on_price(judge: JudgeModel, max_cost: float | None) -> None:
    asked = [member for member in judge.members if member.kind == "chat"]
    if max_cost is not None and any(getattr(member.settings, "price", None) is None for member in asked):
        raise UserMistake(
            "--max-cost: the judge does not say what a call costs: declare `price` in its settings, or leave it out"
        )
