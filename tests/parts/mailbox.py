"""A real SMTP server on a free loopback port that keeps what it is sent, and misbehaves when told to.

    with Mailbox() as box:
        ... box.port ...
    box.mails   # every mail as it arrived: who it is from, for whom, and its bytes

It speaks what a client needs (EHLO, STARTTLS, AUTH PLAIN and LOGIN, MAIL, RCPT, DATA, RSET, NOOP, QUIT) on raw sockets
in a thread of its own.
"""

from __future__ import annotations

import base64
import email
import email.policy
import socket
import ssl
import threading
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Self

CERTIFICATE = Path(__file__).with_name("self_signed.pem")


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail as it arrived."""

    sender: str
    recipients: tuple[str, ...]
    data: bytes
    encrypted: bool
    user: str
    password: str

    @property
    def letter(self) -> EmailMessage:
        return email.message_from_bytes(self.data, policy=email.policy.default)


@dataclass
class Mailbox:
    """The server. `says` is what it answers to a verb instead, in turn, the last one staying: {"RCPT": ["550 no"]}."""

    says: dict[str, list[str]] = field(default_factory=dict)
    starttls: bool = False
    tls: bool = False
    hangs: bool = False
    """Takes connections and never says a word."""
    silent_at: str = ""
    """The verb that it hears and says nothing to."""
    mails: list[Mail] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    def __enter__(self) -> Self:
        self._stop = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(0.02)
        self.port = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, name="mailbox", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        self._thread.join(10)
        self._listening.close()
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                line, _ = self._listening.accept()
            except TimeoutError:
                continue
            self.connections += 1
            with line:
                line.settimeout(5)
                try:
                    if self.hangs:
                        self._stop.wait(30)
                    else:
                        self._converse(line)
                except (OSError, ValueError):
                    pass  # the client went away, which tests do on purpose

    def _encrypted(self, line: socket.socket) -> socket.socket:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(CERTIFICATE)
        return context.wrap_socket(line, server_side=True)

    def _converse(self, line: socket.socket) -> None:
        talk = _Talk(self, self._encrypted(line) if self.tls else line, encrypted=self.tls)
        try:
            talk.say("220 mailbox ESMTP")
            while talk.hears() and not self._stop.is_set():
                pass
        finally:
            talk.close()

    def answer_to(self, verb: str) -> str | None:
        script = self.says.get(verb)
        if not script:
            return None
        return script.pop(0) if len(script) > 1 else script[0]


class _Talk:
    """One conversation."""

    def __init__(self, box: Mailbox, line: socket.socket, *, encrypted: bool) -> None:
        self.box, self.line, self.encrypted = box, line, encrypted
        self.file = line.makefile("rb")
        self.sender, self.recipients = "", []
        self.user = self.password = ""

    def say(self, text: str) -> None:
        self.line.sendall(text.encode() + b"\r\n")

    def close(self) -> None:
        self.file.close()
        self.line.close()

    def hears(self) -> bool:
        """Take one command; False when the conversation is over."""
        words = self.file.readline().decode().rstrip("\r\n")
        if not words:
            return False
        verb, _, rest = words.partition(" ")
        verb = verb.upper()
        if verb == self.box.silent_at:
            self.line.settimeout(None)
            # Until the client has had enough.
            return bool(self.file.readline())
        scripted = self.box.answer_to(verb)
        if scripted is not None and not scripted.startswith("2") and verb != "DATA":
            self.say(scripted)
            return True
        getattr(self, f"_{verb.lower()}", self._unknown)(rest)
        return verb != "QUIT"

    def _ehlo(self, _rest: str) -> None:
        offers = ["AUTH PLAIN LOGIN"] + (["STARTTLS"] if self.box.starttls and not self.encrypted else [])
        for offer in ["mailbox", *offers[:-1]]:
            self.say(f"250-{offer}")
        self.say(f"250 {offers[-1]}")

    def _starttls(self, _rest: str) -> None:
        self.say("220 go on")
        self.file.close()
        self.line = self.box._encrypted(self.line)
        self.file = self.line.makefile("rb")
        self.encrypted = True

    def _auth(self, rest: str) -> None:
        _kind, _, first = rest.partition(" ")
        _, user, password = base64.b64decode(first).decode().split("\0")
        self.user, self.password = user, password
        self.say("235 welcome")

    def _mail(self, rest: str) -> None:
        self.sender, self.recipients = rest.partition("<")[2].partition(">")[0], []
        self.say("250 ok")

    def _rcpt(self, rest: str) -> None:
        self.recipients.append(rest.partition("<")[2].partition(">")[0])
        self.say("250 ok")

    def _data(self, _rest: str) -> None:
        self.say("354 go on")
        lines = []
        while (line := self.file.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b"."))
        scripted = self.box.answer_to("DATA")
        if scripted is None:
            told = (self.user, self.password)
            mail = Mail(self.sender, tuple(self.recipients), b"".join(lines), self.encrypted, *told)
            self.box.mails.append(mail)
        self.say(scripted or "250 kept")

    def _rset(self, _rest: str) -> None:
        self.say("250 ok")

    _noop = _rset

    def _quit(self, _rest: str) -> None:
        self.say("221 bye")

    def _unknown(self, _rest: str) -> None:
        self.say("502 not known")
