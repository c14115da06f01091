"""The suite's codes as the run was weighed with them: what each is called and means, and in what order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from steelyard.records import RunHeader


@dataclass(frozen=True, slots=True)
class Code:
    """One code of the taxonomy; name and definition are "" where the suite says nothing."""

    code: str
    name: str = ""
    about: str = ""
    severity: str = ""


def taxonomy(header: RunHeader) -> dict[str, Code]:
    """The declared codes in the order of detection; empty for a run of before they were kept."""
    declared = header.suite.get("taxonomy")
    items = [item for item in declared if isinstance(item, dict)] if isinstance(declared, list | tuple) else []
    codes = [Code(*(_text(item.get(key)) for key in ("code", "name", "about", "severity"))) for item in items]
    return {code.code: code for code in codes}


def code_of(header: RunHeader, code: str) -> Code:
    """What the suite says of a code."""
    return taxonomy(header).get(code, Code(code))


def in_order(header: RunHeader, codes: Iterable[str]) -> list[str]:
    """The codes in the order of detection, undeclared ones last, each once."""
    known, found = taxonomy(header), dict.fromkeys(codes)
    return [*(code for code in known if code in found), *(code for code in found if code not in known)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
