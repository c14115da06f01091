"""Draws the photos and writes their truth: `python -m tools.draw_cards.draw [FOLDER]`."""

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageFilter

from .paint import TO_CARD, Field, Source, choose_look, print_card, table, things
from .plan import PLANS, Plan
from .scene import Matrix, Scene, arrange, inverse, project, rectangle, shift, truth

SUITE = Path(__file__).parents[2] / "src" / "steelyard" / "suites" / "cards"
FINER = 2  # everything is drawn so many times larger, then made smaller: smooth edges, and no hinting left
SHADOW: tuple[int, int, int] = (20, 15, 12)
SHADOW_REACH = 70
WHITEST = 238.0  # the grey level of the brightest paper: a camera exposes for it
WARMTH = ((1.0, 0.985, 0.95), (1.0, 0.96, 0.89), (0.965, 0.99, 1.0))


def photograph(scene: Scene) -> Image.Image:
    """The finished photo of a scene: always the same for the same scene."""
    # Not the numbers that placed the cards, so that a change of look never changes the truth.
    chance = random.Random(f"{scene.plan.name}: look")  # noqa: S311 - a drawing, not a secret
    source = np.random.RandomState(chance.randrange(2**32))
    look = choose_look(scene.plan.difficulty, chance)
    falls = (chance.uniform(3, 8) * chance.choice((-1, 1)), chance.uniform(3, 9))
    picture = table_top(scene, source)
    for card in scene.cards:
        lay_down(picture, print_card(card, look, chance), card.place @ TO_CARD, falls, chance.uniform(0.8, 1.5))
    for thing, place in things(scene, chance):
        lay_down(picture, thing, place, falls, 1.6)
    return develop(picture.reduce(FINER), scene, chance, source)


def table_top(scene: Scene, source: Source) -> Image.Image:
    """The table as the camera sees it, without cards."""
    frame = project(shift(scene.width / 2, scene.height / 2), rectangle(scene.width, scene.height))
    on_table = project(inverse(scene.camera), frame)
    low, high = on_table.min(axis=0) - 10, on_table.max(axis=0) + 10
    width, height = (int(side) for side in high - low)
    flat = to_image(table(scene.plan.table, width, height, source))
    return warp(flat, finer(scene.camera @ shift(*low)), (0, 0), (scene.width * FINER, scene.height * FINER))


def lay_down(picture: Image.Image, thing: Image.Image, place: Matrix, falls: tuple[float, float], lift: float) -> None:
    """Puts a card or a thing and its shadow into the picture; the higher it is lifted, the softer its shadow."""
    place = finer(place)
    corners = project(place @ shift(thing.width / 2, thing.height / 2), rectangle(thing.width, thing.height))
    left, top = (int(edge) - SHADOW_REACH for edge in corners.min(axis=0))
    right, bottom = (int(edge) + SHADOW_REACH for edge in corners.max(axis=0))
    seen = warp(thing, place, (left, top), (right - left, bottom - top))
    outline = seen.getchannel("A")
    # A thin dark line where it touches the table, and a wide soft shadow away from the light.
    for softness, far, dark in ((3.0, 0.3, 0.45), (11.0, 1.3, 0.5)):
        blurred = outline.filter(ImageFilter.GaussianBlur(softness * lift))
        fallen = ImageChops.offset(blurred, round(falls[0] * far * lift), round(falls[1] * far * lift))
        picture.paste(SHADOW, (left, top), fallen.point([int(level * dark) for level in range(256)]))
    picture.paste(seen, (left, top), seen)


def develop(picture: Image.Image, scene: Scene, chance: random.Random, source: Source) -> Image.Image:
    """The picture with its light, its exposure, its blur and its noise."""
    hard = scene.plan.difficulty
    pixels = np.asarray(picture, dtype=np.float64) * light(scene, chance)[..., None]
    pixels *= WHITEST / np.percentile(pixels.max(axis=2), 98)
    pixels *= np.array(chance.choice(WARMTH))
    blurred = to_image(pixels).filter(ImageFilter.GaussianBlur(chance.uniform(*hard.blur)))
    grain = source.standard_normal((scene.height, scene.width, 1)) * chance.uniform(*hard.noise)
    return to_image(np.asarray(blurred, dtype=np.float64) + grain)


def light(scene: Scene, chance: random.Random) -> Field:
    """How bright each pixel is lit: brighter towards a window, darker in the corners and in a passing shadow."""
    hard = scene.plan.difficulty
    x, y = np.meshgrid(np.linspace(-1, 1, scene.width), np.linspace(-1, 1, scene.height))
    angle = chance.uniform(0, 2 * np.pi)
    side = (x * np.cos(angle) + y * np.sin(angle)) / 1.4
    lit = 1 - chance.uniform(*hard.light) * (0.5 - 0.5 * side) - 0.1 * (x**2 + y**2) / 2
    if hard.shade:
        across = angle + chance.uniform(0.6, 1.2)
        edge = x * np.cos(across) + y * np.sin(across) - chance.uniform(0.1, 0.5)
        lit = lit * (1 - hard.shade / (1 + np.exp(-edge / chance.uniform(0.03, 0.1))))
    return np.asarray(lit)


def warp(image: Image.Image, place: Matrix, corner: tuple[int, int], size: tuple[int, int]) -> Image.Image:
    """The image seen through `place` (its pixels to the picture's), cut out at a corner of the picture."""
    back = inverse(place) @ shift(*corner)
    back = back / back[2, 2]
    return image.transform(size, Image.Transform.PERSPECTIVE, back.ravel()[:8].tolist(), Image.Resampling.BICUBIC)


def finer(matrix: Matrix) -> Matrix:
    """A matrix to pixels as one to the pixels of the larger drawing."""
    return np.asarray(np.diag([float(FINER), float(FINER), 1.0]) @ matrix)


def to_image(pixels: Field) -> Image.Image:
    """Grey levels as an image."""
    return Image.fromarray(np.clip(pixels + 0.5, 0, 255).astype(np.uint8))


def save(photo: Image.Image, plan: Plan, file: Path) -> None:
    """Writes the photo as a JPEG."""
    photo.save(file, quality=plan.difficulty.quality, progressive=True)


def write(folder: Path, plans: Sequence[Plan] = PLANS) -> None:
    """Draws the photos into `folder/photos` and writes `folder/truth.json`; nothing half-done is ever in sight."""
    (folder / "photos").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        truths = {}
        for plan in plans:
            scene = arrange(plan)
            truths[plan.name] = truth(scene)
            save(photograph(scene), plan, Path(unfinished) / f"{plan.name}.jpg")
        for photo in Path(unfinished).glob("*.jpg"):
            photo.replace(folder / "photos" / photo.name)
        ready = Path(unfinished) / "truth.json"
        ready.write_text(json.dumps(truths, indent=1) + "\n", encoding="utf-8")
        ready.replace(folder / "truth.json")


def main() -> None:
    """Draws all the photos into the folder named on the command line, or again into the suite's own."""
    parser = argparse.ArgumentParser(prog="python -m tools.draw_cards.draw", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SUITE, help="default: the suite's own")
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
