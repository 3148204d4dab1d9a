# SPDX-License-Identifier: BSD-3-Clause
"""Contexts: the device that computes, and its threads."""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Union

from . import errors
from ._abi import PROGRESS_FN, lib
from ._abi import Progress as _Step
from ._call import Handle, check, refuse_fork, runs, text, use
from ._checks import integer
from .bars import Progress, shown

if TYPE_CHECKING:
    from ._ranks import Exchanged


def _ranks():
    """Loaded when first used."""
    from . import _ranks

    return _ranks


class Context:
    """A device and its CPU threads: `Context("cuda:0")`, `Context("cpu", threads=4)`.

    device: "cpu", "cuda", "cuda:N", or "auto" (CUDA where there is one, else the CPU).
    threads: CPU threads; 0 for all cores.
    memory_limit: bytes of host memory that calls may plan for; 0: what the machine has free.
    device_memory_limit: the same of the memory of a CUDA device.
    comm: an mpi4py.MPI.Intracomm, whose ranks share the work of every call. All of them make the context and
        call the same in the same order; all get the image of one process, bit for bit. Of ray and strip each
        rank's operator has events of its own. What fails on one rank fails on all, and ends the context.

    Several threads may use a context, each with operators of its own. It lives as long as what was made
    with it.
    """

    def __init__(self, device: str = "auto", threads: int = 0, memory_limit: int = 0, comm: Any = None,
                 device_memory_limit: int = 0):
        if not isinstance(device, str):
            raise errors.ArgumentError(f"device is {device!r}, must be a text such as 'cpu' or 'cuda:0'")
        threads = integer(threads, "threads", 0, 2**31 - 1)
        memory_limit = integer(memory_limit, "memory_limit", 0, 2**63 - 1)
        device_memory_limit = integer(device_memory_limit, "device_memory_limit", 0, 2**63 - 1)
        use()
        self._handle = Handle(lib.iso_ctx_free)
        if comm is None:
            check(lib.iso_ctx_create(byref(self._pointer), text(device, "device"), threads))
        else:
            _ranks().create(self._pointer, text(device, "device"), threads, comm)
        lib.iso_ctx_set_memory_limit(self._pointer, memory_limit)
        lib.iso_ctx_set_device_memory_limit(self._pointer, device_memory_limit)
        self._lock = threading.RLock()
        self._interrupted = False  # by Ctrl-C, while calls run

    @property
    def _pointer(self) -> c_void_p:
        return self._handle.pointer

    # ---- what it is ----

    @property
    def device(self) -> str:
        """"cpu", "cuda:0"."""
        refuse_fork()
        return lib.iso_ctx_device(self._pointer).decode()

    @property
    def device_name(self) -> str:
        """"2 threads", "NVIDIA H200"."""
        refuse_fork()
        return lib.iso_ctx_device_name(self._pointer).decode()

    @property
    def threads(self) -> int:
        """CPU threads."""
        refuse_fork()
        return lib.iso_ctx_threads(self._pointer)

    @property
    def is_cuda(self) -> bool:
        refuse_fork()
        return lib.iso_ctx_is_cuda(self._pointer)

    @property
    def rank(self) -> int:
        """Which of the ranks this process is, from 0."""
        refuse_fork()
        return _ranks().lib.iso_ctx_rank(self._pointer)

    @property
    def ranks(self) -> int:
        """How many share the work; 1 without `comm`."""
        refuse_fork()
        return _ranks().lib.iso_ctx_ranks(self._pointer)

    @property
    def exchanged(self) -> Exchanged:
        """Bytes and seconds that exchange between ranks took so far."""
        refuse_fork()
        return _ranks().exchanged(self._pointer)

    def __repr__(self) -> str:
        rank = f", rank {self.rank} of {self.ranks}" if self.ranks > 1 else ""
        return f"<isotome.Context {self.device}, {self.device_name}{rank}>"

    # ---- calls that run ----

    def cancel(self) -> None:
        """Asks the calls that run now, on other threads, to stop: they raise Cancelled."""
        refuse_fork()
        with self._lock:
            if runs(self):
                lib.iso_ctx_cancel(self._pointer)

    def _interrupt(self) -> None:
        with self._lock:
            if runs(self):
                self._interrupted = True
                lib.iso_ctx_cancel(self._pointer)

    def _forget_requests(self) -> None:
        """Requests to stop are forgotten with the last call that they were for."""
        with self._lock:
            if not runs(self):
                self._interrupted = False
                lib.iso_ctx_clear_cancel(self._pointer)


