"""The example for Kubernetes is a RayJob as KubeRay wants it, and does what the page on scaling says.

KubeRay's own schema is large and not ours to copy: this one names the fields that it requires and those we use. The
example was valid by KubeRay's own, unknown fields forbidden, on 17 November 2026.
"""

import shlex
from pathlib import Path

import jsonschema_rs
import yaml

from steelyard.cli import steelyard

DOCS = Path(__file__).parents[2] / "docs"

VARIABLE = {
    "type": "object",
    "required": ["name", "valueFrom"],
    "properties": {"valueFrom": {"required": ["secretKeyRef"]}},
    "additionalProperties": {"type": "string"},
}
CONTAINER = {
    "type": "object",
    "required": ["name", "image", "resources", "env"],
    "properties": {"env": {"type": "array", "items": VARIABLE}, "resources": {"required": ["requests", "limits"]}},
}
POD = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {"required": ["containers"], "properties": {"containers": {"type": "array", "items": CONTAINER}}}
    },
}
PARAMETERS = {"type": "object", "additionalProperties": {"type": "string"}}
GROUP = {
    "type": "object",
    "required": ["groupName", "minReplicas", "maxReplicas", "template"],
    "additionalProperties": False,
    "properties": {
        "groupName": {"type": "string"},
        **{name: {"type": "integer"} for name in ("replicas", "minReplicas", "maxReplicas")},
        "rayStartParams": PARAMETERS,
        "template": POD,
    },
}
CLUSTER = {
    "type": "object",
    "required": ["headGroupSpec"],
    "additionalProperties": False,
    "properties": {
        "rayVersion": {"type": "string"},
        "authOptions": {"properties": {"mode": {"enum": ["token"]}}, "additionalProperties": False},
        "headGroupSpec": {
            "type": "object",
            "required": ["template"],
            "additionalProperties": False,
            "properties": {"rayStartParams": PARAMETERS, "template": POD},
        },
        "workerGroupSpecs": {"type": "array", "items": GROUP},
    },
}
JOB = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "ray.io/v1"},
        "kind": {"const": "RayJob"},
        "metadata": {"required": ["name"]},
        "spec": {
            "type": "object",
            "required": ["entrypoint", "rayClusterSpec"],
            "additionalProperties": False,
            "properties": {
                "entrypoint": {"type": "string"},
                "shutdownAfterJobFinishes": {"type": "boolean"},
                "ttlSecondsAfterFinished": {"type": "integer"},
                "backoffLimit": {"type": "integer"},
                "rayClusterSpec": CLUSTER,
            },
        },
    },
}


def test_the_example_is_a_ray_job_with_keys_by_name_and_a_command_that_exists():
    job = yaml.safe_load((DOCS / "kubernetes" / "rayjob.yaml").read_text())
    problems = [(list(e.instance_path), e.message) for e in jsonschema_rs.Draft202012Validator(JOB).iter_errors(job)]
    assert problems == []
    command, name, *words = shlex.split(job["spec"]["entrypoint"])
    assert command == "steelyard"
    run = steelyard.get_command(None, name)
    assert run.make_context("run", words).params["on"] == "auto"
