"""What models trained by gradient descent share: one loop, one sampler, one graph, one kind of checkpoint."""
