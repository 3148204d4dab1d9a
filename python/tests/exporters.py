# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of a library that does not exist, which lends them by DLPack in one version or the other."""

import ctypes

import numpy as np

from isotome import _dlpack

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
NAMES = {_dlpack.Managed: b"dltensor", _dlpack.Versioned: b"dltensor_versioned"}


class Exporter:
    """Shows the memory of a NumPy array, or of an address on a device; counts what it has lent."""

    def __init__(self, values, version=_dlpack.Versioned, device=(1, 0), **spoil):
        self.values, self.shape, self.version, self.place = values, values.shape, version, device
        self.spoil = spoil  # fields of the struct that are set otherwise
        self.lent = 0
        self.given_back = 0
        self.streams = []
        self._kept = []

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **how):
        if self.version is _dlpack.Managed and "max_version" in how:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(how.get("stream"))
        managed = self.version()
        self._fill(managed)
        deleter = DELETER(self._take_back)
        managed.deleter = ctypes.cast(deleter, _dlpack.Deleter)
        self._kept.append((managed, deleter))
        self.lent += 1
        return _new(ctypes.addressof(managed), NAMES[self.version], None)

    def _take_back(self, _pointer):
        self.given_back += 1

    def _address(self):
        if isinstance(self.values, np.ndarray):
            return self.values.ctypes.data
        return self.values.data_ptr() if hasattr(self.values, "data_ptr") else self.values.data.ptr

    def _fill(self, managed):
        n = len(self.shape)
        shape = (ctypes.c_int64 * n)(*self.shape)
        strides = self.spoil.get("strides")
        strides = (ctypes.c_int64 * n)(*strides) if strides else None
        self._kept.append((shape, strides))
        t = managed.tensor
        offset = self.spoil.get("byte_offset", 0)
        t.data, t.byte_offset = self._address() - offset, offset
        t.device.type, t.device.number = self.place
        t.n_dim = n
        t.dtype = _dlpack.DataType(*self.spoil.get("dtype", (2, 32, 1)))
        t.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        if strides:
            t.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
        if self.version is _dlpack.Versioned:
            managed.major, managed.minor = self.spoil.get("of", (1, 0))
            managed.flags = self.spoil.get("flags", 0)


class Library:
    """The namespace of an array library."""

    def __init__(self):
        self.taken = []

    def from_dlpack(self, values):
        self.taken.append(values)
        return ("of the library", np.from_dlpack(values))
