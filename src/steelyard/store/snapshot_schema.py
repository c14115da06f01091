"""The published JSON Schema of a snapshot; `docs/snapshot.schema.json` is this, written out."""

from __future__ import annotations

from typing import Any

from steelyard.records import CheckState, Mode, Outcome, RunState, Verdict
from steelyard.store.snapshot_form import FORMAT, VERSION
from steelyard.store.weighed import MOST_COUNTED

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_WHOLE: Schema = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
_COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
_OBJECT: Schema = {"type": "object"}
_HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{16}$"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_BOX: Schema = {
    "description": "Left, top, right and bottom as fractions of the picture's width and height.",
    "type": "array",
    "items": _NUMBER,
    "minItems": 4,
    "maxItems": 4,
}

_SPAN: Schema = {
    "description": "First character of the case's text and the one after the last, counted in code points.",
    "type": "array",
    "items": {"type": "integer", "minimum": 0, "maximum": MOST_COUNTED},
    "minItems": 2,
    "maxItems": 2,
}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _record(properties: dict[str, Schema], *, optional: tuple[str, ...] = (), about: str = "") -> Schema:
    return {
        **({"description": about} if about else {}),
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


_RUN = _record(
    {
        "id": {"type": "string", "minLength": 1},
        "suite_name": _TEXT,
        "suite_path": _TEXT,
        "created_at": _NUMBER,
        "ended_at": _or_null(_NUMBER),
        "state": {"enum": [state.value for state in RunState]},
        "verdict": {"enum": [*(verdict.value for verdict in Verdict), None]},
        "suspect": _TEXTS,
        "n_planned": _WHOLE,
        "rescored_from": _or_null(_TEXT),
        "version": _TEXT,
        "signature": _OBJECT,
        "target": _OBJECT,
        "suite": _OBJECT,
        "options": _OBJECT,
        "summary": _or_null(_OBJECT),
    },
    about="Everything about the run except its samples. Times are seconds since 1970 (UTC).",
)
_ATTACHMENT = _record(
    {
        "place": _TEXT,
        "media_type": _TEXT,
        "digest": _TEXT,
        "size": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2},
    },
    optional=("size",),
    about="A file that was sent. size is the width and height of a picture in pixels.",
)
_CASE = _record(
    {
        "id": _TEXT,
        "input": {},
        "expected": {},
        "category": _or_null(_TEXT),
        "difficulty": _or_null(_TEXT),
        "tags": _TEXTS,
        "attachments": {"type": "array", "items": _ATTACHMENT},
        "why": _TEXT,
    },
    about="One question with its ground truth.",
)
_SCORE = _record(
    {
        "name": _TEXT,
        "value": _or_null(_NUMBER),
        "weight": _NUMBER,
        "raw": _NUMBER,
        "bound_by": _TEXT,
        "note": _TEXT,
        "counts": {
            "type": "object",
            "additionalProperties": {"type": "integer", "minimum": 0, "maximum": MOST_COUNTED},
        },
    },
    optional=("raw", "bound_by", "note", "counts"),
    about="One component. value is null when there was nothing to weigh it against; counts is what was counted.",
)
_FINDING = _record(
    {
        "code": _TEXT,
        "severity": _TEXT,
        "place": _TEXT,
        "expected": {},
        "got": {},
        "evidence": _TEXT,
        "component": _TEXT,
        "gain": _NUMBER,
        "box": _BOX,
        "span": _SPAN,
        "section": _TEXT,
    },
    optional=("component", "gain", "box", "span", "section"),
    about="One typed error. gain is what its component, as a share of its scale, would rise by were it mended; section "
    "the named region of the text that it begins in.",
)
_NUMBER_OR_WORD: Schema = {"anyOf": [_NUMBER, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
_MARK = _record({"box": _BOX, "text": _TEXT}, about="Something that was found right, and where on the picture.")
_CERTAINTY = _record(
    {
        "confidence": {"anyOf": [_NUMBER, {"enum": ["NaN", "Infinity", "-Infinity", None]}]},
        "right": {"type": "boolean"},
        "label": _TEXT,
    },
    optional=("label",),
    about="One thing that the answer claimed, how sure it was (as it came, not clamped; null when it did not say) and "
    "whether it was right.",
)
_CHECK = _record(
    {
        "name": _TEXT,
        "state": {"enum": [state.value for state in CheckState]},
        "detail": _TEXT,
        "value": _NUMBER_OR_WORD,
        "low": _NUMBER_OR_WORD,
        "high": _NUMBER_OR_WORD,
    },
    optional=("detail", "value", "low", "high"),
    about="One named expectation and what became of it. One that compares a figure with a range gives the figure and "
    "the ends that the range has.",
)
_ITEM = _record(
    {"key": _TEXT, "values": {"type": "array"}},
    optional=("values",),
    about="One thing in the answer that repeats should bring again: its key, and the value of each declared field.",
)
_ATTEMPT = _record(
    {
        "text": _or_null(_TEXT),
        "status": _or_null({"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}),
        "latency": _NUMBER,
        "started_at": _NUMBER,
        "tries": _COUNT,
        "tokens_in": _or_null(_WHOLE),
        "tokens_out": _or_null(_WHOLE),
        "cost": _or_null(_NUMBER),
        "model": _or_null(_TEXT),
        "cached": {"type": "boolean"},
        "failure": _or_null(_record({"kind": _TEXT, "message": _TEXT})),
        "cut_off": {"type": "boolean"},
        "first_byte": _NUMBER,
        "queued": _NUMBER,
    },
    optional=("cut_off", "first_byte", "queued"),
    about="One call of the target, or of a judge: what it answered, or why it did not. latency is in seconds, and so "
    "are first_byte, until the answer began, and queued, that the call was sent late under an open load. "
    "cut_off is true when the answer broke off at the limit of tokens.",
)
_SCORES_AND_FLAGS: Schema = {"type": "object", "additionalProperties": {"type": ["number", "boolean"]}}
_MODE: Schema = {"enum": [*(mode.value for mode in Mode), None]}
_REMARKS: Schema = {
    "description": "What was wrong with the judge, not with what it judged.",
    "type": "array",
    "items": _record({"code": _TEXT, "dimension": _TEXT, "told": _TEXT}, optional=("dimension", "told")),
}
_SAID = {
    "raw": _SCORES_AND_FLAGS,
    "bound": _SCORES_AND_FLAGS,
    "bound_by": {"type": "object", "additionalProperties": _TEXT},
    "remarks": _REMARKS,
    "told": _TEXT,
    "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
}
_BALLOT = _record(
    {"member": _TEXT, "repeat": _COUNT, "mode": _MODE, "rung": _TEXT, **_SAID, "reply": _OBJECT},
    optional=(*_SAID, "reply"),
    about="One judge's reading of the answer. mode is null when it gave none, told then says why; raw is as it said, "
    "bound after rules and checks; reply is all it said.",
)
_CALL = _record(
    {
        "member": _TEXT,
        "repeat": _COUNT,
        "turn": _COUNT,
        "shortened": {"type": "boolean"},
        "attempt": {"$ref": "#/$defs/attempt"},
    },
    optional=("shortened",),
    about="One call of a judge. shortened is true when it saw only the head and the tail of a long text.",
)
_JUDGEMENT = _record(
    {
        "mode": _MODE,
        "ballots": {"type": "array", "items": {"$ref": "#/$defs/ballot"}},
        **_SAID,
        "metrics": _OBJECT,
        "calls": {"type": "array", "items": {"$ref": "#/$defs/call"}},
    },
    optional=(*_SAID, "metrics", "calls"),
    about="All ballots on one answer and what they come to. mode is null when they come to nothing.",
)
_SAMPLE = _record(
    {
        "position": _WHOLE,
        "case": _TEXT,
        "case_hash": _HASH,
        "variant": _TEXT,
        "repeat": _COUNT,
        "outcome": {"enum": [outcome.value for outcome in Outcome]},
        "score": _or_null(_NUMBER),
        "passed": {"type": ["boolean", "null"]},
        "band": _or_null(_TEXT),
        "category": _or_null(_TEXT),
        "difficulty": _or_null(_TEXT),
        "tags": _TEXTS,
        "rung": _or_null(_TEXT),
        "scores": {"type": "array", "items": {"$ref": "#/$defs/score"}},
        "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
        "marks": {"type": "array", "items": {"$ref": "#/$defs/mark"}},
        "certainties": {"type": "array", "items": {"$ref": "#/$defs/certainty"}},
        "checks": {"type": "array", "items": {"$ref": "#/$defs/check"}},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "judgement": {"$ref": "#/$defs/judgement"},
        "attempt": {"$ref": "#/$defs/attempt"},
    },
    optional=("marks", "certainties", "checks", "items", "judgement"),
    about="One attempt with what it weighed. case and case_hash name one of the cases. items is left out when the "
    "answer could not be read, and empty when nothing is in it.",
)

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Steelyard snapshot",
    "description": "One run as one file. The keys come in the order given here.",
    "type": "object",
    "properties": {
        "format": {"const": FORMAT},
        "version": {"type": "integer", "minimum": 1, "maximum": VERSION},
        "run": {"$ref": "#/$defs/run"},
        "cases": {"type": "array", "items": {"$ref": "#/$defs/case"}, "description": "Each once, by id."},
        "samples": {"type": "array", "items": {"$ref": "#/$defs/sample"}, "description": "By position."},
        "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    },
    "required": ["format", "version", "run", "cases", "samples", "digest"],
    "additionalProperties": False,
    "$defs": {
        "run": _RUN,
        "case": _CASE,
        "sample": _SAMPLE,
        "attempt": _ATTEMPT,
        "score": _SCORE,
        "finding": _FINDING,
        "mark": _MARK,
        "certainty": _CERTAINTY,
        "check": _CHECK,
        "item": _ITEM,
        "judgement": _JUDGEMENT,
        "ballot": _BALLOT,
        "call": _CALL,
    },
}
