"""The tables: flat, procedural pictures of wood, cloth and stone, each from a seeded source."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image

Field = npt.NDArray[np.float64]
Source = np.random.RandomState  # the one numpy source whose stream is promised never to change
Colour = tuple[float, float, float]


def table(kind: str, width: int, height: int, source: Source) -> Field:
    """A table of a kind as height x width x 3 grey levels, 0 to 255."""
    return TABLES[kind](width, height, source)


def smooth(width: int, height: int, across: float, down: float, source: Source) -> Field:
    """Noise of about -1 to 1 whose grains are `across` by `down` pixels."""
    cells = source.random_sample((max(2, int(height / down) + 2), max(2, int(width / across) + 2))) * 2 - 1
    grid = Image.fromarray(cells.astype(np.float32))
    return np.asarray(grid.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float64)


def wood(light: Colour, dark: Colour, plank: int) -> Callable[[int, int, Source], Field]:
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
