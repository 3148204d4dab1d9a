# SPDX-License-Identifier: BSD-3-Clause
"""Simulated optoacoustic traces: spheres that are heard, in closed form.

    y = isotome.simulate_traces("nine-spheres", "optoacoustic-small.yaml", noise=0.01)
"""

from __future__ import annotations

import ctypes
import os
import warnings
from ctypes import POINTER, byref, c_double, c_int, c_uint64, c_void_p
from typing import Any

import numpy as np

from . import _arrays, _masks, errors
from ._abi import declare, handle, lib, vector
from ._call import check
from ._checks import integer, number
from ._inputs import context_of, room, run
from .context import Context, Tell
from .phantoms import opened
from .recordings import any_transducers
from .transducers import FacesStruct, TransducersStruct


class _Sphere(ctypes.Structure):
    _c_name_ = "iso_sphere"
    _fields_ = [("centre", c_double * 3), ("radius", c_double), ("value", c_double)]


class _Spheres(ctypes.Structure):
    _c_name_ = "iso_spheres"
    _fields_ = [("n", c_int), ("v", c_void_p), ("fwhm", c_double)]


declare(
    {
        "iso_phantom_spheres": (c_int, [c_void_p, POINTER(c_double), handle]),
        "iso_spheres_traces_faces": (
            c_int,
            [
                vector,
                POINTER(c_double),
                handle,
                POINTER(_Spheres),
                POINTER(TransducersStruct),
                POINTER(FacesStruct),
                c_double,
                c_uint64,
            ],
        ),
    }
)


def _spheres(of: Any, fwhm: float) -> tuple[np.ndarray, float]:
    """(n, 5) float64: centre, radius, value; and the FWHM of a Gaussian that smooths them."""
    if isinstance(of, np.ndarray):
        _masks.refuse(of, "spheres")
        if of.ndim != 2 or of.shape[1] != 5 or len(of) == 0 or of.dtype.kind not in "iuf":
            raise errors.ArgumentError(
                f"spheres: given {of.dtype} of shape {of.shape}, wanted (n, 5): x, y, z, radius in mm, value"
            )
        return np.ascontiguousarray(of, np.float64), number(fwhm, "smooth_fwhm", 0)
    if fwhm:
        raise errors.ArgumentError("smooth_fwhm: given with a phantom, which has its own, wanted spheres")
    source = opened(of)
    spheres, own = np.empty((lib.iso_phantom_shapes(source.pointer), 5)), c_double()
    check(lib.iso_phantom_spheres(spheres.ctypes.data, byref(own), source.pointer))
    return spheres, own.value


def simulate_traces(
    spheres: str | os.PathLike | np.ndarray,
    scanner: Any,
    noise: float = 0,
    smooth_fwhm: float = 0,
    seed: int = 1,
    context: Context | None = None,
    progress: Tell = None,
) -> np.ndarray:
    """What transducers hear of spheres, in closed form, with apertures and impulse response: (n, samples).

    spheres: a phantom of them by name ("nine-spheres", "vessel-tree") or file (.yaml), or (n, 5): x, y,
        z, radius in mm, absorbed energy density; smooth_fwhm in mm smooths those.
    scanner: a Scanner or its file, Transducers, or a Recording or its file.
    noise: width of Gaussian noise, as a share of the greatest pressure.
    progress: as of isotome.simulate.
    Traces of an image are `isotome.sradon(scanner=...).project(image)`.
    """
    context = context_of(context)
    array = any_transducers(scanner)
    t, _kept = array._struct()
    faces, _focus = array._faces()
    table, fwhm = _spheres(spheres, smooth_fwhm)
    s, greatest = _Spheres(len(table), table.ctypes.data, fwhm), c_double()
    width, number_of = number(noise, "noise", 0, 1e3), integer(seed, "seed", 0, 2**64 - 1)
    y = room(context, (t.n, t.samples), "traces")
    run(
        context,
        progress,
        lib.iso_spheres_traces_faces,
        _arrays.address(y),
        byref(greatest),
        context._pointer,
        byref(s),
        byref(t),
        byref(faces) if faces else None,
        width,
        number_of,
    )
    if greatest.value == 0:
        warnings.warn(
            f"the record holds nothing: no sound comes from {t.first_us:g} us for {t.samples * t.dt_us:g} us",
            errors.IsotomeWarning,
            stacklevel=2,
        )
    return y
