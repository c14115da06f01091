"""Phrases that call a bad end unavoidable."""

from __future__ import annotations

from typing import Final

from .signal_rule import FEW, Rule, any_of
from .signal_words import BAD

DOOM: Final = (
    Rule(
        "DOOM",
        "calls a bad end unavoidable",
        any_of(
            rf"(?:is|are|were|you're|be|remain) {FEW}?(?:doomed|cursed|damned)",
            r"doomed to",
            r"(?:destined|fated|bound|condemned|certain|guaranteed|sure) to (?:fail|lose|suffer|end badly"
            r"|be (?:alone|betrayed)|collapse|fall apart|break(?: down)?|crash)",
            rf"{BAD} (?:is|are|will be) {FEW}?(?:coming|certain|inevitable|unavoidable|guaranteed|sealed|assured"
            r"|inescapable)",
            rf"(?:inevitable|unavoidable|inescapable|guaranteed) (?:\w+ )?{BAD}",
            r"(?:inevitably|surely|certainly) (?:\w+ )?(?:fail|lose|collapse|end (?:badly|in)|suffer|fall apart"
            r"|leave you)",
            rf"will (?:\w+ly |only )?end in (?:\w+ )?(?:{BAD}|tears)",
            rf"(?:only )?(?:\w+ )?{BAD} awaits(?: you)?",
            r"your fate is sealed",
            r"your (?:\w+ )?(?:life|marriage|relationship|career|future|business) is (?:over|ruined|finished)",
            r"(?:you|he|she|they|it|this|your \w+)(?: (?:will|(?:is|are) going to)|'ll) (?:surely |soon )?"
            r"(?:lose everything|lose (?:your (?:job|home|house|family|partner|husband|wife)|him|her|them)|fail"
            r"|be alone forever|always be alone|end up alone|die alone|be ruined|fall apart|be destroyed|collapse"
            r"|go bankrupt|be betrayed|only get worse)",
        ),
        (
            "doom", "cursed", "damned", "destined", "fated", "bound to", "condemned", "certain", "guaranteed", "sure",
            "inevit", "coming", "unavoidable", "inescapable", "assured", "sealed", "end in", "await", "over", "ruin",
            "finished", "lose", "fail", "alone", "apart", "destroyed", "collapse", "bankrupt", "betrayed", "worse",
        ),
    ),
    Rule(
        "DOOM",
        "leaves no way out",
        any_of(
            r"(?:there is|there's|you have|has|leaves?(?: you)?) no (?:way out|escape|hope|chance|avoiding|stopping"
            r"|escaping)(?! (?:without|unless|until|but))",
            r"beyond (?:saving|hope|repair)",
            r"there(?: is|'s) nothing you (?:can|could) do(?! (?:but|except))",
            r"nothing (?:you (?:can |could )?(?:do|say|try)(?: now)?,? )?(?:will|can|could|would) (?:ever )?"
            r"(?:change|stop|prevent|help|save|avoid|fix|undo|alter) (?:it|this|that|things|the|your|what|him|her"
            r"|them|you)",
            r"no matter what you (?:do|try|choose)[^.]{0,40}(?:fail|lose|end|suffer|collapse|leave|worse|disaster"
            r"|ruin)",
            r"(?:cannot|can't|can not|won't|will not) be (?:avoided|stopped|prevented|escaped|saved|averted|undone)",
            r"(?:it is|it's) too late (?:to|for) (?:save|change|mend|fix|stop|repair|you|him|her|them)",
            r"the damage is done",
            r"you(?: will|'ll) never (?:find (?:love|happiness|peace|success|anyone|another|a partner)"
            r"|be (?:happy|loved|free|enough|successful|whole)|recover|succeed|heal|marry|have children|escape"
            r"|get (?:better|over|out)|know (?:love|peace))",
            r"(?:it|this|things|he|she|they|your \w+) will never (?:work|get better|change|improve|forgive|love you"
            r"|come back)",
        ),
        (
            "no ", "beyond", "nothing", "be avoid", "be stop", "be prevent", "be escape", "be save", "be avert",
            "be undone", "too late", "damage", "never",
        ),
        deniable=False,
    ),
)  # fmt: skip
