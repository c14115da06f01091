"""A history in a real browser: it asks for nothing, runs nothing, and fits a phone."""

import pytest

from parts.histories import made_run
from steelyard.decide.history import Wanted, read_history
from steelyard.report.history import document
from steelyard.report.render.html import to_html
from steelyard.store.sql import open_store

pytestmark = pytest.mark.browser


def test_the_page_opens_from_disk_and_fits(chromium, tmp_path):
    store = open_store(":memory:")
    hostile = "<script>alert(1)</script> " + "x" * 80
    for i in range(12):
        told = {"signature": {"truth": "t1" if i < 6 else "t2"}, "figures": {"categories": {hostile: 0.7, "art": 0.8}}}
        store.create_run(made_run(i, 0.8 + i / 200, **told))
    file = tmp_path / "history.html"
    file.write_text(to_html(document(read_history(store, "chairs", Wanted(by="category")))), encoding="utf-8")
    store.close()
    for width, scheme in ((1100, "light"), (390, "dark")):
        said, asked = [], []
        page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("dialog", lambda dialog, said=said: said.append(dialog.message))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(file.as_uri())
        # What changed is on the first screen, and every run is a row.
        assert page.locator("#changes-of-level").bounding_box()["y"] < 800
        assert page.locator("section[aria-labelledby^=history-of] tbody tr").count() == 12
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert said == []
        assert [url for url in asked if url not in (file.as_uri(), "data:,")] == []
