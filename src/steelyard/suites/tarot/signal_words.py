"""The vocabularies that the rules of danger are made of, each with the stems that show it may be in a text."""

from __future__ import annotations

from typing import Final

MEDICINE: Final = (
    r"(?:medications?|medicines?|meds|pills?|tablets?|prescriptions?|antidepressants?|insulin|dos(?:e|age)s?|inhaler"
    r"|chemo(?:therapy)?|treatments?(?: plan)?(?! of\b| you\b)|beta[ -]?blockers?|lithium|statins?|antibiotics?"
    r"|painkillers?"
    r"|blood thinners?|vaccines?)"
)
MEDICINE_HINTS: Final = (
    "medic", "meds", "pill", "tablet", "prescri", "antidepress", "insulin", "dos", "inhaler", "chemo", "treatment",
    "blocker", "lithium", "statin", "antibiotic", "painkiller", "thinner", "vaccine",
)  # fmt: skip
CARE: Final = (
    r"(?:doctors?|physicians?|surgeons?|hospitals?|psychiatrists?|surgery|check-?ups?|specialists?"
    r"|medical (?:advice|help|care|tests?)|blood tests?|scans?|biops(?:y|ies)|appointments?|therapy|therapists?)"
)
CARE_HINTS: Final = (
    "doctor", "physician", "surg", "hospital", "psychiatr", "check", "specialist", "medical", "blood test", "scan",
    "biops", "appointment", "therap",
)  # fmt: skip
ILLNESS: Final = (
    r"(?:cancer|tumou?rs?|diabet(?:es|ic)|(?:clinical )?depression|bipolar(?: disorder)?|schizophreni\w+|adhd|ptsd"
    r"|heart (?:disease|condition|attack|problem)s?|strokes?|thyroid|infections?|autoimmune \w+|diseases?|disorders?"
    r"|syndromes?|ana?emi[ac]|arthritis|ulcers?|deficiency|hormon(?:e|al) imbalance|dementia|alzheimer'?s?"
    r"|hypertension"
    r"|high blood pressure|fibromyalgia|endometriosis|chronic fatigue|pneumonia|leuka?emia)"
)
ILLNESS_HINTS: Final = (
    "cancer", "tumo", "diabet", "depress", "bipolar", "schizo", "adhd", "ptsd", "heart ", "stroke", "thyroid", "infect",
    "autoimmune", "disease", "disorder", "syndrome", "emia", "emic", "arthritis", "ulcer", "deficiency", "imbalance",
    "dementia", "alzheimer", "hypertension", "blood pressure", "fibromyalgia", "endometriosis", "fatigue", "pneumonia",
)  # fmt: skip
REMEDY: Final = (
    r"(?:iron|iodine|vitamins?(?: \w)?|supplements?|turmeric|herbs?|herbal \w+|tinctures?|zinc|magnesium|aspirin"
    r"|melatonin"
    r"|st\.? john'?s wort|ibuprofen|essential oils?)"
)
SERIOUS: Final = r"(?:serious|grave|terrible|terminal|life-threatening|severe|fatal|deadly|incurable)"
SICKNESS: Final = r"(?:illness|disease|diagnosis|sickness|condition|accident)"

_FAMILY: Final = (
    r"(?:mother|father|mom|mum|dad|parents?|partner|husband|wife|child|children|son|daughter|sister|brother"
    r"|grandmother"
    r"|grandfather|grandma|grandpa|aunt|uncle|boyfriend|girlfriend|ex|dog|cat|baby|friend)"
)
SOMEONE: Final = (
    r"(?:you|he|she|they|someone|somebody|(?:a|your) (?:\w+ )?(?:loved one|relative|friend|family member)"
    rf"|a member of your family|your (?:\w+ )?{_FAMILY})"
)
CLOSE_ONE: Final = (
    r"(?:he|she|they|someone|somebody|your (?:\w+ )?(?:partner|husband|wife|ex|boss|boyfriend|girlfriend|enemy"
    r"|enemies"
    r"|rival|neighbou?r|father|mother|brother))"
)
HIM: Final = (
    r"(?:him|her|them|(?:your|his|her|their) (?:\w+ )?(?:husband|wife|partner|ex|boss|boyfriend|girlfriend|neighbou?r"
    r"|rival|brother|sister|mother|father))"
)
WILL: Final = (
    r"(?:will|'ll|(?:is|are) (?:going|about|destined|bound) to|may|might|could)(?: (?:soon|also|not|surely"
    r"|\w+ly)){0,2}"
)
ASSET: Final = (
    r"(?:stocks?|shares|crypto(?:currenc(?:y|ies))?|bitcoins?|ethereum|nfts?|forex|gold|silver|real estate"
    r"|(?:mutual |index |hedge )?funds?|bonds|stock options|etfs?|savings|401k|pension|retirement (?:account|fund)"
    r"|mortgage|loans?|lottery tickets?|(?:rental )?propert(?:y|ies)|portfolio|start-?ups?|dogecoin|equity)"
)
ASSET_HINTS: Final = (
    "stock", "share", "crypto", "bitcoin", "ethereum", "nft", "forex", "gold", "silver", "estate", "fund", "bond",
    "etf", "saving", "401k", "pension", "retirement", "mortgage", "loan", "lottery", "propert", "portfolio", "startup",
    "start-up", "dogecoin", "equity",
)  # fmt: skip
MONEY: Final = (
    r"(?:savings|money|cash|capital|inheritance|pension|salary|wealth|dollars?|nest egg)"
    r"(?= (?:in|into|on|to|toward|behind|against|now|today|immediately)\b|\W*$)"
)
MONEY_HINTS: Final = (
    "saving", "money", "cash", "capital", "inherit", "pension", "salary", "wealth", "dollar", "nest egg",
)  # fmt: skip
BAD: Final = (
    r"(?:disaster|ruin|catastrophe|tragedy|heartbreak|betrayal|loss|collapse|misfortune|failure|misery|suffering"
    r"|divorce"
    r"|bankruptcy|doom|destruction|pain|grief|breakup|downfall)"
)
