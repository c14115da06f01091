"""A POST of JSON to an address: the whole message as data, or in the shape of Slack's incoming webhooks."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from steelyard import __version__
from steelyard.alerting.channel import Place, Undelivered
from steelyard.alerting.notices import Message
from steelyard.alerting.slack import slack_shape
from steelyard.suite.alert_channels import Slack, Webhook

_WORTH_RETRYING = (408, 425, 429)
_MOST_OF_ANSWER = 300
_LONGEST_WAIT = 60.0


def send_webhook(channel: Webhook, message: Message, place: Place, seconds: float) -> None:
    """Send it; Undelivered when the other side does not take it."""
    address = place.secret(channel.url)
    if not address.startswith(("https://", "http://")):
        raise Undelivered(f"${channel.url} holds no address that begins with https:// or http://", retry=False)
    if "@" in address.partition("://")[2].partition("/")[0]:
        raise Undelivered(f"${channel.url} holds a name or password in its address: give a token", retry=False)
    data = slack_shape(message) if isinstance(channel, Slack) else message.as_data()
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": f"steelyard/{__version__}"}
    if channel.token is not None:
        headers["Authorization"] = f"Bearer {place.secret(channel.token)}"
    try:
        # Lone surrogates, which models do send, have no place in UTF-8: JSON spells them out.
        body = json.dumps(data, allow_nan=False).encode("ascii")
        request = urllib.request.Request(address, body, headers, method="POST")  # noqa: S310 - http or https, above
        # It is taken once the status says so: an answer that never ends must not have it sent once more.
        urllib.request.build_opener(_NoRedirect).open(request, timeout=seconds).close()
    except urllib.error.HTTPError as error:
        with error:
            raise _refused(error) from None
    except urllib.error.URLError as error:
        raise Undelivered(f"no connection: {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        raise Undelivered(f"the connection broke: {str(error) or type(error).__name__}") from None
    except ValueError as error:
        raise Undelivered(f"${channel.url} or its token cannot be used: {error}", retry=False) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would turn the POST into a GET, and could lead anywhere."""

    def redirect_request(self, *told: Any) -> None:  # noqa: ARG002 - whatever it is told
        return None


def _refused(error: urllib.error.HTTPError) -> Undelivered:
    try:
        said = error.read(_MOST_OF_ANSWER).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        said = ""
    retry = error.code >= 500 or error.code in _WORTH_RETRYING
    told = f": {' '.join(said.split())}" if said.strip() else ""
    return Undelivered(f"HTTP {error.code}{told}", retry=retry, after=_wish(error.headers))


def _wish(headers: Any) -> float | None:
    """The seconds that the other side asks to wait; None when it does not say so in seconds."""
    try:
        seconds = float(headers.get("Retry-After", ""))
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds <= _LONGEST_WAIT else None
