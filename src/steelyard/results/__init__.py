"""What a program holds in its hands: runs, and what is made of them, as objects that show themselves.

Imports every room but `alerts`, `cli`, `cluster` and `web`. Commands use the same functions.
"""
