"""Charts of a report in a real browser: white in dark mode, whole on a phone, and nothing is asked for."""

from dataclasses import replace

import pytest

from parts import reports
from parts.chart_figures import some_checks, some_latency, some_stability
from parts.views import to_html

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    names = [f"case_{number:02d}" for number in range(8)]
    plain = reports.rich_report()
    figures = {"checks": some_checks(names), "stability": some_stability(names), "latency": some_latency(names)}
    file = tmp_path_factory.mktemp("charts") / "report.html"
    file.write_text(to_html(replace(plain, summary=replace(plain.summary, **figures))), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1200), ("dark", 1200), ("dark", 390)], ids=["light", "dark", "phone"]
)
def test_charts_stand_on_white_and_within_the_page(chromium, page_file, scheme, width):
    page = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 844}).new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    charts = page.locator("figure.drawn-chart")
    assert charts.count() == 5
    for index in range(5):
        figure = charts.nth(index)
        assert figure.evaluate("each => getComputedStyle(each).backgroundColor") == "rgb(255, 255, 255)"
        drawing = figure.locator("svg")
        # Never shrunk to what nobody can read: what does not fit is scrolled within its figure.
        assert drawing.evaluate("each => each.getBoundingClientRect().width == each.getAttribute('width')")
        assert figure.evaluate("each => each.getBoundingClientRect().right <= innerWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []
    assert [url for url in asked if url not in (page_file.as_uri(), "data:,")] == []


def test_every_word_of_a_chart_lies_within_its_drawing(chromium, page_file):
    page = chromium.new_context(viewport={"width": 1600, "height": 900}).new_page()
    page.goto(page_file.as_uri())
    outside = page.evaluate(
        """() => [...document.querySelectorAll('figure.drawn-chart svg')].flatMap(svg => {
            const whole = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text')].filter(text => text.textContent).filter(text => {
                const box = text.getBoundingClientRect();
                const across = box.left < whole.left || box.right > whole.right;
                return across || box.top < whole.top || box.bottom > whole.bottom;
            }).map(text => text.textContent);
        })"""
    )
    assert outside == []
