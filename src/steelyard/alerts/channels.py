"""Sends messages over all channels side by side: tried again a few times, never longer than a run may be held up."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import smtplib
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from pathlib import Path
from typing import IO, Any

from steelyard import __version__
from steelyard.alerts.notices import Message, Notice
from steelyard.frozen import frozen
from steelyard.loading.alerts import Channel, Command, Mail, Slack, Webhook
from steelyard.redact import SHORTEST, SecretRedactor
from steelyard.report.format import one_line
from steelyard.report.render.github import annotation, append_summary, in_github
from steelyard.report.render.markdown import facts, quoted, safe
from steelyard.store.alert_log import FAILED, SENT, SKIPPED


class Undelivered(Exception):
    """A message did not arrive; `retry` says whether another try may help, `after` how long the other side asks for."""

    def __init__(self, detail: str, *, retry: bool = True, after: float | None = None) -> None:
        super().__init__(detail)
        self.retry, self.after = retry, after


class NotHere(Exception):
    """The channel does not exist where this runs, such as GitHub on somebody's own machine."""


@frozen
class DeliveryTries:
    """How long delivery may take: a run is over, and somebody waits for its exit code."""

    tries: int = 4
    first_wait: float = 0.5
    """Seconds before the second try; each wait after it is three times as long."""
    timeout: float = 10.0
    """Seconds for one try."""
    in_all: float = 30.0
    """Seconds for all channels, which are tried side by side."""
    to_end: float = 1.0
    """Of these, seconds at the end in which nothing is tried any more, and a program that hangs is ended."""


@frozen
class ChannelContext:
    """Where a channel works: its environment, its folder, and where lines for people go."""

    env: Mapping[str, str]
    folder: Path
    add_problem: Callable[[str], None]

    def secret(self, variable: str) -> str:
        """The value of a variable; Undelivered naming it when it is not set."""
        value = self.env.get(variable, "").strip()
        if not value:
            raise Undelivered(f"the environment variable {variable} is not set", retry=False)
        return value


_MOST_NOTICES = 15
_SLACK_SIGNS = {"error": ":red_circle:", "warning": ":large_yellow_circle:", "notice": ":large_green_circle:"}
_BREAK = "\u200b"
_MARKS = re.compile(r"(?=[*_~`@#:])|(?<=[*_~`@#:])")


def slack_shape(message: Message) -> dict[str, Any]:
    """The message as the JSON that Slack, and those that took over its shape, understand."""
    blocks = [_slack_block(notice, message.suite) for notice in message.notices[:_MOST_NOTICES]]
    left = len(message.notices) - len(blocks)
    blocks += [f"and {left} more: `steelyard alerts list`"] if left > 0 else []
    return {"text": "\n\n".join(blocks)}


def _slack_block(notice: Notice, suite: str) -> str:
    facts = notice.facts()
    lines = [f"{_SLACK_SIGNS[notice.level]} *{plain(suite)}*: {plain(facts[0][1])}"]
    lines += [f"*{label}*  {plain(text)}" for label, text in facts[1:] if label != "Command"]
    lines += [f"*{label}*\n{fenced(text)}" for label, text in notice.quotes()]
    lines.append(f"*Command*  `{_escaped(_without_ticks(notice.command))}`")
    return "\n".join(lines)


def plain(text: str) -> str:
    """Foreign text in which nothing is a link, a mention, an emoji or markup."""
    return _escaped(_MARKS.sub(_BREAK, text))


def fenced(text: str) -> str:
    """Foreign text as a block of code that nothing in it can end."""
    return f"```\n{_escaped(_without_ticks(text))}\n```"


def _without_ticks(text: str) -> str:
    return text.replace("`", "'")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_WORTH_RETRYING = (408, 425, 429)
_MOST_OF_ANSWER = 300
_LONGEST_WAIT = 60.0


