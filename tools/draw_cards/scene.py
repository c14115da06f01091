"""Where every card of a photo lies and how its text is set: pure geometry, from which the truth follows; no Pillow."""

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .plan import SINGLES, TWINS, Pile, Plan

# How a text is broken into lines: by a table of letter widths, so that no font engine has a say in it.
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


Matrix = npt.NDArray[np.float64]

CARD_WIDTH, CARD_HEIGHT = 240.0, 172.0  # in units of the table
LONG_SIDE, SHORT_SIDE = 1280, 960  # in pixels
MARGIN = 0.03
CLOSEST = 1.4  # pixels to a unit: a photo of few cards still shows some table


@dataclass(frozen=True, slots=True)
class Card:
    """A card: `place` takes points of the card (0, 0 is its centre) to the table, or to pixels once photographed."""

    text: str
    pile: str
    print: Print
    place: Matrix

    @property
    def face_down(self) -> bool:
        return not self.text

    def moved(self, matrix: Matrix) -> "Card":
        return replace(self, place=matrix @ self.place)

    def corners(self) -> Matrix:
        """The four corners, clockwise from the card's own top left."""
        return project(self.place, rectangle(CARD_WIDTH, CARD_HEIGHT))


@dataclass(frozen=True, slots=True)
class Scene:
    """A photo before it is drawn: its size in pixels, the camera, and the cards from lowest to topmost."""

    plan: Plan
    width: int
    height: int
    camera: Matrix
    cards: tuple[Card, ...]


def arrange(plan: Plan) -> Scene:
    """The scene of a plan: always the same for the same plan."""
    chance = random.Random(plan.name)  # noqa: S311 - a drawing, not a secret
    texts = draw_texts(plan, chance)
    piles = []
    for pile in plan.piles:
        piles.append(lay_pile(plan, pile, texts[: pile.cards], chance))
        texts = texts[pile.cards :]
    cards = spread_out(plan, piles, chance)
    cards += lay_face_down(plan, cards, chance)
    width, height = frame_size(plan)
    camera = aim(plan, width, height, all_corners(cards), chance)
    return Scene(plan, width, height, camera, tuple(card.moved(camera) for card in cards))


def frame_size(plan: Plan) -> tuple[int, int]:
    """Width and height of the photo in pixels."""
    return (SHORT_SIDE, LONG_SIDE) if plan.upright else (LONG_SIDE, SHORT_SIDE)


def draw_texts(plan: Plan, chance: random.Random) -> list[str]:
    """As many different texts as the plan has cards, some of them twins, in random order."""
    texts = [text for pair in chance.sample(TWINS, plan.difficulty.twins) for text in pair]
    texts += chance.sample(SINGLES, plan.cards - len(texts))
    chance.shuffle(texts)
    return texts


