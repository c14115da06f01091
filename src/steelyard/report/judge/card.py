"""The report card of a judge: its verdict, the suite's thresholds, and how it does against labels and rubric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from steelyard.analysis.judge.model import (
    ENOUGH_WON,
    FEWEST_PEOPLE,
    FEWEST_TEXTS,
    LABELS_ALONE,
    MOST_LISTED,
    CorrectedRate,
    DimensionHealth,
)
from steelyard.records import Mode, Outcome, Verdict
from steelyard.report import format as fmt
from steelyard.report.document import (
    Block,
    Bullet,
    Column,
    Document,
    Facts,
    Headline,
    Kind,
    Section,
    SmallTables,
    Table,
    Text,
    Tone,
    bullets,
    section,
    table_section,
)
from steelyard.report.format import OF_A_JUDGE, clipped
from steelyard.report.judge.build import JudgeCard
from steelyard.report.judge.run import judged_by, labelled_otherwise, spending_words
from steelyard.report.model import header_data
from steelyard.report.render.json import encode, encode_object
from steelyard.report.verdicts import NO_VERDICT
from steelyard.report.wording import signature_line
from steelyard.stats.agreement import Confusion, FlagAgreement
from steelyard.stats.intervals import Estimate

FORMAT = "steelyard.judge/1"
_OF_THRESHOLDS = ("text", "metric", "pattern", "subject", "operator", "threshold", "unit")
_MOST_PAIRS = 10
_MOST_RULES = 20
_ACROSS = "~"
_DIMENSION = Column("Dimension", Kind.TEXT)
Cell = Callable[[DimensionHealth], str]
_MESSAGES = {
    "MADE_UP_QUOTE": "a made-up quote",
    "RULE_BROKEN": "a broken rule",
    "UNPROVEN": "an unproven score",
    "TOO_FEW_REASONS": "too few reasons",
    "CONTRADICTION": "a contradicted complaint",
    "CUT_OFF": "an answer that broke off",
    "EXTRA_FIELD": "a field too many",
    "VIOLATION": "an answer that could not be used",
    "DISAGREEMENT": "a disagreement",
    "FAILED": "nothing usable",
    "UNANSWERED": "no answer",
}
_LONGEST_REASON = 240


def document(card: JudgeCard) -> Document:
    """The verdict first, then the thresholds, what is wrong, and all that it stands on."""
    header = card.header
    remarks = [Bullet(reason) for reason in card.invalid]
    remarks += [Bullet(warning, Tone.WARNING) for warning in warnings(card)]
    complaints = bullets(card.health.complaints) if card.health.complaints else Text("No problems.")
    wrong = Section("What is wrong", [complaints])
    blocks: list[Block] = [
        Headline(verdict_word(card), headline(card), remarks=remarks, extra=[wrong]),
        *table_section(thresholds(card), main=True),
        *(section("Pass rate", Facts(corrected(card)), main=True) if has_readings(card) else ()),
        *(item for table in all_tables(card) for item in table_section(table)),
        *section("Labels down, judge across", SmallTables(confusions(card), _CONFUSIONS)),
        *section("For example", bullets(examples(card))),
        *section("Based on", Facts(standing(card))),
    ]
    context = ["judge check", f"run {header.id}", *filter(None, [fmt.when(header.created_at)])]
    footer = [f"Signature: {signature_line(header)}", *([f"Steelyard {header.version}"] if header.version else [])]
    return Document(f"Judge of {header.suite_name}", blocks, context, footer)


def data(card: JudgeCard) -> dict[str, Any]:
    """The whole card as plain data."""
    asked = [
        {name: encode(getattr(threshold, name)) for name in _OF_THRESHOLDS} | encode_object(result)
        for threshold, result in card.checks
    ]
    names = ("invalid", "outcomes", "n_broken", "why_failed", "examples", "health")
    return {
        "format": FORMAT,
        "run": header_data(card.header),
        "judge": encode(card.header.suite.get("judge")),
        "verdict": encode(card.verdict),
        "headline": encode(headline(card)),
        "warnings": encode(warnings(card)),
        "labels": card.labels_at or None,
        "thresholds": asked,
        "complaints": encode(card.health.complaints),
        **{name: encode(getattr(card, name)) for name in names},
    }


_CONFUSIONS = "the reviewer's best score down, the judge's uncapped score across; on the diagonal the same score"


def thresholds(card: JudgeCard) -> Table:
    """Every threshold with value, n, interval and verdict, in the suite's order."""
    rows = [
        (
            threshold.text,
            fmt.distinguished(result.value, threshold.unit, threshold.threshold),
            fmt.bare_base(result.estimate),
            fmt.interval(result.estimate, threshold.unit) + (f" {_ACROSS}" if result.across else ""),
            result.verdict.value,
        )
        for threshold, result in card.checks
    ]
    columns = (
        Column("Threshold", Kind.TEXT),
        *map(Column, ("Value", "n", "95 % interval")),
        Column("Verdict", Kind.VERDICT),
    )
    doubt = [threshold.text for threshold, result in card.checks if result.across]
    note = f"{_ACROSS} the interval contains the threshold, more texts would narrow it: {', '.join(doubt)}"
    return Table("Thresholds", columns, rows, note if doubt else "", signature=OF_A_JUDGE)


