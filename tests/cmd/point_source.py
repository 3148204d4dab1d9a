# SPDX-License-Identifier: BSD-3-Clause
"""Coincidences of an off-centre point source on a small ring, and CASToR, GATE and NumPy files of
them, written from the formats' definitions alone."""
import sys

import numpy as np

C = 0.299792458  # mm/ps
SOURCE = np.array([22.0, -14.0, 10.0])  # the centre of a voxel of GRID
GRID = ["--grid", "40,40,16", "--voxel", "4"]
RADIUS, RINGS, PITCH, PER_RING = 100.0, 12, 8.0, 180
FWHM_PS = 200.0

RING_YAML = f"""kind: cylinder
radius_mm: {RADIUS}
rings: {RINGS}
ring_pitch_mm: {PITCH}
crystals_per_ring: {PER_RING}
tof: {{fwhm_ps: {FWHM_PS}}}
"""


def crystals():
    """(crystals, 3): rings one after the other, from x towards y, half a crystal on."""
    ring, c = np.divmod(np.arange(RINGS * PER_RING), PER_RING)
    t = 2 * np.pi * (c + 0.5) / PER_RING
    return np.stack([RADIUS * np.cos(t), RADIUS * np.sin(t), (ring - (RINGS - 1) / 2) * PITCH], 1)


def nearest(p):
    c = np.floor(np.arctan2(p[:, 1], p[:, 0]) % (2 * np.pi) / (2 * np.pi) * PER_RING)
    ring = np.clip(np.floor(p[:, 2] / PITCH + RINGS / 2), 0, RINGS - 1)
    return (ring * PER_RING + c % PER_RING).astype(int)


class Coincidences:
    """n pairs of photons from SOURCE: ends, crystals, arrival times t1 and t2 in ps."""

    def __init__(self, n, seed):
        draw = np.random.default_rng(seed)
        u = draw.normal(size=(20 * n, 3))
        u /= np.linalg.norm(u, axis=1)[:, None]
        a = u[:, 0] ** 2 + u[:, 1] ** 2
        b = u[:, :2] @ SOURCE[:2]
        c = SOURCE[:2] @ SOURCE[:2] - RADIUS ** 2
        root = np.sqrt(b * b - a * c)
        s1, s2 = (-b + root) / a, (b + root) / a
        p1, p2 = SOURCE + s1[:, None] * u, SOURCE - s2[:, None] * u
        half = RINGS * PITCH / 2
        seen = np.flatnonzero((abs(p1[:, 2]) < half) & (abs(p2[:, 2]) < half))[:n]
        assert len(seen) == n
        sigma = FWHM_PS / 2.354820045 / np.sqrt(2)  # of each arrival
        self.n, self.draw = n, draw
        self.p1, self.p2 = p1[seen], p2[seen]
        self.t1 = s1[seen] / C + sigma * draw.normal(size=n)
        self.t2 = s2[seen] / C + sigma * draw.normal(size=n)
        self.c1, self.c2 = nearest(self.p1), nearest(self.p2)
        self.time_ms = np.sort(draw.integers(0, 60000, n)).astype("<u4")

    @property
    def dt(self):
        return self.t1 - self.t2


def write_hscan(name, depth=None):
    """The table of crystals; its z axis points the other way. `depth`: (size, of interaction)."""
    p = crystals()
    out = p / RADIUS * [1, 1, 0]
    if depth:
        p = p + out * (depth[0] / 2 - depth[1])  # the middle of the crystal
    p[:, 2] = -p[:, 2]
    np.hstack([p, out]).astype("<f4").tofile(name + ".lut")
    with open(name + ".hscan", "w") as f:
        f.write(f"modality: PET\nscanner name: {name}\nnumber of elements: {len(p)}\n"
                f"number of layers: 1\nnumber of crystals in layer: {len(p)}\n"
                f"crystals size depth: {depth[0] if depth else 0}  # mm\n"
                "crystals size trans: 3\ncrystals size axial: 8\n"
                f"mean depth of interaction: {depth[1] if depth else -1}\n"
                "min angle difference: 0\n")


def write_castor(name, records, fields, scanner="ring", mode="list-mode", **keys):
    """records: list of (name, type, values); fields of a record in the order of the file."""
    packed = np.zeros(records, [(k, t) + (() if np.ndim(v) < 2 else (np.shape(v)[1:],))
                                for k, t, v in fields])
    for k, _, v in fields:
        packed[k] = v
    packed.tofile(name + ".Cdf")
    with open(name + ".Cdh", "w") as f:
        f.write(f"Data filename: {name}.Cdf\nNumber of events: {records}\nData mode: {mode}\n"
                f"Data type: PET\nStart time (s): 0\nDuration (s): 60\nScanner name: {scanner}\n")
        f.writelines(f"{k}: {v}\n" for k, v in keys.items())
    return packed.itemsize


def write_gate(name, rows, mask=None, volumes=6):
    """rows: (n, 2, 18), a single's values in the order of the mask; volume numbers stand once."""
    mask = [1] * 36 if mask is None else mask
    with open(name, "w") as f:
        for row in rows:
            words = []
            for i, v in enumerate(row.reshape(36)):
                if mask[i]:
                    words += ["7"] * volumes if i % 18 == 11 else [f"{v:.17g}"]
            f.write("  ".join(words) + "\n")


def look(path):
    """Where a NIfTI image is greatest, and its centre of mass, mm."""
    import nibabel
    img = nibabel.load(path)
    v = np.asarray(img.dataobj, float)
    at = np.unravel_index(np.argmax(v), v.shape)
    mean = [np.average(i, weights=v) for i in np.indices(v.shape)]
    return nibabel.affines.apply_affine(img.affine, [at, mean])


# peak FILE: greatest within a voxel of the source; tof FILE: and its centre of mass near it. Lines
# cross in the source even with times of the wrong sign, but those move the centre of mass.
if __name__ == "__main__":
    top, mean = look(sys.argv[2])
    print(f"{sys.argv[2]}: greatest at {top}, centre of mass {mean}, source {SOURCE}")
    good = (abs(top - SOURCE) <= 4.001).all()
    if sys.argv[1] == "tof":
        good &= (abs(mean - SOURCE) <= 4.001).all()
    sys.exit(0 if good else 1)
