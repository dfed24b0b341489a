"""Numbers and values as a person would write them."""

import math

from corml._runtime.html import clean


def count(value: float) -> str:
    """Write a whole number with separators: 12,345."""
    return f"{value:,.0f}"


def percent(share: float) -> str:
    """Write a share as a percentage with as many digits as its size calls for: 43 %, 3.1 %, 0.12 %."""
    value = 100 * share
    digits = 0 if abs(value) >= 9.95 or value == 0 else 1 if abs(value) >= 0.995 else 2
    return f"{value:.{digits}f} %"


def duration(seconds: float) -> str:
    """Write a duration in the unit a person would choose: 85 ms, 6.2 s, 3 min 20 s, 1 h 5 min."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def plain(value: object) -> str:
    """Write a setting or a fact as a person would write it: yes, 12,345, 0.1, three words."""
    if value is None:
        return "automatic"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e15):
        return count(value)
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return clean(value)


def size(count: float) -> str:
    """Write bytes in the unit a person would choose: 12 MB, 2.5 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 999.5 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if count >= 99.5 or unit == "bytes" else f"{count:.2g} {unit}"
