"""The scorer of spans in a text: offsets, matching against gold, errors and schemes; imports what `scoring` may."""
