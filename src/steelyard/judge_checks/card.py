"""The report card of a judge: its verdict, the suite's thresholds, and how it does against labels and rubric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from steelyard.analysis.judge.labels import labelled_otherwise
from steelyard.analysis.judge.model import LABELS_ALONE, MOST_LISTED, DimensionHealth, JudgeHealth
from steelyard.analysis.judge.rubric import FAILED
from steelyard.judge_checks.build import JudgeCard
from steelyard.records import Mode, Outcome, Verdict
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import bullets, section, table_section
from steelyard.report.format import OF_A_JUDGE, clipped
from steelyard.report.judge.run import judged_by, rebuttals_table, spending_words
from steelyard.report.model import header_data
from steelyard.report.render.json import encode, picked
from steelyard.report.verdicts import NO_VERDICT
from steelyard.report.wording import signature_line
from steelyard.stats.agreement import ENOUGH_WON, FEWEST_PEOPLE, FEWEST_TEXTS, Confusion
from steelyard.stats.intervals import Estimate

FORMAT = "steelyard.judge/1"
_OF_THRESHOLDS = ("text", "metric", "pattern", "subject", "operator", "threshold", "unit")
_MOST_PAIRS = 10
_MOST_RULES = 20
_ACROSS = "~"
_OF_PEOPLE = ("kappa", "judge_kappa", "alpha")
_READINGS = ("value", "verdict", "reason", "across", "broken")
Cell = Callable[[Callable[[str], Estimate]], str]
"""From the figures of a dimension, whose names have `<dimension>` for it, to what a table says."""
_MESSAGES = {
    "MADE_UP_QUOTE": "a made-up quote",
    "RULE_BROKEN": "a broken rule",
    "UNPROVEN": "an unproven score",
    "TOO_FEW_REASONS": "too few reasons",
    "UNANSWERED_FINDING": "a finding left unanswered",
    "REBUTTED_FINDING": "a finding of a scorer that the judge rebutted",
    "CONTRADICTION": "a contradicted complaint",
    "SELF_CONTRADICTION": "scores against its own lists",
    "CUT_OFF": "an answer that broke off",
    "EXTRA_FIELD": "a field too many",
    "VIOLATION": "an answer that could not be used",
    "DISAGREEMENT": "a disagreement",
    "FAILED": "nothing usable",
    "UNANSWERED": "no answer",
}
_LONGEST_REASON = 240


def document(card: JudgeCard) -> doc.Document:
    """The verdict first, then the thresholds, what is wrong, and all that it stands on."""
    header = card.header
    remarks = [doc.Bullet(reason) for reason in card.invalid]
    remarks += [doc.Bullet(warning, doc.Tone.WARNING) for warning in warnings(card)]
    problems = [*card.leaks, *card.health.complaints, *card.origins]
    complaints = bullets(problems) if problems else doc.Text("No problems.")
    wrong = doc.Section("What is wrong", [complaints])
    blocks: list[doc.Block] = [
        doc.Headline(verdict_word(card), headline(card), remarks=remarks, extra=[wrong]),
        *table_section(thresholds(card), main=True),
        *(section("Pass rate", doc.Facts(corrected(card)), main=True) if has_readings(card) else ()),
        *(item for table in all_tables(card) for item in table_section(table)),
        *section("Labels down, judge across", doc.SmallTables(confusions(card), _CONFUSIONS)),
        *section("For example", bullets(examples(card))),
        *section("Based on", doc.Facts(standing(card))),
    ]
    context = ["judge check", f"run {header.id}", *filter(None, [fmt.when(header.created_at)])]
    footer = [f"Signature: {signature_line(header)}", *([f"Steelyard {header.version}"] if header.version else [])]
    return doc.Document(f"Judge of {header.suite_name}", blocks, context, footer)


def data(card: JudgeCard) -> dict[str, Any]:
    """The whole card as plain data."""
    judge = card.header.description.judge
    asked = [picked(threshold, *_OF_THRESHOLDS) | picked(result, *_READINGS) for threshold, result in card.checks]
    return {
        "format": FORMAT,
        "run": header_data(card.header),
        "judge": None if judge is None else judge.data(),
        "verdict": encode(card.verdict),
        "headline": encode(headline(card)),
        "warnings": encode(warnings(card)),
        "labels": card.labels_at or None,
        "thresholds": asked,
        "complaints": encode([*card.leaks, *card.health.complaints, *card.origins]),
        **picked(card, "leaks", "origins", "invalid", "outcomes", "n_broken", "why_failed", "examples"),
        "health": _health_data(card.health),
    }


def _health_data(health: JudgeHealth) -> dict[str, Any]:
    """Every figure by name, and the lists; several people of a dimension stand with what they come to."""
    results: dict[str, Any] = encode(health)
    for name, item in health.dimensions.items():
        if item.people is not None:
            of = {figure: health[f"people.{name}.{figure}"] for figure in (*_OF_PEOPLE, "advantage", "winning_rate")}
            won = of["winning_rate"]
            test = {"epsilon": item.people.epsilon, "n_people": won.n, "winning_rate": won.value}
            results["dimensions"][name]["people"] = {
                "names": list(item.people.names),
                **{figure: encode(of[figure]) for figure in _OF_PEOPLE},
                "test": test | {"advantage": encode(of["advantage"])},
            }
    return results


_CONFUSIONS = "the reviewer's best score down, the judge's uncapped score across; on the diagonal the same score"


def thresholds(card: JudgeCard) -> doc.Table:
    """Every threshold with value, n, interval and verdict, in the suite's order."""
    doubt = [threshold.text for threshold, result in card.checks if result.across]
    note = f"{_ACROSS} the interval contains the threshold, more texts would narrow it: {', '.join(doubt)}"
    return doc.table(
        "Thresholds",
        card.checks,
        ("Threshold", lambda row: row[0].text),
        ("Value", lambda row: fmt.distinguished(row[1].value.value, row[0].unit, row[0].threshold)),
        doc.base(lambda row: row[1].value),
        (
            "95 % interval",
            lambda row: fmt.interval(row[1].value, row[0].unit) + (f" {_ACROSS}" if row[1].across else ""),
        ),
        (doc.VERDICT, lambda row: row[1].verdict.value),
        note=note if doubt else "",
        signature=OF_A_JUDGE,
    )


