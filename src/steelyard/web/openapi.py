"""The description of the JSON API: made of the same resources and actions that are served."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from steelyard import __version__
from steelyard.web.site import Action, Resource

_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
_WORKING = {"type": "object", "required": ["working"], "properties": {"working": {"type": "string"}}}


def description(resources: Iterable[Resource], actions: Iterable[Action]) -> dict[str, Any]:
    """An OpenAPI document."""
    schemas: dict[str, Any] = {"Error": _ERROR, "Working": _WORKING}
    paths: dict[str, Any] = {}
    for resource in resources:
        given = resource.query.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= given.pop("$defs", {})
        query = [
            {
                "name": name,
                "in": "query",
                "required": False,
                "description": schema.pop("description", ""),
                "schema": schema,
            }
            for name, schema in given.get("properties", {}).items()
        ]
        paths.setdefault(f"/api{resource.path}", {})["get"] = {
            "summary": resource.about,
            "parameters": [*_in_path(resource.path), *query],
            "responses": {
                "200": _json({"type": "object"}, "what the page shows"),
                "202": _json(_ref("Working"), "figures are being computed: ask again"),
                **_ERRORS,
            },
        }
    for action in actions:
        given = action.body.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= given.pop("$defs", {})
        paths.setdefault(f"/api{action.path}", {})["post"] = {
            "summary": action.about,
            "parameters": [*_in_path(action.path), _CSRF],
            "requestBody": {"required": True, "content": {"application/json": {"schema": given}}},
            "responses": {"200": _json({"type": "object"}, "what it is now"), **_ERRORS},
        }
    about = "Everything that the pages show, as JSON. A write needs a token, or the csrf text of /api/session."
    info = {"title": "Steelyard", "version": __version__, "description": about}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _in_path(path: str) -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in re.findall(r"{(\w+)", path)]


def _json(schema: dict[str, Any], about: str) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_ERRORS = {
    status: _json(_ref("Error"), about)
    for status, about in {"400": "what is wrong", "403": "not allowed", "404": "not there"}.items()
}
_CSRF = {"name": "X-Steelyard-CSRF", "in": "header", "required": False, "schema": {"type": "string"}}
