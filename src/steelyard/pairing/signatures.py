"""What differs between how two runs were made, as text, and what that means for comparing them."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.analysis.criteria import changed_values, criteria_of
from steelyard.analysis.target import SettingChange, changes_text, target_changes
from steelyard.pairing.cases import OTHER_QUESTION, OTHER_TRUTH, CommonCases, names, unit_counts
from steelyard.pairing.model import MOST_LISTED, Part, SignatureChange, SignaturePair
from steelyard.pairing.pairs import no_variant_in_common
from steelyard.pairing.runs import ComparedRun
from steelyard.records import Load, Mode, RunState
from steelyard.suite.case import NONE
from steelyard.suite.values import load_in_words
from steelyard.wording import counted

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


def other_scorers(a: ComparedRun, b: ComparedRun) -> bool:
    """Whether what is made of an answer may be another; a schema that no answer fails in makes no difference."""
    differs = [part for part in ("scorers", "rules", "schema") if signed(a, part) != signed(b, part)]
    if differs == ["schema"]:
        return bool(a.table.malformed.any() or b.table.malformed.any())
    return bool(differs)
