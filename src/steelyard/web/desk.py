"""The label desk: one item after the other, and what the labels say."""

from __future__ import annotations

from steelyard.web.site import Action, Resource

RESOURCES: tuple[Resource, ...] = ()
ACTIONS: tuple[Action, ...] = ()
