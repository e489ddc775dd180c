"""Pieces of docs/GUIDE.md that users copy, for tests that run them."""
import os
import re

GUIDE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../docs/GUIDE.md")


def piece(name, **places):
    """The block behind <!-- name -->, with other texts for some of its own, which must be there."""
    with open(GUIDE, encoding="utf-8") as file:
        found = re.search(f"<!-- {name} -->\n```\n(.*?)```", file.read(), re.S)
    if not found:
        raise SystemExit(f"FAILED: the GUIDE has no piece {name}")
    text = found.group(1)
    for old, new in places.items():
        if old not in text:
            raise SystemExit(f"FAILED: {old} is not in the GUIDE's piece {name}")
        text = text.replace(old, new)
    return text
