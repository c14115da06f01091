"""An A/B in every view: the same decision everywhere, and nothing foreign rendered."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from html import unescape

import pytest
from rich.console import Console

from steelyard.experiments.decision import AbReport, ArmFacts, Decided, ValidityCheck
from steelyard.experiments.effects import Effect
from steelyard.experiments.report import ab_answer, ab_data, ab_document, ab_figures, ab_word
from steelyard.report.render.html import to_html
from steelyard.report.render.markdown import to_markdown
from steelyard.report.render.terminal import print_document

EVIL = "<script>alert(1)</script>|`*x*`\x1b[31m"


def report(decided=Decided.B, **changes):
    plain = AbReport(
        title="words: A/B words-ab-1",
        kind="offline",
        arms=(ArmFacts("A", "A", (("run", "words-1"),)), ArmFacts("B", "B", (("run", "words-2"), ("model", "m2")))),
        decided=decided,
        why=(),
        quality=Effect("pass rate", "share", 0.64, 0.92, 0.28, 0.137, 0.401, 50, 1, "fixed: exact McNemar", 0.0003),
        extra=(Effect("latency", "s", 7.33, 10.05, 2.72, None, None, 50, 0, "", None, "lower"),),
        checks=(ValidityCheck("arm A is a reading", "50 of 50 samples are conclusive"),),
        test="fixed",
        method="paired by case; seed 0",
        signatures=("A: words | truth 1", "B: words | truth 1"),
        notes=("a note",),
        plan={"seed": 0},
    )
    return replace(plain, **changes)


def terminal(result, width=80):
    out = io.StringIO()
    print_document(ab_document(result), Console(file=out, width=width, force_terminal=False))
    return out.getvalue()


def markdown(result):
    return to_markdown(ab_document(result))


def page(result):
    return to_html(ab_document(result))


VIEWS = [terminal, markdown, page, lambda found: json.dumps(ab_data(found))]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_gives_the_decision_its_figure_n_and_seed(view):
    told = " ".join(view(report()).split())
    for part in ("B is better", "64.0 %", "92.0 %", "+28.0 points", "+13.7 to +40.1", "n = 50", "seed 0", "a note"):
        assert part in told.replace("&#8203;", "").replace("&#43;", "+"), part


@pytest.mark.parametrize(
    ("quality", "extra", "line"),
    [
        ("fixed: exact McNemar", "", "95 %: fixed: exact McNemar | seed 20250101"),
        ("by betting", "by a mixture", "95 %: by betting; by a mixture | nothing drawn"),
        ("by betting", "by betting", "95 %: by betting | nothing drawn"),
        ("", "", ""),
    ],
)
def test_under_the_figures_stands_how_their_intervals_were_made(quality, extra, line):
    plain = report()
    found = report(quality=replace(plain.quality, method=quality), extra=(replace(plain.extra[0], method=extra),))
    assert ab_figures(found).signature == line
    for view in (terminal, markdown, page):
        assert line in " ".join(unescape(view(found)).replace("\u200b", "").split())


@pytest.mark.parametrize(
    ("decided", "answer", "word"),
    [
        (Decided.B, "B is better", "B is better"),
        (Decided.A, "A is better", "A is better"),
        (Decided.SAME, "the same", "same"),
        (Decided.CANNOT_TELL, "cannot tell", "CANNOT TELL"),
    ],
)
def test_each_decision_has_its_words(decided, answer, word):
    assert answer in ab_answer(report(decided))
    assert ab_word(report(decided)).startswith(word)


def test_an_arm_with_a_name_is_called_by_it():
    arms = (ArmFacts("A", "control", ()), ArmFacts("B", "treatment", ()))
    assert ab_answer(report(arms=arms)).startswith("B (treatment) is better")


def test_an_invalid_one_says_why_and_shows_what_is_broken():
    broken = ValidityCheck("sample ratio", "219 and 0 units", fine=False, invalidates=True)
    found = report(Decided.INVALID, why=("the assignment is broken", "sample ratio: 219 and 0"), checks=(broken,))
    told = terminal(found)
    assert "the assignment is broken" in told
    assert "is better" not in told
    assert "BROKEN" in told
    assert ab_data(found)["exit_code"] == 3


def test_what_is_undefined_is_said_and_is_no_number():
    told = terminal(report())
    latency = next(line for line in told.splitlines() if "latency" in line)
    assert "undefined" in latency
    nothing = replace(report().quality, a=None, b=None, difference=None, low=None, high=None, n=0)
    assert "cannot tell: there is no pass rate of both arms" in terminal(report(Decided.CANNOT_TELL, quality=nothing))


def test_a_narrow_terminal_keeps_every_figure():
    told = terminal(report(), width=60)
    assert max(len(line) for line in told.splitlines()) <= 60
    assert "+13.7 to +40.1" in told
