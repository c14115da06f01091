"""What differs in the signatures of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.analysis.compare.model import MOST_LISTED, Part, SignatureChange, SignaturePair
from steelyard.analysis.compare.pairing import (
    OTHER_QUESTION,
    OTHER_TRUTH,
    CommonCases,
    ComparedRun,
    names,
    no_variant_in_common,
    unit_counts,
)
from steelyard.analysis.criteria import changed_values, criteria_of
from steelyard.analysis.target import SettingChange, changes_text, target_changes
from steelyard.metrics.own import without_values
from steelyard.records import CheckState, Load, Mode, RunState, Sample
from steelyard.stats.arrays import Array
from steelyard.store.base import Checks, Columns
from steelyard.store.contents import Confused, Contents, confusion_digest, confusion_label, is_confusion
from steelyard.suite.case import NONE
from steelyard.suite.values import load_in_words
from steelyard.wording import counted

# What differs between how two runs were made, in words, and what that means for comparing them.

_SCALES = {
    "judge": "the judge differs: scores of A and B are not on one scale",
    "rules": "the rules, checks or rubric of the judge differ",
    "scorers": "the scorers differ: a change may be theirs",
    "schema": "the answer schema differs, and so what counts as malformed",
}
_MOST_NAMED = 5
_READINGS = "readings"
_CRITERIA = "criteria"
_NOT_NAMED = "a model that is not named"
LOAD = "load"
_NOT_IN_FILES = ("prompts", "schema")
"""Parts of the signature that no other tool writes down: the hash of an imported run stands for nothing."""


def compare_signatures(
    a: ComparedRun, b: ComparedRun, cases: CommonCases, *, allow_mismatch: bool = False
) -> SignaturePair:
    """Everything that differs, what blocks a verdict first; with `allow_mismatch` no case is excluded for its truth."""
    results = [
        *_suites(a, b),
        *_scales(a, b),
        *_rescored(a),
        *_readings(a, b),
        *_cases(a, b, cases),
        *_changed_cases(a, b, cases, allow_mismatch=allow_mismatch),
    ]
    results += [*_criteria(a, b), *_subjects(a, b), *_settings(a, b)]
    order = (Part.SCALE, Part.SUBJECT, Part.NOTED)
    # What is left of the judge's words comes first, since it says which figures there can be, with the criteria: a list
    # that is cut still has both.
    first = (_READINGS, _CRITERIA)
    results.sort(key=lambda change: (order.index(change.means), 0) if change.part not in first else (0, 1))
    return SignaturePair(tuple(results), _several(results))


def _suites(a: ComparedRun, b: ComparedRun) -> Iterator[SignatureChange]:
    before, after = a.header.suite_name, b.header.suite_name
    if before != after:
        message = f"these are runs of different suites: {before} and {after}"
        yield SignatureChange("suite", Part.SCALE, message, before, after)


def _scales(a: ComparedRun, b: ComparedRun) -> Iterator[SignatureChange]:
    for part, sentence in _SCALES.items():
        before, after = (signed(run, part) for run in (a, b))
        if before == after or (part == "schema" and a.imported != b.imported and not _asks_a_schema(a, b)):
            continue
        if part == "judge" and a.imported != b.imported and _members(a) == _members(b):
            message = f"the file of run {_from_a_file(a)} names the judge {_members(a)}, and not how it was asked:"
            message += " cannot tell whether it is the same"
        elif before is None or after is None or (part == "judge" and before and after and _one_is_not_named(a, b)):
            silent = "A" if before is None or (after is not None and _NOT_NAMED in _members(a)) else "B"
            message = f"run {silent} does not say which {part} it was scored with: cannot tell whether it is the same"
        elif part in ("judge", "rules") and not (before and after):
            message = f"only {'A' if before else 'B'} has a judge: scores of A and B are not on one scale"
        else:
            message = sentence + _more(part, a, b)
        harmless = part == "schema" and not _malformed(a, b)
        means = Part.NOTED if harmless else Part.SCALE
        yield SignatureChange(part, means, message, *_judges(part, a, b, before, after))


def _criteria(a: ComparedRun, b: ComparedRun) -> Iterator[SignatureChange]:
    """Gates, limits, prices and other criteria that differ between A and B."""
    if changes := changed_values(criteria_of(a.header), criteria_of(b.header)):
        yield SignatureChange(_CRITERIA, Part.NOTED, f"the criteria changed: {'; '.join(changes)}")


def _rescored(a: ComparedRun) -> Iterator[SignatureChange]:
    """What changed and is the same all the same."""
    result = a.rescored
    if result.parts:
        message = f"the code of {' and '.join(result.parts)} changed, and rescored by it all {result.n:,} answers of"
        message += f" {result.side} have the scores they had: the same signature"
        yield SignatureChange("code", Part.NOTED, message)
    if result.truths:
        ids = tuple(sorted(result.truths))
        message = f"the truth of {counted(len(ids), 'case')} changed, and A's answers are scored by B's:"
        message += f" {result.moved:,} moved; {_listed(ids, len(ids))}"
        yield SignatureChange("truth", Part.NOTED, message, cases=ids[:MOST_LISTED], n_cases=len(ids))


def _readings(a: ComparedRun, b: ComparedRun) -> Iterator[SignatureChange]:
    """Says when of one side nothing but the scores of the judge's answers is known."""
    if a.only_scores == b.only_scores or Mode.RULES in (a.mode, b.mode):
        return
    side = "A" if a.only_scores else "B"
    message = f"of {side}'s judge only the scores could be read: scores are compared, what else a judge says is not"
    yield SignatureChange(_READINGS, Part.NOTED, message, a.mode or "", b.mode or "")


