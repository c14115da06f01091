"""The report card of a judge: its verdict, the suite's thresholds, and how it does against labels and rubric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from steelyard.analysis.judge.corrected_rate import LABELS_ALONE
from steelyard.analysis.judge.labels import labelled_otherwise
from steelyard.analysis.judge.model import MOST_LISTED, DimensionHealth, FlagCounts, JudgeHealth
from steelyard.analysis.judge.rubric import FAILED
from steelyard.frozen import values_of
from steelyard.judge_checks.build import JudgeCard
from steelyard.records import Mode, Outcome, Verdict
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import bullets, section, table_section
from steelyard.report.figures import (
    Row,
    base,
    estimate,
    figures_table,
    over_interval,
    stacked,
    stacked_base,
    value,
)
from steelyard.report.format import OF_A_JUDGE, clipped
from steelyard.report.judge.run import judged_by, rebuttals_table, spending_words
from steelyard.report.model import header_data
from steelyard.report.render.json import encode, picked
from steelyard.report.verdicts import NO_VERDICT
from steelyard.report.wording import signature_line
from steelyard.stats.agreement import ENOUGH_WON, FEWEST_PEOPLE, FEWEST_TEXTS, ConfusionMatrix
from steelyard.stats.intervals import Estimate

FORMAT = "steelyard.judge/1"
_OF_THRESHOLDS = ("text", "metric", "pattern", "subject", "operator", "threshold", "unit")
_MOST_PAIRS = 10
_MOST_RULES = 20
_ACROSS = "~"
_OF_PEOPLE = ("kappa", "judge_kappa", "alpha")
_READINGS = ("value", "verdict", "reason", "across", "broken")
_BEHAVIOUR = {
    "broke a rule": "broken_rules",
    "made up a quote": "made_up_quotes",
    "high score without a quote": "unproven",
    "too few reasons": "too_few_reasons",
    "could not be used": "failed",
    "broke off at the limit of tokens": "cut_off",
    "made a complaint that the answer contradicts": "contradictions",
    "gave scores that do not fit its own lists": "self_contradictions",
    "missing": "unanswered",
    "texts with votes far apart": "disagreement",
    "findings of scorers rebutted": "rebutted_findings",
    "findings of scorers left unanswered": "unanswered_findings",
}
"""What the votes of a judge did, and the metric that counts it."""
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
        ("n", lambda row: fmt.bare_base(row[1].value)),
        (
            "95 % interval",
            lambda row: fmt.interval(row[1].value, row[0].unit) + (f" {_ACROSS}" if row[1].across else ""),
        ),
        (doc.VERDICT, lambda row: row[1].verdict.value),
        note=note if doubt else "",
        signature=OF_A_JUDGE,
    )


def _figures(
    card: JudgeCard, title: str, names: str | Mapping[str, str], *columns: doc.Written[Row], **settings: Any
) -> doc.Table:
    """A table of the judge's figures, which link to nothing: no page lists votes one by one."""
    return figures_table(
        title,
        card.header.description,
        card.health.figures,
        names,
        *columns,
        selection=lambda _: None,
        signature=OF_A_JUDGE,
        **settings,
    )


def _by_dimension(
    card: JudgeCard,
    title: str,
    pattern: str,
    *columns: doc.Written[Row],
    head: str | doc.Column = "Dimension",
    each: Iterable[str] | None = None,
    **settings: Any,
) -> doc.Table:
    """The same with a row for each dimension of the rubric, or some."""
    each = card.health.dimensions if each is None else each
    return _figures(card, title, f"judge.{pattern}", *columns, head=head, each=each, **settings)


def _lines(title: str, cell: Callable[[Row], str]) -> doc.Written[Row]:
    return doc.Column(title, doc.Kind.STACKED), cell


def agreement(card: JudgeCard) -> doc.Table:
    """The judge against the labels, by dimension."""
    if not card.health.count("texts.labelled"):
        return doc.NO_TABLE
    return _by_dimension(
        card,
        "Against labels",
        "agreement.<dimension>.exact",
        *(stacked_base(), stacked("In range"), stacked("Within one", "judge.agreement.<dimension>.within_one")),
        stacked("Kappa", "judge.agreement.<dimension>.kappa"),
        stacked("Alpha", "judge.agreement.<dimension>.alpha"),
        _lines("Bias", lambda row: _bias(row["judge.agreement.<dimension>.difference"])),
        stacked("In range, capped", "judge.agreement.<dimension>.capped_exact"),
        note="in range: inside what the reviewer allows; within one: at most a point outside; capped: after rules;"
        " kappa: quadratic weights; alpha: Krippendorff's, ordinal; bias: judge minus best, above 0 is lenient",
    )


