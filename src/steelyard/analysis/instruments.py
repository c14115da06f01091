"""What differs between how two runs were made, in words, and what that means for comparing them.

Target, model and prompts are what one compares. Another judge, other rules or other scorers are another scale: the
change may be theirs. Another truth or question touches single cases, which are set aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.analysis.compare_model import MOST_LISTED, InstrumentChange, Instruments, Part
from steelyard.analysis.compared_cases import QUESTION, TRUTH, CommonCases, names, unit_counts
from steelyard.analysis.compared_run import ComparedRun
from steelyard.metrics.registry import NONE
from steelyard.records import Mode, RunState
from steelyard.suite.values import load_in_words

_SCALES = {
    "judge": "the judge is another: readings of A and B are not on one scale",
    "rules": "what is made of the judge's words is another: its rules, checks or rubric differ",
    "scorers": "the scorers are others: a change may be theirs",
    "schema": "the shape asked of answers is another, and so what counts as malformed",
}
_MOST_NAMED = 5
_READINGS = "readings"
_NOT_NAMED = "a model that is not named"
LOAD = "load"
_NOT_IN_FILES = ("prompts", "schema")
"""Parts of the signature that no other tool writes down: the hash of an imported run stands for nothing."""
_OF_A_LOAD = ("rate", "requests_per_second", "concurrency", "warm_up")


def compare_instruments(a: ComparedRun, b: ComparedRun, cases: CommonCases, *, anyway: bool = False) -> Instruments:
    """Everything that differs, what hinders a verdict first; `anyway` says that no case is set aside for its truth."""
    found = [
        *_suites(a, b),
        *_scales(a, b),
        *_rescored(a),
        *_readings(a, b),
        *_cases(a, b, cases),
        *_changed_cases(a, b, cases, anyway=anyway),
    ]
    found += [*_subjects(a, b), *_settings(a, b)]
    order = (Part.SCALE, Part.SUBJECT, Part.NOTED)
    # What is left of the judge's words comes before what is compared: it says which figures there can be.
    found.sort(key=lambda change: (order.index(change.means), 0) if change.part != _READINGS else (0, 1))
    return Instruments(tuple(found), _several(found))


def _suites(a: ComparedRun, b: ComparedRun) -> Iterator[InstrumentChange]:
    before, after = a.header.suite_name, b.header.suite_name
    if before != after:
        told = f"these are runs of different suites: {before} and {after}"
        yield InstrumentChange("suite", Part.SCALE, told, before, after)


def _scales(a: ComparedRun, b: ComparedRun) -> Iterator[InstrumentChange]:
    for part, sentence in _SCALES.items():
        before, after = (signed(run, part) for run in (a, b))
        if before == after or (part == "schema" and a.imported != b.imported and not _asks_a_schema(a, b)):
            continue
        if part == "judge" and a.imported != b.imported and _members(a) == _members(b):
            told = f"the file of run {_from_a_file(a)} names the judge {_members(a)}, and not how it was asked:"
            told += " nobody can tell whether it is the same"
        elif before is None or after is None or (part == "judge" and before and after and _one_is_not_named(a, b)):
            silent = "A" if before is None or (after is not None and _NOT_NAMED in _members(a)) else "B"
            told = f"run {silent} does not say which {part} it was weighed with: nobody can tell whether it is the same"
        elif part in ("judge", "rules") and not (before and after):
            told = f"only {'A' if before else 'B'} has a judge: readings of A and B are not on one scale"
        else:
            told = sentence + _more(part, a, b)
        harmless = part == "schema" and not _malformed(a, b)
        means = Part.NOTED if harmless else Part.SCALE
        yield InstrumentChange(part, means, told, *_judges(part, a, b, before, after))


def _rescored(a: ComparedRun) -> Iterator[InstrumentChange]:
    """What changed and is the same all the same."""
    found = a.rescored
    if found.parts:
        told = f"the code of {' and '.join(found.parts)} changed, and rescored by it all {found.n:,} answers of"
        told += f" {found.side} have the scores they had: the same instrument"
        yield InstrumentChange("code", Part.NOTED, told)
    if found.truths:
        ids = tuple(sorted(found.truths))
        told = f"the truth of {_n_cases(len(ids))} changed, and A's answers are scored by B's: {found.moved:,} moved;"
        told += f" {_listed(ids, len(ids))}"
        yield InstrumentChange("truth", Part.NOTED, told, cases=ids[:MOST_LISTED], n_cases=len(ids))


def _readings(a: ComparedRun, b: ComparedRun) -> Iterator[InstrumentChange]:
    """Says when of one side nothing but the scores of the judge's answers is known."""
    if a.only_scores == b.only_scores or Mode.RULES in (a.mode, b.mode):
        return
    side = "A" if a.only_scores else "B"
    told = f"of {side}'s judge only the scores could be read: scores are compared, what else a judge says is not"
    yield InstrumentChange(_READINGS, Part.NOTED, told, a.mode or "", b.mode or "")