def _by_dimension(card: JudgeCard, title: str, cells: Iterable[tuple[str, Cell]], note: str) -> doc.Table:
    """A table with a row for each dimension, figures with what they stand on one below the other."""
    columns = [(doc.Column(head, doc.Kind.STACKED), cell) for head, cell in cells]
    named = (doc.words("Dimension"), *(head for head, _ in columns))
    rows = [(name, *(cell(_of(card.health, name)) for _, cell in columns)) for name in card.health.dimensions]
    return doc.Table(title, named, rows, note, signature=OF_A_JUDGE)


def _of(health: JudgeHealth, dimension: str) -> Callable[[str], Estimate]:
    """The figures of one dimension: `agreement.<dimension>.kappa`."""
    return lambda pattern: health[pattern.replace("<dimension>", dimension)]


def agreement(card: JudgeCard) -> doc.Table:
    """The judge against the labels, by dimension."""
    cells: list[tuple[str, Cell]] = [
        ("n", lambda of: _base(of("agreement.<dimension>.exact"))),
        ("In range", lambda of: _share(of("agreement.<dimension>.exact"))),
        ("Within one", lambda of: _share(of("agreement.<dimension>.within_one"))),
        ("Kappa", lambda of: _points(of("agreement.<dimension>.kappa"))),
        ("Alpha", lambda of: _points(of("agreement.<dimension>.alpha"))),
        ("Bias", lambda of: _bias(of("agreement.<dimension>.difference"))),
        ("In range, capped", lambda of: _share(of("agreement.<dimension>.capped_exact"))),
    ]
    note = (
        "in range: inside what the reviewer allows; within one: at most a point outside; capped: after rules;"
        " kappa: quadratic weights; alpha: Krippendorff's, ordinal; bias: judge minus best, above 0 is lenient"
    )
    return _by_dimension(card, "Against labels", cells, note) if card.health.count("texts.labelled") else doc.NO_TABLE


