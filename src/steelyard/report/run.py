"""The report of a run: the verdict with its reasons, what to fix first, and every figure with what it stands on.

A new section is a function of the report that returns blocks, and one line in `document`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from steelyard.analysis.latency import percentiles
from steelyard.analysis.model import SampleLine, Summary
from steelyard.analysis.target import target_label
from steelyard.decide.gates import NARROW
from steelyard.records import Outcome, RunState, Verdict
from steelyard.report import confidence, findings, gates, groups, repeats, wording
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.charts import charts_of
from steelyard.report.charts.base import Chart
from steelyard.report.charts.scores import score_charts
from steelyard.report.document import section, table_section
from steelyard.report.format import clipped
from steelyard.report.judge import run
from steelyard.report.model import Report, header_data, needs_models
from steelyard.report.render.json import encode, encode_object, picked
from steelyard.report.samples import samples
from steelyard.store.headers import is_partial
from steelyard.store.selection import Selection
from steelyard.suite.judge import NOT_CALLED
from steelyard.suite.prices import FILE
from steelyard.wording import DIFFERENCE

FORMAT = "steelyard.report/1"
LINES, LINES_INVALID = 40, 10
"""Lines of the report that fits one screen, and of that of an INVALID run."""
_MOST_INCONCLUSIVE = 5
_MOST_WORTH = 3
_LONGEST_LINE = 130
_LONGEST_WHY = 84
"""Room for a code and both sides of a difference."""
_MORE_OF_A_REASON = 20
_LONGEST_NAME = 40
_SIZES = (6, 5, 4, 3, 2, 1)
_OF_DECISIONS = (
    "format",
    "run",
    "verdict",
    "contested",
    "without_contested",
    "partial",
    "reasons",
    "suspect",
    "disclosures",
    "notes",
    "warnings",
    "gates",
    "by_variant",
)


def document(report: Report) -> doc.Document:
    """Everything: the verdict first, then gates, figures and errors, then the samples."""
    charts = charts_shown(report)
    alone = repeats.says_it_all(report)
    blocks: list[doc.Block] = [
        headline(report, extra=[*_overall(report), *_fix_first(report)]),
        *gates.sections(report),
        *repeats.sections(report, charts),
        *findings.code_sections(report),
        *run.sections(report),
        *(item for table in groups.stated(report) for item in table_section(table)),
        *confidence.sections(report),
        *table_section(groups.bands(report), short=True),
        *([] if alone else table_section(findings.patterns(report), short=True)),
        *table_section(failures(report), short=True),
        *([] if wording.times_have_a_part(report) else table_section(slowest(report), short=True)),
        *([] if alone else table_section(worst(report))),
        *table_section(inconclusive(report)),
        *([] if alone else table_section(groups.components(report))),
        *table_section(groups.own_metrics(report)),
        *table_section(groups.measures(report)),
        *table_section(groups.measures_by_variant(report)),
        *_slices(report),
        *table_section(groups.cases_by_variant(report)),
        *_answers(report),
        samples(report),
    ]
    return doc.Document(report.header.suite_name, blocks, context(report), footer(report))


def brief(report: Report, more: Sequence[doc.Block] = (), next_step: str = "") -> Iterator[doc.Document]:
    """What a person needs at once, in ever shorter forms: the first that fits a screen is to be shown.

    The verdict, gates that fail, the headline figures, what to fix first, the worst cases, and as the last lines the
    verdict once more and the next command. `more` stands before the last lines.
    """
    verdict = f"{wording.verdict_word(report)}: {wording.verdict_meaning(report)}"
    last = [verdict, *(next_step or next_command(report)).split("\n")]
    for size in _SIZES:
        blocks: list[doc.Block] = [headline(report, most=size)]
        if report.decision.verdict is not Verdict.INVALID:
            blocks += [
                *section("Overall", doc.Facts(_headline_figures(report, size))),
                *table_section(groups.variants(report, max(2, 2 * size))),
                *gates.failing(report, size),
                *_fix_first(report, min(size, _MOST_WORTH)),
                *_worst_cases(report, size),
            ]
        yield doc.Document(report.header.suite_name, [*blocks, *more], context(report), last=last)


def decision_document(report: Report, more: Sequence[doc.Block] = ()) -> doc.Document:
    """The verdict with its reasons and every gate, and nothing else."""
    return doc.Document(report.header.suite_name, [headline(report), *gates.sections(report), *more], context(report))


def data(report: Report) -> dict[str, Any]:
    """The whole report as plain data: the fields of decision and summary by their own names."""
    summary = report.summary
    results = {"format": FORMAT, "run": _run_data(report), **encode_object(report.decision), **_figures(summary)}
    results |= {
        "partial": is_partial(report.header),
        "reasons": encode(wording.all_reasons(report)),
        "suspect": encode(report.header.suspect),
        "disclosures": encode(wording.disclosed_texts(report)),
        "notes": encode(wording.notes(report)),
        "warnings": encode(run.judge_warnings(report)),
        "passing": summary.passing or None,
        "scales": encode(_scales(report)),
        "why_inconclusive": encode(summary.why_inconclusive),
        "codes": findings.codes_data(report),
        "charts": encode(charts_of(summary, report.header)),
        "n_shown": len(report.details),
        **picked(report, "worst", "slowest", "n_samples"),
        "samples": encode(report.details),
    }
    for gate in [*results["gates"], *(gate for item in results["by_variant"] for gate in item["criteria"])]:
        gate["unit"] = gate["unit"].removeprefix(DIFFERENCE)
    if report.contested:
        results["contested"] = [{"case_id": case_id, "why": why} for case_id, why in report.contested]
    if report.without_contested is not None:
        results["without_contested"] = encode(report.without_contested)
    if summary.judge is not None:
        results["judge"] |= {"spending": encode(report.spending)}
    elif report.spending is not None:
        results["spending"] = encode(report.spending)
    if summary.confidence is not None:
        results["confidence"] = confidence.confidence_data(summary.confidence, summary.overall)
    if summary.checks is not None:
        results["checks"] = repeats.checks_data(summary.checks)
    if summary.stability is not None:
        results["stability"] = repeats.stability_data(summary.stability, summary.overall)
    return results


def _figures(summary: Summary) -> dict[str, Any]:
    """Every figure by name, of the whole run and of every slice, and the summary's lists."""
    slices = {
        encode(factor): [
            {"name": encode(part.name), "n_planned": part.n_planned, "figures": encode(part)} for part in parts
        ]
        for factor, parts in summary.slices.items()
    }
    return {"figures": encode(summary.overall), "slices": slices, **encode_object(summary)}


