"""Scoring on all cores: recorded answers are scored by processes of their own where that was measured to be quicker."""

from __future__ import annotations

import asyncio
import math
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from steelyard.engine.sample import Evaluation
from steelyard.engine.scoring_setup import ScoringSetup
from steelyard.errors import SteelyardError
from steelyard.records import CallResult, JudgeCall, Sample, ScorerCall
from steelyard.redact import RedactedStream, learn_secrets, secrets_in
from steelyard.scoring.evaluate import Evaluator
from steelyard.suite.case import Case

if TYPE_CHECKING:
    from steelyard.engine.judges import Judges


class Task(NamedTuple):
    """An answer to be scored."""

    case: Case
    variant: str
    repeat: int
    call_result: CallResult
    calls: Sequence[JudgeCall] | None = None
    """What judges said of it then; None for an answer that is new."""
    asked: Sequence[ScorerCall] = ()
    """What models said then for its scorers."""


def evaluated(evaluator: Evaluator, judges: Judges | None, task: Task) -> Evaluation:
    """The answer scored, and read by judges that need not be asked."""
    case, variant, repeat, call_result, calls, asked = task
    evaluation = Evaluation(evaluator, case, variant, repeat, call_result, asked)
    if judges is not None and evaluation.to_judge is not None and (calls is not None or not judges.are_asked):
        judges.read_again(evaluation, calls or ())
    return evaluation


_LENGTH = struct.Struct(">Q")
_READY, _SCORED, _HERE = "ready", "scored", "here"
"""Replies: it is loaded, samples, and that the caller has to score this itself to see what it raises."""
_START = "import sys; sys.path[:] = {!r}; from steelyard.engine.scoring_processes import serve; serve()"


