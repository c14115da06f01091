"""The command line: its commands, safe output and how errors end.

A command is a module `NAME_command.py` of any package; it is found by its file and imported when it is called.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import click

from steelyard import __version__
from steelyard.cli.internal_errors import SYSTEM_ERRORS, internal_error_text, system_error_text
from steelyard.cli.safe_output import safe_output
from steelyard.errors import SteelyardError
from steelyard.redact import learn_secrets, redact_known, secrets_in
from steelyard.report.verdicts import INTERRUPTED

TASKS = {
    "Score": ("init", "run", "rescore", "ci", "suites"),
    "Look": ("report", "show", "runs", "history", "view", "serve", "bundle"),
    "Decide": ("compare", "gate", "baseline", "ab", "experiment", "alerts"),
    "Check the suite, its judge and its truth": ("audit", "judge", "power", "truth"),
    "People": ("label",),
    "Data": ("import", "export", "sql", "store"),
    "Editors and shells": ("schema", "completion"),
}
"""Commands by what a user wants to do; one that is in none of these is listed last."""
_ENDING = "_command"
_PACKAGES = Path(__file__).parent.parent


@cache
def commands() -> dict[str, str]:
    """Every command with the module that it is in: in `alerts/alerts_command.py`, `alerts_command` is `alerts`."""
    return {
        path.stem.removesuffix(_ENDING): f"steelyard.{path.parent.name}.{path.stem}"
        for path in _PACKAGES.glob(f"*/*{_ENDING}.py")
    }


def summary_of(name: str) -> str:
    """The first paragraph of what a command says of itself, read without importing it."""
    text = (_PACKAGES / Path(*commands()[name].split(".")[1:])).with_suffix(".py").read_text(encoding="utf-8")
    about = text.partition(f"def {name}{_ENDING}(")[2].partition('"""')[2]
    return " ".join(about.partition('"""')[0].partition("\n\n")[0].split())


class LazyGroup(click.Group):
    """Lists each command with the first paragraph of its help, without importing it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(commands())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in commands():
            return None
        command = getattr(importlib.import_module(commands()[name]), f"{name}{_ENDING}")
        assert isinstance(command, click.Command)  # noqa: S101 - every such module has one
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in commands() and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, commands(), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" Commands: {', '.join(sorted(commands()))}."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        others = sorted(commands().keys() - {name for names in TASKS.values() for name in names})
        for task, names in (*TASKS.items(), ("Other commands", others)):
            if names:
                with formatter.section(task):
                    formatter.write_dl([(f"{name:10}", summary_of(name)) for name in names])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="steelyard")
def steelyard() -> None:
    """Evaluate AI features against ground truth, with results that can be trusted.

    Exit codes: 0 pass, 1 fail, 2 wrong usage or broken suite, 3 invalid run, 4 ambiguous, 70 internal error,
    130 interrupted.
    """


INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits.h: no verdict has this code."""


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
    if error.errno in SYSTEM_ERRORS:
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
        from steelyard.user_code import raised_in_words

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