def correlations(card: JudgeCard) -> doc.Table:
    """The correlations of the judge with the labels that the literature reports."""
    cells: list[tuple[str, Cell]] = [
        ("n", lambda of: _base(of("agreement.<dimension>.exact"))),
        ("Pearson", lambda of: _points(of("agreement.<dimension>.pearson"))),
        ("Spearman", lambda of: _points(of("agreement.<dimension>.spearman"))),
        ("Kendall", lambda of: _points(of("agreement.<dimension>.kendall"))),
    ]
    table = _by_dimension(card, "Correlation with labels", cells, "with the best score; Kendall: tau-b")
    return table if card.health.count("texts.labelled") else doc.NO_TABLE


def people(card: JudgeCard) -> doc.Table:
    """How far people agree with each other, as the ceiling of what a judge can, and whether it may stand for one."""
    results = [(name, item.people) for name, item in card.health.dimensions.items() if item.people is not None]
    rows = [
        (
            *(name, f"{len(item.names)}"),
            *(_points(card.health[f"people.{name}.{figure}"]) for figure in ("judge_kappa", "kappa", "alpha")),
            f"{fmt.plain(won.value)}\n{fmt.base(won.n)}",
            _share(card.health[f"people.{name}.advantage"]),
        )
        for name, item in results
        for won in [card.health[f"people.{name}.winning_rate"]]
    ]
    note = (
        "kappa of the judge and one person, and of two people: the ceiling; alpha: of all people. Alternative annotator"
        f" test (Calderon et al. 2025), from {FEWEST_PEOPLE} people with {FEWEST_TEXTS} texts each on: won: the"
        " share of people than whom the judge is worse by less than epsilon"
        f" {'' if not results else f'({results[0][1].epsilon:g})'}, from {ENOUGH_WON:g} on it may stand"
        " for a person;"
        " advantage: texts on which it is at least as near to the others"
    )
    titles = ("People", "Judge, one", "Two people", "Alpha", "Won", "Advantage")
    columns = (doc.words("Dimension"), *(doc.Column(title, doc.Kind.STACKED) for title in titles))
    return doc.Table("Agreement of people and judge", columns, rows, note, signature=OF_A_JUDGE)


def flags(card: JudgeCard) -> doc.Table:
    """Precision and recall of every flag, as the judge set it and as it counts."""
    rows = []
    for name, item in card.health.flags.items():
        for called, result, which in ((name, item.counts, ""), (f"{name}, after rules", item.capped, "capped_")):
            counts = (result.hits, result.false_alarms, result.missed, result.quiet)
            figures = [card.health[f"flag.{name}.{which}{rate}"] for rate in ("precision", "recall")]
            if sum(counts) and (called == name or result != item.counts):
                rates = (f"{_share(rate)}\n{fmt.base(rate.n, rate.n_missing)}" for rate in figures)
                rows.append((called, *rates, *(f"{count:,}" for count in counts)))
    titles = ("Precision", "Recall", "Hits", "False alarms", "Missed", "Quiet")
    columns = (doc.words("Flag"), *(doc.Column(title, doc.Kind.STACKED) for title in titles))
    note = "precision: of the texts flagged; recall: of those that the reviewer flags"
    return doc.Table("Flags against labels", columns, rows, note, signature=OF_A_JUDGE)


def confusions(card: JudgeCard) -> list[doc.Table]:
    """By dimension, how often the judge gave which score where the reviewer's best was which."""
    dimensions = card.health.dimensions if card.health.count("texts.labelled") else {}
    return confusion_tables({name: item.confusion for name, item in dimensions.items()}, "best")


