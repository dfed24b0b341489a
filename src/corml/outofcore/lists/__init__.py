"""Lists in shards: Parquet files in a folder, made one after the other and kept as they are finished.

    lists/manifest.json          what was requested of which model, and the size and hash of every finished shard
    lists/part-00000.parquet     lists of the first users, with the columns of a single file
    lists/part-00001.parquet     …

No more than one shard is in memory. A run that was killed resumes with the missing shards, and its result is
byte-identical.
"""

from corml.outofcore.lists.sizes import users_at_a_time
from corml.outofcore.lists.write import ListParts, check_folder, recommend_to

__all__ = ["ListParts", "check_folder", "recommend_to", "users_at_a_time"]
