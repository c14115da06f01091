"""The SQL of samples: into their tables and back, a page at a time, inside a transaction that somebody else opened.

The only place that knows which field of a sample lives in which column. It is the path of every answer: rows are laid
out by hand where the codec would cost time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from math import isfinite
from typing import Any, TypeVar

from steelyard.errors import StoreError
from steelyard.frozen import slotted
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
    Score,
    ScorerCall,
)
from steelyard.store.base import SampleFinding
from steelyard.store.codec import (
    Row,
    columns_of,
    decode,
    encode,
    from_row,
    from_stored,
    from_stored_or_none,
    pack,
    to_json,
    to_row,
    to_stored,
    unpack,
    whole_in,
)
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.packing import pack_text, unpack_text
from steelyard.suite.case import Case, canonical

PAGE = 500
"""How many samples, cases or judgements are in memory at a time."""

Layout = tuple[tuple[str, float, tuple[str, ...]], ...]
"""Names and weights of a sample's scores, each with the names of its counts; stored once a run, not once a sample."""
Layouts = dict[Layout, int]
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


_FINDING_COLUMNS = columns_of(Finding)
_CONTENT_COLUMNS = ("run", "seq", "content")
_N_SAMPLE = len(SAMPLE_COLUMNS)
_CASE_HASH, _SCORES = SAMPLE_COLUMNS.index("case_hash"), SAMPLE_COLUMNS.index("scores")
_COUNTS = range(2**53 + 1)
_CONCLUSIVE = tuple(outcome.value for outcome in Outcome if outcome.conclusive)
INCONCLUSIVE = tuple(outcome.value for outcome in Outcome if not outcome.conclusive)


# ---- scores: their names and weights are those of most other samples of the run


def _layout_of(scores: Iterable[Score]) -> Layout:
    return tuple([(score.name, score.weight, tuple(score.counts)) for score in scores])


def layouts_of(session: Session, run: int) -> dict[int, Layout]:
    """Number of each layout of a run, with its names, weights and counts."""
    rows = session.execute("SELECT number, content FROM layouts WHERE run = ?", (run,))
    return {
        number: tuple((name, weight, tuple(counts)) for name, weight, *counts in json.loads(content))
        for number, content in rows
    }


def _with_layouts(session: Session, run: int, needed: set[Layout], stored: Layouts | None) -> Layouts:
    """The run's layouts, those needed now included."""
    if stored is not None and needed <= stored.keys():
        return stored
    layouts = {layout: number for number, layout in layouts_of(session, run).items()}
    for layout in sorted(needed - layouts.keys()):
        layouts[layout] = len(layouts)
        content = to_json([(name, weight, *counts) for name, weight, counts in layout])
        session.insert("layouts", ("run", "number", "content"), [(run, layouts[layout], content)])
    return layouts


def _score_values(scores: Sequence[Score]) -> str:
    """The values of all scores, and after them the counts of all scores, in the order of their layout."""
    values = [score.value for score in scores]
    # Plain numbers are written alike by Python and JSON; None, nan, inf, True, False and numpy's numbers are not.
    written = repr(values)
    if "n" in written or "e" in written:
        written = to_json([None if value is None or not isfinite(value) else float(value) for value in values])
    counts = [count for score in scores if score.counts for count in score.counts.values()]
    if not counts:
        return written
    return f"{written[:-1]},{to_json([whole_in(_COUNTS, count) for count in counts])[1:]}"


def _score_details(scores: Sequence[Score]) -> str | None:
    """What only some scores have, by their position; None when no score of the sample has it."""
    details = {}
    for position, score in enumerate(scores):
        if score.note or score.uncapped is not None or score.capped_by is not None or score.calls:
            calls = [encode(call) for call in score.calls]
            details[position] = [score.uncapped, score.capped_by, score.note, *([calls] if calls else [])]
    return to_json(details) if details else None


def _scores_from(layout: Layout, numbers: list[Any], details: str | None) -> tuple[Score, ...]:
    n = len(layout)
    if details is None and len(numbers) == n:
        return tuple([Score(name, value, weight) for (name, weight, _), value in zip(layout, numbers, strict=True)])
    more = {} if details is None else json.loads(details)
    counted = iter(numbers[n:])
    scores = []
    for position, ((name, weight, names), value) in enumerate(zip(layout, numbers[:n], strict=True)):
        # The names come first, so that `zip` takes no number of the next score.
        counts = {count: number for count, number in zip(names, counted, strict=False) if number is not None}
        raw, capped_by, note, *asked = more.get(str(position), (None, None, ""))
        calls = tuple([decode(ScorerCall, call) for call in asked[0]]) if asked else ()
        scores.append(Score(name, value, weight, raw, capped_by, note, counts, calls))
    return tuple(scores)


# ---- cases


