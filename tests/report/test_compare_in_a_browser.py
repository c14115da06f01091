"""A comparison in a real browser: it asks for nothing, runs nothing, and fits a phone."""

import pytest

from parts import comparisons
from steelyard.report.compare.blocks import document
from steelyard.report.render.html import to_html

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1100, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["rich", "hostile"])
def test_the_page_opens_from_disk_and_fits(chromium, tmp_path, name, width, scheme):
    file = tmp_path / "compare.html"
    file.write_text(to_html(document(comparisons.ALL[name]())), encoding="utf-8")
    said, asked = [], []
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    assert page.inner_text("#verdict").endswith("BETTER")
    # The answer is on the first screen.
    assert page.locator("#verdict").bounding_box()["y"] < 800
    page.locator("details").first.click()
    assert page.locator("details[open]").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    assert said == []
    assert [url for url in asked if url not in (file.as_uri(), "data:,")] == []
