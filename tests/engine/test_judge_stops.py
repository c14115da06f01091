"""A run that is stopped while its judge is at work: no further call, nothing paid for is lost, nothing is left over."""

import os
import signal
import time

import pytest

from parts import running as run
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from steelyard.engine.journal import Journal
from steelyard.engine.run_options import RunOptions
from steelyard.errors import StoreError
from steelyard.loading.load import load_suite
from steelyard.records import CallResult, RunState


def interrupting(request):
    """An answer, and Ctrl-C before it comes."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.3)
    return verdict(3)


def test_no_judge_is_asked_after_the_run_is_stopped_and_a_resumed_one_asks_only_for_the_rest(store, tmp_path):
    with judge_server(interrupting, verdict(3)) as server:
        limits = {"suite": {"limits": {"retries": 0, "concurrency": 1}}}
        suite = load_suite(write_judged(tmp_path, n=1, repeats=3, **limits, **chat_judge(server)))
        header, ending = run.run(suite, store, RunOptions(concurrency=1))
        assert (header.state, "interrupted" in ending.stopped) == (RunState.INTERRUPTED, True)
        assert len(server.requests) == 1
        assert sorted(store.journalled(header.id)) == ["0/judge/model/0/0", "0/target"]
        again, _ = run.run(suite, store, RunOptions(concurrency=1, resume=header.id))
        assert len(server.requests) == 3
    assert (again.id, again.state) == (header.id, RunState.ENDED)
    ((sample, _),) = store.samples(header.id)
    assert len(sample.judgement.votes) == 3
    assert store.journalled(header.id) == {}


async def test_what_an_earlier_session_kept_is_forgotten_with_the_rest():
    kept = {}

    async def store(entry):
        kept.update([entry])

    await Journal(7, kept, store).put("target", CallResult(text="hello"))
    later = Journal(7, kept, store)
    assert later.get("target").text == "hello"
    assert later.get("judge/model/0/0") is None
    assert later.keys == ["7/target"]


def test_an_answer_is_stored_before_a_judge_is_asked_about_it_and_a_judges_before_it_is_asked_again(
    store, tmp_path, monkeypatch
):
    stored_before = []

    def judge(request):
        stored_before.append(sorted(store.journalled(store.runs()[0].id)))
        return "no JSON at all" if len(stored_before) == 1 else verdict(3)

    write = store.journal

    def take_time(run_id, entries):
        time.sleep(0.3)
        write(run_id, entries)

    monkeypatch.setattr(store, "journal", take_time)
    with judge_server(judge) as server:
        suite = load_suite(write_judged(tmp_path, n=1, ask_again=1, **chat_judge(server)))
        run.run(suite, store, RunOptions(concurrency=1))
    assert stored_before == [["0/target"], ["0/judge/model/0/0", "0/target"]]


def test_a_store_that_refuses_an_answer_ends_the_run_before_a_judge_is_asked(store, tmp_path, monkeypatch):
    def refuse(run_id, entries):
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "journal", refuse)
    with judge_server(verdict(3)) as server:
        suite = load_suite(write_judged(tmp_path, n=3, **chat_judge(server)))
        with pytest.raises(StoreError, match="the disk is full"):
            run.run(suite, store, RunOptions(concurrency=2))
        assert server.requests == []
