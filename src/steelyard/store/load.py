"""Samples back from their tables, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from steelyard.records import Finding, Judgement, Outcome, Sample
from steelyard.store.base import Found
from steelyard.store.certainties import certainties_from
from steelyard.store.checks import checks_from
from steelyard.store.database import Row, Session, in_pieces, placeholders
from steelyard.store.items import items_from
from steelyard.store.judged import judgement_stored
from steelyard.store.rows import ATTEMPT_COLUMNS, SAMPLE_COLUMNS, Beside, attempt_from, case_from, sample_from
from steelyard.store.text import from_stored, to_stored
from steelyard.store.weighed import FINDING_COLUMNS, Layout, finding_from, layout_from
from steelyard.suite.case import Case

Kept = TypeVar("Kept")

PAGE = 500
"""How many samples or cases are in memory at a time."""

_WITH_ATTEMPT = f"""
SELECT {", ".join(f"s.{column}" for column in SAMPLE_COLUMNS)},
       {", ".join(f"a.{column}" for column in ATTEMPT_COLUMNS[2:])}, t.text, c.content
FROM samples s
JOIN cases c ON c.id = s.case_id AND c.hash = s.case_hash
JOIN attempts a ON a.run = s.attempt_run AND a.seq = s.seq
LEFT JOIN answers t ON t.run = s.attempt_run AND t.seq = s.seq
WHERE s.run = ?
"""  # noqa: S608 - our own column names
_PAGE = f"{_WITH_ATTEMPT} AND s.seq > ? ORDER BY s.seq LIMIT ?"
_FINDINGS = f"SELECT seq, {', '.join(FINDING_COLUMNS[3:])} FROM findings WHERE run = ? AND seq IN "  # noqa: S608
_CONCLUSIVE = tuple(outcome.value for outcome in Outcome if outcome.conclusive)
_OF_CODE = f"""
SELECT s.case_id, s.variant, s.repeat, {", ".join(f"f.{column}" for column in FINDING_COLUMNS[3:])}
FROM findings f JOIN samples s ON s.run = f.run AND s.seq = f.seq
WHERE f.run = ? AND f.code = ? AND s.outcome IN ({placeholders(_CONCLUSIVE)})
ORDER BY f.seq, f.position LIMIT ?
"""  # noqa: S608 - our own column names
_TAGS = "SELECT seq, tag FROM tags WHERE run = ? AND seq IN "
_IN_ORDER = " ORDER BY seq, position"
_HAS_JUDGE = "SELECT 1 FROM judgements WHERE run = ? LIMIT 1"
_JUDGEMENTS = """
SELECT j.seq, j.content, c.content FROM judgements j
LEFT JOIN judge_calls c ON c.run = j.judge_run AND c.seq = j.seq WHERE j.run = ? AND j.seq IN
"""

_CASE_KEYS = (
    "SELECT case_id, case_hash FROM samples WHERE run = ? GROUP BY case_id, case_hash ORDER BY case_id, case_hash"
)
_N_SAMPLE = len(SAMPLE_COLUMNS)


def layouts_of(session: Session, run: int) -> dict[int, Layout]:
    """Number of each layout of a run, with its names, weights and counts."""
    rows = session.execute("SELECT number, content FROM layouts WHERE run = ?", (run,))
    return {number: layout_from(content) for number, content in rows}


def page_after(session: Session, run: int, seq: int) -> tuple[list[tuple[Sample, Case]], int]:
    """The next samples after a place in the plan, with their cases, and the last place; no samples at the end."""
    rows = session.execute(_PAGE, (run, seq, PAGE))
    return _complete(session, run, rows), rows[-1][1] if rows else seq


def case_contents(session: Session, run: int) -> Iterator[str]:
    """Each of the run's cases once, in its stored spelling, ordered by id and hash."""
    for keys in session.stream(_CASE_KEYS, (run,), PAGE):
        ids = sorted({case_id for case_id, _hash in keys})
        rows = session.execute(f"SELECT id, hash, content FROM cases WHERE id IN ({placeholders(ids)})", ids)  # noqa: S608
        contents = {(case_id, case_hash): from_stored(content) for case_id, case_hash, content in rows}
        yield from (contents[key] for key in keys)


