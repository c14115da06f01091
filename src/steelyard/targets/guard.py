"""Stands between a run and what it started, as a process of its own: when the run is over, however it ended (also by
`kill -9`), the programs and everything in their process groups are stopped. The end of its input is the sign.

    python -I -S guard.py SECONDS PROGRAM [ARGUMENT ...]

starts a service: SIGTERM first, SIGKILL after SECONDS. It ends with the service's exit code, or 128 and the number of
the signal that ended it.

    python -I -S guard.py

watches programs that the run starts itself: a line `+ID` on its input names a process group, `-ID` one that has ended.
Run as a file, so it imports nothing of Steelyard.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading


def main(grace: float, argv: list[str]) -> int:
    """Start the program, wait for its end or for the sign to stop, and leave nothing of it behind."""
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603 - the suite says what
    over = threading.Event()
    threading.Thread(target=_stop_on_request, args=(child.pid, grace, over), daemon=True).start()
    code = child.wait()
    over.set()
    _report_group(child.pid, signal.SIGKILL)
    return 128 - code if code < 0 else code


def kill_groups() -> None:
    """Kill every group that is named on the input and has not ended when the input does."""
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        _report_group(group, signal.SIGKILL)


def _stop_on_request(group: int, grace: float, over: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    _report_group(group, signal.SIGTERM)
    if not over.wait(grace):
        _report_group(group, signal.SIGKILL)


def _report_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    if not sys.argv[1:]:
        kill_groups()
    else:
        sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
