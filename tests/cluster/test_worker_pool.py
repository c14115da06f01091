"""Leases, lost workers and credit, with workers in this process that do as a test says."""

import asyncio
from dataclasses import replace

import pytest

from parts.small_suite import write_suite
from steelyard.cluster import worker_pool
from steelyard.cluster.messages import Ask, Scored, WorkerAnswer
from steelyard.cluster.remote import RemoteScoring
from steelyard.cluster.worker_pool import LARGEST_LEASE, SMALLEST_LEASE, Lost, WorkerPool, WorkersLost
from steelyard.engine.scoring_processes import Task
from steelyard.errors import TargetFailure, UsageError
from steelyard.loading.load import load_suite
from steelyard.records import CallResult, Outcome, Sample
from steelyard.scoring.evaluate import Evaluator
from steelyard.suite.case import Case
from steelyard.suite.models import Variant
from steelyard.targets.base import Request, Response

SAMPLE = Sample("c0", "", 0, CallResult(), Outcome.SCORED)


def ask(number):
    return Ask(Request(Case(id=f"c{number}", input={"number": number}), Variant(), 0, truth="yes"))


class Here:
    """A worker that answers and scores at once, unless `fate` says what becomes of an item."""

    name = "here"

    def __init__(self, fate=lambda item: None, wants=64, problem=None, starts=True):
        self.leases, self.killed, self.closed = [], False, False
        self._fate, self._wants, self._problem, self._starts = fate, wants, problem, starts
        self._reports, self._killed = asyncio.Queue(), asyncio.Event()

    async def start(self):
        if not self._starts:
            await self._killed.wait()
            raise Lost("killed")
        return self._problem

    async def take(self, lease):
        self.leases.append(lease)
        for item in lease:
            fate = self._fate(item)
            if fate == "hangs":
                continue
            if fate == "lost":
                self._reports.put_nowait(None)
                return
            if isinstance(item.work, Ask):
                self._reports.put_nowait(WorkerAnswer(item.number, Response(item.work.request.case.id)))
            if fate != "answers":
                self._reports.put_nowait(Scored(item.number, replace(SAMPLE), None, 0.001))

    async def results(self):
        reports = [await self._reports.get()]
        while not self._reports.empty():
            reports.append(self._reports.get_nowait())
        if None in reports:
            before = reports[: reports.index(None)]
            if not before:
                raise Lost("killed")
            self._reports.put_nowait(None)
            reports = before
        return reports, self._wants

    async def close(self):
        self.closed = True

    def kill(self):
        self.killed = True
        self._killed.set()
        self._reports.put_nowait(None)


def pool_of(*workers, places=None):
    waiting = list(workers)
    return WorkerPool(lambda: waiting.pop(0) if waiting else Here(starts=False), places or len(workers), 64)


async def scored(pool, n):
    jobs = [pool.submit(0, ask(number)) for number in range(n)]
    return [(await job.answered).text for job in jobs], [await job.done for job in jobs]


async def test_leases_hold_8_to_32_samples_and_go_to_whoever_has_room():
    workers = Here(), Here()
    pool = pool_of(*workers)
    async with pool:
        texts, _ = await scored(pool, 200)
    assert texts == [f"c{number}" for number in range(200)]
    sizes = [len(lease) for worker in workers for lease in worker.leases]
    assert sum(sizes) == 200
    assert max(sizes) <= LARGEST_LEASE
    assert sum(size < SMALLEST_LEASE for size in sizes) <= 1  # what is left over
    assert all(sum(map(len, worker.leases)) >= 64 for worker in workers)
    assert all(worker.closed and worker.killed for worker in workers)


async def test_a_worker_gets_no_more_than_it_wants_to_have_in_hand():
    slow = Here(lambda item: "hangs", wants=10)
    slow._reports.put_nowait(WorkerAnswer(0, None))  # says what it wants
    pool = pool_of(slow)
    async with pool:
        await asyncio.sleep(0.01)
        for number in range(50):
            pool.submit(0, ask(number))
        await asyncio.sleep(0.05)
        assert sum(map(len, slow.leases)) == 10


async def test_a_single_call_does_not_wait_for_others():
    async with (pool := pool_of(Here())):
        assert (await scored(pool, 1))[0] == ["c0"]


async def test_what_a_lost_worker_had_is_done_by_others_and_what_it_was_answered_is_not_asked_again():
    fates = {0: "answers", 1: "lost"}
    first, second = Here(lambda item: fates.get(item.number - 1)), Here()
    pool, notes = pool_of(first, second, places=1), []
    pool.note = notes.append
    async with pool:
        texts, samples = await scored(pool, 3)
    assert texts == ["c0", "c1", "c2"]
    assert len(samples) == 3
    again = {type(item.work): item for lease in second.leases for item in lease}
    assert again[Task].work.call_result.text == "c0"
    assert again[Task].work.case.expected == "yes"
    assert sorted(item.number for lease in second.leases for item in lease) == [1, 2, 3]
    assert notes == ["a worker on here was lost (killed): 2 calls that gave no answer are made again"]


