"""Two runs compared: pairing, signatures, differences with tests, attribution; imports what `analysis` may."""