def confusion_tables(by_name: Mapping[str, Confusion], rows_are: str) -> list[doc.Table]:
    """A small table for each confusion that counts anything."""
    tables = []
    for name, confusion in by_name.items():
        levels = [f"{level:g}" for level in confusion.levels]
        rows = [
            (level, *(f"{count:,}" if count else "." for count in counts), f"{sum(counts):,}")
            for level, counts in zip(levels, confusion.counts, strict=True)
            if any(counts) or level.lstrip("-").isdigit()
        ]
        if any(map(sum, confusion.counts)):
            tables.append(doc.Table(name, (doc.Column(rows_are), *map(doc.Column, levels), doc.Column("n")), rows))
    return tables


def rubric(card: JudgeCard) -> doc.Table:
    """How the judge uses the scale."""
    low, high = card.health.scale
    rows = [
        (
            "\n".join(filter(None, [name, _faults(item)])),
            _base(of("top_share.<dimension>")),
            _share(of("top_share.<dimension>")),
            f"{fmt.percent(of('top_labelled.<dimension>').value)}\n{fmt.base(of('top_labelled.<dimension>').n)}",
            _share(of("middle_share.<dimension>")),
            fmt.plain(of("spread.<dimension>").value),
        )
        for name, item in card.health.dimensions.items()
        for of in [_of(card.health, name)]
    ]
    titles = ("n", f"{high:g}s given", f"{high:g}s due", "Middle", "Spread")
    note = (
        f"uncapped scores, on {low:g} to {high:g}; due: by the labels; middle: the neutral score and the next above;"
        " spread: standard deviation in points"
    )
    columns = (doc.Column("Dimension", doc.Kind.LINES), *(doc.Column(title, doc.Kind.STACKED) for title in titles))
    return doc.Table("Against the rubric", columns, rows, note, signature=OF_A_JUDGE)


def _faults(item: DimensionHealth) -> str:
    faults = [word for word, holds in (("inflated", item.inflated), ("constant", item.constant)) if holds]
    return f"({', '.join(faults)})" if faults else ""


def length(card: JudgeCard) -> doc.Table:
    """Whether longer texts get more, from the judge and from the reviewer."""
    return doc.table(
        "Correlation with the length of the text",
        [(name, _of(card.health, name)) for name in card.health.dimensions],
        ("Dimension", lambda row: row[0]),
        *doc.estimate(lambda row: row[1]("length.<dimension>.correlation"), "Judge", "size"),
        doc.value(lambda row: row[1]("length.<dimension>.labels"), "Labels", "size"),
        doc.base(lambda row: row[1]("length.<dimension>.labels")),
        note="rank correlation, -1 to 1",
        signature=OF_A_JUDGE,
    )


def together(card: JudgeCard) -> doc.Table:
    """The dimensions that move together most."""
    pairs = card.health.pairs[:_MOST_PAIRS]
    left_off = len(card.health.pairs) - len(pairs)
    return doc.table(
        "Dimensions that move together",
        pairs,
        ("Dimensions", lambda pair: f"{pair.first} and {pair.second}"),
        *doc.estimate(lambda pair: card.health.figures[pair.metric], "Correlation", "size"),
        ("Always", lambda pair: "always the same" if pair.identical else "always together" if pair.always else ""),
        note=f"the {len(pairs)} closest of {len(card.health.pairs)} pairs" if left_off else "",
        signature=OF_A_JUDGE,
    )


def repeatability(card: JudgeCard) -> doc.Table:
    """How far the judge agrees with itself on one text."""
    names = [f"{figure}.{name}" for name in card.health.dimensions for figure in ("repeatability", "reliability")]
    if not any(card.health[name].n for name in names):
        return doc.NO_TABLE
    cells: list[tuple[str, Cell]] = [
        ("Same again", lambda of: _share(of("repeatability.<dimension>"))),
        ("n", lambda of: _base(of("repeatability.<dimension>"))),
        ("Points apart", lambda of: fmt.plain(of("moved.<dimension>").value)),
        ("Alpha", lambda of: _points(of("reliability.<dimension>"))),
        ("n", lambda of: _base(of("reliability.<dimension>"))),
    ]
    note = "same again: of the texts that one judge scored several times; alpha: between all votes on a text"
    return _by_dimension(card, "Repeatability", cells, note)


