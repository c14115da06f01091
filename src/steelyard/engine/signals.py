"""Ctrl-C, a polite kill and a terminal that is closed, as a wish that the run can follow."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import termios
import threading
from collections.abc import Callable, Iterator

_CAUGHT = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def caught_signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C, a polite kill and a closed terminal stop the run instead of the process; only the main thread can ask for
    that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def hang_up() -> None:
        _drop_closed_terminal()
        interrupt()

    for number in _CAUGHT:
        loop.add_signal_handler(number, interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
        loop.add_signal_handler(signal.SIGHUP, hang_up)
    try:
        yield
    finally:
        release_signals()


def release_signals() -> None:
    """From here on a signal ends the process."""
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for number in (*_CAUGHT, signal.SIGHUP):
            loop.remove_signal_handler(number)


def _drop_closed_terminal() -> None:
    """Let what is printed to a terminal that was closed go nowhere, instead of being an error of its own."""
    for number in (0, 1, 2):
        try:
            termios.tcgetattr(number)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
