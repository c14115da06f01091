"""Cases, suite files, variants, templates and the signature. Imports no other room."""
