from __future__ import annotations

import signal
import subprocess
import sys
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings

from parts.any_judgements import call_results
from parts.judged_samples import ODD, judged
from parts.lengths import examples
from parts.processes import ENVIRONMENT
from parts.stored import case, header, sample
from steelyard.errors import RunNotFound, StoreError
from steelyard.records import CallResult, RunState
from steelyard.store.codec import decode, encode
from steelyard.store.sql import SqlStore, open_store

_numbers = count()
_JOURNAL_AND_KEEP = """
import sys
from parts.judged_samples import judged
from parts.stored import case, header
from steelyard.store.sql import open_store
store = open_store(sys.argv[1])
store.create_run(header())
print("ready", flush=True)
for number in range(100_000):
    keys = [f"{number}/target", f"{number}/judge/0"]
    for key in keys:
        store.journal("demo-1", [(key, {"text": key})])
        print(key, flush=True)
    store.add_samples("demo-1", [judged(case(number), number)], [case(number)], forget=keys)
"""


def test_the_journal_gives_back_what_it_was_given(store: SqlStore) -> None:
    store.create_run(header())
    store.create_run(header("demo-2"))
    store.journal("demo-1", [("0/target", {"text": ODD, "deep": [1, 1.0, True, None]}), (ODD, {"text": None})])
    store.journal("demo-2", [("0/target", {"text": "of another run"})])
    assert store.journalled("demo-1") == {"0/target": {"text": ODD, "deep": [1, 1.0, True, None]}, ODD: {"text": None}}
    assert store.journalled("demo-1", [ODD, "unknown"]) == {ODD: {"text": None}}
    assert store.journalled("demo-1", []) == {}


@given(given_=call_results)
@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_attempt_comes_back_from_the_journal_equal(store: SqlStore, given_: CallResult) -> None:
    run = f"any-{next(_numbers)}"
    store.create_run(header(run))
    store.journal(run, [("0/target", encode(given_))])
    assert decode(CallResult, store.journalled(run)["0/target"]) == given_


def test_a_newer_entry_takes_the_place_of_an_older_one(store: SqlStore) -> None:
    store.create_run(header())
    store.journal("demo-1", [("k", {"n": 1}), ("k", {"n": 2}), ("other", {"n": 9})])
    assert store.journalled("demo-1", ["k"]) == {"k": {"n": 2}}
    store.journal("demo-1", [("k", {"n": 3})])
    store.journal("demo-1", [])
    assert store.journalled("demo-1") == {"k": {"n": 3}, "other": {"n": 9}}


def test_more_keys_are_asked_for_than_a_statement_has_places(store: SqlStore) -> None:
    store.create_run(header())
    keys = [f"{number}/judge" for number in range(1_200)]
    store.journal("demo-1", [(key, {"key": key}) for key in keys])
    assert store.journalled("demo-1", keys) == {key: {"key": key} for key in keys}


def test_a_complete_sample_needs_its_journal_no_more(store: SqlStore) -> None:
    store.create_run(header())
    store.journal("demo-1", [("0/target", {}), ("0/judge", {}), ("1/target", {})])
    store.add_samples("demo-1", [judged(case(0), 0)], [case(0)], forget=["0/target", "0/judge", "0/never"])
    assert store.journalled("demo-1") == {"1/target": {}}


def test_a_batch_that_is_refused_forgets_nothing(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [sample(case(0), 0)], [case(0)])
    store.journal("demo-1", [("0/target", {})])
    with pytest.raises(StoreError, match="already holds"):
        store.add_samples("demo-1", [sample(case(0), 0)], [case(0)], forget=["0/target"])
    assert store.journalled("demo-1") == {"0/target": {}}


def test_a_run_that_ends_forgets_its_own_journal_only(store: SqlStore) -> None:
    for run_id in ("demo-1", "demo-2"):
        store.create_run(header(run_id))
        store.journal(run_id, [("k", {"of": run_id})])
    store.forget_journal("demo-1")
    store.update_run(header(state=RunState.ENDED))
    assert store.journalled("demo-1") == {}
    assert store.journalled("demo-2") == {"k": {"of": "demo-2"}}
    with pytest.raises(StoreError, match="demo-1 has ended"):
        store.journal("demo-1", [("k", {})])
    store.forget_journal("demo-1")


def test_a_journal_belongs_to_a_run(store: SqlStore) -> None:
    with pytest.raises(RunNotFound):
        store.journal("nothing", [("k", {})])


def test_no_paid_for_answer_is_lost_to_kill_9(url: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _JOURNAL_AND_KEEP, url], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(12)][1:]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    told += rest.split()
    store = open_store(url)
    journalled = store.journalled("demo-1")
    kept = {one.position: one for one, _ in store.samples("demo-1")}
    for key in told:
        # An answer is in the journal until it is in a complete sample, and never in both.
        assert (key in journalled) != (int(key.partition("/")[0]) in kept), key
    # The last line may have been cut off by the end: the journal may know one call more.
    assert journalled.keys() <= {f"{len(kept)}/target", f"{len(kept)}/judge/0"}
    assert list(kept) == list(range(len(kept)))
    assert all(one.judgement == judged(case(0)).judgement for one in kept.values())
    store.close()
