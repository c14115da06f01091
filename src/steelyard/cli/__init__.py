"""The command line: its commands, safe output and how errors end.

A command's module is imported when it is called.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import io
import os
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from steelyard import __version__
from steelyard.errors import NO_MORE_FILES, UNFINISHED, SteelyardError
from steelyard.redact import learn_secrets, redact_known, secrets_in
from steelyard.report.format import spelled_out
from steelyard.report.render.github import harmless_log
from steelyard.report.verdicts import INTERRUPTED

# The group of commands. A command's module is imported only when it is called.

COMMANDS = {
    "ab": "Decide between two systems, on a suite's cases or on users.",
    "alerts": "Send alerts about what changed, once for each cause.",
    "audit": "Test the suite: what score do answers that know nothing get?",
    "baseline": "Lock runs as baselines that others are compared with.",
    "bundle": "Write runs and their comparisons as a static site.",
    "ci": "Run, compare, gate and write the files of a CI job, in one step.",
    "compare": "Show what changed between two runs, with intervals and p-values.",
    "completion": "Print the script that lets a shell complete commands, suites and runs.",
    "experiment": "Run a baseline and a candidate that differ in one factor, and decide.",
    "export": "Write a stored run as a snapshot file, or its samples as a table.",
    "gate": "Check a run's gates; the exit code is the verdict.",
    "history": "Show a suite's figures run by run, and where their level changed.",
    "import": "Read a snapshot, or results of another tool, into the store.",
    "init": "Write a commented starter suite that runs at once.",
    "judge": "Measure a suite's judge against labels, its rubric and itself.",
    "label": "Let people label answers, and say how far they agree.",
    "power": "Show a suite's minimum detectable difference, and what a smaller one takes.",
    "report": "Show a run, or write it as Markdown, JUnit, HTML, JSON or charts.",
    "rescore": "Score recorded answers again; no call is made.",
    "run": "Run a suite's target and store every answer.",
    "runs": "List the stored runs, newest first; delete runs.",
    "serve": "Show the store in a browser: runs, changes, samples, and the label desk.",
    "show": "Show one sample: request, answer, expected and got, scores, findings, judge.",
    "schema": "Print the JSON Schema of suite files, for editors.",
    "sql": "Ask the store in SQL; it is only read.",
    "store": "Copy a store into another, SQLite or PostgreSQL.",
    "suites": "List the built-in suites.",
    "truth": "Edit the truth, say why, see what was edited, decide on suggestions, lint.",
    "view": "Show one run in a browser.",
}


_MODULES = {
    "alerts.command": ("alerts",),
    "auditing.command": ("audit",),
    "cli.completion": ("completion",),
    "commands.ci": ("ci",),
    "commands.run": ("report", "rescore", "run"),
    "commands.runs": ("gate", "runs", "show"),
    "commands.store": ("store",),
    "commands.suites": ("init", "power", "schema", "suites"),
    "comparing.command": ("compare",),
    "exchange.command": ("export", "import"),
    "experiments.command": ("ab", "experiment"),
    "judge_checks.command": ("judge",),
    "people.command": ("label",),
    "run_history.baseline_command": ("baseline",),
    "run_history.command": ("history",),
    "tables.command": ("sql",),
    "truth.command": ("truth",),
    "web.command": ("bundle", "serve", "view"),
}
"""By module, its commands: in `commands.run`, `report_command` is the command `report`."""


class LazyGroup(click.Group):
    """Knows every command's name and one line of help without importing it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        home = next(module for module, commands in _MODULES.items() if name in commands)
        command = getattr(importlib.import_module(f"steelyard.{home}"), f"{name}_command")
        assert isinstance(command, click.Command)  # noqa: S101 - every module named above has one
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" Commands: {', '.join(sorted(COMMANDS))}."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="steelyard")
def steelyard() -> None:
    """Evaluate AI features against ground truth, with results that can be trusted.

    Exit codes: 0 pass, 1 fail, 2 wrong usage or broken suite, 3 invalid run, 4 ambiguous, 70 internal error,
    130 interrupted.
    """


