"""Small snapshots in the shape of the first team's tool, made here."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

CATEGORIES = ("shot", "subject", "action", "environment", "lighting", "camera", "style", "technical", "audio")
DIMENSIONS = ("coverage", "precision", "granularity", "taxonomy", "technicalSpecs")
PROMPT = (
    "Wide Shot of a red fox \N{FOX FACE} trotting through wet grass at dusk. Keep glare minimal in every frame.\n\n"
    "**TECHNICAL SPECS**\n- **Duration:** 6s\n- **Camera:** slow pan\n\n"
    "**ALTERNATIVE APPROACHES**\n- **Variation 1:** a red fox asleep under warm light."
)
"""After the fox, UTF-16 offsets are one more than code points."""


def utf16(text: str) -> int:
    """How many UTF-16 units a text has."""
    return len(text.encode("utf-16-le")) // 2


def span(text: str, role: str, confidence: float = 0.9, nth: int = 0, **more: Any) -> dict[str, Any]:
    """A span of PROMPT at the nth place of its text."""
    at = -1
    for _ in range(nth + 1):
        at = PROMPT.index(text, at + 1)
    start = utf16(PROMPT[:at])
    return {"text": text, "role": role, "confidence": confidence, "start": start, "end": start + utf16(text), **more}


SPANS = [
    span("Wide Shot", "shot.type", 1),
    span("red fox", "subject.identity", 0.55),
    span("trotting through wet grass", "action.movement", 0.7),
    span("dusk", "lighting.source", 0.8),
    span("6s", "technical.duration", 0.9),
    span("Variation 1", "style.aesthetic", 0.59),
]


def judged(scores: tuple[int, ...] = (4, 3, 4, 3, 5), **changes: Any) -> dict[str, Any]:
    """What a judge says: one missed element, one false positive, one wrong role, one span too coarse."""
    result = {
        "scores": dict(zip(DIMENSIONS, scores, strict=True)),
        "totalScore": sum(scores),
        "missedElements": [missed("slow pan", "camera.movement")],
        "falsePositives": [about(5, reason="section_header")],
        "taxonomyErrors": [about(3, expectedRole="lighting.timeOfDay")],
        "granularityErrors": [
            {"spanIndex": 2, "text": SPANS[2]["text"], "issue": "too_coarse", "suggestion": "trotting"}
        ],
        "categoryScores": {name: {"coverage": 4, "precision": 5} for name in CATEGORIES},
        "notes": "Fine.",
    }
    return result | changes


def missed(text: str, role: str, severity: str = "important", **changes: Any) -> dict[str, Any]:
    """A missed element."""
    return {"text": text, "expectedRole": role, "category": role.partition(".")[0], "severity": severity} | changes


def about(index: int, **more: Any) -> dict[str, Any]:
    """A complaint about the span at that index of SPANS."""
    return {"spanIndex": index, "text": SPANS[index]["text"], "assignedRole": SPANS[index]["role"], **more}


def failed(note: str = "Judge failed: no answer in 60 s") -> dict[str, Any]:
    """What the tool writes when the judge's call failed."""
    nothing: dict[str, Any] = {name: [] for name in ("missedElements", "falsePositives")}
    nothing |= {"taxonomyErrors": [], "granularityErrors": []}
    zeros = {name: {"coverage": 0, "precision": 0} for name in CATEGORIES}
    return {
        "scores": dict.fromkeys(DIMENSIONS, 0),
        "totalScore": 0,
        **nothing,
        "categoryScores": zeros,
        "notes": note,
    }


def result(name: str, judge: Any = None, latency: int = 2000, **changes: Any) -> dict[str, Any]:
    """One evaluated prompt."""
    return {
        "promptId": name,
        "input": "fox",
        "output": PROMPT,
        "spanCount": len(SPANS),
        "spans": deepcopy(SPANS),
        "meta": {"version": "v9", "source": "neuro-symbolic", "closedVocab": 4, "openVocab": 2, "odd": {"deep": [1]}},
        "judgeResult": judged() if judge is None else judge,
        "error": None,
        "latencyMs": latency,
    } | changes


def snapshot(*results: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A snapshot of these results, without a summary."""
    return {
        "timestamp": "2026-02-03T04:05:06.789Z",
        "promptCount": len(results),
        "sourceFile": "prompts.json",
        "judgeModel": "some-judge",
        "results": list(results),
        **changes,
    }
