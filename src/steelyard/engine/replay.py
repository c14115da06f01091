"""The answers of an earlier run in the place of the system under test, so that only the judges are asked again."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Self

from steelyard.engine.rescore import same_question
from steelyard.errors import TargetFailure
from steelyard.records import Attempt, RunHeader
from steelyard.store.base import Store
from steelyard.targets.base import Ask, Reply


class ReplayTarget:
    """Gives each case the answer that the earlier run was given. It is known to runs by the name of its answers."""

    sends_attachments: ClassVar[bool] = False
    asks_nobody: ClassVar[bool] = True

    def __init__(self, store: Store, earlier: RunHeader) -> None:
        self._store = store
        self._earlier = earlier

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        return None

    async def ask(self, ask: Ask) -> Reply:
        """The kept answer, at no cost; TargetFailure as it failed then, or when it answers another question."""
        attempt = await asyncio.to_thread(self._attempt, ask)
        if attempt.failure is not None:
            raise TargetFailure(attempt.failure.kind, attempt.failure.message, retry=False, status=attempt.status)
        return Reply(
            text=attempt.text or "",
            status=attempt.status,
            tokens_in=attempt.tokens_in,
            tokens_out=attempt.tokens_out,
            cost=0.0,
            model=attempt.model,
            # One from the cache was no call then, and is none now.
            latency=0.0 if attempt.cached else attempt.latency,
            first_byte=attempt.first_byte,
            cut_off=attempt.cut_off,
        )

    def identity(self) -> dict[str, Any]:
        """That of the system which gave the answers."""
        return self._earlier.target

    def request_key(self, ask: Ask) -> Any:  # noqa: ARG002 - part of the protocol
        """None: the answers are in the store already."""
        return None

    def secrets(self) -> list[str]:
        """None are needed."""
        return []

    def _attempt(self, ask: Ask) -> Attempt:
        for sample, case in self._store.samples(self._earlier.id, case_ids=[ask.case.id]):
            if (sample.variant, sample.repeat) == (ask.variant.name, ask.repeat):
                if not same_question(case, ask.case):
                    raise TargetFailure("other_question", "the question has changed since it was answered", retry=False)
                return sample.attempt
        raise TargetFailure("not_recorded", f"run {self._earlier.id} holds no answer for this", retry=False)
