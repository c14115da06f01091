"""What people's labels say: how far people and judge agree, and what a run's figures are by both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.judge_checks.card import confusion_tables
from steelyard.report import format as fmt
from steelyard.report.document import (
    Block,
    Column,
    Document,
    Facts,
    Kind,
    SmallTables,
    Table,
    Text,
    Tone,
    section,
    table_section,
)
from steelyard.report.render.json import encode_object

if TYPE_CHECKING:
    from steelyard.people.agreement import FigureAgreement, LabelAgreement, Pair, Raters
    from steelyard.people.consensus import Consensus
    from steelyard.people.estimates import Estimates, LabelEstimate
    from steelyard.people.experts import Experts
    from steelyard.records import RunHeader
    from steelyard.stats.intervals import Estimate

_TEXT = Kind.TEXT
_CONFUSED = "the median of what people say down, the judge's score across; on the diagonal the same score"


def _columns(texts: Sequence[str], *figures: str) -> tuple[Column, ...]:
    return (
        *(Column(title, _TEXT) for title in texts),
        *(
            Column(
                title,
                Kind.FIGURE if title in ("n", "People", "To halve") else Kind.STACKED,
                optional=title in ("Weighted", "Spearman", "Bias", "Judge, kappa"),
            )
            for title in figures
        ),
    )


def _figure(estimate: Estimate, unit: str = "share") -> str:
    """`85.4 %`, and below it `[78.1, 91.0]`."""
    value = fmt.in_unit(estimate.value, unit)
    return value if estimate.low is None else f"{value}\n{fmt.interval(estimate, unit)}"


def _coefficient(estimate: Estimate) -> str:
    """`0.62`, and below it `[0.41, 0.79]`."""
    return _figure(estimate, "kappa")


def agreement_document(agreement: LabelAgreement, header: RunHeader) -> Document:
    """The ceiling that people set first, then the judge against it, pairs, and what they disagree on."""
    figures = agreement.figures
    people = fmt.counted(len(agreement.people), "person", "people")
    skipped = f", {agreement.n_skipped:,} skipped" if agreement.n_skipped else ""
    remarks = f"{fmt.counted(agreement.n_labels, 'label')} of {people}{skipped}"
    confused = {item.name: item.judge[-1].confusion for item in figures if item.judge}
    blocks: list[Block] = [
        *section("Labels", Facts([("Labels", remarks), ("Run", header.id)]), main=True),
        *table_section(_ceiling(figures), main=True),
        *table_section(_pairs("Judge and people", [(item.name, pair) for item in figures for pair in item.judge])),
        *table_section(_alternative(figures)),
        *table_section(_pairs("People and people", [(item.name, pair) for item in figures for pair in item.pairs])),
        *table_section(
            _pairs("People and themselves", [(item.name, pair) for item in figures for pair in item.itself])
        ),
        *table_section(_drift(figures)),
        *table_section(_slices(figures)),
        *section("People down, judge across", SmallTables(confusion_tables(confused, "people"), _CONFUSED)),
        *table_section(_answers(agreement)),
        *table_section(_preferences(agreement, header.id)),
        *table_section(_disagreed(figures)),
    ]
    return Document(f"Labels of {header.suite_name}", blocks, ["agreement", f"run {header.id}"])


def _raters(item: Raters) -> tuple[str, ...]:
    judge = item.judge[-1] if item.judge else None
    return (
        f"{item.n_shared:,}",
        _figure(item.agreement),
        _coefficient(item.alpha),
        *((_figure(judge.agreement), _coefficient(judge.kappa_weighted)) if judge else (fmt.NOT_AVAILABLE,) * 2),
    )


_RATERS = ("n", "Same", "Alpha", "Judge, same", "Judge, kappa")


def _ceiling(figures: Sequence[FigureAgreement]) -> Table:
    columns = _columns(["Figure"], *_RATERS)
    rows = [(item.name, *_raters(item)) for item in figures]
    note = (
        "n: items with labels of two people or more; same: pairs of people who say the same of an item, about the"
        " most that a judge can reach; alpha:"
        " Krippendorff's (ordinal, of yes and no nominal); judge: with the median of what people say (kappa:"
        " weighted by squared distance)"
    )
    return Table("How far people agree", columns, rows, note if rows else "")


def _pairs(title: str, pairs: Iterable[tuple[str, Pair]]) -> Table:
    columns = _columns(["Figure", "Raters"], "n", "Same", "Kappa", "Weighted", "Spearman", "Bias")
    rows = [
        (
            name,
            pair.first if pair.first == pair.second else f"{pair.first}, {pair.second}",
            f"{pair.agreement.n:,}",
            _figure(pair.agreement),
            _coefficient(pair.kappa),
            _coefficient(pair.kappa_weighted),
            _coefficient(pair.spearman),
            _coefficient(pair.bias),
        )
        for name, pair in pairs
        if pair.agreement.n
    ]
    note = "kappa: Cohen's; weighted: by squared distance; bias: the first minus the second"
    return Table(title, columns, rows, note if rows else "")


def _alternative(figures: Sequence[FigureAgreement]) -> Table:
    columns = _columns(["Figure"], "People", "Winning rate", "Advantage")
    rows = [
        (item.name, str(item.test.n_people), fmt.percent(item.test.winning_rate), _figure(item.test.advantage))
        for item in figures
        if item.test is not None and item.test.winning_rate is not None
    ]
    epsilon = next((item.test.epsilon for item in figures if item.test is not None), 0.0)
    note = (
        "alternative annotator test: from a winning rate of 50 % on the judge may stand for one of the people; a judge"
        f" that is worse by less than {epsilon:g} (epsilon) wins"
    )
    return Table("May the judge stand for a person?", columns, rows, note if rows else "")


def _drift(figures: Sequence[FigureAgreement]) -> Table:
    rows = [
        (item.name, person, str(moved.n), _coefficient(moved))
        for item in figures
        for person, moved in item.drift.items()
    ]
    note = "how much more the later half of a person's labels is above the others' than the earlier half"
    columns = _columns(["Figure", "Person"], "n", "Moved")
    return Table("Drift", columns, rows, note if rows else "")


def _slices(figures: Sequence[FigureAgreement]) -> Table:
    columns = _columns(["Figure", "Category"], *_RATERS)
    return Table(
        "By category", columns, [(item.name, part.name, *_raters(part)) for item in figures for part in item.slices]
    )


def _answers(agreement: LabelAgreement) -> Table:
    columns = _columns(["People", "Field"], "n", "Same", "F1")
    rows = []
    for pair in agreement.answers:
        names = f"{pair.first}, {pair.second}"
        rows += [(names, name, f"{value.n:,}", _figure(value), "") for name, value in pair.fields.items()]
        rows += [(names, name, f"{value.n:,}", "", _figure(value)) for name, value in pair.lists.items()]
    return Table("People's own answers", columns, rows)


def _preferences(agreement: LabelAgreement, run_id: str) -> Table:
    columns = _columns(["Other run"], "n", "Better", "Ties", "Worse", "Preferred")
    rows = [
        (
            item.other_run or fmt.NOT_AVAILABLE,
            f"{item.share.n:,}",
            f"{item.better:,}",
            f"{item.ties:,}",
            f"{item.worse:,}",
            _figure(item.share),
        )
        for item in agreement.preferences
    ]
    note = f"better: labels that prefer the answer of {run_id}; preferred: their share, a tie counts half"
    return Table("Which answer is better", columns, rows, note)


def _disagreed(figures: Sequence[FigureAgreement]) -> Table:
    columns = _columns(["Case", "Figure", "What they say"])
    rows = [
        (
            key[0] + (f" [{key[1]}]" if key[1] else ""),
            item.name,
            ", ".join(f"{who} {value:g}" for who, value in values.items()),
        )
        for item in figures
        for key, values in item.disagreed
    ]
    return Table("Where people disagree most", columns, rows)


def estimates_document(estimates: Estimates, header: RunHeader) -> Document:
    """The pass rate by judge and labels first, then all figures and what more labels would bring."""
    first = estimates.figures[0]
    blocks: list[Block] = [
        Text(_sentence(first, header.id), Tone.STRONG),
        *table_section(_figures(estimates.figures), main=True),
        *section("Stands on", Facts(_standing(estimates))),
    ]
    return Document(f"Estimates of {header.suite_name}", blocks, ["estimates", f"run {header.id}"])


def _value(item: LabelEstimate, estimate: Estimate) -> str:
    return _figure(estimate) if item.scale is None else _coefficient(estimate)


def _line(estimate: Estimate) -> str:
    return _figure(estimate).replace("\n", " ")


def _sentence(item: LabelEstimate, run_id: str) -> str:
    if item.together.value is None:
        return f"No estimate of the pass rate: {item.why}. Draw some: steelyard label plan {run_id} --random 50"
    text = f"Pass rate by judge and labels together: {_line(item.together)}; the judge alone says {_line(item.judge)}"
    if item.more_to_halve is not None:
        text += f". Label {item.more_to_halve:,} more at random and the interval halves"
    return text


def _figures(figures: Sequence[LabelEstimate]) -> Table:
    columns = _columns(["Figure", "Category"], "n", "Judge", "Labels alone", "Together", "To halve")
    rows = [
        (
            item.name,
            item.slice,
            f"{item.labels.n:,}",
            _value(item, item.judge),
            _value(item, item.labels),
            _value(item, item.together),
            fmt.NOT_AVAILABLE if item.more_to_halve is None else f"{item.more_to_halve:,} more",
        )
        for item in figures
    ]
    note = "together: what the judge says of all answers, corrected by the labels; to halve: labels at random"
    return Table("Figures", columns, rows, note)


def _standing(estimates: Estimates) -> list[tuple[str, str]]:
    costs = estimates.costs
    facts = [
        ("Drawn at random", fmt.counted(estimates.n_random, "item")),
        ("Drawn for precision", fmt.counted(estimates.n_precision, "item")),
        ("Declared random", f"{fmt.counted(estimates.n_declared, 'item')}, not sampled by this tool"),
        ("Labels of cases", fmt.counted(estimates.n_of_cases, "item")),
        ("Picked", f"{fmt.counted(estimates.n_other, 'item')}, in no estimate"),
        ("Not blind", f"{fmt.counted(estimates.n_not_blind, 'item')}: labelled in sight of other verdicts"),
        (
            "Skipped",
            f"{fmt.counted(estimates.n_skipped, 'item')} drawn by chance, in no estimate: people skip what is hard",
        ),
        ("Malformed", f"{fmt.counted(estimates.n_malformed, 'item')}, counted as not passed"),
        ("Not read", f"{fmt.counted(estimates.n_unread, 'item')} without a verdict of the judge, in no estimate"),
        ("Method", ": ".join(filter(None, (estimates.figures[0].method, estimates.figures[0].why)))),
    ]
    if estimates.not_random:
        facts.append(("Not a random part", estimates.not_random))
    if costs.labels is not None:
        facts.append(("Labels cost", f"{costs.labels:,.2f}"))
    if costs.halving is not None:
        facts.append(("Halving costs", f"{costs.halving:,.2f}"))
    if costs.judge_calls is not None:
        facts.append(("Judge calls cost", f"{costs.judge_calls:,.4f}"))
    return [fact for fact in facts if not fact[1].startswith("0 items")]


def consensus_document(consensus: Consensus, header: RunHeader) -> Document:
    """Which method and why, whom to rely on, and what needs another label."""
    facts = [
        ("Labels", f"{fmt.counted(consensus.n_labels, 'label')} of {fmt.counted(consensus.n_items, 'item')}"),
        ("Gold items", f"{consensus.n_gold:,}"),
        ("Method", consensus.method + (f", shrinkage {consensus.shrinkage:g}" if consensus.shrinkage else "")),
        ("Agreed", fmt.counted(len(consensus.agreed), "item")),
        ("Need a label", fmt.counted(len(consensus.needs_label), "item")),
        *((f"Share of {value}", fmt.percent(share)) for value, share in zip(*_classes(consensus), strict=True)),
    ]
    blocks: list[Block] = [
        *section(
            f"Crowd: {consensus.figure}",
            Facts(facts),
            *(Text(group.message) for group in consensus.one_vote),
            Text(consensus.message),
            main=True,
        ),
        *table_section(_methods(consensus)),
        *table_section(_crowd(consensus)),
        *table_section(_needs_label(consensus)),
    ]
    return Document(f"Labels of {header.suite_name}", blocks, ["crowd", f"run {header.id}"])


def _classes(consensus: Consensus) -> tuple[list[str], tuple[float, ...]]:
    words = {0.0: "no", 1.0: "yes"} if set(consensus.classes) <= {0.0, 1.0} else {}
    return [words.get(value, fmt.as_text(value)) for value in consensus.classes], consensus.shares


def _methods(consensus: Consensus) -> Table:
    columns = _columns(["Method"], "Held-out labels", "Against majority", "Gold, right")
    rows = [
        (score.method, _coefficient(score.held_out), _coefficient(score.against_majority), _figure(score.gold))
        for score in consensus.scores
    ]
    note = "held-out labels: mean log-probability, 0 is the best; gold: share of gold items with the right answer"
    return Table("Methods", columns, rows, note)


def _crowd(consensus: Consensus) -> Table:
    columns = _columns(["Person"], "n", "Reliability", "Gold, right", "Information")
    rows = [
        (
            f"{item.name}{' (spammer)' if item.quality.spammer else ''}",
            f"{item.quality.n_labels:,}",
            _figure(item.quality.reliability),
            _figure(item.quality.gold),
            _coefficient(item.quality.information),
        )
        for item in sorted(consensus.people, key=lambda item: item.quality.reliability.value or 0.0)
    ]
    note = "reliability: expected share of right labels; information: 0 when labels tell nothing, 1 at best"
    return Table("People, the least reliable first", columns, rows, note)


def _needs_label(consensus: Consensus) -> Table:
    rows = [(f"{key[0]} [{key[1]}]" if key[1] else key[0],) for key in consensus.needs_label]
    return Table("Items that need another label", _columns(["Case"]), rows)


def experts_document(experts: Experts, suite: str) -> Document:
    """How well the truth predicts experts, and experts each other; then the contested cases."""
    columns = _columns(["Case", "Why", "What their answers earn by the truth"])
    rows, questioned = (
        [
            (item.case_id, item.why, ", ".join(f"{who} {fmt.percent(score)}" for who, score in item.scores.items()))
            for item in items
        ]
        for items in (experts.contested, experts.questioned)
    )
    how = "contested when a second person disagrees, or when another upholds it: label experts SUITE --uphold CASE"
    facts = [
        (
            "Answered",
            f"{fmt.counted(experts.n_cases, 'case')} by {fmt.counted(len(experts.people), 'person', 'people')}",
        ),
        ("Pass by the truth", _line(experts.by_truth)),
        ("Score by the truth", _line(experts.score)),
        ("Same as each other", _line(experts.by_each_other)),
        ("Contested", fmt.counted(len(rows), "case")),
        ("Questioned", fmt.counted(len(questioned), "case")),
    ]
    blocks: list[Block] = [
        *section("Experts and truth", Facts(facts), main=True),
        *table_section(Table("Contested cases", columns, rows)),
        *table_section(Table("Questioned cases, not contested", columns, questioned, how)),
    ]
    return Document(f"Experts on {suite}", blocks)


def label_lines(
    agreement: LabelAgreement, estimates: Estimates | None = None, other_run: str = ""
) -> list[tuple[str, str]]:
    """What the labels of a run show, in a few lines; where they compare it with another run, which answers people
    prefer."""
    if not agreement.n_labels:
        return [("Labels", "none yet")]
    people = fmt.counted(len(agreement.people), "person", "people")
    lines = [("Labels", f"{fmt.counted(agreement.n_labels, 'label')} of {people}")]
    preferences = (item for item in agreement.preferences if item.other_run == other_run)
    lines += [("Preferred to the other", _line(item.share)) for item in preferences]
    if estimates is None:
        return lines
    for figure in agreement.figures:
        alpha = "" if figure.alpha.value is None else f", alpha {figure.alpha.value:.2f}"
        if figure.n_shared:
            same = f"{_line(figure.agreement)} of {figure.n_shared:,} shared{alpha}"
            lines.append((f"{figure.name}: people agree", same))
        if figure.judge and figure.judge[-1].agreement.n:
            lines.append((f"{figure.name}: judge agrees", _line(figure.judge[-1].agreement)))
    rate = estimates.figures[0]
    lines.append(("Pass rate", _line(rate.together) if rate.together.value is not None else f"none: {rate.why}"))
    if rate.more_to_halve is not None:
        lines.append(("To halve the interval", f"{rate.more_to_halve:,} more at random"))
    return lines


def people_data(header: RunHeader, part: Any) -> dict[str, Any]:
    """Agreement or estimates as plain data."""
    return {"run": header.id, "suite": header.suite_name} | encode_object(part)
