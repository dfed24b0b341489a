"""Reduce recorded outputs of the authors' program to what the tests need (run: python reduce.py FOLDER).

FOLDER holds converging.npz, defaults.npz and partitioned-novel.npz as README.md here describes them.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, triu
from scipy.sparse.csgraph import connected_components

SAMPLE, USERS = 5_000, 5


def reduce(path: Path) -> dict[str, np.ndarray]:
    """What one recording is tested by; V only where it is small enough to keep."""
    full = np.load(path, allow_pickle=False)
    made = {"params": full["params"], "test": full["test"]}
    H = csr_array((full["H_data"], full["H_indices"], full["H_indptr"]), shape=tuple(full["H_shape"]))
    if path.stem == "partitioned-novel":
        return made | {"block": connected_components(H)[1].astype(np.int16)}
    made |= {"score_users": full["score_users"][:USERS], "scores": full["scores"][:USERS]}
    if path.stem == "converging":
        made["V"] = full["V"]
    return made | pattern_and_sample(triu(H, format="coo"))


def pattern_and_sample(upper) -> dict[str, np.ndarray]:
    """Where H is not zero above its diagonal, and some of its values."""
    chosen = np.random.default_rng(0).choice(upper.nnz, SAMPLE, replace=False)
    pattern = np.zeros(upper.shape, dtype=bool)
    pattern[upper.row, upper.col] = True
    row, column = upper.row[chosen].astype(np.int16), upper.col[chosen].astype(np.int16)
    return {"pattern": np.packbits(pattern), "row": row, "column": column, "value": upper.data[chosen]}


if __name__ == "__main__":
    for name in ("converging", "defaults", "partitioned-novel"):
        np.savez_compressed(Path(__file__).with_name(f"{name}.npz"), **reduce(Path(sys.argv[1]) / f"{name}.npz"))
