"""One small module a command; heavy imports inside the function that needs them."""

from __future__ import annotations

import errno
import os
import sys
import traceback

import click

from steelyard.cli.group import steelyard
from steelyard.cli.safe_output import safe_output
from steelyard.errors import SteelyardError
from steelyard.redact import learn_secrets, redact_known, secrets_in

WRONG_USAGE = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line; deliberate errors become one clear message and their exit code."""
    learn_secrets(secrets_in(os.environ))
    with safe_output():
        _run()


def _run() -> None:
    # Not click's own way of ending: its exit code for Ctrl-C is 1, which here means that a gate failed.
    try:
        sys.exit(steelyard.main(standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except SteelyardError as error:
        _say(f"steelyard: {error}")
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            _crash(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _say("steelyard: the output could not be written: no space left")
        sys.exit(WRONG_USAGE)
    except SystemExit as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if frame.f_globals["__name__"].startswith("steelyard."):
            raise
        # With its exit code a verdict would be made up.
        from steelyard.user_code import raised_in_words

        _say(f"steelyard: code of the suite ended the process: {raised_in_words(error)}")
        sys.exit(WRONG_USAGE)
    except BaseException as error:  # noqa: BLE001 - the last line of defence
        _crash(error)


def _crash(error: BaseException) -> None:
    # Python's own exit code for a crash is 1, which means that a gate failed. A crash is no verdict at all.
    from steelyard.cli.internal_error import INTERNAL_ERROR, internal_error_text

    _say(internal_error_text(error))
    sys.exit(INTERNAL_ERROR)


def _say(text: str) -> None:
    print(redact_known(text), file=sys.stderr)  # noqa: T201 - the command line's own voice
