"""What people say of texts and cases (labels of a crowd, how far each person can be relied on).

Imports `suite`, `store`, `metrics`, `stats` and `analysis`.
"""