def correlations(card: JudgeCard) -> doc.Table:
    """The correlations of the judge with the labels that the literature reports."""
    if not card.health.count("texts.labelled"):
        return doc.NO_TABLE
    names = ("pearson", "spearman", "kendall")
    columns = [stacked(name.capitalize(), f"judge.agreement.<dimension>.{name}") for name in names]
    title, based_on = "Correlation with labels", "agreement.<dimension>.exact"
    return _by_dimension(card, title, based_on, stacked_base(), *columns, note="with the best score; Kendall: tau-b")


def people(card: JudgeCard) -> doc.Table:
    """How far people agree with each other, as the ceiling of what a judge can, and whether it may stand for one."""
    results = {name: item.people for name, item in card.health.dimensions.items() if item.people is not None}
    epsilon = f"({next(iter(results.values())).epsilon:g})" if results else ""
    return _by_dimension(
        card,
        "Agreement of people and judge",
        "people.<dimension>.judge_kappa",
        _lines("People", lambda row: f"{len(results[row.label].names)}"),
        *(stacked("Judge, one"), stacked("Two people", "judge.people.<dimension>.kappa")),
        stacked("Alpha", "judge.people.<dimension>.alpha"),
        _lines("Won", lambda row: _won(row["judge.people.<dimension>.winning_rate"])),
        stacked("Advantage", "judge.people.<dimension>.advantage"),
        each=results,
        note="kappa of the judge and one person, and of two people: the ceiling; alpha: of all people. Alternative"
        f" annotator test (Calderon et al. 2025), from {FEWEST_PEOPLE} people with {FEWEST_TEXTS} texts each on: won:"
        f" the share of people than whom the judge is worse by less than epsilon {epsilon}, from {ENOUGH_WON:g} on it"
        " may stand for a person; advantage: texts on which it is at least as near to the others",
    )


def _won(share: Estimate) -> str:
    return f"{fmt.plain(share.value)}\n{fmt.base(share.n)}"


def flags(card: JudgeCard) -> doc.Table:
    """Precision and recall of every flag, as the judge set it and, where that is not the same, as it counts."""
    names, counts = dict[str, str](), dict[str, FlagCounts]()
    for name, item in card.health.flags.items():
        for label, of, which in ((name, item.counts, ""), (f"{name}, after rules", item.capped, "capped_")):
            if any(values_of(of, *_OF_FLAGS).values()) and (not which or of != item.counts):
                names[label], counts[label] = f"judge.flag.{name}.{which}precision", of

    def counted(which: str) -> Callable[[Row], str]:
        return lambda row: f"{getattr(counts[row.label], which):,}"

    return _figures(
        card,
        "Flags against labels",
        names,
        _lines("Precision", _rate),
        _lines("Recall", lambda row: _rate(row, row.own.pattern.replace("precision", "recall"))),
        *(_lines(which.replace("_", " ").capitalize(), counted(which)) for which in _OF_FLAGS),
        head="Flag",
        note="precision: of the texts flagged; recall: of those that the reviewer flags",
    )


_OF_FLAGS = ("hits", "false_alarms", "missed", "quiet")


def _rate(row: Row, of: str = "") -> str:
    return f"{over_interval(row, of)}\n{fmt.base(row[of].n, row[of].n_missing)}"


def confusions(card: JudgeCard) -> list[doc.Table]:
    """By dimension, how often the judge gave which score where the reviewer's best was which."""
    dimensions = card.health.dimensions if card.health.count("texts.labelled") else {}
    return confusion_tables({name: item.confusion for name, item in dimensions.items()}, "best")