def signed(run: ComparedRun, part: str) -> str | None:
    """The hash of a part of the signature; "" for what the suite has none of, None when the run does not say."""
    signature = run.header.signature
    if part in run.rescored.parts:
        return run.rescored.parts[part]
    if run.imported and part in _NOT_IN_FILES:
        return None
    if part in signature.to_data():
        return signature.part(part) or ""
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
        member.model or member.function or (_NOT_NAMED if member.is_model else member.name) for member in members
    )


def _one_is_not_named(a: ComparedRun, b: ComparedRun) -> bool:
    return (_NOT_NAMED in _members(a)) is not (_NOT_NAMED in _members(b))


def _more(part: str, a: ComparedRun, b: ComparedRun) -> str:
    """What is known beyond the hash: who judges, or how strictly it was scored."""
    judges = [_members(run) for run in (a, b)]
    if part == "judge" and judges[0] != judges[1]:
        return f" ({judges[0]} -> {judges[1]})"
    if part != "scorers":
        return ""
    strict = [run.header.options.strict for run in (a, b)]
    if strict[0] == strict[1]:
        return ""
    return f" ({'A' if strict[0] else 'B'} was scored with strict rules, the other was not)"


def _asks_a_schema(a: ComparedRun, b: ComparedRun) -> bool:
    return any(run.suite.answer.json_schema for run in (a, b))


def _malformed(a: ComparedRun, b: ComparedRun) -> bool:
    return bool(a.table.malformed.any() or b.table.malformed.any())


def _cases(a: ComparedRun, b: ComparedRun, cases: CommonCases) -> Iterator[SignatureChange]:
    lonely = [(cases.only_a, a, "A"), (cases.only_b, b, "B")]
    if len(cases.only_a) or len(cases.only_b):
        message = " and ".join(
            f"{counted(len(codes), 'case')} only in {name}" for codes, _, name in lonely if len(codes)
        )
        ids = tuple(
            name for codes, run, _ in lonely for name in names(run.columns.case_ids, codes.tolist(), MOST_LISTED)
        )
        n = len(cases.only_a) + len(cases.only_b)
        yield SignatureChange(
            "cases",
            Part.NOTED,
            f"the set of cases differs: {message}; excluded",
            cases=ids[:MOST_LISTED],
            n_cases=n,
        )
    if not cases.available:
        yield from _unknown_cases(a, b)
    if counts := unit_counts(a, b, cases.of_b):
        before, after, together = (counted(n, "unit") for n in counts)
        message = f"cases are in other clusters: the cases of both are {before} of evidence in A and {after} in B;"
        message += f" what either run has in one cluster counts as one here, which makes {together}"
        yield SignatureChange("clusters", Part.NOTED, message, before, after)


