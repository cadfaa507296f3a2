"""What check_methods and check_schedulers share: the cards of METHODS.md beside the rows of a table."""
import re


def compare(what, left, right):
    return [f"{what[0]} has {name}, {what[1]} has not" for name in sorted(left - right)] + \
           [f"{what[1]} has {name}, {what[0]} has not" for name in sorted(right - left)]


def completeness(lacks):
    return f"partly, lacks {lacks}" if lacks else "yes"


def completeness_of(card):
    """What a card says after 'Complete:', its lines joined and without the full stop."""
    said = re.search(r"^- Complete: (.+(?:\n  .+)*)", card, re.M)
    return re.sub(r"\s+", " ", said.group(1)).rstrip(".") if said else "nothing"
