"""People: their labels, who gives which next, how far they agree, and what their labels make of a run's figures."""