def _changed_cases(
    a: ComparedRun, b: ComparedRun, cases: CommonCases, *, allow_mismatch: bool
) -> Iterator[SignatureChange]:
    believed = (Part.SCALE, "") if allow_mismatch else (Part.NOTED, "; excluded")
    silent = " and ".join(name for name, run in (("A", a), ("B", b)) if run.imported)
    unknown = f"the file of run {silent} does not hold the {{}} of {{}}: cannot tell whether it is the same ({{}})"
    for part, codes, what, (means, done) in (
        ("questions", cases.unknown_questions, "question", (Part.SCALE, unknown)),
        ("truth", cases.unknown_truths, "truth", (Part.SCALE, unknown)),
        ("questions", cases.of_state(OTHER_QUESTION), "the question of", (Part.NOTED, "; excluded")),
        ("truth", cases.of_state(OTHER_TRUTH), "the truth of", believed),
        ("groups", cases.regrouped, "category, tags or the like of", (Part.NOTED, "")),
    ):
        if len(codes):
            ids = names(a.columns.case_ids, codes.tolist(), MOST_LISTED)
            listed = _listed(ids, len(codes))
            message = f"{what} {counted(len(codes), 'case')} changed: {listed}{done}"
            message = done.format(what, counted(len(codes), "case"), listed) if done is unknown else message
            yield SignatureChange(part, means, message, cases=ids, n_cases=len(codes))


def _unknown_cases(a: ComparedRun, b: ComparedRun) -> Iterator[SignatureChange]:
    for part, sentence in (
        ("cases", "the set of cases differs, and which questions changed is not known"),
        ("truth", "the truth differs, and for which cases is not known"),
    ):
        before, after = (signed(run, part) for run in (a, b))
        if before != after:
            yield SignatureChange(part, Part.SCALE, sentence, (before or "")[:8], (after or "")[:8])


def _subjects(a: ComparedRun, b: ComparedRun) -> Iterator[SignatureChange]:
    before, after = (run.header.signature.model or "" for run in (a, b))
    another_model = before != after and not any(run.imported and not name for run, name in ((a, before), (b, after)))
    if another_model:
        message = f"the model differs: {before or 'none named'} -> {after or 'none named'}"
        yield SignatureChange("model", Part.SUBJECT, message, before, after)
    changes = target_changes(a.header, b.header)
    texts = {part: tuple(item for item in changes if _part_of(item, a, b) == part) for part in ("prompts", "target")}
    if None not in (signed(a, "prompts"), signed(b, "prompts")) and signed(a, "prompts") != signed(b, "prompts"):
        text = changes_text(texts["prompts"])
        yield _hashed("prompts", f"the prompts or variants differ{text and f': {text}'}", a, b)
    if _one_variant_each(a, b) and a.suite.variant_names != b.suite.variant_names:
        before, after = (run.suite.variant_names[0] or NONE for run in (a, b))
        yield SignatureChange("variant", Part.SUBJECT, f"the variant differs: {before} -> {after}", before, after)
    settings = [{k: v for k, v in run.header.target.facts.items() if k not in ("model", "prompts")} for run in (a, b)]
    if a.imported != b.imported:
        message = f"run {_from_a_file(a)} was imported: cannot tell whether its target and prompts are the same"
        yield _hashed("target", message, a, b)
    elif settings[0] != settings[1]:
        keys = sorted(k for k in {*settings[0], *settings[1]} if settings[0].get(k) != settings[1].get(k))
        yield _hashed("target", f"the target differs: {changes_text(texts['target']) or ', '.join(keys)}", a, b)
    elif signed(a, "target") != signed(b, "target") and not another_model:
        yield _hashed("target", "the target differs", a, b)


def _part_of(change: SettingChange, a: ComparedRun, b: ComparedRun) -> str:
    """The part of the signature that a setting is in: `prompts`, `model` or `target`."""
    names = {name for run in (a, b) for name in run.header.target.prompts}
    if change.name in names or change.name.startswith("variant "):
        return "prompts"
    return "model" if change.name == "model" else "target"


def _one_variant_each(a: ComparedRun, b: ComparedRun) -> bool:
    """Whether each run has one variant, so that they are compared with each other."""
    return all(len(run.suite.variant_names) == 1 for run in (a, b))


def _hashed(part: str, sentence: str, a: ComparedRun, b: ComparedRun) -> SignatureChange:
    before, after = ((signed(run, part) or "")[:8] for run in (a, b))
    return SignatureChange(part, Part.SUBJECT, sentence, before, after)


