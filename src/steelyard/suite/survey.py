"""One pass over all cases: every mistake found, names counted, contents hashed; memory does not grow with the cases."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from steelyard.errors import Mistake
from steelyard.suite.case import Case, digest
from steelyard.suite.cases import FileCases, ListCases
from steelyard.suite.draft import Draft
from steelyard.suite.judge_model import JudgeModel
from steelyard.suite.model import CaseSurvey, Component
from steelyard.suite.paths import MISSING
from steelyard.suite.record import Record
from steelyard.suite.redaction import Redactor
from steelyard.suite.truths import TruthCheck

_MOST_TOLD = 100
_MODULUS = 1 << 256
_spell = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


@dataclass
class _Few:
    """The first mistakes, and how many more there were."""

    told: list[Mistake] = field(default_factory=list)
    more: int = 0

    def add(self, mistake: Mistake) -> None:
        if len(self.told) < _MOST_TOLD:
            self.told.append(mistake)
        else:
            self.more += 1


class _Hash:
    """A hash of many things that does not depend on their order."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, data: bytes) -> None:
        self._sum = (self._sum + int.from_bytes(hashlib.sha256(data).digest(), "big")) % _MODULUS

    def text(self) -> str:
        return f"{self._sum:064x}"[:16]


@dataclass
class _Tally:
    ids: array[int] = field(default_factory=lambda: array("Q"))
    categories: Counter[str] = field(default_factory=Counter)
    difficulties: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    cases: _Hash = field(default_factory=_Hash)
    truth: _Hash = field(default_factory=_Hash)
    inputs: _Hash = field(default_factory=_Hash)
    noted: frozenset[str] = frozenset()
    noted_truths: dict[str, str] = field(default_factory=dict)


def survey_cases(
    source: FileCases | ListCases,
    components: tuple[Component, ...],
    draft: Draft,
    judge: JudgeModel | None = None,
    redactor: Redactor | None = None,
    noted: Iterable[str] = (),
) -> CaseSurvey:
    """What the cases hold; every mistake in them is noted, the first ones in full.

    What is hashed is what will be asked and stored, without personal data. `noted` are the cases whose truth is hashed
    one by one, too.
    """
    few = _Few()
    tally = _Tally(noted=frozenset(noted))
    truths = TruthCheck(components, source.mapping, judge)
    seen: dict[str, int] = {}
    nowhere = {} if redactor is None else redactor.paths
    for record, case in source.walk(few.add):
        seen[record.file] = seen.get(record.file, 0) + 1 if isinstance(source, FileCases) else 1
        truths.see_record(record)
        if case is not None and redactor is not None:
            nowhere = {path: get for path, get in nowhere.items() if get(case) is MISSING}
            case = redactor.case(case)
        if case is not None and _count(case, record, tally, few):
            truths.see(case, record, few.add)
    _tell_empty(source, seen, few)
    _tell_twins(source, tally.ids, few)
    for message, place in truths.unmet():
        draft.tell(message, place)
    for path in nowhere:
        draft.tell(f"redact.names: {path} is in none of the {len(tally.ids)} cases", ("redact", "names"))
    draft.mistakes.extend(few.told)
    if few.more:
        draft.more.append(Mistake(f"and {few.more} more mistakes in the cases"))
    return CaseSurvey(
        n=len(tally.ids),
        categories=dict(sorted(tally.categories.items())),
        difficulties=dict(sorted(tally.difficulties.items())),
        tags=dict(sorted(tally.tags.items())),
        cases_digest=tally.cases.text(),
        truth_digest=tally.truth.text(),
        input_digest=tally.inputs.text(),
        noted_truths=tally.noted_truths,
    )


def _count(case: Case, record: Record, tally: _Tally, few: _Few) -> bool:
    """Take a case into the tally; False (and a mistake) when it holds what cannot be kept."""
    try:
        attached = [(a.media_type, a.digest or a.place) for a in case.attachments]
        asked = _spell([case.id, case.input, attached]).encode()
        groups = "\0".join((case.category or "", case.difficulty or "", *sorted(case.tags))).encode()
        truth = _spell([case.id, case.expected]).encode()
    except (ValueError, TypeError, RecursionError) as error:
        few.add(record.mistake(f"case {case.id}: {_why_not_kept(error)}"))
        return False
    tally.inputs.add(asked)
    tally.cases.add(asked + groups)
    tally.truth.add(truth)
    tally.ids.append(_id_hash(case.id))
    if case.id in tally.noted:
        tally.noted_truths[case.id] = digest(case.expected)
    if case.category is not None:
        tally.categories[case.category] += 1
    if case.difficulty is not None:
        tally.difficulties[case.difficulty] += 1
    tally.tags.update(case.tags)
    return True


def _why_not_kept(error: Exception) -> str:
    text = str(error)
    if "not JSON compliant" in text:
        return "it holds NaN or Infinity, which is no number: leave the value out or write null"
    if isinstance(error, UnicodeEncodeError):
        return "it holds half of a surrogate pair (\\ud800 and the like), which is no character"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return text


def _tell_empty(source: FileCases | ListCases, seen: dict[str, int], few: _Few) -> None:
    if few.told:
        return
    if isinstance(source, ListCases):
        if not source.records:
            few.add(Mistake("there are no cases", source.located.file if source.located else ""))
        return
    with_rows = {name.partition(" row ")[0] for name in seen}
    for file in source.files:
        if file.name not in with_rows:
            few.add(Mistake("there are no cases in this file", file.name))


def _id_hash(case_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(case_id.encode(), digest_size=8).digest(), "big")


def _tell_twins(source: FileCases | ListCases, ids: array[int], few: _Few) -> None:
    """Look for ids that occur twice; only when hashes clash are the files read again to name them."""
    import numpy as np

    hashes = np.sort(np.frombuffer(ids, dtype=np.uint64)) if ids else np.empty(0, dtype=np.uint64)
    clashing = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    if not clashing:
        return
    first: dict[str, str] = {}
    for record, case in source.walk(lambda _: None):
        if case is None or _id_hash(case.id) not in clashing:
            continue
        if case.id in first:
            few.add(record.mistake(f"the id {case.id!r} is given twice; the first is at {first[case.id]}", "id"))
        else:
            first[case.id] = record.place