def case_row(case: Case) -> tuple[str, str, str]:
    """A case's id, its hash and its data in one spelling, which is what is hashed."""
    spelling = canonical(encode(case))
    return (
        to_stored(case.id),
        hashlib.sha256(spelling).hexdigest()[:16],
        to_stored(spelling.decode("utf-8", "surrogatepass")),
    )


def case_from(content: str) -> Case:
    """The case back from its stored spelling."""
    return decode(Case, json.loads(from_stored(content)))


def keep_cases(session: Session, rows: Iterable[tuple[str, str, str]]) -> None:
    """Store each case under its hash, once."""
    # Sorted, so that two writers never wait for each other in a circle.
    session.insert("cases", ("id", "hash", "content"), sorted(rows), unless_there=True)


# ---- writing


def _finite_or_none(value: float | None) -> float | None:
    return value if value is None or isfinite(value) else None


@slotted
class _Batch:
    """Rows of every table for some samples of one run; `packs` tells whether large answers are packed."""

    packs: bool
    samples: list[Row] = field(default_factory=list)
    call_results: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    findings: list[Row] = field(default_factory=list)
    tags: list[Row] = field(default_factory=list)
    judge_calls: list[Row] = field(default_factory=list)
    judgements: list[Row] = field(default_factory=list)
    claims: list[Row] = field(default_factory=list)
    checks: list[Row] = field(default_factory=list)
    items: list[Row] = field(default_factory=list)

    def add(self, run: int, owners: tuple[int, int], seq: int, sample: Sample, case_hash: str, layout: int) -> None:
        """Lay one sample out; its attempt and the calls of its judge only when this run is the owner of them."""
        call_run, judge_run = owners
        mode = sample.mode
        band, category, difficulty, cluster = sample.band, sample.category, sample.difficulty, sample.cluster
        self.samples.append(
            (
                run,
                seq,
                to_stored(sample.case_id),
                to_stored(sample.variant),
                sample.repeat,
                case_hash,
                call_run,
                sample.outcome.value,
                _finite_or_none(sample.score),
                None if sample.passed is None else int(sample.passed),
                None if band is None else to_stored(band),
                None if category is None else to_stored(category),
                None if difficulty is None else to_stored(difficulty),
                sample.step,
                layout,
                _score_values(sample.scores),
                _score_details(sample.scores),
                pack(sample.marks) if sample.marks else None,
                None if mode is None else mode.value,
                None if cluster is None else to_stored(cluster),
            )
        )
        if call_run == run:
            self._add_call_result(run, seq, sample.call_result)
        for position, finding in enumerate(sample.findings):
            self.findings.append((run, seq, position, *to_row(finding)))
        for position, tag in enumerate(sample.tags):
            self.tags.append((run, seq, position, to_stored(tag)))
        if sample.claims:
            self.claims.append((run, seq, pack(sample.claims)))
        if sample.checks:
            self.checks.append((run, seq, pack(sample.checks)))
        # An answer without items is another thing than none that could be read.
        if sample.items is not None:
            self.items.append((run, seq, pack(sample.items)))
        if sample.judgement is not None:
            self._add_judgement(run, judge_run, seq, sample.judgement)

    def _add_judgement(self, run: int, judge_run: int, seq: int, judgement: Judgement) -> None:
        data = encode(judgement)
        calls = data.pop("calls", None)
        owner = judge_run if calls else None
        if owner == run:
            self.judge_calls.append((run, seq, to_json(calls)))
        self.judgements.append((run, seq, owner, to_json(data)))

    def _add_call_result(self, run: int, seq: int, call_result: CallResult) -> None:
        failure = call_result.failure
        self.call_results.append(
            (
                run,
                seq,
                call_result.status,
                call_result.latency,
                call_result.started_at,
                call_result.tries,
                call_result.tokens_in,
                call_result.tokens_out,
                call_result.cost,
                None if call_result.model is None else to_stored(call_result.model),
                int(call_result.cached),
                None if failure is None else to_stored(failure.kind),
                None if failure is None else to_stored(failure.message),
                int(call_result.cut_off),
                *map(_finite_or_none, (call_result.first_byte, call_result.queued, call_result.first_token)),
                call_result.tokens_cached,
                None if call_result.first_failure is None else to_stored(call_result.first_failure),
                call_result.made_at,
                None if call_result.response_id is None else to_stored(call_result.response_id),
                int(call_result.provider_cached),
            )
        )
        if call_result.text is not None:
            text = to_stored(call_result.text)
            packed = pack_text(text) if self.packs else None
            self.answers.append((run, seq, text if packed is None else None, packed))

    def insert(self, session: Session) -> None:
        session.insert("calls", CALL_COLUMNS, self.call_results)
        session.insert("answers", ("run", "seq", "text", "packed"), self.answers)
        session.insert("judge_calls", _CONTENT_COLUMNS, self.judge_calls)
        session.insert("samples", SAMPLE_COLUMNS, self.samples)
        session.insert("findings", ("run", "seq", "position", *_FINDING_COLUMNS), self.findings)
        session.insert("tags", ("run", "seq", "position", "tag"), self.tags)
        session.insert("judgements", ("run", "seq", "judge_run", "content"), self.judgements)
        session.insert("claims", _CONTENT_COLUMNS, self.claims)
        session.insert("checks", _CONTENT_COLUMNS, self.checks)
        session.insert("items", _CONTENT_COLUMNS, self.items)


