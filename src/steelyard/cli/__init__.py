"""One small module a command; heavy imports inside the function that needs them."""

from __future__ import annotations

import os
import sys

from steelyard.cli.group import steelyard
from steelyard.errors import SteelyardError

INTERRUPTED = 130


def main() -> None:
    """Run the command line; deliberate errors become one clear message and their exit code."""
    try:
        steelyard(standalone_mode=True)
    except SteelyardError as error:
        print(f"steelyard: {error}", file=sys.stderr)  # noqa: T201 - the command line's own voice
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, less) has gone; leave without a second complaint at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
