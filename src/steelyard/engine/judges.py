"""The judges of a run: asks those that are models, reads what any of them says, and calls nobody on a rescore."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from steelyard.engine.breaker import Breakers
from steelyard.engine.caller import Patience
from steelyard.engine.journal import Journal
from steelyard.engine.pace import Closed, Pace, Purse
from steelyard.engine.sample import Weighing
from steelyard.engine.scoring_thread import ScoringThread
from steelyard.judging.asking import Bench, rules_judges
from steelyard.judging.complaints import complaint_check
from steelyard.judging.reading import JudgeReader
from steelyard.records import Attempt, Ballot, JudgeCall, Judgement, Mode
from steelyard.scoring.weigh import Weighed
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.models import Limits
from steelyard.suite.redaction import Redactor
from steelyard.targets.base import Reply, Surroundings


class Judges:
    """Who judges in one run. Those that are models are asked inside `async with` only."""

    def __init__(
        self,
        judge: JudgeModel,
        folder: Path,
        *,
        limits: Limits | None = None,
        surroundings: Surroundings | None = None,
        redact: Redactor | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        """Without limits and surroundings nobody can be asked: enough to read recorded answers again. `secrets` are
        those of the target, which a judge may have from its answers."""
        self._redact = redact
        self._reader = JudgeReader(judge, rules_judges(judge, folder), complaint_check(judge, folder))
        self.are_asked = any(member.kind != "python" for member in judge.members)
        self._bench: Bench | None = None
        self._callers: dict[str, Patience] = {}
        self._paces: list[Pace] = []
        if limits is not None and surroundings is not None and self.are_asked:
            self._bench = Bench(judge, surroundings)
            secrets = [*secrets, *self._bench.secrets()]
            # Each judge has a pace of its own: one that throttles must not slow down the others or the target.
            for member in judge.members:
                pace = Pace(limits.concurrency, None)
                self._paces.append(pace)
                self._callers[member.name] = Patience(limits, pace, secrets)

    def watched_by(self, breakers: Breakers) -> None:
        """Give each judge a circuit breaker of its own."""
        for (name, caller), pace in zip(self._callers.items(), self._paces, strict=True):
            caller.watched_by(breakers.of(pace, f"judge {name}"))

    async def __aenter__(self) -> Self:
        if self._bench is not None:
            await self._bench.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._bench is not None:
            await self._bench.__aexit__(*exc_info)

    async def judge(self, weighing: Weighing, journal: Journal, purse: Purse, scoring: ScoringThread) -> None:
        """Ask about the text and add what is said, read by `scoring`; calls that the journal holds are not made again.

        Closed when the purse is empty before the last call: what was said so far is in the journal.
        """
        weighed = weighing.weighed
        calls: tuple[JudgeCall, ...] = ()
        if self._bench is not None and weighed is not None and weighed.to_judge is not None:
            case = weighing.case
            callers = {name: _Discreet(caller, self._redact, case, purse) for name, caller in self._callers.items()}
            calls = await self._bench.ask(weighed.to_judge, case, weighed.metrics, callers.__getitem__, journal)
        await scoring.run(lambda: self._read(weighing, calls))

    def close(self) -> None:
        """Start no further call."""
        for pace in self._paces:
            pace.close()

    def read_again(self, weighing: Weighing, calls: Sequence[JudgeCall]) -> None:
        """Add what recorded answers of the judges say of the text."""
        self._read(weighing, tuple(calls))

    def read_recorded(self, weighing: Weighing, ballot: Ballot) -> None:
        """Add what a reply says that another tool recorded, whose calls nobody kept; code is asked again."""
        if not self.are_asked:
            self._read(weighing, ())
            return
        weighing.judge(
            lambda weighed: self._reader.recorded(
                ballot.reply if ballot.mode else None,
                weighed.to_judge or "",
                weighing.case,
                weighed.metrics,
                only_scores=ballot.mode is Mode.BASIC,
                told=ballot.told,
            )
        )

    def _read(self, weighing: Weighing, calls: tuple[JudgeCall, ...]) -> None:
        def read(weighed: Weighed) -> Judgement:
            try:
                return self._reader.read(calls, weighed.to_judge or "", weighing.case, weighed.metrics)
            except ValueError as error:
                if calls:  # the scale is broken, and what was paid for must not be lost: it can be read again
                    weighing.sample.judgement = Judgement(None, metrics=weighed.metrics, calls=calls, told=str(error))
                raise

        weighing.judge(read)


@dataclass(frozen=True, slots=True)
class _Discreet:
    """A caller within the budget whose answers hold no personal data of the case: judges like to quote names."""

    caller: Patience
    redact: Redactor | None
    case: Case
    purse: Purse

    async def attempt(self, send: Callable[[], Awaitable[Reply]], seconds: float | None = None) -> Attempt:
        if self.purse.is_empty:
            raise Closed
        attempt = await self.caller.attempt(send, seconds)
        self.purse.pay(attempt.cost)
        return attempt if self.redact is None else self.redact.attempt(attempt, self.case.private)