def _scales(report: Report) -> dict[str, tuple[float, float]]:
    """The scale of every component: what its points lie on."""
    declared = {item.name: item.scale for item in report.header.description.components}
    return {name: declared.get(name, (0.0, 1.0)) for name in report.summary.overall.each("score.<component>.points")}


def decision_data(report: Report) -> dict[str, Any]:
    """The run, its verdict with the reasons, and every gate and criterion."""
    return {name: value for name, value in data(report).items() if name in _OF_DECISIONS}


def _run_data(report: Report) -> dict[str, Any]:
    header = report.header
    more = picked(header, "suite_path", "ended_at", "n_planned", "rescored_from", "options")
    return header_data(header) | more | {"strict": header.options.strict}


def headline(report: Report, *, most: int | None = None, extra: Sequence[doc.Block] = ()) -> doc.Headline:
    """The verdict, what it means, the pass rate and why; at most so many reasons, and as many warnings and notes."""
    word, title, meaning = wording.verdict_word(report), wording.verdict_title(report), wording.bare_meaning(report)
    is_invalid = report.decision.verdict is Verdict.INVALID
    # Where a screen has room for many, it has room for all of their words.
    short = _LONGEST_LINE * most if most is not None else 10_000
    if most is not None and is_invalid:
        # Where in a suite's own code it broke is the last that a reason says.
        short += _MORE_OF_A_REASON * (most - 1)
    half = None if most is None else most // 2
    # Which gates are narrow is disclosed above the reasons.
    reasons = [text.replace(NARROW, "") for text in wording.reasons(report)]
    gone = report.header.options.broken
    if most == 1 and is_invalid and not gone and (why := wording.commonest_failure(report)):
        # Where one reason has room, it is that the system was gone, or else what failed and how often.
        reasons = [why]

    def bullets(texts: Sequence[str], tone: doc.Tone, shown: int | None = None) -> list[doc.Bullet]:
        return [doc.Bullet(clipped(text, short), tone) for text in texts[:shown] if text]

    suspect = bullets([f"SUSPECT: {text}" for text in report.header.suspect], doc.Tone.WARNING, most)
    first = bullets(reasons, doc.Tone.PLAIN, most) + bullets([repeats.headline(report)], doc.Tone.STRONG)
    # Of a system that was gone, that comes first.
    first = [*first[:1], *suspect, *first[1:]] if gone else [*suspect, *first]
    if most is not None and is_invalid and not gone:
        # Where few have room, the first of both kinds has.
        first = [*suspect[:1], *(item for item in first if item not in suspect), *suspect[1:]]
    # No screen is so short that it omits how the verdict came about.
    disclosed = [
        doc.Bullet(clipped(item.text, max(short, 160)), doc.Tone.WARNING if item.is_warning else doc.Tone.STRONG)
        for item in wording.disclosed(report)
    ]
    last = bullets(run.judge_warnings(report), doc.Tone.WARNING, half)
    last += bullets(wording.notes(report), doc.Tone.STRONG, None if half is None else half + 1)
    if most is not None and is_invalid:
        size = max(most, 2)
        return doc.Headline(
            word, meaning, title, remarks=[*first[:size], *disclosed, *last[: max(0, size - len(first))]]
        )
    return doc.Headline(word, meaning, title, _pass_rate(report), [*first, *disclosed, *last], extra)


