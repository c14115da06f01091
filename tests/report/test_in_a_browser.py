"""Pages in a real browser: they work, fit a phone, ask for nothing, and run nothing that a model wrote."""

from dataclasses import replace

import pytest
from PIL import Image

from parts import comparisons, item_reports, reports
from parts.chart_figures import some_checks, some_latency, some_stability, with_parts
from parts.histories import keep, made_run
from parts.judged import health_of, judged_suite, scored
from parts.photos import photo_bytes
from parts.views import card_to_html, to_html
from steelyard.comparing import report as blocks
from steelyard.judge_checks.build import Example, JudgeCard, check_health
from steelyard.report import wording
from steelyard.report.render import html
from steelyard.run_history import report as history
from steelyard.run_history.history import HistoryOptions, read_history
from steelyard.store.sql import open_store
from steelyard.suite.labels import Label

pytestmark = pytest.mark.browser

WIDE, DESK, PHONE = ({"width": width, "height": 800} for width in (1280, 1100, 390))


@pytest.fixture(scope="module")
def browsing(chromium):
    """A page with JavaScript and one without, for every test (a page of its own would start a process each time), and
    what they said and asked for."""
    said, asked = [], []
    pages = {
        javascript: chromium.new_context(java_script_enabled=javascript).new_page() for javascript in (True, False)
    }
    for page in pages.values():
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
    return pages, said, asked


@pytest.fixture
def opened_page(browsing, tmp_path):
    """Opens a page from disk; afterwards no error was logged and nothing but the file itself was asked for."""
    pages, said, asked = browsing
    said.clear()
    asked.clear()
    file = tmp_path / "page.html"

    def open_page(text, *, viewport=WIDE, javascript=True):
        file.write_text(text, encoding="utf-8")
        page = pages[javascript]
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme="light")
        page.goto(file.as_uri())
        return page

    yield open_page
    assert said == []
    assert [url for url in asked if url not in (file.as_uri(), "data:,")] == []


@pytest.fixture
def opened(opened_page):
    """The same of a report."""
    return lambda report, **settings: opened_page(to_html(report), **settings)


def scroll_width(page):
    return page.evaluate("document.documentElement.scrollWidth")


def in_every_look(page):
    """The widths at which a page is looked at, each in light and dark."""
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            yield size["width"]


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


@pytest.mark.parametrize("hostile", item_reports.HOSTILE_REPORTS)
def test_hostile_text_runs_nothing(opened, hostile):
    report = hostile()
    page = opened(report)
    page.click("#expand")
    page.fill("#find", "onerror")
    # the repeats of a case stand within it, and have opened with it
    samples = page.locator("details.sample:visible:not(:has(.repeat)), .repeat[open]:visible")
    assert samples.count() == len(report.details)


def test_without_javascript_samples_still_open(opened):
    page = opened(reports.rich_report(), javascript=False)
    assert not page.locator("#controls").is_visible()
    page.locator("details.sample summary").first.click()
    assert page.get_by_text("There is no answer.").first.is_visible()


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


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_a_phone_needs_no_sideways_scrolling_and_text_has_the_contrast_that_wcag_aa_asks_for(opened, name):
    page = opened(item_reports.EDGES[name](), viewport=PHONE)
    if page.locator("#expand").is_visible():
        page.click("#expand")
    assert scroll_width(page) <= 390
    if name in ("rich", "inconclusive", "variants"):
        page.set_viewport_size(DESK)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(CONTRAST) == [], scheme


@pytest.fixture
def pictured(tmp_path):
    """A report of one red picture, 400 x 300, in three variants and three repeats."""
    (tmp_path / "one.jpg").write_bytes(photo_bytes("JPEG", Image.new("RGB", (400, 300), "red"), quality=95))
    return item_reports.items_report(tmp_path, ("one.jpg",))


