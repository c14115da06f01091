"""Code that a suite brings along, named by its place: looked up when the suite loads."""

from __future__ import annotations

from typing import Any

from steelyard.errors import UserMistake
from steelyard.importing import PLACE, find_callable
from steelyard.suite.draft import Draft
from steelyard.suite.problems import Place, dotted
from steelyard.suite.spelling import found


def own_code(raw: Any, place: Place, draft: Draft, *, methods: tuple[str, ...] = ()) -> Any:
    """A function (or what has these methods), or its place, as given; None, and a note, when there is no such thing."""
    name = dotted(place)
    if raw is None:
        return None
    code = raw
    if isinstance(raw, str) and PLACE.match(raw):
        try:
            code = find_callable(raw, draft.folder, name)
        except UserMistake as error:
            draft.tell(str(error), place)
            return None
    elif isinstance(raw, str) or not (callable(raw) or methods):
        draft.tell(
            f"{name} is code of your own, written module:{'Name' if methods else 'function'}; {found(raw)}", place
        )
        return None
    lacks = [method for method in methods if not callable(getattr(code, method, None))]
    if lacks:
        draft.tell(
            f"{name}: {raw if isinstance(raw, str) else type(raw).__name__} has no {' and no '.join(lacks)}", place
        )
        return None
    return raw
