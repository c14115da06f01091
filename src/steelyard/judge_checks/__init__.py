"""The check of a suite's judge against labels, its rubric and itself: the card, the operation and the command."""
