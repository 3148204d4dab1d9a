# SPDX-License-Identifier: BSD-3-Clause
"""A page in a browser that fills while a reconstruction runs.

    with isotome.Live() as page:
        print(page.address)
        x = problem.reconstruct(live=page)
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from types import TracebackType
from typing import Any

from . import _abi, errors
from ._abi import lib
from ._call import Handle, check
from ._checks import integer, utf8
from ._inputs import context_of
from .context import Context


class _Options(ctypes.Structure):  # live.h
    _c_name_ = "iso_live_options"
    _fields_ = [("size", c_size_t), ("bind", c_char_p), ("port", c_int), ("title", c_char_p)]


_abi.declare(
    {
        "iso_live_start": (c_int, [_abi.out, _abi.handle, POINTER(_Options)]),
        "iso_live_address": (c_char_p, [_abi.handle]),
        "iso_live_stop": (None, [_abi.handle, c_char_p]),
        "iso_problem_set_live": (None, [_abi.handle, _abi.handle]),
    }
)


class Live:
    """Serves the page, at `address`, until `close`: image, objective, rates, time left, warnings, stop and save.

    port: 0: a free one. bind: a numeric address to listen on; None: 127.0.0.1, which only this machine reaches.
    title: title of the page. context: context of the problem that the page shows; None: that of the process.

    Whoever has the address sees the run, and may stop it: the reconstruction then raises Cancelled. Images have the
    same bits with and without a page.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        bind: str | None = None,
        title: str | None = None,
        context: Context | None = None,
    ):
        self.context = context_of(context)
        o = _Options(size=ctypes.sizeof(_Options), port=integer(port, "port"))
        o.bind, o.title = (None if v is None else utf8(v, k) for k, v in (("bind", bind), ("title", title)))
        self._handle: Handle | None = Handle(_close, self.context._handle)
        check(lib.iso_live_start(byref(self._handle.pointer), self.context._pointer, byref(o)))

    @property
    def address(self) -> str:
        """http://..., with a token that is new for every page."""
        return lib.iso_live_address(self._pointer).decode()

    @property
    def _pointer(self) -> c_void_p:
        if self._handle is None:
            raise errors.ArgumentError("given a page that is closed, wanted an open one")
        return self._handle.pointer

    def close(self, outcome: str | None = None) -> None:
        """Ends the page. Open pages show how the run ended."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        pointer, handle.pointer = handle.pointer, c_void_p()
        lib.iso_live_stop(pointer, None if outcome is None else utf8(outcome, "outcome"))

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close("done" if kind is None else str(error) or kind.__name__)

    def __repr__(self) -> str:
        return f"<isotome.Live {'closed' if self._handle is None else self.address.rsplit('/', 2)[0]}>"


def _close(pointer: Any) -> None:
    lib.iso_live_stop(pointer, None)
