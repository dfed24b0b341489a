"""What a file may grow to: one budget for all its layers of compression and for the values read from it."""

from dataclasses import dataclass

from corml._runtime import memory
from corml.errors import DataError

BOMB_RATIO = 200  # real tables do not compress that well
BOMB_SIZE = 1 << 28  # smaller files do no harm, whatever their ratio
STEP = 1 << 26  # bytes between two checks of free memory


@dataclass(frozen=True)
class Budget:
    """The bytes of a file on disk, and whether it may grow without limit."""

    packed: int
    allowed: bool | None  # None where the caller has no option to allow it
    where: str

    def check(self, size: int) -> None:
        """Refuse a file that grows more than a real table does."""
        if not self.allowed and size > BOMB_SIZE and size > BOMB_RATIO * max(self.packed, 1):
            advice = "pass allow_expansion=True (--allow-expansion)"
            if self.allowed is None:
                advice = "unpack it by other means, or write it as CSV"
            raise DataError(
                f"{self.where} expands more than {BOMB_RATIO:,}-fold, past {memory.size(BOMB_SIZE)}: "
                f"if that is right, {advice}."
            )

    def grow(self, size: int, piece: int, doing: str = "Reading") -> None:
        """Check a size that has just grown by a piece, and every 64 MiB whether memory holds it."""
        self.check(size)
        if size // STEP != (size - piece) // STEP:
            self.require(size, doing)

    def require(self, size: int, doing: str = "Reading") -> None:
        """Refuse more bytes than are free."""
        unpack = "unpack it and " if doing == "Unpacking" else ""
        memory.require(size, what=f"{doing} {self.where}", instead=f"{unpack}read it in parts, or add memory.")


UNLIMITED = Budget(0, True, "")  # of a table that is in memory already
