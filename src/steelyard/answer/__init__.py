"""From raw text to a structured answer: the extraction ladder. Imports no other room."""
