"""Lists for everybody in parts: Parquet files in a folder, made one after the other and kept as they are finished.

    lists/manifest.json          what was asked of which model, and the size and hash of every finished part
    lists/part-00000.parquet     lists of the first users, with the columns of a single file
    lists/part-00001.parquet     …

No more than one part is in memory. Whoever is killed goes on with the parts that are missing, to the same bytes.
"""

from corml.outofcore.lists.sizes import users_at_a_time
from corml.outofcore.lists.write import ListParts, check_folder, recommend_to

__all__ = ["ListParts", "check_folder", "recommend_to", "users_at_a_time"]
