"""Views of one report object: terminal, JSON, Markdown, JUnit, HTML. Knows analysis and release."""
