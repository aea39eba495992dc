"""The one error that ends the program with status 3."""


class Missing(Exception):
    """What the race needs and this machine does not have, in a sentence."""
