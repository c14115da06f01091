"""Single cards as pictures: paper with rounded corners, a border and the text, or a pattern on the back."""

import random
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont

from .plan import Difficulty
from .scene import CARD_HEIGHT, CARD_WIDTH, Card, Matrix, shift
from .typeset import LINE_HEIGHT

Colour = tuple[int, int, int]

SCALE = 2.5  # pixels to a unit of the card
RIM = 3.0  # transparent units around it, so that its edge is smooth when it is turned
TINTS: tuple[Colour, ...] = (
    (252, 250, 244),
    (249, 242, 226),
    (240, 245, 250),
    (248, 238, 240),
    (238, 246, 234),
    (251, 245, 214),
)
INKS: tuple[Colour, ...] = ((30, 28, 34), (30, 44, 92), (96, 30, 36), (22, 70, 54), (66, 48, 30))

# From the pixels of a card's picture to points of the card, whose centre is 0, 0.
TO_CARD: Matrix = shift(-CARD_WIDTH / 2 - RIM, -CARD_HEIGHT / 2 - RIM) @ np.diag([1 / SCALE, 1 / SCALE, 1.0])


@dataclass(frozen=True, slots=True)
class Look:
    """How the deck of one photo is printed."""

    tints: tuple[Colour, ...]
    ink: Colour
    faded: float  # share of the paper's colour in the ink
    border: Colour
    frame: str
    bold: bool


def choose_look(hard: Difficulty, chance: random.Random) -> Look:
    """A look for a photo of a difficulty."""
    return Look(
        tints=tuple(chance.sample(TINTS, chance.choice((1, 1, 3)))),
        ink=chance.choice(INKS),
        faded=chance.uniform(*hard.faded),
        border=chance.choice(INKS[1:]),
        frame=chance.choice(("line", "double", "band", "none")),
        bold=chance.random() < 0.4,
    )


def print_card(card: Card, look: Look, chance: random.Random) -> Image.Image:
    """The card's own picture, with a transparent rim."""
    worn = chance.uniform(0.95, 1.0)
    red, green, blue = chance.choice(look.tints)
    paper = (int(red * worn), int(green * worn), int(blue * worn))
    width, height = (round((side + 2 * RIM) * SCALE) for side in (CARD_WIDTH, CARD_HEIGHT))
    image = Image.new("RGB", (width, height), paper)
    draw = ImageDraw.Draw(image)
    if card.face_down:
        print_back(image, look)
    else:
        print_border(draw, width, height, look)
        print_text(draw, card, (width / 2, height / 2), look, mixed(look.ink, paper, look.faded))
    image = ImageChops.multiply(image, bend(width, height, chance))
    shape = Image.new("L", (width, height))
    ImageDraw.Draw(shape).rounded_rectangle(inset(0, width, height), 11 * SCALE, fill=255)
    image.putalpha(shape)
    return image


def inset(units: float, width: int, height: int) -> tuple[int, int, int, int]:
    """The rectangle so many units inside the card's edge."""
    edge = round((RIM + units) * SCALE)
    return edge, edge, width - 1 - edge, height - 1 - edge


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    """One colour with a share of another in it."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def bend(width: int, height: int, chance: random.Random) -> Image.Image:
    """The light on a card that is not quite flat."""
    ramp = Image.linear_gradient("L").rotate(chance.choice((0, 90, 180, 270))).resize((width, height))
    weakest = 255 * chance.uniform(0.93, 0.98)
    return ramp.point([round(weakest + (255 - weakest) * level / 255) for level in range(256)]).convert("RGB")


def print_border(draw: ImageDraw.ImageDraw, width: int, height: int, look: Look) -> None:
    """A line, two lines, a band along the edge, or nothing."""
    lines = {"line": ((6, 7, 1.4),), "double": ((5, 8, 1.6), (9, 5, 0.8)), "band": ((0, 11, 4.5),), "none": ()}
    for units, radius, line in lines[look.frame]:
        box = inset(units, width, height)
        draw.rounded_rectangle(box, radius * SCALE, outline=look.border, width=round(line * SCALE))


def print_back(image: Image.Image, look: Look) -> None:
    """A lattice in a white frame."""
    left, top, right, bottom = inset(9, *image.size)
    light = mixed(look.border, (255, 255, 255), 0.45)
    lattice = Image.new("RGB", (right - left, bottom - top), look.border)
    pen = ImageDraw.Draw(lattice)
    for start in range(-lattice.height, lattice.width, round(15 * SCALE)):
        pen.line((start, 0, start + lattice.height, lattice.height), light, 3)
        pen.line((start + lattice.height, 0, start, lattice.height), light, 3)
    image.paste(lattice, (left, top))


def print_text(draw: ImageDraw.ImageDraw, card: Card, centre: tuple[float, float], look: Look, ink: Colour) -> None:
    """The lines of the text, centred."""
    size = card.print.size * SCALE
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise RuntimeError("this Pillow was built without FreeType: install a Pillow wheel to draw the cards")
    # The other layout engine is not in every build, and sets some pairs of letters closer.
    font = font.font_variant(layout_engine=ImageFont.Layout.BASIC)
    first = centre[1] - (len(card.print.lines) - 1) / 2 * size * LINE_HEIGHT
    for index, line in enumerate(card.print.lines):
        where = (centre[0], first + index * size * LINE_HEIGHT)
        draw.text(where, line, ink, font, anchor="mm", stroke_width=1 if look.bold else 0, stroke_fill=ink)
