"""Alerts and deliveries in both databases."""

import threading

import pytest

from parts.stored import header
from steelyard.errors import RunNotFound
from steelyard.store.logs import Delivery, close_alert

CONTENT = {"rule": "gate_failed", "what": "it fails \x00 \ud83d", "quotes": [["got", "ä"]]}


@pytest.fixture
def runs(store):
    for number in (1, 2, 3):
        store.create_run(header(f"demo-{number}", created_at=1000.0 + number))
    return store


def test_an_alert_is_kept_with_the_run_that_raised_it(runs):
    kept = runs.open_alert("demo", "gate_failed: x", "demo-1", CONTENT)
    assert kept == runs.alerts("demo")[0]
    assert (kept.opened_run, kept.opened_run_at, kept.seen_run, kept.is_open) == ("demo-1", 1001.0, "demo-1", True)
    assert kept.content == CONTENT


def test_one_open_alert_for_each_cause(runs):
    assert runs.open_alert("demo", "cause", "demo-1", CONTENT) is not None
    assert runs.open_alert("demo", "cause", "demo-2", CONTENT) is None
    assert runs.open_alert("other", "cause", "demo-2", CONTENT) is not None
    assert len(runs.alerts()) == 2


def test_the_database_itself_refuses_a_second_one(runs):
    runs.open_alert("demo", "cause", "demo-1", CONTENT)
    columns = ("suite_name", "cause", "opened_run", "opened_at", "seen_run", "content")
    with pytest.raises(Exception, match=r"(?i)unique"), runs.database.writing() as session:
        session.insert("alerts", columns, [("demo", "cause", 1, 0.0, 1, "{}")])


def test_a_closed_cause_can_come_again(runs):
    first = runs.open_alert("demo", "cause", "demo-1", CONTENT)
    assert runs.close_alert(first.number, "demo-2", {"kind": "recovered"})
    assert not runs.close_alert(first.number, "demo-3", {"kind": "recovered"})
    second = runs.open_alert("demo", "cause", "demo-3", CONTENT)
    assert [each.number for each in runs.alerts("demo")] == [second.number]
    over, _ = runs.alerts("demo", closed=True)
    assert (over.closed_run, over.ending, over.is_open, over.seen_run) == (
        "demo-2",
        {"kind": "recovered"},
        False,
        "demo-2",
    )


def test_an_alert_that_two_close_at_once_is_closed_by_one(runs):
    kept = runs.open_alert("demo", "cause", "demo-1", CONTENT)
    database, second = runs.database, []
    late = threading.Thread(target=lambda: second.append(runs.close_alert(kept.number, "demo-3", {})))
    with database.writing() as session:
        assert close_alert(session, kept.number, 2, {}, database.dialect.lock_rows)
        late.start()
        # Time for the other to look while this is not kept yet; that it is shut out does not depend on it.
        late.join(0.2)
    late.join(30)
    assert second == [False]


def test_the_newest_run_that_saw_it_is_noted(runs):
    kept = runs.open_alert("demo", "cause", "demo-1", CONTENT)
    runs.see_alerts([kept.number], "demo-3")
    assert runs.alerts("demo")[0].seen_run == "demo-3"


def test_tries_of_one_notice_add_up_and_the_last_word_stays(runs):
    kept = runs.open_alert("demo", "cause", "demo-1", CONTENT)
    runs.log_deliveries([Delivery(kept.number, "raised", "mail a@b", "failed", 4, 10.0, "no connection")])
    runs.log_deliveries([Delivery(kept.number, "raised", "mail a@b", "sent", 1, 20.0)])
    runs.log_deliveries([Delivery(kept.number, "closed", "mail a@b", "sent", 1, 30.0)])
    assert runs.deliveries([kept.number]) == [
        Delivery(kept.number, "raised", "mail a@b", "sent", 5, 20.0),
        Delivery(kept.number, "closed", "mail a@b", "sent", 1, 30.0),
    ]
    assert runs.deliveries([]) == []


def test_an_ending_is_unheard_until_every_channel_that_was_told_of_the_alert_has_it(runs):
    kept = runs.open_alert("demo", "cause", "demo-1", CONTENT)

    def message(notice, channel, state):
        runs.log_deliveries([Delivery(kept.number, notice, channel, state, 1, 10.0)])

    def unheard():
        return [each.number for each in runs.unheard_endings("demo")]

    message("raised", "mail", "sent")
    message("raised", "chat", "failed")
    assert unheard() == []
    runs.close_alert(kept.number, "demo-2", {"kind": "recovered", "now": None})
    assert unheard() == [kept.number]
    assert runs.unheard_endings("other") == []
    message("closed", "mail", "failed")
    assert unheard() == [kept.number]
    message("closed", "mail", "sent")
    assert unheard() == []


def test_an_ending_is_no_news_once_its_cause_has_come_again(runs):
    kept = runs.open_alert("demo", "cause", "demo-1", CONTENT)
    runs.log_deliveries([Delivery(kept.number, "raised", "mail", "sent", 1, 10.0)])
    runs.close_alert(kept.number, "demo-2", {"kind": "recovered", "now": None})
    assert runs.unheard_endings("demo") != []
    runs.open_alert("demo", "cause", "demo-3", CONTENT)
    assert runs.unheard_endings("demo") == []


def test_a_run_that_is_not_there_raises_nothing(runs):
    with pytest.raises(RunNotFound):
        runs.open_alert("demo", "cause", "demo-9", CONTENT)
