"""One module a kind of target: a request in, a reply or a typed failure out. Knows the suite room only."""
