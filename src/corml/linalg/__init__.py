"""Kernels: arrays in, arrays out. No clock, no log, no global seed."""
