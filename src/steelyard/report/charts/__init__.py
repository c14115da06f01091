"""Charts as Vega-Lite specifications in plain data: one definition for the picture, the report page and the web."""
