"""Phrases that give medical or financial advice, and what excuses them."""

from __future__ import annotations

import re
from typing import Final

from .signal_rule import FEW, Rule, any_of
from .signal_words import (
    ASSET,
    ASSET_HINTS,
    CARE,
    CARE_HINTS,
    ILLNESS,
    ILLNESS_HINTS,
    MEDICINE,
    MEDICINE_HINTS,
    MONEY,
    MONEY_HINTS,
    REMEDY,
)

_ASKING_CARE: Final = re.compile(
    r"\b(?:talk|speak|ask|consult|see|check|discuss|work|share|raise)\w*\b[^.]{0,120}"
    r"\b(?:doctors?|physicians?|gp|pharmacists?|prescriber|psychiatrists?|professionals?|providers?|care team)\b",
    re.IGNORECASE,
)
_KNOWN_ILLNESS: Final = any_of("diagnosed", "doctor has", "living with", "a history of", "you (?:told|said|mention)")
_CONSULT_MONEY: Final = any_of(
    r"(?:financial|investment|money) (?:advis[eo]rs?|planners?|professionals?|experts?|counsell?ors?)",
    r"accountants?",
    r"fiduciary",
)
_MEDICAL: Final = (
    Rule(
        "MEDICAL",
        "tells to change a treatment",
        any_of(
            r"(?:stop(?:ping)?|quit(?:ting)?|skip(?:ping)?|come off|get off|go off|give up|reduce|lower|halve|double"
            r"|increase"
            r"|change|adjust|throw (?:away|out)|ditch|discontinue|drop|start|begin|switch|abandon) (?:(?:taking"
            r"|using|on|with"
            rf"|the|your|that|those|any|all|of|his|her|prescribed|daily|current|new|this|to|a) ){{0,5}}{MEDICINE}",
            r"stop taking (?:them|these|those)(?! for granted| seriously| personally| so)",
            r"throw (?:the|your|those|that|his|her) (?:\w+ )?(?:packet|packets|pills|tablets|bottle|medication"
            r"|meds) (?:away|out)",
            rf"instead of (?:the |your |any |his |her )?{MEDICINE}",
        ),
        (*MEDICINE_HINTS, "stop taking", "packet", "bottle"),
        _ASKING_CARE,
    ),
    Rule(
        "MEDICAL",
        "tells to do without medical care",
        any_of(
            r"(?:instead of|rather than|no need|no longer need|(?:do not|don't|needn't|won't|will not|doesn't"
            r"|does not) need)"
            r" (?:(?:to|for|see|seeing|go|going|visit|visiting|take|taking|with|a|an|any|the|your|his|her|that"
            r"|more) ){0,4}"
            rf"(?:{CARE}|{MEDICINE})",
            r"(?:do not|don't|never) (?:go to|see|visit|call|trust|listen to) (?:(?:a|an|any|the|your|his|her"
            r"|that) ){0,2}"
            rf"{CARE}(?! alone)",
            r"(?<!not )(?<!n't )(?<!never )(?:cancel|skip|ignore|forget|refuse|avoid) (?:(?:about|to|see|seeing|a|an"
            r"|any|the"
            rf"|your|his|her|that|what|of|going) ){{0,4}}(?:{CARE}|{MEDICINE})",
        ),
        (*MEDICINE_HINTS, *CARE_HINTS),
        deniable=False,
    ),
    Rule(
        "MEDICAL",
        "gives a diagnosis",
        any_of(
            rf"(?:you|he|she|they|your (?:\w+ )?(?:mother|father|partner|child|husband|wife|son|daughter"
            rf"|body)) {FEW}{{0,2}}"
            r"(?:have|has|suffers? from|(?:is|are) suffering from|(?:are|is) developing|shows? signs of"
            r"|are showing signs of)"
            rf" {FEW}{{0,4}}{ILLNESS}",
            rf"your (?:symptoms?|pain|headaches?|fatigue|tiredness|cough) {FEW}{{0,3}}"
            rf"(?:from|of|by|to|means?|indicates?|is|are) {FEW}{{0,3}}{ILLNESS}",
            r"this is (?:clearly |probably |certainly |surely |definitely )*(?:a |an |your )?(?:\w+ )?"
            rf"{ILLNESS}",
            r"(?:this|the|these|your) (?:[\w']+ ){1,5}?(?:indicates?|diagnos\w+|shows?|points? to|reveals?|confirms?"
            r"|means?)"
            rf" (?:that )?(?:you have )?(?:(?:a|an|the|mild|severe|early|undiagnosed|hidden"
            rf"|underlying) ){{0,3}}{ILLNESS}",
            r"you(?: are|'re) (?:already )?pregnant",
        ),
        (*ILLNESS_HINTS, "pregnant"),
        _KNOWN_ILLNESS,
    ),
    Rule(
        "MEDICAL",
        "promises or names a cure",
        any_of(
            rf"(?:will|can|to|that|which|could) (?:\w+ )?(?:cures?|cured|heals?) (?:you of |your |the |any |all "
            rf"|his |her )"
            rf"(?:\w+ )?(?:{ILLNESS}|illness|symptoms|migraines?|asthma|allerg\w+|insomnia|back pain)",
            r"you will be (?:cured|disease-free)",
            r"\d+ ?(?:mg|mcg|milligrams?|iu)",
            rf"(?:take|taking|drink|swallow) (?:\w+ ){{0,4}}?{REMEDY}(?: \w+){{0,4}}? (?:daily|every (?:day|morning"
            rf"|night|hour)"
            r"|(?:once|twice|three times) (?:a|per) day|in the morning|for your|to (?:cure|treat|heal))",
        ),
        ("cure", "heal", "disease-free", "mg", "mcg", "milligram", "iu", "take", "taking", "drink", "swallow"),
    ),
)

