"""A run compared with its rules while others are, and secrets in what is told."""

from dataclasses import replace

import pytest

from parts.alerts import QUICK, place, reading
from parts.nightly import Nightly, settings, wrong
from steelyard.alerts import notify
from steelyard.alerts.channels import Delivered
from steelyard.alerts.notify import check_run
from steelyard.loading.alerts import Command, Webhook

CHANNEL = Command(argv=["never", "run"])
RULES = replace(settings("gate_failed"), channels=(CHANNEL,))


@pytest.fixture
def nightly(tmp_path):
    found = Nightly(tmp_path)
    yield found
    found.close()


@pytest.fixture
def sent(monkeypatch):
    """What was sent, by kinds; `meanwhile` in it is called while the first message is on its way."""
    found = Sent()
    monkeypatch.setattr(notify, "deliver", found.deliver)
    return found


class Sent(list):
    meanwhile = None
    refused = ()
    """The programs that take nothing for now."""

    def deliver(self, messages, _place, _retry_policy):
        self += [[each.kind.value for each in message.notices] for _, message in messages]
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        states = ["failed" if channel.argv[0] in self.refused else "sent" for channel, _ in messages]
        return [Delivered(channel.label, state, 1) for (channel, _), state in zip(messages, states, strict=True)]


def checked(nightly, header, rules=RULES):
    return check_run(nightly.store, header, rules, place(), retry_policy=QUICK)


def test_what_another_process_is_about_to_tell_is_not_reported_twice(nightly, sent):
    bad, worse = nightly.run(wrong(5)), None

    def another_run():
        nonlocal worse
        worse = checked(nightly, nightly.run(wrong(6)))

    sent.meanwhile = another_run
    checked(nightly, bad)
    assert sent == [["raised"]]
    assert [each.cause for each in worse.still] == ["gate_failed: pass_rate >= 90 %"]
    good = nightly.run()
    sent.meanwhile = lambda: checked(nightly, nightly.run())
    checked(nightly, good)
    assert sent == [["raised"], ["recovered"]]


def test_what_a_process_that_died_was_about_to_tell_is_reported_later(nightly, sent, monkeypatch):
    def dies():
        raise KeyboardInterrupt

    for said, kind in ((wrong(5), "raised"), ({}, "recovered")):
        header = nightly.run(said)
        sent.meanwhile = dies
        with pytest.raises(KeyboardInterrupt):
            checked(nightly, header)
        sent.clear()
        checked(nightly, header)
        assert sent == []
        # As if a minute had passed, after which nobody is under way any more.
        monkeypatch.setattr("steelyard.alerts.notify._UNDER_WAY", -1.0)
        checked(nightly, header)
        assert sent == [[kind]]
        checked(nightly, header)
        assert sent == [[kind]]
        monkeypatch.undo()
        monkeypatch.setattr(notify, "deliver", sent.deliver)
        sent.clear()


def test_whoever_was_never_reported_of_an_alert_does_not_hear_of_its_end_later(nightly, sent, monkeypatch):
    rules = replace(RULES, channels=(Command(argv=["one"]), Command(argv=["other"])))

    def message(stated, refused):
        sent.refused = refused
        return [channel.argv[0] for channel, _ in checked(nightly, nightly.run(stated), rules).messages]

    assert message(wrong(5), ["other"]) == ["one", "other"]
    assert message({}, ["one", "other"]) == ["one"]
    monkeypatch.setattr("steelyard.alerts.notify._UNDER_WAY", -1.0)
    assert message({}, []) == ["one"]
    assert message({}, []) == []


def test_no_secret_is_kept_or_reported_whoever_says_it(nightly, monkeypatch):
    secret = "https://chat.example/services/T01/abcdefgh"
    said = reading(what=f"see {secret}", how_much=secret, significance=secret, quotes=((secret, f"got {secret}"),))
    monkeypatch.setattr(notify, "readings_of", lambda _evidence: [said])
    rules = replace(RULES, channels=(Webhook(url="HOOK"),))
    where = place(HOOK=secret)
    monkeypatch.setattr(
        notify, "deliver", lambda messages, *_: [Delivered("webhook $HOOK", "sent", 1) for _ in messages]
    )
    found = check_run(nightly.store, nightly.run(), rules, where)
    [(_, message)] = found.messages
    assert message.notices[0].title == "see [redacted]"
    assert "abcdefgh" not in message.text() + str(message.as_data()) + str(everything(nightly.store))


def test_a_dry_run_changes_nothing_in_the_store(nightly, sent):
    checked(nightly, nightly.run(wrong(5)))
    before = everything(nightly.store)
    for header in (nightly.run(wrong(6)), nightly.run()):
        assert check_run(nightly.store, header, RULES, place(), dry_run=True).not_kept == "a dry run"
    assert everything(nightly.store) == before
    assert sent == [["raised"]]


def everything(store):
    found = store.alerts(closed=True)
    return found, store.deliveries([each.number for each in found])
