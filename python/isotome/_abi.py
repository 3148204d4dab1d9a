# SPDX-License-Identifier: BSD-3-Clause
"""The C interface as ctypes sees it: structs and prototypes of the headers that every use of the package needs.

`lib` is the library. Modules that wrap further headers, and are loaded when first used, have the structs of
those headers as classes with a `_c_name_`, and call `declare` for their functions. python/tests/test_abi.py
holds all of them against what a C compiler makes of the headers.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint32
from ctypes import c_uint64, c_void_p
from typing import Any

from . import _library

ALL = -1  # ISO_ALL: every subset

# ---- structs ----


class Grid(ctypes.Structure):  # grid.h
    _c_name_ = "iso_grid"
    _fields_ = [("n", c_int64 * 3), ("voxel", c_double * 3), ("centre", c_double * 3)]


class Array(ctypes.Structure):  # array.h
    _c_name_ = "iso_array"
    shown: Any  # of as_struct: the values
    _fields_ = [
        ("n_dim", c_int),
        ("dim", c_int64 * 8),
        ("n", c_int64),
        ("v", c_void_p),
        ("has_grid", c_bool),
        ("pairs", c_bool),
        ("grid", Grid),
        ("unit", c_char * 32),
    ]


class Progress(ctypes.Structure):  # context.h
    _c_name_ = "iso_progress"
    _fields_ = [
        ("stage", c_char_p),
        ("done", c_int64),
        ("total", c_int64),
        ("elapsed_s", c_double),
        ("left_s", c_double),
        ("note", c_char_p),
        ("unit", c_char_p),
        ("per_s", c_double),
        ("brief", c_bool),
    ]


PROGRESS_FN = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Progress))


_LENGTH_AND_TWO = (c_int, c_void_p, c_int64, c_void_p, c_void_p)
_LENGTH_AND_THREE = (*_LENGTH_AND_TWO, c_void_p)


class Vec(ctypes.Structure):  # vec.h: the first of its functions, up to the last that is used here
    _c_name_ = "iso_vec"
    _first_fields_alone_ = True
    _fields_ = [
        ("alloc", ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), c_int64)),
        ("free", ctypes.CFUNCTYPE(None, c_void_p, c_void_p)),
        ("upload", ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int64)),
        ("download", ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int64)),
        ("copy", ctypes.CFUNCTYPE(*_LENGTH_AND_TWO)),
        ("fill", ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, c_void_p, c_double)),
        ("axpy", ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, c_void_p, c_double, c_void_p)),
        ("mul", ctypes.CFUNCTYPE(*_LENGTH_AND_THREE)),
        ("div", ctypes.CFUNCTYPE(*_LENGTH_AND_THREE)),
    ]


class Rows(ctypes.Structure):  # op.h
    _c_name_ = "iso_rows"
    _fields_ = [("first", c_int64), ("n", c_int64)]


class EmData(ctypes.Structure):  # op.h
    _c_name_ = "iso_em_data"
    _fields_ = [("y", c_void_p), ("add", c_void_p), ("mult", c_void_p)]


class EmStat(ctypes.Structure):  # op.h
    _c_name_ = "iso_em_stat"
    _fields_ = [
        ("loglik", c_double),
        ("counts", c_double),
        ("lost", c_double),
        ("used", c_int64),
        ("skipped", c_int64),
    ]


class Event(ctypes.Structure):  # events.h
    _c_name_ = "iso_event"
    _fields_ = [("p1", c_float * 3), ("p2", c_float * 3), ("dt_ps", c_float)]


class Events(ctypes.Structure):  # events.h
    _c_name_ = "iso_events"
    _fields_ = [
        ("n", c_int64),
        ("v", c_void_p),
        ("n_bad", c_int64),
        ("time_ms", c_void_p),
        ("count", c_void_p),
        ("mult", c_void_p),
        ("add", c_void_p),
        ("crystal", c_void_p),
        ("fwhm_ps", c_void_p),
        ("tof_fwhm_ps", c_double),
        ("tof_bin_ps", c_double),
        ("start_s", c_double),
        ("duration_s", c_double),
        ("isotope", c_char * 16),
        ("calibration", c_double),
        ("n_lines_bad", c_int64),
        ("first_line_bad", c_int64),
        ("n_left_out", c_int64),
        ("lists_all", c_bool),
        ("attenuated", c_bool),
    ]


class StripEvent(ctypes.Structure):  # strip.h
    _c_name_ = "iso_strip_event"
    _fields_ = [("z_up", c_float), ("z_down", c_float), ("dl", c_float)]


class StripEvents(ctypes.Structure):  # strip.h
    _c_name_ = "iso_strip_events"
    _fields_ = [("n", c_int64), ("v", c_void_p), ("n_bad", c_int64)]


class Param(ctypes.Structure):  # problem.h
    _c_name_ = "iso_param"
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("group", c_char_p),
        ("type", c_int),
        ("count", c_int),
        ("spread", c_bool),
        ("min", c_double),
        ("max", c_double),
        ("words", POINTER(c_char_p)),
        ("unit", c_char_p),
        ("absent", c_char_p),
        ("value_name", c_char_p),
        ("help", c_char_p),
        ("file", c_int),
        ("value", c_char_p),
        ("takes", c_int),
        ("or_number", c_bool),
    ]


class Iteration(ctypes.Structure):  # problem.h
    _c_name_ = "iso_iteration"
    _fields_ = [
        ("size", c_size_t),
        ("iteration", c_int),
        ("iterations", c_int),
        ("frame", c_int64),
        ("frames", c_int64),
        ("objective", c_double),
        ("image", POINTER(Array)),
    ]


ITERATION_FN = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Iteration))

FLAG, INTEGER, REAL, TEXT = range(4)  # enum iso_param_type
NO_FILE, READS, WRITES, PLACE = range(4)  # enum iso_param_file
NOTHING, ARRAY, EVENTS, STRIP_EVENTS, MATRIX = range(5)  # enum iso_param_takes
WARNING, NEWS, DETAIL = range(3)  # enum iso_message_kind

MESSAGE_FN = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)

# ---- prototypes: name -> what it returns, what it takes ----

handle = c_void_p  # iso_ctx *, iso_op *, iso_problem *
out = POINTER(c_void_p)  # where a new one of them goes, or a new vector
vector = c_void_p  # iso_real *

PROTOTYPES: dict[str, tuple] = {
    "iso_message": (c_char_p, []),
    # context.h
    "iso_ctx_create": (c_int, [out, c_char_p, c_int]),
    "iso_ctx_free": (None, [handle]),
    "iso_ctx_is_cuda": (c_bool, [handle]),
    "iso_ctx_device": (c_char_p, [handle]),
    "iso_ctx_device_name": (c_char_p, [handle]),
    "iso_ctx_threads": (c_int, [handle]),
    "iso_ctx_set_memory_limit": (None, [handle, c_int64]),
    "iso_ctx_set_device_memory_limit": (None, [handle, c_int64]),
    "iso_ctx_cancel": (None, [handle]),
    "iso_ctx_clear_cancel": (None, [handle]),
    "iso_ctx_set_progress": (None, [handle, PROGRESS_FN, c_void_p]),
    "iso_ctx_stream": (c_void_p, [handle]),
    "iso_ctx_follow_stream": (c_int, [handle, c_void_p]),
    "iso_ctx_lead_stream": (c_int, [handle, c_void_p]),
    "iso_ctx_wait": (c_int, [handle]),
    # vec.h
    "iso_ctx_vec": (POINTER(Vec), [handle]),
    # op.h
    "iso_op_n_out": (c_int64, [handle]),
    "iso_op_n_sub": (c_int, [handle]),
    "iso_op_rows": (Rows, [handle, c_int]),
    "iso_forward": (c_int, [vector, handle, c_int, vector]),
    "iso_adjoint": (c_int, [vector, handle, c_int, vector]),
    "iso_forward_many": (c_int, [vector, handle, c_int, c_int, vector]),
    "iso_adjoint_many": (c_int, [vector, handle, c_int, c_int, vector]),
    "iso_op_em_step": (c_int, [vector, POINTER(EmStat), handle, c_int, vector, POINTER(EmData)]),
    "iso_op_em_step_many": (
        c_int,
        [vector, POINTER(EmStat), handle, c_int, c_int, vector, vector, POINTER(EmData)],
    ),  # dynamic.h
    "iso_op_sort": (None, [vector, handle, vector]),
    "iso_op_sort_device": (c_int, [vector, handle, vector]),
    "iso_op_unsort_device": (c_int, [vector, handle, vector]),
    "iso_op_unsort": (None, [vector, handle, vector]),
    "iso_op_clone": (c_int, [out, handle]),
    "iso_op_free": (None, [handle]),
    "iso_test_adjoint": (c_int, [POINTER(c_double), handle, c_int, c_uint64]),
    # grid.h
    "iso_grid_check": (c_int, [POINTER(Grid)]),
    # array.h
    "iso_array_free": (None, [POINTER(Array)]),
    # problem.h
    "iso_problem_model": (c_char_p, [c_int]),
    "iso_problem_model_of": (c_int, [POINTER(c_char_p), POINTER(c_char_p), c_char_p]),
    "iso_problem_create": (c_int, [out, handle, c_char_p]),
    "iso_problem_free": (None, [handle]),
    "iso_problem_param": (c_int, [POINTER(Param), handle, c_int]),
    "iso_problem_set": (c_int, [handle, c_char_p, c_char_p]),
    "iso_problem_set_int": (c_int, [handle, c_char_p, c_int64]),
    "iso_problem_set_real": (c_int, [handle, c_char_p, c_double]),
    "iso_problem_set_flag": (c_int, [handle, c_char_p, c_bool]),
    "iso_problem_set_array": (c_int, [handle, c_char_p, POINTER(Array), c_bool]),
    "iso_problem_set_events": (c_int, [handle, c_char_p, POINTER(Events)]),
    "iso_problem_set_strip_events": (c_int, [handle, POINTER(StripEvents)]),
    "iso_problem_like": (c_int, [handle, c_char_p]),
    "iso_problem_set_message": (None, [handle, MESSAGE_FN, c_void_p]),
    "iso_problem_load": (c_int, [handle]),
    "iso_problem_grid": (c_int, [POINTER(Grid), handle]),
    "iso_problem_own_rows": (c_int64, [handle]),
    "iso_problem_shape": (c_int, [POINTER(c_int64), handle]),
    "iso_problem_op": (c_int, [out, handle]),
    "iso_problem_data": (c_int, [out, out, out, handle]),
    "iso_problem_sens": (c_int, [POINTER(Array), handle]),
    "iso_problem_project": (c_int, [POINTER(Array), handle, POINTER(Array)]),
    "iso_problem_backproject": (c_int, [POINTER(Array), handle, POINTER(Array)]),
    "iso_problem_recon": (c_int, [POINTER(Array), c_char_p, handle]),
    "iso_problem_set_each": (None, [handle, ITERATION_FN, c_void_p]),
    "iso_problem_write": (c_int, [c_char_p, handle, POINTER(Array)]),
    "iso_problem_record": (c_int, [out, handle]),
}


def declare(prototypes: dict[str, tuple]) -> None:
    """Sets the prototypes of further functions: a module that wraps a header declares those of that header."""
    for name, (result, arguments) in prototypes.items():
        try:
            function = getattr(lib, name)
        except AttributeError:
            raise ImportError(f"{lib._name} lacks {name}") from None
        function.restype = result
        function.argtypes = arguments
    declared.update(prototypes)


declared: dict[str, tuple] = {}  # all of them, name -> what it returns, what it takes
lib = _library.load()
declare(PROTOTYPES)
version = lib.iso_version().decode()

# Vectors and texts that the library hands over are freed as the C library of the process does it.
_libc = ctypes.CDLL(None)
_libc.free.restype = None
_libc.free.argtypes = [c_void_p]
free = _libc.free
