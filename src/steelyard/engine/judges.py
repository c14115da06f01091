"""The judges of a run: asks those that are models, reads what any of them says, and calls nobody on a rescore."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

from steelyard.engine.breaker import Breakers
from steelyard.engine.call import RetryPolicy
from steelyard.engine.journal import SCORER, Journal
from steelyard.engine.limits import Budget, Closed, Pace
from steelyard.engine.sample import Evaluation
from steelyard.engine.scoring_thread import ScoringThread
from steelyard.frozen import frozen
from steelyard.judging.ask import Bench, Complete, rules_judges
from steelyard.judging.complaints import complaint_check
from steelyard.judging.judgement import JudgeReader
from steelyard.records import CallResult, JudgeCall, Judgement, ScorerCall, Vote
from steelyard.scoring.evaluate import Evaluated
from steelyard.scoring.model_scorers import NeededCall
from steelyard.suite.case import Case, digest
from steelyard.suite.judge import JudgeModel
from steelyard.suite.models import Limits
from steelyard.suite.redaction import Redactor
from steelyard.targets.base import Response, TargetContext
from steelyard.targets.chat_wire import ChatWire
from steelyard.targets.embeddings import EmbeddingsConnection


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

    async def _ask(self, wanted: NeededCall, case: Case, journal: Journal, budget: Budget) -> ScorerCall:
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
