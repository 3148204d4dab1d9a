# SPDX-License-Identifier: BSD-3-Clause
"""Images of the studies of J-PET, without other packages than NumPy."""
import struct

import numpy as np


def grid(n, voxel):
    """Coordinates z, y, x of n = (nz, ny, nx) voxels around the origin, mm."""
    return np.meshgrid(*[(np.arange(k) - (k - 1) / 2) * voxel for k in n], indexing="ij")


def save(path, v, voxel):
    """A NIfTI file of the array (nz, ny, nx), centred."""
    n = v.shape[::-1]
    h = bytearray(352)
    struct.pack_into("<i", h, 0, 348)
    struct.pack_into("<8h", h, 40, 3, *n, 1, 1, 1, 1)
    struct.pack_into("<2h", h, 70, 16, 32)
    struct.pack_into("<8f", h, 76, 1, voxel, voxel, voxel, 1, 1, 1, 1)
    struct.pack_into("<2f", h, 108, 352, 1)
    h[123] = 2
    struct.pack_into("<2h", h, 252, 0, 1)
    for row in range(3):
        struct.pack_into("<4f", h, 280 + 16 * row, *[voxel * (row == k) for k in range(3)], -(n[row] - 1) / 2 * voxel)
    h[344:348] = b"n+1\0"
    with open(path, "wb") as f:
        f.write(bytes(h) + v.astype("<f4").tobytes())


def load(path):
    """The array (nz, ny, nx) of a NIfTI file of floats."""
    data = open(path, "rb").read()
    n = struct.unpack_from("<3h", data, 42)
    return np.frombuffer(data, "<f4", int(np.prod(n)), int(struct.unpack_from("<f", data, 108)[0])).reshape(n[::-1]).astype(float)
