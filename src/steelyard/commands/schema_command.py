"""The command schema."""

from __future__ import annotations

import click

from steelyard.cli.options import as_json
from steelyard.cli.output import print_json


@click.command("schema")
@as_json
def schema_command(as_json: bool) -> None:  # noqa: ARG001 - every command takes --json; this one prints nothing else
    """Print the JSON Schema of suite files, for editors.

    Save it and point your editor at it: the first line of a suite file may be
    "# yaml-language-server: $schema=suite.schema.json".
    """
    from steelyard.loading.json_schema import suite_schema

    print_json(suite_schema())
