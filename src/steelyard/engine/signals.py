"""Ctrl-C and a polite kill as a wish that the run can follow."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

_CAUGHT = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def caught_signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and a polite kill stop the run instead of the process; only the main thread can ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for number in _CAUGHT:
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        release_signals()


def release_signals() -> None:
    """From here on a signal ends the process."""
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for number in _CAUGHT:
            loop.remove_signal_handler(number)
