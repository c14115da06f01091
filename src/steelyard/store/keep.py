"""Samples into their tables, inside a transaction that somebody else opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.errors import StoreError
from steelyard.records import Sample
from steelyard.store.database import Session, in_pieces, placeholders
from steelyard.store.load import layouts_of
from steelyard.store.rows import (
    ANSWER_COLUMNS,
    ATTEMPT_COLUMNS,
    BESIDE_COLUMNS,
    CALL_COLUMNS,
    JUDGEMENT_COLUMNS,
    SAMPLE_COLUMNS,
    TAG_COLUMNS,
    Batch,
)
from steelyard.store.text import from_stored, to_stored
from steelyard.store.weighed import FINDING_COLUMNS, Layout, layout_of, layout_text

Layouts = dict[Layout, int]


_KEYS = "SELECT seq, case_id, variant, repeat, attempt_run FROM samples WHERE run = ? AND case_id IN "
_CALL_OWNERS = "SELECT seq, judge_run FROM judgements WHERE run = ? AND judge_run IS NOT NULL AND seq IN "


def keep_cases(session: Session, rows: Iterable[tuple[str, str, str]]) -> None:
    """Store each case under its hash, once."""
    # Sorted, so that two writers never wait for each other in a circle.
    session.insert("cases", ("id", "hash", "content"), sorted(rows), unless_there=True)


def keep_samples(
    session: Session, run: int, samples: Sequence[Sample], hashes: Sequence[str], known: Layouts | None
) -> Layouts:
    """Store new samples with their attempts, `hashes` naming their cases.

    Gives the run's layouts, which the caller may pass again next time once the transaction is kept.
    """
    used = [layout_of(sample.scores) for sample in samples]
    layouts = _known_layouts(session, run, set(used), known)
    batch = Batch()
    for seq, sample, case_hash, layout in zip(_places(session, run, samples), samples, hashes, used, strict=True):
        batch.add(run, (run, run), seq, sample, case_hash, layouts[layout])
    _insert(session, batch)
    return layouts


def keep_rescored(
    session: Session,
    run: int,
    earlier: int,
    samples: Sequence[Sample],
    hashes: Sequence[str],
    known: Layouts | None,
) -> Layouts:
    """Store new weighings that point at the attempts of an earlier run and at the judge's calls behind it."""
    used = [layout_of(sample.scores) for sample in samples]
    layouts = _known_layouts(session, run, set(used), known)
    found = attempts_by_key(session, earlier, [sample.case_id for sample in samples])
    asked = [sample.key for sample in samples if sample.judgement is not None and sample.judgement.calls]
    places = [found[key][0] for key in asked if key in found]
    callers = _call_owners(session, earlier, places)
    batch = Batch()
    for sample, case_hash, layout in zip(samples, hashes, used, strict=True):
        if sample.key not in found:
            raise StoreError(f"the earlier run has no answer for {describe_key(sample.key)}: nothing to weigh again")
        seq, attempt_run = found[sample.key]
        batch.add(run, (attempt_run, callers.get(seq, run)), seq, sample, case_hash, layouts[layout])
    _insert(session, batch)
    return layouts


def attempts_by_key(session: Session, run: int, case_ids: Iterable[str]) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Keys of the samples kept for these cases, each with its place in the plan and the run that owns its attempt."""
    found = {}
    for piece in in_pieces({to_stored(case_id) for case_id in case_ids}):
        rows = session.execute(f"{_KEYS}({placeholders(piece)})", (run, *piece))
        for seq, case_id, variant, repeat, attempt_run in rows:
            found[from_stored(case_id), from_stored(variant), repeat] = (seq, attempt_run)
    return found


def _call_owners(session: Session, run: int, seqs: Iterable[int]) -> dict[int, int]:
    """Which run made the calls behind the judgements at these places of the plan."""
    found: dict[int, int] = {}
    for piece in in_pieces(seqs):
        found.update(session.execute(f"{_CALL_OWNERS}({placeholders(piece)})", (run, *piece)))
    return found


def describe_key(key: tuple[str, str, int]) -> str:
    """A sample's key in words."""
    case_id, variant, repeat = key
    return f"case {case_id!r}" + (f", variant {variant!r}" if variant else "") + f", repeat {repeat}"


def _known_layouts(session: Session, run: int, needed: set[Layout], known: Layouts | None) -> Layouts:
    """The run's layouts, those needed now included."""
    if known is not None and needed <= known.keys():
        return known
    layouts = {layout: number for number, layout in layouts_of(session, run).items()}
    for layout in sorted(needed - layouts.keys()):
        layouts[layout] = len(layouts)
        session.insert("layouts", ("run", "number", "content"), [(run, layouts[layout], layout_text(layout))])
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


def _insert(session: Session, batch: Batch) -> None:
    session.insert("attempts", ATTEMPT_COLUMNS, batch.attempts)
    session.insert("answers", ANSWER_COLUMNS, batch.answers)
    session.insert("judge_calls", CALL_COLUMNS, batch.judge_calls)
    session.insert("samples", SAMPLE_COLUMNS, batch.samples)
    session.insert("findings", FINDING_COLUMNS, batch.findings)
    session.insert("tags", TAG_COLUMNS, batch.tags)
    session.insert("judgements", JUDGEMENT_COLUMNS, batch.judgements)
    session.insert("certainties", BESIDE_COLUMNS, batch.certainties)
    session.insert("checks", BESIDE_COLUMNS, batch.checks)
    session.insert("items", BESIDE_COLUMNS, batch.items)