def confusion_tables(by_name: Mapping[str, ConfusionMatrix], rows_are: str) -> list[doc.Table]:
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
    due = "judge.top_labelled.<dimension>"
    return _by_dimension(
        card,
        "Against the rubric",
        "top_share.<dimension>",
        *(stacked_base(), stacked(f"{high:g}s given")),
        _lines(f"{high:g}s due", lambda row: f"{fmt.percent(row[due].value)}\n{fmt.base(row[due].n)}"),
        stacked("Middle", "judge.middle_share.<dimension>"),
        value(doc.Column("Spread", doc.Kind.STACKED), "judge.spread.<dimension>"),
        head=doc.Column("Dimension", doc.Kind.LINES),
        label=lambda row: "\n".join(filter(None, [row.label, _faults(card.health.dimensions[row.label])])),
        note=f"uncapped scores, on {low:g} to {high:g}; due: by the labels; middle: the neutral score and the next"
        " above; spread: standard deviation in points",
    )


def _faults(item: DimensionHealth) -> str:
    faults = [word for word, holds in (("inflated", item.inflated), ("constant", item.constant)) if holds]
    return f"({', '.join(faults)})" if faults else ""


def length(card: JudgeCard) -> doc.Table:
    """Whether longer texts get more, from the judge and from the reviewer."""
    labels = "judge.length.<dimension>.labels"
    return _by_dimension(
        card,
        "Correlation with the length of the text",
        "length.<dimension>.correlation",
        *estimate("Judge"),
        *(value("Labels", labels), base(labels)),
        note="rank correlation, -1 to 1",
    )


def together(card: JudgeCard) -> doc.Table:
    """The dimensions that move together most."""
    pairs = {f"{pair.first} and {pair.second}": pair for pair in card.health.pairs[:_MOST_PAIRS]}
    left_off = len(card.health.pairs) - len(pairs)
    always = {
        label: "always the same" if pair.identical else "always together" if pair.always else ""
        for label, pair in pairs.items()
    }
    return _figures(
        card,
        "Dimensions that move together",
        {label: pair.metric for label, pair in pairs.items()},
        *estimate("Correlation"),
        ("Always", lambda row: always[row.label]),
        head="Dimensions",
        note=f"the {len(pairs)} closest of {len(card.health.pairs)} pairs" if left_off else "",
    )


def repeatability(card: JudgeCard) -> doc.Table:
    """How far the judge agrees with itself on one text."""
    names = [f"{figure}.{name}" for name in card.health.dimensions for figure in ("repeatability", "reliability")]
    if not any(card.health[name].n for name in names):
        return doc.NO_TABLE
    return _by_dimension(
        card,
        "Repeatability",
        "repeatability.<dimension>",
        *(stacked("Same again"), stacked_base()),
        value(doc.Column("Points apart", doc.Kind.STACKED), "judge.moved.<dimension>"),
        *(stacked("Alpha", "judge.reliability.<dimension>"), stacked_base("judge.reliability.<dimension>")),
        note="same again: of the texts that one judge scored several times; alpha: between all votes on a text",
    )


def behaviour(card: JudgeCard) -> doc.Table:
    """What the judge did against its instructions, and how its answers could be read."""
    health = card.health
    also = {
        "broke off at the limit of tokens": health["cut_off"].n and health.mode != Mode.RULES,
        "made a complaint that the answer contradicts": health["contradictions"].n,
        "gave scores that do not fit its own lists": health["self_contradictions"].value,
        "texts with votes far apart": health["disagreement"].n,
        "findings of scorers rebutted": health["rebutted_findings"].n,
        "findings of scorers left unanswered": health["rebutted_findings"].n,
    }
    names = {label: f"judge.{name}" for label, name in _BEHAVIOUR.items() if also.get(label, True)}
    names |= {
        f"read: {step.replace('_', ' ')}": f"judge.step.{step}.rate"
        for step in health.figures.each("judge.step.<step>.rate")
        if step != FAILED
    }
    return _figures(
        card,
        "Against itself",
        names,
        ("Counted", lambda row: fmt.band_count(row[""]) if row[""].value is not None else ""),
        *estimate("Share"),
        head="Votes that",
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


def _bias(estimate: Estimate) -> str:
    ends = "" if estimate.low is None else f"\n[{fmt.signed(estimate.low)}, {fmt.signed(estimate.high)}]"
    return f"{fmt.signed(estimate.value)}{ends}"


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