def _pass_rate(report: Report) -> doc.HeadlineFigure:
    rate = report.summary.overall["pass_rate"]
    marks = wording.limits_of(report, "pass_rate")
    value = fmt.distinguished(rate.value, "share", *marks)
    detail = wording.pass_rate(report).removeprefix(value)
    gauge = doc.Gauge(rate.value, rate.low, rate.high, max(marks, default=None), fmt.with_base(rate, limits=marks))
    return doc.HeadlineFigure("Pass rate", doc.LinkedText(value, Selection()), detail.strip(), gauge)


def context(report: Report) -> list[str]:
    """Which run it is, of what, and when."""
    target = clipped(target_label(report.header), 80)
    return [f"run {report.header.id}", *filter(None, [target, fmt.when(report.header.created_at)])]


def footer(report: Report) -> list[str]:
    """How intervals were made, what the run was scored with, and by which version."""
    version = [f"Steelyard {report.header.version}"] if report.header.version else []
    method = [report.summary.method] if report.summary.method else []
    return [*method, f"Signature: {wording.signature_line(report.header)}", *version]


def next_command(report: Report) -> str:
    """What to do next: go on, fix a scorer and rescore, get the readings that are missing, or look closer."""
    header = report.header
    if header.state is not RunState.ENDED:
        return f"Next: {wording.resume_command(header)}"
    asks, judge = needs_models(header), header.description.judge
    # A judge that is called has not been, where a scorer failed first: a rescore without calls would end INVALID again.
    uncalled = judge is not None and any(member.kind != "python" for member in judge.members)
    if report.summary.n_scorer_errors > 0 and not asks:
        return f"Next: fix the scorer, then {wording.rescore_command(header, judge_again=uncalled)}"
    never = report.summary.judge.why_failed if report.summary.judge is not None and header.rescored_from else {}
    if uncalled and any(NOT_CALLED in why for why in never):
        return f"Next: {wording.rescore_command(header, judge_again=True)}"
    failed = bool(report.summary.overall.counts("failures.<kind>")) or (asks and report.summary.n_scorer_errors > 0)
    made_here = header.rescored_from is None and header.options.imported is None
    if report.decision.verdict is Verdict.INVALID and failed and made_here:
        again = f"steelyard run {header.suite_path or header.suite_name}"
        return (
            f"Next: fix the target, then {again}"
            if only_raised(report)
            else f"Next: {again} --retry-failed {header.id}"
        )
    return f"Next: steelyard report {header.id} --full"


def only_raised(report: Report) -> bool:
    """Whether the target's own code raised for every sample: fixed, it is another target, whose run is a new one."""
    return report.summary.overall.counts("failures.<kind>") == {"raised": report.n_samples}


def _slices(report: Report) -> Iterator[doc.Section]:
    """The table of each factor; variants and categories with a chart of their scores."""
    charts = score_charts(report.summary.slices, passing=bool(report.summary.passing))
    for factor in report.summary.slices:
        table = groups.slices(report, factor)
        yield from section(table.title, table, *([charts[factor]] if factor in charts else []))


def _answers(report: Report) -> list[doc.Section]:
    """The grid of cases and variants with their answers, folded: it is for pages, which come in parts."""
    table = groups.answers_by_variant(report)
    return section(table.title, doc.Fold("All answers", [replace(table, title="")])) if table.rows else []