async def test_a_sample_that_kills_three_workers_fails_and_the_others_go_on():
    def workers():
        return Here(lambda item: "lost" if isinstance(item.work, Ask) and item.work.request.case.id == "c1" else None)

    pool = pool_of(workers(), workers(), workers(), Here(), places=1)
    async with pool:
        jobs = [pool.submit(0, ask(number)) for number in range(3)]
        with pytest.raises(TargetFailure, match="3 workers were lost while they had this in hand"):
            await jobs[1].answered
        assert (await jobs[2].answered).text == "c2"


async def test_a_place_whose_workers_die_at_once_is_given_up_and_the_run_ends_with_a_reason():
    def dies():
        worker = Here()
        worker._reports.put_nowait(None)
        return worker

    pool = pool_of(*(dies() for _ in range(6)), places=1)
    with pytest.raises(WorkersLost, match=r"no worker is left \(killed\); what is stored stays: --resume goes on"):
        async with pool:
            await pool.submit(0, ask(0)).answered


async def test_a_worker_that_cannot_read_the_suite_ends_the_run_before_it_begins():
    with pytest.raises(UsageError, match="worker on here: needs the environment variable KEY"):
        async with pool_of(Here(problem="needs the environment variable KEY")):
            pass


async def test_that_no_worker_has_started_is_reported_with_the_reason_while_it_is_waited_for(monkeypatch):
    monkeypatch.setattr(worker_pool, "_REPORT_EVERY", 0.05)
    slow, notes = Here(starts=False), []
    links = iter([slow, Here()])
    pool = WorkerPool(lambda: next(links), 1, 64)
    pool.room, pool.note = lambda: "2 nodes answer, with 0 of 4 cores free", notes.append
    begun = asyncio.create_task(pool.__aenter__())
    async with asyncio.timeout(60):
        while len(notes) < 2:
            await asyncio.sleep(0.01)
        assert all(note.startswith("no worker has started after ") for note in notes)
        assert all(note.endswith(" s: 2 nodes answer, with 0 of 4 cores free") for note in notes)
        slow.kill()
        await begun
        await pool.__aexit__()


async def test_a_run_without_any_worker_ends_with_the_reason(monkeypatch):
    monkeypatch.setattr(worker_pool, "_REPORT_EVERY", 0.05)
    monkeypatch.setattr(worker_pool, "_LONGEST_START", 0.2)

    def no_answer():
        raise ConnectionError

    pool = WorkerPool(lambda: Here(starts=False), 1, 64)
    pool.room = no_answer
    with pytest.raises(WorkersLost, match=r"no worker has started after .* s: the cluster has no room"):
        await pool.__aenter__()


async def test_fewer_workers_than_asked_for_are_told(monkeypatch):
    monkeypatch.setattr(worker_pool, "_LATE", 0.01)
    pool, notes = pool_of(Here(), Here(starts=False), Here(starts=False)), []
    pool.note = notes.append
    async with pool:
        await asyncio.sleep(0.05)
    assert notes[0].startswith("1 of 3 workers are there: the cluster has no room for more")


async def test_an_answer_that_is_stored_otherwise_than_it_was_scored_is_scored_again(tmp_path):
    """What is taken out of an answer on the driver must not count in its score."""
    suite = load_suite(write_suite(tmp_path))
    worker, case, request = Here(), next(iter(suite.cases)), ask(0).request
    pool = pool_of(worker)
    async with pool:
        scoring = RemoteScoring(pool, 0)
        for stored in ("c0", "[redacted]"):
            job = pool.submit(0, Ask(request))
            scoring.expect(replace(request, case=case), await job.answered, job)
            evaluation = await scoring.evaluate(Evaluator(suite), case, "", 0, CallResult(text=stored))
            assert evaluation.sample.call_result.text == stored
    tasks = [item.work for lease in worker.leases for item in lease if isinstance(item.work, Task)]
    assert [task.call_result.text for task in tasks] == ["[redacted]"]


async def test_an_answer_whose_scoring_kills_workers_is_kept_and_inconclusive(tmp_path):
    suite = load_suite(write_suite(tmp_path))
    case, answered = next(iter(suite.cases)), CallResult(text='{"word": "word 0"}')
    pool = pool_of(*(Here(lambda item: "lost") for _ in range(3)), places=1)
    async with pool:
        evaluation = await RemoteScoring(pool, 0).evaluate(Evaluator(suite), case, "", 0, answered)
    sample = evaluation.sample
    assert (sample.outcome, sample.call_result) == (Outcome.JUDGE_FAILED, answered)
    assert sample.findings[0].evidence == "3 workers were lost while they had this in hand"