class _Gone(Exception):
    """The process has ended before it replied."""


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes | None:
    """The next message; None when there is none, or not all of it."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


class _Child:
    """One process that scores."""

    def __init__(self, setup: bytes) -> None:
        """SteelyardError when it cannot score as this process does."""
        code = _START.format([item for item in sys.path if isinstance(item, str)])
        self._process = subprocess.Popen(  # noqa: S603 - Python itself
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            kind, reason = self._ask(setup)
        except _Gone:
            kind, reason = "", "a process ended when it began"
        if kind != _READY:
            self.close()
            raise SteelyardError(str(reason))

    def score(self, tasks: bytes) -> list[Sample] | None:
        """The samples without their answers; None when they are to be scored here. _Gone when the process ended."""
        kind, samples = self._ask(tasks)
        return samples if kind == _SCORED else None

    def close(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError, ValueError):
                    stream.close()
        self._process.wait()

    def _ask(self, message: bytes) -> tuple[str, Any]:
        source, sink = self._process.stdout, self._process.stdin
        if source is None or sink is None:
            raise _Gone
        try:
            _send(sink, message)
            reply = _receive(source)
        except (OSError, ValueError):
            reply = None
        if reply is None:
            raise _Gone
        try:
            kind, content = pickle.loads(reply)  # noqa: S301 - of a process of our own
        except Exception:  # noqa: BLE001 - what code of a suite returns may be unknown here
            return _HERE, None
        return kind, content


def serve() -> None:
    """Load the suite that comes first, then score whatever comes, until there is no more."""
    import signal

    from steelyard.engine.judges import Judges

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the business of the process that asks
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What scorers print or read is not part of the conversation.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    learn_secrets(secrets_in(os.environ))
    sys.stdout, sys.stderr = RedactedStream(sys.stdout), RedactedStream(sys.stderr)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    first = _receive(source)
    if first is None:
        return
    try:
        suite = pickle.loads(first).suite()  # noqa: S301 - of the process that started this one
        evaluator = Evaluator(suite)
        judges = None if suite.judge is None else Judges(suite.judge, suite.folder)
    except BaseException as error:  # noqa: BLE001 - the suite's code may raise anything
        _send(sink, pickle.dumps((type(error).__name__, str(error))))
        return
    _send(sink, pickle.dumps((_READY, "")))
    while (message := _receive(source)) is not None:
        _send(sink, _reply(evaluator, judges, message))


def _reply(evaluator: Evaluator, judges: Judges | None, message: bytes) -> bytes:
    try:
        samples = [evaluated(evaluator, judges, task).sample for task in pickle.loads(message)]  # noqa: S301
        for sample in samples:
            sample.call_result = None  # type: ignore[assignment]  # whoever asks has it
        return pickle.dumps((_SCORED, samples), pickle.HIGHEST_PROTOCOL)
    except BaseException:  # noqa: BLE001 - sys.exit in a scorer must end the run, not its helper
        return pickle.dumps((_HERE, None))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


_BATCH, _BATCH_SECONDS, _FIRST_BATCH = 32, 0.05, 4
_IN_FLIGHT = 2
"""Batches a process: one that it scores, and one that waits."""


class ProcessPool:
    """Several processes that score. A process that ends is replaced, and its samples are scored again."""

    def __init__(
        self,
        setup: ScoringSetup,
        workers: int,
        here: Callable[[Sequence[Task]], list[Sample]],
        seconds: float | None = None,
    ) -> None:
        """`seconds` is what scoring an answer takes, if that is known already."""
        self.workers = workers
        self.size = _FIRST_BATCH if seconds is None else _batch(seconds)
        """Samples that a process is given at once: a twentieth of a second of work, so that a kill costs little."""
        self.problem = ""
        """Why there are no processes, and everything is scored here."""
        self._setup, self._score_here = pickle.dumps(setup), here
        self._threads = ThreadPoolExecutor(workers, "steelyard-scoring")
        self._own = threading.local()
        self._one_at_a_time = threading.Lock()
        self._children: set[_Child] = set()
        self._closed = False

    def submit(self, tasks: Sequence[Task]) -> Future[list[Sample]]:
        """Their samples, in the same order, when they are scored."""
        return self._threads.submit(self._score, tasks)

    def close(self) -> None:
        """End all processes; what is not scored yet never will be."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in list(self._children):
            child.close()

    def _score(self, tasks: Sequence[Task]) -> list[Sample]:
        # A sample that ends every process that scores it would end this one too: that is for the second process to say.
        for _ in range(2):
            child = self._child()
            if child is None:
                break
            began = time.perf_counter()
            try:
                samples = child.score(pickle.dumps(tasks, pickle.HIGHEST_PROTOCOL))
            except _Gone:
                self._own.child = None
                self._children.discard(child)
                child.close()
                continue
            except Exception:  # noqa: BLE001 - a case may hold what cannot be pickled
                samples = None
            if samples is None:
                break
            self.size = _batch((time.perf_counter() - began) / len(tasks))
            for sample, task in zip(samples, tasks, strict=True):
                sample.call_result = task.call_result
            return samples
        if self._closed:
            raise _Gone
        with self._one_at_a_time:
            return self._score_here(tasks)

    def _child(self) -> _Child | None:
        child: _Child | None = getattr(self._own, "child", None)
        if child is None and not self.problem and not self._closed:
            try:
                child = self._own.child = _Child(self._setup)
                self._children.add(child)
            except (SteelyardError, OSError) as error:
                self.problem = str(error)
        return child


def _batch(seconds: float) -> int:
    return max(1, min(_BATCH, round(_BATCH_SECONDS / max(seconds, 1e-9))))


_PROBED, _PROBED_SECONDS = 200, 0.25
_TIMES = 20
_STARTING = 1.5
"""CPU seconds that a process takes to begin."""


