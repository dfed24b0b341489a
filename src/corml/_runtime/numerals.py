"""Whole numbers as somebody writes them: eighteen digits at most, and no digits of other scripts."""

__all__ = ["whole_number"]

LONGEST = 18  # digits: what an array can count


def whole_number(text: str) -> int | None:
    """Read a number of plain digits; None for what is none."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal()):
        return None
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= LONGEST else None
