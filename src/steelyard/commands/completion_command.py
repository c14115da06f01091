"""The command completion."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import get_completion_class

from steelyard.cli.options import as_json

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@as_json
def completion_command(shell: str, as_json: bool) -> None:
    """Print the script that lets a shell complete commands, suites and runs.

    For bash: steelyard completion bash > ~/.steelyard-complete.bash, and a line in ~/.bashrc that sources that file.
    """
    from steelyard.cli import COMPLETE_VARIABLE, steelyard
    from steelyard.cli.output import print_line

    kind: Any = get_completion_class(shell)
    script = kind(steelyard, {}, "steelyard", COMPLETE_VARIABLE).source()
    print_line(script, {"shell": shell, "script": script}, as_json=as_json)
