"""Every page in a real browser with long names and large counts: no text covers another, no word is broken inside."""

from __future__ import annotations

import pytest

from parts.browser import chromium  # noqa: F401 - a fixture
from parts.layout import layout_problems
from parts.rich_run import put_rich
from parts.served import served
from parts.wide_run import SUITE_NAME, put_wide, run_name
from steelyard.people.desk import Draw, extend_plan
from steelyard.store.sql import open_store

pytestmark = pytest.mark.browser
SUITE = SUITE_NAME.replace(" ", "%20")
A, B = run_name(1), run_name(2)
PAGES = (
    "/runs",
    f"/runs?suite={SUITE}",
    f"/runs/{A}",
    f"/runs/{B}",
    "/runs/rich-1",
    f"/runs/{A}/samples",
    "/runs/rich-1/samples",
    f"/runs/{A}/samples/0",
    f"/runs/{A}/samples/1",
    "/runs/rich-1/samples/0",
    f"/changes/{A}/{B}",
    f"/changes/{A}/{B}/pairs",
    f"/changes/{A}/{B}/pairs/1",
    "/changes/rich-1/rich-2",
    "/suites",
    f"/suites/{SUITE}",
    "/suites/rich",
    f"/history/{SUITE}",
    "/history/rich",
    "/desk",
    f"/desk/{A}",
    f"/desk/{A}/figures",
    f"/desk/{A}/truth",
    "/nowhere",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    file = tmp_path_factory.mktemp("wide") / "runs.db"
    store = open_store(str(file))
    for number in (1, 2):
        put_rich(store, f"rich-{number}", number)
        put_wide(store, number)
    extend_plan(store, store.run(A), Draw(random=5), kind="verdict")
    store.close()
    with served(file) as address:
        yield address


@pytest.fixture(scope="module")
def page(chromium, place):  # noqa: F811 - the fixture
    context = chromium.new_context()
    context.add_cookies([{"name": "steelyard_person", "value": "ann", "url": place}])
    made = context.new_page()
    made.set_default_timeout(60_000)
    yield made
    context.close()


def show(page, address):
    page.goto(address, wait_until="domcontentloaded")
    page.wait_for_function("() => !document.title.startsWith('Computing')", timeout=120_000)
    page.wait_for_load_state("load")
    if "/desk/" in address and page.locator("#shown").count():
        page.wait_for_function("() => !document.getElementById('shown').hidden")


@pytest.mark.parametrize("width", [1280, 800, 400])
def test_no_text_covers_another_and_no_word_is_broken_inside(page, place, width):
    page.set_viewport_size({"width": width, "height": 900})
    problems = {}
    for path in PAGES:
        show(page, place + path)
        if found := layout_problems(page):
            problems[path] = found[:5]
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wider > 0:
            problems.setdefault(path, []).append(f"wider by {wider}")
    assert problems == {}


def test_each_page_has_its_own_title(page, place):
    titles = {}
    for path in PAGES:
        show(page, place + path)
        titles.setdefault(page.title(), []).append(path)
    assert {title: paths for title, paths in titles.items() if len(paths) > 1} == {}


def test_a_print_has_no_navigation_and_whole_texts(page, place):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="print")
    for path in PAGES:
        show(page, place + path)
        visible = "els => els.filter(el => el.getClientRects().length).map(el => el.outerHTML.slice(0, 100))"
        controls = "nav, header.top, #filter, form.controls, dialog, .links, input[type=checkbox]"
        assert page.eval_on_selector_all(controls, visible) == [], path
        cut = "els => els.filter(el => el.scrollHeight > el.clientHeight + 2).length"
        assert page.eval_on_selector_all("pre", cut) == 0, path
    page.emulate_media(media="screen")


NAMES = """() => [...document.querySelectorAll("table")].flatMap((table) => {
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
  return heads.flatMap((head, at) => !/^(Run|Case|Sample|Newest run)$/.test(head) ? [] :
    [...table.querySelectorAll("tbody tr")].filter((row) => row.cells.length === heads.length)
      .map((row) => [row.cells[at].textContent.trim(), row.cells[at].querySelector("a")?.href ?? ""]));
})"""


def test_names_of_runs_and_cases_are_links_that_lead_to_them(page, place):
    page.set_viewport_size({"width": 1280, "height": 900})
    links = {}
    for path in PAGES:
        show(page, place + path)
        for name, href in page.evaluate(NAMES):
            assert href.startswith(place) or not name, (path, name)
            links.setdefault(href.removeprefix(place).partition("?")[0].rpartition("/")[0], (name, href))
    assert len(links) > 4
    for name, href in links.values():
        show(page, href)
        assert page.title() != "Not possible · Steelyard", (name, href)
        if "/samples?" in href:
            assert page.locator("[data-rows] [data-href]").count() > 0, (name, href)
