"""Turns of phrase that hold a card's name and do not mean the card."""

from __future__ import annotations

import re
from typing import Final

_SIGNS: Final = (
    r"(?:aries|taurus|gemini|cancer|leo|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces|conjunct|opposite|"
    r"trine|retrograde|signs?|phases?)"
)

# By the name's word, "@": what may stand around it. Spaces stand for any space. Only phrases that are met with a
# capital, at the start of a sentence or in a title, need to be here: in small letters none of these is a card.
_PHRASES: Final[dict[str, str]] = {
    "fool": r"@'?s'? (?:journey|errand|gold|paradise)|journey of the @|(?:play|make|made|making) (?:a|the) @|(?:no"
    r"|any) @"
    r"|@ (?:yourself|you|me|around|them|him|her)",
    "tower": r"(?:ivory|church|water|clock|bell|leaning|cell|eiffel|control) @|@ of (?:babel|london|strength|pisa"
    r"|power)"
    r"|@ (?:block|bridge|above|over|hamlets)",
    "star": r"@[ -]crossed|@ (?:signs?|wars|trek|power|quality|student|player|performer|chart|pupil)"
    r"|(?:rising|shooting|north|guiding|lucky|pole|rock|movie|pop|five|gold|falling|lone|evening|morning)[ -]@"
    r"|@ of (?:the show|the sea|david|bethlehem)|reach(?:ing)? for the @",
    "moon": r"(?:over|by the light of|promised?|ask for|hung|shoot for|reach(?:ing)? for|howl at) the @"
    r"|(?:blue|new|full|half|crescent|gibbous|waxing|waning|harvest|blood|super|dark|quarter) @"
    rf"|@ (?:and back|landing|in {_SIGNS}|{_SIGNS})",
    "sun": r"(?:everything|anything|nothing) under the @|(?:place|day|man|time|spot|fun) in the @"
    r"|(?:rising|setting|morning|midday|summer|winter|warm) @"
    rf"|@ (?:king|is shining|rises|sets|came out|comes out|in {_SIGNS}|{_SIGNS})",
    "world": r"(?:means?|meant|meaning|rule|change|changing|save|on top of|take on) the @|out of this @"
    r"|(?:third|old|new|real|inner|outer|material|natural|whole|modern|western|dream|spirit|work|working) @"
    r"|@ (?:bank|cup|war|series|wide|health|record|tour|view|peace|is your oyster|of (?:difference|good|pain|its own"
    r"|\w+ies))",
    "lovers": r"(?:star[ -]crossed|young|former|secret|past|fellow|lost|new|book|music|animal|nature|food) @"
    r"|@'? (?:quarrel|tiff|spat)",
    "lover": r"(?:a|an|your|his|her|my|their|old|new|former|secret|book|music|animal|nature|food|dog|cat) @"
    r"|@'?s? (?:quarrel|tiff|spat)",
    "death": r"@ (?:and|or) (?:taxes|glory|dying)|(?:life|birth) (?:and|or) @|@ of (?:an?|the|your|my|this|that"
    r"|old|who)"
    r"|@ (?:in the family|penalty|row|toll|certificate|bed|wish|valley|sentence|knell|star)"
    r"|(?:black|sudden|brain|near|literal|physical|ego|certain)[ -]@",
    "justice": r"(?:poetic|social|criminal|racial|restorative|climate|economic|rough|natural|chief|associate|lady"
    r"|scales of"
    r"|department of|ministry of|court of|to|obstruction of|sense of) @"
    r"|@ (?:system|department|of the peace|league|warriors?|served|is served|will be (?:served|done)|for all)",
    "strength": r"@ (?:to strength|in numbers|training|and weakness\w*|of (?:character|will|mind|purpose))"
    r"|strength to @"
    r"|(?:inner|brute|physical|core|emotional|quiet|own|tensile|tower of) @",
    "judgement": r"@ (?:day|call|seat|calls)|(?:day of|better|good|sound|poor|snap|pass|passing|without|own"
    r"|suspend|value) @",
    "temperance": r"@ (?:movement|society|union|league)",
    "devil": r"@'?s (?:advocate|food|work|own|triangle)|@ (?:is in the details?|you (?:do not |don't )?know"
    r"|may care|wears|and the deep)"
    r"|(?:speak|speaking|talk) of the @|(?:poor|little|lucky|handsome|tasmanian|better the|between the"
    r"|dance with the|deal with the|what the) @",
    "emperor": r"@'?s new|(?:roman|holy|last|french|japanese|chinese) @|@ penguin\w*",
    "empress": r"(?:roman|holy|last|french|japanese|chinese|dowager) @",
    "hermit": r"@ (?:crabs?|kingdom|life)",
    "chariot": r"@s? (?:of fire|race)",
    "magician": r"(?:stage|street) @|@'?s (?:hat|assistant|trick)",
    "wheel": r"(?:steering|potter'?s|spinning|water|wagon|ferris|cog in the) @|@s? (?:of (?:time|life|the year"
    r"|industry)|in motion)"
    r"|(?:behind|at|reinvent\w*|asleep at) the @",
    "high": r"@ priest of",
    "pope": r"the @ (?:in|francis|john|benedict|leo)|is the @ catholic",
}  # fmt: skip
_SPELLINGS: Final = {"judgment": "judgement"}


def _compiled(word: str, phrases: str) -> re.Pattern[str]:
    name = "judge?ment" if word == "judgement" else word
    return re.compile(rf"\b(?:{phrases})\b".replace("@", name).replace(" ", r"\s+"), re.IGNORECASE)


_IDIOMS: Final = {word: _compiled(word, phrases) for word, phrases in _PHRASES.items()}
_REACH: Final = 26
"""No idiom reaches farther than this to either side of the name in it."""

_TURNING: Final = re.compile(r"\s+(?:always\s+|often\s+|keeps?\s+|never\s+)?(?:turn|spin|stop|roll)\w*", re.IGNORECASE)


def in_idiom(text: str, word: str, start: int, end: int) -> bool:
    """True when the name at that place, which begins with this word, is part of a turn of phrase."""
    idioms = _IDIOMS.get(_SPELLINGS.get(word, word))
    if idioms is None:
        return False
    lowest, highest = max(0, start - _REACH), min(len(text), end + _REACH)
    return any(found.start() < end and found.end() > start for found in idioms.finditer(text, lowest, highest))


def turns(text: str, end: int) -> bool:
    """True when what is named turns or spins: the wheel of fortune of the saying."""
    return _TURNING.match(text, end) is not None
