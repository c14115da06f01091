"""Pictures of tables, of cards and of what else lies on a table, each from a seeded source."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageDraw, ImageFont

from .plan import Difficulty
from .scene import (
    CARD_HEIGHT,
    CARD_WIDTH,
    LINE_HEIGHT,
    Card,
    Matrix,
    Scene,
    all_corners,
    inverse,
    project,
    rotation,
    shift,
)

Field = npt.NDArray[np.float64]
Source = np.random.RandomState  # the one numpy source whose stream is promised never to change


def table(kind: str, width: int, height: int, source: Source) -> Field:
    """A table of a kind as height x width x 3 grey levels, 0 to 255."""
    return TABLES[kind](width, height, source)


def smooth(width: int, height: int, across: float, down: float, source: Source) -> Field:
    """Noise of about -1 to 1 whose grains are `across` by `down` pixels."""
    cells = source.random_sample((max(2, int(height / down) + 2), max(2, int(width / across) + 2))) * 2 - 1
    grid = Image.fromarray(cells.astype(np.float32))
    return np.asarray(grid.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float64)


def wood(
    light: tuple[float, float, float], dark: tuple[float, float, float], plank: int
) -> Callable[[int, int, Source], Field]:
    """Planks from left to right, with a grain that runs along them."""

    def paint(width: int, height: int, source: Source) -> Field:
        rows = np.arange(height)
        index = (rows + int(source.randint(plank))) // plank
        tone = source.uniform(-0.16, 0.16, int(index.max()) + 1)[index][:, None]
        grain = 0.5 * smooth(width, height, 420, 5, source) + 0.3 * smooth(width, height, 900, 26, source)
        fine = 0.15 * smooth(width, height, 130, 3.2, source)
        share = np.clip(0.5 + tone + 0.42 * (grain + fine), 0, 1)[..., None]
        seam = np.where(np.diff(index, prepend=index[0]) > 0, 0.55, 1.0)
        seam = np.minimum(np.minimum(seam, np.roll(seam, 1) + 0.1), np.roll(seam, -1) + 0.25)
        planks = np.array(light) * (1 - share) + np.array(dark) * share
        return np.asarray(planks * np.clip(seam, 0, 1)[:, None, None])

    return paint


def felt(width: int, height: int, source: Source) -> Field:
    """Green baize with a nap."""
    nap = 0.04 * smooth(width, height, 4, 4, source) + 0.06 * smooth(width, height, 160, 120, source)
    return np.array((44.0, 98.0, 74.0)) * (1 + nap)[..., None]


def linen(width: int, height: int, source: Source) -> Field:
    """Undyed cloth: uneven threads both ways, and the memory of a fold."""
    threads = smooth(width, height, 240, 4.5, source) + smooth(width, height, 4.5, 240, source)
    creases = smooth(width, height, 420, 300, source)
    fold = np.exp(-(((np.arange(width) - width * 0.37) / 14) ** 2))[None, :]
    return np.array((168.0, 158.0, 140.0)) * (1 + 0.035 * threads + 0.04 * creases - 0.09 * fold)[..., None]


def slate(width: int, height: int, source: Source) -> Field:
    """Dark stone with clouds and a little grit."""
    clouds = smooth(width, height, 260, 180, source) + 0.5 * smooth(width, height, 70, 50, source)
    grit = smooth(width, height, 5, 5, source)
    return np.array((74.0, 80.0, 88.0)) * (1 + 0.12 * clouds + 0.05 * grit)[..., None]


def gingham(width: int, height: int, source: Source) -> Field:
    """A checked tablecloth in red and white."""
    check = 92
    across = ((np.arange(width) // check) % 2)[None, :]
    down = ((np.arange(height) // check) % 2)[:, None]
    share = ((across + down) / 2)[..., None]
    weave = 0.03 * (smooth(width, height, 200, 4, source) + smooth(width, height, 4, 200, source))
    cloth = np.array((206.0, 200.0, 190.0)) * (1 - share) + np.array((150.0, 52.0, 50.0)) * share
    return cloth * (1 + weave + 0.05 * smooth(width, height, 330, 260, source))[..., None]


TABLES: dict[str, Callable[[int, int, Source], Field]] = {
    "oak": wood((206.0, 164.0, 112.0), (148.0, 104.0, 62.0), 260),
    "walnut": wood((126.0, 88.0, 62.0), (70.0, 46.0, 33.0), 330),
    "felt": felt,
    "linen": linen,
    "slate": slate,
    "gingham": gingham,
}


Colour = tuple[int, int, int]

SCALE = 2.5  # pixels to a unit of the card and of the table
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


def mixed(base: Colour, other: Colour, share: float) -> Colour:
    """One colour with a share of another in it."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(base, other, strict=True))
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


