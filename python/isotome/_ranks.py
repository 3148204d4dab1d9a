# SPDX-License-Identifier: BSD-3-Clause
"""Contexts over the ranks of a communicator of mpi4py."""

from __future__ import annotations

import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_void_p
from typing import Any, NamedTuple

from . import errors
from ._abi import declare, handle, lib, out
from ._call import check

declare(
    {
        "iso_ctx_create_ranks": (c_int, [out, c_char_p, c_int, c_void_p]),
        "iso_ctx_rank": (c_int, [handle]),
        "iso_ctx_ranks": (c_int, [handle]),
        "iso_ctx_exchanged": (None, [POINTER(c_int64), POINTER(c_double), handle]),
    }
)


class Exchanged(NamedTuple):
    """What the calls of this rank exchanged so far."""

    bytes: int  # of results
    seconds: float  # in which it waited or exchanged


def _address(comm: Any) -> int:
    """Of the MPI_Comm inside. Who has a communicator of mpi4py has loaded it."""
    mpi = sys.modules.get("mpi4py.MPI")
    null = mpi is not None and isinstance(comm, mpi.Comm) and comm == mpi.COMM_NULL
    if mpi is None or null or not isinstance(comm, mpi.Intracomm):
        given = "MPI.COMM_NULL" if null else type(comm).__name__
        raise errors.ArgumentError(
            f"comm: given {given}, wanted an mpi4py.MPI.Intracomm such as MPI.COMM_WORLD"
        )
    return mpi._addressof(comm)


def create(pointer: c_void_p, device: bytes, threads: int, comm: Any) -> None:
    """A context over all ranks of comm, which all make theirs at once."""
    check(lib.iso_ctx_create_ranks(byref(pointer), device, threads, _address(comm)))


def exchanged(context: c_void_p) -> Exchanged:
    n, seconds = c_int64(), c_double()
    lib.iso_ctx_exchanged(byref(n), byref(seconds), context)
    return Exchanged(n.value, seconds.value)