def charts_shown(report: Report) -> Sequence[Chart]:
    """The charts of a run that looks at repeats or at times; none for others, whose few figures need no picture."""
    summary = report.summary
    asked = summary.checks is not None or summary.stability is not None or wording.times_have_a_part(report)
    return charts_of(summary, report.header) if asked else ()


def _overall(report: Report) -> list[doc.Section]:
    rows = [*overall(report), ("Outcomes", wording.outcomes_sentence(report))]
    return section("Overall", doc.Facts([(label, doc.LinkedText(text, Selection())) for label, text in rows]))


def overall(report: Report) -> list[tuple[str, str]]:
    """The figures of the whole run besides the pass rate, each with its n, as label and value."""
    summary = report.summary
    rows = [
        ("Average", fmt.with_base(summary.overall["average"], limits=wording.limits_of(report, "average"))),
        ("Median", fmt.with_base(summary.overall["median"])),
    ]
    if points := run.total_score(report):
        rows.insert(1, ("Total score", points))
    rows += [
        (f"Latency {name}", fmt.with_base(summary.overall[f"latency.{name}"], "s"))
        for name in percentiles()
        if f"latency.{name}" in summary.overall and not wording.times_have_a_part(report)
    ]
    if summary.attempts:
        rows.append(("Attempts", summary.attempts))
    totals = (
        ("Tokens in", "tokens.in", "count"),
        ("Tokens out", "tokens.out", "count"),
        ("Cost", "cost.total", "cost"),
    )
    for label, name, unit in totals:
        total = summary.overall[name]
        if total.n:
            rows.append((label, f"{fmt.with_base(total, unit)} (sum)"))
    if report.spending is not None and report.spending.calls and summary.judge is None:
        rows.append(("Embeddings took", run.spending_words(report.spending)))
    spent = report.spending
    if spent is not None and spent.n_cost:
        rows.append(("Cost of judging", f"{fmt.money(spent.cost)} n {fmt.counted(spent.n_cost, 'call')} (sum)"))
    without = [model for model, price in report.header.options.prices.items() if price is None]
    # A server may say that another model answered, which has a price.
    judged = spent is not None and spent.n_cost < spent.calls - spent.failed
    if without and (judged or summary.overall["cost.total"].n_missing):
        rows.append(("No price for", f"{', '.join(without)}: its calls have no cost; write it into {FILE}"))
    return rows


def _headline_figures(report: Report, most: int) -> list[tuple[str, str]]:
    rows = dict(overall(report)) | dict(repeats.latency(report)[:1])
    shown = ["Average", "Total score", "Latency p95", "Answered calls", "Calls", "Cost", "Cost of judging"]
    attempts = report.summary.attempts
    disclosed = any(attempts in text for text in wording.disclosed_texts(report))
    shown += ["Attempts"] if report.summary.overall.counts("first_failures.<kind>") and not disclosed else []
    # Without any price, nobody asks what it costs; beside others, a missing one makes the sum too low.
    shown += ["No price for"] if any(report.header.options.prices.values()) else []
    own = [
        (str(name), f"{value} {interval} n {n}")
        for name, value, interval, n in groups.own_metrics(report).rows
        if not str(name).startswith("variant.")
    ]
    # Too few answers for a percentile are no news; an average that there is not is.
    figures = [(name, rows[name]) for name in shown if name in rows]
    figures = [(name, text) for name, text in figures if name == "Average" or not text.startswith("n/a")] + own
    flaky = repeats.flaky_in_words(report)
    figures += [("Flaky", flaky)] if flaky else []
    # Where too many failed, the reasons of the verdict name them.
    causes = "" if wording.commonest_failure(report) else wording.causes_in_words(report)
    failed = clipped(causes, _LONGEST_LINE if most > 1 else _LONGEST_NAME)
    outcomes = wording.outcomes_sentence(report)
    return [*figures, ("Outcomes", f"{outcomes}; failed calls: {failed}" if failed else outcomes)]


