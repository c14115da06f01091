"""The SQL of samples: their columns, and read back a page at a time, inside a transaction that somebody else opened.

With `sample_writing` and `score_layouts` the only place that knows which field of a sample lives in which column. It is
the path of every answer: rows are laid out by hand where the codec would cost time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from steelyard.records import (
    TIMEOUTS,
    CallResult,
    Check,
    Claim,
    Failure,
    Finding,
    Item,
    Judgement,
    Mark,
    Outcome,
    Sample,
)
from steelyard.store.base import SampleFinding
from steelyard.store.codec import Row, columns_of, decode, from_row, unpack
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.packing import unpack_text
from steelyard.store.score_layouts import (
    Layout,
    layouts_of,
    scores_from,
)
from steelyard.store.stored_text import from_stored, from_stored_or_none, to_stored
from steelyard.suite.case import Case

PAGE = 500
"""How many samples, cases or judgements are in memory at a time."""

_Content = TypeVar("_Content")

SAMPLE_COLUMNS = (
    *("run", "seq", "case_id", "variant", "repeat", "case_hash", "call_run", "outcome", "score", "passed", "band"),
    *("category", "difficulty", "step", "layout", "scores", "details", "marks", "mode", "cluster"),
)
CALL_COLUMNS = (
    *("run", "seq", "status", "latency", "started_at", "tries", "tokens_in", "tokens_out", "cost", "model", "cached"),
    *("failure_kind", "failure_message", "cut_off", "first_byte", "queued", "first_token", "tokens_cached"),
    *("first_failure", "made_at", "response_id", "provider_cached"),
)


def timed(latency: str, kind: str) -> str:
    """The SQL of the seconds that a call took or, of one that timed out, was waited for; NULL where neither is known.

    What another tool recorded without a time has none: it did not take 0 s.
    """
    return f"CASE WHEN {kind} IN {TIMEOUTS} OR ({kind} IS NULL AND {latency} > 0) THEN {latency} END"


FINDING_COLUMNS = columns_of(Finding)
_N_SAMPLE = len(SAMPLE_COLUMNS)
_CASE_HASH, _SCORES = SAMPLE_COLUMNS.index("case_hash"), SAMPLE_COLUMNS.index("scores")
_CONCLUSIVE = tuple(outcome.value for outcome in Outcome if outcome.conclusive)
INCONCLUSIVE = tuple(outcome.value for outcome in Outcome if not outcome.conclusive)


def with_call(texts: str = "t.text, t.packed, c.content") -> str:
    """The query of a run's samples, each with its call, and of answer and case what is named."""
    return f"""
SELECT {", ".join(f"s.{column}" for column in SAMPLE_COLUMNS)},
       {", ".join(f"a.{column}" for column in CALL_COLUMNS[2:])}, {texts}
FROM samples s
JOIN cases c ON c.id = s.case_id AND c.hash = s.case_hash
JOIN calls a ON a.run = s.call_run AND a.seq = s.seq
LEFT JOIN answers t ON t.run = s.call_run AND t.seq = s.seq
WHERE s.run = ?
"""  # noqa: S608 - our own column names


