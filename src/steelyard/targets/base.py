"""What a target is: one method that asks and gives a reply, or raises TargetFailure."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from steelyard.errors import SteelyardError, TargetFailure
from steelyard.suite.case import Case
from steelyard.suite.models import Variant
from steelyard.user_code import in_one_line, place_in_words, raised_in_words


@dataclass(frozen=True, slots=True)
class Ask:
    """One call: which case, under which variant, for the how-manieth time (from 0).

    The engine gives `case` without its truth, so that no template or function can show it to the system under test.
    `truth` is for settings that say what counts as an answer, such as an error that a case expects.
    """

    case: Case
    variant: Variant
    repeat: int = 0
    truth: Any = None
    private: tuple[str, ...] = ()
    """Names that were taken out of the case and must not come back with the answer; not for the target."""


@dataclass(slots=True)
class Reply:
    """What came back. `text` is exactly what the system said; nothing is repaired here.

    Structured data is given as its JSON text, so that what is stored is what was weighed.
    """

    text: str
    status: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    model: str | None = None
    latency: float | None = None
    """Seconds of the system's own work, when the target knows better than the engine's clock, which also counts waits
    inside this process."""
    first_byte: float | None = None
    """Seconds from sending the question to the first byte of the answer's body; None when the target cannot tell."""
    cut_off: bool = False
    """True when the system says that the answer broke off at the limit of tokens."""


def checked_reply(reply: Any, function: Any) -> Reply:
    """The reply of a target; TargetFailure `bad_answer` when it is none, or has no text."""
    fits = isinstance(reply, Reply) and isinstance(reply.text, str) and isinstance(reply.status, int | None)
    if fits and isinstance(reply.model, str | None):
        return reply  # type: ignore[no-any-return]
    problem = f"{in_one_line(reply)} ({type(reply).__name__}), not a Reply with a text"
    raise TargetFailure("bad_answer", f"the target{place_in_words(function)} returned {problem}", retry=False)


def failure_of(error: BaseException, function: Any) -> BaseException:
    """What the engine is to see of what a target raised: its failure, unless it was Ctrl-C or is being cancelled."""
    task = asyncio.current_task()
    cancelled = isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
    if cancelled or isinstance(error, SteelyardError | KeyboardInterrupt):
        return error
    return TargetFailure("raised", raised_in_words(error, function), retry=False)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a target may know of where it runs."""

    folder: Path
    answer_schema: dict[str, Any] | None = None
    env: dict[str, str] = field(default_factory=dict)
    """The environment secrets are read from; never stored."""
    max_connections: int = 8


class Target(Protocol):
    """The system under test. Users implement this; plug-ins register it under an entry point.

    Built as `TargetClass(settings, surroundings)`, where `TargetClass.Settings` is the pydantic model of its part of
    the suite file. Used as an async context manager around all calls of a run. One that has no use for a case's files
    says so with `sends_attachments = False`; for the others, a file that cannot be sent fails the case unasked. One
    that only gives back what was answered before says `asks_nobody = True`: then its answers need no price.

    One that can tell whether the system is still there has a further method, `async def gone(self) -> str | None`: why
    it is not, in words, or None. It is asked after the last call, and when a call finds nobody to answer; a system
    that is gone makes the run INVALID. With the attribute `may_come_back = True` it is waited for as in any outage.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc_info: object) -> None: ...

    async def ask(self, ask: Ask) -> Reply:
        """One answer, or TargetFailure. Timeouts, retries and limits are the engine's business."""
        ...

    def identity(self) -> dict[str, Any]:
        """Kind, model, address and settings that can change the answer: part of the signature, free of secrets."""
        ...

    def request_key(self, ask: Ask) -> Any:
        """The full request as plain data, free of secrets, for the response cache; None when it must not be cached."""
        ...

    def secrets(self) -> list[str]:
        """Values that must never reach store, log or report; the engine redacts them."""
        ...
