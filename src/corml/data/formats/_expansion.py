"""What a compressed file may grow to: one budget for all layers of it, counted while they are read.

A file is judged by its own bytes, not by those of the layer before: three layers that each grow a hundredfold are a
million together. And what it grows to must fit into memory, whatever it was.
"""

from dataclasses import dataclass, replace

from corml._runtime import memory
from corml.errors import DataError

__all__ = ["Expansion"]

BOMB_RATIO = 200  # an honest table does not shrink that much
BOMB_SIZE = 1 << 28  # and below this size it would do no harm
STEP = 1 << 26  # bytes after which it is asked again how much memory is free
LAYERS = 4  # of compression


@dataclass(frozen=True)
class Expansion:
    """The bytes of a file, whether it may grow as it likes, and how many layers were unpacked."""

    packed: int
    allowed: bool | None  # None where there is no option to allow it
    where: str
    layer: int = 0

    def inner(self) -> "Expansion":
        """The next layer."""
        if self.layer == LAYERS:
            raise DataError(
                f"{self.where} is compressed more than {LAYERS} times over: unpack it by other means first."
            )
        return replace(self, layer=self.layer + 1)

    def check(self, size: int) -> None:
        """Refuse what grows as no honest table does."""
        if not self.allowed and size > BOMB_SIZE and size > BOMB_RATIO * max(self.packed, 1):
            advice = "pass allow_expansion=True (--allow-expansion)"
            if self.allowed is None:
                advice = "unpack it by other means, or write it as CSV"
            raise DataError(
                f"{self.where} expands more than {BOMB_RATIO:,}-fold, past {memory.size(BOMB_SIZE)}: "
                f"if that is right, {advice}."
            )

    def check_while_reading(self, size: int, piece: int, doing: str = "Unpacking") -> None:
        """Refuse what grows too much, and from time to time what memory does not hold; a piece was added just now."""
        self.check(size)
        if size // STEP != (size - piece) // STEP:  # what is there is copied once more in the end
            unpack = "unpack it and " if doing == "Unpacking" else ""
            memory.require(size, what=f"{doing} {self.where}", instead=f"{unpack}read it in parts, or add memory.")
