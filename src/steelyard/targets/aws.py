"""Signatures of requests to Amazon's services: AWS Signature Version 4."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote

from yarl import URL

from steelyard.frozen import frozen

_ALGORITHM = "AWS4-HMAC-SHA256"


@frozen
class Signer:
    """Signs requests to one service in one region with one key."""

    region: str
    access_key: str
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    service: str = "bedrock"

    def headers(
        self, method: str, url: URL, given: Mapping[str, str], data: bytes, now: datetime | None = None
    ) -> dict[str, str]:
        """The headers to add to those given: date, session token and signature. Those given are signed, too."""
        stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
        added = {"X-Amz-Date": stamp}
        if self.session_token:
            added["X-Amz-Security-Token"] = self.session_token
        signed = {name.lower(): " ".join(value.split()) for name, value in {**given, **added}.items()}
        signed["host"] = url.host_port_subcomponent or ""
        names = ";".join(sorted(signed))
        canonical = "\n".join(
            [
                method,
                # The path as it is sent is encoded once more; only S3 wants it otherwise.
                quote(url.raw_path, safe="/~"),
                _query(url.raw_query_string),
                *(f"{name}:{signed[name]}" for name in sorted(signed)),
                "",
                names,
                hashlib.sha256(data).hexdigest(),
            ]
        )
        scope = f"{stamp[:8]}/{self.region}/{self.service}/aws4_request"
        to_sign = "\n".join([_ALGORITHM, stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signature = hmac.new(self._key(stamp[:8]), to_sign.encode(), hashlib.sha256).hexdigest()
        credential = f"Credential={self.access_key}/{scope}"
        added["Authorization"] = f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"
        return added

    def _key(self, day: str) -> bytes:
        key = f"AWS4{self.secret_key}".encode()
        for part in (day, self.region, self.service, "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return key


def _query(text: str) -> str:
    pairs = parse_qsl(text, keep_blank_values=True)
    return "&".join(sorted(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in pairs))
