"""Measures what Steelyard must hold, side by side with the bare work underneath, as ratios of one run."""
