"""SIGTERM, SIGHUP and Ctrl-C end the program within two seconds, whatever it is doing.

Python hears of a signal between two steps of its own, and one step, such as a kernel, a factorisation or a read of
Polars, may take minutes. So a thread waits for signals as well. Where the program has not ended by itself a moment
after one, the thread removes what is half made and ends it.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn

from corml.errors import INTERRUPTED
from corml.persistence import unfinished

GRACE = 0.8  # seconds to end politely: with a sentence of its own, and everything closed
STOPPED = "Stopped before the end; every file is whole or as it was. Run it again."
SHOW_CURSOR = b"\x1b[?25h\n"  # progress bars hide it
_SIGNALS = (signal.SIGTERM, signal.SIGINT, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))  # not on Windows
_raised = False  # whether a signal has interrupted what is done now


@contextmanager
def stoppable(*, for_good: bool) -> Iterator[None]:
    """Stop what is done inside when a signal says so.

    `for_good`: after it the process has nothing else to do. Its exit code then stands, and signals are ignored until
    it is gone: Python gives up its own handlers before its end, and a signal would end it without a word.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the first thread hears of signals
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    heard, ended = threading.Event(), threading.Event()
    watch = threading.Thread(target=_watch, args=(read, heard, ended), name="signals", daemon=True)
    watch.start()
    before, wakeup = _listen(), signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    hooks = sys.unraisablehook, sys.excepthook
    sys.unraisablehook, sys.excepthook = _complain, _show
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if for_good else handler)
        signal.set_wakeup_fd(wakeup)
        sys.unraisablehook, sys.excepthook = hooks
        _forget()  # what is done next was not interrupted
        if not (heard.is_set() and for_good):  # else threads that still work must not keep the process
            ended.set()
        os.close(write)
        if ended.is_set():
            watch.join()


def is_stopping() -> bool:
    """Whether a signal has come: what fails from there on may fail because of it.

    Compiled code that is imported, for one, makes an ImportError of the interruption.
    """
    return _raised


def _forget() -> None:
    global _raised
    _raised = False


def _listen() -> dict[int, Any]:
    """Handle the signals, except a Ctrl-C or SIGHUP that is handled or ignored (`nohup`) already; the old handlers."""
    ours = (signal.default_int_handler, signal.SIG_DFL)
    chosen = [number for number in _SIGNALS if number == signal.SIGTERM or signal.getsignal(number) in ours]
    return {number: signal.signal(number, _interrupt) for number in chosen}


def _complain(fault: "sys.UnraisableHookArgs") -> None:
    """Say what failed where nobody could be told; of a signal in such a place the watching thread knows."""
    if fault.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(fault)


def _show(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    """Print what compiled code prints of an error before it makes another of it, but of a signal nothing."""
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, fault, trace)


def _watch(read: int, heard: threading.Event, ended: threading.Event) -> None:
    with os.fdopen(read, "rb", buffering=0) as signals:
        while number := signals.read(1):  # nothing is read when the other end is closed
            if number[0] in _SIGNALS:
                heard.set()
                if not ended.wait(GRACE):
                    _end()
                return


def _end() -> NoReturn:
    """End at once; the first thread may be anywhere, so nothing of it is waited for."""
    unfinished.remove()
    with contextlib.suppress(OSError):
        os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + f"error[interrupted]: {STOPPED}\n".encode())
    os._exit(INTERRUPTED)


def end_at_once(code: int) -> NoReturn:
    """End a program that has unwound: all is closed, and what it said is said."""
    unfinished.remove()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _interrupt(number: int, frame: Any) -> NoReturn:
    global _raised
    _raised = True
    raise KeyboardInterrupt
