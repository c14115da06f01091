"""What else lies on a table: a cup, a pencil, a coin. Seen from above, with nothing printed on it."""

import random
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw

from .scene import Matrix, Scene, all_corners, inverse, project, rotation, shift

SCALE = 2.5  # pixels to a unit of the table
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
