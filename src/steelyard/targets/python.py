"""A Python function as the system under test."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, Field, WithJsonSchema, field_serializer, field_validator

from steelyard.errors import TargetFailure
from steelyard.redact import learn_secrets, redact_known, secrets_in
from steelyard.suite_code import PLACE, find_callable, place_of, source_digest
from steelyard.targets.base import Request, Response, TargetContext, checked_response, failure_of
from steelyard.targets.settings import TargetSettings, Texts, read_variable
from steelyard.user_code import in_one_line, number, place_in_words, raised_in_words


class PythonSettings(TargetSettings):
    """Which function answers."""

    shorthand: ClassVar[str | None] = "function"

    function: Annotated[Any, WithJsonSchema({"type": "string", "pattern": PLACE.pattern})] = Field(
        description="The function as `module:function`, looked up in the suite's folder first; "
        "in a suite written in Python also the function itself. It is called with the case, and with `variant`, "
        "`repeat` and `folder` (the path of the suite's folder) when its signature names them; it may be async."
    )
    secrets: Texts = Field(
        default=(),
        description="Names of environment variables whose values must never reach store, log or report. Those whose"
        " name looks like a secret's (`..._API_KEY`, `..._TOKEN`, `...PASSWORD...`) need not be named.",
    )

    @field_validator("function")
    @classmethod
    def _is_a_place(cls, given: Any) -> Any:
        if callable(given) or (isinstance(given, str) and PLACE.match(given)):
            return given
        raise ValueError(f"{given!r} is not a function: write module:function")

    @field_serializer("function")
    def _as_text(self, function: Any) -> str:
        return place_of(function)


class PythonTarget:
    """Calls the function: async ones on the event loop, others each in a thread of its own.

    A thread cannot be killed: a function that never returns is given up at the engine's timeout, but its thread
    stays until the process ends (which it does not hold up).
    """

    Settings = PythonSettings
    may_be_free: ClassVar[bool] = True

    def __init__(self, settings: PythonSettings, target_context: TargetContext) -> None:
        self._place = place_of(settings.function)
        self._folder = target_context.folder
        named = [read_variable(name, target_context, "target python, secrets") for name in settings.secrets]
        self._secrets = [*named, *secrets_in(target_context.env)]
        learn_secrets(self._secrets)
        given = settings.function
        self._function = find_callable(given, target_context.folder) if isinstance(given, str) else given
        self._asynchronous = _is_async(self._function)
        self._takes = _named_parameters(self._function)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        return None

    async def ask(self, ask: Request) -> Response:
        """The function's answer; TargetFailure `raised`, `no_answer` or `bad_answer` when there is none."""
        offered = {"variant": ask.variant, "repeat": ask.repeat, "folder": self._folder}
        extra: dict[str, Any] = {name: value for name, value in offered.items() if name in self._takes}
        try:
            if self._asynchronous:
                result, took = await _awaited(self._function(ask.case, **extra))
            else:
                result, took = await _in_thread(lambda: _timed(lambda: self._function(ask.case, **extra)))
                if inspect.isawaitable(result):
                    result, waited = await _awaited(result)
                    took += waited
        except BaseException as error:  # noqa: BLE001 - whatever the system raises is its failure
            raise failure_of(error, self._function) from None
        response = response_from(result, self._function)
        return response if response.latency is not None else replace(response, latency=took)

    def identity(self) -> dict[str, Any]:
        """Kind, function, a hash of the file it is written in, and the `model` that its module may name."""
        results = {"kind": "python", "function": self._place, "source": source_digest(self._function)}
        model = getattr(inspect.getmodule(self._function), "MODEL", None)
        return results | {"model": redact_known(model)} if isinstance(model, str) else results

    def request_key(self, ask: Request) -> Any:  # noqa: ARG002 - part of the protocol
        """None: what a function's answer depends on cannot be seen from outside."""
        return None

    def secrets(self) -> list[str]:
        """Values of the variables that are declared, and of those whose names look like a secret's."""
        return list(self._secrets)


def response_from(result: Any, function: Any) -> Response:
    """The reply for what a function returned: text as it is, data as its JSON text, a Response itself."""
    if isinstance(result, Response):
        return checked_response(result, function)
    if isinstance(result, str):
        return Response(text=result)
    place = place_of(function) + place_in_words(function)
    if result is None:
        raise TargetFailure("no_answer", f"{place} returned None: return a text, JSON data or a Response", retry=False)
    if isinstance(result, BaseModel):
        return Response(text=result.model_dump_json())
    try:
        return Response(text=json.dumps(result, ensure_ascii=False, default=_number))
    except Exception as error:  # noqa: BLE001 - an object may do anything when it is looked into
        problem = f"that is neither text nor JSON data: {in_one_line(error, str)}"
        message = f"{place} returned a {type(result).__name__} {problem}"
        raise TargetFailure("bad_answer", message, retry=False) from None


def _number(value: Any) -> float | int:
    """A number of another kind than Python's, for an answer that holds some."""
    result = number(value)
    if result is None:
        raise TypeError(f"it holds {in_one_line(value)} ({type(value).__name__})")
    return result


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result and the seconds it took here, where the function runs: without waiting for a thread or the loop."""
    began = time.perf_counter()
    return call(), time.perf_counter() - began


async def _awaited(result: Awaitable[Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return await result, time.perf_counter() - began


async def _in_thread(call: Callable[[], Any]) -> Any:
    # Not asyncio.to_thread: its pool is smaller than the engine's concurrency, fills up with functions that never
    # return, and is waited for when the process ends.
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(outcome: tuple[Any, BaseException | None]) -> None:
        if not done.done():
            done.set_result(outcome)

    def work() -> None:
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = (context.run(call), None)
        except BaseException as error:  # noqa: BLE001 - carried over to the caller
            outcome = (None, error)
        try:
            loop.call_soon_threadsafe(settle, outcome)
        except RuntimeError:
            return  # the run has ended without this answer

    threading.Thread(target=work, name="steelyard-python-target", daemon=True).start()
    result, error = await done
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        # No Ctrl-C reaches a thread, and nobody cancels one: the function raised it.
        raise TargetFailure("raised", raised_in_words(error), retry=False) from error
    if error is not None:
        raise error
    return result


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - looked at, not called


def _named_parameters(function: Any) -> frozenset[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return frozenset()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return frozenset({"variant", "repeat", "folder"})
    return frozenset(parameter.name for parameter in parameters[1:]) | frozenset(
        parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
    )
