"""What a target is, its request and response, and opening one by its kind."""

from __future__ import annotations

import asyncio
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol, Self

from pydantic import ValidationError

from steelyard import plugins
from steelyard.errors import Problem, SteelyardError, SuiteError, TargetFailure, UsageError
from steelyard.frozen import frozen, slotted
from steelyard.suite.case import Case
from steelyard.suite.models import TargetSpec, Variant
from steelyard.suite.prices import Prices
from steelyard.user_code import in_one_line, place_in_words, raised_in_words


@frozen
class Request:
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


@slotted
class Response:
    """What came back. `text` is exactly what the system said; nothing is repaired here.

    Structured data is given as its JSON text, so that what is stored is what was scored.
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
    first_token: float | None = None
    """Seconds from sending the question to the first part of a streamed answer; None when it was not streamed."""
    tokens_cached: int | None = None
    """Of the tokens sent, those that came from the provider's cache."""
    tokens_written: int | None = None
    """Of the tokens sent, those that were written to it."""
    response_id: str | None = None
    """The provider's own id of the answer."""
    cached: bool = False
    """True when the provider, or a gateway before it, says that this is an earlier answer from its cache."""


_STATUS, _MODEL = (int, type(None)), (str, type(None))


def checked_response(response: Any, function: Any) -> Response:
    """The reply of a target; TargetFailure `bad_answer` when it is none, or has no text."""
    fits = isinstance(response, Response) and isinstance(response.text, str)
    if fits and isinstance(response.status, _STATUS) and isinstance(response.model, _MODEL):
        return response  # type: ignore[no-any-return]
    problem = f"{in_one_line(response)} ({type(response).__name__}), not a Response with a text"
    raise TargetFailure("bad_answer", f"the target{place_in_words(function)} returned {problem}", retry=False)


def failure_of(error: BaseException, function: Any) -> BaseException:
    """What the engine is to see of what a target raised: its failure, unless it was Ctrl-C or is being cancelled."""
    task = asyncio.current_task()
    cancelled = isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
    if cancelled or isinstance(error, SteelyardError | KeyboardInterrupt):
        return error
    return TargetFailure("raised", raised_in_words(error, function), retry=False)


@frozen
class TargetContext:
    """What a target may know of where it runs."""

    folder: Path
    answer_schema: dict[str, Any] | None = None
    env: dict[str, str] = field(default_factory=dict)
    """The environment secrets are read from; never stored."""
    max_connections: int = 8
    prices: Prices = field(default_factory=dict)
    """Of the price file; those in settings go before them."""


class Target(Protocol):
    """The system under test. Users implement this; plug-ins register it under an entry point.

    Built as `TargetClass(settings, context)`, where `TargetClass.Settings` is the pydantic model of its part of
    the suite file. Used as an async context manager around all calls of a run. One that has no use for a case's files
    says so with `sends_attachments = False`; for the others, a file that cannot be sent fails the case unasked. One
    that only gives back what was answered before says `makes_no_calls = True`: then its answers need no price. One
    that may well cost nothing says `may_be_free = True`: a spending limit then counts the answers that state a cost.

    One that can tell whether the system is still there has a further method, `async def gone(self) -> str | None`: why
    it is not, in words, or None. It is asked after the last call, and when a call finds nobody to answer; a system
    that is gone makes the run INVALID. With the attribute `may_come_back = True` it is waited for as in any outage.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc_info: object) -> None: ...

    async def ask(self, ask: Request) -> Response:
        """One answer, or TargetFailure. Timeouts, retries and limits are the engine's business."""
        ...

    def identity(self) -> dict[str, Any]:
        """Kind, model, address and settings that can change the answer: part of the signature, free of secrets."""
        ...

    def request_key(self, ask: Request) -> Any:
        """The full request as plain data, free of secrets, for the response cache; None when it must not be cached,
        TargetFailure when it cannot be made."""
        ...

    def secrets(self) -> list[str]:
        """Values that must never reach store, log or report; the engine redacts them."""
        ...


def open_target(spec: TargetSpec, target_context: TargetContext) -> Target:
    """The target a suite declares, ready to be entered; UsageError when it lacks something it needs.

    The spec's settings may be validated already or still be plain data, as code that builds a target by hand has them.
    """
    kind = _kind(spec.kind)
    target: Target = kind(_settings(spec, kind), target_context)
    return target


def _kind(name: str) -> Any:
    try:
        return plugins.find("targets", name)
    except KeyError:
        available = ", ".join(plugins.names("targets"))
        raise UsageError(f"there is no target of kind {name!r}; there are: {available}") from None


def _settings(spec: TargetSpec, kind: Any) -> Any:
    if isinstance(spec.settings, kind.Settings):
        return spec.settings
    try:
        return kind.Settings.model_validate(spec.settings)
    except ValidationError as error:
        raise SuiteError(
            [
                Problem(
                    item["msg"].removeprefix("Value error, "),
                    ".".join(["target", spec.kind, *(str(part) for part in item["loc"])]),
                )
                for item in error.errors()
            ]
        ) from None
