"""Models trained by gradients with PyTorch, one public file each; the file is the registration."""
