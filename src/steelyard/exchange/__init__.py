"""Files of other tools: their results as recorded answers with their own scores, a suite made of them, OpenTelemetry
in and out. May import `suite` and `store`."""
