"""The published JSON Schema of suite files, made from the same models that check them, for editors to complete from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from steelyard import plugins
from steelyard.loading.alerts import CHANNELS, RULES, AlertsPart
from steelyard.suite.cases import CasesFile
from steelyard.suite.judge import JudgeModel, Rubric
from steelyard.suite.mapping import CONVERSIONS, FIELDS
from steelyard.suite.models import (
    EXPECT,
    ComponentSettings,
    ConfidenceRules,
    LatencyRules,
    MeasureSettings,
    StabilityRules,
    SuiteModel,
)
from steelyard.suite.redaction import RedactPart
from steelyard.suite_code import PLACE

_REF = "#/$defs/"
_UNWRITTEN = ("Band", "Member", "TargetSpec")
"""Parts that a file writes in another form, under their names."""
_AS_THEY_ARE = ("default", "examples", "enum", "const")
"""Parts of a schema that are data."""
_ABOUT_FIELDS = {
    "id": "What names the case; unique in the suite.",
    "input": "What the system is asked.",
    "expected": "The ground truth.",
    "category": "A group that figures are given for.",
    "difficulty": "Another group that figures are given for.",
    "cluster": "The document, user or seed it comes from: cases of one are one unit in every interval and test.",
    "tags": "Labels that figures are given for.",
    "attachments": "A path inside the suite's folder or a URL, or a list of them.",
    "why": "Why the case is there.",
    "pending": "True while the truth of the case is still to be found; it counts in no figure.",
}


def suite_schema() -> dict[str, Any]:
    """The JSON Schema of a suite file, with the parameters of every registered scorer and target."""
    scorers = {name: plugins.find("scorers", name) for name in plugins.names("scorers")}
    targets = {name: plugins.find("targets", name).Settings for name in plugins.names("targets")}
    judges = {name: plugins.find("judges", name) for name in plugins.names("judges")}
    parts: list[type[BaseModel]] = [
        SuiteModel,
        CasesFile,
        ComponentSettings,
        JudgeModel,
        Rubric,
        RedactPart,
        ConfidenceRules,
        StabilityRules,
        LatencyRules,
        AlertsPart,
    ]
    kinds: list[type[BaseModel]] = [*RULES.values(), *CHANNELS.values()]
    checks = {name: plugins.find("checks", name) for name in plugins.names("checks")}
    models: list[type[BaseModel]] = [*parts, *scorers.values(), *targets.values(), *checks.values(), *kinds]
    models += judges.values()
    unique = list(dict.fromkeys(models))
    refs, collected = models_json_schema([(model, "validation") for model in unique], by_alias=True)
    definitions: dict[str, Any] = collected["$defs"]
    ref = {model: refs[(model, "validation")] for model in unique}
    suite = definitions.pop(_name(ref[SuiteModel]))
    component = definitions.pop(_name(ref[ComponentSettings]))
    definitions["Component"] = _component(component, {name: ref[scorer] for name, scorer in scorers.items()}, scorers)
    definitions["Target"] = _target({name: ref[settings] for name, settings in targets.items()}, targets)
    definitions["Check"] = {
        "description": "One check of an answer, of one kind.",
        "oneOf": [_described(ref[check], check) for check in checks.values()],
    }
    definitions["Judge"] = _judge({name: _described(ref[judge], judge) for name, judge in judges.items()})
    definitions["Case"] = _case()
    definitions["MapRule"] = _map_rule()
    definitions[_name(ref[CasesFile])]["properties"]["map"] = _map()
    _fill_judge(definitions[_name(ref[JudgeModel])]["properties"], ref[Rubric])
    _fill(suite["properties"], ref[CasesFile])
    for name, part in (
        ("judge", JudgeModel),
        ("redact", RedactPart),
        ("confidence", ConfidenceRules),
        ("stability", StabilityRules),
        ("latency", LatencyRules),
        ("alerts", AlertsPart),
    ):
        suite["properties"][name] = {"description": suite["properties"][name]["description"], **ref[part]}
    _fill_alerts(definitions[_name(ref[AlertsPart])]["properties"], ref)
    suite["required"] += ["cases", "target"]
    scored = {"required": ["score"], "properties": {"score": {"minProperties": 1}}}
    expected = {"required": [EXPECT], "properties": {EXPECT: {"minProperties": 1}}}
    suite["anyOf"] = [scored, expected, {"required": ["judge"]}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Steelyard suite",
        "description": suite.pop("description"),
        **_untitled(suite),
        "$defs": {name: _untitled(part) for name, part in sorted(definitions.items()) if name not in _UNWRITTEN},
    }


def schema_text() -> str:
    """The schema as the file that is published."""
    return json.dumps(suite_schema(), indent=2, ensure_ascii=False) + "\n"


def write_schema(path: Path) -> None:
    """Write the published file again."""
    path.write_text(schema_text(), encoding="utf-8")


def _fill(properties: dict[str, Any], cases: dict[str, Any]) -> None:
    """Put the parts that depend on what is registered into the suite's own properties."""
    target = {"$ref": f"{_REF}Target"}
    lists = [{"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"$ref": f"{_REF}Case"}}]
    properties["cases"]["anyOf"] = [{"type": "string"}, *lists, cases]
    properties["target"] = {
        "description": properties["target"]["description"],
        "anyOf": [target, {"type": "string", "description": "The name of one of `targets`."}],
    }
    properties["targets"]["additionalProperties"] = target
    properties["score"]["additionalProperties"] = {"$ref": f"{_REF}Component"}
    properties[EXPECT]["additionalProperties"] = {"$ref": f"{_REF}Check"}
    properties["variants"]["additionalProperties"] = {"type": "array", "minItems": 1, "items": _variant_value()}


def _fill_judge(properties: dict[str, Any], rubric: dict[str, Any]) -> None:
    properties["judges"]["additionalProperties"] = {"$ref": f"{_REF}Judge"}
    about = properties["rubric"]["description"]
    properties["rubric"] = {"description": about, "anyOf": [{"type": "string"}, rubric]}


def _fill_alerts(properties: dict[str, Any], ref: dict[type[BaseModel], dict[str, Any]]) -> None:
    """Say what rules and channels there are: a kind alone, or one kind with its settings."""
    for name, kinds in (("rules", RULES), ("channels", CHANNELS)):
        settings = {kind: _with_shorthand(_described(ref[model], model), model) for kind, model in kinds.items()}
        item = {"type": "object", "properties": settings, "additionalProperties": False}
        items = {"anyOf": [{"enum": list(kinds)}, {**item, "minProperties": 1, "maxProperties": 1}]}
        properties[name] = {"description": properties[name]["description"], "type": "array", "items": items}


def _with_shorthand(described: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """A channel that may be written as the one setting that it cannot do without."""
    short = getattr(model, "shorthand", "")
    if not short:
        return {"anyOf": [described, {"type": "null"}]}
    kind = {"type": "array", "items": {"type": "string"}} if short == "argv" else {"type": "string"}
    return {"anyOf": [{**kind, "description": f"Short for {short}."}, described]}


def _component(options: dict[str, Any], refs: dict[str, Any], scorers: dict[str, Any]) -> dict[str, Any]:
    parameters = {name: _described(refs[name], scorers[name]) for name in refs}
    names = {"type": "array", "items": {"type": "string"}}
    scaled = {"anyOf": [MeasureSettings.model_json_schema(), {"type": "null"}]}
    own = {
        "python": {
            "type": "string",
            "pattern": PLACE.pattern,
            "description": "A scorer of your own: module:function, or module:Class.",
        },
        "with": {"type": "object", "description": "The parameters of a scorer of your own."},
        "measures": {
            "anyOf": [names, {"type": "object", "additionalProperties": scaled}],
            "description": "The measures in the dicts that a function of your own returns, from 0 to 1, or each with "
            "its scale.",
        },
    }
    return {
        "type": "object",
        "description": "One scorer with its parameters, and how it counts.",
        "properties": {**parameters, **own, **options["properties"]},
        "additionalProperties": False,
        "oneOf": [{"required": [name]} for name in (*refs, "python")],
        "dependentRequired": {"with": ["python"], "measures": ["python"]},
    }


def _target(refs: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, reference in refs.items():
        described = _described(reference, settings[name])
        if getattr(settings[name], "shorthand", None):
            messages = {"type": "string", "description": f"Short for {settings[name].shorthand}."}
            described = {"description": described.get("description", name), "anyOf": [messages, reference]}
        properties[name] = described
    return {
        "type": "object",
        "description": "The system under test: one kind with its settings, and if you like its name.",
        "properties": {"name": {"type": "string", "minLength": 1, "description": "What runs call it."}} | properties,
        "additionalProperties": False,
        "oneOf": [{"required": [name]} for name in refs],
    }


def _judge(models: dict[str, Any]) -> dict[str, Any]:
    code = {"type": "string", "pattern": PLACE.pattern, "description": "A function that judges: module:function."}
    return {
        "type": "object",
        "description": "Who judges: a language model, or code.",
        "properties": {**models, "python": code},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }


def _described(reference: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    about = (model.__doc__ or "").strip().partition("\n")[0]
    return {**reference, "description": about} if about else dict(reference)


def _case() -> dict[str, Any]:
    properties: dict[str, Any] = {name: {"description": about} for name, about in _ABOUT_FIELDS.items()}
    properties["id"]["type"] = ["string", "number"]
    return {"type": "object", "description": "One case.", "properties": properties, "required": ["id"]}


def _map() -> dict[str, Any]:
    rule = {"$ref": f"{_REF}MapRule"}
    return {
        "type": "object",
        "description": "How a record of another shape becomes a case; fields left out come from keys of their name.",
        "properties": {name: {**rule, "description": _ABOUT_FIELDS[name]} for name in FIELDS},
        "additionalProperties": False,
    }


def _map_rule() -> dict[str, Any]:
    taken = {
        "from": {"type": "string", "description": "A dotted path into the record."},
        "default": {"description": "Taken when the record has nothing there."},
        "unit": {"type": "string", "description": "A change of unit, such as dollars to cents."},
        "as": {"enum": list(CONVERSIONS), "description": "What to turn the value into."},
    }
    forms = [
        {"type": "string", "description": "A dotted path into the record."},
        _closed({"constant": {"description": "The same value for every case."}}, ["constant"]),
        _closed(
            {"template": {"type": "string", "description": "A text with {{ names }} of the record."}}, ["template"]
        ),
        _closed(taken, ["from"]),
        {
            "type": "object",
            "description": 'An object built key by key; "*" first copies all keys of another.',
            "not": {"anyOf": [{"required": [name]} for name in ("from", "constant", "template")]},
            "additionalProperties": {"$ref": f"{_REF}MapRule"},
        },
    ]
    return {"description": "Where a value comes from.", "anyOf": forms}


def _variant_value() -> dict[str, Any]:
    file = {"type": "string", "description": "A file whose text is the value."}
    name = {"type": "string", "description": "What reports call the value."}
    forms = [
        {"type": ["string", "number", "boolean", "null"]},
        _closed({"file": file}, ["file"]),
        _closed({"name": name, "file": file}, ["name", "file"]),
        _closed({"name": name, "value": {"description": "The value itself."}}, ["name", "value"]),
    ]
    return {"description": "One value of the factor.", "anyOf": forms}


def _untitled(part: Any) -> Any:
    """The schema without titles, which only repeat the names of keys."""
    if isinstance(part, list):
        return [_untitled(item) for item in part]
    if not isinstance(part, dict):
        return part
    named = {"properties": part["properties"]} if isinstance(part.get("properties"), dict) else {}
    retained = {key: _untitled(value) for key, value in part.items() if key not in ("title", *_AS_THEY_ARE, *named)}
    for key, properties in named.items():
        retained[key] = {name: _untitled(inner) for name, inner in properties.items()}
    return retained | {key: part[key] for key in _AS_THEY_ARE if key in part}


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _name(reference: dict[str, Any]) -> str:
    return str(reference["$ref"]).removeprefix(_REF)


if __name__ == "__main__":
    import sys

    write_schema(Path(sys.argv[1]))
