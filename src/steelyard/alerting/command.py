"""A message handed to a program as JSON on its standard input; no shell is between."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess

from steelyard.alerting.channel import Place, Undelivered
from steelyard.alerting.notices import Message
from steelyard.report.safe_text import one_line
from steelyard.suite.alert_channels import Command

_MOST_OF_OUTPUT = 300


def send_to_command(channel: Command, message: Message, place: Place, seconds: float) -> None:
    """Run it to its end; Undelivered when it cannot be run, takes too long or ends with another code than 0."""
    body = json.dumps(message.as_data(), allow_nan=False).encode("ascii")
    try:
        # In a group of its own, so that what it starts ends with it.
        process = subprocess.Popen(  # noqa: S603 - the suite's own words, and no shell
            channel.argv,
            cwd=place.folder,
            env=dict(place.env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Undelivered(f"{channel.argv[0]} cannot be run: {error}", retry=False) from None
    with process:
        try:
            said, _ = process.communicate(body, timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            raise Undelivered(f"no end after {seconds:.3g} s") from None
        finally:
            if process.poll() is None:
                _end(process)
    if process.returncode != 0:
        told = one_line(said.decode("utf-8", "replace"), _MOST_OF_OUTPUT)
        raise Undelivered(f"exit code {process.returncode}{f': {told}' if told else ''}")


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # What is left in its pipes is nobody's: a grandchild that got away must not hold this up.
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()
