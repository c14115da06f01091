"""The blocks of a comparison of two runs and of its attribution; imports what `report` may."""