# Makes what commands print harmless, in one place: it quotes answers, and a terminal or CI log obeys some of them.


_NO_READER = (errno.EPIPE, errno.EBADF, errno.EIO)
"""Errors of a pipe, file or terminal that cannot be written to any more, or never could."""


class SafeOutput(io.TextIOBase):
    """A stream in front of another that is not a terminal. `unguarded` is that other one."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream
        self._line = ""
        """The part of the line being written that decides what may follow."""
        # Whoever wants colours in a log gets them: what is foreign was spelled out before it was coloured.
        self._keep = "\n\t\x1b" if os.environ.get("FORCE_COLOR") else "\n\t"

    def write(self, text: str) -> int:
        before = harmless_log(self._line)
        whole = self._line + spelled_out(text, keep=self._keep)
        with self._reader_may_leave():
            self.unguarded.write(harmless_log(whole)[len(before) :])
        line = whole.rpartition("\n")[2]
        self._line = line if line.strip() in ("", ":") else "." + line[-2:]
        return len(text)

    def flush(self) -> None:
        with self._reader_may_leave():
            self.unguarded.flush()

    @contextlib.contextmanager
    def _reader_may_leave(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # What is said on the way is no result: without room for it, the command goes on.
            if error.errno not in _NO_READER and self.unguarded.fileno() != 2:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.unguarded.fileno())

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.unguarded.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override] # the base class has a variable
        return self.unguarded.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self.unguarded.errors


@contextlib.contextmanager
def safe_output() -> Iterator[None]:
    """Everything that is printed meanwhile is harmless; a terminal is left alone, since reports are safe for it."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream if stream.isatty() else SafeOutput(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def workflow_command(line: str) -> None:
    """A command to the runner of a CI job. It reads standard error too; standard output stays the report's."""
    print(line, file=getattr(sys.stderr, "unguarded", sys.stderr), flush=True)


# The message for a defect of Steelyard itself: one line, what is safe, how to go on, where the rest is.

_LONGEST_NAME = 80
INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits.h: no verdict has this code."""


def internal_error_text(error: BaseException) -> str:
    """The message; the full traceback is in a file, or in the message itself where a file would be lost."""
    from steelyard.plugins import raised_in_words

    notes = getattr(error, "__notes__", ())
    unfinished = [note.removeprefix(UNFINISHED) for note in notes if note.startswith(UNFINISHED)]
    lines = [f"steelyard: internal error: {raised_in_words(error)}"]
    if unfinished:
        lines += [f"The finished samples of run {unfinished[0]} are stored. Resume with:", f"  {_go_on(unfinished[0])}"]
    else:
        lines.append("Finished samples of all runs are stored.")
    written = redact_known("".join(traceback.format_exception(error)))
    place = None if os.environ.get("CI") else _file(written)
    where = f"The full traceback is in {place}." if place else f"{written}\nThe full traceback is above."
    return "\n".join([*lines, f"{where} This is a defect of Steelyard, not of your suite: please report it with that."])


_OF_THE_SYSTEM = {
    errno.ENAMETOOLONG: "the name is longer than the file system allows",
    errno.ELOOP: "links lead in a circle",
    errno.EACCES: "it is not yours to read or write",
    errno.EPERM: "it is not yours to read or write",
    errno.EROFS: "it is on a file system that is read-only",
    errno.EDQUOT: "your quota on this file system is used up",
    errno.EMFILE: NO_MORE_FILES,
    errno.ENFILE: "the system has no more files to open",
}
"""What a file system or the system refuses, in words: no defect of Steelyard."""


def system_error_text(error: OSError) -> str:
    """What the system refused, for which file, and how to go on with a run that it ended."""
    name = "" if error.filename is None else os.fsdecode(error.filename)
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}... ({len(name):,} characters)"
    notes = getattr(error, "__notes__", ())
    unfinished = [note.removeprefix(UNFINISHED) for note in notes if note.startswith(UNFINISHED)]
    resume = f". Finished samples are stored; resume with: {_go_on(unfinished[0])}" if unfinished else ""
    return f"{f'{shown}: ' if name else ''}{_OF_THE_SYSTEM[error.errno or 0]}{resume}"


def _go_on(run_id: str) -> str:
    words = sys.argv[1:]
    if words[:1] in (["run"], ["ci"]):
        from steelyard.cli.ending import same_command

        return same_command(run_id)
    if words[:1] in (["ab"], ["experiment"]) and "--resume" not in words:
        words.append("--resume")
    return shlex.join(["steelyard", *words])


def _file(text: str) -> str | None:
    """A file of this user's own with the text, beside the store of the working folder if there is one."""
    from steelyard.store.sql import DEFAULT

    folder = DEFAULT.parent if DEFAULT.parent.is_dir() else Path(tempfile.gettempdir())
    try:
        number, place = tempfile.mkstemp(prefix="internal-error-", suffix=".log", dir=folder)
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return None
    return place


