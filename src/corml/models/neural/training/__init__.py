"""What all models trained by gradients share: the loop, losses, sampling, checkpoints, early stopping."""
