"""The group of commands. A command's module is imported only when it is called."""

from __future__ import annotations

import importlib

import click

from steelyard import __version__

COMMANDS = {
    "ab": "Decide between two systems, on a suite's cases or on users.",
    "alerts": "Tell people what changed, once for each cause.",
    "audit": "Test the test: what do answers earn that know nothing?",
    "baseline": "Lock runs that others are held against.",
    "ci": "Run, compare, gate and write the files of a CI job, in one step.",
    "compare": "Say what changed from one run to another, and how sure that is.",
    "experiment": "Run a baseline and a candidate that differ in one factor, and decide.",
    "export": "Write a stored run as one snapshot file.",
    "gate": "Check a run's gates; the exit code is the verdict.",
    "history": "Show how a suite's figures went, run by run, and where they changed.",
    "import": "Read a snapshot file into the store.",
    "init": "Write a commented starter suite that runs at once.",
    "judge": "Find out how far a suite's judge can be trusted.",
    "power": "Say which change a suite can detect, and what a smaller one takes.",
    "report": "Show a run, or write it as Markdown, JUnit, HTML, JSON or charts.",
    "rescore": "Weigh recorded answers again; no call is made.",
    "run": "Weigh a suite's target and keep every answer.",
    "runs": "List the stored runs, newest first.",
    "schema": "Print the JSON Schema of suite files, for editors.",
    "suites": "List the built-in suites.",
    "truth": "Say why truth and scorers were edited, and see what was.",
}


_TOGETHER = {"ab": "experiments", "experiment": "experiments"}
"""Commands that share a module, in which each has its own name."""


class LazyGroup(click.Group):
    """Knows every command's name and one line of help without importing it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"steelyard.cli.{_TOGETHER.get(name, f'{name}_command')}")
        command = getattr(module, name if name in _TOGETHER else "command")
        assert isinstance(command, click.Command)  # noqa: S101 - every module named above has one
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" Commands: {', '.join(sorted(COMMANDS))}."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="steelyard")
def steelyard() -> None:
    """Weigh AI features against ground truth, with readings that can be trusted.

    Exit codes: 0 pass, 1 fail, 2 wrong usage or broken suite, 3 invalid run, 4 ambiguous, 70 internal error,
    130 interrupted.
    """
