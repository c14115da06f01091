"""Where alerts go: a webhook, a chat, a mailbox, a command, GitHub. Secrets are named by environment variables."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = re.compile(r"[^@\s,;<>\"]+@[^@\s,;<>\"]+")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError(
            "what stands there is not the name of an environment variable; if it is the secret itself, take it out of"
            " the file, export it, and write the variable's name"
        )
    return name


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError(f"{text!r} is no e-mail address: write name@example.org")
    return text


Variable = Annotated[str, AfterValidator(_variable)]
Address = Annotated[str, AfterValidator(_address)]


class _Channel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    kind: ClassVar[str]
    shorthand: ClassVar[str] = ""
    """The setting that a bare text or list stands for."""

    @property
    def label(self) -> str:
        """What tells this channel from the others, with nothing secret in it."""
        return self.kind

    @property
    def secrets(self) -> tuple[str, ...]:
        """The environment variables that it reads."""
        return ()


class Webhook(_Channel):
    """A POST of JSON."""

    kind: ClassVar[str] = "webhook"
    shorthand: ClassVar[str] = "url"

    url: Variable = Field(description="The environment variable that holds the address.")
    token: Variable | None = Field(
        default=None, description="The environment variable that holds a key, sent as `Authorization: Bearer`."
    )

    @property
    def label(self) -> str:
        """Kind and variable."""
        return f"{self.kind} ${self.url}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Address and key."""
        return (self.url,) if self.token is None else (self.url, self.token)


class Slack(Webhook):
    """A POST in the shape of Slack's incoming webhooks, which others (Mattermost, Rocket.Chat) take, too."""

    kind: ClassVar[str] = "slack"


class Mail(_Channel):
    """An e-mail over SMTP."""

    kind: ClassVar[str] = "mail"

    to: list[Address] = Field(min_length=1, description="Who gets it.")
    from_: Address = Field(alias="from", description="Whom it is from.")
    host: str = Field(min_length=1, description="The server that takes it.")
    port: int | None = Field(
        default=None, ge=1, le=65_535, description="Its port. Left out: 587, 465 or 25, by the security."
    )
    security: Literal["starttls", "tls", "none"] = Field(default="starttls", description="How the line is encrypted.")
    user: Variable | None = Field(default=None, description="The environment variable that holds the user's name.")
    password: Variable | None = Field(default=None, description="The environment variable that holds the password.")

    @model_validator(mode="after")
    def _keeps_the_password(self) -> Self:
        if (self.user is None) is not (self.password is None):
            raise ValueError("user and password go together: give both, or neither")
        if self.security == "none" and self.password is not None and self.host not in _LOCAL:
            raise ValueError(
                f"security: none would send the password to {self.host} in the clear: write starttls or tls"
            )
        return self

    @property
    def at_port(self) -> int:
        """The port, as given or as is usual."""
        return self.port or _PORTS[self.security]

    @property
    def label(self) -> str:
        """Kind and whom it goes to."""
        return f"{self.kind} {', '.join(self.to)}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Name and password."""
        return () if self.user is None or self.password is None else (self.user, self.password)


class Command(_Channel):
    """A program that gets the alerts as JSON on its standard input; no shell is between."""

    kind: ClassVar[str] = "command"
    shorthand: ClassVar[str] = "argv"

    argv: list[str] = Field(min_length=1, description="The program and its arguments.")

    @property
    def label(self) -> str:
        """Kind and program."""
        return f"{self.kind} {' '.join(self.argv)}"[:200]


class GitHub(_Channel):
    """Annotations and the job summary, inside GitHub Actions; elsewhere nothing."""

    kind: ClassVar[str] = "github"


Channel = Webhook | Slack | Mail | Command | GitHub
CHANNELS: dict[str, type[Channel]] = {each.kind: each for each in (Webhook, Slack, Mail, Command, GitHub)}