COMPLETE_VARIABLE = "_STEELYARD_COMPLETE"
"""With it a shell asks for the words that may come next."""
WRONG_USAGE = 2


def main() -> None:
    """Run the command line; deliberate errors become one clear message and their exit code."""
    # What is imported stays to the end: to look through it for garbage again and again, and once more at the exit,
    # took a tenth of the CPU of a short run.
    gc.set_threshold(20_000, 20, 20)
    # NumPy's threads look for work without rest for 2**26 clock ticks, 20 ms of each core, unless told otherwise.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    _open_missing_streams()
    try:
        learn_secrets(secrets_in(os.environ))
        if os.environ.get(COMPLETE_VARIABLE):
            # Words for a shell, written as bytes by click, which then ends the process.
            steelyard.main(prog_name="steelyard", complete_var=COMPLETE_VARIABLE)
        with safe_output():
            _run()
    finally:
        # DuckDB complains at the exit of what was not collected.
        if "duckdb" not in sys.modules:
            gc.freeze()


def _refused_by_system(error: OSError) -> NoReturn:
    """End with a sentence on what the system refused; with the internal error that anything else is."""
    if error.errno in _OF_THE_SYSTEM:
        _say(f"steelyard: {system_error_text(error)}")
    elif error.errno == errno.ENOSPC:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _say("steelyard: the output could not be written: no space left")
    else:
        _crash(error)
    sys.exit(WRONG_USAGE)


def _open_missing_streams() -> None:
    """Let standard streams that were closed (`>&-`) lead nowhere. Otherwise the next file that is opened, such as the
    store, has the number of one, and gets what is printed."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest number that is free
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115 - to the end
            setattr(sys, name, stream)


def _run() -> None:
    # Not click's own way of ending: its exit code for Ctrl-C is 1, which here means that a gate failed.
    try:
        code = _ended(steelyard.main, standalone_mode=False)
        # Not left to Python's own end, where an error has the exit code 120.
        sys.stdout.flush()
        sys.exit(code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except SteelyardError as error:
        _say(f"steelyard: {error}")
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except OSError as error:
        _refused_by_system(error)
    except SystemExit as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if frame.f_globals["__name__"] == __name__:
            raise
        if frame.f_globals["__name__"].startswith("ray."):  # which ends a process so when it is asked to end
            sys.exit(INTERRUPTED)
        # With its exit code a verdict would be made up.
        from steelyard.plugins import raised_in_words

        _say(f"steelyard: code of the suite ended the process: {raised_in_words(error)}")
        sys.exit(WRONG_USAGE)
    except BaseException as error:  # noqa: BLE001 - the last line of defence
        _crash(error)


def _ended(command: Callable[..., Any], **options: Any) -> Any:
    """The exit code with which a command ended, by its own `sys.exit` too."""
    try:
        return command(**options) or 0
    except SystemExit as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if not frame.f_globals["__name__"].startswith("steelyard."):
            raise
        return error.code


def _crash(error: BaseException) -> None:
    # Python's own exit code for a crash is 1, which means that a gate failed. A crash is no verdict at all.

    _say(internal_error_text(error))
    sys.exit(INTERNAL_ERROR)


def _say(text: str) -> None:
    print(redact_known(text), file=sys.stderr)  # noqa: T201 - the command line's own voice
