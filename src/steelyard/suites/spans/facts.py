"""What is known of an answer whatever its judge says: the rules that bind the judge look at this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from steelyard import Case, Measure, Reading, Scorer
from steelyard.spans import match_spans

from .prompts import gold_spans, placed

_IOU: Final = 0.5
_LITTLE: Final = 0.5
_HARDLY_ANY: Final = 0.2


class Facts(Scorer):
    """The share of the spans that stand in the prompt; its metrics tell what the gold spans, if there are any, show.

    It is a measure for the judge's binding rules, so the suite gives it no weight.
    """

    needs_truth: ClassVar[bool] = False
    needs_json: ClassVar[bool] = True
    measures: ClassVar[Mapping[str, Measure]] = {
        "in_prompt": Measure("in_prompt", "answered", "answered spans whose words are in the prompt"),
    }
    metrics: ClassVar[Mapping[str, str]] = {
        "answered": "how many spans the answer has",
        "nothing": "none of its spans is in the prompt, and the case does not say that there is nothing to label",
        "little_found": "the case has gold spans, and fewer than half of them were found",
        "little_right": "the case has gold spans, and fewer than half of the answer's spans are among them",
        "hardly_any": "the case has gold spans, and fewer than 20 % were found or are right",
    }

    def read(self, answer: Any, case: Case) -> Reading:
        items = self.answer_value(answer)
        spans = placed(items if isinstance(items, list) else [], case)
        n = len(spans)
        gold = gold_spans(case)
        shares = [1.0, 1.0]
        if gold is not None:
            n_pairs = len(match_spans(gold.placed, spans.placed, iou=_IOU).pairs)
            # Where one side has no spans the other must have none.
            shares = [n_pairs / n_of if n_of else float(not (n or gold.placed)) for n_of in (len(gold.placed), n)]
        recall, precision = shares
        return Reading(
            len(spans.placed) / n if n else None,
            note="" if n else "the answer has no spans",
            counts={"in_prompt": len(spans.placed), "answered": n},
            metrics={
                "answered": n,
                "nothing": not spans.placed and (n > 0 or gold is None or bool(gold.placed)),
                "little_found": recall < _LITTLE,
                "little_right": precision < _LITTLE,
                "hardly_any": min(recall, precision) < _HARDLY_ANY,
            },
        )

    def truth(self, case: Case) -> Any:  # noqa: ARG002 - it knows none: any span of the prompt will do
        return None