def agreement(card: JudgeCard) -> Table:
    """The judge against the labels, by dimension."""
    if not card.health.n_labelled:
        return Table("", (), [])
    cells: list[tuple[str, Cell]] = [
        ("In range", lambda item: _share(item.agreement.exact)),
        ("Within one", lambda item: _share(item.agreement.within_one)),
        ("Kappa", lambda item: _points(item.agreement.kappa)),
        ("Alpha", lambda item: _points(item.agreement.alpha)),
        ("Bias", lambda item: _bias(item.agreement.bias)),
        ("In range, capped", lambda item: _share(item.bound_exact)),
    ]
    note = (
        "in range: inside what the reviewer allows; within one: at most a point outside; capped: after rules;"
        " kappa: quadratic weights; alpha: Krippendorff's, ordinal; bias: judge minus best, above 0 is lenient"
    )
    return _by_dimension(card, "Against labels", cells, note)


def _by_dimension(card: JudgeCard, title: str, cells: list[tuple[str, Cell]], note: str) -> Table:
    rows = [
        (name, _base(item.agreement.exact), *(cell(item) for _, cell in cells))
        for name, item in card.health.dimensions.items()
    ]
    columns = (_DIMENSION, Column("n", Kind.STACKED), *(Column(name, Kind.STACKED) for name, _ in cells))
    return Table(title, columns, rows, note, signature=OF_A_JUDGE)


def correlations(card: JudgeCard) -> Table:
    """The correlations of the judge with the labels that the literature reports."""
    cells: list[tuple[str, Cell]] = [
        ("Pearson", lambda item: _points(item.agreement.pearson)),
        ("Spearman", lambda item: _points(item.agreement.spearman)),
        ("Kendall", lambda item: _points(item.agreement.kendall)),
    ]
    if not card.health.n_labelled:
        return Table("", (), [])
    return _by_dimension(card, "Correlation with labels", cells, "with the best score; Kendall: tau-b")