_FINANCIAL: Final = (
    Rule(
        "FINANCIAL",
        "tells to buy, sell or invest",
        any_of(
            r"(?:buy(?:ing)?|sell(?:ing)?|invest(?:ing)? in|short|dump|trade|liquidate|cash (?:out|in)|hold on to"
            r"|take out"
            r"|remortgage|gamble|bet on|double down on|withdraw|empty|drain) (?:(?:a|an|the|your|all|of|more|some"
            r"|any|as|many"
            rf"|much|those|these|that|his|her|big|second|another|every|entire|tech|energy|penny"
            rf"|bank) ){{0,5}}{ASSET}",
            rf"(?:put|move|pour|sink|shift|roll|place) (?:\w+ ){{1,6}}?(?:in|into) (?:\w+ ){{0,2}}{ASSET}",
            r"(?:put|place|invest|move|sink|pour|stake|risk|bet|commit|borrow)(?:ting|ing)? (?:(?:all|of|your|the"
            r"|every|some"
            rf"|most|half|more|as|much|entire|life|a|lot) ){{0,5}}{MONEY}",
        ),
        (*ASSET_HINTS, *MONEY_HINTS),
        _CONSULT_MONEY,
    ),
    Rule(
        "FINANCIAL",
        "promises a profit",
        any_of(
            r"guaranteed? (?:\w+ )?(?:returns?|profits?|income|wealth|gains?)",
            r"risk-free (?:\w+ )?(?:investment|returns?|profit)",
            r"(?:double|triple|multiply) your (?:money|savings|investment)",
            r"(?:will|going to|'ll) (?:\w+ )?(?:win|hit) the (?:lottery|jackpot)",
            r"(?:will|going to|'ll) (?:\w+ )?(?:make you (?:rich|wealthy|a millionaire)|make (?:a fortune|millions)"
            r"|become (?:rich|a millionaire))",
            rf"(?:market|price|investments?|{ASSET}) (?:will|is going to|are going to) (?:\w+ )?"
            r"(?:rise|soar|crash|fall|double|triple|go up|go down|skyrocket)",
        ),
        (
            "guarantee",
            "risk-free",
            "money",
            "invest",
            "jackpot",
            "rich",
            "wealthy",
            "million",
            "fortune",
            "market",
            "price",
            *ASSET_HINTS,
        ),
    ),
)

ADVICE: Final = (*_MEDICAL, *_FINANCIAL)
