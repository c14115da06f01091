"""Secrets come out of a text however it spells them; the encoders of the standard library say how they are spelled."""

import base64
import html
import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from parts.looped import for_every
from steelyard.redact import REDACTED, SecretRedactor

KEY = "sk-a/B+c=9\"q'é<Z>&x"
PLAIN = "abc/DEF+ghi=123"


def escaped(text, spell):
    """Every character spelled out, as encoders do that escape all they can."""
    return "".join(spell(ord(one)) for one in text)


SPELLINGS = {
    "as it is": lambda key: key,
    "upper case": str.upper,
    "JSON": lambda key: json.dumps(key)[1:-1],
    "JSON in JSON": lambda key: json.dumps(json.dumps(key))[3:-3],
    "JSON in JSON in JSON": lambda key: json.dumps(json.dumps(json.dumps(key)))[5:-5],
    "JSON of PHP": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "JSON of .NET": lambda key: json.dumps(key)[1:-1].replace("+", "\\u002B").replace('\\"', "\\u0022"),
    "JSON in JSON of .NET": lambda key: json.dumps(json.dumps(key.replace("+", "\\u002B")))[3:-3],
    "all escaped": lambda key: escaped(key, "\\u{:04x}".format),
    "address": lambda key: quote(key, safe=""),
    "address in an address": lambda key: quote(quote(key, safe=""), safe=""),
    "address in small letters": lambda key: quote(key, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
    "HTML": html.escape,
    "HTML, by number": lambda key: escaped(key, "&#{};".format),
    "hex": lambda key: key.encode().hex(),
    "HEX": lambda key: key.encode().hex().upper(),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of user:key": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "base64 of a longer text": lambda key: base64.b64encode(f"my {key} ends".encode()).decode(),
    "base64 for addresses": lambda key: base64.urlsafe_b64encode(f"me:{key}".encode()).decode().rstrip("="),
    "base64 in JSON of PHP": lambda key: base64.b64encode(key.encode()).decode().replace("/", "\\/"),
}


@for_every("key", [KEY, PLAIN])
@for_every("spelling", SPELLINGS)
def test_a_secret_is_redacted_in_every_spelling(spelling, key):
    spelled = SPELLINGS[spelling](key)
    redacted = SecretRedactor([key])(f'{{"error": "you sent {spelled} and more"}}')
    assert REDACTED in redacted
    assert redacted.startswith('{"error": "you sent ')
    assert redacted.endswith(' and more"}')
    # Base64 of a longer text keeps what stands around the key; no other part is left.
    assert len(redacted) < len('{"error": "you sent  and more"}') + len(REDACTED) + 16


@given(
    key=st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=8, max_size=40),
    spelling=st.sampled_from([name for name in SPELLINGS if "base64" not in name]),
    around=st.text(st.characters(codec="ascii"), max_size=30),
)
def test_any_secret_is_redacted_in_every_spelling(key, spelling, around):
    spelled = SPELLINGS[spelling](key)
    assert spelled not in SecretRedactor([key])(around + spelled + around)


@given(st.text(max_size=200))
def test_a_text_without_the_secret_stays_as_it_is(text):
    redact = SecretRedactor(["a-key-that-nobody-writes"])
    assert redact(text) == text


def test_a_short_value_is_a_stand_in_and_stays():
    assert SecretRedactor(["EMPTY"])("EMPTY") == "EMPTY"


def test_the_longer_of_two_secrets_leaves_no_rest():
    assert SecretRedactor(["abcdefgh", "abcdefgh-ijkl"])("abcdefgh-ijkl") == REDACTED
