"""What is drawn on a picture."""

import math
from dataclasses import replace

import pytest

from parts import item_reports
from steelyard.report.document import Picture
from steelyard.report.pictures import RIGHT, Palette, box_of, drawings

PICTURES = {"one.jpg": Picture("one.jpg", 200, 100, "AAAA")}


@pytest.fixture
def report():
    return item_reports.items_report(places=("one.jpg",))


def drawn(report, detail):
    return drawings(detail, PICTURES, Palette.of(report))


def test_a_box_is_drawn_in_the_pixels_of_its_picture(report):
    (drawing,) = drawn(report, report.details[0])
    right, missed, misread = drawing.outlines
    # 0.1 * 200 = 20, 0.1 * 100 = 10, 0.4 * 200 = 80, 0.4 * 100 = 40
    assert right.path == "M20 10H80V40H20Z"
    assert (right.style, right.number, right.title) == (RIGHT, None, "right: first label")
    # 0.5 * 200 = 100, 0.9 * 200 = 180
    assert (missed.path, missed.number, missed.x, missed.y) == ("M100 10H180V40H100Z", 1, 100.0, 10.0)
    assert missed.title == "1 MISS: expected second label, got nothing"
    assert misread.title == "2 TEXT: expected third label, got thrid label"


def test_a_finding_without_a_place_is_counted_in_the_legend_and_not_drawn(report):
    legend = Palette.of(report).legend(report.details[0])
    assert [(each.code, each.name, each.count, each.n_elsewhere) for each in legend] == [
        ("right", "", 1, 0),
        ("MISS", "Not reported", 1, 0),
        ("EXTRA", "Invented", 1, 1),
        ("TEXT", "Misread", 1, 0),
    ]
    assert len(drawn(report, report.details[0])[0].outlines) == 3


@pytest.mark.parametrize("box", [None, "all", (0, 0, 1), (0, 0, 1, math.nan), (0, 0, 1, math.inf), [None] * 4, {}])
def test_what_is_no_box_is_no_place(box):
    assert box_of({"box": box}) is None


def test_a_box_that_leaves_the_picture_ends_at_its_edge():
    assert box_of({"box": (-0.5, 0.2, 1.5, 0.1)}) == (0.0, 0.1, 1.0, 0.2)


def test_no_two_codes_of_a_suite_look_alike_and_none_like_what_is_right(report):
    codes = [{"code": f"C{number}", "name": "", "about": "", "severity": "error"} for number in range(42)]
    suite = report.header.suite | {"taxonomy": codes}
    palette = Palette.of(replace(report, header=replace(report.header, suite=suite)))
    styles = [palette.style(code["code"]) for code in codes]
    assert len({*styles, RIGHT}) == 43


def test_the_look_of_a_code_does_not_depend_on_what_was_found(report):
    bare = replace(report, details=[], summary=replace(report.summary, codes=[]))
    assert all(
        Palette.of(bare).style(code) == Palette.of(report).style(code) for code in ("MISS", "EXTRA", "TEXT", "FORMAT")
    )


def test_an_undeclared_code_has_a_look_of_its_own(report):
    strange = report.details[0].findings[0] | {"code": "STRANGE"}
    palette = Palette.of(replace(report, details=[replace(report.details[0], findings=[strange])]))
    assert palette.style("STRANGE") not in {palette.style(code) for code in ("MISS", "EXTRA", "TEXT", "FORMAT")}


def test_boxes_belong_to_the_first_picture(report):
    both = item_reports.attachments(None, ("one.jpg", "two.jpg"))
    pictures = PICTURES | {"two.jpg": Picture("two.jpg", 10, 10, "AAAA")}
    detail = replace(report.details[0], pictures=both)
    first, second = drawings(detail, pictures, Palette.of(report))
    assert (len(first.outlines), len(second.outlines)) == (3, 0)


def test_a_picture_that_cannot_be_shown_says_why(report):
    pictures = {"one.jpg": Picture("one.jpg", problem="one.jpg has changed since it was scored")}
    (drawing,) = drawings(report.details[0], pictures, Palette.of(report))
    assert drawing.problem == "one.jpg has changed since it was scored"
    assert drawing.outlines == []
