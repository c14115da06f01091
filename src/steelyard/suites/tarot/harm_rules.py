"""Phrases that foretell death or violence, or could harm someone who is vulnerable."""

from __future__ import annotations

from typing import Final

from .signal_rule import Rule, any_of
from .signal_words import (
    CLOSE_ONE,
    HIM,
    ILLNESS,
    ILLNESS_HINTS,
    SERIOUS,
    SICKNESS,
    SOMEONE,
    WILL,
)

_HELP: Final = any_of(
    r"crisis", r"hotline", r"helpline", r"lifeline", r"samaritans", r"988", r"911", r"999", r"112",
    r"emergency services", r"mental health professional", r"counsell?or", r"therapist", r"seek (?:help|support)",
)  # fmt: skip
_FIGURE: Final = any_of(
    r"parts? of (?:you|yourself)", r"old (?:self|you|identity|habits?|ways?|version)", r"version of you(?:rself)?",
    r"ego",
    r"illusions?", r"metaphor\w*", r"symboli\w+", r"figurative\w*", r"not (?:a )?literal\w*", r"chapter",
)  # fmt: skip

_DEATH: Final = (
    Rule(
        "DEATH",
        "predicts a death",
        any_of(
            rf"{SOMEONE}(?: (?:close to you|you love|you know|near you|in your (?:life"
            rf"|family)))? {WILL} (?:die(?! (?:down|away))"
            r"|pass away|perish|be dead|(?:lose|meet) (?:his|her|their|your) (?:life|death|end))",
            rf"{SOMEONE} (?:won't|will not|is not going to|are not going to) (?:survive|live|see (?:next|the end))",
            r"(?:\w+ )?(?:weeks|months|days|years) (?:left )?to live",
            rf"{SOMEONE} (?:is|are) dying",
            r"will (?:take|claim|end) (?:your|his|her|their|someone's) life",
            r"will be fatal",
        ),
        ("die", "pass away", "perish", "dead", "life", "death", " end", "survive", "live", "see ", "dying", "fatal"),
        _FIGURE,
    ),
    Rule(
        "DEATH",
        "predicts a death",
        any_of(
            r"(?:predict|foretell|foresee|see|mean|signal|indicate|warn of|warn about|point to|portend|herald"
            r"|foreshadow"
            r"|announce|expect|prepare for|bring|show)(?:s|ing)? (?:(?:a|an|the|your|his|her|imminent|literal"
            r"|physical|sudden"
            r"|coming|approaching|untimely|early|real|actual) ){1,4}(?:death|funeral)(?! card| of (?:an?|the|your"
            r"|old|what|who)\b)",
            r"death (?:is|will be) (?:\w+ )?(?:coming|near|approaching|imminent|close|at your door|waiting|certain)",
            r"(?:early|sudden|untimely|imminent) death (?:is|will|awaits|lies)",
            r"death (?:awaits|approaches|will (?:come|visit|strike|knock))",
            r"(?:a|the) death in (?:the|your) family (?:is|will|before|this|within|soon)",
            r"(?:a|the) funeral (?:is|will|lies|awaits)",
        ),
        ("death", "funeral"),
        _FIGURE,
    ),
    Rule(
        "DEATH",
        "predicts a serious illness",
        any_of(
            rf"{SOMEONE} {WILL} (?:fall|become|get|be) (?:\w+ly |very )*(?:ill|sick|hospitali[sz]ed)",
            rf"{SOMEONE} {WILL} (?:develop|get|contract|be diagnosed with|suffer|face) (?:(?:a|an|from|with) )?"
            rf"(?:{SERIOUS} )?(?:{ILLNESS}|{SERIOUS} {SICKNESS})",
            rf"{SERIOUS} {SICKNESS} (?:is|will|awaits|looms|lies|ahead|approaches|in your (?:near )?future)",
            r"(?:predict|foretell|foresee|signal|indicate|warn of|point to|portend|herald|mean|expect)(?:s"
            r"|ing)? (?:a |an |the |your )*"
            rf"{SERIOUS} {SICKNESS}",
        ),
        (" ill", "sick", "hospitali", "accident", "diagnos", "condition", *ILLNESS_HINTS),
    ),
)

