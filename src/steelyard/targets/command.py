"""The command target: a program that is run once a call."""

from __future__ import annotations

import asyncio
import os
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator

from steelyard.errors import TargetFailure
from steelyard.redact import looks_secret
from steelyard.suite.case import digest
from steelyard.suite.values import TextFile
from steelyard.targets.base import Request, Response, TargetContext
from steelyard.targets.filling import TextFiller, text_filler
from steelyard.targets.program import ALWAYS_PASSED, Finished, Guard, Program, find_program, run_program
from steelyard.targets.settings import TargetSettings, Texts, read_variable, text_of
from steelyard.targets.stored_request import hidden_arguments

_TRY_AGAIN = os.EX_TEMPFAIL


class CommandSettings(TargetSettings):
    """What to run, and what it gets."""

    shorthand: ClassVar[str | None] = "run"

    run: tuple[str, ...] = Field(
        description="The program and its arguments, as a list: no shell takes part. Arguments are templates.",
        min_length=1,
    )
    stdin: str | TextFile | None = Field(
        default=None, description="Template of what the program reads from stdin, or {file: PATH} of one."
    )
    env: Texts = Field(
        default=(),
        description="Names of environment variables to pass on. Besides these it gets PATH, HOME and LANG only.",
    )
    secret_env: Texts = Field(
        default=(), description="As env, for variables whose values must never reach store, log or report."
    )
    max_bytes: int = Field(default=10_000_000, description="Largest output that is read.", gt=0)

    @field_validator("run", mode="before")
    @classmethod
    def _is_a_list(cls, given: Any) -> Any:
        if isinstance(given, str):
            raise ValueError(f"write the program and its arguments as a list: [{', '.join(given.split())}]")
        return given

    @field_validator("run")
    @classmethod
    def _starts_with_a_program(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if not given[0].strip() or "{{" in given[0]:
            raise ValueError(f"{given[0]!r} is not the name of a program")
        return given


class CommandTarget:
    """Runs the program once a call, in the suite's folder and in a process group of its own.

    However a call ends (answer, failure, timeout, Ctrl-C), the whole group is killed and the program reaped.
    """

    Settings = CommandSettings
    may_be_free: ClassVar[bool] = True

    def __init__(self, settings: CommandSettings, target_context: TargetContext) -> None:
        self._settings = settings
        self._folder = target_context.folder.resolve()
        self._env = _environment(settings, target_context)
        self._program = find_program(settings.run[0], self._folder, self._env.get("PATH"), "target command")
        self._arguments = [
            text_filler(text, f"target command, argument {at}") for at, text in enumerate(settings.run[1:], 1)
        ]
        self._stdin: TextFiller | None = None
        self._stdin_text: str | None = None
        if settings.stdin is not None:
            self._stdin_text, where = text_of(settings.stdin, target_context, "target command, stdin")
            self._stdin = text_filler(self._stdin_text, where)

    async def __aenter__(self) -> Self:
        self._guard = Guard()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await asyncio.to_thread(self._guard.close)

    async def ask(self, ask: Request) -> Response:
        """What the program wrote to stdout, without the last newline; TargetFailure when it failed."""
        argv = (self._program, *(fill(ask) for fill in self._arguments))
        stdin = None if self._stdin is None else self._stdin(ask).encode("utf-8", "replace")
        try:
            finished = await run_program(
                Program(argv, self._folder, self._env, self._settings.max_bytes), stdin, self._guard
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            message = f"{self._settings.run[0]} cannot be started: {reason}"
            raise TargetFailure("cannot_start", message, retry=False) from None
        return Response(text=self._text(finished), latency=finished.took)

    def identity(self) -> dict[str, Any]:
        """Kind, command line, a hash of stdin's template, and the names of the variables passed on."""
        named = sorted({*self._settings.env, *self._settings.secret_env})
        stdin = None if self._stdin_text is None else digest(self._stdin_text)
        return {"kind": "command", "run": hidden_arguments(self._settings.run), "stdin": stdin, "env": named}

    def request_key(self, ask: Request) -> Any:
        """Arguments and stdin."""
        arguments = [fill(ask) for fill in self._arguments]
        stdin = None if self._stdin is None else self._stdin(ask)
        return {"run": [self._settings.run[0], *arguments], "stdin": stdin}

    def secrets(self) -> list[str]:
        """Values of secret_env, and of env where the name looks like a secret's."""
        plain = {name for name in self._settings.env if not looks_secret(name)} - {*self._settings.secret_env}
        return [self._env[name] for name in self._env if name not in plain and name not in ALWAYS_PASSED]

    def _text(self, finished: Finished) -> str:
        if finished.too_large:
            message = f"it wrote more than max_bytes ({self._settings.max_bytes:,} bytes) and was killed"
            raise TargetFailure("too_large", message, retry=False)
        if finished.code != 0:
            raise _exit_failure(finished)
        try:
            return finished.output.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            message = f"the output is not UTF-8 text: byte {error.start} cannot be read"
            raise TargetFailure("bad_encoding", message, retry=False) from None


def _exit_failure(finished: Finished) -> TargetFailure:
    code = finished.code
    kind, message = (
        (f"exit_{code}", f"exit code {code}") if code > 0 else (f"signal_{-code}", f"killed by signal {-code}")
    )
    complaint = f": {finished.complaint}" if finished.complaint else ", nothing on stderr"
    return TargetFailure(kind, message + complaint, retry=code == _TRY_AGAIN, body=finished.complaint or None)


def _environment(settings: CommandSettings, target_context: TargetContext) -> dict[str, str]:
    passed = {name: target_context.env[name] for name in ALWAYS_PASSED if name in target_context.env}
    for name in (*settings.env, *settings.secret_env):
        passed[name] = read_variable(name, target_context, "target command")
    return passed
