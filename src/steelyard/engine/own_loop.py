"""Runs what waits for calls to its end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def in_own_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """What it gives, also when the caller (a notebook) is inside a running loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()

    def work() -> None:
        try:
            outcome.set_result(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - raised again where the run was asked for
            outcome.set_exception(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return outcome.result()
