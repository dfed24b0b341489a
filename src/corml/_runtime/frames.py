"""A table of an answer as a data frame: Polars by `to_frame` or `to_polars`, pandas by `to_pandas`."""

from abc import abstractmethod
from typing import TYPE_CHECKING

from corml.errors import UsageError

if TYPE_CHECKING:
    import pandas
    import polars


class Table:
    """What has a table; a class says what is in it by `to_frame`."""

    @abstractmethod
    def to_frame(self) -> "polars.DataFrame":
        """The table as a Polars frame."""

    def to_polars(self) -> "polars.DataFrame":
        """The table as a Polars frame, the same as `to_frame()`."""
        return self.to_frame()

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as a pandas frame, with the same columns as `to_frame()`; pyarrow is not needed."""
        try:
            import pandas
        except ImportError:
            raise UsageError("to_pandas() needs pandas: install it, or use to_frame(), a Polars frame.") from None
        frame = self.to_frame()
        numeric = {column.name for column in frame if column.dtype.is_numeric() and not column.null_count()}
        return pandas.DataFrame(
            {column.name: column.to_numpy() if column.name in numeric else column.to_list() for column in frame}
        )
