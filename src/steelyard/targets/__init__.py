"""One module a kind of target, from a request to a response or a typed failure; imports `suite`."""
