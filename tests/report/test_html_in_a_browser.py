"""The page in a real browser: it works, asks for nothing, and runs nothing that a model wrote."""

import pytest
from PIL import Image

from parts import item_reports, reports
from parts.photos import photo_bytes
from parts.views import to_html
from steelyard.report import wording

pytestmark = pytest.mark.browser


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


@pytest.mark.parametrize("hostile", item_reports.HOSTILE_REPORTS)
def test_hostile_text_runs_nothing(opened, hostile):
    report = hostile()
    page = opened(report)
    page.click("#expand")
    page.fill("#find", "onerror")
    # the repeats of a case stand within it, and have opened with it
    samples = page.locator("details.sample:visible:not(:has(.repeat)), .repeat[open]:visible")
    assert samples.count() == len(report.details)


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_a_phone_needs_no_sideways_scrolling(opened, name):
    page = opened(item_reports.EDGES[name](), viewport={"width": 390, "height": 800})
    if page.locator("#expand").is_visible():
        page.click("#expand")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_javascript_samples_still_open(opened):
    page = opened(reports.rich_report(), java_script_enabled=False)
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["rich", "inconclusive", "variants"])
def test_all_text_has_the_contrast_that_wcag_aa_asks_for(opened, name, scheme):
    page = opened(item_reports.EDGES[name](), color_scheme=scheme)
    page.click("#expand")
    assert page.evaluate(CONTRAST) == []


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
    assert sample.get_attribute("open") is not None
    assert sample.locator("svg.picture").is_visible()


def test_pictures_and_errors_can_be_seen_without_javascript(opened, pictured):
    page = opened(pictured, java_script_enabled=False)
    page.locator("details.sample summary").first.click()
    assert page.locator("svg.picture").first.is_visible()
    page.get_by_text("MISS: 9 findings, one by one").click()
    assert page.get_by_text("An item that is there and not in the answer.").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_around_pictures_has_contrast_and_a_phone_needs_no_sideways_scrolling(opened, pictured, scheme):
    page = opened(pictured, color_scheme=scheme, viewport={"width": 390, "height": 800})
    page.click("#expand")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
