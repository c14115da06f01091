"""One small module a command; heavy imports inside the function that needs them."""
