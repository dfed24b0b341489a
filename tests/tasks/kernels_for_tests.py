"""Kernels for tests: `Task` takes kernels of corml only, so tests put this module in their place."""

import threading

import numpy as np


def squares(inputs, out, *, start, stop):
    """The squares of some numbers."""
    numbers = inputs["numbers"]["numbers"] if "numbers" in inputs else np.arange(100)
    out.put("squares", numbers[start:stop] ** 2)
    return {"count": stop - start}


def fails(inputs, out):
    """A kernel that fails after it has written something."""
    out.put("half", np.zeros(3))
    raise ZeroDivisionError


def fills(inputs, out, *, size):
    """An array filled in a mapped file."""
    array = out.create("filled", (size,), np.int64)
    array[:] = np.arange(size)


TOGETHER = threading.Barrier(2, timeout=20)


def meets(inputs, out, *, number):
    """A kernel that ends only while another of its kind runs."""
    TOGETHER.wait()
    return {"number": number}