def behaviour(card: JudgeCard) -> doc.Table:
    """What the judge did against its instructions, and how its answers could be read."""
    health = card.health
    named = [
        ("broke a rule", health["broken_rules"]),
        ("made up a quote", health["made_up_quotes"]),
        ("high score without a quote", health["unproven"]),
        ("too few reasons", health["too_few_reasons"]),
        ("could not be used", health["failed"]),
        ("missing", health["unanswered"]),
    ]
    if health["cut_off"].n and health.mode != Mode.RULES:
        named.insert(-1, ("broke off at the limit of tokens", health["cut_off"]))
    if health["contradictions"].n:
        named.insert(-1, ("made a complaint that the answer contradicts", health["contradictions"]))
    if health["self_contradictions"].value:
        named.insert(-1, ("gave scores that do not fit its own lists", health["self_contradictions"]))
    if health["disagreement"].n:
        named.append(("texts with votes far apart", health["disagreement"]))
    if health["rebutted_findings"].n:
        named.append(("findings of scorers rebutted", health["rebutted_findings"]))
        named.append(("findings of scorers left unanswered", health["unanswered_findings"]))
    steps = health.figures.each("judge.step.<step>.rate")
    named += [(f"read: {step.replace('_', ' ')}", share) for step, share in steps.items() if step != FAILED]
    return doc.table(
        "Against itself",
        named,
        ("Votes that", lambda row: row[0]),
        ("Counted", lambda row: fmt.band_count(row[1]) if row[1].value is not None else ""),
        *doc.estimate(lambda row: row[1], "Share"),
        signature=OF_A_JUDGE,
    )


def rules(card: JudgeCard) -> doc.Table:
    """Which rules the judge broke, most frequent first."""
    n, broken = card.health["broken_rules"].n, list(card.health.by_rule.items())
    columns = (("Rule", lambda row: row[0]), ("Votes", lambda row: f"{row[1]:,} of {n:,}"))
    return doc.table("Rules broken", broken[:_MOST_RULES], *columns)


def rebutted(card: JudgeCard) -> doc.Table:
    """Every finding of a scorer that the judge rebutted."""
    return rebuttals_table(card.health.rebuttals, OF_A_JUDGE)


def disagreements(card: JudgeCard) -> doc.Table:
    """By dimension, at most so many of the texts farthest outside what the reviewer allows."""
    dimensions = card.health.dimensions.items()
    notes = ["label: the reviewer's best score and the range allowed; judge: its uncapped score"]
    for name, item in dimensions:
        more = card.health.count(f"agreement.{name}.outside") - len(item.disagreements[:MOST_LISTED])
        notes += [f"and {more:,} more of {name}"] if more else []
    return doc.table(
        "Farthest from the labels",
        [(name, far) for name, item in dimensions for far in item.disagreements[:MOST_LISTED]],
        ("Dimension", lambda row: row[0]),
        (doc.words("Case"), lambda row: row[1].case_id),
        ("Label", lambda row: f"{row[1].best:g} ({row[1].low:g} to {row[1].high:g})"),
        ("Judge", lambda row: f"{row[1].stated:g}"),
        ("Outside by", lambda row: f"{row[1].outside:+g}"),
        note="; ".join(notes),
    )