def _settings(a: ComparedRun, b: ComparedRun) -> Iterator[SignatureChange]:
    before, after = (str(run.suite.repeats) for run in (a, b))
    if before != after:
        yield SignatureChange("repeats", Part.NOTED, f"repeats: {before} -> {after}", before, after)
    for part, named in (("variants", "variant_names"), ("slices", "slices")):
        before, after = (", ".join(sorted(name or NONE for name in getattr(run.suite, named))) for run in (a, b))
        if before != after and not (part == "variants" and _one_variant_each(a, b)):
            apart = no_variant_in_common(a, b) if part == "variants" else ""
            message = apart or f"{part}: {before or NONE} -> {after or NONE}"
            yield SignatureChange(part, Part.SCALE if apart else Part.NOTED, message, before, after)
    yield from loads(a, b)
    before, after = (run.header.version for run in (a, b))
    if before != after:
        message = f"made with different versions of Steelyard: {before or 'unknown'} and {after or 'unknown'}"
        yield SignatureChange("version", Part.NOTED, message, before, after)
    for name, run in (("A", a), ("B", b)):
        if run.header.state is not RunState.ENDED:
            message = f"run {name} has not ended: {run.columns.n} of {run.header.n_planned} samples"
            yield SignatureChange("state", Part.NOTED, message)


def loads(a: ComparedRun, b: ComparedRun) -> Iterator[SignatureChange]:
    """Says when calls were made in another way; recorded answers have no load."""
    loads = [run.header.options.load for run in (a, b) if run.header.options.load is not None]
    if len(loads) < 2 or loads[0].declared == loads[1].declared:
        return
    before, after = (_load_in_words(load) for load in loads)
    message = f"the load differs: {before} -> {after}; a change of latency may be due to it"
    yield SignatureChange(LOAD, Part.NOTED, message, before, after)


def _load_in_words(load: Load) -> str:
    most = f", {load.concurrency:,} at a time at most" if load.rate else ""
    warm = f" after {load.warm_up:,} warm-up calls" if load.warm_up else ""
    return load_in_words(load) + most + warm


def _several(changes: list[SignatureChange]) -> str:
    parts = [change.part for change in changes if change.means is Part.SUBJECT]
    if not parts:
        return ""
    parts += [change.part for change in changes if change.part in ("repeats", "variants")]
    if len(parts) < 2:
        return ""
    return f"{', '.join(parts[:-1])} and {parts[-1]} changed at once: cannot tell which of them caused it"


def _listed(ids: tuple[str, ...], n: int) -> str:
    shown = ", ".join(ids[:_MOST_NAMED])
    return shown if n <= _MOST_NAMED else f"{shown} and {n - _MOST_NAMED} more"


# A run in which some samples were scored again: its columns, findings and checks with what came of them.

Rows = Mapping[int, Sample]
"""By position in a run's columns, a sample as it was scored again."""


def overlaid(run: ComparedRun, rows: Rows) -> ComparedRun:
    """The run with these samples in place of those that it has."""
    checks = run.checks if run.checks is None or not run.checks.n else _checks(run.checks, rows)
    contents = None if run.contents is None else _contents(run.contents, rows)
    # Stored values of the suite's own metrics are those of the samples as the run has them.
    header = replace(run.header, suite=without_values(run.suite).data())
    return replace(run, header=header, columns=_columns(run.columns, rows), checks=checks, contents=contents)


def _columns(columns: Columns, rows: Rows) -> Columns:
    samples = rows.values()
    outcomes, bands = list(columns.outcomes), list(columns.bands)
    scores = [{score.name: score for score in sample.scores} for sample in samples]
    counts = {(name, count) for name, item in columns.counts.items() for count in item}
    counts |= {(name, count) for item in scores for name, score in item.items() for count in score.counts}
    counted: dict[str, dict[str, Array]] = {}
    for name, count in sorted(counts):
        before = columns.counts.get(name, {}).get(count, np.full(columns.n, np.nan))
        after = [score[name].counts.get(count) if name in score else None for score in scores]
        counted.setdefault(name, {})[count] = _put(before, rows, after)
    return replace(
        columns,
        outcome=_put(columns.outcome, rows, [_code(outcomes, sample.outcome.value) for sample in samples]),
        outcomes=outcomes,
        score=_put(columns.score, rows, [sample.score for sample in samples]),
        passed=_put(columns.passed, rows, [-1 if sample.passed is None else int(sample.passed) for sample in samples]),
        band=_put(columns.band, rows, [-1 if sample.band is None else _code(bands, sample.band) for sample in samples]),
        bands=bands,
        components={
            name: _put(values, rows, [score[name].value if name in score else None for score in scores])
            for name, values in columns.components.items()
        },
        counts=counted,
        **_findings(columns, rows),
    )


