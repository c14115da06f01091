"""Suites: cases, truth, rubric, signature, and their history."""

from __future__ import annotations

from steelyard.web.site import Action, Resource

RESOURCES: tuple[Resource, ...] = ()
ACTIONS: tuple[Action, ...] = ()
