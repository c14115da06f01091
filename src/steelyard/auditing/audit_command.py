"""The command audit."""

from __future__ import annotations

import sys

import click

from steelyard.cli.options import as_json
from steelyard.cli.output import show


@click.command("audit")
@click.argument("suite", metavar="SUITE")
@as_json
def audit_command(suite: str, as_json: bool) -> None:
    """Test the suite: what score do answers that know nothing get?

    Scores probes instead of answers, by the suite's rules and by the strict ones. Of a judged suite, texts that talk
    to their judge are tried on a judge that obeys them. Exit code 1 when a probe earns too much, when the truth does
    not earn full marks, when a rule or check of the judge does not hold, when a gate cannot fail, or can never be
    decided, when a case is asked twice, has two truths or stands in a prompt, or when the question tells its truth; 4
    when a probe could not be read, so that nobody knows what it would earn.
    """
    from steelyard.auditing.operations import audit

    sys.exit(show(audit(suite), as_json=as_json))