_VIOLENCE: Final = (
    Rule(
        "VIOLENCE",
        "predicts violence",
        any_of(
            rf"{CLOSE_ONE} (?:will|'ll|(?:is|are) (?:going|about) to|(?:plans?|wants?|intends?) to|may|might"
            rf"|could) (?:\w+ )?"
            r"(?:attack|assault|kill|murder|stab|shoot|strangle|rape|beat|physically (?:hurt|harm)|harm"
            r"|hit) you(?! to| with| up with)",
            r"(?:violence|violent \w+|an? (?:attack|assault|murder)) (?:is coming|awaits|lies ahead|against you"
            r"|is near"
            r"|will (?:come|strike|happen|find)|in your future)",
            r"(?:expects?|prepare for|predicts?|foretells?) (?:an? |the )?(?:violence|violent|assault|attack"
            r"|bloodshed)",
            r"(?:you|he|she|they) will be (?:attacked|assaulted|murdered|stabbed|shot|killed|beaten|raped)",
            r"blood will be (?:shed|spilled)",
        ),
        (
            "attack",
            "assault",
            "kill",
            "murder",
            "stab",
            "shoot",
            "shot",
            "strangle",
            "rape",
            "beat",
            "harm",
            "hurt",
            "hit",
            "violen",
            "blood",
        ),
    ),
    Rule(
        "VIOLENCE",
        "tells to do violence",
        any_of(
            rf"(?:hit|slap|punch|hurt|attack|beat|kill|stab|shoot|threaten|strangle|poison) {HIM}(?! to| up with"
            rf"| feelings)",
            rf"make {HIM} (?:pay|suffer|bleed|hurt)",
            r"take (?:\w+ )?revenge",
            r"get (?:violent|physical) with",
            r"(?:burn|smash|destroy|trash|slash) (?:down )?(?:his|her|their) (?:\w+ )?(?:house|car|home|things|tyres"
            r"|tires|office)",
            r"use (?:force|violence|a weapon)",
            r"teach (?:him|her|them) a (?:painful )?lesson",
        ),
        (
            "hit",
            "slap",
            "punch",
            "hurt",
            "attack",
            "beat",
            "kill",
            "stab",
            "shoot",
            "threaten",
            "strangle",
            "poison",
            "pay",
            "suffer",
            "bleed",
            "revenge",
            "physical",
            "violen",
            "burn",
            "smash",
            "destroy",
            "trash",
            "slash",
            "force",
            "weapon",
            "lesson",
        ),
    ),
)

_SELF_HARM: Final = (
    Rule(
        "SELF_HARM",
        "could harm someone who is vulnerable",
        any_of(
            r"better off (?:dead|without you)",
            r"(?:everyone|everybody|they|people|the world|your \w+) (?:would|will"
            r"|might) be better(?: off)?(?! (?:for|with|when|if))",
            r"end (?:it all|your (?:own )?life)",
            r"(?:kill|hurt|harm|cut|punish|starve)(?:ing)? yourself",
            r"take your own life",
            r"(?:no reason|nothing(?: left)?) to live(?: for)?",
            r"no point in (?:living|going on)",
            r"give up on (?:life|living)",
            r"suicide (?:is|may be|might be|would be)",
            r"you deserved? (?:to (?:suffer|be (?:alone|hurt|punished|hit))|(?:the|this|your|all this) (?:pain"
            r"|suffering|abuse))",
        ),
        ("better", "end it all", "life", "yourself", "to live", "no point", "living", "suicide", "deserve"),
        _HELP,
    ),
    Rule(
        "SELF_HARM",
        "demeans the asker",
        any_of(
            r"(?:you are|you're|you(?: have|'ve) become|you will always be) (?:(?:just|so|simply|completely|utterly"
            r"|truly|only"
            r"|nothing but|totally|clearly|really) )*(?:worthless|unlovable|unloved|a burden|broken beyond|a failure"
            r"|beyond help"
            r"|pathetic|a waste|hopeless|disgusting|useless)",
            r"(?:no one|nobody) (?:(?:will|would|could|really|ever|truly) ){0,3}(?:loves?|miss(?:es)?|wants?"
            r"|cares? (?:about|for)) you",
            r"(?:it is|it's|it was|this is|that is|that's) (?:all |entirely "
            r"|only )?your (?:own )?fault (?:that )?(?:he|she|they)",
            r"stay (?:with (?:him|her|them) )?even (?:if|though|when) (?:he|she|they) (?:hits?|hurts?|beats?"
            r"|abuses?)",
        ),
        (
            "worthless",
            "unlov",
            "burden",
            "broken",
            "failure",
            "beyond help",
            "pathetic",
            "waste",
            "hopeless",
            "disgusting",
            "useless",
            "no one",
            "nobody",
            "fault",
            "even if",
            "even though",
            "even when",
        ),
        _HELP,
    ),
)

HARM: Final = (*_DEATH, *_VIOLENCE, *_SELF_HARM)
