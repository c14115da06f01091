"""A message inside GitHub Actions: an annotation for each alert, and a part of the job summary."""

from __future__ import annotations

from steelyard.alerting.channel import NotHere, Place, Undelivered
from steelyard.alerting.notices import Message, Notice
from steelyard.report.github import annotation, append_summary, in_github
from steelyard.report.markdown_layout import facts, quoted, safe

_SIGNS = {"error": "❌", "warning": "⚠️", "notice": "✅"}


def send_to_github(message: Message, place: Place) -> None:
    """Write annotations and the job summary; NotHere outside of GitHub Actions."""
    if not in_github(place.env):
        raise NotHere
    for notice in message.notices:
        told = "\n".join(f"{label}: {text}" for label, text in notice.facts()[1:])
        place.tell(annotation(notice.level, told, title=f"{message.suite}: {notice.title}"))
    try:
        append_summary(in_markdown(message), place.env)
    except OSError as error:
        raise Undelivered(f"the job summary cannot be written: {error.strerror or error}", retry=False) from None


def in_markdown(message: Message) -> str:
    """The message as Markdown in which nothing foreign is rendered."""
    return "\n\n".join([f"### Alerts of {safe(message.suite)}", *(_part(each) for each in message.notices)])


def _part(notice: Notice) -> str:
    parts = [facts(f"{_SIGNS[notice.level]} {notice.title}", notice.facts()[1:])]
    parts += [f"{safe(label)}:\n\n<pre>{quoted(text)}</pre>" for label, text in notice.quotes()]
    return "\n\n".join(parts)
