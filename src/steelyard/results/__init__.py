"""What a program holds in its hands: runs, and what is made of them, as objects that show themselves.

Commands use the same functions.
"""
