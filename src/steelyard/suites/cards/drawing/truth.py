"""The truth of a photo, from the scene it was drawn from."""

from typing import Any

import numpy as np

from .plan import Plan
from .scene import Card, Scene


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
    told = ["rows" if plan.in_rows else f"piles-{len(plan.piles)}"]
    if plan.difficulty.gap[0] < 0:
        told.append("overlap")
    if plan.across:
        told.append("upside-down")
    if plan.face_down:
        told.append("face-down")
    return told
