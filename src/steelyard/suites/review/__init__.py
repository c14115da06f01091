"""The review suite: a live service that reviews training documents against a set of standards."""