_WITH_CALL = with_call()
_WITHOUT_ANSWER = with_call("NULL, NULL, c.content")
_AFTER = " AND s.seq > ? ORDER BY s.seq LIMIT ?"
_FINDINGS = f"SELECT seq, {', '.join(FINDING_COLUMNS)} FROM findings WHERE run = ? AND seq IN "  # noqa: S608
_OF_CODE = f"""
SELECT s.case_id, s.variant, s.repeat, {", ".join(f"f.{column}" for column in FINDING_COLUMNS)}
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
_CASE_IDS = "SELECT DISTINCT case_id FROM samples WHERE run = ? AND case_id {after} ? ORDER BY case_id LIMIT ?"
_CASES = """
SELECT id, {content} FROM cases WHERE id BETWEEN ? AND ?
AND (id, hash) IN (SELECT case_id, case_hash FROM samples WHERE run = ? AND case_id BETWEEN ? AND ?) ORDER BY id, hash
"""


def page_after(session: Session, run: int, seq: int, *, answers: bool = True) -> tuple[list[tuple[Sample, Case]], int]:
    """The next samples after a place in the plan, with their cases, and the last place; no samples at the end."""
    rows = session.execute((_WITH_CALL if answers else _WITHOUT_ANSWER) + _AFTER, (run, seq, PAGE))
    return complete(session, run, rows), rows[-1][1] if rows else seq


def cases_after(
    session: Session, run: int, case_id: str | None, limit: int = PAGE, longest: int | None = None
) -> tuple[list[tuple[str, str]], str | None]:
    """The next cases after an id as it is stored (None: the first), and the last id; no cases at the end.

    Each comes once with its id and its content as JSON, at most `longest` characters of it, ordered by id and hash.
    """
    sql = _CASE_IDS.format(after=">=" if case_id is None else ">")
    ids = [row[0] for row in session.execute(sql, (run, case_id or "", limit))]
    if not ids:
        return [], case_id
    ends, cut = (ids[0], ids[-1]), () if longest is None else (longest,)
    cases = session.execute(
        _CASES.format(content="substr(content, 1, ?)" if cut else "content"), (*cut, *ends, run, *ends)
    )
    return [(from_stored(found), from_stored(content)) for found, content in cases], ids[-1]


def samples_at(session: Session, run: int, seqs: Sequence[int], *, answers: bool = True) -> list[tuple[Sample, Case]]:
    """The samples at these places of the plan, in the order asked for."""
    samples: dict[int | None, tuple[Sample, Case]] = {}
    for piece in in_pieces(seqs):
        sql = f"{_WITH_CALL if answers else _WITHOUT_ANSWER} AND s.seq IN ({placeholders(piece)})"
        rows = session.execute(sql, (run, *piece))
        samples.update((sample.position, (sample, case)) for sample, case in complete(session, run, rows))
    return [samples[seq] for seq in seqs]


def findings_of(session: Session, run: int, code: str, limit: int) -> list[SampleFinding]:
    """The first findings of one code in conclusive samples, in the order of the plan."""
    rows = session.execute(_OF_CODE, (run, to_stored(code), *_CONCLUSIVE, limit))
    return [
        SampleFinding(from_stored(case_id), from_stored(variant), repeat, from_row(Finding, values))
        for case_id, variant, repeat, *values in rows
    ]


def complete(session: Session, run: int, rows: Sequence[Row]) -> list[tuple[Sample, Case]]:
    """The samples in rows of `with_call`, with what other tables hold of them, and their cases."""
    if not rows:
        return []
    extra = _extra(session, run, [row[1] for row in rows])
    layouts = layouts_of(session, run)
    # Parsed together: one by one takes three times as long.
    values = json.loads(f"[{','.join([row[_SCORES] for row in rows])}]")
    contents = {row[_CASE_HASH]: row[-1] for row in rows}
    parsed = json.loads(from_stored(f"[{','.join(contents.values())}]"))
    cases = {case_hash: decode(Case, data) for case_hash, data in zip(contents, parsed, strict=True)}
    complete = []
    for row, numbers in zip(rows, values, strict=True):
        text, packed, _content = row[-3:]
        call_result = _call_result_from(row[_N_SAMPLE:-3], unpack_text(text, packed))
        sample = _sample_from(row[:_N_SAMPLE], call_result, layouts, numbers, extra[row[1]])
        complete.append((sample, cases[sample.case_hash]))
    return complete


def _extra(session: Session, run: int, seqs: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What other tables hold of the samples at these places of the plan, by the names of their fields."""
    marks = f"({placeholders(seqs)})"
    findings: dict[int, list[Finding]] = {}
    for seq, *values in session.execute(_FINDINGS + marks + _IN_ORDER, (run, *seqs)):
        findings.setdefault(seq, []).append(from_row(Finding, values))
    tags: dict[int, list[str]] = {}
    for seq, tag in session.execute(_TAGS + marks + _IN_ORDER, (run, *seqs)):
        tags.setdefault(seq, []).append(from_stored(tag))
    judgements: dict[int, Judgement] = {}
    # One look tells that a run has no judge; five hundred would be felt.
    if session.execute(_HAS_JUDGE, (run,)):
        for seq, content, calls in session.execute(_JUDGEMENTS + marks, (run, *seqs)):
            judgements[seq] = judgement_from(content, calls)
    claims = _contents(session, run, "claims", seqs, lambda text: unpack(Claim, text))
    checks = _contents(session, run, "checks", seqs, lambda text: unpack(Check, text))
    items = _contents(session, run, "items", seqs, lambda text: unpack(Item, text))
    return {
        seq: {
            "findings": tuple(findings.get(seq, ())),
            "tags": tuple(tags.get(seq, ())),
            "judgement": judgements.get(seq),
            "claims": claims.get(seq, ()),
            "checks": checks.get(seq, ()),
            "items": items.get(seq),
        }
        for seq in seqs
    }


