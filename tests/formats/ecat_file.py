# SPDX-License-Identifier: BSD-3-Clause
"""Writes ECAT 7 images, field by field after CTI's description of the format."""
import struct

import numpy as np

BLOCK = 512


def directory(starts):
    """Blocks of up to 31 entries: number of the matrix, first block, last block, 1; each block names the next."""
    blocks, at, per = {}, 2, 31
    for k in range(0, len(starts), per):
        part = starts[k:k + per]
        follows = starts[k + per][3] if k + per < len(starts) else 2
        b = struct.pack(">4i", per - len(part), follows, 0, len(part))
        for number, first, last, _ in part:
            b += struct.pack(">4i", number, first, last, 1)
        blocks[at] = b.ljust(BLOCK, b"\0")
        at = follows
    return blocks


def write(path, frames, size_mm, scale, patient=3, calibration=1.0, unit=b"Bq/cc", file_type=7, start_ms=None,
          duration_ms=None, offset_cm=(0, 0, 0), data_type=6, numbers=None):
    """frames: integers (frame, z, y, x) as they lie in the file; scale: a factor for each."""
    n = len(frames)
    main = bytearray(BLOCK)
    main[:9] = b"MATRIX72v"
    struct.pack_into(">3h", main, 46, 72, 962, file_type)
    struct.pack_into(">f2h", main, 144, calibration, 1, 0)
    struct.pack_into(">h", main, 330, patient)
    struct.pack_into(">4h", main, 352, frames[0].shape[0], n, 1, 0)
    main[466:466 + len(unit)] = unit
    start_ms = start_ms or [60000 * k for k in range(n)]
    duration_ms = duration_ms or [60000] * n
    dtype = {2: "<i2", 5: ">f4", 6: ">i2", 7: ">i4"}[data_type]
    body, starts, at = {}, [], 3
    for k, frame in enumerate(frames):
        if k and k % 31 == 0:
            at += 1  # room for a block of the directory
        data = frame.astype(dtype).tobytes()
        data += bytes(-len(data) % BLOCK)
        sub = bytearray(BLOCK)
        struct.pack_into(">5h", sub, 0, data_type, 3, *frame.shape[::-1])
        struct.pack_into(">3f", sub, 10, *offset_cm)
        struct.pack_into(">2f2h", sub, 22, 1.0, scale[k], *np.clip([frame.min(), frame.max()], -32768, 32767))
        struct.pack_into(">3f", sub, 34, *(np.array(size_mm) / 10))
        struct.pack_into(">2i", sub, 46, duration_ms[k], start_ms[k])
        last = at + len(data) // BLOCK
        number = numbers[k] if numbers else (k + 1) | 1 << 16 | 1 << 24
        starts.append((number, at, last, at - 1))
        body[at] = bytes(sub) + data
        at = last + 1
    blocks = {1: bytes(main), **directory(starts), **body}
    with open(path, "wb") as f:
        for block in sorted(blocks):
            f.seek((block - 1) * BLOCK)
            f.write(blocks[block])
