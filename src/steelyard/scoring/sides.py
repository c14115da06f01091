"""The items of an answer or of the truth as they are compared: their texts folded, as far as that is needed."""

from __future__ import annotations

from steelyard.scoring.folding import Folder
from steelyard.scoring.grouping import folded_label
from steelyard.scoring.item_reading import Items


class Side:
    """The items of one side. Their texts are folded when first asked for: most are equal as they are written."""

    __slots__ = ("_folded", "_keys", "folder", "items")

    def __init__(self, items: Items, folder: Folder) -> None:
        self.items, self.folder = items, folder
        self._folded: list[str] | None = None
        self._keys: str | None = None

    @property
    def folded(self) -> list[str]:
        """Each item's text as it is compared."""
        if self._folded is None:
            self._folded = self.folder.fold(self.items.texts)
        return self._folded

    @property
    def keys(self) -> str:
        """The keys of all texts: see `Folder.keys`."""
        if self._keys is None:
            self._keys = self.folder.keys(self.items.texts)
        return self._keys

    def labels(self) -> list[str]:
        """Each item's group as it is compared; "" where none was given."""
        return [folded_label(group) if group else "" for group in self.items.groups]
