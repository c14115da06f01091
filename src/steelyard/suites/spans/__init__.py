"""Label the visual control points of video prompts, and diagnose the labeller: gold spans, sections, confidence."""