def flagged_wrongly(card: JudgeCard) -> doc.Table:
    """At most so many of the texts whose flag the judge missed, and of those that it flagged for nothing."""
    rows, left_off = [], []
    for name, item in card.health.flags.items():
        for message, cases, count in (
            ("missed", item.missed, item.counts.missed),
            ("set wrongly", item.false_alarms, item.counts.false_alarms),
        ):
            rows += [(name, case_id, message) for case_id in cases[:MOST_LISTED]]
            more = count - min(len(cases), MOST_LISTED)
            left_off += [f"and {more:,} more {message}"] if more else []
    columns = (doc.words("Flag"), doc.words("Case"), doc.Column("The judge's flag"))
    return doc.Table("Flags missed or set wrongly", columns, rows, "; ".join(left_off))


def has_readings(card: JudgeCard) -> bool:
    """Whether any vote is of the mode that counts."""
    return bool(card.health.modes.get(card.health.mode))


def all_tables(card: JudgeCard) -> list[doc.Table]:
    """Every table but the thresholds and the confusions.

    Where nothing was read only what became of the answers is shown: all else is n/a.
    """
    against_labels = (agreement, correlations, people, flags, disagreements, flagged_wrongly)
    shown = (*against_labels, rubric, length, together, repeatability, behaviour, rules, rebutted)
    return [table(card) for table in (shown if has_readings(card) else (behaviour,))]


def _share(estimate: Estimate) -> str:
    return _stacked(estimate, fmt.percent, "share")


def _points(estimate: Estimate) -> str:
    return _stacked(estimate, fmt.plain, "kappa")


def _stacked(estimate: Estimate, write: Callable[[float | None], str], unit: str) -> str:
    figure = write(estimate.value)
    return figure if estimate.value is None else f"{figure}\n{fmt.interval(estimate, unit)}"


def _bias(estimate: Estimate) -> str:
    ends = "" if estimate.low is None else f"\n[{fmt.signed(estimate.low)}, {fmt.signed(estimate.high)}]"
    return f"{fmt.signed(estimate.value)}{ends}"


def _base(estimate: Estimate) -> str:
    return fmt.bare_base(estimate).replace(", ", "\n")


def verdict_word(card: JudgeCard) -> str:
    """PASS, FAIL, AMBIGUOUS, INVALID, or NO VERDICT."""
    return card.verdict.value if card.verdict else NO_VERDICT


def headline(card: JudgeCard) -> str:
    """The verdict as a sentence: `This judge is not fit: 3 of 7 thresholds missed`."""
    n = len(card.checks)
    missed, untold = card.count(Verdict.FAIL), card.count(Verdict.AMBIGUOUS)
    also = f", {untold} not shown" if untold else ""
    if card.verdict is Verdict.INVALID:
        return "This run shows nothing about its judge: neither fit nor unfit"
    if card.leaks:
        return "This judge is not fit: its prompt shows it the labels"
    if card.verdict is Verdict.FAIL:
        thresholds = (f"{missed} of {fmt.counted(n, 'threshold')} missed{also}",) if missed else ()
        return f"This judge is not fit: {(thresholds or card.health.unfit)[0]}"
    if card.health.dependent:
        return f"This judge is not shown to be fit: {card.health.dependent[0]}"
    if card.verdict is Verdict.AMBIGUOUS:
        return f"This judge is not shown to be fit: {untold} of {fmt.counted(n, 'threshold')} not shown"
    if card.verdict is Verdict.PASS:
        return f"This judge is fit: {fmt.counted(n, 'threshold')} reached"
    return "The suite declares no thresholds for its judge: add them under judge.health"


