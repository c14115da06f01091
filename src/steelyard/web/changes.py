"""What changed between two runs, and the pairs behind it."""

from __future__ import annotations

from steelyard.web.site import Action, Resource

RESOURCES: tuple[Resource, ...] = ()
ACTIONS: tuple[Action, ...] = ()
