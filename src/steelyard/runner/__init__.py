"""Whole actions from beginning to end (run, rescore), and whether two runs were scored alike."""
