"""Pictures, criteria and errors on the page."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

import steelyard
from parts import item_reports
from parts.photos import photo_bytes
from parts.views import to_html
from steelyard.records import Mark
from steelyard.store.base import SampleFinding

PHOTOS = Path(steelyard.__file__).parent / "suites" / "cards" / "photos"


class Page(HTMLParser):
    """Tags with their attributes, and the text, as a browser would take the page apart."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag, **wanted):
        return [attrs for name, attrs in self.tags if name == tag and wanted.items() <= attrs.items()]

    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture
def folder(tmp_path):
    for number, name in enumerate(("one.jpg", "two.jpg")):
        (tmp_path / name).write_bytes(photo_bytes("JPEG", Image.new("RGB", (400, 300), (90 * number, 120, 60))))
    return tmp_path


def test_a_picture_is_in_the_page_once_however_many_samples_show_it(folder):
    page = Page(to_html(item_reports.items_report(folder)))
    images = page.all("image")
    assert [image["id"] for image in images] == ["picture-0", "picture-1"]
    assert all(image["href"].startswith("data:image/jpeg;base64,/9j/") for image in images)
    uses = [use["href"] for use in page.all("use")]
    # two pictures, each shown in 3 variants x 3 repeats
    assert (uses.count("#picture-0"), uses.count("#picture-1"), len(uses)) == (9, 9, 18)
    assert page.all("svg", viewbox="0 0 400 300", role="img")


def test_everything_right_and_every_finding_with_a_place_has_an_outline(folder):
    report = item_reports.items_report(folder)
    page = to_html(replace(report, details=report.details[:1]))
    sample = page[page.index('class="seen"') :]
    styles = re.findall(r'<path class="outline ([^"]+)" d="([^"]+)"><title>([^<]+)', sample)
    # 0.1 * 400 = 40, 0.1 * 300 = 30, 0.4 * 400 = 160, 0.4 * 300 = 120
    assert styles[0] == ("right", "M40 30H160V120H40Z", "right: first label")
    assert [title for *_, title in styles[1:]] == [
        "1 MISS: expected second label, got nothing",
        "2 TEXT: expected third label, got thrid label",
    ]
    assert len({style for style, *_ in styles}) == 3
    words = Page(sample).words()
    assert "right 1 MISS Not reported 1 EXTRA Invented 1 (1 without a box) TEXT Misread 1" in words
    assert "3 EXTRA D (without a box) no such label" in words


def test_the_truth_is_beside_the_picture_and_only_there(folder):
    report = item_reports.items_report(folder)
    page = to_html(replace(report, details=report.details[:1]))
    assert page.count("<h3>Expected</h3>") == 1
    assert page.index('class="seen"') < page.index("<h3>Expected</h3>") < page.index("<h3>Input</h3>")


def test_a_picture_that_cannot_be_shown_has_its_reason_in_its_place(folder):
    report = item_reports.items_report(folder)
    (folder / "one.jpg").write_bytes(photo_bytes("JPEG"))
    (folder / "two.jpg").unlink()
    page = Page(to_html(report))
    assert page.all("image") == page.all("use") == []
    assert page.words().count("one.jpg has changed since it was scored") == 9
    assert page.words().count("not on this machine: there is no file two.jpg") == 9
    assert "MISS Not reported 1" in page.words()


def test_no_style_attribute_and_nothing_but_the_picture_itself_is_referred_to(folder):
    page = Page(to_html(item_reports.hostile_items_report(folder)))
    assert not [attrs for _, attrs in page.tags if "style" in attrs or any(name.startswith("on") for name in attrs)]
    links = [attrs["href"] for _, attrs in page.tags if "href" in attrs]
    assert all(
        re.fullmatch(r"data:,|data:image/jpeg;base64,[\w+/=]+|#samples?(-[0-9a-f]{12})?|#picture-\d+", link)
        for link in links
    )


