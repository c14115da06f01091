"""Whether a plain word that is also a card's name is used as the card."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
    return any(match.start() < end and match.end() > start for match in idioms.finditer(text, lowest, highest))


def turns(text: str, end: int) -> bool:
    """True when what is named turns or spins: the wheel of fortune of the saying."""
    return _TURNING.match(text, end) is not None


_BEFORE: Final = 48
_AFTER: Final = 60

_PLACES: Final = (
    r"(?:recent |near |distant |immediate )?(?:past|present|future|outcome|advice|challenge|obstacle|foundation|root"
    r"|crown|"
    r"situation|action|environment|guidance|self|heart|mind|body|spirit|goal|opportunity|influences?|hopes?|fears?)"
)
_MARKUP: Final = r"[\s*_]"
_TURNED: Final = r"(?:reversed|upright|inverted|rx)\b"


def _any_of(*phrases: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(rf"{_MARKUP}*(?:{'|'.join(phrases)})".replace(" ", r"\s+"), flags)


# What stands right after the name when it is a card, whatever the letter case of the name.
_CARD_AFTER: Final = _any_of(rf"(?:(?:{_TURNED}|tarot){_MARKUP}+)?cards?\b")

# The same for a name with a capital.
_SURE_AFTER: Final = _any_of(
    rf"[,–—-]?{_MARKUP}*\(?\[?(?:in (?:its )?)?(?:{_TURNED}|reverse\b)",
    r"\((?:R|Rx|[IVX]{1,5}|\d{1,2}|(?:[Tt]he |[Yy]our )?[A-Z][\w/&' -]{1,34}|card \w+|position \w+"
    r"|" + _PLACES + r")\)",
    r"(?:[,–—]\s*)?(?:here )?(?:in|as|at|on|among) (?:the|your|this|their) (?:[\"'\w/-]+ ){0,4}?"
    r"(?:position|place|slot|card|placement|past|present|future|outcome|spot)\b",
    r"(?:[,–—]\s*)?(?:in|as|at|among|under) (?:the |your )?(?:[A-Z]\w+|" + _PLACES + r")\b",
    r"(?:is|was) (?:the|your|a|an) (?:[\w-]+ ){0,3}card\b",
    rf"(?:is|was|has been|being|comes? up|came up|turned up|appears|appeared) (?:drawn|{_TURNED}|here)",
    flags=0,
)
_NUMBER: Final = r"(?:\d{1,2}|[ivx]{1,5}|one|two|three|four|five|six|seven|eight|nine|ten)"
_SURE_BEFORE: Final = re.compile(
    r"(?:"
    + "|".join(
        [
            rf"\b(?:card|position|arcanum)\s*(?:no\.?\s*|#)?{_NUMBER}?\s*(?:is|was|[:=.–—-])[\s*_\"']*",
            r"\b(?:drew|drawn|drawing|draw|pulled|pulling|dealt|turned\s+over|turned\s+up)(?:\s+you)?[\s*_\"']+",
            r"\b(?:reversed|upright|inverted)[\s*_]+",
            r"\b(?:the|your|this|next|first|second|third|fourth|fifth|last|final)\s+(?:[\w-]+\s+)?cards?"
            r"(?:\s+(?:here\s+)?(?:is|are|was|were|of|called)|,)[\s*_\"':]+",
            r"\barcan(?:a|um)(?:\s+card)?(?:,|:)?\s+",
            r"\b(?:appearance|arrival|archetype|tarot's)\s+(?:of\s+)?",
            r"\bwe\s+(?:meet|find|see|have)\s+",
            rf"\b{_PLACES}\s*[:–—]\s*",
        ]
    )
    + r")(?:the\s+)?$",
    re.IGNORECASE,
)
# One of these stands before the name whenever the pattern above can match: the cheap question first.
_SURE_WORDS: Final = re.compile(
    r"card|position|arcan|dr[ae]w|pull|dealt|turned|revers|upright|invert|appear|arrival|archetype|tarot|\bwe\b"
    r"|[:–—]",
    re.IGNORECASE,
)

_SAYS: Final = (
    r"suggest|invite|ask|represent|indicate|signif(?:y|ie)|symboli[sz]e|remind|urge|encourage|advise|hint|counsel"
    r"|nudge|"
    r"warn|denote|depict|portray"
)
_SHOWS: Final = (
    r"appear|show|speak|point|reflect|signal|reveal|tell|bring|mark|highlight|embod(?:y|ie)|whisper|challenge|offer|"
    r"arrive|sit|land|stand|emerge|carr(?:y|ie)|call|say|describe|illuminate|mirror|mean|promise|echo|cross(?:e)?"
    r"|crown"
    r"|cover|"
    r"want|help|hold|teach(?:e)?|herald|shift|anchor|lend|follow|acknowledge|affirm|confirm|capture|close"
)
_ADVERB: Final = r"(?:\s+(?:here|also|then|now|often|gently|further|clearly|traditionally|in\s+this\s+spread|\w+ly))?"
# Verbs of which a card is the subject and a virtue hardly ever.
_SAYS_AFTER: Final = re.compile(rf"{_MARKUP}*,?{_ADVERB}\s+(?:{_SAYS})s?\b", re.IGNORECASE)
_SHOWS_AFTER: Final = re.compile(
    rf"{_MARKUP}*(?:'s\s+(?:energy|message|lesson|appearance|presence|imagery|invitation|arrival|light)\b"
    rf"|,?{_ADVERB}\s+(?:{_SAYS}|{_SHOWS})s?\b"
    r"|\s+(?:energy|archetype|is\s+(?:a|the|about|often|here)\b))",
    re.IGNORECASE,
)

# "The Moon is bright" and "the Sun" of the sky: a capital alone says little of these.
_HEAVENLY: Final = frozenset({"moon", "sun", "world", "star", "wheel", "pope", "lover"})
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?…:;][\"')\]*_]*\s+|\n)[\s>#*_\"'(\[-]*(?:\d{1,2}[.)]\s*)?[*_\"'(]*$")
_NAME_GOES_ON: Final = re.compile(r"[ ](?!Card|Reversed|Upright|Rx|In|As|And|Or|The|For|With|To)[A-Z][a-z]+")
_GLUED: Final = re.compile(r"-[a-z]")
_JOINED: Final = re.compile(
    r"(?:[\s*_\"']|,|;|/|&|\+|→|->|\(|\)|\band\b|\bor\b|\bto\b|\bthen\b|\bwith\b|\bthe\b|\bthen\b)+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place where a card's plain name stands: `start` is with the article, `core` is without it."""

    start: int
    core: int
    end: int
    word: str
    numbered: bool
    drawn: bool
    has_article: bool