def people(card: JudgeCard) -> Table:
    """How far people agree with each other, as the ceiling of what a judge can, and whether it may stand for one."""
    results = [(name, item.people) for name, item in card.health.dimensions.items() if item.people is not None]
    rows = [
        (
            *(name, f"{len(item.names)}"),
            *map(_points, (item.judge_kappa, item.kappa, item.alpha)),
            f"{fmt.plain(item.test.winning_rate)}\n{fmt.base(item.test.n_people)}",
            _share(item.test.advantage),
        )
        for name, item in results
    ]
    note = (
        "kappa of the judge and one person, and of two people: the ceiling; alpha: of all people. Alternative annotator"
        f" test (Calderon et al. 2025), from {FEWEST_PEOPLE} people with {FEWEST_TEXTS} texts each on: won: the"
        " share of people than whom the judge is worse by less than epsilon"
        f" {'' if not results else f'({results[0][1].test.epsilon:g})'}, from {ENOUGH_WON:g} on it may stand"
        " for a person;"
        " advantage: texts on which it is at least as near to the others"
    )
    titles = ("People", "Judge, one", "Two people", "Alpha", "Won", "Advantage")
    columns = (_DIMENSION, *(Column(title, Kind.STACKED) for title in titles))
    return Table("Agreement of people and judge", columns, rows, note if rows else "", signature=OF_A_JUDGE)


def flags(card: JudgeCard) -> Table:
    """Precision and recall of every flag, as the judge set it and as it counts."""
    rows = []
    for name, item in card.health.flags.items():
        text, counts = item.agreement, item.capped
        if text.hits + text.false_alarms + text.missed + text.quiet == 0:
            continue
        rows.append(_flag(name, text))
        if counts != text:
            rows.append(_flag(f"{name}, after rules", counts))
    titles = ("Precision", "Recall", "Hits", "False alarms", "Missed", "Quiet")
    columns = (Column("Flag", Kind.TEXT), *(Column(title, Kind.STACKED) for title in titles))
    note = "precision: of the texts flagged; recall: of those that the reviewer flags" if rows else ""
    return Table("Flags against labels", columns, rows, note, signature=OF_A_JUDGE)


def _flag(name: str, flag_agreement: FlagAgreement) -> tuple[str, ...]:
    rates = (
        f"{_share(item)}\n{fmt.base(item.n, item.n_missing)}"
        for item in (flag_agreement.precision, flag_agreement.recall)
    )
    counts = (flag_agreement.hits, flag_agreement.false_alarms, flag_agreement.missed, flag_agreement.quiet)
    return (name, *rates, *(f"{count:,}" for count in counts))


def confusions(card: JudgeCard) -> list[Table]:
    """By dimension, how often the judge gave which score where the reviewer's best was which."""
    if not card.health.n_labelled:
        return []
    results = [(name, item.agreement.confusion) for name, item in card.health.dimensions.items()]
    return [_confusion(name, item) for name, item in results if any(map(sum, item.counts))]


def _confusion(name: str, confusion: Confusion) -> Table:
    levels = [f"{level:g}" for level in confusion.levels]
    rows = [
        (level, *(f"{count:,}" if count else "." for count in counts), f"{sum(counts):,}")
        for level, counts in zip(levels, confusion.counts, strict=True)
        if any(counts) or level.lstrip("-").isdigit()
    ]
    columns = (Column("best"), *(Column(level) for level in levels), Column("n"))
    return Table(name, columns, rows)


def rubric(card: JudgeCard) -> Table:
    """How the judge uses the scale."""
    low, high = card.health.scale
    rows = [
        (
            _named(name, item),
            _base(item.top_share),
            _share(item.top_share),
            f"{fmt.percent(item.top_labelled.value)}\n{fmt.base(item.top_labelled.n)}",
            _share(item.middle_share),
            fmt.plain(item.spread.value),
        )
        for name, item in card.health.dimensions.items()
    ]
    titles = ("n", f"{high:g}s given", f"{high:g}s due", "Middle", "Spread")
    note = (
        f"uncapped scores, on {low:g} to {high:g}; due: by the labels; middle: the neutral score and the next above;"
        " spread: standard deviation in points"
    )
    columns = (Column("Dimension", Kind.LINES), *(Column(title, Kind.STACKED) for title in titles))
    return Table("Against the rubric", columns, rows, note, signature=OF_A_JUDGE)


def _named(name: str, dimension_health: DimensionHealth) -> str:
    faults = [
        word
        for word, holds in (("inflated", dimension_health.inflated), ("constant", dimension_health.constant))
        if holds
    ]
    return f"{name}\n({', '.join(faults)})" if faults else name


