"""The built-in readers: three OCR engines, and the way from lines of text to cards and piles."""