def signed(run: ComparedRun, part: str) -> str | None:
    """The hash of a part of the instrument; "" for what the suite has none of, None when the run does not say."""
    signature = run.header.signature
    if part in run.rescored.parts:
        return run.rescored.parts[part]
    if run.imported and part in _NOT_IN_FILES:
        return None
    if part in signature:
        return str(signature[part] or "")
    # Runs of before there were judges had none.
    return "" if part in ("judge", "rules") and run.suite.judge is None else None


def _from_a_file(a: ComparedRun) -> str:
    """Which of two runs was imported, where one was."""
    return "A" if a.imported else "B"


def _judges(part: str, a: ComparedRun, b: ComparedRun, before: str | None, after: str | None) -> tuple[str, str]:
    named = [_members(run) for run in (a, b)]
    if part == "judge" and named[0] != named[1] and all(named):
        return named[0], named[1]
    return (before or "")[:8], (after or "")[:8]


def _members(run: ComparedRun) -> str:
    members = run.suite.judge.members if run.suite.judge else ()
    return ", ".join(
        member.model or member.function or (_NOT_NAMED if member.kind == "chat" else member.name) for member in members
    )


def _one_is_not_named(a: ComparedRun, b: ComparedRun) -> bool:
    return (_NOT_NAMED in _members(a)) is not (_NOT_NAMED in _members(b))


def _more(part: str, a: ComparedRun, b: ComparedRun) -> str:
    """What is known beyond the hash: who judges, or how strictly it was weighed."""
    judges = [_members(run) for run in (a, b)]
    if part == "judge" and judges[0] != judges[1]:
        return f" ({judges[0]} -> {judges[1]})"
    if part != "scorers":
        return ""
    strict = [bool(run.header.options.get("strict")) for run in (a, b)]
    if strict[0] == strict[1]:
        return ""
    return f" ({'A' if strict[0] else 'B'} was weighed with strict rules, the other was not)"


def _asks_a_schema(a: ComparedRun, b: ComparedRun) -> bool:
    return any(run.suite.answer.json_schema for run in (a, b))


def _malformed(a: ComparedRun, b: ComparedRun) -> bool:
    return bool(a.table.malformed.any() or b.table.malformed.any())


def _cases(a: ComparedRun, b: ComparedRun, cases: CommonCases) -> Iterator[InstrumentChange]:
    lonely = [(cases.only_a, a, "A"), (cases.only_b, b, "B")]
    if len(cases.only_a) or len(cases.only_b):
        told = " and ".join(f"{_n_cases(len(codes))} only in {name}" for codes, _, name in lonely if len(codes))
        ids = tuple(one for codes, run, _ in lonely for one in names(run.columns.case_ids, codes.tolist(), MOST_LISTED))
        n = len(cases.only_a) + len(cases.only_b)
        yield InstrumentChange(
            "cases", Part.NOTED, f"the set of cases is another: {told}; set aside", cases=ids[:MOST_LISTED], n_cases=n
        )
    if not cases.known:
        yield from _unknown_cases(a, b)
    if counts := unit_counts(a, b, cases.of_b):
        before, after, together = (f"{n:,} unit{'' if n == 1 else 's'}" for n in counts)
        told = f"cases are in other clusters: the cases of both are {before} of evidence in A and {after} in B;"
        told += f" what either run has in one cluster counts as one here, which makes {together}"
        yield InstrumentChange("clusters", Part.NOTED, told, before, after)


def _changed_cases(a: ComparedRun, b: ComparedRun, cases: CommonCases, *, anyway: bool) -> Iterator[InstrumentChange]:
    believed = (Part.SCALE, "") if anyway else (Part.NOTED, "; set aside")
    silent = " and ".join(name for name, run in (("A", a), ("B", b)) if run.imported)
    unknown = f"the file of run {silent} does not hold the {{}} of {{}}: nobody can tell whether it is the same ({{}})"
    for part, codes, what, (means, done) in (
        ("questions", cases.unknown_questions, "question", (Part.SCALE, unknown)),
        ("truth", cases.unknown_truths, "truth", (Part.SCALE, unknown)),
        ("questions", cases.of_state(QUESTION), "the question of", (Part.NOTED, "; set aside")),
        ("truth", cases.of_state(TRUTH), "the truth of", believed),
        ("groups", cases.regrouped, "category, tags or the like of", (Part.NOTED, "")),
    ):
        if len(codes):
            ids = names(a.columns.case_ids, codes.tolist(), MOST_LISTED)
            listed = _listed(ids, len(codes))
            told = f"{what} {_n_cases(len(codes))} changed: {listed}{done}"
            told = done.format(what, _n_cases(len(codes)), listed) if done is unknown else told
            yield InstrumentChange(part, means, told, cases=ids, n_cases=len(codes))


