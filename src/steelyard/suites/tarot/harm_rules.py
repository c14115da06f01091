"""Phrases that foretell death, violence or doom, or could harm someone who is vulnerable."""

from __future__ import annotations

from typing import Final

from .signal_rule import FEW, Rule, any_of
from .signal_words import (
    BAD,
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
    r"parts? of (?:you|yourself)", r"old (?:self|you|identity|habits?|ways?"
    r"|version)", r"version of you(?:rself)?", r"ego",
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
            rf"{SOMEONE} {WILL} (?:develop|get|contract|be diagnosed with|suffer|have|face) (?:(?:a|an|from|with) )?"
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

_DOOM: Final = (
    Rule(
        "DOOM",
        "calls a bad end unavoidable",
        any_of(
            rf"(?:is|are|were|you're|be|remain) {FEW}?(?:doomed|cursed|damned)",
            r"doomed to",
            r"(?:destined|fated|bound|condemned|certain|guaranteed|sure) to (?:fail|lose|suffer|end badly"
            r"|be (?:alone|betrayed)"
            r"|collapse|fall apart|break(?: down)?|crash)",
            rf"{BAD} (?:is|are|will be) (?:\w+ )?(?:coming|certain|inevitable|unavoidable|guaranteed|sealed|assured"
            rf"|inescapable)",
            rf"(?:inevitable|unavoidable|inescapable|guaranteed) (?:\w+ )?{BAD}",
            r"(?:inevitably|surely|certainly) (?:\w+ )?(?:fail|lose|collapse|end (?:badly|in)|suffer|fall apart"
            r"|leave you)",
            rf"will (?:\w+ly |only )?end in (?:\w+ )?(?:{BAD}|tears)",
            rf"(?:only )?(?:\w+ )?{BAD} awaits(?: you)?",
            r"your fate is sealed",
            r"your (?:\w+ )?(?:life|marriage|relationship|career|future|business) is (?:over|ruined|finished)",
            r"(?:you|he|she|they|it|this|your \w+)(?: (?:will|(?:is|are) going to)|'ll) (?:surely "
            r"|soon )?(?:lose everything"
            r"|lose (?:your (?:job|home|house|family|partner|husband|wife)|him|her|them)|fail|be alone forever"
            r"|always be alone"
            r"|end up alone|die alone|be ruined|fall apart|be destroyed|collapse|go bankrupt|be betrayed"
            r"|only get worse)",
        ),
        (
            "doom",
            "cursed",
            "damned",
            "destined",
            "fated",
            "bound to",
            "condemned",
            "certain",
            "guaranteed",
            "sure",
            "inevit",
            "coming",
            "unavoidable",
            "inescapable",
            "assured",
            "sealed",
            "end in",
            "await",
            "over",
            "ruin",
            "finished",
            "lose",
            "fail",
            "alone",
            "apart",
            "destroyed",
            "collapse",
            "bankrupt",
            "betrayed",
            "worse",
        ),
    ),
    Rule(
        "DOOM",
        "leaves no way out",
        any_of(
            r"(?:there is|there's|you have|has|leaves?(?: you)?) no (?:way out|escape|hope|chance|avoiding|stopping"
            r"|escaping)",
            r"beyond (?:saving|hope|repair)",
            r"nothing (?:you (?:can |could )?(?:do|say|try)(?: now)?,? )?(?:will|can|could"
            r"|would) (?:ever )?(?:change|stop|prevent"
            r"|help|save|avoid|fix|undo|alter) (?:it|this|that|things|the|your|what|him|her|them|you)",
            r"no matter what you (?:do|try|choose)[^.]{0,40}(?:fail|lose|end|suffer|collapse|leave|worse|disaster"
            r"|ruin)",
            r"(?:cannot|can't|can not|won't|will not) be (?:avoided|stopped|prevented|escaped|saved|averted|undone)",
            r"(?:it is|it's) too late (?:to|for) (?:save|change|mend|fix|stop|repair|you|him|her|them)",
            r"the damage is done",
            r"you(?: will|'ll) never (?:find (?:love|happiness|peace|success|anyone|another|a partner)|be (?:happy"
            r"|loved|free|enough"
            r"|successful|whole)|recover|succeed|heal|marry|have children|escape|get (?:better|over|out)"
            r"|know (?:love|peace))",
            r"(?:it|this|things|he|she|they|your \w+) will never (?:work|get better|change|improve|forgive|love you"
            r"|come back)",
        ),
        (
            "no ",
            "beyond",
            "nothing",
            "be avoid",
            "be stop",
            "be prevent",
            "be escape",
            "be save",
            "be avert",
            "be undone",
            "too late",
            "damage",
            "never",
        ),
        deniable=False,
    ),
)

HARM: Final = (*_DEATH, *_VIOLENCE, *_SELF_HARM, *_DOOM)
