"""What the tests of the package expect of its errors."""

from harness import check


def refused(action, kind, *parts):
    """The message of an error of this kind, which holds all parts."""
    try:
        found = action()
    except kind as error:
        for part in parts:
            check(str(part) in str(error), f"{part!r} is not in: {error}")
        return str(error)
    raise AssertionError(f"{kind.__name__} was expected, and there was {found!r}")
