"""The figures of a report that no gate stands on: each by its name, its place in `report --json` and its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from steelyard.analysis.explain import Key, Words
from steelyard.analysis.failure_words import failure_reason
from steelyard.analysis.judge_figures import VOTE_SHARES, dimension_scores, disagreed, votes_of
from steelyard.analysis.judge_silence import LONGEST, reason_of
from steelyard.analysis.mending import mended_scores
from steelyard.analysis.model import JudgeFigures, Slice
from steelyard.analysis.patterns import component_gain, pattern_samples
from steelyard.analysis.repeats import STATES, Repeats
from steelyard.analysis.rubric import DescribedRubric, described_rubric
from steelyard.metrics.expressions import parse_repeats
from steelyard.metrics.registry import Aggregate, Contributions, Reasons
from steelyard.metrics.table import FORMAT
from steelyard.records import BROKEN_SCALE, Judgement, Outcome, Sample
from steelyard.report.figure_rows import Figure, Rows, RunRows, Thing, case_names, samples_in, sliced
from steelyard.report.model import Report
from steelyard.report.named_cells import cell_figures, claim_figures
from steelyard.stats.arrays import Array
from steelyard.store.base import Spending
from steelyard.store.contents import confusion_label, is_confusion

_RATE = "Wilson's score interval; rows of one case count as one cluster"
_MEAN = "Wilson's score interval by the standard error of the mean; rows of one case count as one cluster"
_BARE = "none: the report gives it without one"
_ASKED = "a text is a sample that a judge was asked about; a vote is one member's reading of it in one judging repeat"


def own_figures(report: Report, rows: RunRows) -> Iterator[Figure]:
    """The figures that no gate can name."""
    everything = np.ones(rows.table.n, dtype=bool)
    came = Words("samples that came", "those that were planned and never came are left out")
    yield Figure(("samples",), "n_samples", report.n_samples, came, rows.marked(everything))
    yield from _counts(report, rows)
    yield from _repeated(report, rows)
    yield from _of_codes(report, rows)
    yield from _findings(report, rows)
    yield from _patterns(report, rows)
    yield from _modes(report, rows)
    yield from _judge(report, rows)
    yield from claim_figures(report, rows)
    yield from cell_figures(report, rows)
    yield from _inconclusive(report, rows)
    yield from _listed(report)


def slices_of(report: Report) -> Iterator[tuple[str, Slice]]:
    """The whole run and every slice, with its place in a report."""
    yield "overall", report.summary.overall
    for factor, parts in report.summary.slices.items():
        for number, part in enumerate(parts):
            yield f"slices.{factor}[{number}]", part


def _counts(report: Report, rows: RunRows) -> Iterator[Figure]:
    table, columns = rows.table, rows.data.columns
    ended = Words("samples that ended so", "a sample that another kind of judge has read counts as scored here")
    aside = Words("scored samples that another kind of judge has read than the run's", "they are in no other figure")
    planned = Words("samples that came + planned samples that never came", "what never came is in no slice")
    for place, part in slices_of(report):
        head, here = sliced(part.factor, part.name), np.zeros(table.n, dtype=bool)
        here[samples_in(rows, part)] = True
        for outcome, n in part.outcomes.items():
            mask = here & (table.outcome == table.outcomes.index(outcome))
            yield Figure((*head, "outcomes", outcome), f"{place}.outcomes.{outcome}", n, ended, rows.marked(mask))
        mask = here & table.set_aside
        yield Figure((*head, "outcomes", "set_aside"), f"{place}.set_aside", part.set_aside, aside, rows.marked(mask))
        absent = 0 if part.factor else rows.data.absent
        yield Figure(
            (*head, "outcomes", "planned"),
            f"{place}.n_planned",
            part.n_planned,
            planned,
            _with_absent(rows.marked(here)),
            absent=absent,
        )
    for kind, n in report.summary.failures.items():
        words = Words("samples whose call failed in that way", "every sample is looked at")
        mask = columns.failure == columns.failures.index(kind)
        yield Figure(("failures", kind), f"failures.{kind}", n, words, rows.marked(mask))
    for rung, n in report.summary.rungs.items():
        words = Words("answers that were read in that way", "samples without an answer are on no rung")
        mask = columns.rung == columns.rungs.index(rung)
        yield Figure(("rungs", rung), f"rungs.{rung}", n, words, rows.marked(mask))


def _with_absent(rows: Callable[[], Rows], value: float = 1.0) -> Callable[[], Rows]:
    """The same rows, and those that never came count, too."""

    def more() -> Rows:
        found, keys = rows()
        return replace(found, absent=value), keys

    return more


def _repeated(report: Report, rows: RunRows) -> Iterator[Figure]:
    repeats = Repeats(rows.table, rows.suite)
    how = (
        "a cell is a case under a variant; the condition is looked for in its conclusive repeats, and with fewer of"
        " them than the rule asks for nobody can tell; what failed in none of them and never came is undecided"
    )

    def of(text: str, part: Slice, state: str) -> tuple[Callable[[], Rows], int]:
        cells, states, unseen, detail = repeats.looked_at(text, samples_in(rows, part), part.factor)

        def found() -> Rows:
            mine = states[cells]
            if state == "share":
                values = np.where(mine == STATES["undecided"], np.nan, mine == STATES["held"])
                excluded: Reasons = (("undecided", None),)
                found = Contributions(values, excluded=excluded, detail=lambda row: detail(int(cells[row])))
                return found, lambda row: repeats.key(int(cells[row]))
            here = cells[mine == STATES[state]]
            absent = 1.0 if state == "undecided" else 0.0
            found = Contributions(np.ones(len(here)), absent=absent, detail=lambda row: detail(int(here[row])))
            return found, lambda row: repeats.key(int(here[row]))

        return found, unseen

    for place, part in slices_of(report):
        for text, states in part.repeated.items():
            for state in ("held", "failed", "undecided"):
                found, unseen = of(text, part, state)
                words = Words("cells of which this came out", how, of="cells")
                names = (*sliced(part.factor, part.name), "repeated", text, state)
                where, n = f"{place}.repeated.{text}.{state}", getattr(states, state)
                yield Figure(names, where, n, words, found, absent=unseen)
    for gate, place, part in gates_of(report):
        rule = parse_repeats(gate.gate) if gate.name else None
        if rule is not None and gate.value.value is not None:
            found, unseen = of(rule.text, part, "share")
            words = Words("cells in which it holds / cells that could be decided", how, "cells", "share")
            names = (*sliced(part.factor, part.name), "repeated", rule.text, "share")
            yield Figure(names, f"{place}.value", gate.value, words, found, Aggregate.MEAN, absent=unseen)


def gates_of(report: Report) -> Iterator[tuple[Any, str, Slice]]:
    """Every gate and criterion, its place and the part of the run it looks at."""
    whole = report.summary.overall
    for number, gate in enumerate(report.decision.gates):
        yield gate, f"gates[{number}]", whole
    variants = {part.name: part for part in report.summary.slices.get("variant", ())}
    for number, decision in enumerate(report.decision.by_variant):
        part = variants.get(decision.variant, whole)
        for at, criterion in enumerate(decision.criteria):
            yield criterion, f"by_variant[{number}].criteria[{at}]", part


def _of_codes(report: Report, rows: RunRows) -> Iterator[Figure]:
    """What mending each code, or perfecting a component, is worth."""
    table, absent = rows.table, rows.data.absent
    left_out: Reasons = (*table.left_out, ("no component was weighed: no score", None))
    mended = (
        "a sample's score rises, for every finding of the code, by what the finding says its component would gain x"
        " the component's part of the weights that the sample was weighed with, to 1 at most; a malformed answer would"
        " earn 1"
    )
    rises = Words(
        "sum of what each score would rise by, with every such finding mended / n",
        mended,
        unit="difference",
        interval=_BARE,
    )

    def of_samples(values: Callable[[], Array]) -> Callable[[], Rows]:
        return lambda: rows.samples(values(), excluded=left_out)

    def gain(code: str) -> Callable[[], Rows]:
        return of_samples(lambda: mended_scores(table, code) - table.score())

    def figure(names: tuple[str, ...], place: str, reported: Any, words: Words, found: Callable[[], Rows]) -> Figure:
        return Figure(names, place, reported, words, found, Aggregate.MEAN, absent=absent)

    codes = {each.code for each in report.summary.codes}
    for number, each in enumerate(report.summary.codes):
        if each.mended.value is None:
            continue
        words = Words("sum of scores with every such finding mended / n", mended, "samples", "score", _MEAN, "lower")
        found = of_samples(lambda code=each.code: mended_scores(table, code))  # type: ignore[misc]
        yield figure(("mended", each.code), f"codes[{number}].mended", each.mended, words, found)
        if each.weighs:
            yield figure(("gain", each.code), f"codes[{number}].gain", each.gain, rises, gain(each.code))
    for number, priority in enumerate(report.summary.priorities):
        name, place = priority.component, f"priorities[{number}]"
        if name in table.weights and name not in codes:
            words = Words(
                "sum over samples of weight / (weights of what was weighed) x (1 - value) / n",
                "what perfection in this component alone would add to each score; a malformed answer gains nothing,"
                " nor does a sample in which the component was not weighed",
                unit="difference",
                interval=_BARE,
            )
            found = of_samples(lambda name=name: component_gain(table, name))  # type: ignore[misc]
            yield figure(("gain", name), f"{place}.gain", priority.gain, words, found)
            continue
        if name == FORMAT:
            words = Words("malformed / n", "a malformed answer would rise from 0 to 1 at most", "samples", "difference")
            unread = of_samples(lambda: np.where(np.isnan(table.score()), np.nan, table.malformed))
            yield figure(("gain", name), f"{place}.gain", priority.gain, words, unread)
        else:
            yield figure(("gain", name), f"{place}.gain", priority.gain, rises, gain(name))
        how = "only conclusive samples (scored or malformed) are looked at"
        words = Words("samples without such a finding / conclusive samples", how, "samples", "share", _RATE, "lower")
        without = of_samples(lambda name=name: np.where(table.conclusive, ~_has(rows, name), np.nan))  # type: ignore[misc]
        yield figure(("findings", name, "without"), f"{place}.average", priority.average, words, without)


def _has(rows: RunRows, *codes: str) -> Array:
    """The conclusive samples with a finding of one of the codes; FORMAT is what could not be read."""
    table, found = rows.table, np.zeros(rows.table.n, dtype=bool)
    for code in codes:
        if code == FORMAT:
            found |= table.malformed
        elif code in table.codes:
            found[table.finding_sample[table.finding_code == table.codes.index(code)]] = True
    return found


def _findings(report: Report, rows: RunRows) -> Iterator[Figure]:
    """Failing samples, confusions and sections."""
    table, summary = rows.table, report.summary
    failing = table.passed() == 0
    if summary.failing is not None:
        words = Words("samples that did not pass", "samples of which nobody can tell whether they pass are left out")
        n = summary.failing.n_failing
        yield Figure(("failing", "samples"), "failing.n_failing", n, words, rows.marked(failing))
        how = "of critical and major codes of components that weigh nothing; samples that passed are left out"
        words = Words("samples that did not pass and have such a finding", how)
        codes = summary.failing.codes
        for names, place, n, mine in (
            (("failing", "grave"), "failing.n_with", summary.failing.n_with, tuple(codes)),
            *((("failing", code, "samples"), f"failing.codes.{code}", n, (code,)) for code, n in codes.items()),
        ):
            yield Figure(names, place, n, words, rows.marked(failing & _has(rows, *mine)))
    left_out = "findings of inconclusive samples are left out"
    for number, each in enumerate(summary.confusions):
        formula = f"findings of {each.code} that expected {each.expected} and got {each.got}"
        words = Words(formula, f"of something with a role, the role is compared; {left_out}", of="findings")
        names, place = ("confusion", str(number + 1)), f"confusions[{number}]"
        wanted = _confused(each.code, each.expected, each.got)
        yield from _found(names, place, (each.count, each.samples), words, rows, wanted)
    for number, section in enumerate(summary.sections):
        words = Words("findings that begin in that region", left_out, of="findings")
        names, place = ("section", section.section), f"sections[{number}]"
        yield from _found(names, place, (section.count, section.samples), words, rows, _in(section.section))
        for code, n in section.codes.items():
            found = _findings_where(rows, _in(section.section, code))
            yield Figure((*names, code), f"{place}.codes.{code}", n, words, found)


def _findings_where(rows: RunRows, wanted: Callable[[Any], bool], *, once: bool = False) -> Callable[[], Rows]:
    main = rows.suite.judge and rows.suite.judge.mode

    def things(sample: Sample, _: str) -> Iterator[Thing]:
        aside = sample.outcome.value == "scored" and main is not None and sample.mode != main
        if not sample.outcome.conclusive or aside:
            return
        found = [each for each in sample.findings if wanted(each)]
        for each in found[:1] if once else found:
            yield 1.0, f"{each.code} at {each.place or '-'}"

    return rows.things(things)


def _found(
    names: tuple[str, ...],
    place: str,
    reported: tuple[int, int],
    words: Words,
    rows: RunRows,
    wanted: Callable[[Any], bool],
) -> Iterator[Figure]:
    """How many findings, and in how many samples."""
    yield Figure(names, f"{place}.count", reported[0], words, _findings_where(rows, wanted))
    once = replace(words, formula=f"samples with at least one of the {words.formula}")
    found = _findings_where(rows, wanted, once=True)
    yield Figure((*names, "samples"), f"{place}.samples", reported[1], once, found)


def _confused(code: str, expected: str, got: str) -> Callable[[Any], bool]:
    def wanted(finding: Any) -> bool:
        if finding.code != code or finding.expected is None or finding.got is None:
            return False
        same = (confusion_label(finding.expected), confusion_label(finding.got)) == (expected, got)
        return same and is_confusion(finding.expected, finding.got)

    return wanted


def _in(section: str, code: str = "") -> Callable[[Any], bool]:
    return lambda finding: finding.section == section and code in ("", finding.code)


def _patterns(report: Report, rows: RunRows) -> Iterator[Figure]:
    data, n = rows.data, report.summary.extra.get("n_patterns")
    if n is None:
        return
    all_of = pattern_samples(data.table, data.groups, rows.suite)
    for number, (pattern, (seen, wrong)) in enumerate(zip(report.summary.patterns, all_of, strict=False)):
        names, place = ("pattern", str(number + 1)), f"patterns[{number}]"
        words = Words("samples of which the sentence is true", pattern.sentence)

        def found(seen: Array = seen, wrong: Array = wrong) -> Rows:
            return rows.samples(wrong, seen)

        def once(seen: Array = seen, wrong: Array = wrong) -> Rows:
            mine = seen[wrong[seen]]
            first = np.sort(np.unique(data.table.case[mine], return_index=True)[1])
            return rows.samples(np.ones(data.table.n), mine[first])

        yield Figure(names, f"{place}.count", pattern.count, words, found)
        words = replace(words, formula="cases with at least one such sample", of="cases")
        yield Figure((*names, "cases"), f"{place}.n_cases", pattern.n_cases, words, once)
        words = replace(words, formula="samples in which it could be seen", of="samples")
        yield Figure((*names, "n"), f"{place}.n", pattern.n, words, _ones(rows, seen))
    words = Words(
        "what is wrong in samples of at least two different cases",
        "every component below its mark and every other code is looked for in each category and tag, and not passing"
        " in each difficulty, variant and tag; a tag that every sample has is no part",
        of="patterns",
    )

    def samples(row: int) -> str:
        seen, wrong = all_of[row]
        return f"{int(wrong[seen].sum())} samples"

    def key(row: int) -> Key:
        return f"pattern {row + 1}", "", None

    some = Contributions(np.ones(len(all_of)), detail=samples)
    yield Figure(("patterns",), "extra.n_patterns", n, words, lambda: (some, key))


def _ones(rows: RunRows, samples: Array) -> Callable[[], Rows]:
    return lambda: rows.samples(np.ones(rows.table.n), samples)


def _modes(report: Report, rows: RunRows) -> Iterator[Figure]:
    how = "each kind of judge on its own: scores of two kinds are never in one mean"
    excluded: Reasons = (("no score by that kind of judge", None),)

    def of(mode: str, component: str | None = None) -> Callable[[], Rows]:
        return lambda: rows.samples(rows.table.read_in(mode, component), excluded=excluded)

    for mode, figures in report.summary.modes.items():
        names, place, absent = ("mode", mode), f"modes.{mode}", rows.data.absent
        words = Words("sum of scores / n", how, "samples", "score", _MEAN, "lower")
        where = f"{place}.average"
        yield Figure((*names, "average"), where, figures.average, words, of(mode), Aggregate.MEAN, absent=absent)
        count = Words("samples that were scored in that mode", how)
        scored = rows.marked(~np.isnan(rows.table.read_in(mode)))
        yield Figure((*names, "n"), f"{place}.n", figures.n, count, scored)
        words = replace(words, formula="sum of the dimension's scores / n", unit="points")
        for name, average in figures.dimensions.items():
            full, where = (*names, "dimension", name), f"{place}.dimensions.{name}"
            yield Figure(full, where, average, words, of(mode, name), Aggregate.MEAN, absent=absent)


def _judge(report: Report, rows: RunRows) -> Iterator[Figure]:
    """Everything that a report says of its judge."""
    rubric, found = described_rubric(rows.suite), report.summary.judge
    if rubric is None or found is None:
        return
    counts = Words("votes", _ASKED, of="votes")
    n_texts = replace(counts, formula="texts", of="texts")
    yield Figure(("judge", "texts"), "judge.n_texts", found.n_texts, n_texts, _texts(rows, lambda _: 1.0))
    yield Figure(("judge", "ballots"), "judge.n_ballots", found.n_ballots, counts, _votes(rows, lambda _: 1.0))
    for field, name, of in (
        ("modes", "mode", lambda vote, value: float(vote.mode == value)),
        ("rungs", "rung", lambda vote, value: float(vote.rung == value)),
        ("remarks", "remark", _own_remark(rubric.mode)),
    ):
        for value, n in getattr(found, field).items():
            mine = _votes(rows, lambda vote, of=of, value=value: of(vote, value))
            words = replace(counts, formula=f"votes with that {name}")
            yield Figure(("judge", name, value), f"judge.{field}.{value}", n, words, mine)
    yield from _vote_shares(found, rubric, rows)
    for number, (said, n) in enumerate(found.why_failed.items()):
        words = Words("texts that came to no reading for that reason", "in the order of the report", of="texts")
        names = ("judge", "why_failed", str(number + 1))
        yield Figure(names, f"judge.why_failed.{said}", n, words, _silent(rows, said))
    yield from _dimensions(found, rubric, rows)
    for name, n in asdict(report.spending).items() if report.spending is not None else ():
        words = Words("sum over the calls of the judge", "calls that did not tell it add nothing", "calls", "number")
        yield Figure(("judge", "spending", name), f"judge.spending.{name}", n, words, rows.things(_spent(name)))


def _votes(rows: RunRows, value: Callable[..., float | None], excluded: str = "") -> Callable[[], Rows]:
    def things(sample: Sample, _: str) -> Iterator[Thing]:
        for vote in () if sample.judgement is None else votes_of(sample.judgement):
            why = f", {vote.told}" if vote.told else ""
            yield value(vote), f"{vote.member or 'no vote'}: {vote.rung}{why}"

    return rows.things(things, excluded)


def _texts(rows: RunRows, value: Callable[[Judgement], float | None], excluded: str = "") -> Callable[[], Rows]:
    def things(sample: Sample, _: str) -> Iterator[Thing]:
        if sample.judgement is not None:
            yield value(sample.judgement), sample.judgement.told

    return rows.things(things, excluded)


def _vote_shares(found: JudgeFigures, rubric: DescribedRubric, rows: RunRows) -> Iterator[Figure]:
    for name, share in VOTE_SHARES.items():
        if not share.code or share.code in rubric.checked:
            words = Words(share.formula, _ASKED, "votes", "share", _RATE)
            mine = _votes(rows, lambda vote, share=share: share.value(vote, rubric), share.excluded)
            yield Figure(("judge", name), f"judge.{name}", getattr(found, name), words, mine, Aggregate.MEAN)
    words = Words("texts whose readings lie far apart / texts with several", _ASKED, "texts", "share", _RATE)
    mine = _texts(rows, lambda each: disagreed(each, rubric), "fewer than two readings of the run's own mode")
    yield Figure(("judge", "disagreement"), "judge.disagreement", found.disagreement, words, mine, Aggregate.MEAN)


def _dimensions(found: JudgeFigures, rubric: DescribedRubric, rows: RunRows) -> Iterator[Figure]:
    columns: tuple[tuple[str, str, Callable[[float, float], float], str], ...] = (
        ("bound", "texts whose score was capped / n", lambda raw, after: float(raw != after), "share"),
        ("raw_mean", "sum of scores as the judge gave them / n", lambda raw, _: raw, "points"),
        ("bound_mean", "sum of scores after rules and checks / n", lambda _, after: after, "points"),
        (
            "top_share",
            "texts with the highest score of the scale, as the judge gave it / n",
            lambda raw, _: float(raw == rubric.high),
            "share",
        ),
    )
    for dimension, figure in found.dimensions.items():
        for name, formula, value, unit in columns:

            def scored(each: Judgement, dimension: str = dimension, value: Any = value) -> float | None:
                scores = dimension_scores(each, dimension, rubric)
                return None if scores is None else float(value(*scores))

            words = Words(formula, _ASKED, "texts", unit, _RATE if unit == "share" else _MEAN)
            names, place = ("judge", "dimension", dimension, name), f"judge.dimensions.{dimension}.{name}"
            mine = _texts(rows, scored, "no score of the run's own mode")
            yield Figure(names, place, getattr(figure, name), words, mine, Aggregate.MEAN)


def _spent(name: str) -> Callable[[Sample, str], Iterator[Thing]]:
    def things(sample: Sample, _: str) -> Iterator[Thing]:
        for call in sample.judgement.calls if sample.judgement is not None else ():
            one = Spending()
            one.add(call.attempt)
            yield float(getattr(one, name)), f"{call.member}, turn {call.turn + 1}"

    return things


def _own_remark(mode: str) -> Callable[[Any, str], float | None]:
    return lambda vote, code: float(any(remark.code == code for remark in vote.remarks)) if vote.mode == mode else None


def _silent(rows: RunRows, said: str) -> Callable[[], Rows]:
    """Texts without a reading for one reason: the first wording of a reason stands for all of it."""
    first: dict[str, str] = {}

    def things(sample: Sample, _: str) -> Iterator[Thing]:
        if sample.judgement is not None and sample.judgement.mode is None:
            key, words = reason_of(sample.judgement)
            if first.setdefault(key, words[:LONGEST]) == said:
                yield 1.0, words

    return rows.things(things)


def _inconclusive(report: Report, rows: RunRows) -> Iterator[Figure]:
    words = Words("samples that are inconclusive for that reason", "in the order of the report")
    silent = report.summary.judge.why_failed if report.summary.judge is not None else {}
    failures = report.summary.failures
    n_broken = report.summary.overall.outcomes.get(Outcome.JUDGE_FAILED, 0) - sum(silent.values())
    for number, (why, n) in enumerate(report.why_inconclusive.items()):
        kind = next((kind for kind in failures if f"{why} ".startswith(f"target: {kind} ")), "")
        alike = None if n == failures.get(kind, n_broken) else why.removeprefix("target: ")
        found = _silent(rows, why) if why in silent else _failed(rows, kind, alike) if kind else _broken(rows, alike)
        yield Figure(("inconclusive", str(number + 1)), f"why_inconclusive.{why}", n, words, found)


def _failed(rows: RunRows, kind: str, reason: str | None) -> Callable[[], Rows]:
    """Samples whose call failed in one way, or for one reason."""

    def same(wrong: str, divider: str) -> str:
        failed, _, message = wrong.partition(divider)
        return failure_reason(failed, message)[0]

    def things(sample: Sample, wrong: str) -> Iterator[Thing]:
        failure = sample.attempt.failure
        if failure is not None and failure.kind == kind and (reason is None or same(wrong, ": ") == same(reason, " ")):
            yield 1.0, wrong

    return rows.things(things)


def _broken(rows: RunRows, reason: str | None) -> Callable[[], Rows]:
    """Samples on which a scorer broke, for any or for one reason."""

    def things(sample: Sample, wrong: str) -> Iterator[Thing]:
        kind, _, message = wrong.partition(": ")
        broke = sample.outcome is Outcome.JUDGE_FAILED and kind == BROKEN_SCALE
        if broke and (reason is None or failure_reason("", message)[0] == failure_reason("", reason)[0]):
            yield 1.0, wrong

    return rows.things(things)


def _listed(report: Report) -> Iterator[Figure]:
    """The score and the time of every sample that the report lists."""
    lists = (
        ("samples", [detail.line for detail in report.details]),
        ("worst", report.worst),
        ("slowest", report.slowest),
    )
    score = Words(
        "sum of weight x share of the scale / sum of weights",
        "one sample, as it was scored; a malformed answer has no components",
        unit="score",
        interval="none: it is one sample",
    )
    time = Words("seconds of the call, as recorded", "one sample", unit="s", interval="none: it is one call")
    for where, lines in lists:
        for number, line in enumerate(lines):
            names = (*case_names(line.case_id, line.variant), "repeat", str(line.repeat + 1))
            for name, value, words in (("score", line.score, score), ("latency", line.latency, time)):
                if value is not None:
                    one = Contributions(np.array([value]), detail=lambda _, line=line: line.why)  # type: ignore[misc]
                    key: Key = (line.case_id, line.variant, line.repeat)
                    rows = lambda one=one, key=key: (one, lambda _: key)  # noqa: E731
                    yield Figure((*names, name), f"{where}[{number}].{name}", value, words, rows)