def send_webhook(channel: Webhook, message: Message, place: ChannelContext, seconds: float) -> None:
    """Send it; Undelivered when the other side does not take it."""
    address = place.secret(channel.url)
    if not address.startswith(("https://", "http://")):
        raise Undelivered(f"${channel.url} holds no address that begins with https:// or http://", retry=False)
    if "@" in address.partition("://")[2].partition("/")[0]:
        raise Undelivered(f"${channel.url} holds a name or password in its address: give a token", retry=False)
    data = slack_shape(message) if isinstance(channel, Slack) else message.as_data()
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": f"steelyard/{__version__}"}
    if channel.token is not None:
        headers["Authorization"] = f"Bearer {place.secret(channel.token)}"
    try:
        # Lone surrogates, which models do send, have no place in UTF-8: JSON spells them out.
        body = json.dumps(data, allow_nan=False).encode("ascii")
        request = urllib.request.Request(address, body, headers, method="POST")  # noqa: S310 - http or https, above
        # It is taken once the status says so: an answer that never ends must not have it sent once more.
        urllib.request.build_opener(_NoRedirect).open(request, timeout=seconds).close()
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error) from None
    except urllib.error.URLError as error:
        raise Undelivered(f"no connection: {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        raise Undelivered(f"the connection broke: {str(error) or type(error).__name__}") from None
    except ValueError as error:
        raise Undelivered(f"${channel.url} or its token cannot be used: {error}", retry=False) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would turn the POST into a GET, and could lead anywhere."""

    def redirect_request(self, *message: Any) -> None:  # noqa: ARG002 - whatever it is told
        return None


def _refusal(error: urllib.error.HTTPError) -> Undelivered:
    try:
        text = error.read(_MOST_OF_ANSWER).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        text = ""
    retry = error.code >= 500 or error.code in _WORTH_RETRYING
    message = f": {' '.join(text.split())}" if text.strip() else ""
    return Undelivered(f"HTTP {error.code}{message}", retry=retry, after=_wish(error.headers))


def _wish(headers: Any) -> float | None:
    """The seconds that the other side asks to wait; None when it does not say so in seconds."""
    try:
        seconds = float(headers.get("Retry-After", ""))
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds <= _LONGEST_WAIT else None


_FOR_GOOD = 500
"""From this code on a server refuses permanently."""


def send_mail(channel: Mail, message: Message, place: ChannelContext, seconds: float) -> str:
    """Send it, and give a word on whoever was refused; Undelivered when the server takes it for nobody."""
    login = () if channel.user is None or channel.password is None else (channel.user, channel.password)
    words = [place.secret(name) for name in login]
    letter = as_mail(channel, message)
    try:
        server = _connected(channel, seconds)
        try:
            if words:
                server.login(*words)
            refused = server.send_message(letter)
            _say_goodbye(server)
        finally:
            server.close()
    except smtplib.SMTPResponseException as error:
        text = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        raise Undelivered(
            f"the server says {error.smtp_code} {one_line(str(text), 200)}", retry=error.smtp_code < _FOR_GOOD
        ) from None
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _stated in error.recipients.values()]
        raise Undelivered(
            f"no recipient was accepted: {_refused(error.recipients)}", retry=min(codes) < _FOR_GOOD
        ) from None
    except smtplib.SMTPNotSupportedError as error:
        raise Undelivered(f"the server does not support what the settings ask for: {error}", retry=False) from None
    except ssl.SSLCertVerificationError as error:
        raise Undelivered(f"the server's certificate is not trusted: {error.verify_message}", retry=False) from None
    except (smtplib.SMTPException, OSError) as error:
        raise Undelivered(f"no connection: {str(error) or type(error).__name__}") from None
    return f"refused for some: {_refused(refused)}" if refused else ""


def as_mail(channel: Mail, message: Message) -> EmailMessage:
    """The message as a mail; nothing in it can add a header."""
    letter = EmailMessage(policy=SMTP)
    letter["Subject"] = message.subject
    letter["From"] = channel.from_
    letter["To"] = ", ".join(channel.to)
    letter["Date"] = formatdate()
    letter["Message-ID"] = make_msgid(domain=channel.from_.rpartition("@")[2])
    # So that no machine answers it: RFC 3834.
    letter["Auto-Submitted"] = "auto-generated"
    letter["X-Steelyard-Run"] = one_line(message.run_id)
    letter.set_content(message.text(), cte="quoted-printable")
    return letter


def _connected(channel: Mail, seconds: float) -> smtplib.SMTP:
    trusted = ssl.create_default_context()
    if channel.security == "tls":
        return smtplib.SMTP_SSL(channel.host, channel.at_port, timeout=seconds, context=trusted)
    server = smtplib.SMTP(channel.host, channel.at_port, timeout=seconds)
    if channel.security == "starttls":
        try:
            server.starttls(context=trusted)
        except BaseException:
            server.close()
            raise
    return server


def _say_goodbye(server: smtplib.SMTP) -> None:
    # The mail is taken: a goodbye that is answered late, wrongly or never must not have it sent once more.
    with contextlib.suppress(smtplib.SMTPException, OSError):
        server.putcmd("QUIT")


def _refused(recipients: dict[str, tuple[int, bytes]]) -> str:
    messages = [
        f"{who} ({code} {one_line(text.decode('utf-8', 'replace'), 100)})" for who, (code, text) in recipients.items()
    ]
    return ", ".join(messages)


_MOST_OF_OUTPUT = 300


def send_to_command(channel: Command, message: Message, place: ChannelContext, seconds: float) -> None:
    """Run it to its end; Undelivered when it cannot be run, takes too long or ends with another code than 0."""
    body = json.dumps(message.as_data(), allow_nan=False).encode("ascii")
    try:
        # Files and no pipes: a program that leaves another one running, which holds them open, has ended all the same.
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as text:
            given.write(body)
            given.seek(0)
            code = _run(channel, place, given, text, seconds)
            text.seek(0)
            note = one_line(text.read(4 * _MOST_OF_OUTPUT).decode("utf-8", "replace"), _MOST_OF_OUTPUT)
    except subprocess.TimeoutExpired:
        raise Undelivered(f"did not end within {seconds:.3g} s") from None
    except (OSError, ValueError) as error:
        raise Undelivered(f"{channel.argv[0]} cannot be run: {error}", retry=False) from None
    if code != 0:
        raise Undelivered(f"exit code {code}{f': {note}' if note else ''}")


def _run(channel: Command, place: ChannelContext, given: IO[bytes], text: IO[bytes], seconds: float) -> int:
    # In a group of its own, so that what it starts can be ended with it.
    process = subprocess.Popen(  # noqa: S603 - the suite's own words, and no shell
        channel.argv,
        cwd=place.folder,
        env=dict(place.env),
        stdin=given,
        stdout=text,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with process:
        try:
            return process.wait(timeout=seconds)
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


_GITHUB_SIGNS = {"error": "❌", "warning": "⚠️", "notice": "✅"}


def send_to_github(message: Message, place: ChannelContext) -> None:
    """Write annotations and the job summary; NotHere outside of GitHub Actions."""
    if not in_github(place.env):
        raise NotHere
    for notice in message.notices:
        note = "\n".join(f"{label}: {text}" for label, text in notice.facts()[1:])
        place.add_problem(annotation(notice.level, note, title=f"{message.suite}: {notice.title}"))
    try:
        append_summary(in_markdown(message), place.env)
    except OSError as error:
        raise Undelivered(f"the job summary cannot be written: {error.strerror or error}", retry=False) from None


def in_markdown(message: Message) -> str:
    """The message as Markdown in which nothing foreign is rendered."""
    return "\n\n".join(
        [f"### Alerts of {safe(message.suite)}", *(_markdown_part(notice) for notice in message.notices)]
    )


def _markdown_part(notice: Notice) -> str:
    parts = [facts(f"{_GITHUB_SIGNS[notice.level]} {notice.title}", notice.facts()[1:])]
    parts += [f"{safe(label)}:\n\n<pre>{quoted(text)}</pre>" for label, text in notice.quotes()]
    return "\n\n".join(parts)


_LONGER = 3.0
"""How much longer each wait is than the one before."""


@frozen
class Delivered:
    """What became of a message on one channel."""

    channel: str
    state: str
    """sent, failed, or skipped where the channel does not exist."""
    tries: int
    detail: str = ""
    """Why it failed, or who was refused; nothing secret is in it."""


def secret_redactor(channels: Sequence[Channel], env: Mapping[str, str]) -> SecretRedactor:
    """Takes the addresses, names and keys of these channels out of what runs say."""
    values = _values(channels, env)
    return SecretRedactor([*values, *(_path_and_query(value) for value in values)])


def _strict_redactor(channels: Sequence[Channel], env: Mapping[str, str]) -> SecretRedactor:
    """Takes them out of what servers say: however short they are, and every part of an address by itself."""
    values = _values(channels, env)
    parts = [part for value in values for part in re.split(r"[/?&=]", _path_and_query(value)) if len(part) >= SHORTEST]
    return SecretRedactor([*values, *map(_path_and_query, values), *parts], shortest=1)


def _values(channels: Sequence[Channel], env: Mapping[str, str]) -> list[str]:
    return [env[name].strip() for channel in channels for name in channel.secrets if name in env]


def _path_and_query(value: str) -> str:
    """What of an address is secret by itself: a server may say it back; "" of what is no address."""
    return value.partition("://")[2].partition("/")[2]


def deliver(
    messages: Sequence[tuple[Channel, Message]],
    place: ChannelContext,
    retry_policy: DeliveryTries = DeliveryTries(),  # noqa: B008 - frozen
) -> list[Delivered]:
    """What became of each message; nothing is ever raised, and it takes no longer than the patience lasts."""
    redact = _strict_redactor([channel for channel, _ in messages], place.env)
    until = time.monotonic() + retry_policy.in_all
    jobs = [_Job(channel, message, place, retry_policy, until - retry_policy.to_end) for channel, message in messages]
    given_up = f"did not end within {retry_policy.in_all:g} s"
    try:
        for job in jobs:
            job.start()
        for job in jobs:
            job.join(max(0.0, until - time.monotonic()))
    except KeyboardInterrupt:
        given_up = "interrupted"
    return [job.outcome(given_up, redact) for job in jobs]


class _Job(threading.Thread):
    """One message on its way. A daemon: what hangs in a system call must not keep the process from ending."""

    def __init__(
        self, channel: Channel, message: Message, place: ChannelContext, retry_policy: DeliveryTries, until: float
    ) -> None:
        super().__init__(name=f"alert by {channel.kind}", daemon=True)
        self._channel, self._message, self._place = channel, message, place
        self._retry_policy, self._until = retry_policy, until
        self._tries = 0
        self._last = ""
        self._done: tuple[str, str] | None = None

    def run(self) -> None:
        try:
            self._done = self._to_the_end()
        except Exception as error:  # noqa: BLE001 - whatever goes wrong here must not touch the run
            self._done = (FAILED, f"{type(error).__name__}: {error}")

    def outcome(self, given_up: str, redact: SecretRedactor) -> Delivered:
        last = f" (the last try: {self._last})" if self._last else ""
        state, detail = self._done or (FAILED, given_up + last)
        return Delivered(self._channel.label, state, self._tries, redact(detail))

    def _to_the_end(self) -> tuple[str, str]:
        wait = self._retry_policy.first_wait
        for number in range(1, self._retry_policy.tries + 1):
            self._tries = number
            try:
                return SENT, _send(self._channel, self._message, self._place, self._seconds())
            except NotHere:
                return SKIPPED, ""
            except Undelivered as error:
                self._last = str(error)
                pause = max(wait, error.after or 0.0)
                wait *= _LONGER
                if not error.retry or number == self._retry_policy.tries or time.monotonic() + pause > self._until:
                    break
                time.sleep(pause)
        return FAILED, self._last

    def _seconds(self) -> float:
        return max(0.05, min(self._retry_policy.timeout, self._until - time.monotonic()))


def _send(channel: Channel, message: Message, place: ChannelContext, seconds: float) -> str:
    if isinstance(channel, Webhook):
        send_webhook(channel, message, place, seconds)
    elif isinstance(channel, Mail):
        return send_mail(channel, message, place, seconds)
    elif isinstance(channel, Command):
        send_to_command(channel, message, place, seconds)
    else:
        send_to_github(message, place)
    return ""