def test_nothing_a_model_wrote_about_items_is_rendered(folder):
    page = to_html(item_reports.hostile_items_report(folder))
    parsed = Page(page)
    assert len(parsed.all("script")) == 1
    assert parsed.all("img") == []
    assert len(parsed.all("image")) == 1
    assert "<script>alert('x')</script>" in parsed.words()
    assert not set(page) & set("\x00\x07\x0b\x1b\u202e\u202c\ufffe\ud800")


def test_the_findings_behind_a_count_lead_to_their_samples_and_the_rest_is_counted(folder):
    page = to_html(item_reports.items_report(folder))
    words = Page(page).words()
    assert "18 findings, one by one" in words
    assert "14 more not shown" in words
    anchor = re.search(r'<a href="#(sample-[0-9a-f]{12})">two \[plain\] #1</a>', page)[1]
    assert page.count(f'id="{anchor}"') == 1
    assert "An item in the answer that is not there. severity: major" in words
    # not among the samples that are listed
    assert '<th scope="row">elsewhere [plain] #1</th>' in page


def test_errors_criteria_and_measures_are_on_the_page_with_their_n():
    words = Page(to_html(item_reports.items_report())).words()
    assert "average now 50.0 % [40.0, 60.0] n 18" in words
    assert "MISS Not reported 18 18 (100.0 %) 18 50.0 % -> 75.0 % [65.0, 85.0] +25.0" in words
    assert "FORMAT (Unreadable): average 50.0 % -> up to 52.8 % if fixed, n 18" in words
    assert "grouping (secondary) score.items.grouping >= 80 %" in words
    assert "text 50.0 % [40.0, 60.0] 36 of 72 18 items whose text is right, of those there are" in words
    assert "with-boxes ✕ FAIL 72.2 % between 3 fails 90.0 % ok 2 of 2 ok 6" in words
    assert "cannot tell which variant is best: step-by-step leads" in words
    assert "72.2 % lies between: passes at >= 80 %, fails at < 60 %" in words
    assert "text: Between the two, change the prompt" in words


def test_24_photos_of_9_samples_each_stay_below_ten_megabytes_with_nothing_cut():
    places = tuple(f"photos/{path.name}" for path in sorted(PHOTOS.glob("*.jpg")))
    report = item_reports.items_report(PHOTOS.parent, places)
    one = report.details[0]
    details = [
        replace(each, marks=(Mark((0.1, 0.1, 0.2, 0.2), "a label"),) * 20, findings=one.findings * 4)
        for each in report.details
    ]
    page = to_html(replace(report, details=details))
    assert len(places) == 24
    assert (page.count("<image "), page.count("<use ")) == (24, 216)
    assert len(page.encode()) < 10_000_000
    assert "characters)" not in page
    assert "more findings not shown" not in page


def test_pictures_take_no_room_from_texts(folder):
    big = Image.effect_noise((1000, 1000), 90).convert("RGB")
    (folder / "one.jpg").write_bytes(photo_bytes("JPEG", big, quality=95))
    report = item_reports.items_report(folder, ("one.jpg",))
    long = "word " * 3_000
    page = to_html(replace(report, details=[replace(each, answer=long) for each in report.details]))
    assert page.count(long) == 9


def test_a_thousand_samples_with_fifty_codes_stay_below_three_and_a_half_megabytes():
    report = item_reports.items_report()
    long = "word " * 80
    finding = replace(item_reports.MISSED, expected=long, got=long, evidence=long)
    figure = report.summary.codes[0]
    codes = [replace(figure, code=f"C{number}") for number in range(60)]
    items = {each.code: [SampleFinding("one", "plain", 0, finding)] * 200 for each in codes}
    details = [replace(report.details[0], pictures=(), answer=long * 10)] * 1000
    summary = replace(report.summary, codes=codes)
    page = to_html(replace(report, summary=summary, findings=items, details=details, n_samples=1000))
    assert len(page.encode()) < 3_500_000
    assert "10 more not shown" in page
    assert "swatch" not in page[page.index("<body>") :]
