"""Two texts in a narrow place are cut so that what differs is in view."""

from __future__ import annotations

import pytest

from steelyard.report.format import clipped_pair

LONG = "The quick brown fox jumps over the lazy dog and then it sleeps in the "


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("abc", "abd", ("abc", "abd")),
        # Both begin with 70 characters that are the same.
        (f"{LONG}sun", f"{LONG}shade", ("...sleeps in the sun", "...sleeps in the shade")),
        ("x" * 100 + "a", "x" * 100 + "b", ("..." + "x" * 10 + "a", "..." + "x" * 10 + "b")),
        # The difference is in view already.
        (
            "One " + LONG,
            "Two " + LONG,
            ("One The quick brown fox jumps over...", "Two The quick brown fox jumps over..."),
        ),
        # One goes on where the other ends.
        (LONG, LONG + "sun", ("...sleeps in the", "...sleeps in the sun")),
        ("same", "same", ("same", "same")),
    ],
)
def test_what_differs_is_in_view(first: str, second: str, shown: tuple[str, str]) -> None:
    assert clipped_pair(first, second, 40) == shown
