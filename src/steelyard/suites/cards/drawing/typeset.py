"""How a text is broken into lines: by a table of letter widths, so that no font engine has a say in it."""

import itertools
from dataclasses import dataclass

TEXT_WIDTH, TEXT_HEIGHT = 196.0, 136.0  # of a card of 240 x 172
LARGEST = 34.0
LINE_HEIGHT = 1.16
MOST_LINES = 4
WORTH_A_LINE = 1.06  # a further line must make the type so much larger
NARROW, SLIM, WIDE = set("ijlI ,.'-"), set("frt"), set("mwMW")


@dataclass(frozen=True, slots=True)
class Print:
    """A card's text broken into lines, the size of its type and how wide its longest line is."""

    lines: tuple[str, ...]
    size: float
    width: float

    @property
    def height(self) -> float:
        return self.size * LINE_HEIGHT * len(self.lines)


def typeset(text: str) -> Print:
    """A large print of a text that fits on a card in at most four lines, with no more lines than it needs."""
    words = text.split()
    best = Print((), LARGEST, 0.0)
    for count in range(1, min(MOST_LINES, len(words)) + 1):
        fitting = min(splits(words, count), key=lambda lines: (max(widest(lines), TEXT_WIDTH / LARGEST), ragged(lines)))
        size = min(LARGEST, TEXT_WIDTH / widest(fitting), TEXT_HEIGHT / (LINE_HEIGHT * count))
        if not best.lines or size > best.size * WORTH_A_LINE:
            best = Print(fitting, size, widest(fitting) * size)
    return best


def splits(words: list[str], count: int) -> list[tuple[str, ...]]:
    """All the ways to break the words into so many lines."""
    ways = []
    for breaks in itertools.combinations(range(1, len(words)), count - 1):
        edges = (0, *breaks, len(words))
        ways.append(tuple(" ".join(words[start:end]) for start, end in itertools.pairwise(edges)))
    return ways


def ragged(lines: tuple[str, ...]) -> float:
    """How uneven the lines are."""
    return sum(measure(line) ** 2 for line in lines)


def widest(lines: tuple[str, ...]) -> float:
    """The width of the longest line, as a multiple of the size of the type."""
    return max(measure(line) for line in lines)


def measure(line: str) -> float:
    """The width of a line, as a multiple of the size of the type."""
    return sum(width(letter) for letter in line)


def width(letter: str) -> float:
    """About the advance of a letter in the built-in font, rounded up."""
    if letter in NARROW:
        return 0.26
    if letter in SLIM:
        return 0.34
    if letter in WIDE:
        return 0.88
    return 0.7 if letter.isupper() else 0.58
