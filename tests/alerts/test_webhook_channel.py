"""Webhooks against a real HTTP server on loopback."""

import json
import re
from pathlib import Path

import pytest

from parts.alerts import QUICK, message, notice, place, reading
from parts.loopback import Loopback, cut_before_headers, error, json_answer, redirect, refusing, slow, throttle
from steelyard.alerts.channels import DeliveryTries, deliver, slack_shape
from steelyard.alerts.notices import NoticeKind
from steelyard.loading.alerts import Slack, Webhook

OK = json_answer({"ok": True})


@pytest.fixture
def server():
    with Loopback() as running:
        yield running


def send(channel, sent, env, retry_policy=QUICK):
    return deliver([(channel, sent)], place(**env), retry_policy)[0]


def test_a_webhook_gets_every_alert_as_json(server):
    server.on("/hook", OK)
    outcome = send(Webhook(url="HOOK", token="KEY"), message(), {"HOOK": server.url("/hook"), "KEY": "abcdefgh-1"})
    assert (outcome.state, outcome.tries, outcome.channel) == ("sent", 1, "webhook $HOOK")
    (seen,) = server.requests
    assert seen.headers["authorization"] == "Bearer abcdefgh-1"
    assert (seen.json["suite"], seen.json["run"]) == ("demo", "demo-2")
    (alert,) = seen.json["alerts"]
    assert alert["kind"] == "raised"
    assert alert["cause"] == "regression of pass_rate against release: pass_rate"
    assert alert["since"] == {"run": "demo-2", "at": "2026-01-18T03:12:00Z"}
    assert alert["look"] == "steelyard compare @release demo-2"


def test_every_key_of_the_json_is_documented():
    page = (Path(__file__).parents[2] / "docs/reference/alerts.md").read_text().partition("### The JSON")[2]
    whole, _, each = page.partition("Each of the `alerts`")
    data = message(notice(reading=reading(quotes=(("got", "x"),)))).as_data()
    assert set(data) == _keys(whole)
    assert set(data["alerts"][0]) == _keys(each)


def _keys(page):
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    return {key for row in rows for key in re.findall("`([a-z_]+)`", row)}


def test_a_server_that_fails_is_asked_again(server):
    server.on("/hook", error(500), cut_before_headers(), OK)
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": server.url("/hook")})
    assert (outcome.state, outcome.tries) == ("sent", 3)


def test_a_server_that_keeps_failing_is_given_up(server):
    server.on("/hook", error(500, "overloaded"))
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": server.url("/hook")})
    assert (outcome.state, outcome.tries, outcome.detail) == ("failed", 3, "HTTP 500: overloaded")
    assert len(server.requests) == 3


def test_the_wait_that_a_server_asks_for_is_kept(server):
    server.on("/hook", throttle(0.3), OK)
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": server.url("/hook")})
    first, second = server.requests
    assert outcome.state == "sent"
    assert second.at - first.at >= 0.3


def test_a_refusal_for_good_is_not_tried_again(server):
    server.on("/hook", error(404, "no such hook"))
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": server.url("/hook")})
    assert (outcome.state, outcome.tries) == ("failed", 1)


def test_a_redirect_is_not_followed(server):
    server.on("/hook", redirect(server.url("/other"))).on("/other", OK)
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": server.url("/hook")})
    assert (outcome.state, outcome.detail) == ("failed", "HTTP 302")
    assert server.seen("/other") == []


def test_a_server_that_hangs_holds_nobody_up(server):
    server.on("/hook", slow(60))
    patience = DeliveryTries(tries=3, first_wait=0.01, timeout=0.2, in_all=5.0)
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": server.url("/hook")}, patience)
    assert outcome.state == "failed"
    assert outcome.tries == 3
    assert "timed out" in outcome.detail


def test_what_is_taken_is_not_sent_again_because_its_answer_never_ends(server):
    from parts.loopback import Behaviour

    server.on("/hook", Behaviour(endless=b"x", endless_pause=0.05))
    patience = DeliveryTries(tries=3, first_wait=0.01, timeout=5.0, in_all=2.0)
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": server.url("/hook")}, patience)
    assert (outcome.state, outcome.tries, len(server.requests)) == ("sent", 1, 1)


def test_a_name_in_an_address_is_refused_and_not_shown():
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": "http://ada:open1@127.0.0.1/hook"})
    assert (outcome.state, outcome.tries) == ("failed", 1)
    assert outcome.detail == "$HOOK holds a name or password in its address: give a token"


