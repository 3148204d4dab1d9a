#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An iteration of list-mode MLEM by libparallelproj's C functions, on the events that `isotome bench ray` takes.

    isotome bench ray --case 256 --events 1e7 --write events.lmdT
    python3 python/bench/libparallelproj.py libparallelproj.so events.lmdT --grid 256,256,256 --voxel 2 --fwhm 390

An iteration is a forward projection, the quotients, a back-projection and the update. Its median is printed for four
sizes of a block of threads. --fwhm 0 leaves out time of flight. The library must be its CUDA build; CuPy holds the
arrays.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import time

import cupy as cp
import numpy as np

MM_PER_PS = 0.299792458 / 2
CUT = 3.0  # of the Gaussian, in sigma
BINS_A_FWHM = 10  # so fine that binned times cost and mean what unbinned ones do
FIRST_BIN = -16000
THREADS = (32, 64, 128, 256)


class Library:
    """The projections of one set of events."""

    def __init__(self, path: str, rows: np.ndarray, grid: list[int], voxel: float, fwhm: float):
        self.lib, self.n, self.fwhm = ctypes.CDLL(path), len(rows), fwhm
        self.start, self.end = cp.asarray(rows[:, :3].copy()), cp.asarray(rows[:, 3:6].copy())
        self.grid = cp.asarray(np.array(grid, np.int32))
        self.voxel = cp.full(3, voxel, cp.float32)
        self.origin = cp.asarray(np.array([-(n - 1) / 2 * voxel for n in grid], np.float32))
        if fwhm:
            self.width = fwhm * MM_PER_PS / BINS_A_FWHM
            centre = np.rint(-rows[:, 6] * MM_PER_PS / self.width) - FIRST_BIN
            self.bins = cp.asarray(np.clip(centre, 0, -2 * FIRST_BIN).astype(np.int16))
            self.sigma = cp.full(1, fwhm * MM_PER_PS / 2.354820045, cp.float32)
            self.offset = cp.zeros(1, cp.float32)

    def _call(self, name: str, image, values, threads: int) -> None:
        p = lambda a: ctypes.c_void_p(a.data.ptr)  # noqa: E731
        args = [p(a) for a in (self.start, self.end, image, self.origin, self.voxel, values)]
        args += [ctypes.c_size_t(self.n), p(self.grid)]
        if self.fwhm:
            args += [ctypes.c_float(self.width), p(self.sigma), p(self.offset), ctypes.c_float(CUT), p(self.bins),
                     ctypes.c_short(1 - 2 * FIRST_BIN), ctypes.c_ubyte(0), ctypes.c_ubyte(0)]
        kind = "joseph3d_tof_lm_" if self.fwhm else "joseph3d_"
        getattr(self.lib, kind + name)(*args, ctypes.c_int(0), ctypes.c_int(threads))

    def iterate(self, image, sens, threads: int):
        values, back = cp.zeros(self.n, cp.float32), cp.zeros_like(image)
        self._call("fwd", image, values, threads)
        self._call("back", back, cp.where(values > 0, 1 / values, 0).astype(cp.float32), threads)
        return image * back / sens


def milliseconds(step, repeats: int = 5) -> float:
    times = []
    for _ in range(1 + repeats):
        cp.cuda.Device().synchronize()
        begin = time.perf_counter()
        step()
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("events", help=".lmdT")
    parser.add_argument("--grid", default="128,128,128")
    parser.add_argument("--voxel", type=float, default=4)
    parser.add_argument("--fwhm", type=float, default=390, help="of time of flight, ps")
    a = parser.parse_args()
    grid = [int(n) for n in a.grid.split(",")]
    projections = Library(a.library, np.fromfile(a.events, "<f4").reshape(-1, 7), grid, a.voxel, a.fwhm)
    image, sens = cp.ones(grid, cp.float32), cp.ones(grid, cp.float32)
    took = {t: round(milliseconds(lambda: projections.iterate(image, sens, t)), 2) for t in THREADS}
    print(json.dumps({"events": projections.n, "grid": grid, "fwhm_ps": a.fwhm, "ms_by_threads": took}))


if __name__ == "__main__":
    main()
