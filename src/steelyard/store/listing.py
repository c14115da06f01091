"""Runs as lists show them, without their suites and samples: pages of them, how far one is, and what its figures
depend on. Nothing here takes longer in a store of many large runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from steelyard.records import RunHeader, RunState
from steelyard.store.codec import columns_of, from_row
from steelyard.store.databases import Database, Session, in_pieces, placeholders
from steelyard.store.samples import cases_after
from steelyard.store.stored_text import from_stored, to_stored
from steelyard.suite.case import digest

_MOST_HEADERS = 20_000
"""Headers, a kB or two each."""
_STILL_COMING = 5_000
"""So near the end of what is stored, samples of calls that were made earlier may still come."""
_AT_ONCE = 100_000
_COUNT = "SELECT count(*) FROM samples WHERE run = ?"
_NEWEST = "ORDER BY created_at DESC, number DESC"
_HEADER = ", ".join(columns_of(RunHeader))
_SUITES = "SELECT suite_name, count(*), max(created_at) FROM runs GROUP BY suite_name ORDER BY 3 DESC, 1"
_OF_EACH = f"""
SELECT number FROM (
    SELECT number, created_at, row_number() OVER (PARTITION BY suite_name {_NEWEST}) AS place
    FROM runs WHERE suite_name IN
"""  # noqa: S608 - our own words
_SEARCHED = ("id", "suite_name", "target", "verdict")
_LABELS = "SELECT count(*), count(withdrawn_at), max(number), max(withdrawn_at) FROM labels WHERE suite_name = ?"
_PLANS = """
SELECT p.run, p.other_run, p.of_case, p.content FROM label_plans p JOIN runs r ON r.number = p.run
WHERE r.suite_name = ? ORDER BY 1, 2, 3
"""
_Result = TypeVar("_Result")


_OF_SUITES = ("n_cases", "repeats", "usual_repeats", "variants", "passing")


class RunsTable:
    """The runs of a database, newest first. Headers come with no more of the suite than who judged, how much of it a
    run is and when a sample passes; those of runs that have ended are remembered."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._headers: dict[int, RunHeader] = {}
        self._complete: dict[int, int] = {}
        """By run, up to which place of its plan all samples are known to be there."""

    def suites(self) -> list[tuple[str, int]]:
        """Every suite that has runs, with how many, that of the newest run first."""
        return [(from_stored(row[0]), row[1]) for row in self._read(lambda session: session.execute(_SUITES))]

    def newest(self, suites: Sequence[str], limit: int) -> dict[str, list[RunHeader]]:
        """The newest runs of each of these suites."""

        def read(session: Session) -> list[RunHeader]:
            names = [to_stored(name) for name in suites]
            sql = f"{_OF_EACH} ({placeholders(names)})) AS placed WHERE place <= ? {_NEWEST}"
            return self._with_headers(session, [row[0] for row in session.execute(sql, (*names, limit))])

        results: dict[str, list[RunHeader]] = {name: [] for name in suites}
        for header in self._read(read) if suites else ():
            results[header.suite_name].append(header)
        return results

    def page(self, suite: str = "", search: str = "", after: str = "", limit: int = 50) -> list[RunHeader]:
        """Runs, newest first: of a suite, with a text in id, suite, target or verdict, older than the run `after`."""
        wanted, values = ["1 = 1"], []
        if suite:
            wanted.append("suite_name = ?")
            values.append(to_stored(suite))
        if search:
            pattern = "".join(f"\\{sign}" if sign in "\\%_" else sign for sign in to_stored(search.lower()))
            wanted.append("(" + " OR ".join(f"lower({name}) LIKE ? ESCAPE '\\'" for name in _SEARCHED) + ")")
            values += [f"%{pattern}%"] * len(_SEARCHED)
        if after:
            wanted.append("(created_at, number) < (SELECT created_at, number FROM runs WHERE id = ?)")
            values.append(to_stored(after))
        sql = f"SELECT number FROM runs WHERE {' AND '.join(wanted)} {_NEWEST} LIMIT {int(limit)}"  # noqa: S608
        return self._read(lambda session: self._with_headers(session, [row[0] for row in session.execute(sql, values)]))

    def stored(self, run_id: str) -> int:
        """How many samples of a run are stored; quick when it is asked again and again while they come."""

        def read(session: Session) -> int:
            number = session.execute("SELECT number FROM runs WHERE id = ?", (to_stored(run_id),))[0][0]
            return self._counted(session, number)

        return self._read(read)

    def cases(self, run_id: str, after: str, limit: int, longest: int) -> list[tuple[str, str]]:
        """The next cases of a run after an id, in the order of their ids: each with its content as JSON, of which no
        more is read than `longest` characters."""

        def read(session: Session) -> list[tuple[str, str]]:
            number = session.execute("SELECT number FROM runs WHERE id = ?", (to_stored(run_id),))[0][0]
            return cases_after(session, number, to_stored(after), limit, longest)[0]

        return self._read(read)

    def figures_state(self, suite: str) -> tuple[Any, ...]:
        """What the figures of a suite's ended runs depend on besides their samples: labels, how the labelled texts were
        drawn, and baselines. It begins with how many labels were given, and how many of them were taken back."""

        def read(session: Session) -> tuple[Any, ...]:
            labels = session.execute(_LABELS, (to_stored(suite),))[0]
            plans = digest([list(row) for row in session.execute(_PLANS, (to_stored(suite),))])
            return (*labels, plans, session.execute("SELECT max(number) FROM baselines")[0][0])

        return self._read(read)

    def _counted(self, session: Session, run: int) -> int:
        """Only those behind the place up to which none is missing are counted, and not too many at once: until all
        were looked at, what lies before the newest is taken as stored."""
        complete = self._complete.get(run, 0)
        newest = _number(session, "SELECT coalesce(max(seq), -1) FROM samples WHERE run = ?", run) + 1
        place = min(max(newest - _STILL_COMING, complete), complete + _AT_ONCE)
        before = _number(session, f"{_COUNT} AND seq >= ? AND seq < ?", run, complete, place)
        if before == place - complete:
            self._complete[run] = place
            if newest - place > _AT_ONCE:
                return newest
        return complete + before + _number(session, f"{_COUNT} AND seq >= ?", run, place)

    def _with_headers(self, session: Session, numbers: Iterable[int]) -> list[RunHeader]:
        wanted = list(numbers)
        headers: dict[int, RunHeader] = {}
        for piece in in_pieces([number for number in wanted if number not in self._headers]):
            sql = f"SELECT number, {_HEADER} FROM runs WHERE number IN ({placeholders(piece)})"  # noqa: S608
            for number, *row in session.execute(sql, piece):
                header = from_row(RunHeader, row)
                headers[number] = replace(header, suite=_brief(header.suite))
        if len(self._headers) > _MOST_HEADERS:
            self._headers.clear()
        self._headers |= {number: header for number, header in headers.items() if header.state is RunState.ENDED}
        return [headers[number] if number in headers else self._headers[number] for number in wanted]

    def _read(self, read: Callable[[Session], _Result]) -> _Result:
        def reading() -> _Result:
            with self._database.reading() as session:
                return read(session)

        return self._database.outlast(reading)


def _number(session: Session, sql: str, *values: Any) -> int:
    return int(session.execute(sql, values)[0][0])


def _brief(suite: dict[str, Any]) -> dict[str, Any]:
    """Of a suite, who judges, how much of it a run is and when a sample passes."""
    judge = suite.get("judge")
    judges = {"judge": {"members": judge.get("members") or []}} if isinstance(judge, dict) else {}
    return judges | {name: suite[name] for name in _OF_SUITES if name in suite}