def test_one_that_trickles_for_ever_is_left_behind(server):
    from parts.loopback import Behaviour

    server.on("/hook", Behaviour(uncapped=b"HTTP/1.1 200 OK\r\n", raw_again=b"X-Slow: 1\r\n", endless_pause=0.05))
    patience = DeliveryTries(tries=1, timeout=5.0, in_all=0.3, to_end=0.0)
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": server.url("/hook")}, patience)
    assert (outcome.state, outcome.detail) == ("failed", "did not end within 0.3 s")


def test_nobody_there_is_a_failure_and_the_address_stays_secret():
    with refusing() as base_url:
        outcome = send(Webhook(url="HOOK"), message(), {"HOOK": f"{base_url}/T0001/secretsecret"})
    assert outcome.state == "failed"
    assert "refused" in outcome.detail.lower()
    assert "secretsecret" not in outcome.detail


def test_a_server_that_says_the_secret_back_does_not_spread_it(server):
    address = server.url("/T0001/secretsecret")
    server.on("/T0001/secretsecret", lambda seen: error(400, f"bad {seen.headers['authorization']} at {address}"))
    outcome = send(Webhook(url="HOOK", token="KEY"), message(), {"HOOK": address, "KEY": "tok-12345678"})
    assert outcome.detail == "HTTP 400: bad Bearer [redacted] at [redacted]"
    server.on("/T0001/secretsecret", error(400, "nothing at T0001/secretsecret"))
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": address})
    assert outcome.detail == "HTTP 400: nothing at [redacted]"
    server.on("/T0001/secretsecret", error(400, "no hook secretsecret here"))
    outcome = send(Webhook(url="HOOK"), message(), {"HOOK": address + "?x=1"})
    assert outcome.detail == "HTTP 400: no hook [redacted] here"


@pytest.mark.parametrize(
    ("env", "detail"),
    [
        ({}, "the environment variable HOOK is not set"),
        ({"HOOK": "  "}, "the environment variable HOOK is not set"),
        ({"HOOK": "file:///etc/passwd"}, "$HOOK holds no address that begins with https:// or http://"),
    ],
)
def test_an_address_that_is_none_is_reported_without_a_try_more(env, detail):
    outcome = send(Webhook(url="HOOK"), message(), env)
    assert (outcome.state, outcome.tries, outcome.detail) == ("failed", 1, detail)


def test_channels_do_not_wait_for_one_another(server):
    server.on("/slow", slow(60)).on("/quick", OK)
    jobs = [(Webhook(url="SLOW"), message()), (Webhook(url="QUICK"), message())]
    env = {"SLOW": server.url("/slow"), "QUICK": server.url("/quick")}
    found = deliver(jobs, place(**env), DeliveryTries(tries=1, timeout=0.5, in_all=2.0))
    assert [each.state for each in found] == ["failed", "sent"]


def test_slack_gets_its_shape_with_nothing_foreign_as_markup(server):
    server.on("/slack", OK)
    foreign = "<!channel> *bold* & `code` ```\nEND <https://evil.example|click>"
    told = notice(reading=reading(what="MIX is new @here", quotes=(("got", foreign),)), suite="demo")
    assert send(Slack(url="HOOK"), message(told), {"HOOK": server.url("/slack")}).state == "sent"
    data = server.requests[0].json
    assert list(data) == ["text"]
    text = data["text"]
    assert "<" not in text
    assert "@here" not in text
    # The block of code ends where we end it: one fence before and one after.
    assert text.count("```") == 2
    assert "&lt;!channel&gt; *bold* &amp; 'code' '''\nEND &lt;https://evil.example|click&gt;" in text
    assert "`steelyard compare @release demo-2`" in text


def test_slack_is_reported_how_many_more_there_are():
    many = message(*(notice(alert=number) for number in range(20)))
    text = slack_shape(many)["text"]
    assert text.count("pass") >= 15
    assert text.endswith("and 5 more: `steelyard alerts list`")


def test_lone_surrogates_arrive_as_json(server):
    server.on("/hook", OK)
    told = message(notice(reading=reading(quotes=(("got", "half \ud83d and \x1b[2J"),))))
    assert send(Webhook(url="HOOK"), told, {"HOOK": server.url("/hook")}).state == "sent"
    raw = json.loads(server.requests[0].body)
    assert raw["alerts"][0]["quotes"] == [{"label": "got", "text": "half \ud83d and \x1b[2J"}]


def test_a_recovery_says_so():
    over = notice(NoticeKind.RECOVERED, now=reading(what="pass_rate is not worse beyond noise than in release"))
    text = slack_shape(message(over))["text"]
    assert text.startswith(":large_green_circle: *demo*: RECOVERED")
