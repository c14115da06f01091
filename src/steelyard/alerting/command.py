"""A message handed to a program as JSON on its standard input; no shell is between."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from typing import IO

from steelyard.alerting.channel import Place, Undelivered
from steelyard.alerting.notices import Message
from steelyard.report.safe_text import one_line
from steelyard.suite.alert_channels import Command

_MOST_OF_OUTPUT = 300


def send_to_command(channel: Command, message: Message, place: Place, seconds: float) -> None:
    """Run it to its end; Undelivered when it cannot be run, takes too long or ends with another code than 0."""
    body = json.dumps(message.as_data(), allow_nan=False).encode("ascii")
    try:
        # Files and no pipes: a program that leaves another one running, which holds them open, has ended all the same.
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
            given.write(body)
            given.seek(0)
            code = _run(channel, place, given, said, seconds)
            said.seek(0)
            told = one_line(said.read(4 * _MOST_OF_OUTPUT).decode("utf-8", "replace"), _MOST_OF_OUTPUT)
    except subprocess.TimeoutExpired:
        raise Undelivered(f"no end after {seconds:.3g} s") from None
    except (OSError, ValueError) as error:
        raise Undelivered(f"{channel.argv[0]} cannot be run: {error}", retry=False) from None
    if code != 0:
        raise Undelivered(f"exit code {code}{f': {told}' if told else ''}")


def _run(channel: Command, place: Place, given: IO[bytes], said: IO[bytes], seconds: float) -> int:
    # In a group of its own, so that what it starts can be ended with it.
    process = subprocess.Popen(  # noqa: S603 - the suite's own words, and no shell
        channel.argv,
        cwd=place.folder,
        env=dict(place.env),
        stdin=given,
        stdout=said,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with process:
        try:
            return process.wait(timeout=seconds)
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
