"""How the photos of this suite are made: cards, tables and light, drawn with Pillow from a seed."""
