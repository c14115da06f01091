"""From a suite as it is written to its frozen models, or to all its problems at once; imports what `suite` may."""
