"""The store on a SQL database, and `open_store`, which opens the one that a URL, the environment or the folder names.

The statements are the same for SQLite and PostgreSQL; those of samples are in `samples`.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from steelyard.errors import RunNotFound, RunTaken, StoreError, UsageError
from steelyard.records import SCORER_ERROR, Item, Outcome, PastRun, RunHeader, RunState, Sample, TargetFacts
from steelyard.store import (
    alert_log,
    answer_digests,
    baseline_log,
    contents,
    experiment_log,
    journal,
    past_runs,
    stored_columns,
)
from steelyard.store.alert_log import AlertRecord, Delivery
from steelyard.store.base import Checks, ClaimColumns, Columns, JudgedSample, SampleFinding, Spending
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.case_rows import case_from, case_row, keep_cases
from steelyard.store.columns import positions_of, read_columns
from steelyard.store.contents import Contents
from steelyard.store.databases import (
    OWN_FOLDER,
    Database,
    Duplicate,
    Session,
    SqliteDatabase,
    in_pieces,
    pages_of,
)
from steelyard.store.excerpt import Excerpt, Repeat, read_excerpts, read_repeats
from steelyard.store.experiment_log import OnlineReading
from steelyard.store.figures import (
    Figure,
    StoredSummary,
    forget_summary,
    keep_summary,
    read_figures,
    read_summary,
    stored_bases,
)
from steelyard.store.judged import judged_after, spending_of
from steelyard.store.listing import RunsTable
from steelyard.store.ownership import Lease, Ownership, read_lease, taken
from steelyard.store.packed_columns import items_of, read_checks, read_claims
from steelyard.store.paging import Neighbors, Page, choices_of, read_neighbors, read_page
from steelyard.store.people import PeopleTables
from steelyard.store.postgres import PostgresDatabase
from steelyard.store.run_rows import RUN_COLUMNS, find_run, list_runs, numbers_of, run_by_id, run_not_found, run_row
from steelyard.store.sample_writing import describe_key, keep_rescored, keep_samples, results_by_key
from steelyard.store.samples import cases_after, findings_of, page_after, samples_at
from steelyard.store.schema import migrate
from steelyard.store.score_layouts import Layouts
from steelyard.store.selection import Selection
from steelyard.store.stored_paging import ArrayCache, PageRequest
from steelyard.store.stored_text import from_stored, to_json, to_stored
from steelyard.suite.case import Case, digest

if TYPE_CHECKING:
    import numpy as np

_OWNER = "UPDATE runs SET owner_token = ?, beats = beats + 1, seen_at = {now} WHERE id = ?"
UPDATE_RUN = f"UPDATE runs SET {', '.join(f'{name} = ?' for name in RUN_COLUMNS)}, median_latency = ? WHERE number = ?"  # noqa: S608
_FAILURES = """
SELECT a.failure_kind, a.failure_message, count(*), min(s.seq)
FROM samples s JOIN calls a ON a.run = s.call_run AND a.seq = s.seq
WHERE s.run = ? AND a.failure_kind IS NOT NULL GROUP BY a.failure_kind, a.failure_message ORDER BY min(s.seq)
"""
_SCORER_ERRORS = f"""
SELECT f.evidence, count(*), min(s.seq) FROM findings f JOIN samples s ON s.run = f.run AND s.seq = f.seq
WHERE f.run = ? AND f.code = '{SCORER_ERROR}' AND s.outcome = '{Outcome.JUDGE_FAILED.value}'
GROUP BY f.evidence ORDER BY min(s.seq)
"""  # noqa: S608 - our own words
# From when each call was sent: what waited for its turn under an open load says nothing about the target.
# A run whose calls timed out says nothing of how fast the target is: the next one would look far too fast.
_LATENCIES = """
SELECT latency - coalesce(queued, 0) FROM calls
WHERE run = ? AND failure_kind IS NULL AND cached = 0 AND latency > 0
"""
_USUAL = """
SELECT median_latency FROM runs
WHERE suite_name = ? AND target_digest = ? AND state = 'ended' AND created_at < ? AND median_latency IS NOT NULL
ORDER BY created_at DESC, number DESC LIMIT 20
"""
_CACHE = """
INSERT INTO cache (key, content, stored_at) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET content = excluded.content, stored_at = excluded.stored_at
"""

_Result = TypeVar("_Result")
_Place = TypeVar("_Place")
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _outlasting(method: _Method) -> _Method:
    """The same, made again when the server went away in the middle of it (see `Database.outlast`)."""

    @wraps(method)
    def outlasting(store: SqlStore, *given: Any, **named: Any) -> Any:
        return store.database.outlast(lambda: method(store, *given, **named))

    return cast("_Method", outlasting)


class SqlStore(AbstractContextManager["SqlStore", None]):
    """A `Store` (see `base.py`) in a database; every method may be called from any thread.

    A server that goes away while a run writes is waited for: a commit that went through although nobody heard of it is
    not made twice.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.place = database.place
        self.people = PeopleTables(database, self._number)
        self.listing = RunsTable(database)
        self._layouts: dict[int, Layouts] = {}
        self._ownership = Ownership(database)
        self._arrays = ArrayCache()
        self._in_view = threading.local()
        """The summaries that were made in the view of a thread."""

    def close(self) -> None:
        self._ownership.close()
        self.database.close()

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def notify(self, note: Callable[[str], None]) -> None:
        self.database.note = note

    @_outlasting
    def one_view(self, read: Callable[[], _Result]) -> _Result:
        if self.database.in_transaction:
            return read()
        made: dict[str, StoredSummary] = {}
        self._in_view.summaries = made
        try:
            with self.database.reading():
                result = read()
        finally:
            del self._in_view.summaries
        for run_id, summary in made.items():
            with suppress(StoreError):  # whoever may not write reads it all the same
                self.keep_summary(run_id, summary)
        return result

    def _read(self, read: Callable[..., _Result], *given: Any) -> _Result:
        """What `read` gives in a transaction of its own."""

        def reading() -> _Result:
            with self.database.reading() as session:
                return read(session, *given)

        return self.database.outlast(reading)

    @_outlasting
    def create_run(self, header: RunHeader) -> None:
        self.database.outlasts = True
        try:
            with self.database.writing() as session:
                number = self.database.unused_number(session)
                columns, first = (RUN_COLUMNS, ()) if number is None else (("number", *RUN_COLUMNS), (number,))
                session.insert("runs", columns, [(*first, *run_row(header))])
                if header.state is not RunState.ENDED:
                    self._set_owner(session, header)
        except Duplicate as error:
            raise StoreError(f"{self.place} already holds a run {header.id}") from error
        self._ownership.hold(header.id, header.options.owner)

    def _set_owner(self, session: Session, header: RunHeader) -> None:
        owner = header.options.owner
        token = None if owner is None else owner.token or None
        session.execute(_OWNER.format(now=self.database.dialect.now), (token, to_stored(header.id)))

    def lease(self, run_id: str) -> Lease:
        return self._read(self._lease, run_id)[1]

    def _lease(self, session: Session, run_id: str, lock: str = "") -> tuple[int, Lease]:
        found = read_lease(session, run_id, self.database.dialect.now, lock)
        if found is None:
            raise run_not_found(session, run_id, self.place)
        return found

    @_outlasting
    def take_run(self, header: RunHeader, seen: Lease) -> None:
        self.database.outlasts = True
        dialect = self.database.dialect
        with self.database.writing() as session:
            if dialect.lock_wait:
                session.execute(dialect.lock_wait)
            run, now = self._lease(session, header.id, dialect.lock_rows)
            if (now.token, now.beats) != (seen.token, seen.beats) or now.state is RunState.ENDED:
                raise taken(header.id, now.owner)
            self._set_owner(session, header)
            # Those that it was interrupted with are not of the samples that come now.
            forget_summary(session, run)
            session.execute(UPDATE_RUN, (*run_row(header), median_latency(session, run, header), run))
        self._ownership.hold(header.id, header.options.owner)

    def is_confirmed(self, run_id: str) -> bool:
        return self._ownership.is_confirmed(run_id)

    def confirm(self, run_id: str) -> None:
        self._ownership.confirm(run_id, self.lease(run_id))

    def watched(self, run_id: str, lost: Callable[[RunTaken], None]) -> AbstractContextManager[None]:
        return self._ownership.watched(run_id, lost)

    def update_run(self, header: RunHeader, summary: StoredSummary | None = None) -> None:
        self.database.outlasts = True
        self._update_run(header, summary)
        self._ownership.hold(header.id, header.options.owner)
        if header.state is RunState.ENDED:
            self.keep_columns(header.id)

    @_outlasting
    def _update_run(self, header: RunHeader, summary: StoredSummary | None) -> None:
        with self.database.writing() as session:
            run = self._open_run(session, header.id)
            self._set_owner(session, header)
            if summary is not None:
                keep_summary(session, run, summary)
            session.execute(UPDATE_RUN, (*run_row(header), median_latency(session, run, header), run))

    @_outlasting
    def keep_summary(self, run_id: str, summary: StoredSummary) -> None:
        in_view: dict[str, StoredSummary] | None = getattr(self._in_view, "summaries", None)
        if in_view is not None:
            # A view writes nothing: what was made in it is written when it ends.
            in_view[run_id] = summary
            return
        with self.database.writing() as session:
            keep_summary(session, self._number(session, run_id), summary)

    def summary(self, run_id: str) -> StoredSummary | None:
        return self._read(lambda session: read_summary(session, self._number(session, run_id)))

    def figures(
        self, run_ids: Sequence[str], names: Collection[str] | None = None, factors: Collection[str] | None = ("",)
    ) -> dict[str, list[Figure]]:
        def read(session: Session) -> dict[str, list[Figure]]:
            numbers = numbers_of(session, run_ids)
            results: dict[str, list[Figure]] = {numbers[number]: [] for number, _ in stored_bases(session, numbers)}
            for number, figure in read_figures(session, numbers, names, factors):
                results[numbers[number]].append(figure)
            return results

        return self._read(read)

    def summary_bases(self, run_ids: Sequence[str]) -> dict[str, str]:
        def read(session: Session) -> dict[str, str]:
            numbers = numbers_of(session, run_ids)
            return {numbers[number]: basis for number, basis in stored_bases(session, numbers)}

        return self._read(read)

    def keep_columns(self, run_id: str) -> None:
        """Keep the columns of a run that has ended, if it is large, so that reports and comparisons need not read its
        samples.

        Apart from the transaction that ends the run: what was scored is safe before this begins.
        """
        run = self._read(self._number, run_id)
        if not self._read(stored_columns.is_large, run):
            return
        parts: dict[str, Callable[[], Any]] = {
            stored_columns.COLUMNS: lambda: self.columns(run_id),
            stored_columns.CHECKS: lambda: self.checks(run_id),
            stored_columns.CONTENTS: lambda: self._read(contents.read_contents_columns, run),
            stored_columns.DIGESTS: lambda: stored_columns.Digests(self.answer_digests(run_id)),
        }
        # A full disk, or another writer that never ends: the run has ended all the same, and its samples say it all.
        with suppress(StoreError):
            for part, read in parts.items():
                # One part after the other, so that no more than one is held.
                self._keep_part(run, part, read())

    @_outlasting
    def _keep_part(self, run: int, part: str, value: Any) -> None:
        with self.database.writing() as session:
            stored_columns.keep(session, run, part, value)

    @_outlasting
    def add_samples(
        self, run_id: str, samples: Sequence[Sample], cases: Sequence[Case], *, forget: Sequence[str] = ()
    ) -> None:
        self._add(run_id, samples, cases, forget=forget)

    @_outlasting
    def add_rescored(self, run_id: str, from_run: str, samples: Sequence[Sample], cases: Sequence[Case]) -> None:
        self._add(run_id, samples, cases, from_run=from_run)

    def _add(
        self,
        run_id: str,
        samples: Sequence[Sample],
        cases: Sequence[Case],
        *,
        forget: Sequence[str] = (),
        from_run: str | None = None,
    ) -> None:
        if not samples:
            return
        self.database.outlasts = True
        rows = {case.id: case_row(case) for case in cases}
        hashes = [rows[sample.case_id][1] for sample in samples]  # KeyError: a sample came without its case
        try:
            with self.database.writing() as session:
                run = self._open_run(session, run_id)
                keep_cases(session, rows.values())
                layout = self._layouts.get(run)
                if from_run is None:
                    packs = self.database.dialect.packs
                    layouts = keep_samples(session, run, samples, hashes, layout, packs=packs)
                else:
                    earlier = self._number(session, from_run)
                    layouts = keep_rescored(session, run, earlier, samples, hashes, layout)
                journal.forget_entries(session, run, forget)
        except Duplicate as error:
            raise self._already_kept(run_id, samples) from error
        self._layouts[run] = layouts

    @_outlasting
    def journal(self, run_id: str, entries: Sequence[tuple[str, dict[str, Any]]]) -> None:
        if entries:
            with self.database.writing() as session:
                journal.keep_entries(session, self._open_run(session, run_id), entries)

    @_outlasting
    def journalled(self, run_id: str, keys: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        with self.database.reading() as session:
            return journal.entries_of(session, self._number(session, run_id), keys)

    @_outlasting
    def forget_journal(self, run_id: str) -> None:
        with self.database.writing() as session:
            journal.forget_entries(session, self._owned_run(session, run_id)[0], None)

    @_outlasting
    def done(self, run_id: str, case_ids: Sequence[str]) -> set[tuple[str, str, int]]:
        with self.database.reading() as session:
            return set(results_by_key(session, self._number(session, run_id), case_ids))

    @_outlasting
    def run(self, name: str) -> RunHeader:
        with self.database.reading() as session:
            return find_run(session, name, self.place)

    @_outlasting
    def runs(self, suite: str | None = None, limit: int | None = None) -> list[RunHeader]:
        with self.database.reading() as session:
            return list_runs(session, suite, limit)

    def samples(
        self, run_id: str, *, case_ids: Sequence[str] | None = None, answers: bool = True
    ) -> Iterator[tuple[Sample, Case]]:
        # A transaction for each page and none between them: a slow reader holds up nobody.
        run = self._read(self._number, run_id)
        if case_ids is None:
            pages = self._pages(partial(page_after, answers=answers), run, -1)
        else:
            places = sorted(seq for seq, _owner in self._read(results_by_key, run, case_ids).values())
            read = partial(samples_at, answers=answers)
            pages = (self._read(read, run, piece) for piece in in_pieces(places))
        return (pair for page in pages for pair in page)

    def _pages(
        self, read: Callable[[Session, int, _Place], tuple[list[_Result], _Place]], run: int, place: _Place
    ) -> Iterator[list[_Result]]:
        yield from pages_of(lambda last: self._read(read, run, last), place)
        self._read(self._refuse_deleted, run)

    def positions(self, run_id: str, n: int) -> np.ndarray:
        """The places in the plan of a run's n samples, in the order of `columns`."""
        return self._read(lambda session: positions_of(session, self._number(session, run_id), n))

    def cases(self, run_id: str) -> Iterator[Case]:
        run = self._read(self._number, run_id)
        return (case_from(content) for page in self._pages(cases_after, run, None) for _id, content in page)

    def samples_at(self, run_id: str, positions: Sequence[int]) -> list[tuple[Sample, Case]]:
        return self._read(lambda session: samples_at(session, self._number(session, run_id), positions))

    def failures(self, run_id: str) -> list[tuple[str, str, int]]:
        with self.database.reading() as session:
            rows = session.execute(_FAILURES, (self._number(session, run_id),))
            return [(from_stored(kind), from_stored(message or ""), int(count)) for kind, message, count, _ in rows]

    def scorer_errors(self, run_id: str) -> list[tuple[str, int]]:
        with self.database.reading() as session:
            rows = session.execute(_SCORER_ERRORS, (self._number(session, run_id),))
            return [(from_stored(message or ""), int(count)) for message, count, _ in rows]

    def excerpts(self, run_id: str, positions: Sequence[int], *, most: int) -> dict[int, Excerpt]:
        """By place in the plan, samples with at most so many characters of their answers; what is not there is left
        out."""
        return self._read(lambda session: read_excerpts(session, self._number(session, run_id), positions, most))

    def repeats(self, run_id: str, case_id: str, *, limit: int) -> list[Repeat]:
        """The first samples of a case in a run, by variant and repeat."""
        return self._read(lambda session: read_repeats(session, self._number(session, run_id), case_id, limit))

    @_outlasting
    def page(self, run_id: str, selection: Selection | None = None, **place: Any) -> Page:
        request = PageRequest(selection or Selection(), **place)
        with self.database.reading() as session:
            return read_page(session, self._number(session, run_id), request, self._arrays)

    @_outlasting
    def neighbors(self, run_id: str, position: int, selection: Selection, **order: Any) -> Neighbors:
        """What is before and after a sample in a list of a run's samples."""
        with self.database.reading() as session:
            number = self._number(session, run_id)
            return read_neighbors(session, number, position, PageRequest(selection, **order), self._arrays)

    @_outlasting
    def choices(self, run_id: str) -> dict[str, list[str]]:
        with self.database.reading() as session:
            return choices_of(session, self._number(session, run_id), self._arrays)

    @_outlasting
    def columns(self, run_id: str) -> Columns:
        with self.database.reading() as session:
            run = self._number(session, run_id)
            if (columns := stored_columns.stored_columns(session, run)) is not None:
                return columns
            return read_columns(session, run, run_by_id(session, run_id, run_id, self.place).description)

    @_outlasting
    def claims(self, run_id: str) -> ClaimColumns:
        with self.database.reading() as session:
            return read_claims(session, self._number(session, run_id))

    @_outlasting
    def checks(self, run_id: str) -> Checks:
        with self.database.reading() as session:
            run = self._number(session, run_id)
            checks = stored_columns.stored_checks(session, run)
            return read_checks(session, run) if checks is None else checks

    def items(self, run_id: str) -> Iterator[tuple[int, tuple[Item, ...]]]:
        return items_of(self.database, self._read(self._number, run_id))

    def contents(self, run_id: str) -> Contents:
        run = self._read(self._number, run_id)
        columns = self._read(stored_columns.stored_contents, run) or self._read(contents.read_contents_columns, run)
        return contents.with_texts(self._read, run, columns)

    @_outlasting
    def answer_digests(self, run_id: str) -> np.ndarray:
        with self.database.reading() as session:
            run = self._number(session, run_id)
            digests = stored_columns.stored_digests(session, run)
            return answer_digests.read_answer_digests(session, run) if digests is None else digests

    @_outlasting
    def answer_lengths(self, run_id: str) -> np.ndarray:
        with self.database.reading() as session:
            return answer_digests.read_answer_lengths(session, self._number(session, run_id))

    def judgements(self, run_id: str) -> Iterator[JudgedSample]:
        run = self._read(self._number, run_id)
        return (judged for page in self._pages(judged_after, run, -1) for judged in page)

    @_outlasting
    def judge_spending(self, run_id: str) -> Spending:
        with self.database.reading() as session:
            return spending_of(session, self._number(session, run_id))

    @_outlasting
    def findings(self, run_id: str, code: str, *, limit: int) -> list[SampleFinding]:
        with self.database.reading() as session:
            return findings_of(session, self._number(session, run_id), code, limit)

    @_outlasting
    def usual_latency(self, suite: str, target: TargetFacts, *, before: float) -> list[float]:
        with self.database.reading() as session:
            return [row[0] for row in session.execute(_USUAL, (to_stored(suite), digest(target.to_data()), before))]

    @_outlasting
    def log_baseline(self, entry: BaselineEntry) -> None:
        with self.database.writing() as session:
            baseline_log.keep_baseline(session, entry, self._number(session, entry.run_id))

    @_outlasting
    def baseline_log(self, suite: str | None = None) -> list[BaselineEntry]:
        with self.database.reading() as session:
            return baseline_log.baseline_entries(session, suite)

    @_outlasting
    def runs_of_target(self, target: TargetFacts) -> list[PastRun]:
        with self.database.reading() as session:
            return past_runs.runs_of_target(session, target)

    @_outlasting
    def deleted_runs(self, suite: str | None = None) -> list[PastRun]:
        with self.database.reading() as session:
            return past_runs.deleted_runs(session, suite)

    @_outlasting
    def log_reading(self, reading: OnlineReading) -> None:
        with self.database.writing() as session:
            experiment_log.keep_reading(session, reading)

    @_outlasting
    def readings(self, experiment: str) -> list[OnlineReading]:
        with self.database.reading() as session:
            return experiment_log.readings_of(session, experiment)

    @_outlasting
    def open_alert(self, suite: str, cause: str, run_id: str, content: dict[str, Any]) -> AlertRecord | None:
        try:
            with self.database.writing() as session:
                return alert_log.open_alert(session, suite, cause, self._number(session, run_id), content)
        except Duplicate:
            return None

    @_outlasting
    def see_alerts(self, numbers: Sequence[int], run_id: str) -> None:
        with self.database.writing() as session:
            alert_log.see_alerts(session, numbers, self._number(session, run_id))

    @_outlasting
    def close_alert(self, number: int, run_id: str, ending: dict[str, Any]) -> bool:
        lock = self.database.dialect.lock_rows
        with self.database.writing() as session:
            return alert_log.close_alert(session, number, self._number(session, run_id), ending, lock)

    @_outlasting
    def alerts(self, suite: str | None = None, *, closed: bool = False) -> list[AlertRecord]:
        with self.database.reading() as session:
            return alert_log.alerts_of(session, suite, closed=closed)

    @_outlasting
    def unheard_endings(self, suite: str) -> list[AlertRecord]:
        with self.database.reading() as session:
            return alert_log.unheard_endings(session, suite)

    @_outlasting
    def log_deliveries(self, deliveries: Sequence[Delivery]) -> None:
        with self.database.writing() as session:
            alert_log.keep_deliveries(session, deliveries)

    @_outlasting
    def deliveries(self, alerts: Sequence[int]) -> list[Delivery]:
        with self.database.reading() as session:
            return alert_log.deliveries_of(session, alerts)

    @_outlasting
    def cached(self, key: str) -> dict[str, Any] | None:
        with self.database.reading() as session:
            result = session.execute("SELECT content FROM cache WHERE key = ?", (to_stored(key),))
        content: dict[str, Any] | None = json.loads(result[0][0]) if result else None
        return content

    @_outlasting
    def cache(self, entries: Sequence[tuple[str, dict[str, Any]]]) -> None:
        now = time.time()
        rows = {to_stored(key): (to_stored(key), to_json(content), now) for key, content in entries}
        with self.database.writing() as session:
            session.many(_CACHE, [rows[key] for key in sorted(rows)])

    def _number(self, session: Session, run_id: str) -> int:
        result = session.execute("SELECT number FROM runs WHERE id = ?", (to_stored(run_id),))
        if not result:
            raise run_not_found(session, run_id, self.place)
        return int(result[0][0])

    def _refuse_deleted(self, session: Session, run: int) -> None:
        """A run whose pages end because it was deleted meanwhile is not taken for a short one."""
        if not session.execute("SELECT 1 FROM runs WHERE number = ?", (run,)):
            raise RunNotFound(f"a run in {self.place} was deleted while it was read")

    def _open_run(self, session: Session, run_id: str) -> int:
        """The number of a run that may still change, and that this process may write, locked until the transaction
        ends."""
        number, state = self._owned_run(session, run_id)
        if state == RunState.ENDED:
            raise StoreError(f"run {run_id} has ended and cannot be changed: `steelyard rescore` makes a new run")
        return number

    def _owned_run(self, session: Session, run_id: str) -> tuple[int, str]:
        """The number and the state of a run that no other process has taken over, locked until the transaction ends."""
        sql = "SELECT number, state, owner_token FROM runs WHERE id = ?" + self.database.dialect.lock_rows  # noqa: S608
        result = session.execute(sql, (to_stored(run_id),))
        if not result:
            raise run_not_found(session, run_id, self.place)
        number, state, token = result[0]
        if (token or "") != self._ownership.token(run_id):
            raise taken(run_id, self._lease(session, run_id)[1].owner)
        return int(number), state

    def _already_kept(self, run_id: str, samples: Sequence[Sample]) -> StoreError:
        retained = self.done(run_id, [sample.case_id for sample in samples])
        twice = [sample.key for sample in samples if sample.key in retained]
        if not twice:
            return StoreError(
                f"two samples of run {run_id} have the same case, variant and repeat, or the same place in the plan: "
                "nothing of this batch was stored"
            )
        return StoreError(
            f"run {run_id} already holds the sample for {describe_key(twice[0])}"
            f"{f' and {len(twice) - 1} more' if len(twice) > 1 else ''}: nothing of this batch was stored"
        )


def median_latency(session: Session, run: int, header: RunHeader) -> float | None:
    """The median time of the calls an ended run made, answers from the cache left out.

    None for a run that goes on, for one of earlier answers and for a recording that says none of its times.
    """
    import numpy as np

    own = header.state is RunState.ENDED and header.rescored_from is None
    if not own:
        return None
    pieces = [np.array(rows, dtype=float) for rows in session.stream(_LATENCIES, (run,), 20_000)]
    if not pieces:
        return None
    # Not `np.median`, for which numpy imports its masked arrays: a fiftieth of a short run.
    ranked = np.sort(np.concatenate(pieces), axis=None)
    return float(ranked[(len(ranked) - 1) // 2 : len(ranked) // 2 + 1].mean())


DEFAULT = Path(OWN_FOLDER) / "steelyard.db"
VARIABLE = "STEELYARD_STORE"


def open_store(url: str | None = None, *, create: bool = True) -> SqlStore:
    """The store at `url`: a path, `sqlite:///path` or `postgresql://...`.

    Without one it is what $STEELYARD_STORE names, else `.steelyard/steelyard.db` in the working folder. With
    `create=False` a store that is not there yet is an error instead of a new file.
    """
    if not isinstance(url, str | Path | None):
        raise UsageError(f"a store is a path or an address; found {url!r:.60} ({type(url).__name__})")
    place = str(url or os.environ.get(VARIABLE) or DEFAULT)
    database = _database(place, create=create)
    try:
        migrate(database, create=create)
        if isinstance(database, SqliteDatabase):
            database.use_write_ahead_log()
    except BaseException:
        database.close()
        raise
    return SqlStore(database)


def _database(place: str, *, create: bool) -> Database:
    scheme, separator, rest = place.partition("://")
    if not separator and not re.match(r"(sqlite|postgres\w*):", place):
        return SqliteDatabase(Path(place), create=create)
    if scheme == "sqlite":
        return SqliteDatabase(Path(rest.removeprefix("/")), create=create)
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(place)
    wrong = (
        f"a store cannot be of the kind {scheme}://" if separator else "the store's address has no // behind the colon"
    )
    raise StoreError(f"{wrong}: give a file path or postgresql://user@host/database")
