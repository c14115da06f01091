"""Processes that open, fill and leave a store, to be run at once or killed; each tells what it has done."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from parts.command import forks
from parts.judged_samples import judged
from parts.stored import case, header, sample
from steelyard.errors import StoreError
from steelyard.records import CallResult
from steelyard.store import deletion
from steelyard.store.sql import open_store


class StoreProcess:
    """A process that runs `work(told, *arguments)`; what it sends can be read here, also after it was killed."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        self._told, theirs = forks().Pipe()
        self._process: Any = forks().Process(target=work, args=(theirs, *arguments))
        self._process.start()
        theirs.close()

    def read(self) -> Any:
        """What it tells next."""
        return self._told.recv()

    def read_rest(self) -> list[Any]:
        """All that it told until it ended."""
        rest = []
        try:
            while True:
                rest.append(self._told.recv())
        except (EOFError, ConnectionResetError):
            return rest

    def go(self) -> None:
        self._told.send("go")

    def kill(self) -> None:
        self._process.kill()

    def is_running(self) -> bool:
        return bool(self._process.is_alive())

    def end(self) -> int | None:
        """The exit code, once it has ended."""
        self._process.join(300)
        code: int | None = self._process.exitcode
        return code


def go_at_once(processes: Sequence[StoreProcess]) -> None:
    """Let all go on as soon as all are ready."""
    assert [process.read() for process in processes] == ["ready"] * len(processes)
    for process in processes:
        process.go()


def open_and_close(told: Connection, url: str) -> None:
    """Open a store when told to."""
    told.send("ready")
    told.recv()
    open_store(url).close()


def write_batches(told: Connection, url: str, run_id: str, batches: int) -> None:
    """Make a run and, when told to, store batches of ten samples; tell how many are stored after each."""
    store = open_store(url)
    store.create_run(header(run_id))
    told.send("ready")
    told.recv()
    for first in range(0, batches * 10, 10):
        cases = [case(number) for number in range(first, first + 10)]
        store.add_samples(run_id, [sample(of, number) for number, of in enumerate(cases, start=first)], cases)
        told.send(first + 10)
    store.close()


def journal_and_keep(told: Connection, url: str) -> None:
    """Journal two answers, telling the key of each, and store the sample that they complete, on and on."""
    store = open_store(url)
    store.create_run(header())
    for number in range(100_000):
        keys = [f"{number}/target", f"{number}/judge/0"]
        for key in keys:
            store.journal("demo-1", [(key, {"text": key})])
            told.send(key)
        store.add_samples("demo-1", [judged(case(number), number)], [case(number)], forget=keys)


def write_until_refused(told: Connection, url: str, longest_file: int) -> None:
    """Store samples until the kernel lets no file grow further, as on a full disk; tell how many, and the error."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (longest_file, longest_file))
    store = open_store(url)
    store.create_run(header())
    number = 0
    try:
        while True:
            of = case(number)
            store.add_samples("demo-1", [sample(of, call_result=CallResult(text="x" * 20_000))], [of])
            number += 1
    except StoreError as error:
        told.send((number, str(error)))


def hold_open(told: Connection, url: str) -> None:
    """Have a store open until told to close it."""
    store = open_store(url)
    store.runs()
    told.send("ready")
    told.recv()
    store.close()


def delete_and_stop(told: Connection, url: str, run_ids: list[str], steps: int) -> None:
    """Delete runs, and tell and wait for ever after so many steps."""
    left = iter(range(steps))

    def pause(_seconds: float) -> None:
        if next(left, None) is None:
            told.send("stopped")
            told.recv()

    deletion.time.sleep = pause
    store = open_store(url)
    deletion.delete_runs(store, deletion.plan_deletion(store, run_ids, lambda _: False), lambda _: False)