TRIES = 80
Pen = ImageDraw.ImageDraw


def things(scene: Scene, chance: random.Random) -> list[tuple[Image.Image, Matrix]]:
    """Pictures of things, each with the matrix from its pixels to the photo's, where no card is."""
    placed = []
    for paint, width, height in chance.sample(THINGS, scene.plan.difficulty.clutter):
        place = free_place(scene, width, height, chance)
        if place is not None:
            image = Image.new("RGBA", (round(width * SCALE), round(height * SCALE)))
            paint(ImageDraw.Draw(image), chance)
            placed.append((image, place @ shift(-width / 2, -height / 2) @ np.diag([1 / SCALE, 1 / SCALE, 1.0])))
    return placed


def free_place(scene: Scene, width: float, height: float, chance: random.Random) -> Matrix | None:
    """Somewhere in the photo, turned somehow, clear of all cards; nothing when every try was in the way."""
    low, high = card_boxes(scene)
    ends = np.array([[x, y] for x in np.linspace(-0.6, 0.6, 9) for y in np.linspace(-0.7, 0.7, 5)])
    for _ in range(TRIES):
        pixel = np.array([[chance.uniform(0.0, scene.width), chance.uniform(0.0, scene.height)]])
        x, y = project(inverse(scene.camera), pixel)[0]
        place = scene.camera @ shift(float(x), float(y)) @ rotation(chance.uniform(0, 360))
        points = project(place, ends * np.array([width, height]))[:, None, :]
        if not ((points > low) & (points < high)).all(axis=2).any():
            return np.asarray(place)
    return None


def card_boxes(scene: Scene) -> tuple[Matrix, Matrix]:
    """The top left and the bottom right of every card's bounding box, in pixels, with a little air around it."""
    corners = all_corners(scene.cards).reshape(-1, 4, 2)
    return corners.min(axis=1) - 15, corners.max(axis=1) + 15


def cup(pen: Pen, chance: random.Random) -> None:
    """A cup of coffee on its saucer."""
    glaze = chance.choice(((226, 222, 214), (120, 146, 158), (178, 92, 70)))
    shade = tuple(int(level * 0.82) for level in glaze)
    circle(pen, (150, 150), 148, shade)
    circle(pen, (150, 150), 140, glaze)
    circle(pen, (150, 150), 104, shade)
    pen.rounded_rectangle(scaled(226, 138, 292, 162), 10 * SCALE, fill=shade)
    circle(pen, (150, 150), 96, glaze)
    circle(pen, (150, 150), 86, (52, 32, 22))
    circle(pen, (144, 146), 74, (66, 41, 27))


def pencil(pen: Pen, chance: random.Random) -> None:
    """A hexagonal pencil with a rubber."""
    paint = chance.choice(((214, 160, 44), (52, 92, 140), (160, 44, 44)))
    pen.rectangle(scaled(28, 2, 360, 18), fill=paint)
    pen.rectangle(scaled(28, 7, 360, 11), fill=tuple(min(255, int(level * 1.2)) for level in paint))
    pen.rectangle(scaled(16, 2, 36, 18), fill=(176, 176, 170))
    pen.rounded_rectangle(scaled(0, 2, 18, 18), 5 * SCALE, fill=(206, 128, 120))
    pen.polygon([(360 * SCALE, 2 * SCALE), (400 * SCALE, 10 * SCALE), (360 * SCALE, 18 * SCALE)], fill=(222, 188, 142))
    pen.polygon([(388 * SCALE, 7.6 * SCALE), (400 * SCALE, 10 * SCALE), (388 * SCALE, 12.4 * SCALE)], fill=(44, 42, 44))


def coin(pen: Pen, chance: random.Random) -> None:
    """A worn coin."""
    metal = chance.choice(((176, 128, 78), (168, 168, 164)))
    circle(pen, (32, 32), 31, tuple(int(level * 0.75) for level in metal))
    circle(pen, (32, 32), 28, metal)
    circle(pen, (30, 30), 17, tuple(min(255, int(level * 1.12)) for level in metal))


def circle(pen: Pen, centre: tuple[float, float], radius: float, fill: tuple[int, ...]) -> None:
    """A disc, in units."""
    x, y = centre
    pen.ellipse(scaled(x - radius, y - radius, x + radius, y + radius), fill=fill)


def scaled(left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
    """A rectangle in units as one in pixels."""
    return left * SCALE, top * SCALE, right * SCALE, bottom * SCALE


THINGS: tuple[tuple[Callable[[Pen, random.Random], None], float, float], ...] = (
    (cup, 300.0, 300.0),
    (pencil, 400.0, 20.0),
    (coin, 64.0, 64.0),
)
