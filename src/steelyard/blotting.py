"""Blots secrets out of whatever a target says, however it spells them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from urllib.parse import quote

BLOT = "[secret]"
SHORTEST = 8
"""A shorter value (`x`, `EMPTY`, `ollama`) is a stand-in for a key: blotting it out would falsify answers."""


class Blotter:
    """Replaces every secret of some length in a text: as it is, inside JSON, percent-encoded, and in base64."""

    def __init__(self, secrets: Iterable[str], shortest: int = SHORTEST) -> None:
        spellings = {spelling for secret in secrets if len(secret) >= shortest for spelling in _spellings(secret)}
        # Longest first, so that a secret inside a longer one leaves no rest behind.
        self._spellings = sorted(spellings, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, BLOT)
        return text


def _spellings(secret: str) -> set[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    encoded = {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()}
    in_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    in_url = {quote(raw, safe=""), quote(raw)}
    return {secret, *in_json, *in_url, *encoded, *(text.rstrip("=") for text in encoded)}