def standing(card: JudgeCard) -> list[tuple[str, str]]:
    """What the card stands on, as label and value."""
    health, outcomes = card.health, card.outcomes
    missing = (
        (outcomes.get(Outcome.MALFORMED, 0), "malformed"),
        (outcomes.get(Outcome.TARGET_FAILED, 0), "target failed"),
        (card.n_broken, "not judged, since a scorer or the judge's own code broke"),
        (card.header.n_planned - sum(outcomes.values()), "missing"),
    )
    others = ", ".join(f"{count:,} {message}" for count, message in missing if count > 0)
    texts = f"{health.count('texts'):,} of {fmt.counted(card.header.n_planned, 'sample')} reached the judge"
    texts += f" ({others})" if others else ""
    otherwise = labelled_otherwise(health.count("texts.labelled_otherwise"))
    texts += f"; {health.count('texts.labelled'):,} of them are labelled" + (f"; {otherwise}" if otherwise else "")
    rows = [
        ("Judged by", judged_by(card.header)),
        ("Texts", texts),
        ("Votes", f"{health.count('votes'):,}, {_modes(card)}"),
    ]
    if n_excluded := health.count("texts.excluded"):
        excluded = fmt.counted(n_excluded, "text")
        rows.append(("Excluded", f"{excluded}: only bare scores could be read from the judge's answers"))
    if why := no_labels(card):
        rows.append(("Labels", why))
    if health.spending is not None and health.spending.calls:
        rows.append(("Judging took", spending_words(health.spending)))
    return rows


def no_labels(card: JudgeCard) -> str:
    """Why nothing can be compared with labels; "" when something can."""
    if card.health.count("texts.labelled"):
        return ""
    if not card.labels_at:
        return "n/a: the suite names no labels (judge.labels), so the judge's accuracy is unknown"
    if card.health.count("texts.labelled_otherwise"):
        return "n/a: no labels were given for these texts, so the judge's accuracy is unknown"
    return f"n/a: none of the texts has labels at {card.labels_at}, so the judge's accuracy is unknown"


def _modes(card: JudgeCard) -> str:
    messages = [f"{count:,} in mode {mode}" for mode, count in card.health.modes.items()]
    without = card.health.count("votes") - sum(card.health.modes.values())
    silent = card.health["unanswered"]
    unanswered = round((silent.value or 0.0) * silent.n)
    messages += [f"{without - unanswered:,} not usable"] if without > unanswered else []
    messages += [f"{unanswered:,} unanswered"] if unanswered else []
    return ", ".join(messages) or "none"


def corrected(card: JudgeCard) -> list[tuple[str, str]]:
    """The pass rate as the judge reports it, and corrected by its errors on the labelled texts."""
    result = card.health.corrected
    rate = f"{fmt.with_base(result.rate)}; {result.method}: {result.why}"
    rows = [
        ("As reported", fmt.with_base(result.reported)),
        ("Corrected", f"n/a: {result.message}" if result.message else rate),
    ]
    if result.labels.n and result.method != LABELS_ALONE:
        rows.append(("By the labels alone", fmt.with_base(result.labels)))
    if result.sensitivity.n or result.specificity.n:
        rows.append(("Passes those that should", fmt.with_base(result.sensitivity)))
        rows.append(("Stops those that should not", fmt.with_base(result.specificity)))
    return rows


def warnings(card: JudgeCard) -> list[str]:
    """What a reader must know before reading a figure."""
    statements = [commonest_failure(card), no_labels(card)]
    if card.health.count("texts.labelled") and (
        otherwise := labelled_otherwise(card.health.count("texts.labelled_otherwise"))
    ):
        statements.append(
            f"{otherwise}: the texts with labels are not a random sample, and no threshold is met by them"
        )
    if card.n_broken:
        texts = fmt.counted(card.n_broken, "text")
        statements.append(
            f"{texts} not judged, since a scorer or the judge's own code broke: in no figure of this card"
        )
    return [item for item in statements if item]


def commonest_failure(card: JudgeCard) -> str:
    """`9 of 9: judge good: http_401 Incorrect API key provided`; "" when every text has a reading."""
    if not card.why_failed:
        return ""
    reason, count = next(iter(card.why_failed.items()))
    return f"{count:,} of {card.health.count('texts'):,}: {clipped(reason, _LONGEST_REASON)}"


def examples(card: JudgeCard) -> list[str]:
    """One example of each thing that the judge did wrong."""
    messages = []
    for code, words in _MESSAGES.items():
        for example in card.examples.get(code, [])[:1]:
            by = f", {example.member}" if example.member else ""
            messages.append(f"{words} (case {example.case_id}{by}): {example.message}")
    return messages