def lay_pile(plan: Plan, pile: Pile, texts: Sequence[str], chance: random.Random) -> list[Card]:
    """The cards of a pile around 0, 0, as close as the plan wants them and their texts allow."""
    hard = plan.difficulty
    sides = CARD_WIDTH * chance.uniform(*hard.gap), CARD_WIDTH * chance.uniform(*hard.gap)
    turn = chance.uniform(-hard.pile_turn, hard.pile_turn) * (0.3 if plan.in_rows else 1)
    whole = rotation(turn + (180 if pile.label in plan.across else 0))
    rows = math.ceil(len(texts) / pile.columns)
    for attempt in range(200):
        # A pile whose cards hide each other's text is laid again, each time a little looser.
        looser = 0.3 * attempt
        pitch = CARD_WIDTH + sides[0] + looser, CARD_HEIGHT + sides[1] + looser
        cards = []
        for index, text in enumerate(texts):
            x = (index % pile.columns - (pile.columns - 1) / 2) * pitch[0]
            y = (index // pile.columns - (rows - 1) / 2) * pitch[1]
            off = [chance.uniform(-hard.jitter, hard.jitter) * CARD_WIDTH for _ in range(2)]
            own = rotation(chance.uniform(-hard.card_turn, hard.card_turn))
            cards.append(Card(text, pile.label, typeset(text), whole @ shift(x + off[0], y + off[1]) @ own))
        if all(hidden(card, cards[above:]) <= hard.covered for above, card in enumerate(cards, start=1)):
            return cards
    raise RuntimeError(f"{plan.name}: no way found to lay the {pile.label} pile with every text in sight")


def hidden(card: Card, above: Sequence[Card]) -> float:
    """The share of a card's text that the cards above it hide."""
    columns, rows = np.meshgrid(
        np.linspace(-0.5, 0.5, 17, dtype=np.float64), np.linspace(-0.5, 0.5, 9, dtype=np.float64)
    )
    points = np.column_stack([columns.ravel() * card.print.width, rows.ravel() * card.print.height])
    on_table = project(card.place, points)
    under = np.zeros(len(points), dtype=bool)
    for other in above:
        x, y = project(inverse(other.place), on_table).T
        under |= (np.abs(x) <= CARD_WIDTH / 2) & (np.abs(y) <= CARD_HEIGHT / 2)
    return float(under.mean())


def spread_out(plan: Plan, piles: Sequence[list[Card]], chance: random.Random) -> list[Card]:
    """The piles on the table: line under line, from left to right, as their labels say."""
    gaps = plan.difficulty.between
    cards: list[Card] = []
    top = 0.0
    for line in ("top", "middle", "bottom"):
        left, lowest = 0.0, top
        members: list[Card] = []
        for pile in (pile for pile in piles if line_of(pile[0].pile) == line):
            low, high = all_corners(pile).min(axis=0), all_corners(pile).max(axis=0)
            sway = chance.uniform(0, 0.15) * CARD_HEIGHT
            members += [card.moved(shift(left - low[0], top - low[1] + sway)) for card in pile]
            left += high[0] - low[0] + CARD_WIDTH * chance.uniform(*gaps)
            lowest = max(lowest, top + high[1] - low[1] + sway)
        if members:
            middle = all_corners(members)[:, 0].mean()
            cards += [card.moved(shift(-middle, 0)) for card in members]
            top = lowest + CARD_WIDTH * chance.uniform(*gaps)
    return cards


def line_of(label: str) -> str:
    """The line of the table that a label names: what names neither top nor bottom is in the middle."""
    first = label.split()[0]
    return first if first in {"top", "bottom"} else "middle"


def lay_face_down(plan: Plan, cards: Sequence[Card], chance: random.Random) -> list[Card]:
    """Cards on their face, in a stack next to the others: there to be seen and not to be read."""
    if not plan.face_down:
        return []
    low, high = all_corners(cards).min(axis=0), all_corners(cards).max(axis=0)
    # Next to or below them, whichever costs less room in the picture.
    width, height = frame_size(plan)
    if (high - low)[0] / width < (high - low)[1] / height:
        x, y = high[0] + CARD_WIDTH * 0.75, chance.uniform(low[1] + CARD_WIDTH, high[1] - CARD_WIDTH)
    else:
        x, y = chance.uniform(low[0] + CARD_WIDTH, high[0] - CARD_WIDTH), high[1] + CARD_WIDTH * 0.9
    stack = []
    for _ in range(plan.face_down):
        place = shift(x + chance.uniform(-20, 20), y + chance.uniform(-20, 20)) @ rotation(chance.uniform(60, 120))
        stack.append(Card("", "", typeset(""), place))
    return stack


def aim(plan: Plan, width: int, height: int, points: Matrix, chance: random.Random) -> Matrix:
    """The camera: from the table to pixels, with all the points in the picture."""
    hard = plan.difficulty
    low, high = points.min(axis=0), points.max(axis=0)
    reach = float(max(high - low))
    tilted = np.eye(3)
    tilted[2, 0] = chance.uniform(-0.25, 0.25) * hard.tilt[1] / reach
    tilted[2, 1] = -chance.uniform(*hard.tilt) / reach  # the far side of the table is at the top, and smaller
    view = tilted @ rotation(chance.uniform(-hard.twist, hard.twist)) @ shift(*(-(low + high) / 2))
    seen = project(view, points)
    low, high = seen.min(axis=0), seen.max(axis=0)
    room = np.array([width, height]) * (1 - 2 * MARGIN)
    scale = min(CLOSEST, *(room / (high - low))) * chance.uniform(0.95, 1.0)
    slack = (room - scale * (high - low)) / 2
    centre = [side / 2 + chance.uniform(-0.5, 0.5) * free for side, free in zip((width, height), slack, strict=True)]
    return shift(*centre) @ np.diag([scale, scale, 1.0]) @ shift(*(-(low + high) / 2)) @ view


def rectangle(width: float, height: float) -> Matrix:
    """The corners of a rectangle around 0, 0, clockwise from the top left."""
    return np.asarray(np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * np.array([width, height]))


def all_corners(cards: Sequence[Card]) -> Matrix:
    """The corners of all the cards, one a line."""
    return np.concatenate([card.corners() for card in cards])


def project(matrix: Matrix, points: Matrix) -> Matrix:
    """Points (one a line) seen through a 3 by 3 matrix."""
    seen = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    return np.asarray(seen[:, :2] / seen[:, 2:])


def inverse(matrix: Matrix) -> Matrix:
    """The matrix that undoes a matrix."""
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def shift(x: float, y: float) -> Matrix:
    """The matrix that moves points by x, y."""
    return np.array([[1.0, 0.0, x], [0.0, 1.0, y], [0.0, 0.0, 1.0]])


def rotation(degrees: float) -> Matrix:
    """The matrix that turns points clockwise around 0, 0."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


# The truth of a photo, from the scene it is drawn from.
def truth(scene: Scene) -> dict[str, Any]:
    """What a perfect reader would answer for the scene, in the shape of `truth.json`."""
    plan = scene.plan
    piles = [
        {
            "label": pile.label,
            "cards": [
                {"text": card.text, "box": outline(card, scene.width, scene.height)}
                for card in scene.cards
                if card.pile == pile.label
            ],
        }
        for pile in plan.piles
    ]
    return {
        "total_cards_visible": plan.cards,
        "layout": describe(plan),
        "difficulty": plan.difficulty.name,
        "tags": tags(plan),
        "piles": piles,
    }


def outline(card: Card, width: int, height: int) -> list[float]:
    """The card's bounding box as fractions of the picture: left, top, right, bottom."""
    corners = card.corners() / np.array([width, height])
    return [round(float(edge), 4) for edge in (*corners.min(axis=0), *corners.max(axis=0))]


def describe(plan: Plan) -> str:
    """The layout in words: `2 piles, left and right`, `3 rows of 4`."""
    labels = [pile.label for pile in plan.piles]
    if plan.in_rows:
        sizes = [str(pile.cards) for pile in plan.piles]
        return f"{len(labels)} rows of {sizes[0] if len(set(sizes)) == 1 else listed(sizes)}"
    return f"{len(labels)} {'pile' if len(labels) == 1 else 'piles'}, {listed(labels)}"


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def tags(plan: Plan) -> list[str]:
    """What is special about a photo, for slices."""
    labels = ["rows" if plan.in_rows else f"piles-{len(plan.piles)}"]
    if plan.difficulty.gap[0] < 0:
        labels.append("overlap")
    if plan.across:
        labels.append("upside-down")
    if plan.face_down:
        labels.append("face-down")
    return labels