#: What the argument `progress` may be: a function of a Progress; True: bars of tqdm, or a line on stderr; None: nothing.
Tell = Union[Callable[[Progress], object], bool, None]


@contextlib.contextmanager
def listening(context: Context, progress: Tell) -> Iterator[None]:
    """During `with`, steps of the context's calls go where `progress` says."""
    if progress is None or progress is False:
        yield
    elif progress is True:
        with contextlib.closing(shown()) as bars, Listener(context, bars):
            yield
    else:
        with Listener(context, progress):
            yield


class Listener:
    """During `with`, tells `callback` of the context's progress; if it returns True the call stops.

    An exception of the callback stops the call too, and is raised at the end of `with`.
    """

    def __init__(self, context: Context, callback: Callable[[Progress], object]):
        if not callable(callback):
            raise errors.ArgumentError(
                f"progress: given {type(callback).__name__}, wanted a function of a Progress, or True"
            )
        self._context = context
        self._callback = callback
        self._number = next(_numbers)
        self.error: BaseException | None = None

    def _hear(self, s: _Step) -> None:
        try:
            if self.error is not None:
                return
            left = s.left_s if s.left_s >= 0 else None
            note, unit = (s.note or b"").decode(errors="replace"), (s.unit or b"").decode()
            answer = self._callback(
                Progress(s.stage.decode(), s.done, s.total, s.elapsed_s, left, note, unit, s.per_s, s.brief)
            )
            refuse_fork()
            if answer is not None and bool(answer):
                self._context.cancel()
        except BaseException as error:  # raised where the call was made
            self.error = error
            lib.iso_ctx_cancel(self._context._pointer)

    def __enter__(self) -> Listener:
        if runs(self._context):
            raise errors.BusyError("progress: the context serves another call, wanted an idle one")
        _listeners[self._number] = self
        lib.iso_ctx_set_progress(self._context._pointer, _tell, self._number)
        return self

    def __exit__(self, kind, error, trace) -> None:
        lib.iso_ctx_set_progress(self._context._pointer, PROGRESS_FN(), None)
        if self.error is not None:
            raise self.error from None


# The function that the library calls is there for ever, and finds its listener by a number: one that is
# gone is not told, though Ctrl-C came before the context could be told so.
_numbers = itertools.count(1)
_listeners: weakref.WeakValueDictionary[int, Listener] = weakref.WeakValueDictionary()


def _hear(number, step) -> None:
    listener = _listeners.get(number)
    if listener is not None:
        listener._hear(step.contents)


_tell = PROGRESS_FN(_hear)


class Device(NamedTuple):
    """A device, and whether it can be used; `reason` says why not."""

    device: str
    name: str
    available: bool
    reason: str


def devices() -> list[Device]:
    """The devices that a Context can be made on. One that is not available comes with the reason."""
    found = []
    names = ["cpu"] + [f"cuda:{k}" for k in range(64)]
    for device in names:
        try:
            found.append(Device(device, Context(device).device_name, True, ""))
        except errors.IsotomeError as error:
            if device == "cuda:0":
                found.append(Device("cuda", "", False, str(error)))
            break
    return found


_default: Context | None = None
_default_lock = threading.RLock()


def default() -> Context:
    """The context of calls that are given none: Context("auto"), made when first asked for."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Context()
        return _default
