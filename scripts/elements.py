#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes src/physics/elements.csv, the cross sections for builds without xraylib, from xraylib
(Debian: libxrl11, python3-numpy): points between which straight lines in log-log stay close.
src/physics/elements.c says what the columns are.

   scripts/elements.py >src/physics/elements.csv
"""
import ctypes
import ctypes.util

import numpy as np

ELEMENTS = """H Li B C N O F Na Mg Al Si P S Cl K Ca Zn Ga Ge Br Sr Y Zr Cd Te I Cs Ba La Ce Pr Eu Gd
Tb Yb Lu Hf W Tl Pb Bi""".split()
KEV = np.arange(10, 521.0)          # where material.c asks
Q = np.geomspace(0.01, 42, 700)     # 1/Angstrom
LOOK = 8                            # a line may fail at so many points in a row and still go on


def load():
	lib = ctypes.CDLL(ctypes.util.find_library("xrl"))
	real = ctypes.c_double
	for name in ("CS_Photo", "CS_Compt", "CS_Rayl", "FF_Rayl"):
		getattr(lib, name).restype = real
		getattr(lib, name).argtypes = [ctypes.c_int, real, ctypes.c_void_p]
	lib.AtomicWeight.restype = real
	lib.AtomicWeight.argtypes = [ctypes.c_int, ctypes.c_void_p]
	return lib


def values(function, z, at):
	return np.array([function(z, v, None) for v in at])


def fits(x, y, tolerance, a, b):
	"""Whether the line in log-log from point a to point b passes those between."""
	i = np.arange(a + 1, b)
	share = np.log(x[i] / x[a]) / np.log(x[b] / x[a])
	return np.all(np.abs(y[a] * (y[b] / y[a]) ** share - y[i]) <= tolerance[i])


def corners(x, y, tolerance):
	"""Points to keep: from each to the farthest one that a line reaches."""
	keep = [0]
	while keep[-1] < len(x) - 1:
		a = keep[-1]
		best, b = a + 1, a + 2
		while b < len(x) and b <= best + LOOK:
			best = b if fits(x, y, tolerance, a, b) else best
			b += 1
		keep.append(best)
	return keep


def write(z, what, x, y, tolerance):
	for i in corners(x, y, tolerance):
		print(f"{z},{what},{x[i]:.5g},{y[i]:.5g}")


def write_element(lib, z):
	print(f"{z},WEIGHT,0,{lib.AtomicWeight(z, None):.7g}")
	cs = [values(f, z, KEV) for f in (lib.CS_Photo, lib.CS_Compt, lib.CS_Rayl)]
	for what, y in zip(("PHOTO", "COMPTON", "COHERENT"), cs):
		write(z, what, KEV, y, np.minimum(3e-4 * sum(cs), 3e-3 * y))
	form = np.maximum(values(lib.FF_Rayl, z, Q), 1e-5 * z)
	write(z, "FORM", Q, form, np.maximum(5e-3 * form, 1e-4 * z))


def number(lib, symbol):
	lib.SymbolToAtomicNumber.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
	return lib.SymbolToAtomicNumber(symbol.encode(), None)


def main():
	lib = load()
	print("z,what,x,y")
	for symbol in ELEMENTS:
		write_element(lib, number(lib, symbol))


main()
