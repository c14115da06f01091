"""Where a judge's thoughts end and its answer begins."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from steelyard.judging.documents import Document

_TAG: Final = r"(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|analysis)"
_OPENS = re.compile(rf"\s*(?:<{_TAG}>|\[think\]|◁think▷|<\|channel\|>\s*analysis)", re.IGNORECASE)
_CLOSES = re.compile(rf"</{_TAG}>|\[/think\]|◁/think▷|<\|channel\|>\s*final\s*<\|message\|>", re.IGNORECASE)
_BEGINS_AS_ANSWER = re.compile(r"\s*(?:\{|```)")


def answer_begins(text: str, documents: Sequence[Document]) -> int | None:
    """The place after the thoughts of a reasoning model, 0 when there are none, None when they never end.

    A draft among the thoughts is not the answer. The end of thoughts that is quoted inside a JSON document does not
    count, and a text that begins with the answer has no thoughts: else a text under judgement that holds such a mark
    could cut off the judge's own scores by being quoted.
    """
    if _BEGINS_AS_ANSWER.match(text):
        return 0
    starts = [one.start for one in documents]
    for close in reversed(list(_CLOSES.finditer(text))):
        before = bisect_left(starts, close.start())
        if not before or documents[before - 1].end <= close.start():
            return close.end()
    return None if _OPENS.match(text) else 0
