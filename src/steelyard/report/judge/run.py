"""What a judge said and did in a run: who it is, in which mode it read, its scores, flags and faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.analysis.model import Rebuttal
from steelyard.failures import BROKE_OFF
from steelyard.metrics.expressions import FEWEST_LABELS
from steelyard.metrics.figures import Slice
from steelyard.metrics.registry import CORRECTED, MEASURE
from steelyard.records import Mode, RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import Facts, Section, Table, section, table_section
from steelyard.report.figures import base, estimate, figures_table, interval, sums, value
from steelyard.report.format import OF_A_RUN
from steelyard.report.model import JudgementDetail, Marked, Report, VoteDetail
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Spending
from steelyard.store.figures import Kind
from steelyard.store.selection import Selection
from steelyard.suite.judge import REBUTTED, UNANSWERED, Member

_FIX_CUT_OFF = "give the judge more max_tokens, then steelyard rescore --judge-again"
_FIX_EXCLUDED = "set ask_again, or use a judge that keeps to the response schema, then steelyard rescore --judge-again"

_FEWEST = 10
"""Fewer texts than this show no habit."""
_MUCH_BROKEN, _MUCH_MADE_UP, _MUCH_DISAGREEMENT = 0.10, 0.05, 0.20
_RATE = "rate"
TOP_SHARE = "judge.top_share.<dimension>"
_SHOWN_ALWAYS = ("RULE_BROKEN", "MADE_UP_QUOTE", "CONTRADICTION", "SELF_CONTRADICTION", "CUT_OFF")


def sections(report: Report) -> list[Section]:
    """Who judged and how its answers were read, every dimension in points, and the flags."""
    return [
        *section("Judge", Facts(judge(report))),
        *table_section(dimensions(report), main=True),
        *table_section(flags(report), main=True),
        *table_section(rebuttals_table(report.summary.judge.rebuttals if report.summary.judge else (), OF_A_RUN)),
    ]


def mode_sentence(report: Report) -> str:
    """The mode of the figures and what is excluded: `38 judged by model, 2 by basic excluded`; "" without a judge."""
    judge = report.header.description.judge
    main = judge and judge.mode
    if main is None:
        return ""
    modes = report.summary.overall.counts("mode.<mode>.n")
    others = [f"{n:,} {name} excluded, in no figure" for name, n in modes.items() if name != main]
    how = "in basic mode: only the judge's scores could be read" if main == Mode.BASIC else f"by {main}"
    return ", ".join([f"{fmt.counted(modes.get(str(main), 0), 'sample')} judged {how}", *others])


def excluded_sentence(report: Report) -> str:
    """Why samples are excluded, or all are basic, by cause with counts, and what to do; "" when none is."""
    why = report.summary.judge.why_excluded if report.summary.judge is not None else {}
    if not why:
        return ""
    from steelyard.analysis.judge.reasons import ONLY_SCORES

    start = f"{ONLY_SCORES}: "
    same = start if all(item.startswith(start) for item in why) else ""
    causes = same + fmt.causes({item.removeprefix(same): n for item, n in why.items()})
    if (judge := report.header.description.judge) and judge.mode is Mode.BASIC:
        return f"basic: {causes}"
    if Mode.BASIC not in report.summary.overall.counts("mode.<mode>.n"):
        return f"excluded: {causes}; judge all of them alike"
    cut_off = [BROKE_OFF in item for item in why]
    fixes = [_FIX_CUT_OFF] * any(cut_off) + [_FIX_EXCLUDED] * (not all(cut_off))
    return f"excluded: {causes}; {'; '.join(fixes)}"


def judge_warnings(report: Report) -> list[str]:
    """What a reader must know of the judge before trusting a figure; no verdict stands on it."""
    judge = report.summary.judge
    if judge is None:
        return []
    from steelyard.analysis.judge.constant_scores import hardly_distinguishes
    from steelyard.analysis.judge.model import is_inflated

    top, figures = judge_scale(report.header)[1], report.summary.overall
    results = [
        _warning(
            figures["judge.self_contradictions"],
            0.0,
            "votes give scores that do not fit the errors they list themselves",
        ),
        _warning(figures["judge.broken_rules"], _MUCH_BROKEN, "votes broke a rule of the suite"),
        _warning(figures["judge.made_up_quotes"], _MUCH_MADE_UP, "votes quote what is not in the text"),
        _warning(figures["judge.disagreement"], _MUCH_DISAGREEMENT, "texts have votes that are far apart"),
        _warning(
            figures["judge.shortened"], 0.0, "texts were too long to be shown whole: the judge saw beginning and end"
        ),
        *_answers_given(report),
    ]
    described = report.header.description.judge
    expected = () if described is None else described.constant
    enough = {name: share for name, share in figures.each(TOP_SHARE).items() if share.n >= _FEWEST}
    constant = [name for name in enough if figures[f"judge.spread.{name}"].value == 0]
    enough = {name: share for name, share in enough.items() if name not in expected or name not in constant}
    same = [name for name in enough if name in constant]
    inflated = [
        f"{name} {fmt.band_count(share)}"
        for name, share in enough.items()
        if name not in same and is_inflated(share, figures[f"judge.top_beyond.{name}"], judge.mode)
    ]
    if inflated:
        due = "than are due by the labels, or without labels than 1 in 10,"
        results.append(f"{top:g} of {top:g} for more texts {due} is inflation: {', '.join(inflated)}")
    scale = judge_scale(report.header)
    nearly = {name: judge.usual[name] for name in enough if hardly_distinguishes(judge.usual.get(name), scale)}
    if nearly:
        given = [f"{name} {item.score:g} in {item.n:,} of {item.n_texts:,}" for name, item in nearly.items()]
        results.append(f"the same score for nearly every text separates few of them: {', '.join(given)}")
    if same:
        results.append(f"the same score for every text separates none of them: {', '.join(same)}")
    results.append(_unchecked(report))
    return [f"{item}; see steelyard judge check" for item in results if item]


def _answers_given(report: Report) -> Iterator[str]:
    """How many findings of scorers the judge rebutted, and how many it did not answer although it had to."""
    described = report.header.description.judge
    if described is None or described.must_answer is None or described.mode is Mode.RULES:
        return
    ratios = report.summary.overall.each(MEASURE, described.must_answer.place)
    for name, begin, end in (
        (UNANSWERED, "the judge left", "findings of scorers unanswered that it had to confirm or rebut"),
        (REBUTTED, "the judge rebutted", "findings of scorers"),
    ):
        if (ratio := ratios.get(name)) is not None and ratio.numerator:
            yield f"{begin} {ratio.sums} {end}"


def _unchecked(report: Report) -> str:
    """What must be said of a judge that too few labels are compared with; "" for one that is checked.

    That its labels are not of a random sample is disclosed with the verdict.
    """
    from steelyard.analysis.judge.labels import labelled_otherwise

    overall = report.summary.overall
    others, n = labelled_otherwise(overall.count("labels.otherwise")), overall.count("labels.texts")
    if report.summary.judge_is_checked:
        return others
    if report.summary.labels_are_chosen:
        return ""
    few = f"labels of {n} texts are too few (at least {FEWEST_LABELS}) to say" if n else "no labels show"
    why = f" ({others})" if others else ""
    return f"the judge is unchecked: {few} how often it errs{why}, and no interval allows for that"


def corrected_rate(report: Report) -> str:
    """The pass rate that the labels tell, with its method: `55.1 % [45.0, 65.0] n 500 (prediction-powered)`; or ""."""
    check, rate = report.summary.judge_check, report.summary.overall[CORRECTED]
    return "" if check is None or rate.value is None else f"{fmt.with_base(rate)} ({check.method})"


def _warning(share: Estimate, limit: float, words: str) -> str:
    return f"{fmt.band_count(share)} {words}" if (share.value or 0.0) > limit else ""


def judged_by(header: RunHeader) -> str:
    """Who judged: `m-1 at http://localhost/v1`, or `rules (code: my.module:judge)`, with repeats and how they count."""
    judge = header.description.judge
    if judge is None or not judge.members:
        return "an unknown judge"
    text = ", ".join(map(_member, judge.members))
    if judge.repeats > 1:
        text += f"; each text {judge.repeats} times"
    if len(judge.members) > 1 or judge.repeats > 1:
        text += f", combined by {judge.combine}"
    return text


def _member(member: Member) -> str:
    if member.kind == "python":
        return f"{member.name} (code: {member.function})"
    model = member.model or ""
    text = model if member.name in ("", model) else f"{member.name} (model {model})"
    return f"{text} at {member.address}" if member.address else text


def judge_scale(header: RunHeader) -> tuple[float, float]:
    """Lowest and highest score of the rubric."""
    judge = header.description.judge
    return judge.rubric.scale if judge else (1, 5)


def failing_flags(header: RunHeader) -> list[str]:
    """The flags that fail a text which carries them."""
    judge = header.description.judge
    return [flag.name for flag in judge.rubric.flags if flag.fails] if judge else []


def judge_name(header: RunHeader) -> str:
    """Who judged in one or two words: `rules`, `model qwen2.5`; "" without a judge."""
    judge = header.description.judge
    if judge is None:
        return ""
    names = [member.name or member.model or "" for member in judge.members]
    return " ".join(dict.fromkeys([str(judge.mode), ", ".join(names)])).strip()


def judged_names(header: RunHeader) -> set[str]:
    """Dimensions, flags and further figures: what a judge says, beside what scorers compute."""
    suite = header.description
    further = {component.name for component in suite.components if component.kind == "stated"}
    return further | set(suite.judge.rubric.names if suite.judge else ())


def mark_words(mark: Marked) -> str:
    """`tone: 5 -> 4 (when not structure.complete then tone <= 4)`, `tone: 4`, `harm: no -> yes (...)`."""
    raw, bound = stated(mark.uncapped), stated(mark.capped)
    label = f"; label {mark.label}" if mark.label else ""
    if raw == bound:
        return f"{mark.name}: {bound}{label}"
    why = f" ({mark.capped_by})" if mark.capped_by else ""
    return f"{mark.name}: {raw} -> {bound}{why}{label}"


def stated(value: float | bool | None) -> str:
    """A score or a flag as it is said: `4`, `yes`."""
    if value is None:
        return fmt.NOT_AVAILABLE
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:g}"


def judged_lines(judged: JudgementDetail) -> Iterator[str]:
    """What all votes come to, line by line."""
    yield f"mode: {judged.mode or 'inconclusive'}" + (
        f" (excluded: {judged.exclusion_reason})" if judged.excluded else ""
    )
    if judged.shortened:
        yield "the judge saw only the beginning and the end of this text"
    if judged.message:
        yield judged.message
    yield from (mark_words(mark) for mark in judged.marks)
    yield from judged.remarks


def vote_name(vote_detail: VoteDetail) -> str:
    """The member, with the number of its reading when that is not the first: `m-1 #2`."""
    return f"{vote_detail.member} #{vote_detail.repeat + 1}" if vote_detail.repeat else vote_detail.member


def vote_lines(vote_detail: VoteDetail) -> Iterator[str]:
    """One vote, line by line: how it was read, its marks, what else it said, and what is wrong with it."""
    yield f"read: {vote_detail.step.replace('_', ' ')}; mode: {vote_detail.mode or 'inconclusive'}"
    if vote_detail.message:
        yield vote_detail.message
    yield from (mark_words(mark) for mark in vote_detail.marks)
    for name, text in vote_detail.stated:
        yield f"{name}: {text}" if "\n" not in text else f"{name}:\n{text}"
    yield from vote_detail.remarks


def total_score(report: Report) -> str:
    """The average as a sum of the dimensions' points: `19.2 of 25 [18.1, 20.2] n 50`.

    "" where the score is no such sum: there are fewer than two, they do not count the same, one is not judged in every
    case, or something else counts too.
    """
    suite, average = report.header.description, report.summary.overall["average"]
    counting = [item for item in suite.judge.rubric.dimensions if item.weight > 0] if suite.judge is not None else []
    others = {item.name for item in suite.components if item.weight > 0} - {item.name for item in counting}
    equal = len({item.weight for item in counting}) == 1 and not any(item.needs for item in counting)
    if len(counting) < 2 or not equal or others or average.value is None:
        return ""
    (low, high), n = judge_scale(report.header), len(counting)
    value, *ends = (
        None if share is None else f"{n * (low + share * (high - low)):.1f}"
        for share in (average.value, average.low, average.high)
    )
    interval = f" [{', '.join(map(str, ends))}]" if None not in ends else ""
    return f"{value} of {n * high:g}{interval} {fmt.base(average.n, average.n_missing)}"


def dimensions(report: Report) -> Table:
    """Every dimension in points: the mean that counts, the mean as the judge said, and how often they differ."""
    low, high = judge_scale(report.header)
    of_dimension = "judge.dimension.<dimension>"
    return figures_table(
        f"Dimensions (scores {low:g} to {high:g})",
        report.header.description,
        report.summary.overall,
        f"{of_dimension}.capped_mean",
        ("Weight", lambda row: weight_of(report.header, row.label)),
        *(value("Mean"), interval(), value("Uncapped", f"{of_dimension}.uncapped_mean")),
        *(value("Capped", f"{of_dimension}.capped"), base()),
        head="Dimension",
        selection=lambda row: Selection(component=row.label),
        note="mean: after rules and checks, in points; uncapped: before; capped: share of texts that they changed",
        signature=OF_A_RUN,
    )


def flags(report: Report) -> Table:
    """How many texts carry each flag after the rules."""
    judge, overall = report.header.description.judge, report.summary.overall
    rates = {flag.name: Kind(MEASURE, (flag.name, _RATE)) for flag in judge.rubric.flags} if judge else {}
    return figures_table(
        "Flags",
        report.header.description,
        overall,
        {name: rate for name, rate in rates.items() if overall.name_of(rate.pattern, *rate.names) in overall},
        sums("Flagged"),
        *estimate("Share"),
        head="Flag",
        selection=lambda row: Selection(code=row.label.upper()),
        signature=OF_A_RUN,
    )


def rebuttals_table(rebuttals: Sequence[Rebuttal], signature: str) -> Table:
    """Every finding of a scorer that the judge rebutted, with what it was found in and what the judge answered."""
    return doc.table(
        "Scorers and judge disagree",
        rebuttals,
        ("Case", lambda row: row.case_id),
        (doc.words("Finding"), lambda row: row.finding),
        (doc.words("Found in"), lambda row: row.words),
        (doc.words("Judge"), lambda row: row.reason),
        note="findings that the judge was shown and rebutted: they are no findings of the run",
        signature=signature,
    )


def _findings_answered(report: Report) -> Iterator[tuple[str, str]]:
    """How many findings of scorers the judge rebutted, and left unanswered."""
    described = report.header.description.judge
    if described is None or described.must_answer is None or described.mode is Mode.RULES:
        return
    ratios = report.summary.overall.each(MEASURE, described.must_answer.place)
    for name, label in ((REBUTTED, "Findings rebutted"), (UNANSWERED, "Findings unanswered")):
        ratio = ratios.get(name)
        none = "n/a: scorers gave the judge no finding to answer"
        counted = ratio.sums if ratio and ratio.denominator else ""
        yield label, f"{counted} ({_shares(ratio, 'text')})" if ratio and counted else none


def judge(report: Report) -> list[tuple[str, str]]:
    """Who judged, in which mode, how the answers were read, what was wrong with them, and what it took."""
    result, figures = report.summary.judge, report.summary.overall
    if result is None:
        return []
    rows = [
        ("Judged by", judged_by(report.header)),
        ("Mode", mode_sentence(report)),
        ("Read", _steps(figures)),
        ("Broken rules", _share(figures, "judge.broken_rules", "no rule binds the judge")),
        ("Made-up quotes", _share(figures, "judge.made_up_quotes", "no quotes are asked for")),
        ("Not usable", _share(figures, "judge.failed")),
    ]
    if (check := report.summary.judge_check) is not None:
        corrected = corrected_rate(report)
        why = f"{corrected}: {check.why}" if corrected else f"n/a: {check.message}"
        rows.insert(2, ("By labels", why))
    if figures["judge.contradictions"].n:
        rows.insert(-1, ("Contradicted by the answer", _share(figures, "judge.contradictions")))
    if figures["judge.self_contradictions"].value:
        rows.insert(-1, ("Contradicts itself", _share(figures, "judge.self_contradictions")))
    rows[-1:-1] = _findings_answered(report)
    if figures["judge.shortened"].value:
        part = _share(figures, "judge.shortened", of="text")
        rows.append(("Shown in part", f"{part}: beginning and end of a long text"))
    if figures["judge.cut_off"].value:
        rows.append(("Cut off at the limit", _share(figures, "judge.cut_off")))
    if figures["judge.unanswered"].value:
        rows.append(("Unanswered", _share(figures, "judge.unanswered")))
    remarks = figures.counts("judge.remark.<remark>")
    others = [f"{code} {count:,}" for code, count in remarks.items() if code not in _SHOWN_ALWAYS]
    if others:
        of = fmt.counted(figures.count(f"judge.mode.{result.mode}"), "vote")
        rows.append(("Other remarks", f"{', '.join(others)} of {of} in mode {result.mode}"))
    if report.spending is not None and report.spending.calls:
        rows.append(("Judging took", spending_words(report.spending)))
    rows += [("Drift measured on", anchors.message) for anchors in report.header.options.anchors.values()]
    return rows


def spending_words(spent: Spending) -> str:
    """What calling a judge took; each sum with how many calls it stands on."""
    calls = fmt.counted(spent.calls, "call")
    calls += f", {fmt.counted(spent.tries, 'try', 'tries')}" if spent.tries > spent.calls else ""
    more = [f"{spent.failed:,} failed"] if spent.failed else []
    more += [f"{spent.cached:,} from the cache"] if spent.cached else []
    parts = [f"{calls} ({', '.join(more)})" if more else calls]
    if spent.n_tokens:
        message = f"n {spent.n_tokens:,}"
        parts.append(f"{spent.tokens_in:,} tokens in, {spent.tokens_out:,} out ({message})")
    parts.append(f"cost {fmt.money(spent.cost)} (n {spent.n_cost:,})" if spent.n_cost else "price unknown")
    answered = spent.calls - spent.failed
    if answered:
        parts.append(f"{fmt.seconds(spent.latency / answered)} a call (n {answered:,})")
    return "; ".join(parts)


def _steps(figures: Slice) -> str:
    from steelyard.analysis.judge.rubric import FAILED

    unanswered, steps = figures["judge.unanswered"], figures.counts("judge.step.<step>")
    silent = round((unanswered.value or 0.0) * unanswered.n)
    named = [(count, step.replace("_", " ")) for step, count in steps.items() if step != FAILED]
    named += [(steps.get(FAILED, 0) - silent, "not usable"), (silent, "unanswered")]
    message = ", ".join(f"{count:,} {words}" for count, words in named if count > 0)
    return f"{message} (n {fmt.counted(figures.count('judge.votes'), 'vote')})" if message else "no votes"


def _share(figures: Slice, name: str, where_none: str = "", of: str = "vote") -> str:
    """A share of votes; `where_none` says why a run does not have it."""
    return f"n/a: {where_none}" if where_none and name not in figures else _shares(figures[name], of)


def _shares(estimate: Estimate, of: str) -> str:
    """A share of votes or texts: `5.0 % [1.4, 16.5] n 40 votes, 2 missing`."""
    interval = "" if estimate.low is None else f" {fmt.interval(estimate)}"
    missing = f", {estimate.n_missing:,} missing" if estimate.n_missing else ""
    return f"{fmt.percent(estimate.value)}{interval} n {fmt.counted(estimate.n, of)}{missing}"


def weight_of(header: RunHeader, component: str) -> str:
    """The component's share of the whole weight as a percentage; empty when the suite does not say."""
    weights = {component.name: component.weight for component in header.description.components}
    total = sum(weights.values())
    return fmt.threshold(round(weights[component] / total, 4)) if component in weights and total > 0 else ""
