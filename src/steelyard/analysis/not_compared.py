"""What two runs do not share, so that no figure can be made of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotCompared:
    """One thing that was left out of a comparison."""

    what: str
    """component, measure, count, findings, confusions, sections, bands, latency, cost, ..."""
    name: str
    """Which of them; "" when there is but one."""
    why: str

    @property
    def sentence(self) -> str:
        """In words: `component title: only B has it`."""
        return f"{self.what} {self.name}: {self.why}" if self.name else f"{self.what}: {self.why}"


def lacking(what: str, name: str = "", *, a_has_it: bool) -> NotCompared:
    """Something that one of the runs has, and the other has not."""
    return NotCompared(what, name, f"only {'A' if a_has_it else 'B'} has it")
