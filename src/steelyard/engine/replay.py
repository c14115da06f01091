"""The answers of an earlier run in the place of the system under test, so that only the judges are asked again."""

from __future__ import annotations

import asyncio
import time
from typing import Any, ClassVar, Self

from steelyard.engine.rescore import same_question
from steelyard.errors import TargetFailure
from steelyard.records import CallResult, Failure, RunHeader
from steelyard.store.base import Store
from steelyard.targets.base import Request, Response


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
