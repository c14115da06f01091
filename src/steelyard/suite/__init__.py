"""Cases, suite files, variants, templates and the signature. Knows which metrics and alerts a suite file may name."""
