"""Samples of a run, and one sample."""

from __future__ import annotations

from steelyard.web.site import Action, Resource

RESOURCES: tuple[Resource, ...] = ()
ACTIONS: tuple[Action, ...] = ()