def length(card: JudgeCard) -> Table:
    """Whether longer texts get more, from the judge and from the reviewer."""
    rows = [
        (
            name,
            fmt.plain(item.length.value),
            fmt.interval(item.length, "size"),
            fmt.bare_base(item.length),
            fmt.plain(item.length_labelled.value),
            fmt.bare_base(item.length_labelled),
        )
        for name, item in card.health.dimensions.items()
    ]
    columns = (_DIMENSION, *map(Column, ("Judge", "95 % interval", "n", "Labels", "n")))
    return Table(
        "Correlation with the length of the text", columns, rows, "rank correlation, -1 to 1", signature=OF_A_JUDGE
    )


def together(card: JudgeCard) -> Table:
    """The dimensions that move together most."""
    rows = [
        (
            f"{pair.first} and {pair.second}",
            fmt.plain(pair.correlation.value),
            fmt.interval(pair.correlation, "size"),
            fmt.bare_base(pair.correlation),
            "always the same" if pair.identical else "always together" if pair.always else "",
        )
        for pair in card.health.pairs[:_MOST_PAIRS]
    ]
    columns = (Column("Dimensions", Kind.TEXT), *map(Column, ("Correlation", "95 % interval", "n", "Always")))
    left_off = len(card.health.pairs) - len(rows)
    note = f"the {len(rows)} closest of {len(card.health.pairs)} pairs" if left_off else ""
    return Table("Dimensions that move together", columns, rows, note, signature=OF_A_JUDGE)


def repeatability(card: JudgeCard) -> Table:
    """How far the judge agrees with itself on one text."""
    result = card.health.dimensions
    if not any(item.repeatability.n or item.reliability.n for item in result.values()):
        return Table("", (), [])
    rows = [
        (
            name,
            _share(item.repeatability),
            _base(item.repeatability),
            fmt.plain(item.moved.value),
            _points(item.reliability),
            _base(item.reliability),
        )
        for name, item in result.items()
    ]
    titles = ("Same again", "n", "Points apart", "Alpha", "n")
    note = "same again: of the texts that one judge scored several times; alpha: between all votes on a text"
    columns = (_DIMENSION, *(Column(title, Kind.STACKED) for title in titles))
    return Table("Repeatability", columns, rows, note, signature=OF_A_JUDGE)


def behaviour(card: JudgeCard) -> Table:
    """What the judge did against its instructions, and how its answers could be read."""
    itself = card.health.itself
    named = [
        ("broke a rule", itself.broken_rules),
        ("made up a quote", itself.made_up_quotes),
        ("high score without a quote", itself.unproven),
        ("too few reasons", itself.too_few_reasons),
        ("could not be used", itself.failed),
        ("missing", itself.unanswered),
    ]
    if itself.cut_off.n and card.health.mode != Mode.RULES:
        named.insert(-1, ("broke off at the limit of tokens", itself.cut_off))
    if itself.contradictions.n:
        named.insert(-1, ("made a complaint that the answer contradicts", itself.contradictions))
    if itself.disagreement.n:
        named.append(("texts with votes far apart", itself.disagreement))
    named += [(f"read: {step.replace('_', ' ')}", share) for step, share in itself.steps.items() if step != "failed"]
    rows = [
        (
            name,
            fmt.band_count(share) if share.value is not None else "",
            fmt.percent(share.value),
            fmt.interval(share),
            fmt.bare_base(share),
        )
        for name, share in named
    ]
    columns = (Column("Votes that", Kind.TEXT), *map(Column, ("Counted", "Share", "95 % interval", "n")))
    return Table("Against itself", columns, rows, signature=OF_A_JUDGE)