def cores() -> int:
    """How many processors this process may use."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        most, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        here = min(here, math.ceil(int(most) / int(period)))
    return max(1, here)


def best_workers(scoring: float, other: float, carrying: float, n: int, processors: int) -> int:
    """How many processes beside this one score `n` samples soonest; 0 when this one alone does.

    `scoring`, `other` and `carrying` are CPU seconds a sample: to score it, to read and store it, which is done here,
    and to hand it to a process and back, which both sides pay.
    """
    best, chosen = n * (other + scoring), 0
    for workers in range(1, processors + 1):
        slowest = max(other + carrying, (scoring + carrying) / workers)
        slowest = max(slowest, (other + scoring + 2 * carrying) / processors)
        took = n * slowest + _STARTING * (1 + workers / processors)
        if took < 0.95 * best:
            best, chosen = took, workers
    return chosen


class ScoresRecorded(Protocol):
    """Whatever scores recorded answers."""

    ahead: int
    """How many chunks are read while the one before is scored."""

    def submit(self, tasks: Sequence[Task]) -> Sequence[Future[list[Sample]]]:
        """Their samples, in the same order, piece by piece."""
        ...


class Scoring:
    """Scores recorded answers: here, or by processes when these were asked for or are measured to be quicker."""

    ahead = 1

    def __init__(
        self,
        evaluator: Evaluator,
        judges: Judges | None,
        setup: ScoringSetup | None,
        *,
        n: int,
        workers: int | None,
        note: Callable[[str], None],
    ) -> None:
        """`workers` is how many processes score: None as many as pay, 1 this one alone."""
        self._evaluator, self._judges, self._setup, self._note = evaluator, judges, setup, note
        self._left, self._processors = n, cores()
        self._measures = workers is None and setup is not None and self._processors > 1
        self._n, self._seconds, self._began = 0, 0.0, 0.0
        self._last: tuple[Task, Sample] | None = None
        self._pool: ProcessPool | None = None
        self._waiting: list[tuple[Task, asyncio.Future[Sample]]] = []
        if workers is not None and workers > 1:
            if setup is None:
                note("scoring stays in one process: the suite is written in the program that runs it")
            else:
                self._pool = ProcessPool(setup, workers, self._scored_here)

    @property
    def at_once(self) -> int:
        """How many samples may be under way, so that no process waits."""
        most = self._processors if self._measures else 0 if self._pool is None else self._pool.workers
        return most * _BATCH * _IN_FLIGHT

    def submit(self, tasks: Sequence[Task]) -> list[Future[list[Sample]]]:
        """Their samples, in the same order, piece by piece."""
        pieces: list[Future[list[Sample]]] = []
        at = 0
        while at < len(tasks):
            self._choose()
            size = self._pool.size if self._pool is not None else 1 if self._measures else len(tasks)
            piece = tasks[at : at + size]
            if self._pool is None:
                pieces.append(Future())
                pieces[-1].set_result(self._scored_here(piece))
            else:
                pieces.append(self._pool.submit(piece))
            at += size
        return pieces

    async def score(self, task: Task) -> Sample:
        """Its sample, scored together with those that are waiting."""
        self._choose()
        if self._pool is None:
            return self._scored_here((task,))[0]
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Sample] = loop.create_future()
        self._waiting.append((task, done))
        if len(self._waiting) >= self._pool.size:
            self._send_waiting()
        elif len(self._waiting) == 1:
            # After all workers that are ready have come this far.
            loop.call_soon(self._send_waiting)
        return await done

    def close(self) -> None:
        """End all processes."""
        if self._pool is not None:
            if self._pool.problem:
                self._note(f"scored in one process: {self._pool.problem}")
            self._pool.close()

    def _send_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting or self._pool is None:
            return
        scored = asyncio.wrap_future(self._pool.submit([task for task, _ in waiting]))
        scored.add_done_callback(lambda future: _hand_back(future, [done for _, done in waiting]))

    def _scored_here(self, tasks: Sequence[Task]) -> list[Sample]:
        self._began = self._began or time.process_time()
        began = time.thread_time()
        samples = [evaluated(self._evaluator, self._judges, task).sample for task in tasks]
        self._seconds += time.thread_time() - began
        self._n += len(tasks)
        self._last = tasks[-1], samples[-1]
        return samples

    def _choose(self) -> None:
        """Go on with processes if they pay, once enough is measured."""
        enough = self._n >= _PROBED or self._seconds >= _PROBED_SECONDS
        if not self._measures or not enough or self._last is None or self._setup is None:
            return
        self._measures = False
        scoring = self._seconds / self._n
        other = max(0.0, (time.process_time() - self._began) / self._n - scoring)
        try:
            carrying = _carrying(*self._last)
        except Exception:  # noqa: BLE001 - what cannot be pickled is scored here
            return
        workers = best_workers(scoring, other, carrying, self._left - self._n, self._processors)
        if workers:
            self._pool = ProcessPool(self._setup, workers, self._scored_here, scoring)


def _carrying(task: Task, sample: Sample) -> float:
    """CPU seconds that it takes this process to hand an answer over and to take its sample back."""
    began = time.thread_time()
    for _ in range(_TIMES):
        pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        pickle.loads(pickle.dumps(sample, pickle.HIGHEST_PROTOCOL))  # noqa: S301 - what was pickled just now
    return (time.thread_time() - began) / _TIMES


def _hand_back(scored: asyncio.Future[list[Sample]], waiting: Sequence[asyncio.Future[Sample]]) -> None:
    if scored.cancelled():
        for done in waiting:
            done.cancel()
        return
    error = scored.exception()
    for number, done in enumerate(waiting):
        if done.done():
            continue
        if error is None:
            done.set_result(scored.result()[number])
        else:
            done.set_exception(error)
