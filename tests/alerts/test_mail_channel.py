"""E-mail against a real SMTP server on loopback."""

import pytest

from parts.alerts import QUICK, message, notice, place, reading
from parts.mailbox import CERTIFICATE, Mailbox
from steelyard.alerts.channels import DeliveryTries, deliver
from steelyard.loading.alerts import Mail


def channel(box, **changes):
    given = {"to": ["team@example.org", "ada@example.org"], "from": "steelyard@example.org", "host": "127.0.0.1"}
    return Mail.model_validate(given | {"port": box.port, "security": "none"} | changes)


def send(box, sent=None, retry_policy=QUICK, env=None, **changes):
    return deliver([(channel(box, **changes), sent or message())], place(**(env or {})), retry_policy)[0]


def test_a_mail_arrives_with_what_a_person_needs():
    with Mailbox() as box:
        outcome = send(box)
    assert (outcome.state, outcome.tries, outcome.detail) == ("sent", 1, "")
    (mail,) = box.mails
    assert mail.sender == "steelyard@example.org"
    assert mail.recipients == ("team@example.org", "ada@example.org")
    letter = mail.letter
    assert letter["Subject"] == "[steelyard] demo: pass_rate is worse than in release"
    assert letter["Auto-Submitted"] == "auto-generated"
    text = letter.get_content().replace("\r\n", "\n")
    assert "Change:   78.0 % now, 90.0 % before: -12.0 points (n 50 now, 50 before)\n" in text
    assert "Since:    run demo-2 of 2026-01-18 03:12 UTC (this run)\n" in text
    assert "Command:  steelyard compare @release demo-2\n" in text


def test_nothing_foreign_adds_a_header_or_a_recipient():
    evil = "quiet\r\nBcc: mallory@example.org\r\n\r\n<b>hello</b>"
    sent = message(notice(reading=reading(what=evil, quotes=(("got", "one\r\n.\r\nMAIL FROM:<x@example.org>"),))))
    with Mailbox() as box:
        assert send(box, sent).state == "sent"
    (mail,) = box.mails
    assert mail.recipients == ("team@example.org", "ada@example.org")
    letter = mail.letter
    assert letter["Bcc"] is None
    assert letter["Subject"] == "[steelyard] demo: quiet Bcc: mallory@example.org <b>hello</b>"
    assert letter.get_content_type() == "text/plain"
    assert "> one\n> .\n> MAIL FROM:<x@example.org>" in letter.get_content().replace("\r\n", "\n")


def test_signs_of_any_language_survive():
    sent = message(notice(reading=reading(what="Größe — 高さ is worse \ud83d")))
    with Mailbox() as box:
        assert send(box, sent).state == "sent"
    assert box.mails[0].letter["Subject"] == "[steelyard] demo: Größe — 高さ is worse \\ud83d"


def test_name_and_password_come_from_the_environment_over_tls(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with Mailbox(starttls=True) as box:
        env = {"WHO": "ada", "WORD": "open sesame"}
        outcome = send(box, security="starttls", user="WHO", password="WORD", env=env)
    assert outcome.state == "sent"
    (mail,) = box.mails
    assert (mail.encrypted, mail.user, mail.password) == (True, "ada", "open sesame")


def test_tls_from_the_first_byte(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with Mailbox(tls=True) as box:
        assert send(box, security="tls").state == "sent"
    assert box.mails[0].encrypted


def test_a_certificate_that_nobody_trusts_gets_no_mail_and_no_password():
    with Mailbox(starttls=True) as box:
        env = {"WHO": "ada", "WORD": "open sesame"}
        outcome = send(box, security="starttls", user="WHO", password="WORD", env=env)
    assert (outcome.state, outcome.tries) == ("failed", 1)
    assert outcome.detail.startswith("the server's certificate is not trusted")
    assert box.mails == []


def test_a_server_without_starttls_gets_no_mail():
    with Mailbox() as box:
        outcome = send(box, security="starttls")
    assert (outcome.state, outcome.tries) == ("failed", 1)
    assert "STARTTLS" in outcome.detail
    assert box.mails == []


def test_a_server_that_is_busy_is_asked_again():
    with Mailbox(says={"MAIL": ["451 later", "250 ok"]}) as box:
        outcome = send(box)
    assert (outcome.state, outcome.tries, len(box.mails)) == ("sent", 2, 1)


def test_a_no_for_good_is_not_asked_again():
    with Mailbox(says={"DATA": ["554 no spam here"]}) as box:
        outcome = send(box)
    assert (outcome.state, outcome.tries, outcome.detail) == ("failed", 1, "the server says 554 no spam here")


def test_a_wrong_password_is_reported_and_not_shown():
    with Mailbox(says={"AUTH": ["535 open sesame is wrong"]}) as box:
        env = {"WHO": "ada", "WORD": "open sesame"}
        outcome = send(box, user="WHO", password="WORD", env=env)
    assert (outcome.state, outcome.tries) == ("failed", 1)
    assert outcome.detail == "the server says 535 [redacted] is wrong"


def test_a_short_password_is_not_shown_either():
    with Mailbox(says={"AUTH": ["535 abc is wrong"]}) as box:
        outcome = send(box, user="WHO", password="WORD", env={"WHO": "ada", "WORD": "abc"})
    assert outcome.detail == "the server says 535 [redacted] is wrong"


def test_whoever_is_refused_is_named_and_the_others_get_it():
    with Mailbox(says={"RCPT": ["550 nobody", "250 ok"]}) as box:
        outcome = send(box)
    assert (outcome.state, outcome.detail) == ("sent", "refused for some: team@example.org (550 nobody)")
    assert box.mails[0].recipients == ("ada@example.org",)


def test_a_server_that_never_speaks_holds_nobody_up():
    with Mailbox(hangs=True) as box:
        outcome = send(box, retry_policy=DeliveryTries(tries=1, timeout=0.2, in_all=5.0))
    assert (outcome.state, outcome.tries) == ("failed", 1)


@pytest.mark.parametrize("verb", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_a_server_that_falls_silent_holds_nobody_up(verb):
    with Mailbox(silent_at=verb) as box:
        outcome = send(box, retry_policy=DeliveryTries(tries=1, timeout=0.2, in_all=5.0))
    assert (outcome.state, outcome.tries) == ("failed", 1)
    assert "timed out" in outcome.detail


@pytest.mark.parametrize("goodbye", [{"says": {"QUIT": ["500 what?"]}}, {"silent_at": "QUIT"}])
def test_a_goodbye_that_goes_wrong_has_no_mail_sent_again(goodbye):
    with Mailbox(**goodbye) as box:
        outcome = send(box)
    assert (outcome.state, outcome.tries, len(box.mails)) == ("sent", 1, 1)


def test_nobody_there():
    with Mailbox() as box:
        pass
    outcome = send(box)
    assert outcome.state == "failed"
    assert "refused" in outcome.detail


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user": "WHO"}, "user and password go together"),
        ({"user": "WHO", "password": "WORD", "host": "mail.example.org"}, "in the clear"),
        ({"to": ["ada@example.org\r\nBcc: x@example.org"]}, "is no e-mail address"),
        ({"from": "a@b, c@d"}, "is no e-mail address"),
        ({"password": "hunter2!", "user": "WHO"}, "not the name of an environment variable"),
    ],
)
def test_settings_that_would_do_harm_are_mistakes(changes, message):
    with pytest.raises(ValueError, match=message):
        channel(type("box", (), {"port": 25}), **changes)