def is_card(text: str, candidate: Candidate, *, labelled: bool, title: bool) -> bool:
    """True when the text uses the name as a card.

    `labelled`: the name is all that a heading, a bold span or a label says. `title`: its line has capitals throughout,
    so that a capital proves nothing.
    """
    after = text[candidate.end : candidate.end + _AFTER]
    if (candidate.core and text[candidate.core - 1] == "-") or _GLUED.match(after):
        return False
    if candidate.numbered or labelled or _CARD_AFTER.match(after):
        return True
    if not text[candidate.core].isupper():
        return False
    before = text[max(0, candidate.start - _BEFORE) : candidate.start]
    if _SURE_AFTER.match(after) or (_SURE_WORDS.search(before) and _SURE_BEFORE.search(before)):
        return not in_idiom(text, candidate.word, candidate.core, candidate.end)
    if (
        (title and not (candidate.drawn and candidate.has_article))
        or _NAME_GOES_ON.match(after)
        or in_idiom(text, candidate.word, candidate.core, candidate.end)
    ):
        return False
    if candidate.word.startswith("wheel") and not candidate.drawn and turns(text, candidate.end):
        return False
    return _is_subject(text, candidate, after, starts=_SENTENCE_START.search(before[-14:]) is not None)


def _is_subject(text: str, candidate: Candidate, after: str, *, starts: bool) -> bool:
    """True when the word's capital, or the verb after it, makes it the card."""
    if candidate.has_article:
        # "the Tower" has its capital from the card; the Sun and the World may have it from elsewhere.
        titled = text[candidate.start].isupper() and not starts
        return candidate.drawn or titled or candidate.word not in _HEAVENLY or _SHOWS_AFTER.match(after) is not None
    if starts:
        return (_SHOWS_AFTER if candidate.drawn else _SAYS_AFTER).match(after) is not None
    return candidate.drawn or _SAYS_AFTER.match(after) is not None


def joined(text: str, one_end: int, other_start: int) -> bool:
    """True when nothing but a comma, "and" or the like stands between two names, so that both are of one kind."""
    between = text[one_end:other_start]
    return len(between) <= 16 and "\n" not in between and bool(_JOINED.fullmatch(between))
