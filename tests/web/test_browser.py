"""Every page in a real browser: clicks and keys lead through it, hostile answers do nothing, axe is content."""

from __future__ import annotations

import json

import pytest
from axe_playwright_python.sync_playwright import Axe

from parts.browser import chromium  # noqa: F401 - a fixture
from parts.rich_run import put_rich
from parts.served import put_all, served
from steelyard.people.desk import Draw, extend_plan
from steelyard.store.sql import open_store

pytestmark = pytest.mark.browser
PAGES = (
    "/runs",
    "/runs/{run}",
    "/runs/{run}/samples",
    "/runs/{run}/samples?order=score&text=case",
    "/runs/{run}/samples/0",
    "/runs/{run}/samples/6",
    "/changes/{run}/{other}",
    "/changes/{run}/{other}/pairs",
    "/changes/{run}/{other}/pairs/1",
    "/suites",
    "/desk",
    "/desk/{run}",
    "/desk/{run}/figures",
    "/desk/{run}/truth",
)
RUNS = {"rich": ("rich-1", "rich-2"), "hostile": ("hostile-1", "hostile-2")}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    file = tmp_path_factory.mktemp("served") / "runs.db"
    store = open_store(str(file))
    put_all(store)
    for run in ("rich-1", "hostile-1"):
        extend_plan(store, store.run(run), Draw(random=5))
    store.close()
    with served(file) as address:
        yield address


