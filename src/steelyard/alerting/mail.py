"""A message as an e-mail, handed to an SMTP server."""

from __future__ import annotations

import contextlib
import smtplib
import ssl
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid

from steelyard.alerting.channel import Place, Undelivered
from steelyard.alerting.notices import Message
from steelyard.report.safe_text import one_line
from steelyard.suite.alert_channels import Mail

_FOR_GOOD = 500
"""From this code on a server says no for good."""


def send_mail(channel: Mail, message: Message, place: Place, seconds: float) -> str:
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
            _part(server)
        finally:
            server.close()
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        raise Undelivered(
            f"the server says {error.smtp_code} {one_line(str(said), 200)}", retry=error.smtp_code < _FOR_GOOD
        ) from None
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _said in error.recipients.values()]
        raise Undelivered(f"nobody is accepted: {_refused(error.recipients)}", retry=min(codes) < _FOR_GOOD) from None
    except smtplib.SMTPNotSupportedError as error:
        raise Undelivered(f"the server cannot do what is asked for: {error}", retry=False) from None
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


def _part(server: smtplib.SMTP) -> None:
    # The mail is taken: a goodbye that is answered late, wrongly or never must not have it sent once more.
    with contextlib.suppress(smtplib.SMTPException, OSError):
        server.putcmd("QUIT")


def _refused(recipients: dict[str, tuple[int, bytes]]) -> str:
    told = [
        f"{who} ({code} {one_line(said.decode('utf-8', 'replace'), 100)})" for who, (code, said) in recipients.items()
    ]
    return ", ".join(told)
