"""A run's report in every form, as the commands make it."""

from __future__ import annotations

from html.parser import HTMLParser

from rich.console import Console

from steelyard.judge_checks import card as judge
from steelyard.report import run
from steelyard.report.render import html, markdown, terminal
from steelyard.report.run import data as to_json
from steelyard.report.run import decision_data as decision_to_json

__all__ = ["decision_to_json", "to_json"]


def to_html(report):
    """The page of a run."""
    return html.to_html(run.document(report))


def to_markdown(report, **settings):
    """The comment on a change."""
    return markdown.to_markdown(run.document(report), **settings)


def print_report(report, console: Console):
    """Everything, as `report --full` prints it."""
    terminal.print_document(run.document(report), console)


def print_decision(report, console: Console):
    """What `gate` prints."""
    terminal.print_document(run.decision_document(report), console)


def card_to_html(card):
    """The page of a judge's report card."""
    return html.to_html(judge.document(card))


def card_to_markdown(card):
    """A judge's report card as Markdown."""
    return markdown.to_markdown(judge.document(card))


def card_to_json(card):
    """A judge's report card as data."""
    return judge.data(card)


def print_card(card, console: Console):
    """A judge's report card in a terminal."""
    terminal.print_document(judge.document(card), console)


def squeezed(text):
    """A text with every run of spaces and line ends as one space."""
    return " ".join(text.split())


class Shown(HTMLParser):
    """The text of a page and the names of its elements."""

    def __init__(self, page):
        super().__init__()
        self.text, self.names = "", set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.text += " "

    def handle_data(self, data):
        self.text += data
