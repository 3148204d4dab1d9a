# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of other libraries, lent by the protocol DLPack: where their values are, and giving them back.

https://dmlc.github.io/dlpack/latest/c_api.html has the structs, of which there are two versions.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

from . import errors

NEWEST = (1, 0)  # the version asked for
HOST = (1, 3)  # kDLCPU, kDLCUDAHost
CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged
READ_ONLY, COPIED = 1, 2  # flags of the newer struct
FLOAT = 2  # kDLFloat
_TYPES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


class Device(ctypes.Structure):  # DLDevice
    _fields_ = [("type", c_int32), ("number", c_int32)]


class DataType(ctypes.Structure):  # DLDataType
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [
        ("data", c_void_p),
        ("device", Device),
        ("n_dim", c_int32),
        ("dtype", DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),  # in values; NULL: C order
        ("byte_offset", c_uint64),
    ]


# Called with the lock of the interpreter, which a deleter in Python needs.
Deleter = ctypes.PYFUNCTYPE(None, c_void_p)


class Managed(ctypes.Structure):  # DLManagedTensor
    _fields_ = [("tensor", Tensor), ("manager", c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", Deleter),
        ("flags", c_uint64),
        ("tensor", Tensor),
    ]


def _python(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


_is_valid = _python("PyCapsule_IsValid", c_int, ctypes.py_object, c_char_p)
_pointer = _python("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
_rename = _python("PyCapsule_SetName", c_int, ctypes.py_object, c_char_p)

_VERSIONS = {b"dltensor_versioned": Versioned, b"dltensor": Managed}
_USED = {name: b"used_" + name for name in _VERSIONS}  # kept: a capsule keeps the pointer, not the text


def device_of(values: Any) -> str:
    """"cpu", "cuda:0"; what is neither is named by its number."""
    kind, number = (int(v) for v in values.__dlpack_device__())
    if kind in HOST:
        return "cpu"
    return f"cuda:{number}" if kind in CUDA else f"device {kind}:{number} of DLPack"


def _ask(values: Any, stream: int | None) -> Any:
    """The capsule; exporters older than version 1.0 do not know the word max_version."""
    arguments = {} if stream is None else {"stream": stream}
    try:
        return values.__dlpack__(max_version=NEWEST, **arguments)
    except TypeError:
        return values.__dlpack__(**arguments)


class Loan:
    """The values of an array that exports itself by DLPack, for as long as `with` lasts.

    stream: the cudaStream_t of the work on them, which the exporter lets wait for its own; -1: none is
        wanted; None: values on the host.
    """

    def __init__(self, values: Any, name: str, stream: int | None = None):
        capsule = _ask(values, stream)
        version = next((v for v in _VERSIONS if _is_valid(capsule, v)), None)
        if version is None:
            raise errors.ArgumentError(
                f"{name}: __dlpack__ gave {capsule!r}, wanted a capsule 'dltensor' or 'dltensor_versioned'"
            )
        self._managed = ctypes.cast(_pointer(capsule, version), POINTER(_VERSIONS[version])).contents
        _rename(capsule, _USED[version])  # from here on it is ours to give back
        self._lent = True
        try:
            self._read(name)
        except BaseException:
            self.give_back()
            raise

    def _read(self, name: str) -> None:
        managed = self._managed
        newer = isinstance(managed, Versioned)
        if newer and managed.major != NEWEST[0]:
            raise errors.ArgumentError(
                f"{name}: given DLPack {managed.major}.{managed.minor}, wanted {NEWEST[0]}.x"
            )
        flags = managed.flags if newer else 0
        self.read_only, self.copied = bool(flags & READ_ONLY), bool(flags & COPIED)
        t = managed.tensor
        self.shape = tuple(t.shape[: t.n_dim])
        self.address = (t.data or 0) + t.byte_offset
        kind = t.dtype
        if (kind.code, kind.bits, kind.lanes) != (FLOAT, 32, 1):
            lanes = f" x {kind.lanes}" if kind.lanes != 1 else ""
            raise errors.ArgumentError(
                f"{name}: given values of {_TYPES.get(kind.code, 'type')}{kind.bits}{lanes}, wanted float32"
            )
        if t.strides and not self._in_c_order(tuple(t.strides[: t.n_dim])):
            raise errors.ArgumentError(
                f"{name}: given an array with strides {tuple(t.strides[: t.n_dim])} (values), "
                "wanted a contiguous one in C order"
            )

    def _in_c_order(self, strides: tuple[int, ...]) -> bool:
        step = 1
        if 0 in self.shape:
            return True
        for length, stride in zip(reversed(self.shape), reversed(strides)):
            if length > 1 and stride != step:
                return False
            step *= length
        return True

    def give_back(self) -> None:
        """Lets the exporter have it again; more than once does no harm."""
        if self._lent:
            self._lent = False
            if self._managed.deleter:
                self._managed.deleter(ctypes.addressof(self._managed))

    def __enter__(self) -> Loan:
        return self

    def __exit__(self, *_error: object) -> None:
        self.give_back()