def keep_samples(
    session: Session,
    run: int,
    samples: Sequence[Sample],
    hashes: Sequence[str],
    stored: Layouts | None,
    *,
    packs: bool,
) -> Layouts:
    """Store new samples with their attempts, `hashes` naming their cases.

    Gives the run's layouts, which the caller may pass again next time once the transaction is committed.
    """
    used = [_layout_of(sample.scores) for sample in samples]
    layouts = _with_layouts(session, run, set(used), stored)
    batch = _Batch(packs)
    for seq, sample, case_hash, layout in zip(_places(session, run, samples), samples, hashes, used, strict=True):
        batch.add(run, (run, run), seq, sample, case_hash, layouts[layout])
    batch.insert(session)
    return layouts


def keep_rescored(
    session: Session, run: int, earlier: int, samples: Sequence[Sample], hashes: Sequence[str], stored: Layouts | None
) -> Layouts:
    """Store new scores that point at the attempts of an earlier run and at the judge's calls behind it."""
    used = [_layout_of(sample.scores) for sample in samples]
    layouts = _with_layouts(session, run, set(used), stored)
    call_results = results_by_key(session, earlier, [sample.case_id for sample in samples])
    judged = [sample.key for sample in samples if sample.judgement is not None and sample.judgement.calls]
    callers = _call_owners(session, earlier, [call_results[key][0] for key in judged if key in call_results])
    batch = _Batch(packs=False)
    for sample, case_hash, layout in zip(samples, hashes, used, strict=True):
        if sample.key not in call_results:
            raise StoreError(f"the earlier run has no answer for {describe_key(sample.key)}: nothing to score again")
        seq, call_run = call_results[sample.key]
        batch.add(run, (call_run, callers.get(seq, run)), seq, sample, case_hash, layouts[layout])
    batch.insert(session)
    return layouts


def _places(session: Session, run: int, samples: Sequence[Sample]) -> list[int]:
    given = [sample.position for sample in samples if sample.position is not None]
    if len(given) == len(samples):
        return given
    last = session.execute("SELECT max(seq) FROM samples WHERE run = ?", (run,))[0][0]
    free = max([-1 if last is None else int(last), *given]) + 1
    places = []
    for sample in samples:
        places.append(free if sample.position is None else sample.position)
        free += sample.position is None
    return places


_KEYS = "SELECT seq, case_id, variant, repeat, call_run FROM samples WHERE run = ? AND case_id IN "
_CALL_OWNERS = "SELECT seq, judge_run FROM judgements WHERE run = ? AND judge_run IS NOT NULL AND seq IN "


def results_by_key(session: Session, run: int, case_ids: Iterable[str]) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Keys of the samples stored for these cases, each with its place in the plan and the run that owns its attempt."""
    call_results = {}
    for piece in in_pieces({to_stored(case_id) for case_id in case_ids}):
        # In the order of the index over cases: without it SQLite reads the whole run for every piece.
        rows = session.execute(f"{_KEYS}({placeholders(piece)}) ORDER BY case_id, variant, repeat", (run, *piece))
        for seq, case_id, variant, repeat, call_run in rows:
            call_results[from_stored(case_id), from_stored(variant), repeat] = (seq, call_run)
    return call_results


def _call_owners(session: Session, run: int, seqs: Iterable[int]) -> dict[int, int]:
    """Which run made the calls behind the judgements at these places of the plan."""
    owners: dict[int, int] = {}
    for piece in in_pieces(seqs):
        owners.update(session.execute(f"{_CALL_OWNERS}({placeholders(piece)})", (run, *piece)))
    return owners


def describe_key(key: tuple[str, str, int]) -> str:
    """A sample's key in words."""
    case_id, variant, repeat = key
    return f"case {case_id!r}" + (f", variant {variant!r}" if variant else "") + f", repeat {repeat}"


# ---- reading


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
_FINDINGS = f"SELECT seq, {', '.join(_FINDING_COLUMNS)} FROM findings WHERE run = ? AND seq IN "  # noqa: S608
_OF_CODE = f"""
SELECT s.case_id, s.variant, s.repeat, {", ".join(f"f.{column}" for column in _FINDING_COLUMNS)}
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
        scores=_scores_from(layouts[layout], numbers, details),
        marks=() if marks is None else unpack(Mark, marks),
        step=step,
        category=from_stored_or_none(category),
        difficulty=from_stored_or_none(difficulty),
        cluster=from_stored_or_none(cluster),
        case_hash=case_hash,
        position=seq,
        **extra,
    )