def _contents(
    session: Session, run: int, table: str, seqs: Sequence[int], read: Callable[[str], _Content]
) -> dict[int, _Content]:
    """What one of the tables that few runs use holds of these samples."""
    if not session.execute(f"SELECT 1 FROM {table} WHERE run = ? LIMIT 1", (run,)):  # noqa: S608 - our own names
        return {}
    sql = f"SELECT seq, content FROM {table} WHERE run = ? AND seq IN ({placeholders(seqs)})"  # noqa: S608
    return {seq: read(content) for seq, content in session.execute(sql, (run, *seqs))}


def judgement_from(content: str, calls: str | None = None) -> Judgement:
    """What a judge said, with the calls that it took where they are read."""
    data = json.loads(content)
    return decode(Judgement, data if calls is None else data | {"calls": json.loads(calls)})


def _call_result_from(row: Row, text: str | None) -> CallResult:
    status, latency, started_at, tries, tokens_in, tokens_out, cost, model, cached, *more = row
    kind, message, cut_off, first_byte, queued, first_token, tokens_cached, *origin = more
    first_failure, made_at, response_id, provider_cached = origin
    return CallResult(
        text=from_stored_or_none(text),
        status=status,
        latency=latency,
        started_at=started_at,
        tries=tries,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=cost,
        model=from_stored_or_none(model),
        cached=bool(cached),
        failure=None if kind is None else Failure(from_stored(kind), from_stored(message)),
        cut_off=bool(cut_off),
        first_byte=first_byte,
        queued=queued,
        first_token=first_token,
        tokens_cached=tokens_cached,
        first_failure=from_stored_or_none(first_failure),
        made_at=made_at,
        response_id=from_stored_or_none(response_id),
        provider_cached=bool(provider_cached),
    )


def _sample_from(
    row: Row, call_result: CallResult, layouts: dict[int, Layout], numbers: list[Any], extra: dict[str, Any]
) -> Sample:
    (_run, seq, case_id, variant, repeat, case_hash, _call_run, outcome, score, passed, band, *rest) = row
    category, difficulty, step, layout, _scores, details, marks, _mode, cluster = rest
    return Sample(
        case_id=from_stored(case_id),
        variant=from_stored(variant),
        repeat=repeat,
        call_result=call_result,
        outcome=Outcome(outcome),
        score=score,
        passed=None if passed is None else bool(passed),
        band=from_stored_or_none(band),
        scores=scores_from(layouts[layout], numbers, details),
        marks=() if marks is None else unpack(Mark, marks),
        step=step,
        category=from_stored_or_none(category),
        difficulty=from_stored_or_none(difficulty),
        cluster=from_stored_or_none(cluster),
        case_hash=case_hash,
        position=seq,
        **extra,
    )
