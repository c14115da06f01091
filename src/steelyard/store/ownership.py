"""Who runs a run: the token under which one process alone may write it, and the heartbeat that other hosts see.

A run's row holds the token of its owner, a count of its heartbeats and when the last one came, by the store's own
clock. Whoever watches the count change knows that the owner lives, whatever the clocks of both hosts say. A run is
taken over by one compare-and-set of token and count; from then on every write of the earlier owner is refused.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from steelyard.errors import RunTaken
from steelyard.frozen import frozen
from steelyard.records import Owner, RunState
from steelyard.store.codec import decode
from steelyard.store.stored_text import to_stored

if TYPE_CHECKING:
    from steelyard.store.databases import Database, Session

BEAT = 3.0
"""Seconds between two heartbeats."""
_LEASE_LASTS = 8 * BEAT
"""Seconds after its last sign of life in which no other host takes a run over, so that calls may be made unasked."""
_BEATS = "UPDATE runs SET beats = beats + 1, seen_at = {now} WHERE id = ? AND owner_token = ?"
_LEASE = "SELECT number, state, options, owner_token, beats, {now} - seen_at FROM runs WHERE id = ?"


@frozen
class Lease:
    """Who runs a run, as the store has it now."""

    state: RunState
    owner: Owner | None
    token: str
    """"" when nobody may be writing the run."""
    beats: int
    age: float | None
    """Seconds since the owner's last sign of life, by the store's clock; None when it gave none."""


def read_lease(session: Session, run_id: str, now: str, lock: str = "") -> tuple[int, Lease] | None:
    """The number of a run with its lease; None when there is no such run."""
    rows = session.execute(_LEASE.format(now=now) + lock, (to_stored(run_id),))
    if not rows:
        return None
    number, state, options, token, beats, age = rows[0]
    owner = json.loads(options).get("owner")
    named = None if owner is None else decode(Owner, owner)
    return number, Lease(RunState(state), named, token or "", beats, None if age is None else max(0.0, float(age)))


def taken(run_id: str, by: Owner | None) -> RunTaken:
    """The error of a process whose run another one has taken over."""
    who = "another process" if by is None else f"process {by.pid} on {by.host}"
    return RunTaken(
        f"run {run_id} was taken over by {who}, which has what was stored of it: this process made no further calls,"
        " discarded what it had not stored, and changed nothing there"
    )


_HELD: set[str] = set()
"""The tokens under which this process writes runs."""


def held_here(token: str) -> bool:
    """Whether this process writes a run under the token."""
    return token in _HELD


class Ownership:
    """The runs that a store writes in this process, and the thread that gives their signs of life."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tokens: dict[str, str] = {}
        self._confirmed: dict[str, float] = {}
        self._tell: dict[str, Callable[[RunTaken], None]] = {}
        self._guard = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def token(self, run_id: str) -> str:
        """The token under which this store writes the run; "" for a run that has no owner."""
        return self._tokens.get(run_id, "")

    def hold(self, run_id: str, owner: Owner | None) -> None:
        """From now on the run is written under its owner's token, with a heartbeat; without an owner it is let go."""
        with self._guard:
            _HELD.discard(self._tokens.pop(run_id, ""))
            if owner is None or not owner.token:
                return
            _HELD.add(owner.token)
            self._tokens[run_id] = owner.token
            self._confirmed[run_id] = _now()
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._beat, name="steelyard-heartbeat", daemon=True)
                self._thread.start()

    def is_confirmed(self, run_id: str) -> bool:
        """Whether no other process can have taken over the run: not so in one that was suspended for a while."""
        return run_id not in self._tokens or _now() - self._confirmed[run_id] < _LEASE_LASTS

    def confirm(self, run_id: str, lease: Lease) -> None:
        """Go by this lease, just read; RunTaken when it is another process's."""
        if lease.token != self.token(run_id):
            raise taken(run_id, lease.owner)
        self._confirmed[run_id] = _now()

    @contextlib.contextmanager
    def watched(self, run_id: str, lost: Callable[[RunTaken], None]) -> Iterator[None]:
        """`lost` is called, in the heartbeat's thread, when another process has taken over the run meanwhile."""
        self._tell[run_id] = lost
        try:
            yield
        finally:
            self._tell.pop(run_id, None)

    def close(self) -> None:
        """No more signs of life."""
        self._closing.set()
        with self._guard:
            _HELD.difference_update(self._tokens.values())
        if self._thread is not None:
            # Without waiting for a file that somebody else has locked, or a server that does not answer.
            self._thread.join(timeout=1.0)

    def _beat(self) -> None:
        # On a connection of its own, and without waiting out a server that is gone: the next beat may reach it.
        connection = None
        while not self._closing.wait(BEAT):
            try:
                if connection is None or not self._database.usable(connection):
                    self._database.refuse_lost()
                    connection = self._database.connect()
                for run_id, token in list(self._tokens.items()):
                    self._beat_for(self._database.session(connection), run_id, token)
            except Exception:  # noqa: BLE001 - what is wrong with the store shows when the run writes
                _close(connection)
                connection = None
        _close(connection)

    def _beat_for(self, session: Session, run_id: str, token: str) -> None:
        now = self._database.dialect.now
        session.execute(_BEATS.format(now=now), (to_stored(run_id), token))
        found = read_lease(session, run_id, now)
        if found is not None and found[1].token == token:
            self._confirmed[run_id] = _now()
        # Without a token it was let go, perhaps by this process.
        if found is not None and found[1].token not in ("", token) and self._tokens.get(run_id) == token:
            tell = self._tell.get(run_id)
            if tell is not None:
                tell(taken(run_id, found[1].owner))


def _now() -> float:
    """Seconds by a clock that goes on while the machine sleeps, where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def _close(connection: Any) -> None:
    if connection is not None:
        with contextlib.suppress(Exception):
            connection.close()
