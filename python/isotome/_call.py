# SPDX-License-Identifier: BSD-3-Clause
"""Calls into the library: their failures, Ctrl-C, forks, and the handles they make.

ctypes lets other threads of Python run during a call. Ctrl-C: Python runs handlers of signals between
two of its own steps, so none would run before a long call ended. While the main thread is in a call, the
number of each signal is therefore written into a pair of sockets (signal.set_wakeup_fd), at whose other
end a thread waits, which asks the contexts of the call to stop. The call then ends, and raises
KeyboardInterrupt. Until then a handler of our own stands in place of Python's, which would raise in the middle of
a callback of C. A program with a handler of its own for Ctrl-C is left to it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
from ctypes import c_void_p
from typing import Any, Callable, Protocol

from . import errors
from ._abi import lib

# ---- forks: threads and devices of the library do not survive them ----

_in_use = False  # a context was made in this process
_forked = False  # and that was before a fork: this is the child


def _after_fork_in_child() -> None:
    global _forked
    _forked = _forked or _in_use


os.register_at_fork(after_in_child=_after_fork_in_child)


def refuse_fork() -> None:
    """Raises in a child of a process that had contexts."""
    if _forked:
        raise errors.DeviceError(
            "this process was forked from one that used Isotome, whose threads and devices it does not "
            "have: start it with multiprocessing.get_context('spawn')"
        )


def use() -> None:
    """A context is about to be made."""
    global _in_use
    refuse_fork()
    _in_use = True


# ---- what the library owns ----


class Handle:
    """A pointer of the library, freed with the last reference; keeps the handles that it needs."""

    def __init__(self, free: Callable[[c_void_p], None], *needs: Handle):
        self.pointer = c_void_p()
        self._free = free
        self._needs = needs

    def __del__(self) -> None:
        if self.pointer and not _forked:
            self._free(self.pointer)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "what the library holds in this process cannot be pickled or copied: make it anew where it is "
            "needed, from the same arguments"
        )


# ---- calls that run, and Ctrl-C ----

class Stoppable(Protocol):
    """What a call needs of its context."""

    _interrupted: bool

    def _interrupt(self) -> None: ...
    def _forget_requests(self) -> None: ...


# By token: the context, and whether it is a call of the main thread. KeyboardInterrupt may come between any
# two steps of the main thread, also while it takes back what it set. A call is therefore forgotten in one
# step, dict.pop, and what else is to be taken back is taken back then or, at the latest, by the next call.
_running: dict[object, tuple[Stoppable, bool]] = {}


def runs(context: Stoppable) -> bool:
    """Whether a call runs on the context, on any thread."""
    return any(c is context for c, _ in tuple(_running.values()))


def _of_main_thread() -> list[Stoppable]:
    return [c for c, main in tuple(_running.values()) if main]


class _Interrupts:
    """Ctrl-C while the main thread is in a call; calls may be nested, by way of callbacks."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.before: int | None = None  # where somebody else wants the numbers of signals; None: not watching
        self.reader: socket.socket | None = None
        self.writer: socket.socket | None = None
        self.came = False  # during a call

    def _open(self) -> None:
        self.reader, self.writer = socket.socketpair()
        self.reader.setblocking(False)
        self.writer.setblocking(False)
        threading.Thread(target=self._watch, name="isotome-interrupts", daemon=True).start()

    def _take(self) -> bytes:
        """What was written by now. Under the lock."""
        assert self.reader
        try:
            return self.reader.recv(4096)
        except BlockingIOError:
            return b""

    def _watch(self) -> None:
        assert self.reader
        while True:
            select.select([self.reader], [], [])
            with self.lock:
                signals = self._take()
                if self.before is not None and self.before >= 0 and signals:
                    self._pass_on(signals, self.before)
                if signal.SIGINT in signals:
                    for context in _of_main_thread():
                        context._interrupt()

    def _pass_on(self, signals: bytes, to: int) -> None:
        try:
            os.write(to, signals)
        except OSError:
            pass  # it is closed or full: as Python does it

    def heard(self, _number: int, _frame: Any) -> None:
        """In place of Python's own handler during a call, which raises at its end: so no callback of C, and nothing
        that takes back what was set, is left in the middle."""
        self.came = True
        for context in _of_main_thread():
            context._interrupt()

    def watch(self) -> None:
        """From here on, where Ctrl-C is left to Python. On the main thread."""
        if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, self.heard):
            return
        if not self.writer:
            self._open()
        with self.lock:
            assert self.writer
            if self.before is None:
                self._take()  # of an earlier call that ended as the signal came
                own = self.writer.fileno()
                before = signal.set_wakeup_fd(own, warn_on_full_buffer=False)
                self.before = -1 if before == own else before  # own: Ctrl-C came between these two lines
                self.came = False
                signal.signal(signal.SIGINT, self.heard)

    def rest(self) -> bool:
        """If no call needs it any more; whether Ctrl-C came. On the main thread."""
        with self.lock:
            if self.before is not None and not _of_main_thread():
                signal.set_wakeup_fd(self.before)
                self.before = None
                if signal.getsignal(signal.SIGINT) == self.heard:
                    signal.signal(signal.SIGINT, signal.default_int_handler)
            came, self.came = self.came, False
            return came


_interrupts = _Interrupts()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


# ---- calls ----


def text(value: str, name: str) -> bytes:
    """A text as C takes it, which ends at a zero."""
    if not isinstance(value, str):
        raise errors.ArgumentError(f"{name}: given {type(value).__name__}, wanted a text")
    if "\0" in value:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted a text without zeros")
    return os.fsencode(value)


def check(status: int) -> None:
    """Raises what a status says, with the message of this thread."""
    if status:
        raise errors.of_status(status, (lib.iso_message() or b"").decode(errors="replace"))


def call(context: Stoppable, function: Callable[..., int], *arguments: Any) -> None:
    """A call that may be long, and its failure as an exception."""
    refuse_fork()
    token, main = object(), _in_main_thread()
    try:
        if main:
            _interrupts.watch()
        context._forget_requests()
        _running[token] = context, main
        check(function(*arguments))
    except errors.Cancelled:
        if main and context._interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        _running.pop(token, None)
        context._forget_requests()
        if main and _interrupts.rest():
            raise KeyboardInterrupt from None
