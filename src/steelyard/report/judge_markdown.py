"""A judge's report card for a pull request. Foreign text is never rendered."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.report import judge_tables, judge_wording, wording
from steelyard.report.judge_card import JudgeCard
from steelyard.report.markdown_layout import SIGNS, facts, folded, safe, table_parts


def card_to_markdown(card: JudgeCard) -> str:
    """GitHub-flavoured Markdown: verdict, thresholds and complaints open, the rest folded."""
    foot = f"<sub>{safe(wording.signature_line(card.header), 2_000)}</sub>\n"
    return "\n\n".join([*_parts(card), foot])


def _parts(card: JudgeCard) -> Iterator[str]:
    sign = SIGNS[card.verdict]
    yield f"### {sign} Judge of {safe(card.header.suite_name, 100)}: {judge_wording.verdict_word(card)}"
    yield f"**{safe(judge_wording.headline(card))}**"
    said = [*card.invalid, *judge_wording.warnings(card)]
    if said:
        yield _list(said)
    yield from table_parts(judge_tables.thresholds(card))
    if card.health.complaints:
        yield "**What is wrong**\n\n" + _list(card.health.complaints)
    yield facts("Pass rate", judge_wording.corrected(card))
    tables = [part for table in judge_tables.all_tables(card) for part in table_parts(table)]
    yield folded("Figures", [*tables, facts("Stands on", judge_wording.standing(card))])
    confusions = [part for table in judge_tables.confusions(card) for part in table_parts(table)]
    if confusions:
        yield folded("Labels down, judge across", confusions)
    examples = judge_wording.examples(card)
    if examples:
        yield folded("For example", [_list(examples)])


def _list(sentences: tuple[str, ...] | list[str]) -> str:
    return "\n".join(f"- {safe(sentence)}" for sentence in sentences)
