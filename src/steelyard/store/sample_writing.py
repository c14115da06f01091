"""Writes samples: a row of each table that has a part of them, inside a transaction that somebody else opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from math import isfinite

from steelyard.errors import StoreError
from steelyard.frozen import slotted
from steelyard.records import CallResult, Judgement, Sample
from steelyard.store.codec import Row, encode, pack, to_row
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.packing import pack_text
from steelyard.store.samples import CALL_COLUMNS, FINDING_COLUMNS, SAMPLE_COLUMNS
from steelyard.store.score_layouts import Layouts, layout_of, score_details, score_values, with_layouts
from steelyard.store.stored_text import from_stored, to_json, to_stored

_CONTENT_COLUMNS = ("run", "seq", "content")


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
                score_values(sample.scores),
                score_details(sample.scores),
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
        session.insert("findings", ("run", "seq", "position", *FINDING_COLUMNS), self.findings)
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
    used = [layout_of(sample.scores) for sample in samples]
    layouts = with_layouts(session, run, set(used), stored)
    batch = _Batch(packs)
    for seq, sample, case_hash, layout in zip(_places(session, run, samples), samples, hashes, used, strict=True):
        batch.add(run, (run, run), seq, sample, case_hash, layouts[layout])
    batch.insert(session)
    return layouts


def keep_rescored(
    session: Session, run: int, earlier: int, samples: Sequence[Sample], hashes: Sequence[str], stored: Layouts | None
) -> Layouts:
    """Store new scores that point at the attempts of an earlier run and at the judge's calls behind it."""
    used = [layout_of(sample.scores) for sample in samples]
    layouts = with_layouts(session, run, set(used), stored)
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