def _put(values: Array, rows: Rows, new: Sequence[float | None]) -> Array:
    whole = values.astype(np.int64 if values.dtype.kind in "iub" else float)
    whole[list(rows)] = [np.nan if item is None else item for item in new]
    return whole


def _code(names: list[str], name: str) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)


def _first_few(
    rows: Rows, sample: Array, columns: Mapping[str, tuple[Array, list[Any]]], at: list[int]
) -> dict[str, Any]:
    """What is listed for samples, as columns of what there was and what is new, with that of these rows replaced."""
    retained = ~np.isin(sample, list(rows))
    order = np.argsort(np.concatenate((sample[retained].astype(np.int64), np.array(at, np.int64))), kind="stable")
    return {
        # Runs of before something was noted have an empty column of it, and keep that.
        name: np.concatenate((old[retained], _typed_like(old, new)))[order] if len(old) == len(retained) else old
        for name, (old, new) in columns.items()
    }


def _typed_like(old: Array, new: list[Any]) -> Array:
    """The new values in the type of the old ones, or as 64-bit integers where one does not fit.

    Never by way of an untyped array: integers below and above 2**63 become floats there, which merge digests, and a
    code that does not fit a narrow type would silently become another code.
    """
    if old.dtype.kind in "iu" and new:
        bounds = np.iinfo(old.dtype)
        if min(new) < bounds.min or max(new) > bounds.max:
            return np.array(new, dtype=np.int64)
    return np.array(new, dtype=old.dtype)


def _findings(columns: Columns, rows: Rows) -> dict[str, Any]:
    new = [(at, finding) for at, sample in rows.items() for finding in sample.findings]
    at, result = [at for at, _ in new], [finding for _, finding in new]
    names = {name: list(getattr(columns, f"finding_{name}s")) for name in ("code", "component", "section")}
    listed: dict[str, tuple[Array, list[Any]]] = {
        f"finding_{name}": (
            getattr(columns, f"finding_{name}"),
            [_code(available, getattr(item, name)) for item in result],
        )
        for name, available in names.items()
    }
    listed |= {"finding_sample": (columns.finding_sample, at)}
    listed |= {"finding_gain": (columns.finding_gain, [item.gain for item in result])}
    return {f"finding_{name}s": available for name, available in names.items()} | _first_few(
        rows, columns.finding_sample, listed, at
    )


def _contents(contents: Contents, rows: Rows) -> Contents:
    new: list[tuple[int, Confused]] = [
        (at, (finding.code, confusion_label(finding.expected), confusion_label(finding.got)))
        for at, sample in rows.items()
        for finding in sample.findings
        if finding.expected is not None and finding.got is not None and is_confusion(finding.expected, finding.got)
    ]
    at = [at for at, _ in new]
    # Those of the run by their place there, the new ones below 0.
    place = np.arange(len(contents.confusion)), [-1 - i for i in range(len(new))]
    digests = contents.confusion, [confusion_digest(*texts) for _, texts in new]
    listed = {"place": place, "confusion": digests, "confusion_sample": (contents.confusion_sample, at)}
    columns = _first_few(rows, contents.confusion_sample, listed, at)
    places = columns.pop("place")

    def confused(chosen: Sequence[int]) -> list[Confused]:
        chosen = places[list(chosen)].tolist()
        stored = iter(contents.confused([item for item in chosen if item >= 0]))
        return [next(stored) if item >= 0 else new[-1 - item][1] for item in chosen]

    return replace(contents, **columns, confused=confused)


def _checks(checks: Checks, rows: Rows) -> Checks:
    new = [(at, check) for at, sample in rows.items() for check in sample.checks]
    names, details, states = list(checks.names), list(checks.details), list(CheckState)
    codes = [(_code(names, item.name), states.index(item.state), _code(details, item.detail)) for _, item in new]
    listed: dict[str, list[Any]] = {"sample": [at for at, _ in new]}
    listed |= {name: [code[i] for code in codes] for i, name in enumerate(("name", "state", "detail"))}
    listed |= {name: [getattr(item, name) for _, item in new] for name in ("value", "low", "high")}
    columns = {name: (getattr(checks, name), values) for name, values in listed.items()}
    return replace(checks, names=names, details=details, **_first_few(rows, checks.sample, columns, listed["sample"]))