def rules(card: JudgeCard) -> Table:
    """Which rules the judge broke, most frequent first."""
    n = card.health.itself.broken_rules.n
    result = card.health.itself.by_rule
    rows = [(rule, f"{count:,} of {n:,}") for rule, count in list(result.items())[:_MOST_RULES]]
    return Table("Rules broken", (Column("Rule", Kind.TEXT), Column("Votes")), rows)


def disagreements(card: JudgeCard) -> Table:
    """By dimension, at most so many of the texts farthest outside what the reviewer allows."""
    rows, left_off = [], []
    for name, item in card.health.dimensions.items():
        listed = item.disagreements[:MOST_LISTED]
        rows += [
            (name, far.case_id, f"{far.best:g} ({far.low:g} to {far.high:g})", f"{far.stated:g}", f"{far.outside:+g}")
            for far in listed
        ]
        more = item.n_disagreements - len(listed)
        left_off += [f"and {more:,} more of {name}"] if more else []
    columns = (_DIMENSION, Column("Case", Kind.TEXT), *map(Column, ("Label", "Judge", "Outside by")))
    note = "; ".join(["label: the reviewer's best score and the range allowed; judge: its uncapped score", *left_off])
    return Table("Farthest from the labels", columns, rows, note if rows else "")


def flagged_wrongly(card: JudgeCard) -> Table:
    """At most so many of the texts whose flag the judge missed, and of those that it flagged for nothing."""
    rows, left_off = [], []
    for name, item in card.health.flags.items():
        for message, cases, count in (
            ("missed", item.missed, item.agreement.missed),
            ("set wrongly", item.false_alarms, item.agreement.false_alarms),
        ):
            rows += [(name, case_id, message) for case_id in cases[:MOST_LISTED]]
            more = count - min(len(cases), MOST_LISTED)
            left_off += [f"and {more:,} more {message}"] if more else []
    columns = (Column("Flag", Kind.TEXT), Column("Case", Kind.TEXT), Column("The judge's flag"))
    return Table("Flags missed or set wrongly", columns, rows, "; ".join(left_off))


def has_readings(card: JudgeCard) -> bool:
    """Whether any vote is of the mode that counts."""
    return bool(card.health.modes.get(card.health.mode))


def all_tables(card: JudgeCard) -> Iterator[Table]:
    """Every table but the thresholds and the confusions.

    Where nothing was read only what became of the answers is shown: all else is n/a.
    """
    if not has_readings(card):
        yield behaviour(card)
        return
    yield from (agreement(card), correlations(card), people(card), flags(card))
    yield from (disagreements(card), flagged_wrongly(card))
    yield from (rubric(card), length(card), together(card))
    yield from (repeatability(card), behaviour(card), rules(card))


def _share(estimate: Estimate) -> str:
    return _with_interval(fmt.percent(estimate.value), estimate, "share")


def _points(estimate: Estimate) -> str:
    return _with_interval(fmt.plain(estimate.value), estimate, "kappa")


