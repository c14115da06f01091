"""Help of commands that have many options: `--help` shows those that most users need, `--help-all` all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click


class GroupedCommand(click.Command):
    """A command whose options belong to groups, each with its heading in `--help-all`."""

    def __init__(
        self, *args: Any, common: Sequence[str] = (), groups: Mapping[str, Sequence[str]] | None = None, **kwargs: Any
    ) -> None:
        """`common` and `groups` name options by their parameters; `--help-all` lists what is in no group last."""
        super().__init__(*args, **kwargs)
        self.common = tuple(common)
        self.groups = dict(groups or {})

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), _HELP_ALL]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [item for item in self.get_params(ctx) if isinstance(item, click.Option)]
        lines = {item.name: line for item in options if (line := item.get_help_record(ctx))}
        if ctx.meta.get(_ALL):
            grouped = {name for names in self.groups.values() for name in names}
            rest = [name for name in lines if name not in grouped]
            sections = {**self.groups, "Help" if self.groups else "Options": rest}
        else:
            shown = (*self.common, *list(lines)[-2:])
            n = len(lines) - len(shown)
            lines[_HELP_ALL.name] = ("--help-all", f"Show {n} more options, all of them by subject, and exit.")
            sections = {"Options": shown}
        for heading, names in sections.items():
            if there := [lines[name] for name in names if name in lines]:
                with formatter.section(heading):
                    formatter.write_dl(there)


def _show_all(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    if given and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_ALL = "steelyard.help_all"
_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options by subject and exit.",
)
