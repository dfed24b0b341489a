"""Columns, times, bad rows, thresholds and the data-quality report."""
