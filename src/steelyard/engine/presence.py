"""Whether the system under test is still there: asked after the last call, and when a call finds nobody to answer."""

from __future__ import annotations

from steelyard.engine.limits import Pace
from steelyard.records import CallResult
from steelyard.redact import redact_known
from steelyard.targets.base import Target
from steelyard.user_code import raised_in_words

_NOBODY_THERE = frozenset({"refused", "unreachable", "connect_timeout", "cut"})
"""Failures after which it is worth asking."""


class Presence:
    """Asks targets that can tell; of others nothing is known, and they count as there.

    While it asks after a failed call, no further call is made: of a system that is gone all would fail.
    """

    def __init__(self, target: Target, pace: Pace) -> None:
        self._ask = getattr(target, "gone", None)
        self.is_final = not getattr(target, "may_come_back", False)
        """False when a system that is gone may come back by itself."""
        self._pace = pace
        self._asking = False

    async def gone(self) -> str | None:
        """Why it is not there any more, in words; None when it is, or cannot tell."""
        if self._ask is None:
            return None
        try:
            message = await self._ask()
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; what was scored must not be lost
            return f"the target could not check whether the system is still there: {raised_in_words(error)}"
        return None if message is None else redact_known(str(message))

    async def gone_after(self, call_result: CallResult) -> str | None:
        """The same after a call that found nobody; None after others, and while another call asks already."""
        return None if call_result.failure is None else await self.gone_after_failure(call_result.failure.kind)

    async def gone_after_failure(self, kind: str) -> str | None:
        """The same after a failure of this kind."""
        if self._ask is None or self._asking or kind not in _NOBODY_THERE:
            return None
        self._asking = True
        try:
            with self._pace.held():
                return await self.gone()
        finally:
            self._asking = False
