"""How many users go into a part, and how many of them are ranked at a time: by the length of the lists alone.

Never by memory, threads or the number of users: a run that goes on elsewhere must find the same parts. A part is a
whole number of pieces, so that lists are ranked in the blocks of a single file, and are the same to the last bit.
"""

__all__ = ["users_at_a_time", "users_of_a_part"]

PIECE = 10_000  # users ranked at a time
PIECES = 10  # of a part at most, so that a kill loses little
ROWS = 1 << 20  # of a part, unless a piece has more


def users_at_a_time(width: int) -> int:
    """How many users are ranked at a time for lists of this length."""
    return min(PIECE, max(1, ROWS // max(width, 1)))


def users_of_a_part(width: int) -> int:
    """How many users have their lists in one part."""
    piece = users_at_a_time(width)
    return piece * min(PIECES, max(1, ROWS // (piece * max(width, 1))))
