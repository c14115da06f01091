"""Everything Steelyard raises on purpose.

SteelyardError                 base; carries the exit code a command ends with
├── UsageError                exit 2: wrong usage or a broken suite
│   ├── SuiteError             one or more Problems in suite or case files
│   ├── RunNotFound            no such run in the store
│   ├── SnapshotError          a snapshot file that cannot be read
│   └── MissingExtra           an optional part that is not installed
├── NotPassed                  a run whose verdict is not PASS; exit code of its verdict
├── StoreError                 exit 2: the store cannot be opened, read or written
│   └── RunTaken               the run is another process's now
└── TargetFailure              never reaches a user: becomes the outcome `target_failed`
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from steelyard.frozen import frozen

UNFINISHED = "unfinished run: "
"""Begins the note, on whatever ended a run before its end, that names the run."""
NO_MORE_FILES = "this process may open no more files (ulimit -n): lower --concurrency, or raise the limit"


class SteelyardError(Exception):
    """Base of all deliberate errors; `str()` is the message a person reads."""

    exit_code = 2


class UsageError(SteelyardError):
    """Something the user can fix: the message says what was found, where, and what to do."""


@frozen
class Problem:
    """One thing wrong in a file, with where it is and what would be right."""

    message: str
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        if not self.file:
            return self.message
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


class SuiteError(UsageError):
    """All mistakes found in a suite and its files, reported together."""

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        result = [Problem(problems)] if isinstance(problems, str) else list(problems)
        self.problems: tuple[Problem, ...] = tuple(result)
        super().__init__("\n".join(str(problem) for problem in result))


class RunNotFound(UsageError):
    """The store holds no run of that name."""


class SnapshotError(UsageError):
    """A snapshot file is not one, is damaged, or comes from a newer version."""


class MissingExtra(UsageError):
    """An optional part is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: {install_command(extra)}")


def install_command(extra: str) -> str:
    """What to type for an optional part of Steelyard as it was installed: from an index, a repository, a folder or a
    file, by pip, uv or pipx."""
    import json
    import shlex
    from importlib import metadata
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        installed = metadata.distribution("steelyard")
    except metadata.PackageNotFoundError:
        return f"pip install 'steelyard[{extra}]'"
    install, add = _installers((installed.read_text("INSTALLER") or "").strip())
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    url, vcs = origin.get("url", ""), origin.get("vcs_info")
    if vcs is not None:
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    if not url.startswith("file:"):
        return f"{install} {shlex.quote(f'steelyard[{extra}] @ {url}' if url else f'steelyard[{extra}]')}"
    place = url2pathname(urlsplit(url).path)
    if Path(place).exists():
        editable = "--editable " if origin.get("dir_info", {}).get("editable") else ""
        return f"{install} {editable}{shlex.quote(f'{place}[{extra}]')}"
    # The file that it came from is gone; what the part consists of can be had all the same.
    parts = [text.replace('"', "'").partition(";") for text in installed.requires or ()]
    names = [name.strip() for name, _, when in parts if f"extra == '{extra}'" in when]
    return f"{add} {shlex.join(names)}"


def _installers(installer: str) -> tuple[str, str]:
    """The commands that install Steelyard again, and that add a package to it."""
    import sys
    from pathlib import Path

    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        return "pipx install --force", "pipx inject steelyard"
    if (Path(sys.prefix) / "uv-receipt.toml").exists():
        return "uv tool install --force", f"uv pip install --python {sys.prefix}"
    return ("uv pip install", "uv pip install") if installer == "uv" else ("pip install", "pip install")


class NotPassed(SteelyardError):
    """A run, asked for by a program, that did not pass; `reasons` says why, a sentence each."""

    def __init__(self, what: str, reasons: Sequence[str], exit_code: int) -> None:
        super().__init__("\n".join([what, *(f"- {reason}" for reason in reasons)]))
        self.reasons = tuple(reasons)
        self.exit_code = exit_code


class StoreError(SteelyardError):
    """The store could not be opened, read or written; what it held before is intact."""


class RunTaken(StoreError):
    """Another process runs the run now: nothing was changed, and there is nothing to resume here."""


class TargetFailure(SteelyardError):
    """The target gave no answer that can be scored.

    `kind` is a short word for reports (timeout, refused, cut, http_503, ...). `retry` says whether
    asking again may help; `retry_after` is the server's own wish in seconds; `throttled` asks the
    engine to lower its concurrency. `latency` is how long was waited in seconds, when the target knows better than the
    engine's clock, `first_byte` and `first_token` after how many seconds these came, of an answer that timed out later.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry: bool = True,
        retry_after: float | None = None,
        throttled: bool = False,
        status: int | None = None,
        body: str | None = None,
        latency: float | None = None,
        first_byte: float | None = None,
        first_token: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry = retry
        self.retry_after = retry_after
        self.throttled = throttled
        self.status = status
        self.body = body
        self.latency, self.first_byte, self.first_token = latency, first_byte, first_token

    def __reduce__(self) -> tuple[Any, ...]:
        # A failure of a call that another process made comes back whole.
        names = ("retry", "retry_after", "throttled", "status", "body", "latency", "first_byte", "first_token")
        return partial(TargetFailure, **{name: getattr(self, name) for name in names}), (self.kind, str(self))