def samples_at(session: Session, run: int, seqs: Sequence[int]) -> list[tuple[Sample, Case]]:
    """The samples at these places of the plan, in the order asked for."""
    found: dict[int | None, tuple[Sample, Case]] = {}
    for piece in in_pieces(seqs):
        rows = session.execute(f"{_WITH_ATTEMPT} AND s.seq IN ({placeholders(piece)})", (run, *piece))
        found.update((sample.position, (sample, case)) for sample, case in _complete(session, run, rows))
    return [found[seq] for seq in seqs]


def findings_of(session: Session, run: int, code: str, limit: int) -> list[Found]:
    """The first findings of one code in conclusive samples, in the order of the plan."""
    rows = session.execute(_OF_CODE, (run, to_stored(code), *_CONCLUSIVE, limit))
    return [
        Found(from_stored(case_id), from_stored(variant), repeat, finding_from(tuple(values)))
        for case_id, variant, repeat, *values in rows
    ]


def _complete(session: Session, run: int, rows: Sequence[Row]) -> list[tuple[Sample, Case]]:
    if not rows:
        return []
    beside = _beside(session, run, [row[1] for row in rows])
    layouts = layouts_of(session, run)
    cases: dict[str, Case] = {}
    complete = []
    for row in rows:
        seq, text, content = row[1], row[-2], row[-1]
        attempt = attempt_from(row[_N_SAMPLE:-2], text)
        sample = sample_from(row[:_N_SAMPLE], attempt, layouts.__getitem__, beside[seq])
        if sample.case_hash not in cases:
            cases[sample.case_hash] = case_from(content)
        complete.append((sample, cases[sample.case_hash]))
    return complete


def _beside(session: Session, run: int, seqs: Sequence[int]) -> dict[int, Beside]:
    """What other tables hold of the samples at these places of the plan."""
    marks = f"({placeholders(seqs)})"
    findings: dict[int, list[Finding]] = {}
    for seq, *values in session.execute(_FINDINGS + marks + _IN_ORDER, (run, *seqs)):
        findings.setdefault(seq, []).append(finding_from(tuple(values)))
    tags: dict[int, list[str]] = {}
    for seq, tag in session.execute(_TAGS + marks + _IN_ORDER, (run, *seqs)):
        tags.setdefault(seq, []).append(from_stored(tag))
    judgements: dict[int, Judgement] = {}
    # One look tells that a run has no judge; five hundred would be felt.
    if session.execute(_HAS_JUDGE, (run,)):
        for seq, content, calls in session.execute(_JUDGEMENTS + marks, (run, *seqs)):
            judgements[seq] = judgement_stored(content, calls)
    claims = _contents(session, run, "certainties", seqs, certainties_from)
    checks = _contents(session, run, "checks", seqs, checks_from)
    items = _contents(session, run, "items", seqs, items_from)
    return {
        seq: Beside(
            findings=findings.get(seq, ()),
            tags=tags.get(seq, ()),
            judgement=judgements.get(seq),
            certainties=claims.get(seq, ()),
            checks=checks.get(seq, ()),
            items=items.get(seq),
        )
        for seq in seqs
    }


def _contents(
    session: Session, run: int, table: str, seqs: Sequence[int], read: Callable[[str], Kept]
) -> dict[int, Kept]:
    """What one of the tables that few runs use holds of these samples."""
    if not session.execute(f"SELECT 1 FROM {table} WHERE run = ? LIMIT 1", (run,)):  # noqa: S608 - our own names
        return {}
    sql = f"SELECT seq, content FROM {table} WHERE run = ? AND seq IN ({placeholders(seqs)})"  # noqa: S608
    return {seq: read(content) for seq, content in session.execute(sql, (run, *seqs))}
