"""The log of baselines on both databases: it only grows, and its newest line says what a name means."""

from __future__ import annotations

import pytest

from parts.stored import header
from steelyard.errors import RunNotFound, StoreError
from steelyard.store.logs import BaselineEntry, standing


def lock(run_id="demo-1", name="release", suite="demo", **more):
    told = {"made_at": 5.0, "made_by": "ada@workshop", "signature": {"truth": "ab12"}} | more
    return BaselineEntry(suite, name, run_id, **told)


@pytest.fixture
def filled(store):
    for number, suite in ((1, "demo"), (2, "demo"), (3, "other")):
        store.create_run(header(f"{suite}-{number}", suite_name=suite, created_at=1000.0 + number))
    return store


def test_a_line_comes_back_as_it_was_written(filled):
    entry = lock(reason='says "é\x00" 🪑', forced=True)
    filled.log_baseline(entry)
    assert filled.baseline_log() == [entry]
    assert filled.baseline_log("demo") == [entry]
    assert filled.baseline_log("other") == []


def test_the_newest_line_of_a_name_holds_and_all_are_kept(filled):
    entries = [lock("demo-1"), lock("demo-2"), lock("demo-2", removed=True), lock("demo-1", reason="back again")]
    for entry in entries:
        filled.log_baseline(entry)
    assert filled.baseline_log() == entries
    assert standing(entries[:1])[("demo", "release")].run_id == "demo-1"
    assert standing(entries[:2])[("demo", "release")].run_id == "demo-2"
    assert standing(entries[:3]) == {}
    assert filled.run("@release").id == "demo-1"


@pytest.mark.parametrize("statement", ["UPDATE baselines SET reason = ''", "DELETE FROM baselines"])
def test_the_database_refuses_to_change_the_log(filled, statement):
    filled.log_baseline(lock(reason="why"))
    with pytest.raises(StoreError, match="the log of baselines only grows"), filled.database.writing() as session:
        session.execute(statement)
    assert filled.baseline_log()[0].reason == "why"


def test_a_run_that_is_not_there_cannot_be_locked(filled):
    with pytest.raises(RunNotFound, match="no run 'gone'"):
        filled.log_baseline(lock("gone"))
    assert filled.baseline_log() == []


def test_a_baseline_names_a_run_wherever_one_is_named(filled):
    filled.log_baseline(lock("demo-2"))
    assert [filled.run(name).id for name in ("@release", "release", "@demo/release", "LAST~1")] == ["demo-2"] * 4


def test_a_run_of_that_name_comes_before_a_baseline_unless_it_is_written_as_one(filled):
    filled.log_baseline(lock("demo-2", name="other"))
    # "other" begins the name of run other-3.
    assert filled.run("other").id == "other-3"
    assert filled.run("@other").id == "demo-2"


def test_a_name_that_several_suites_have_is_not_guessed(filled):
    filled.log_baseline(lock("demo-2"))
    filled.log_baseline(lock("other-3", suite="other"))
    with pytest.raises(RunNotFound, match="write one of @demo/release, @other/release"):
        filled.run("@release")
    assert filled.run("@other/release").id == "other-3"


def test_a_baseline_that_does_not_exist_is_told_with_those_that_do(filled):
    with pytest.raises(RunNotFound, match=r"there is none yet\. Lock one: steelyard baseline set RUN --name release"):
        filled.run("@release")
    filled.log_baseline(lock("demo-2"))
    with pytest.raises(RunNotFound, match=r"no baseline 'relese': there are: @release \(of demo\)"):
        filled.run("@relese")
    filled.log_baseline(lock("demo-2", removed=True))
    with pytest.raises(RunNotFound, match="no baseline 'release'"):
        filled.run("@release")
    with pytest.raises(RunNotFound, match="no run 'release'"):
        filled.run("release")
