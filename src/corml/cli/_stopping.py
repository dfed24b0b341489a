"""SIGTERM, SIGHUP and Ctrl-C end the program within two seconds, whatever it is doing.

Python handles a signal between two of its own steps, and one step, such as a kernel, a factorisation or a read by
Polars, may take minutes. So a thread waits for signals as well. If the program has not ended by itself a moment after
one, the thread removes unfinished files and ends it.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import NoReturn

from corml.errors import INTERRUPTED
from corml.persistence import unfinished

GRACE = 0.8  # seconds to end in order: with a message, and everything closed
STOPPED = "Stopped before the end; every file is whole or as it was. Run it again."
SHOW_CURSOR = b"\x1b[?25h\n"  # progress bars hide it
_SIGNALS = (signal.SIGTERM, signal.SIGINT, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))  # not on Windows
_interrupted = threading.Event()  # a signal has interrupted the current work


@contextmanager
def stoppable(*, for_good: bool) -> Iterator[None]:
    """Stop the work inside when a signal comes.

    `for_good`: the process has nothing else to do afterwards. Its exit code then stands, and signals are ignored until
    it has ended: Python gives up its own handlers before its end, and a signal would then end it without a message.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the first thread receives signals
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    received, ended = threading.Event(), threading.Event()
    watch = threading.Thread(target=_watch, args=(read, received, ended), name="signals", daemon=True)
    watch.start()
    before = {number: signal.signal(number, _interrupt) for number in _SIGNALS if _is_ours(number)}
    wakeup, hooks = signal.set_wakeup_fd(write, warn_on_full_buffer=False), (sys.unraisablehook, sys.excepthook)
    sys.unraisablehook, sys.excepthook = _complain, _show
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if for_good else handler)
        signal.set_wakeup_fd(wakeup)
        sys.unraisablehook, sys.excepthook = hooks
        _interrupted.clear()  # what follows was not interrupted
        if not (received.is_set() and for_good):  # else threads that still work must not keep the process
            ended.set()
        os.close(write)
        if ended.is_set():
            watch.join()


def is_stopping() -> bool:
    """Whether a signal has come: what fails from then on may fail because of it.

    Compiled code that is imported, for one, makes an ImportError of the interruption.
    """
    return _interrupted.is_set()


def _is_ours(number: int) -> bool:
    """Whether to handle a signal: not a Ctrl-C or SIGHUP that is handled or ignored (`nohup`) already."""
    return number == signal.SIGTERM or signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)


def _interrupt(number: int, frame: object) -> NoReturn:
    _interrupted.set()
    raise KeyboardInterrupt


def _complain(fault: "sys.UnraisableHookArgs") -> None:
    """Print an error that could not be raised, but not the interruption: the watching thread handles that."""
    if fault.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(fault)


def _show(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    """Print what compiled code prints of an error before it raises another, but not the interruption."""
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, fault, trace)


def _watch(read: int, received: threading.Event, ended: threading.Event) -> None:
    with os.fdopen(read, "rb", buffering=0) as signals:
        while number := signals.read(1):  # nothing is read when the other end is closed
            if number[0] in _SIGNALS:
                received.set()
                if not ended.wait(GRACE):
                    unfinished.remove()  # the first thread may be anywhere, so nothing waits for it
                    with contextlib.suppress(OSError):
                        cursor = SHOW_CURSOR if os.isatty(2) else b""
                        os.write(2, cursor + f"error[interrupted]: {STOPPED}\n".encode())
                    os._exit(INTERRUPTED)
                return


def end_at_once(code: int) -> NoReturn:
    """End a program that has closed its files and printed its messages."""
    unfinished.remove()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)
