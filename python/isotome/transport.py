# SPDX-License-Identifier: BSD-3-Clause
"""Photon transport between two panels: what is simulated of it, for matrices and scans."""

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_char_p, c_int, c_uint64
from typing import NamedTuple

from . import errors
from ._call import text
from ._checks import integer


class TransportOptions(ctypes.Structure):  # panels.h
    _c_name_ = "iso_transport_options"
    _fields_ = [
        ("extended", c_int * 2),
        ("centroid", c_bool),
        ("first_layer", c_bool),
        ("no_rayleigh", c_bool),
        ("no_reentry", c_bool),
        ("acollinearity", c_bool),
        ("positron", c_char_p),
        ("seed", c_uint64),
    ]


class Transport(NamedTuple):
    """Photon transport: `isotome.Transport(acollinearity=True, positron="F-18")`."""

    acollinearity: bool = False  # of 0.5 degrees FWHM
    positron: str | None = None  # with the range in water of F-18, C-11, O-15 or Ga-68
    centroid: bool = False  # a hit is where the mean of its deposits lies, not the largest
    first_layer: bool = False  # its layer is that of the first interaction
    rayleigh: bool = True  # Rayleigh scatter
    reentry: bool = True  # photons that leave a head may enter the other


def transport_options(t: Transport, seed: int) -> TransportOptions:
    """As C takes it; the struct keeps the text that it points to."""
    if not isinstance(t, Transport):
        raise errors.ArgumentError(f"transport: given {type(t).__name__}, wanted isotome.Transport")
    o = TransportOptions(centroid=bool(t.centroid), first_layer=bool(t.first_layer))
    o.no_rayleigh, o.no_reentry, o.acollinearity = not t.rayleigh, not t.reentry, bool(t.acollinearity)
    if t.positron is not None:
        o.positron = text(str(t.positron), "positron")
    o.seed = integer(seed, "seed", 0, 2**64 - 1)
    return o
