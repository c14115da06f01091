"""However a text is made, reading it takes a time that grows with its length and not with the square of it."""

import time
from functools import cache

import pytest

from parts.hostile_texts import UNITS, hostile_texts
from parts.lengths import simulations
from parts.readers import readers

LIMIT = 5.0
"""Seconds of CPU: linear work on these texts takes below 1, quadratic work on the longest of them minutes."""


@cache
def every_reader():
    made = readers()
    for read in made.values():
        read("a b")  # imports and compiled patterns are no part of reading
    return made


def slowest(texts, names=None):
    """The most CPU that one reader took over one of the texts, with its name and the beginning of the text."""
    worst = (0.0, "", "")
    for text in texts:
        for name in names or every_reader():
            began = time.thread_time()
            every_reader()[name](text)
            worst = max(worst, (time.thread_time() - began, name, text[:60]))
    return worst


@pytest.mark.simulation
@pytest.mark.parametrize("seed", range(simulations(3, 1)))
def test_no_hostile_text_of_a_few_thousand_characters_takes_long(seed):
    assert slowest(hostile_texts(seed, 15, 3_000)) < (LIMIT,)


# By what it is made of: the reader that took the square of its length, and the text.
ONCE_SLOW = {
    "spaces before a comment": ("judge", "tone: 4" + " " * 90_000 + "x"),
    "an opening bracket and spaces": ("climb", "{" + " " * 100_000),
    "spaces in a judged text": ("judged text", " " * 90_000),
    "dots in a judged text": ("judged text", "." * 90_000),
    "underscores in a word": ("judged text", "a" + "_" * 90_000 + "b"),
    "spaces after a label": ("judge's notes", "tone" + " " * 5_000 + "x"),
    "words between names": ("judge's notes", "tone" + " " * 15_000 + "x tone"),
    "stops before no order": ("judged text", "judge " + ".\u00a0" * 40_000),
    "many documents": ("judge", '{"a":1}' * 40_000),
    "many ends of thoughts": ("judge", ("</think>" + "{}") * 30_000 + "x"),
    "documents of the judged text": ("judge copies", "".join(f'{{"a":{n}}}' for n in range(20_000))),
    "a word of a failure": ("words of a failure", "a" * 90_000),
    "lines of spaces": ("review a document", " \n" * 40_000),
    "a long reading": ("tarot many", "or " * 300_000),
}


@pytest.mark.parametrize("name", ONCE_SLOW)
def test_what_once_took_the_square_of_its_length_is_read_in_time(name):
    reader, text = ONCE_SLOW[name]
    assert slowest([text], [reader]) < (LIMIT,)


@pytest.mark.long
@pytest.mark.parametrize("unit", UNITS)
def test_forty_thousand_characters_of_one_thing_are_read_in_time(unit):
    text = unit * (40_000 // len(unit))
    assert slowest([text, f"x{text}!"]) < (LIMIT,)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 125))
def test_none_of_a_million_answers_takes_a_second(seed):
    # 25 seeds of 1,000 texts, each read by some 40 readers: a million answers.
    assert slowest(hostile_texts(seed, 1_000, 2_000)) < (1.0,)
