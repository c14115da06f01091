"""The driver's side of many workers: hands out leases, takes results, and gives what a lost worker had to others."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import field
from typing import Any, Protocol

from steelyard.cluster.messages import Ask, Broken, LeaseItem, Report, Scored, Work, WorkerAnswer
from steelyard.cluster.worker import scoring_of
from steelyard.engine.scoring_processes import Task
from steelyard.errors import SteelyardError, TargetFailure, UsageError
from steelyard.frozen import slotted
from steelyard.targets.base import Response
from steelyard.user_code import UserCodeError

SMALLEST_LEASE, LARGEST_LEASE = 8, 32
"""Samples that are handed out together: the smallest unless fewer wait, since no call waits for others to fill a
lease."""
_GATHER = 0.002
"""Seconds in which single calls gather to a lease."""
_SUSPECT, _MOST_LOSSES = 2, 3
"""A sample that two workers were lost with may be what kills them: no worker has two such in hand. With the third loss
it has failed."""
_MOST_WITHOUT_RESULT = 6
"""A place whose workers are lost so often before they have done anything is given up."""
_LATE = 30.0
"""Seconds after the first worker is there in which all others should be."""
_REPORT_EVERY = 30.0
"""Seconds without any worker after which it is reported why, again and again."""
_LONGEST_START = 600.0
"""Seconds without any worker after which the run ends: a cluster may have to start machines first."""
_CLOSING = 5.0


class WorkersLost(SteelyardError):
    """No worker is left, or none ever came; what is stored stays, and `--resume` goes on."""


class Lost(Exception):
    """A worker is gone; the text says what is known of it."""


class WorkerLink(Protocol):
    """One worker as the driver sees it. Every method raises Lost when it is gone."""

    name: str

    def start(self) -> Awaitable[str | None]: ...

    def take(self, lease: list[LeaseItem]) -> Awaitable[None]: ...

    def results(self) -> Awaitable[tuple[list[Report], int]]: ...

    def close(self) -> Awaitable[None]: ...

    def kill(self) -> None: ...


@slotted
class Job:
    """Work on its way. `answered` is for an Ask, whose score comes after its answer."""

    number: int
    arm: int
    work: Work
    done: asyncio.Future[Any]
    answered: asyncio.Future[Any] | None = None
    losses: int = 0


@slotted(eq=False)
class _Connected:
    """A worker that is there, and what it has in hand."""

    link: WorkerLink
    wants: int
    jobs: dict[int, Job] = field(default_factory=dict)

    @property
    def room(self) -> int:
        return self.wants - len(self.jobs)


class WorkerPool:
    """Workers that pull work: each says how much it wants to have in hand, and gets leases up to that.

    Completion and retries are decided here, and nothing counts that has not come back.
    """

    def __init__(
        self, new_link: Callable[[], WorkerLink], workers: int, wants: int, *, gather: float = _GATHER
    ) -> None:
        self._new_link = new_link
        self._asked_for = workers
        self._wants = wants
        self._gather = gather
        self.note: Callable[[str], None] = lambda _: None
        self.room: Callable[[], str] = str
        """What the cluster has room for, in words; may take its time."""
        self._why = ""
        """Why the last worker was lost."""
        self._waiting: deque[Job] = deque()
        self._suspects: deque[Job] = deque()
        self._workers: list[_Connected] = []
        self._number = 0
        self._users = 0
        self._places = workers
        """How many are kept filled."""
        self._scheduled = False
        self._failed: SteelyardError | None = None
        self._first = asyncio.Event()
        self._links: set[WorkerLink] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._late: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._users += 1
        if self._users > 1:
            return
        for _ in range(self._asked_for):
            self._background(self._keep_worker())
        began = asyncio.get_running_loop().time()
        while not self._first.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_REPORT_EVERY):
                    await self._first.wait()
                    break
            message = (
                f"no worker has started after {asyncio.get_running_loop().time() - began:.0f} s: {await self._reason()}"
            )
            if asyncio.get_running_loop().time() - began >= _LONGEST_START:
                self._fail(WorkersLost(message))
            else:
                self.note(message)
        if self._failed is not None:
            await self._close()
            raise self._failed
        self._late = self._background(self._count_late())

    async def __aexit__(self, *exc_info: object) -> None:
        self._users -= 1
        if not self._users:
            await self._close()

    def submit(self, arm: int, work: Work) -> Job:
        """Begin with it as soon as a worker has room."""
        loop = asyncio.get_running_loop()
        self._number += 1
        job = Job(self._number, arm, work, loop.create_future())
        if isinstance(work, Ask):
            job.answered = loop.create_future()
            # Whoever asked may be gone before the score comes.
            job.done.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self._failed is not None:
            _end(job, self._failed)
            return job
        self._waiting.append(job)
        self._schedule()
        return job

    def _schedule(self) -> None:
        if self._scheduled or not self._workers:
            return
        self._scheduled = True
        now = len(self._waiting) >= SMALLEST_LEASE
        asyncio.get_running_loop().call_later(0.0 if now else self._gather, self._hand_out)

    def _hand_out(self) -> None:
        """Give what waits to the workers that have most room."""
        self._scheduled = False
        for worker in self._workers:
            if self._suspects and all(job.losses < _SUSPECT for job in worker.jobs.values()):
                self._lease(worker, [self._suspects.popleft()])
        while self._waiting and self._workers:
            worker = max(self._workers, key=lambda item: item.room)
            if worker.room < min(SMALLEST_LEASE, len(self._waiting), worker.wants):
                return
            share = math.ceil(len(self._waiting) / len(self._workers))
            n = min(max(share, SMALLEST_LEASE), LARGEST_LEASE, worker.room, len(self._waiting))
            self._lease(worker, [self._waiting.popleft() for _ in range(n)])

    def _lease(self, worker: _Connected, jobs: list[Job]) -> None:
        worker.jobs.update((job.number, job) for job in jobs)
        self._background(_send(worker, [LeaseItem(job.number, job.arm, job.work) for job in jobs]))

    async def _keep_worker(self) -> None:
        """One worker after another in one place, each until it is lost."""
        without_result, why = 0, ""
        while without_result < _MOST_WITHOUT_RESULT and self._failed is None:
            link = self._new_link()
            self._links.add(link)
            worker = _Connected(link, self._wants)
            try:
                if problem := await link.start():
                    self._fail(UsageError(f"worker on {link.name}: {problem}"))
                    return
                self._workers.append(worker)
                self._first.set()
                self._schedule()
                while self._failed is None:
                    reports, worker.wants = await link.results()
                    without_result = 0
                    for report in reports:
                        self._accept(worker, report)
                    self._schedule()
            except Lost as lost:
                without_result, why = without_result + 1, str(lost)
                self._why = why
                self._take_back(worker, why)
            finally:
                self._links.discard(link)
                link.kill()
        self._places -= 1
        if not self._places:
            self._fail(WorkersLost(f"no worker is left ({why}); what is stored stays: --resume goes on"))

    def _accept(self, worker: _Connected, report: Report) -> None:
        job = worker.jobs.get(report.number)
        if job is None:
            return
        if isinstance(report, WorkerAnswer) and job.answered is not None:
            _resolve(job.answered, report.value)
            if isinstance(report.value, Response) and isinstance(job.work, Ask):
                # From here on only its score is missing: the target is not asked again, whatever becomes of the worker.
                job.work = scoring_of(job.work.request, report.value)
                return
        del worker.jobs[report.number]
        if isinstance(report, Broken):
            _end(job, RuntimeError(f"worker on {worker.link.name}: {report.message}"))
        else:
            _resolve(job.done, report if isinstance(report, Scored) else report.value)

    def _take_back(self, worker: _Connected, why: str) -> None:
        """Let others do what a lost worker had in hand."""
        if worker in self._workers:
            self._workers.remove(worker)
        if self._failed is not None:
            return
        jobs = list(worker.jobs.values())
        worker.jobs.clear()
        again = [job for job in jobs if not self._gives_up(job)]
        self._suspects.extend(job for job in again if job.losses >= _SUSPECT)
        self._waiting.extendleft(job for job in reversed(again) if job.losses < _SUSPECT)
        calls = sum(not isinstance(job.work, Task) for job in again)
        self.note(
            f"a worker on {worker.link.name} was lost ({why}): {calls:,} calls that gave no answer are made again"
        )
        self._schedule()

    def _gives_up(self, job: Job) -> bool:
        job.losses += 1
        if job.losses < _MOST_LOSSES:
            return False
        message = f"{job.losses} workers were lost while they had this in hand"
        scoring = isinstance(job.work, Task)
        _end(job, UserCodeError(message) if scoring else TargetFailure("worker_lost", message, retry=False))
        return True

    def _fail(self, error: SteelyardError) -> None:
        self._failed = self._failed or error
        self._first.set()
        for job in [
            *self._waiting,
            *self._suspects,
            *(job for worker in self._workers for job in worker.jobs.values()),
        ]:
            _end(job, self._failed)
        self._waiting.clear()

    async def _count_late(self) -> None:
        await asyncio.sleep(_LATE)
        if len(self._workers) < self._asked_for:
            self.note(
                f"{len(self._workers)} of {self._asked_for} workers are there: {self._hint()};"
                " others join when they come"
            )

    async def _reason(self) -> str:
        """Why no worker is there, as far as that is known."""
        room = ""
        with suppress(Exception):  # a cluster that does not answer has nothing to say
            async with asyncio.timeout(_CLOSING):
                room = await asyncio.to_thread(self.room)
        lost = f"the last one was lost ({self._why})" if self._why else ""
        return "; ".join(filter(None, (lost, room))) or self._hint()

    def _hint(self) -> str:
        return "the cluster has no room for more, or is slow to start them (`ray status` shows why)"

    def _background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _close(self) -> None:
        self._failed = self._failed or WorkersLost("the workers are closed")
        if self._late is not None:
            self._late.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING):
                await asyncio.gather(*(worker.link.close() for worker in self._workers), return_exceptions=True)
        for link in self._links:
            link.kill()
        # Calls to workers end with them. Cancelling those that are open would make Ray complain.
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSING)
        for task in self._tasks:
            task.cancel()


async def _send(worker: _Connected, lease: list[LeaseItem]) -> None:
    try:
        await worker.link.take(lease)
    except Lost:
        worker.link.kill()  # found by whoever waits for its results


def _resolve(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _end(job: Job, error: Exception) -> None:
    for future in (job.answered, job.done):
        if future is not None and not future.done():
            future.set_exception(error)
            future.exception()  # nobody may wait for both
