"""Memory, threads, compiled kernels, progress, settings and messages: what every package stands on."""