def _bias(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return fmt.signed(estimate.value)
    return f"{fmt.signed(estimate.value)}\n[{fmt.signed(estimate.low)}, {fmt.signed(estimate.high)}]"


def _with_interval(figure: str, estimate: Estimate, unit: str) -> str:
    return figure if estimate.value is None else f"{figure}\n{fmt.interval(estimate, unit)}"


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
    if card.verdict is Verdict.FAIL:
        return f"This judge is not fit: {missed} of {fmt.counted(n, 'threshold')} missed{also}"
    if card.verdict is Verdict.AMBIGUOUS:
        return f"This judge is not shown to be fit: {untold} of {fmt.counted(n, 'threshold')} not shown"
    if card.verdict is Verdict.PASS:
        return f"This judge is fit: {fmt.counted(n, 'threshold')} reached"
    return "The suite declares no thresholds for its judge: add them under judge.health"


def standing(card: JudgeCard) -> list[tuple[str, str]]:
    """What the card stands on, as label and value."""
    health = card.health
    rows = [
        ("Judged by", judged_by(card.header)),
        ("Texts", _texts(card)),
        ("Votes", f"{health.n_votes:,}, {_modes(card)}"),
    ]
    if health.n_excluded:
        texts = fmt.counted(health.n_excluded, "text")
        rows.append(("Excluded", f"{texts}: only bare scores could be read from the judge's answers"))
    if why := no_labels(card):
        rows.append(("Labels", why))
    if health.spending is not None and health.spending.calls:
        rows.append(("Judging took", spending_words(health.spending)))
    return rows


def _texts(card: JudgeCard) -> str:
    health, outcomes = card.health, card.outcomes
    never = max(0, card.header.n_planned - sum(outcomes.values()))
    missing = (
        (outcomes.get(Outcome.MALFORMED, 0), "malformed"),
        (outcomes.get(Outcome.TARGET_FAILED, 0), "target failed"),
        (card.n_broken, "not judged, since a scorer or the judge's own code broke"),
        (never, "missing"),
    )
    others = [f"{count:,} {message}" for count, message in missing if count]
    text = f"{health.n_texts:,} of {fmt.counted(card.header.n_planned, 'sample')} reached the judge"
    text += f" ({', '.join(others)})" if others else ""
    otherwise = labelled_otherwise(health.n_labelled_otherwise)
    return f"{text}; {health.n_labelled:,} of them are labelled" + (f"; {otherwise}" if otherwise else "")


def no_labels(card: JudgeCard) -> str:
    """Why nothing can be compared with labels; "" when something can."""
    if card.health.n_labelled:
        return ""
    if not card.labels_at:
        return "n/a: the suite names no labels (judge.labels), so the judge's accuracy is unknown"
    if card.health.n_labelled_otherwise:
        return "n/a: no labels were given for these texts, so the judge's accuracy is unknown"
    return f"n/a: none of the texts has labels at {card.labels_at}, so the judge's accuracy is unknown"


def _modes(card: JudgeCard) -> str:
    messages = [f"{count:,} in mode {mode}" for mode, count in card.health.modes.items()]
    without = card.health.n_votes - sum(card.health.modes.values())
    silent = card.health.itself.unanswered
    unanswered = round((silent.value or 0.0) * silent.n)
    messages += [f"{without - unanswered:,} not usable"] if without > unanswered else []
    messages += [f"{unanswered:,} unanswered"] if unanswered else []
    return ", ".join(messages) or "none"


def corrected(card: JudgeCard) -> list[tuple[str, str]]:
    """The pass rate as the judge reports it, and corrected by its errors on the labelled texts."""
    result = card.health.corrected
    rows = [
        ("As reported", fmt.with_base(result.reported)),
        ("Corrected", f"n/a: {result.message}" if result.message else _corrected(result)),
    ]
    if result.labels.n and result.method != LABELS_ALONE:
        rows.append(("By the labels alone", fmt.with_base(result.labels)))
    if result.sensitivity.n or result.specificity.n:
        rows.append(("Passes those that should", fmt.with_base(result.sensitivity)))
        rows.append(("Stops those that should not", fmt.with_base(result.specificity)))
    return rows


def _corrected(corrected_rate: CorrectedRate) -> str:
    cut = ", cut off at the end of the scale" if corrected_rate.clipped else ""
    return f"{fmt.with_base(corrected_rate.rate)}; {corrected_rate.method}{cut}: {corrected_rate.why}"


def warnings(card: JudgeCard) -> list[str]:
    """What a reader must know before reading a figure."""
    statements = [commonest_failure(card), no_labels(card)]
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
    return f"{count:,} of {card.health.n_texts:,}: {clipped(reason, _LONGEST_REASON)}"


def examples(card: JudgeCard) -> list[str]:
    """One example of each thing that the judge did wrong."""
    messages = []
    for code, words in _MESSAGES.items():
        for example in card.examples.get(code, [])[:1]:
            by = f", {example.member}" if example.member else ""
            messages.append(f"{words} (case {example.case_id}{by}): {example.message}")
    return messages
