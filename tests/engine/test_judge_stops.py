"""A run that is stopped while its judge is at work: no further call, nothing paid for is lost, nothing is left over."""

import os
import signal
import time

from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from steelyard import weighing
from steelyard.engine.journal import Journal
from steelyard.engine.options import RunOptions
from steelyard.records import Attempt, RunState
from steelyard.suite.load import load_suite


def interrupting(request):
    """An answer, and Ctrl-C before it comes."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.3)
    return verdict(3)


def test_no_judge_is_asked_after_the_run_is_stopped_and_a_resumed_one_asks_only_for_the_rest(store, tmp_path):
    with judge_server(interrupting, verdict(3)) as server:
        limits = {"suite": {"limits": {"retries": 0, "concurrency": 1}}}
        suite = load_suite(write_judged(tmp_path, n=1, repeats=3, **limits, **chat_judge(server)))
        header, ending = weighing.run(suite, store, RunOptions(concurrency=1))
        assert (header.state, "interrupted" in ending.stopped) == (RunState.INTERRUPTED, True)
        assert len(server.requests) == 1
        assert sorted(store.journalled(header.id)) == ["0/judge/model/0/0", "0/target"]
        again, _ = weighing.run(suite, store, RunOptions(concurrency=1, resume=header.id))
        assert len(server.requests) == 3
    assert (again.id, again.state) == (header.id, RunState.ENDED)
    ((sample, _),) = store.samples(header.id)
    assert len(sample.judgement.ballots) == 3
    assert store.journalled(header.id) == {}


def test_what_an_earlier_session_kept_is_forgotten_with_the_rest():
    kept, written = {}, []
    first = Journal(7, kept, written.append)
    first.put("target", Attempt(text="hello"))
    kept.update(written)
    later = Journal(7, kept, written.append)
    assert later.get("target").text == "hello"
    assert later.get("judge/model/0/0") is None
    assert later.keys == ["7/target"]
