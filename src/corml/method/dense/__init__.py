"""Problem H on dense matrices, as in the paper."""
