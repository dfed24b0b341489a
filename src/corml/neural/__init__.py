"""What models trained by gradients share: one loop, one sampler, one graph, one way to keep one's place."""