def _fix_first(report: Report, most: int | None = None) -> list[doc.Section]:
    """What is worth most to fix, with what the average would be; then grave errors that have no weight."""
    if not report.summary.overall["average"].n:
        causes = wording.causes_in_words(report)
        why = f" Find out first why the calls failed: {causes}." if causes else ""
        return section("Fix first", doc.Bullets([doc.Bullet(f"Nothing was scored.{why}")]))
    texts = [(priority.sentence, _to_improve(report, priority.component)) for priority in report.summary.priorities]
    if not texts:
        overall = report.summary.overall
        worth = [found for found in report.summary.codes if findings.gain_of(report, found.code)][:_MOST_WORTH]
        texts = [
            (
                f"{_called(report, found.code)}: average {findings.scores_if_fixed(report, found)} if fixed,"
                f" {fmt.base(overall[f'if_fixed.{found.code}'].n, overall[f'if_fixed.{found.code}'].n_missing)}",
                Selection(code=found.code),
            )
            for found in worth
        ]
    if failing := wording.failing_sentence(report):
        texts = [*texts[:most], (failing, Selection(passed=False))]
    # Where a screen has room for many, it has room for all of their words.
    short = _LONGEST_LINE * most if most is not None else 10_000
    items = [doc.Bullet(doc.LinkedText(clipped(text, short), selection)) for text, selection in texts[:most]]
    return section("Fix first", doc.Bullets(items, numbered=True))


def _to_improve(report: Report, what: str) -> Selection:
    """The samples in which a component is not perfect, or that have a code."""
    tops = {item.name: item.scale[1] for item in report.header.description.components}
    return Selection(component=what, below=tops[what]) if what in tops else Selection(code=what)


def _called(report: Report, code: str) -> str:
    name = findings.code_of(report.header, code).name
    return f"{code} ({name})" if name else code


def _worst_cases(report: Report, most: int) -> list[doc.Section]:
    """The worst cases on one line each, as far as that goes: what was expected and what came are seen whole."""
    table = worst(report)
    longest = (_LONGEST_NAME, *[_LONGEST_NAME // 2] * (len(table.columns) - 2))
    longest = (*longest, _LONGEST_WHY if most > 1 else _LONGEST_LINE // 2)
    rows = [tuple(clipped(str(cell), most) for cell, most in zip(row, longest, strict=True)) for row in table.rows]
    return table_section(doc.Table("Worst", table.columns, rows[:most], total=None, most=most))


def worst(report: Report) -> doc.Table:
    """The cases that scored least, with what went wrong in the worst of their repeats."""
    repeats_of = report.summary.repeats
    bad = (
        "Repeats",
        lambda line: f"{report.bad_repeats.get((line.case_id, line.variant), 1)} of {repeats_of}",
    )
    return doc.table(
        "Worst",
        report.worst,
        _case(report),
        *([bad] if repeats_of > 1 else ()),
        ("Score", lambda line: fmt.percent(line.score)),
        ("Band", lambda line: line.band or ""),
        (doc.words("What went wrong"), lambda line: line.why),
        selection=_sample,
    )


def slowest(report: Report) -> doc.Table:
    """The samples that took longest."""
    return doc.table(
        "Slowest",
        report.slowest,
        _case(report),
        ("Latency", lambda line: fmt.seconds(line.latency)),
        ("Score", lambda line: fmt.percent(line.score)),
        _outcome(report),
        selection=_sample,
    )


def failures(report: Report) -> doc.Table:
    """How often calls of the system under test failed, and with which code and message."""
    return doc.table(
        "Failures by cause",
        report.summary.failure_causes,
        ("Kind", lambda cause: cause.kind),
        ("Code", lambda cause: cause.code),
        (doc.words("Message"), lambda cause: cause.message),
        ("Samples", lambda cause: f"{cause.count:,}"),
        selection=lambda cause: Selection(failure=cause.kind),
        note="inconclusive: these count neither for nor against the system",
    )


def inconclusive(report: Report) -> doc.Table:
    """The first inconclusive samples, each with its reason."""
    lines = [detail.line for detail in report.details if not wording.is_conclusive(detail.line)]
    columns = (_case(report), _outcome(report), (doc.words("Why"), lambda line: line.why))
    total = sum(n for outcome, n in report.summary.overall.outcomes.items() if not Outcome(outcome).conclusive)
    return doc.table("Inconclusive", lines[:_MOST_INCONCLUSIVE], *columns, selection=_sample, total=total)


def _sample(line: SampleLine) -> Selection:
    return Selection(case=line.case_id, variant=line.variant)


def _case(report: Report) -> doc.Written[SampleLine]:
    return "Case", lambda line: wording.sample_name(line, repeats=report.summary.repeats)


def _outcome(report: Report) -> doc.Written[SampleLine]:
    return "Outcome", lambda line: wording.outcome_word(report.header, line.outcome)
