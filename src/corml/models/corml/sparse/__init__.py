"""Problem H on co-occurring pairs, without any items × items array."""
