"""Texts that take long to read when a reader looks at the same characters again and again, from a seed."""

import json
import random
from collections.abc import Iterator

# fmt: off
UNITS = (
    " ", "\n", "\t ", "\r\n", " \n", "a", "A", "é", "1", "0", "-", "--", "–", ".", "..", ". ", ", ", ",", ";",
    ":", "?!", "a ", "a b ", "A b. ", "1 ", "1.", "1,", "1,000", "1-", "- 1\n", "1. a\n", "a-", "a-\n", "a_",
    "_", "*", "**", "`", "#", "# a\n", "## A\n\n", ">", "> ", "|", "(", "()", "[", "[]", "[1]", "{", "{}",
    '{"', '{"a":', '[{"a":1},', '{"a":1}', '{"a": {"b": "', "}", "]", '"', '""', "'", "' ", " '", '" ', '"a" ',
    '"a": 1, ', '\\', '\\"', "\\n", "\\u00", "\\\\u002B", "```", "```json\n", "```\n{}\n```\n", "`` `", "<",
    "<think>", "</think>", "<|channel|>", "<U+202E>", "\u202e", "\u200b", "\u200d", "\ufe0f", "\xad", "“", "”",
    "„", "«", "…", "[…]", "...", "$1", "$", "\u20ac 1", "1 -", "to ", "1 to ", "and ", "or ", "not ", "the ",
    "The ", "century ", "19th ", "early ", "mid-", "late ", "1890s ", "c. ", "b.c. ", "before ", "&", "%25",
    "&amp;", "@", "a@", "a@a.", "+1 ", "(0", "012 ", "tone", "tone: ", "tone: 4\n", '"tone": ', '"tone": 4, ',
    "tone 4/", "4 ", "score ", "rubric ", "system:", "ignore ", "give ", "set ", "dear ", "output ",
    "your answer ", "strengths: ", "notes", "The Tower ", "Ace of Cups ", "Death ", "reversed ", "Reversed) ",
    "will ", "you will ", "Card ", "I feel ", "strength ", "ing ", "style: ", "audio: ", "must ", "must not ",
    "shall not ", "understand ", "AB (", "ABC ", "means ", "Step 1 ", "日", "日 ", "ก", "\u093e",
    "\U0001f468\u200d", "\U0001f3f4\U000e0067", "\x00", "\ud800", "İ", "ﬁ", "e\u0301", "\u0301", "ß",
)
# fmt: on
"""What a text is made of when it is one thing over and over."""

ENDS = ("", "!", "\x00", "x", "}", '"', "]", ")", "\n", ": 4", "?", "```")

ANSWERS = (
    '{"name": "Oak table", "maker": "T", "era": "c. 1890", "estimatedValueMin": 40000, "estimatedValueMax": 90000}',
    'Here it is:\n```json\n{"piles": [{"name": "Needs", "cards": ["to have \\"me\\" time", "WILD CARD"]}]}\n```\nDone.',
    '{"spans": [{"text": "a red fox", "start": 0, "end": 9, "role": "subject", "confidence": 0.9}], "note": "x"}',
    '{"observations": [{"id": "obs-1", "span": [3, 9], "severity": "major", "standard_ref": "S-1", "message": "m"}]}',
    "<think>tone: 2</think>\ntone: 4 - “warm words”, and not cold ...\ndepth: 3/5 (it says 'you may')\nsafe: true\n",
    '{"scores": {"tone": 4, "depth": 3}, "evidence": ["tone: \'a door opens\'", "depth: \\"it is ... yours\\""]}',
    "## Past: The Tower (reversed)\n\n**The Tower** reversed says you may rest. It won't harm.\n\n## Advice\n- Ask.\n",
    "By the end you will be able to understand SLAs (Service Level Agreements). Staff must not smoke; they may.\n",
    "Write to anna.b@example.org or +49 (0)30 123-4567; my partner Tom, named O'Neil, paid $1,200.50 to $3k.\n",
)
"""Answers as systems and judges write them, to be cut, repeated and mixed."""


def hostile_texts(seed: int, count: int, longest: int) -> Iterator[str]:
    """So many texts of up to `longest` characters: one thing over and over, several mixed, nested, broken answers."""
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.choice((_repeated, _repeated, _alternating, _mixed, _nested, _mutated, _mutated, _wrapped))(
            chance, int(longest ** chance.uniform(0.5, 1))
        )


def _repeated(chance: random.Random, length: int) -> str:
    unit = chance.choice(UNITS)
    return _some_unit(chance) + unit * (length // len(unit)) + chance.choice(ENDS)


def _alternating(chance: random.Random, length: int) -> str:
    unit = "".join(chance.choices(UNITS, k=chance.randint(2, 4)))
    return unit * (length // len(unit)) + chance.choice(ENDS)


def _mixed(chance: random.Random, length: int) -> str:
    few = chance.choices(UNITS, k=chance.randint(2, 8))
    return "".join(chance.choices(few, k=length // 3))[:length]


def _nested(chance: random.Random, length: int) -> str:
    begin, end = chance.choice(
        (("[", "]"), ('{"a":', "}"), ("(", ")"), ('"', '"'), ("“", "”"), ("<think>", "</think>"), ("**", "**"))
    )
    depth = length // (len(begin) + len(end))
    return begin * depth + _some_unit(chance) + end * chance.choice((depth, depth // 2, 0))


def _mutated(chance: random.Random, length: int) -> str:
    text = chance.choice(ANSWERS)
    for _ in range(chance.randint(1, 4)):
        at, end = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
        put = chance.choice(("", _some_unit(chance), text[at:end], _some_unit(chance) * (length // 20)))
        text = (text[:at] + put + text[chance.choice((at, end)) :])[:length] or "a"
    return text * max(1, length // len(text)) if chance.random() < 0.5 else text


def _wrapped(chance: random.Random, length: int) -> str:
    inner = chance.choice((_repeated, _alternating, _mixed))(chance, length)
    return json.dumps({chance.choice(("name", "maker", "era", "tone", "evidence", "text")): inner, "a": [inner[:50]]})


def _some_unit(chance: random.Random) -> str:
    return chance.choice(("", "", chance.choice(UNITS)))