def _unknown_cases(a: ComparedRun, b: ComparedRun) -> Iterator[InstrumentChange]:
    for part, sentence in (
        ("cases", "the cases are others, and nobody can tell which questions changed"),
        ("truth", "the truth is another, and nobody can tell of which cases"),
    ):
        before, after = (signed(run, part) for run in (a, b))
        if before != after:
            yield InstrumentChange(part, Part.SCALE, sentence, (before or "")[:8], (after or "")[:8])


def _subjects(a: ComparedRun, b: ComparedRun) -> Iterator[InstrumentChange]:
    before, after = (str(run.header.signature.get("model") or "") for run in (a, b))
    another_model = before != after and not any(run.imported and not name for run, name in ((a, before), (b, after)))
    if another_model:
        told = f"the model is another: {before or 'none named'} -> {after or 'none named'}"
        yield InstrumentChange("model", Part.SUBJECT, told, before, after)
    if None not in (signed(a, "prompts"), signed(b, "prompts")) and signed(a, "prompts") != signed(b, "prompts"):
        yield _hashed("prompts", "the prompts or variants are others", a, b)
    settings = [{k: v for k, v in run.header.target.items() if k not in ("model", "prompts")} for run in (a, b)]
    if a.imported != b.imported:
        told = f"run {_from_a_file(a)} was imported: nobody can tell whether its target and prompts are the same"
        yield _hashed("target", told, a, b)
    elif settings[0] != settings[1]:
        keys = sorted(k for k in {*settings[0], *settings[1]} if settings[0].get(k) != settings[1].get(k))
        yield _hashed("target", f"the target is another: {', '.join(keys)}", a, b)
    elif signed(a, "target") != signed(b, "target") and not another_model:
        yield _hashed("target", "the target is another", a, b)


def _hashed(part: str, sentence: str, a: ComparedRun, b: ComparedRun) -> InstrumentChange:
    before, after = ((signed(run, part) or "")[:8] for run in (a, b))
    return InstrumentChange(part, Part.SUBJECT, sentence, before, after)


def _settings(a: ComparedRun, b: ComparedRun) -> Iterator[InstrumentChange]:
    before, after = (str(run.suite.repeats) for run in (a, b))
    if before != after:
        yield InstrumentChange("repeats", Part.NOTED, f"repeats: {before} -> {after}", before, after)
    before, after = (", ".join(name or NONE for name in run.suite.variants) for run in (a, b))
    if before != after:
        yield InstrumentChange("variants", Part.NOTED, f"variants: {before} -> {after}", before, after)
    yield from loads(a, b)
    before, after = (run.header.version for run in (a, b))
    if before != after:
        told = f"made with different versions of Steelyard: {before or 'unknown'} and {after or 'unknown'}"
        yield InstrumentChange("version", Part.NOTED, told, before, after)
    for name, run in (("A", a), ("B", b)):
        if run.header.state is not RunState.ENDED:
            told = f"run {name} has not ended: {run.columns.n} of {run.header.n_planned} samples"
            yield InstrumentChange("state", Part.NOTED, told)


def loads(a: ComparedRun, b: ComparedRun) -> Iterator[InstrumentChange]:
    """Says when calls were made in another way; runs of before loads were kept, and recorded answers, have none."""
    loads = [run.header.options.get("load") or {} for run in (a, b)]
    if not all(loads) or all(loads[0].get(key) == loads[1].get(key) for key in _OF_A_LOAD):
        return
    before, after = (_load_in_words(load) for load in loads)
    told = f"the load is another: {before} -> {after}; how long answers took may be its doing"
    yield InstrumentChange(LOAD, Part.NOTED, told, before, after)


def _load_in_words(load: dict[str, Any]) -> str:
    most = f", {load['concurrency']:,} at a time at most" if load.get("rate") and load.get("concurrency") else ""
    warm = f" after {load['warm_up']:,} warm-up calls" if load.get("warm_up") else ""
    return load_in_words(load) + most + warm


def _several(changes: list[InstrumentChange]) -> str:
    parts = [change.part for change in changes if change.means is Part.SUBJECT]
    if not parts:
        return ""
    parts += [change.part for change in changes if change.part in ("repeats", "variants")]
    if len(parts) < 2:
        return ""
    return f"{', '.join(parts[:-1])} and {parts[-1]} changed at once: nobody can tell which of them did it"


def _n_cases(n: int) -> str:
    return f"{n} case{'' if n == 1 else 's'}"


def _listed(ids: tuple[str, ...], n: int) -> str:
    shown = ", ".join(ids[:_MOST_NAMED])
    return shown if n <= _MOST_NAMED else f"{shown} and {n - _MOST_NAMED} more"
