"""Two texts word by word: every difference of long texts is shown, with what is around it."""

from __future__ import annotations

import random

import pytest

from steelyard.web.differences import Part, ShownLength, differences

SHORT = ShownLength(most=300, context=120)
ALL = ShownLength(most=10**9, context=10**9)


def sentences(n: int) -> list[str]:
    return [f"Sentence {number} is about thing {number % 7}. " for number in range(n)]


def changes(parts: list[Part]) -> list[Part]:
    return [part for part in parts if part[0] in ("first", "second")]


def side(parts: list[Part], name: str) -> str:
    return "".join(text for kind, text in parts if kind in ("both", name))


@pytest.mark.parametrize("reach", [ShownLength(), SHORT])
@pytest.mark.parametrize("at", [0, 2_000, 3_999])
def test_one_word_that_differs_in_a_long_text_is_shown_wherever_it_is(reach: ShownLength, at: int) -> None:
    before = sentences(4_000)
    after = [*before[:at], before[at].replace("about", "beyond"), *before[at + 1 :]]
    parts = differences("".join(before), "".join(after), reach)
    assert changes(parts) == [("first", "about"), ("second", "beyond")]
    # 160,000 characters are the same; the page has what is around the change.
    assert sum(len(text) for _, text in parts) < 2_000


def test_changes_far_apart_are_all_shown() -> None:
    before = sentences(4_000)
    after = list(before)
    for at in (5, 2_000, 3_990):
        after[at] = after[at].replace("about", f"beyond{at}")
    del after[1_000]
    parts = differences("".join(before), "".join(after), SHORT)
    assert [text.strip() for _, text in changes(parts)] == [
        *("about", "beyond5", "Sentence 1000 is about thing 6."),
        *("about", "beyond2000", "about", "beyond3990"),
    ]
    assert [text for kind, text in parts if kind == "cut"] != []


def test_of_texts_without_anything_in_common_both_beginnings_are_shown_and_how_much_more_differs() -> None:
    parts = differences("a" * 10_000, "b" * 10_000, SHORT)
    assert parts == [("first", "a" * 300), ("second", "b" * 300), ("cut", "[19,400 more characters differ]")]


@pytest.mark.parametrize("seed", range(20))
def test_the_parts_are_both_texts_whole(seed: int) -> None:
    draw = random.Random(seed)
    words = ["one", "two ", "three.", " ", "\n", "vier, ", "été", "日本。", "_"]
    first = "".join(draw.choices(words, k=draw.choice([0, 5, 50, 3_000])))
    pieces = [first[n : n + 40] for n in range(0, len(first), 40)]
    second = "".join(draw.choice(["", text, text, text, text[::-1]]) for text in pieces)
    parts = differences(first, second, ALL)
    assert (side(parts, "first"), side(parts, "second")) == (first, second)


def test_equal_and_empty_texts_have_no_change() -> None:
    assert differences("same text", "same text") == [("both", "same text")]
    assert differences("", "") == []
    assert differences("", "new") == [("second", "new")]
