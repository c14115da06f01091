"""A judge's report card in a real browser: it asks for nothing, runs nothing, and fits a phone."""

from dataclasses import replace

import pytest

from parts.described import judge_health
from parts.judged import judged_suite, scored
from parts.reports import HOSTILE, header
from parts.views import card_to_html
from steelyard.analysis.judge.health import check_health
from steelyard.metrics.expressions import parse_judge_threshold
from steelyard.report.judge.build import Example, JudgeCard
from steelyard.suite.labels import Label

pytestmark = pytest.mark.browser


def hostile_card():
    """Eight labelled texts, a threshold that so few do not show, and foreign text that tries to get out."""
    suite = judged_suite()
    samples = [scored(f"c{k}", 1 + k % 5) for k in range(8)]
    labels = {f"c{k}": {"tone": Label(3, 2, 4), "overall": Label(3, 3, 3), "harm": False} for k in range(8)}
    everything = " ".join(HOSTILE).replace("\ud800", "")
    health = replace(judge_health(samples, suite, labels), complaints=(everything,))
    asked = [parse_judge_threshold("agreement.tone.kappa >= 0.6")]
    checks = tuple(zip(asked, check_health(health, asked), strict=True))
    examples = {"MADE_UP_QUOTE": [Example(everything, everything, everything)]}
    return JudgeCard(header(suite=suite, suite_name=everything), health, checks, examples=examples)


@pytest.mark.parametrize("width", [1100, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_card_opens_from_disk_and_fits(chromium, tmp_path, width, scheme):
    file = tmp_path / "card.html"
    file.write_text(card_to_html(hostile_card()), encoding="utf-8")
    said, asked = [], []
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    assert page.inner_text("#verdict").endswith("AMBIGUOUS")
    assert "This judge is not shown to be fit: 1 of 1 threshold not shown" in page.inner_text("main")
    assert page.locator("table.counts").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    assert said == []
    assert [url for url in asked if url not in (file.as_uri(), "data:,")] == []
