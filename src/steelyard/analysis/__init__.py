"""What runs and pairs of runs show: summary, patterns, comparison, attribution. Knows the store, metrics and stats."""