class Tab:
    """A page of the browser that notes whatever a hostile text could do."""

    def __init__(self, browser, place, **settings):
        self.place = place
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, **settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.trouble = []
        self.page.on("dialog", lambda dialog: (self.trouble.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("console", lambda line: self.trouble.append(line.text) if line.type == "error" else None)
        self.page.on("request", self._asked)

    def _asked(self, request):
        if not request.url.startswith((self.place, "data:")):
            self.trouble.append(f"asked {request.url}")

    def open(self, path):
        """Open a page, and wait until its figures are there."""
        self.page.goto(self.place + path, wait_until="domcontentloaded")
        self.settle()

    def settle(self):
        self.page.wait_for_function("() => !document.title.startsWith('Computing')", timeout=120_000)
        self.page.wait_for_load_state("load")

    def title(self):
        return self.page.locator("h1").first.inner_text()


@pytest.fixture
def tab(chromium, place):  # noqa: F811 - the fixture
    made = Tab(chromium, place)
    yield made
    made.context.close()


def addresses(kind):
    run, other = RUNS[kind]
    return [path.format(run=run, other=other) for path in PAGES]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_no_page_scrolls_sideways(chromium, place, scheme):  # noqa: F811
    tab, axe = Tab(chromium, place, color_scheme=scheme), Axe()
    problems = []
    for path in [*addresses("rich"), "/history/rich", "/suites/rich", "/nowhere"]:
        tab.page.set_viewport_size({"width": 1280 if scheme == "light" else 400, "height": 800})
        tab.open(path)
        found = axe.run(tab.page).response["violations"]
        problems += [
            (path, item["id"], [node["html"][:200] for node in item["nodes"]][:3])
            for item in found
            if item["impact"] in ("serious", "critical")
        ]
        tab.page.set_viewport_size({"width": 400, "height": 800})
        wider = tab.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        problems += [(path, "wider", wider)] if wider > 0 else []
    assert problems == []
    assert [line for line in tab.trouble if "404" not in line] == []
    tab.context.close()


def test_hostile_answers_do_nothing(tab):
    for path in addresses("hostile"):
        tab.open(path)
        assert tab.page.evaluate("window.broken") is None, path
        assert tab.page.locator("main script, main iframe, main object, main [onerror], main [onload]").count() == 0
        links = tab.page.eval_on_selector_all("a[href]", "links => links.map(link => link.protocol)")
        assert set(links) == {"http:"}, path
        # A mark that turns the direction of what follows is spelled out.
        assert not {"\u202e", "\u2066"} & set(tab.page.locator("main").inner_text()), path
    assert tab.trouble == []


def test_from_a_figure_to_the_samples_behind_it_and_to_one_of_them(tab):
    tab.open("/runs/rich-1")
    row = tab.page.get_by_role("row", name="tables").filter(has=tab.page.locator("a.behind")).first
    row.locator("a.behind").first.click()
    tab.settle()
    assert "category=tables" in tab.page.url
    assert tab.page.locator("[data-rows] [data-href]").count() > 0
    tab.page.keyboard.press("j")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/samples/*")
    assert "case-" in tab.title()
    assert tab.trouble == []


def test_two_runs_are_picked_and_compared_and_keys_lead_through_the_pairs(tab):
    tab.open("/runs")
    for run in ("rich-1", "rich-2"):
        tab.page.locator(f"[data-pick='{run}']").check()
    tab.page.get_by_role("button", name="Compare two runs").click()
    tab.settle()
    assert "/changes/rich-1/rich-2" in tab.page.url
    tab.page.keyboard.press("b")
    tab.page.wait_for_url("**/pairs/*")
    first = tab.page.url
    tab.page.keyboard.press("b")
    tab.page.wait_for_function("first => location.href !== first", arg=first)
    assert tab.trouble == []


def test_keys_that_come_faster_than_labels_are_saved_give_a_label_each(chromium, tmp_path):  # noqa: F811
    store = open_store(str(tmp_path / "runs.db"))
    put_rich(store, "rich-1", 1)
    extend_plan(store, store.run("rich-1"), Draw(random=14), kind="verdict")
    store.close()
    with served(tmp_path / "runs.db") as place:
        tab = Tab(chromium, place)
        tab.context.add_cookies([{"name": "steelyard_person", "value": "ann", "url": place}])

        def late(route):
            # Each label takes longer than the next key.
            tab.page.wait_for_timeout(40)
            route.continue_()

        tab.page.route("**/labels", late)
        tab.open("/desk/rich-1")
        tab.page.wait_for_function("() => !document.getElementById('shown').hidden")
        for key in "pfpfpfpfpu":
            tab.page.keyboard.press(key)
        # Nine labels, the last of which was taken back; then one more.
        tab.page.keyboard.press("f")
        tab.page.wait_for_function("() => document.getElementById('yours').textContent == '9'")
        tab.page.wait_for_function("() => document.getElementById('desk').dataset.state == 'saved'")
        assert tab.trouble == []
        tab.context.close()
    store = open_store(str(tmp_path / "runs.db"))
    given = [label.value for label in store.people.labels(run_id="rich-1")]
    store.close()
    # p and f in turn; the ninth is f instead of p.
    assert sorted(given) == [False] * 5 + [True] * 4


def test_labels_are_given_and_taken_back_by_keyboard(tab, place):
    tab.context.add_cookies([{"name": "steelyard_person", "value": "ann", "url": place}])
    tab.open("/desk/rich-1")
    left = tab.page.locator("#left")
    tab.page.wait_for_function("() => !document.getElementById('shown').hidden")
    before = int(left.inner_text())
    question = tab.page.locator("fieldset[data-question]").first
    key = question.locator("button[data-short]").first.get_attribute("data-short")
    for n in (1, 2):
        for _ in range(tab.page.locator("fieldset[data-question]:has(button[data-short])").count()):
            tab.page.keyboard.press(key)
        tab.page.wait_for_function("n => document.getElementById('yours').textContent == n", arg=str(n))
    assert int(left.inner_text()) == before - 2
    tab.page.keyboard.press("u")
    tab.page.wait_for_function("() => document.getElementById('yours').textContent == '1'")
    stored = json.loads(tab.context.request.get(f"{place}/api/desk/rich-1?person=ann").text())
    assert stored["yours"] == 1
    assert tab.trouble == []
