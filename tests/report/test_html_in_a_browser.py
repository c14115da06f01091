"""The page in a real browser: it works, asks for nothing, and runs nothing that a model wrote."""

from pathlib import Path

import pytest

from parts import reports
from steelyard.report.html import to_html

CHROMIUM = Path("/usr/bin/chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a report from disk; afterwards no error was logged and nothing but the file itself was asked for."""
    pages, said, asked = [], [], []

    def open_report(report, **settings):
        file = tmp_path / "report.html"
        file.write_text(to_html(report), encoding="utf-8")
        page = chromium.new_context(**settings).new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        pages.append(file.as_uri())
        return page

    yield open_report
    assert said == []
    assert [url for url in asked if url not in (*pages, "data:,")] == []


def shown(page):
    return page.locator("details.sample:visible").count()


def test_filters_and_order(opened):
    page = opened(reports.rich_report())
    assert shown(page) == 50
    page.select_option("#status", "failed")
    assert shown(page) == 2
    assert page.inner_text("#shown") == "2 of 50 listed samples match"
    page.select_option("#category", "levers")
    assert page.locator("details.sample:visible .name").all_text_contents() == ["part-013"]
    page.select_option("#status", "")
    page.select_option("#category", "")
    page.fill("#find", "CANNOT HELP")
    assert page.locator("details.sample:visible .name").all_text_contents() == ["part-034"]
    page.fill("#find", "")
    page.select_option("#order", "slowest")
    assert page.locator("details.sample .name").first.text_content() == "part-013"
    page.select_option("#order", "worst")
    assert page.locator("details.sample .name").first.text_content() == "part-021"


def test_a_sample_opens_by_keyboard(opened):
    page = opened(reports.rich_report())
    page.locator("details.sample summary").nth(2).focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("bevel gear", exact=True).is_visible()


def test_hostile_text_runs_nothing(opened):
    page = opened(reports.hostile_report())
    page.click("#expand")
    page.fill("#find", "onerror")
    assert shown(page) == 1


@pytest.mark.parametrize("name", reports.EDGES)
def test_a_phone_needs_no_sideways_scrolling(opened, name):
    page = opened(reports.EDGES[name](), viewport={"width": 390, "height": 800})
    if page.locator("#expand").is_visible():
        page.click("#expand")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_javascript_samples_still_open(opened):
    page = opened(reports.rich_report(), java_script_enabled=False)
    assert not page.locator("#controls").is_visible()
    page.locator("details.sample summary").first.click()
    assert page.get_by_text("No answer came.").first.is_visible()


CONTRAST = """() => {
  const channel = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const rgba = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    if (!e.offsetParent || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(rgba(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${e.className || e.tagName} ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["rich", "inconclusive", "variants"])
def test_all_text_has_the_contrast_that_wcag_aa_asks_for(opened, name, scheme):
    page = opened(reports.EDGES[name](), color_scheme=scheme)
    page.click("#expand")
    assert page.evaluate(CONTRAST) == []
