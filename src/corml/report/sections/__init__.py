"""The sections of a report, a file each: `section(subject)` gives it, or None where there is nothing to say."""