def test_a_picture_is_painted_with_its_outlines_when_a_sample_is_opened(opened, pictured, tmp_path):
    page = opened(pictured, viewport={"width": 1280, "height": 900})
    assert page.locator("svg.picture:visible").count() == 0
    page.locator("details.sample summary").first.click()
    drawing = page.locator("svg.picture:visible")
    assert drawing.count() == 1
    drawing.screenshot(path=str(tmp_path / "shot.png"))
    shot = Image.open(tmp_path / "shot.png").convert("RGB")
    wide, high = shot.size
    assert wide / high == pytest.approx(4 / 3, rel=0.02)
    # the middle of the picture is bare, and green lies along the left side of what is right, at 0.1 of the width
    red, green, blue = shot.getpixel((wide // 2, high // 2))
    assert red > 200
    assert max(green, blue) < 60
    strip = [shot.getpixel((x, high // 4)) for x in range(wide // 10 - 6, wide // 10 + 7)]
    assert (0, 158, 115) in strip
    assert (255, 255, 255) in strip


def test_hostile_text_on_a_picture_stays_text(opened, pictured, tmp_path):
    page = opened(item_reports.hostile_items_report(tmp_path, ("one.jpg",)))
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert page.locator("svg.picture:visible").count() == 8
    titles = page.locator("svg.picture title").all_text_contents()
    assert len(titles) == 16
    assert all("<script>alert('x')</script>" in title for title in titles)
    assert page.locator("svg.picture script, svg.picture image, svg.picture a").count() == 0


def test_a_finding_in_the_list_of_a_code_opens_its_sample(opened, pictured):
    page = opened(pictured)
    page.fill("#find", "matches nothing")
    assert shown(page) == 0
    # the second repeat, which is not open when its case is
    anchor = wording.anchor(pictured.details[4].line)
    page.get_by_text("MISS: 9 findings, one by one").click()
    page.locator(f'details.code a[href="#{anchor}"]').first.click()
    sample = page.locator(f"#{anchor}")
    # The page opens it when the browser has followed the link, which takes a moment on a busy machine.
    sample.locator("svg.picture").wait_for(state="visible")
    assert sample.get_attribute("open") is not None


def test_pictures_and_errors_can_be_seen_without_javascript(opened, pictured):
    page = opened(pictured, javascript=False)
    page.locator("details.sample summary").first.click()
    assert page.locator("svg.picture").first.is_visible()
    page.get_by_text("MISS: 9 findings, one by one").click()
    assert page.get_by_text("An item that is there and not in the answer.").is_visible()


def test_text_around_pictures_has_contrast_and_a_phone_needs_no_sideways_scrolling(opened, pictured):
    page = opened(pictured, viewport=PHONE)
    page.click("#expand")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CONTRAST) == [], scheme
    assert scroll_width(page) <= 390


@pytest.fixture
def charted():
    """A report with five charts."""
    names = [f"case_{number:02d}" for number in range(8)]
    parts = {"checks": some_checks(names), "stability": some_stability(names), "latency": some_latency(names)}
    return with_parts(reports.rich_report(), **parts)


def test_charts_stand_on_white_and_within_the_page_and_every_word_within_its_drawing(opened, charted):
    page = opened(charted, viewport={"width": 1600, "height": 900})
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
    charts = page.locator("figure.drawn-chart")
    for width in in_every_look(page):
        assert charts.count() == 6
        for index in range(5):
            figure = charts.nth(index)
            assert figure.evaluate("each => getComputedStyle(each).backgroundColor") == "rgb(255, 255, 255)"
            drawing = figure.locator("svg")
            # Never shrunk to what nobody can read: what does not fit is scrolled within its figure.
            assert drawing.evaluate("each => each.getBoundingClientRect().width == each.getAttribute('width')")
            assert figure.evaluate("each => each.getBoundingClientRect().right <= innerWidth")
        assert scroll_width(page) <= width


@pytest.mark.parametrize("name", ["rich", "hostile"])
def test_a_comparison_opens_from_disk_and_fits(opened_page, name):
    page = opened_page(html.to_html(blocks.document(comparisons.ALL[name]())))
    assert page.inner_text("#verdict").endswith("BETTER")
    for width in in_every_look(page):
        # The answer is on the first screen.
        assert page.locator("#verdict").bounding_box()["y"] < 800
        page.locator("details").first.click()
        assert page.locator("details[open]").count() == 1
        assert scroll_width(page) <= width
        page.locator("details[open] summary").first.click()
        assert page.locator("details[open]").count() == 0


def hostile_card():
    """Eight labelled texts, a threshold that so few do not show, and foreign text that tries to get out."""
    suite = judged_suite()
    samples = [scored(f"c{k}", 1 + k % 5) for k in range(8)]
    labels = {f"c{k}": {"tone": Label(3, 2, 4), "overall": Label(3, 3, 3), "harm": False} for k in range(8)}
    everything = " ".join(reports.HOSTILE).replace("\ud800", "")
    health = replace(health_of(samples, suite, labels), complaints=(everything,))
    checks = check_health(health, ["agreement.tone.kappa >= 0.6"])
    examples = {"MADE_UP_QUOTE": [Example(everything, everything, everything)]}
    return JudgeCard(reports.header(suite=suite, suite_name=everything), health, checks, examples=examples)


def test_a_judges_card_opens_from_disk_and_fits(opened_page):
    page = opened_page(card_to_html(hostile_card()))
    assert page.inner_text("#verdict").endswith("AMBIGUOUS")
    assert "This judge is not shown to be fit: 1 of 1 threshold not shown" in page.inner_text("main")
    assert page.locator("table.counts").count() == 2
    for width in in_every_look(page):
        assert scroll_width(page) <= width
    page.set_viewport_size({"width": 360, "height": 800})
    assert scroll_width(page) <= 360


def test_a_history_opens_from_disk_and_fits(opened_page):
    store = open_store(":memory:")
    hostile = "<script>alert(1)</script> " + "x" * 80
    for i in range(12):
        changes = {"truth": "t1" if i < 6 else "t2"}
        figures = {"categories": {hostile: 0.7, "art": 0.8}}
        keep(store, made_run(i, 0.8 + i / 200, signature=changes, figures=figures))
    page = opened_page(html.to_html(history.document(read_history(store, "chairs", HistoryOptions(by="category")))))
    store.close()
    for width in in_every_look(page):
        # What changed is on the first screen, and every run is a row.
        assert page.locator("#changes-of-level").bounding_box()["y"] < 800
        assert page.locator("section[aria-labelledby^=history-of] tbody tr").count() == 12
        assert scroll_width(page) <= width
