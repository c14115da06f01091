"""A real service as a process of its own: python small_service.py --port N [switches]. Prints what it does.

It answers {"answer": {"word": "word N"}} for {"number": N}. Uses the standard library only, so that it starts at once.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

options = argparse.ArgumentParser()
options.add_argument("--port", type=int, default=int(os.environ.get("SERVICE_PORT", "0")))
options.add_argument("--late", type=float, default=0.0, help="seconds before it listens")
options.add_argument("--crash", default=None, help="print this and end with code 3 instead of listening")
options.add_argument("--never", action="store_true", help="never listen")
options.add_argument("--loading", type=int, default=0, help="so many health checks answer 503 first")
options.add_argument("--dies-after", type=int, default=None, help="end with code 7 at this question (from 1)")
options.add_argument("--sick-after", type=int, default=None, help="not healthy any more after so many questions")
options.add_argument("--ignores-sigterm", action="store_true")
options.add_argument("--child", default=None, help="start a process that does not heed SIGTERM, pid in this file")
options.add_argument("--pid", default=None, help="write the own pid to this file")
options.add_argument("--takes", type=float, default=0.0, help="seconds for each question")
options.add_argument("--log", default=None, help="append the number of each question that was answered to this file")
given = options.parse_args()

lock = threading.Lock()
asked = checked = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        global checked
        with lock:
            checked += 1
            loading = checked <= given.loading
            sick = given.sick_after is not None and asked >= given.sick_after
        self._send(503 if loading or sick else 200, {"status": "loading" if loading or sick else "ok"})

    def do_POST(self) -> None:
        global asked
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            asked += 1
            if given.dies_after is not None and asked >= given.dies_after:
                print("out of memory: giving up", flush=True)
                os._exit(7)
        token = os.environ.get("SERVICE_TOKEN")
        if token and self.headers.get("Authorization") != f"Bearer {token}":
            self._send(401, {"error": "who are you?"})
            return
        time.sleep(given.takes)
        number = json.loads(body)["number"]
        self._send(200, {"answer": {"word": f"word {number}"}})
        if given.log:
            with lock, Path(given.log).open("a") as log:
                log.write(f"{number}\n")

    def _send(self, status: int, data: object) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        return


if given.pid:
    Path(given.pid).write_text(str(os.getpid()))
if given.child:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    child.stdout.readline()
    Path(given.child).write_text(str(child.pid))
if given.ignores_sigterm:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("starting", flush=True)
if given.crash is not None:
    print(given.crash, file=sys.stderr, flush=True)
    sys.exit(3)
while given.never:
    time.sleep(600)
time.sleep(given.late)
ThreadingHTTPServer(("127.0.0.1", given.port), Handler).serve_forever()
