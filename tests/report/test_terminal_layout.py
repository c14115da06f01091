"""Names in narrow tables are broken where a reader would break them."""

import pytest

from steelyard.report.terminal_layout import at_dots


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        ("score.era.points", 16, "score.era.points"),
        ("score.era.points", 11, "score.era. points"),
        ("score.maker.points", 11, "score. maker. points"),
        ("band.Excellent", 11, "band. Excellent"),
        # Words of their own are broken at spaces anyway.
        ("average score", 5, "average score"),
        ("no_dots_at_all", 5, "no_dots_at_all"),
        ("...", 2, ".. ."),
        ("", 5, ""),
    ],
)
def test_a_name_without_room_is_broken_at_dots(name: str, room: int, shown: str) -> None:
    assert at_dots(name, room) == shown
